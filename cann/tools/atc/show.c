/* SPDX-License-Identifier: BSD-3-Clause */
/* Models as JSON (--mode=1) and the facts of one in a few lines (--mode=6, --display_model_info=1). */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/dtype.h"
#include "graph/aipp.h"
#include "tools/atc/atc.h"

/* ---- JSON ---- */
static void text(FILE *out, const char *s)
{
    fputc('"', out);
    for (; *s; s++)
        if ((unsigned char)*s < 0x20)
            fprintf(out, "\\u%04x", (unsigned)(unsigned char)*s);
        else
            fprintf(out, *s == '"' || *s == '\\' ? "\\%c" : "%c", *s);
    fputc('"', out);
}

static void number(FILE *out, double x)
{
    if (isfinite(x))
        fprintf(out, "%.9g", x);
    else
        fprintf(out, "\"%s\"", isnan(x) ? "nan" : x < 0 ? "-inf" : "inf");
}

static void type_json(FILE *out, const struct type *type)
{
    static const char *const kinds[] = {"tensor", "sequence", "optional"};
    fprintf(out, "\"dtype\": \"%s\"", dtype_name(type->dtype));
    if (type->kind != TYPE_TENSOR)
        fprintf(out, ", \"kind\": \"%s\"", kinds[type->kind]);
    if (type->rank < 0)
        return;
    fprintf(out, ", \"shape\": [");
    for (int32_t i = 0; i < type->rank; i++)
        fprintf(out, "%s%lld", i ? ", " : "", (long long)(type->dim[i] < 0 ? -1 : type->dim[i]));
    fprintf(out, "]");
}

static void names(FILE *out, const struct model *model, const int32_t *ids, int32_t n)
{
    fputc('[', out);
    for (int32_t i = 0; i < n; i++) {
        fputs(i ? ", " : "", out);
        text(out, ids[i] == VALUE_NONE ? "" : model->values[ids[i]].name);
    }
    fputc(']', out);
}

static void graph_json(FILE *out, const struct graph *graph, int depth);

static void attribute_json(FILE *out, const struct attribute *a, int depth)
{
    text(out, a->name);
    fputs(": ", out);
    if (a->kind != ATTRIBUTE_INT && a->kind != ATTRIBUTE_FLOAT && a->kind != ATTRIBUTE_STRING &&
        a->kind != ATTRIBUTE_TENSOR)
        fputc('[', out);
    switch (a->kind) {
    case ATTRIBUTE_INT:
        fprintf(out, "%lld", (long long)a->i);
        return;
    case ATTRIBUTE_FLOAT:
        number(out, a->f);
        return;
    case ATTRIBUTE_STRING:
        text(out, a->s);
        return;
    case ATTRIBUTE_TENSOR:
        fputc('{', out);
        type_json(out, &a->tensor->type);
        fputc('}', out);
        return;
    default:
        break;
    }
    for (size_t i = 0; i < a->count; i++) {
        fputs(i ? ", " : "", out);
        if (a->kind == ATTRIBUTE_INTS)
            fprintf(out, "%lld", (long long)a->ints[i]);
        else if (a->kind == ATTRIBUTE_FLOATS)
            number(out, a->floats[i]);
        else if (a->kind == ATTRIBUTE_STRINGS)
            text(out, a->strings[i]);
        else
            graph_json(out, a->graphs[i], depth + 1);
    }
    fputc(']', out);
}

static void node_json(FILE *out, const struct model *model, const struct node *node, int depth)
{
    fprintf(out, "{\"name\": ");
    text(out, node->name);
    fprintf(out, ", \"type\": ");
    text(out, node->op);
    fprintf(out, ", \"domain\": ");
    text(out, *node->domain ? node->domain : "ai.onnx");
    fprintf(out, ", \"version\": %d, \"input\": ", node->version);
    names(out, model, node->in, node->n_in);
    fprintf(out, ", \"output\": ");
    names(out, model, node->out, node->n_out);
    fprintf(out, ", \"attr\": {");
    for (int32_t i = 0; i < node->n_attributes; i++) {
        fputs(i ? ", " : "", out);
        attribute_json(out, &node->attributes[i], depth);
    }
    fprintf(out, "}}");
}

static void graph_json(FILE *out, const struct graph *graph, int depth)
{
    fprintf(out, "{\"name\": ");
    text(out, graph->name);
    fprintf(out, ", \"input\": ");
    names(out, graph->model, graph->in, graph->n_in);
    fprintf(out, ", \"output\": ");
    names(out, graph->model, graph->out, graph->n_out);
    fprintf(out, ", \"op\": [");
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        fprintf(out, "%s\n%*s", i ? "," : "", 4 + 2 * depth, "");
        node_json(out, graph->model, &graph->nodes[i], depth);
    }
    fprintf(out, "]}");
}

static void aipp_json(FILE *out, const struct aipp *aipp)
{
    fputc('{', out);
    for (const struct aipp_field *field = aipp_fields; field->name; field++) {
        const void *at = (const char *)aipp + field->offset;
        fprintf(out, "%s\"%s\": ", field == aipp_fields ? "" : ", ", field->name);
        if (field->type == AIPP_FLOAT)
            number(out, *(const float *)at);
        else if (field->type == AIPP_BOOL)
            fputs(*(const bool *)at ? "true" : "false", out);
        else
            fprintf(out, "%lld", field->type == AIPP_LONG ? (long long)*(const int64_t *)at : *(const int32_t *)at);
    }
    fputc('}', out);
}

