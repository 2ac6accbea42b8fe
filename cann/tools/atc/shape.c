/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes of inputs from the command line: --input_shape (numbers, -1, ranges), --input_shape_range (the older form), and
 * the sets of sizes of --dynamic_batch_size, --dynamic_image_size and --dynamic_dims, which become the model's gears.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "tools/atc/atc.h"

enum { GEARS_LEAST = 2, GEARS_MOST = 100, GEAR_SIZES = 64 };

struct wish {
    int32_t input; /* in the main graph's inputs */
    int32_t rank;
    struct {
        int64_t low, high; /* high < 0: open */
    } dim[TYPE_RANK_MAX];
};

struct wishes {
    struct wish *items; /* [model's inputs + 1] */
    int32_t count;
    const char *option, *text; /* as given */
};

static int bad_shape(const struct wishes *w, const char *reason)
{
    return atc_error("E10002", ATC_ARGUMENT,
                     "Value %s for parameter --%s is invalid. Reason: %s. The value must be formatted as %s.", w->text,
                     w->option, reason,
                     strcmp(w->option, "input_shape") == 0
                         ? "\"input_name1:n1,c1,h1,w1;input_name2:n2,c2,h2,w2\""
                         : "\"input_name1:[n1~n2,c1,h1,w1];input_name2:[n2,c2,h2,w2]\"");
}

/* A whole number ≥ 0 or -1; *end behind it. */
static bool number(const char *text, char **end, int64_t *out)
{
    *out = strtoll(text, end, 10);
    return *end != text && *out >= -1 && *out <= INT64_C(1) << 40;
}

static int parse_dims(const struct wishes *w, char *text, struct wish *wish)
{
    for (char *at = text; *at;) {
        int64_t low, high;
        char *end;
        if (wish->rank == TYPE_RANK_MAX)
            return bad_shape(w, "an input has too many dimensions");
        if (!number(at, &end, &low))
            return bad_shape(w, "a size is no whole number");
        high = low;
        if (*end == '~' && (low < 0 || !number(end + 1, &end, &high)))
            return bad_shape(w, "a range is not written as 1~10");
        if (low == 0 || (high >= 0 && high < low))
            return low == 0
                       ? atc_error("E10011", ATC_ARGUMENT,
                                   "Value %s for parameter --%s is invalid. Shape values must be positive integers. "
                                   "The error value in the shape is 0.",
                                   w->text, w->option)
                       : bad_shape(w, "a range ends before it begins");
        wish->dim[wish->rank].low = low < 0 ? 1 : low;
        wish->dim[wish->rank++].high = high;
        while (*end == ' ')
            end++;
        if (*end != ',' && *end != 0)
            return bad_shape(w, "sizes are not parted by commas");
        at = *end == ',' ? end + 1 : end;
        if (*end == ',' && *at == 0)
            return bad_shape(w, "a size is missing at the end");
    }
    return ATC_OK;
}

static char *trim(char *text)
{
    while (*text == ' ' || *text == '[')
        text++;
    for (size_t n = strlen(text); n && (text[n - 1] == ' ' || text[n - 1] == ']'); n--)
        text[n - 1] = 0;
    return text;
}

static int parse_input(struct wishes *w, const struct model *model, char *entry)
{
    char *colon = strrchr(entry, ':'); /* names may have colons */
    if (!colon)
        return bad_shape(w, "an input's name and sizes are not parted by a colon");
    *colon = 0;
    char *name = trim(entry), *dims = trim(colon + 1);
    struct wish wish = {.input = graph_input(&model->main, name)};
    if (wish.input < 0)
        return atc_error(
            "E10016", ATC_ARGUMENT,
            "Opname %s specified in --%s is not found in the model. Confirm whether this node name exists, or "
            "the node is not split with the specified delimiter ';'.",
            name, w->option);
    for (int32_t i = 0; i < w->count; i++)
        if (w->items[i].input == wish.input)
            return bad_shape(w, "an input is named twice");
    int status = parse_dims(w, dims, &wish);
    int32_t rank = model->values[model->main.in[wish.input]].type.rank;
    if (!status && rank >= 0 && rank != wish.rank)
        return atc_error("E10049", ATC_ARGUMENT,
                         "Dimension count %d configured in --%s does not match dimension count %d of the node [%s].",
                         wish.rank, w->option, rank, name);
    w->items[w->count++] = wish;
    return status;
}

