/* SPDX-License-Identifier: BSD-3-Clause */
/* The file of --insert_op_conf: protobuf's text form, `aipp_op { name: value … }`, one block an input. Each field is a
 * row of aipp_fields; what a field may be is checked here, so that the executor need not. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "graph/aipp.h"
#include "tools/atc/atc.h"

static const struct word {
    const char *field, *text;
    int32_t value;
} words[] = {
    {"aipp_mode", "static", AIPP_STATIC},
    {"aipp_mode", "dynamic", AIPP_DYNAMIC},
    {"input_format", "YUV420SP_U8", AIPP_YUV420SP_U8},
    {"input_format", "XRGB8888_U8", AIPP_XRGB8888_U8},
    {"input_format", "RGB888_U8", AIPP_RGB888_U8},
    {"input_format", "YUV400_U8", AIPP_YUV400_U8},
    {"input_format", "ARGB8888_U8", AIPP_ARGB8888_U8},
    {"input_format", "YUYV_U8", AIPP_YUYV_U8},
    {"input_format", "YUV422SP_U8", AIPP_YUV422SP_U8},
    {"input_format", "AYUV444_U8", AIPP_AYUV444_U8},
    {"input_format", "RAW10", AIPP_RAW10},
    {"input_format", "RAW12", AIPP_RAW12},
    {"input_format", "RAW16", AIPP_RAW16},
};

struct parser {
    const char *at;
    int line;
    const char *path;
};

static int bad(const struct parser *p, const char *reason, const char *what)
{
    return atc_error("E10052", ATC_ARGUMENT, "AIPP configuration is invalid. Reason: %s, line %d: %s%s%s.", p->path,
                     p->line, reason, *what ? " " : "", what);
}

static void skip(struct parser *p)
{
    for (;; p->at++) {
        if (*p->at == '#')
            p->at += strcspn(p->at, "\n");
        if (*p->at == '\n')
            p->line++;
        else if (!isspace((unsigned char)*p->at) && *p->at != ',' && *p->at != ';')
            return;
    }
}

/* A name, number or quoted text; false at anything else. */
static bool token(struct parser *p, char *text, size_t size)
{
    skip(p);
    bool quoted = *p->at == '"';
    size_t n = quoted ? strcspn(++p->at, "\"\n")
                      : strspn(p->at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-");
    if (n == 0 || n >= size)
        return false;
    memcpy(text, p->at, n);
    text[n] = 0;
    p->at += n;
    p->at += quoted && *p->at == '"';
    return true;
}

static int set_field(struct parser *p, struct aipp *aipp, const char *name, const char *value)
{
    const struct aipp_field *field = aipp_fields;
    char *end = NULL;
    while (field->name && strcmp(field->name, name) != 0)
        field++;
    if (strcmp(name, "input_edge_idx") == 0 || strcmp(name, "related_input_name") == 0)
        return bad(p, "choose the input by related_input_rank;", name);
    if (!field->name)
        return bad(p, "there is no field", name);
    void *at = (char *)aipp + field->offset;
    errno = 0;
    switch (field->type) {
    case AIPP_BOOL:
        if (strcmp(value, "true") && strcmp(value, "false"))
            return bad(p, "true or false is wanted, not", value);
        *(bool *)at = *value == 't';
        return ATC_OK;
    case AIPP_FLOAT:
        *(float *)at = strtof(value, &end);
        break;
    case AIPP_WORD:
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            if (strcmp(words[i].field, name) == 0 && strcmp(words[i].text, value) == 0) {
                *(int32_t *)at = words[i].value;
                return ATC_OK;
            }
        return bad(p, "there is no such value:", value);
    default: {
        long long whole = strtoll(value, &end, 10);
        if (whole < INT32_MIN || (whole > INT32_MAX && field->type == AIPP_INT))
            return bad(p, "the number is too large:", value);
        if (field->type == AIPP_LONG)
            *(int64_t *)at = whole;
        else
            *(int32_t *)at = (int32_t)whole;
    }
    }
    return errno || *end ? bad(p, "a number is wanted, not", value) : ATC_OK;
}

static int parse_block(struct parser *p, struct aipp *aipp)
{
    char name[64], value[64];
    int status = ATC_OK;
    skip(p);
    if (*p->at++ != '{')
        return bad(p, "{ is missing after aipp_op", "");
    for (skip(p); *p->at != '}' && !status; skip(p)) {
        if (!token(p, name, sizeof name))
            return bad(p, "a field or } is missing", "");
        skip(p);
        if (*p->at++ != ':')
            return bad(p, ": is missing after", name);
        if (!token(p, value, sizeof value))
            return bad(p, "a value is missing after", name);
        status = set_field(p, aipp, name, value);
    }
    p->at += *p->at == '}';
    return status;
}

/* ---- what the device does ---- */
static int check(struct parser *p, const struct model *model, const struct aipp *a)
{
    if (a->mode != AIPP_STATIC && a->mode != AIPP_DYNAMIC)
        return bad(p, "aipp_mode must be static or dynamic", "");
    if (a->input < 0 || a->input >= model->main.n_in)
        return bad(p, "related_input_rank names no input of the model", "");
    for (int32_t i = 0; i < model->n_aipp; i++)
        if (&model->aipp[i] != a && model->aipp[i].input == a->input)
            return bad(p, "two blocks are for the same input", "");
    const struct value *input = &model->values[model->main.in[a->input]];
    if (input->type.rank != 4)
        return bad(p, "AIPP wants an input of four dimensions, which this is not:", input->name);
    if (input->type.dtype == ACL_FLOAT16)
        return atc_error("E10034", ATC_ARGUMENT, "Nodes (for example, %s) connected to AIPP must not be of type fp16.",
                         input->name);
    if (a->mode == AIPP_DYNAMIC)
        return a->max_src_image_size > 0 ? ATC_OK : bad(p, "dynamic AIPP wants max_src_image_size", "");
    if (!a->format)
        return bad(p, "input_format is missing", "");
    if (a->format == AIPP_RAW10 || a->format == AIPP_RAW12 || a->format == AIPP_RAW16)
        return bad(p, "raw images are not supported", "");
    if (a->resize)
        return bad(p, "resize is not supported: scale images before, or put a Resize into the model", "");
    if (a->support_rotation || a->single_line_mode)
        return bad(p, "support_rotation and single_line_mode are not supported", "");
    if (a->crop && (a->crop_size_w < 0 || a->crop_size_h < 0 || a->load_start_pos_w < 0 || a->load_start_pos_h < 0 ||
                    (a->src_image_size_w && (int64_t)a->load_start_pos_w + a->crop_size_w > a->src_image_size_w) ||
                    (a->src_image_size_h && (int64_t)a->load_start_pos_h + a->crop_size_h > a->src_image_size_h)))
        return bad(p, "what is cropped lies outside of the source image", "");
    if (a->format == AIPP_YUV420SP_U8 && (a->src_image_size_w % 2 || a->src_image_size_h % 2))
        return bad(p, "images of YUV420SP_U8 have even width and height", "");
    return ATC_OK;
}

int aipp_apply(const struct arguments *arguments, struct model *model)
{
    struct parser p = {.path = option(arguments, "insert_op_conf"), .line = 1};
    char *text = NULL, name[64];
    size_t room = 0;
    if (!*p.path)
        return ATC_OK;
    FILE *file = fopen(p.path, "r");
    if (!file || getdelim(&text, &room, 0, file) < 0) {
        int error = file ? EINVAL : errno;
        if (file)
            fclose(file);
        free(text);
        return atc_error("E13001", ATC_FILE, "Failed to open file %s. Reason: %s.", p.path, strerror(error));
    }
    fclose(file);
    p.at = text;
    struct aipp *blocks = model_alloc(model, (size_t)model->main.n_in * sizeof *blocks + sizeof *blocks);
    int status = blocks ? ATC_OK : ATC_INTERNAL;
    model->aipp = blocks;
    for (skip(&p); *p.at && !status; skip(&p)) {
        if (!token(&p, name, sizeof name) || strcmp(name, "aipp_op") != 0) {
            status = bad(&p, "aipp_op { is wanted", "");
        } else if (model->n_aipp == model->main.n_in) {
            status = bad(&p, "there are more blocks than inputs", "");
        } else {
            struct aipp *aipp = &blocks[model->n_aipp++];
            *aipp = (struct aipp){.var_reci = {1, 1, 1, 1}};
            status = parse_block(&p, aipp);
            if (!status)
                status = check(&p, model, aipp);
        }
    }
    if (!status && model->n_aipp == 0)
        status = bad(&p, "there is no aipp_op", "");
    free(text);
    return status;
}
