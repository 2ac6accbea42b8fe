/* SPDX-License-Identifier: BSD-3-Clause */
/* What enters and leaves a model: --out_nodes, --input_fp16_nodes, --output_type. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "graph/operator.h"
#include "graph/passes/passes.h"
#include "tools/atc/atc.h"

static const struct node *find_node(const struct model *model, const char *name)
{
    for (int32_t i = 0; i < model->main.n_nodes; i++)
        if (strcmp(model->main.nodes[i].name, name) == 0)
            return &model->main.nodes[i];
    return NULL;
}

/* "node:1", "node", or the name of a value; VALUE_NONE. */
static int32_t find_output(const struct model *model, char *text)
{
    char *colon = strrchr(text, ':'), *end = NULL;
    for (int32_t i = 0; i < model->main.n_nodes; i++)
        for (int32_t k = 0; k < model->main.nodes[i].n_out; k++) {
            int32_t value = model->main.nodes[i].out[k];
            if (value != VALUE_NONE && strcmp(model->values[value].name, text) == 0)
                return value;
        }
    long index = colon ? strtol(colon + 1, &end, 10) : 0;
    const struct node *node = find_node(model, text);
    if (!node && colon && end != colon + 1 && *end == 0) {
        *colon = 0;
        node = find_node(model, text);
        *colon = ':';
    } else {
        index = 0;
    }
    return node && index >= 0 && index < node->n_out ? node->out[index] : VALUE_NONE;
}

int ends_out_nodes(const struct arguments *arguments, struct model *model)
{
    char *copy = strdup(option(arguments, "out_nodes")), *rest = NULL;
    size_t room = strlen(copy ? copy : "") / 2 + 1;
    int32_t *out = model_alloc(model, room * sizeof *out), n = 0;
    int status = copy && out ? ATC_OK : ATC_INTERNAL;
    for (char *entry = copy ? strtok_r(copy, ";", &rest) : NULL; entry && !status; entry = strtok_r(NULL, ";", &rest)) {
        int32_t value = find_output(model, entry);
        if (value == VALUE_NONE)
            status = atc_error("E11017", ATC_ARGUMENT, "Failed to find node %s specified by --out_nodes.", entry);
        else
            out[n++] = value;
    }
    if (!status && n) {
        model->main.out = out;
        model->main.n_out = n;
    }
    free(copy);
    return status;
}

static int fp16_inputs(const struct arguments *arguments, struct model *model)
{
    char *copy = strdup(option(arguments, "input_fp16_nodes")), *rest = NULL;
    int status = copy ? ATC_OK : ATC_INTERNAL;
    for (char *entry = copy ? strtok_r(copy, ";", &rest) : NULL; entry && !status; entry = strtok_r(NULL, ";", &rest)) {
        int32_t input = graph_input(&model->main, entry);
        if (input < 0)
            status =
                find_node(model, entry)
                    ? atc_error("E10017", ATC_ARGUMENT,
                                "Input Op %s specified in --input_fp16_nodes is invalid. The Op type must be Data.",
                                entry)
                    : atc_error("E10016", ATC_ARGUMENT,
                                "Opname %s specified in --input_fp16_nodes is not found in the model. Confirm whether "
                                "this node name exists, or the node is not split with the specified delimiter ';'.",
                                entry);
        else if (pass_input_dtype(model, input, ACL_FLOAT16))
            status = ATC_INTERNAL;
    }
    free(copy);
    return status;
}

static aclDataType type_word(const char *word)
{
    static const struct {
        const char *word;
        aclDataType dtype;
    } words[] = {{"FP32", ACL_FLOAT}, {"FP16", ACL_FLOAT16}, {"UINT8", ACL_UINT8}, {"INT8", ACL_INT8}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i].word, word) == 0)
            return words[i].dtype;
    return ACL_DT_UNDEFINED;
}

static int bad_type(const char *text)
{
    return atc_error(
        "E10001", ATC_ARGUMENT,
        "Value %s for parameter --output_type is invalid. Reason: it must be FP32, FP16, UINT8 or INT8, or "
        "\"node:0:FP16;…\" with nodes that are outputs of the model.",
        text);
}

static int output_types(const struct arguments *arguments, struct model *model)
{
    const char *text = option(arguments, "output_type");
    aclDataType all = type_word(text);
    int status = ATC_OK;
    if (all != ACL_DT_UNDEFINED) {
        for (int32_t i = 0; i < model->main.n_out && !status; i++)
            status = pass_output_dtype(model, i, all) ? ATC_INTERNAL : ATC_OK;
        return status;
    }
    char *copy = strdup(text), *rest = NULL;
    for (char *entry = copy ? strtok_r(copy, ";", &rest) : NULL; entry && !status; entry = strtok_r(NULL, ";", &rest)) {
        char *colon = strrchr(entry, ':');
        aclDataType dtype = colon ? type_word(colon + 1) : ACL_DT_UNDEFINED;
        int32_t value = VALUE_NONE, i = 0;
        if (colon) {
            *colon = 0;
            value = find_output(model, entry);
        }
        while (i < model->main.n_out && model->main.out[i] != value)
            i++;
        if (dtype == ACL_DT_UNDEFINED || value == VALUE_NONE || i == model->main.n_out)
            status = bad_type(text);
        else
            status = pass_output_dtype(model, i, dtype) ? ATC_INTERNAL : ATC_OK;
    }
    free(copy);
    return status;
}

int ends_types(const struct arguments *arguments, struct model *model)
{
    int status = fp16_inputs(arguments, model);
    return status ? status : output_types(arguments, model);
}