static int parse_wishes(const struct arguments *arguments, const struct model *model, struct wishes *w)
{
    if (option_given(arguments, "input_shape") && option_given(arguments, "input_shape_range"))
        return atc_error("E10047", ATC_ARGUMENT, "--input_shape and --input_shape_range are mutually exclusive.");
    w->option = option_given(arguments, "input_shape_range") ? "input_shape_range" : "input_shape";
    w->text = option(arguments, w->option);
    char *copy = strdup(w->text), *rest = NULL;
    int status = copy ? ATC_OK : ATC_INTERNAL;
    for (char *entry = copy ? strtok_r(copy, ";", &rest) : NULL; entry && !status; entry = strtok_r(NULL, ";", &rest))
        status = parse_input(w, model, entry);
    free(copy);
    return status;
}

/* ---- wishes into types ---- */
static bool is_symbol(int64_t dim)
{
    return dim <= dim_symbol(0);
}

/* Sets the wished sizes. An open size keeps the model's symbol, so that sizes with one name stay equal; a symbol that
 * gets a number gets it in the inputs that were not named, too. */
static int set_types(const struct wishes *w, struct model *model)
{
    int64_t *fixed = calloc((size_t)model->n_symbols + 1, sizeof *fixed);
    int32_t had = model->n_symbols;
    bool *named = calloc((size_t)model->main.n_in + 1, sizeof *named);
    for (int32_t i = 0; fixed && named && i < w->count; i++) {
        const struct wish *wish = &w->items[i];
        struct type *type = &model->values[model->main.in[wish->input]].type;
        named[wish->input] = true;
        for (int32_t d = 0; d < wish->rank; d++) {
            int64_t low = wish->dim[d].low, high = wish->dim[d].high, now = type->rank < 0 ? DIM_UNKNOWN : type->dim[d];
            if (low == high) {
                if (is_symbol(now) && -2 - now < had)
                    fixed[-2 - now] = fixed[-2 - now] && fixed[-2 - now] != low ? -1 : low;
                type->dim[d] = low;
            } else {
                int32_t k = is_symbol(now) ? (int32_t)(-2 - now) : model_symbol(model, "", low, high);
                model->symbols[k].low = low;
                model->symbols[k].high = high;
                type->dim[d] = dim_symbol(k);
            }
        }
        type->rank = wish->rank;
    }
    for (int32_t i = 0; fixed && named && i < model->main.n_in; i++) {
        struct type *type = &model->values[model->main.in[i]].type;
        for (int32_t d = 0; !named[i] && d < type->rank; d++)
            if (is_symbol(type->dim[d]) && -2 - type->dim[d] < had && fixed[-2 - type->dim[d]] > 0)
                type->dim[d] = fixed[-2 - type->dim[d]];
    }
    int status = fixed && named ? ATC_OK : ATC_INTERNAL;
    free(fixed);
    free(named);
    return status;
}

static int check_ranks(const struct model *model)
{
    for (int32_t i = 0; i < model->main.n_in; i++) {
        const struct value *value = &model->values[model->main.in[i]];
        if (value->type.rank < 0)
            return atc_error(
                "E10007", ATC_ARGUMENT,
                "--input_shape is required. The value must be given for input [%s], of which the model says no "
                "dimensions.",
                value->name);
    }
    return ATC_OK;
}

/* ---- gears ---- */
struct sets {
    const char *option;
    enum gear_kind kind;
    int32_t width; /* sizes in a set; 0: not fixed yet */
};

