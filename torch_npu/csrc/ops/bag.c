/* SPDX-License-Identifier: BSD-3-Clause */
/* Bags of embeddings and their gradients, which are those of the single rows. */
#include "op.h"

#include <string.h>

enum { SUM, MEAN, MAX };

static bool whole(aclDataType t)
{
    return t == ACL_INT64 || t == ACL_INT32;
}

/* weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights?, include_last_offset, padding_idx
 * → output, offset2bag, bag_size, max_indices */
static int run_bag(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *weight = arg_tensor(c, 0), *index = arg_tensor(c, 1), *offsets = arg_tensor(c, 2),
                            *factor = arg_tensor(c, 6);
    int64_t mode = arg_int(c, 4, 0);
    bool last = arg_bool(c, 7, false);
    if (!is_floating(weight->dtype) || weight->rank != 2 || index->rank != 1 || offsets->rank != 1 ||
        !whole(index->dtype) || !whole(offsets->dtype) || mode < SUM || mode > MAX || index->device < 0 ||
        offsets->device < 0 || offsets->size[0] < last ||
        (factor->defined &&
         (factor->dtype != weight->dtype || factor->rank != 1 || mode != SUM || factor->size[0] != index->size[0])))
        return CALL_FALLBACK;
    aclDataType type = index->dtype == ACL_INT64 || offsets->dtype == ACL_INT64 ? ACL_INT64 : ACL_INT32;
    int64_t bags = offsets->size[0] - last, size[2] = {bags, weight->size[1]};
    struct npu_tensor *out = result(c, 0, weight->dtype, 2, size), *bag_of = result(c, 1, type, 1, index->size);
    struct npu_tensor *sizes = result(c, 2, type, 1, &bags);
    struct npu_tensor *largest = mode == MAX ? result(c, 3, type, 2, size) : result(c, 3, type, 1, &bags);
    int status = launch(c, row->aclnn,
                        (union aclnn_value[]){{.t = weight},
                                              {.t = index},
                                              {.t = offsets},
                                              {.i = arg_bool(c, 3, false)},
                                              {.i = mode},
                                              {.i = false},
                                              {.t = factor},
                                              {.i = last},
                                              {.i = arg_int(c, 8, -1)},
                                              {.t = out},
                                              {.t = bag_of},
                                              {.t = sizes},
                                              {.t = largest}});
    return status ? status : call_sync(c);
}

/* Rows of t, chosen by a tensor of indices. */
static struct npu_tensor *rows_of(struct call *c, const struct npu_tensor *t, const struct npu_tensor *index)
{
    static struct aclnn select = ACLNN("aclnnIndexSelect", "TiTT");
    int64_t size[2] = {index->size[0], t->size[1]};
    struct npu_tensor *rows = temp(c, t->dtype, 2, size);
    if (index->size[0] && t->size[1])
        launch(c, &select, (union aclnn_value[]){{.t = t}, {.i = 0}, {.t = index}, {.t = rows}});
    return rows;
}

/* A column next to the rows of a matrix. */
static const struct npu_tensor *column(struct call *c, const struct npu_tensor *t)
{
    int64_t size[2] = {t->size[0], 1}, stride[2] = {t->stride[0], 0};
    return view_of(c, t, 2, size, stride, t->offset);
}

static int clear(struct call *c, const struct npu_tensor *t)
{
    static struct aclnn zero = ACLNN("aclnnInplaceZero", "T");
    return call_failed(c) ? CALL_ERROR : tensor_numel(t) ? launch(c, &zero, (union aclnn_value[]){{.t = t}}) : CALL_OK;
}

/* The largest elements' gradients go to the rows that they came from. */
static int give_largest(struct call *c, const struct npu_tensor *grad, const struct npu_tensor *largest,
                        const struct npu_tensor *sizes, const struct npu_tensor *out)
{
    static struct aclnn add = ACLNN("aclnnScatterAdd", "TiTTT"), gt = ACLNN("aclnnGtScalar", "TST"),
                        mul = ACLNN("aclnnMul", "TTT");
    const struct npu_scalar zero = {.kind = SCALAR_INT};
    if (clear(c, out))
        return CALL_ERROR;
    if (!tensor_numel(grad))
        return CALL_OK;
    struct npu_tensor *full = temp(c, ACL_BOOL, 1, sizes->size), *g = temp(c, grad->dtype, 2, grad->size);
    launch(c, &gt, (union aclnn_value[]){{.t = sizes}, {.s = &zero}, {.t = full}});
    launch(c, &mul, (union aclnn_value[]){{.t = grad}, {.t = column(c, full)}, {.t = g}});
    return launch(
        c, &add, (union aclnn_value[]){{.t = out}, {.i = 0}, {.t = cast(c, largest, ACL_INT64)}, {.t = g}, {.t = out}});
}

/* grad, indices, offset2bag, bag_size, maximum_indices, num_weights, scale_grad_by_freq, mode, per_sample_weights?,
 * padding_idx; of _embedding_bag_backward with offsets after indices, and sparse after mode */
