/* SPDX-License-Identifier: BSD-3-Clause */
/* Inputs and outputs of another type than the model's own. */
#include "graph/passes/edit.h"

int pass_input_dtype(struct model *model, int32_t input, aclDataType dtype)
{
    int32_t inner = model->main.in[input];
    struct type type = model->values[inner].type;
    aclDataType own = type.dtype;
    struct node cast;
    if (own == dtype)
        return GRAPH_OK;
    type.dtype = dtype;
    const char *name = model->values[inner].name;
    int32_t outer = model_value(model, name, &type); /* the name is what callers know */
    if (outer == VALUE_NONE || !edit_cast(model, &cast, name, outer, inner, own) || !edit_insert(model, 0, &cast))
        return graph_fail(GRAPH_NO_MEMORY, "no memory");
    model->main.in[input] = outer;
    return GRAPH_OK;
}

int pass_output_dtype(struct model *model, int32_t output, aclDataType dtype)
{
    int32_t inner = model->main.out[output];
    struct type type = model->values[inner].type;
    struct node cast;
    if (type.dtype == dtype)
        return GRAPH_OK;
    type.dtype = dtype;
    const char *name = model->values[inner].name;
    int32_t outer = model_value(model, name, &type);
    if (outer == VALUE_NONE || !edit_cast(model, &cast, name, inner, outer, dtype) ||
        !edit_insert(model, model->main.n_nodes, &cast))
        return graph_fail(GRAPH_NO_MEMORY, "no memory");
    model->main.out[output] = outer;
    return GRAPH_OK;
}