static int parse_sets(const struct sets *sets, const char *text, struct model *model)
{
    bool batch = sets->kind == GEARS_BATCH;
    int64_t rows[GEARS_MOST + 1][GEAR_SIZES];
    int32_t count = 0, width = sets->width;
    for (const char *at = text; *at;) {
        int32_t n = 0;
        if (count > GEARS_MOST)
            break;
        for (;;) {
            char *end;
            int64_t size = strtoll(at, &end, 10);
            while (*end == ' ')
                end++;
            if (end == at || (*end && *end != ',' && *end != ';') || n == GEAR_SIZES)
                return sets->kind == GEARS_IMAGE
                           ? atc_error("E10020", ATC_ARGUMENT,
                                       "Value %s for parameter --dynamic_image_size is invalid.", text)
                           : atc_error("E10003", ATC_ARGUMENT,
                                       "Value %s for parameter --%s is invalid. Reason: it is no list "
                                       "of whole numbers.",
                                       text, sets->option);
            if (size < 1)
                return atc_error("E10038", ATC_ARGUMENT,
                                 "Dimension size %lld is invalid. The value must be greater than 0.", (long long)size);
            rows[count][n++] = size;
            at = *end ? end + 1 : end;
            if (*end == 0 || *end == ';' || batch)
                break;
        }
        if (sets->kind == GEARS_IMAGE && n != 2)
            return atc_error("E10020", ATC_ARGUMENT, "Value %s for parameter --dynamic_image_size is invalid.", text);
        if (n != width)
            return sets->kind == GEARS_DIMS && count == 0
                       ? atc_error("E10045", ATC_ARGUMENT,
                                   "The number of -1 axes in the --input_shape argument is %d, but a profile in "
                                   "--dynamic_dims has %d sizes.",
                                   width, n)
                       : atc_error(
                             "E10037", ATC_ARGUMENT,
                             "The profiles configured in --%s have inconsistent dimension counts. A profile has %d "
                             "dimensions while another has %d dimensions.",
                             sets->option, n, width);
        for (int32_t i = 0; i < count; i++)
            if (memcmp(rows[i], rows[count], (size_t)n * sizeof **rows) == 0)
                return atc_error("E10039", ATC_ARGUMENT, "The --%s argument have duplicate profiles.", sets->option);
        count++;
    }
    if (count < GEARS_LEAST)
        return atc_error("E10035", ATC_ARGUMENT, "--%s has %d profiles, which is less than the minimum %d.",
                         sets->option, count, GEARS_LEAST);
    if (count > GEARS_MOST)
        return atc_error("E10036", ATC_ARGUMENT, "--%s has more profiles than the maximum %d.", sets->option,
                         GEARS_MOST);
    int64_t *sizes = model_alloc(model, (size_t)count * (size_t)width * sizeof *sizes);
    if (!sizes)
        return ATC_INTERNAL;
    for (int32_t i = 0; i < count; i++)
        memcpy(sizes + (size_t)i * (size_t)width, rows[i], (size_t)width * sizeof *sizes);
    model->gears = (struct gears){sets->kind, count, width, sizes};
    return ATC_OK;
}

/* Gives the axes of -1 the symbols that the sets' sizes stand for; *width: how many there are. */
static int number_symbols(const struct arguments *arguments, struct model *model, const struct wishes *w,
                          enum gear_kind kind, int32_t *width)
{
    const char *format = option(arguments, "input_format");
    int32_t height = strcmp(format, "NHWC") == 0 ? 1 : strcmp(format, "NCDHW") == 0 ? 3 : 2, used = 0;
    model->n_symbols = 0;
    for (int k = 0; k < (kind == GEARS_BATCH ? 1 : kind == GEARS_IMAGE ? 2 : 0); k++)
        if (model_symbol(model, kind == GEARS_BATCH ? "batch" : k ? "width" : "height", 1, -1) < 0)
            return ATC_INTERNAL;
    for (int32_t i = 0; i < w->count; i++) {
        struct value *value = &model->values[model->main.in[w->items[i].input]];
        for (int32_t d = 0; d < value->type.rank; d++) {
            if (value->type.dim[d] >= 0)
                continue;
            used++;
            if (w->items[i].dim[d].high >= 0)
                return atc_error(
                    "E10040", ATC_ARGUMENT,
                    "As the --dynamic_batch_size, --dynamic_image_size, or --dynamic_dims argument is included, "
                    "the corresponding nodes specified in --input_shape must have -1 axes and cannot have '~'.");
            if (kind == GEARS_BATCH && d != 0)
                return atc_error(
                    "E10018", ATC_ARGUMENT,
                    "Value -1 for shape %d is invalid. When --dynamic_batch_size is included, only batch size N "
                    "can be -1 in --input_shape.",
                    d);
            if (kind == GEARS_IMAGE && d != height && d != height + 1)
                return atc_error("E10019", ATC_ARGUMENT,
                                 "When --dynamic_image_size is included, only the height and width axes can be -1 in "
                                 "--input_shape.");
            int32_t k = kind == GEARS_BATCH ? 0 : kind == GEARS_IMAGE ? d - height : model_symbol(model, "", 1, -1);
            value->type.dim[d] = dim_symbol(k);
        }
    }
    *width = model->n_symbols;
    if (used == 0)
        return kind == GEARS_BATCH
                   ? atc_error("E10031", ATC_ARGUMENT,
                               "--dynamic_batch_size is included, but none of the nodes specified in --input_shape has "
                               "a batch "
                               "size equaling -1.")
                   : atc_error(
                         "E10040", ATC_ARGUMENT,
                         "As the --dynamic_image_size or --dynamic_dims argument is included, the corresponding nodes "
                         "specified in --input_shape must have -1 axes.");
    return ATC_OK;
}