static void gears_json(FILE *out, const struct gears *gears)
{
    static const char *const kinds[] = {"", "dynamic_batch_size", "dynamic_image_size", "dynamic_dims"};
    fprintf(out, "{\"kind\": \"%s\", \"sizes\": [", kinds[gears->kind]);
    for (int32_t i = 0; i < gears->count; i++) {
        fputs(i ? ", [" : "[", out);
        for (int32_t k = 0; k < gears->symbols; k++)
            fprintf(out, "%s%lld", k ? ", " : "", (long long)gears->sizes[i * gears->symbols + k]);
        fputc(']', out);
    }
    fprintf(out, "]}");
}

static void model_json(FILE *out, const struct model *model)
{
    bool first = true;
    fprintf(out, "{\n  \"name\": ");
    text(out, model->name);
    fprintf(out, ",\n  \"producer\": ");
    text(out, model->producer);
    fprintf(out, ",\n  \"soc_version\": ");
    text(out, model->soc);
    fprintf(out, ",\n  \"atc_cmdline\": ");
    text(out, model->command);
    fprintf(out, ",\n  \"opset\": %d,\n  \"symbols\": [", model->opset);
    for (int32_t i = 0; i < model->n_symbols; i++) {
        fprintf(out, "%s{\"name\": ", i ? ", " : "");
        text(out, model->symbols[i].name);
        fprintf(out, ", \"low\": %lld, \"high\": %lld}", (long long)model->symbols[i].low,
                (long long)model->symbols[i].high);
    }
    fprintf(out, "],\n");
    if (model->gears.count) {
        fprintf(out, "  \"gears\": ");
        gears_json(out, &model->gears);
        fprintf(out, ",\n");
    }
    if (model->n_aipp) {
        fprintf(out, "  \"aipp\": [");
        for (int32_t i = 0; i < model->n_aipp; i++) {
            fputs(i ? ",\n    " : "\n    ", out);
            aipp_json(out, &model->aipp[i]);
        }
        fprintf(out, "],\n");
    }
    fprintf(out, "  \"tensors\": [");
    for (int32_t i = 0; i < model->n_values; i++) {
        const struct value *value = &model->values[i];
        fprintf(out, "%s\n    {\"name\": ", first ? "" : ",");
        first = false;
        text(out, value->name);
        fprintf(out, ", ");
        type_json(out, &value->type);
        if (value->data)
            fprintf(out, ", \"constant\": true, \"bytes\": %zu", value->bytes);
        fputc('}', out);
    }
    fprintf(out, "],\n  \"graph\": ");
    graph_json(out, &model->main, 0);
    fprintf(out, "\n}\n");
}

int show_json(const struct model *model, const char *path)
{
    FILE *out = fopen(path, "w");
    if (out)
        model_json(out, model);
    if (!out || ferror(out) | fclose(out))
        return atc_error("E13004", ATC_FILE, "Failed to write file %s. Reason: %s.", path, strerror(errno));
    return ATC_OK;
}

/* ---- facts ---- */
static void ends(const struct model *model, const char *title, const int32_t *ids, int32_t n)
{
    char line[400];
    for (int32_t i = 0; i < n; i++)
        printf("%-20s[%d] %s: %s\n", title, i, model->values[ids[i]].name,
               type_text(&model->values[ids[i]].type, line, sizeof line));
}

void show_info(const struct model *model, const char *path)
{
    size_t weights = 0, constants = 0;
    for (int32_t i = 0; i < model->n_values; i++) {
        weights += model->values[i].bytes;
        constants += model->values[i].data != NULL;
    }
    printf("============ Display Model Info start ============\n");
    printf("%-20s%s\n%-20s%s\n%-20s%s\n%-20s%s\n", "model", path, "name", model->name, "producer", model->producer,
           "soc_version", model->soc);
    printf("%-20s%s\n%-20s%d\n%-20s%d\n%-20s%zu, %zu bytes\n", "atc_cmdline", model->command, "opset", model->opset,
           "nodes", model->main.n_nodes, "constants", constants, weights);
    ends(model, "input", model->main.in, model->main.n_in);
    ends(model, "output", model->main.out, model->main.n_out);
    for (int32_t i = 0; i < model->n_symbols && !model->gears.count; i++)
        printf("%-20ss%d %s: from %lld%s%.0lld\n", "open size", i, model->symbols[i].name,
               (long long)model->symbols[i].low, model->symbols[i].high < 0 ? " on" : " to ",
               (long long)(model->symbols[i].high < 0 ? 0 : model->symbols[i].high));
    if (model->gears.count) {
        printf("%-20s", "declared sizes");
        gears_json(stdout, &model->gears);
        putchar('\n');
    }
    for (int32_t i = 0; i < model->n_aipp; i++)
        printf("%-20sinput %d, %s\n", "aipp", model->aipp[i].input,
               model->aipp[i].mode == AIPP_DYNAMIC ? "dynamic" : "static");
    printf("============ Display Model Info end   ============\n");
}