static int run_backward(struct call *c, const struct aten_row *row)
{
    static struct aclnn mul = ACLNN("aclnnMul", "TTT"), div_ = ACLNN("aclnnDiv", "TTT");
    int shift = row->code;
    const struct npu_tensor *grad = arg_tensor(c, 0), *index = arg_tensor(c, 1), *bag_of = arg_tensor(c, 2 + shift),
                            *sizes = arg_tensor(c, 3 + shift), *largest = arg_tensor(c, 4 + shift),
                            *factor = arg_tensor(c, 8 + 2 * shift);
    int64_t words = arg_int(c, 5 + shift, 0), mode = arg_int(c, 7 + shift, 0), padding = arg_int(c, 9 + 2 * shift, -1),
            size[2];
    bool by_count = arg_bool(c, 6 + shift, false);
    if ((shift && arg_bool(c, 9, false)) || !is_floating(grad->dtype) || grad->rank != 2 || index->rank != 1 ||
        bag_of->rank != 1 || bag_of->size[0] != index->size[0] || mode < SUM || mode > MAX ||
        (mode == MAX && largest->rank != 2) || (by_count && mode == MAX))
        return CALL_FALLBACK;
    size[0] = words;
    size[1] = grad->size[1];
    struct npu_tensor *out = result(c, 0, grad->dtype, 2, size);
    if (mode == MAX)
        return call_failed(c) ? CALL_ERROR : give_largest(c, grad, largest, sizes, out);
    if (!index->size[0] || !tensor_numel(out))
        return clear(c, out);
    if (mode == MEAN) {
        struct npu_tensor *shared = temp(c, grad->dtype, 2, grad->size);
        launch(c, &div_,
               (union aclnn_value[]){{.t = grad}, {.t = column(c, cast(c, sizes, grad->dtype))}, {.t = shared}});
        grad = shared;
    }
    struct npu_tensor *each = rows_of(c, grad, bag_of);
    if (factor->defined)
        launch(c, &mul, (union aclnn_value[]){{.t = each}, {.t = column(c, factor)}, {.t = each}});
    return launch(
        c, row->aclnn,
        (union aclnn_value[]){{.t = each}, {.t = index}, {.i = words}, {.i = padding}, {.i = by_count}, {.t = out}});
}

/* grad, weight, indices, offsets, offset2bag, mode, padding_idx: of the factors, products of rows */
static int run_factors(struct call *c, const struct aten_row *row)
{
    static struct aclnn mul = ACLNN("aclnnMul", "TTT"), ne = ACLNN("aclnnNeScalar", "TST");
    const struct npu_tensor *grad = arg_tensor(c, 0), *weight = arg_tensor(c, 1), *index = arg_tensor(c, 2),
                            *bag_of = arg_tensor(c, 4);
    int64_t padding = arg_int(c, 6, -1), one = 1;
    if (!is_floating(grad->dtype) || grad->dtype != weight->dtype || grad->rank != 2 || weight->rank != 2 ||
        index->rank != 1 || bag_of->rank != 1 || bag_of->size[0] != index->size[0] || arg_int(c, 5, 0) != SUM)
        return CALL_FALLBACK;
    struct npu_tensor *out = result(c, 0, grad->dtype, 1, index->size);
    if (!index->size[0] || !grad->size[1])
        return clear(c, out);
    struct npu_tensor *a = rows_of(c, grad, bag_of), *b = rows_of(c, weight, index);
    launch(c, &mul, (union aclnn_value[]){{.t = a}, {.t = b}, {.t = a}});
    launch(c, row->aclnn,
           (union aclnn_value[]){{.t = a}, {.ints = {&one, 1}}, {.i = false}, {.i = grad->dtype}, {.t = out}});
    if (padding >= 0) {
        const struct npu_scalar skipped = {.kind = SCALAR_INT, .i = padding, .d = {(double)padding}};
        struct npu_tensor *counts = temp(c, ACL_BOOL, 1, index->size);
        launch(c, &ne, (union aclnn_value[]){{.t = index}, {.s = &skipped}, {.t = counts}});
        launch(c, &mul, (union aclnn_value[]){{.t = out}, {.t = counts}, {.t = out}});
    }
    return call_failed(c) ? CALL_ERROR : CALL_OK;
}

static struct aclnn bag = ACLNN("aclnnEmbeddingBag", "TTTbibTbiTTTT");
static struct aclnn dense_backward = ACLNN("aclnnEmbeddingDenseBackward", "TTuubT");
static struct aclnn reduce_sum = ACLNN("aclnnReduceSum", "TIbyT");

static const struct aten_row rows[] = {
    {"_embedding_bag", run_bag, &bag},
    {"_embedding_bag_forward_only", run_bag, &bag},
    {"_embedding_bag_backward", run_backward, &dense_backward, 1},
    {"_embedding_bag_dense_backward", run_backward, &dense_backward, 0},
    {"_embedding_bag_per_sample_weights_backward", run_factors, &reduce_sum},
};
ATEN_FAMILY(bag_family, rows);