/* With sets, no other input may be open. */
static int check_closed(const struct wishes *w, const struct model *model)
{
    for (int32_t i = 0; i < model->main.n_in; i++) {
        const struct value *value = &model->values[model->main.in[i]];
        bool named = false;
        for (int32_t k = 0; k < w->count; k++)
            named |= w->items[k].input == i;
        for (int32_t d = 0; !named && d < value->type.rank; d++)
            if (value->type.dim[d] < 0)
                return atc_error(
                    "E10040", ATC_ARGUMENT,
                    "As the --dynamic_batch_size, --dynamic_image_size, or --dynamic_dims argument is included, "
                    "the sizes of input [%s], which the model leaves open, must stand in --input_shape.",
                    value->name);
    }
    return ATC_OK;
}

/* Symbols that got a number are gone; the others are numbered anew. */
static int renumber_symbols(struct model *model)
{
    int32_t *now = malloc(((size_t)model->n_symbols + 1) * sizeof *now), left = 0;
    if (!now)
        return ATC_INTERNAL;
    for (int32_t k = 0; k < model->n_symbols; k++)
        now[k] = -1;
    for (int32_t i = 0; i < model->main.n_in; i++) {
        struct type *type = &model->values[model->main.in[i]].type;
        for (int32_t d = 0; d < type->rank; d++) {
            int32_t k = is_symbol(type->dim[d]) ? (int32_t)(-2 - type->dim[d]) : -1;
            if (k < 0)
                continue;
            if (now[k] < 0)
                now[k] = left++;
            type->dim[d] = dim_symbol(now[k]);
        }
    }
    struct dim_range *symbols = left ? malloc((size_t)left * sizeof *symbols) : NULL;
    for (int32_t k = 0; symbols && k < model->n_symbols; k++)
        if (now[k] >= 0)
            symbols[now[k]] = model->symbols[k];
    for (int32_t k = 0; symbols && k < left; k++)
        model->symbols[k] = symbols[k];
    int status = left && !symbols ? ATC_INTERNAL : ATC_OK;
    if (!status)
        model->n_symbols = left;
    free(symbols);
    free(now);
    return status;
}

static int apply(const struct arguments *arguments, struct model *model, struct wishes *w)
{
    static const struct sets kinds[] = {{"dynamic_batch_size", GEARS_BATCH, 0},
                                        {"dynamic_image_size", GEARS_IMAGE, 0},
                                        {"dynamic_dims", GEARS_DIMS, 0}};
    const struct sets *kind = NULL;
    for (int i = 0; i < 3; i++) {
        if (!option_given(arguments, kinds[i].option))
            continue;
        if (kind || option_given(arguments, "input_shape_range"))
            return atc_error("E10009", ATC_ARGUMENT,
                             "--dynamic_batch_size, --dynamic_image_size, --input_shape_range, and --dynamic_dims are "
                             "mutually exclusive.");
        kind = &kinds[i];
    }
    int status = parse_wishes(arguments, model, w);
    if (!status)
        status = set_types(w, model);
    if (!status)
        status = check_ranks(model);
    if (status || !kind)
        return status ? status : renumber_symbols(model);
    struct sets sets = *kind;
    status = check_closed(w, model);
    if (!status)
        status = number_symbols(arguments, model, w, kind->kind, &sets.width);
    return status ? status : parse_sets(&sets, option(arguments, kind->option), model);
}

int shape_apply(const struct arguments *arguments, struct model *model)
{
    struct wishes w = {.items = calloc((size_t)model->main.n_in + 1, sizeof *w.items)};
    int status = w.items ? apply(arguments, model, &w) : ATC_INTERNAL;
    free(w.items);
    return status;
}
