/* SPDX-License-Identifier: BSD-3-Clause */
/* Order and selection: sort, topk, kthvalue, median, unique, nonzero, masked_select. What PyTorch refuses (or answers
 * for nothing at all) falls back, so that the text is PyTorch's own. */
#include "op.h"

static struct aclnn sort = ACLNN("aclnnSort", "TbibTT");
static struct aclnn topk = ACLNN("aclnnTopk", "TiibbTT");
static struct aclnn kthvalue = ACLNN("aclnnKthvalue", "TiibTT");
static struct aclnn median = ACLNN("aclnnMedian", "TT");
static struct aclnn nanmedian = ACLNN("aclnnNanMedian", "TT");
static struct aclnn median_dim = ACLNN("aclnnMedianDim", "TibTT");
static struct aclnn nanmedian_dim = ACLNN("aclnnNanMedianDim", "TibTT");
static struct aclnn unique2 = ACLNN("aclnnUnique2", "TbbbTTT");
static struct aclnn nonzero = ACLNN("aclnnNonzero", "TT");
static struct aclnn masked_select = ACLNN("aclnnMaskedSelect", "TTT");

enum { RANK_MAX = 16 };

/* Types with an order here. PyTorch's CPU has none for complex; for bool only some operators. */
static bool ordered(const struct npu_tensor *t, bool with_bool)
{
    return t->device >= 0 && t->rank <= RANK_MAX && (is_floating(t->dtype) || is_integral(t->dtype, with_bool));
}

/* The length of dim (wrapped), -1 when it does not exist. */
static int64_t length_of(const struct npu_tensor *t, int64_t dim, int32_t *wrapped)
{
    int32_t rank = t->rank ? t->rank : 1;
    *wrapped = (int32_t)(dim < 0 ? dim + rank : dim);
    if (dim < -rank || dim >= rank)
        return -1;
    return t->rank ? t->size[*wrapped] : 1;
}

/* self's shape with `size` at dim, or without dim (-1). */
static int32_t shape_of(const struct npu_tensor *t, int32_t dim, int64_t size, int64_t *shape)
{
    int32_t rank = 0;
    for (int32_t i = 0; i < t->rank; i++)
        if (i != dim || size >= 0)
            shape[rank++] = i == dim ? size : t->size[i];
    return rank;
}

/* self, stable, dim, descending */
static int run_sort(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0);
    int64_t dim = arg_int(c, 2, -1);
    int32_t wrapped;
    if (!ordered(self, true) || length_of(self, dim, &wrapped) < 0)
        return CALL_FALLBACK;
    struct npu_tensor *values = result_pointwise(c, 0, self->dtype, self->rank, self->size, &self, 1);
    struct npu_tensor *indices = result_pointwise(c, 1, ACL_INT64, self->rank, self->size, &self, 1);
    return launch(c, row->aclnn,
                  (union aclnn_value[]){{.t = self},
                                        {.i = arg_bool(c, 1, false)},
                                        {.i = dim},
                                        {.i = arg_bool(c, 3, false)},
                                        {.t = values},
                                        {.t = indices}});
}

/* self, k, dim, largest, sorted */
static int run_topk(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0);
    int64_t k = arg_int(c, 1, 0), dim = arg_int(c, 2, -1), size[RANK_MAX];
    int32_t wrapped;
    if (!ordered(self, false) || k < 0 || k > length_of(self, dim, &wrapped))
        return CALL_FALLBACK;
    int32_t rank = shape_of(self, wrapped, k, size);
    struct npu_tensor *values = result(c, 0, self->dtype, rank, size), *indices = result(c, 1, ACL_INT64, rank, size);
    return launch(c, row->aclnn,
                  (union aclnn_value[]){{.t = self},
                                        {.i = k},
                                        {.i = dim},
                                        {.i = arg_bool(c, 3, true)},
                                        {.i = arg_bool(c, 4, true)},
                                        {.t = values},
                                        {.t = indices}});
}

/* self, k, dim, keepdim */
static int run_kthvalue(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0);
    int64_t k = arg_int(c, 1, 0), dim = arg_int(c, 2, -1), size[RANK_MAX];
    bool keepdim = arg_bool(c, 3, false);
    int32_t wrapped;
    if (!ordered(self, false) || k < 1 || k > length_of(self, dim, &wrapped))
        return CALL_FALLBACK;
    int32_t rank = shape_of(self, wrapped, keepdim ? 1 : -1, size);
    struct npu_tensor *values = result(c, 0, self->dtype, rank, size), *indices = result(c, 1, ACL_INT64, rank, size);
    return launch(
        c, row->aclnn,
        (union aclnn_value[]){{.t = self}, {.i = k}, {.i = dim}, {.i = keepdim}, {.t = values}, {.t = indices}});
}

static int run_median(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0);
    if (!ordered(self, false) || (!tensor_numel(self) && !is_floating(self->dtype)))
        return CALL_FALLBACK;
    struct npu_tensor *out = result(c, 0, self->dtype, 0, NULL);
    return launch(c, row->aclnn, (union aclnn_value[]){{.t = self}, {.t = out}});
}

/* self, dim, keepdim */
static int run_median_dim(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0);
    int64_t dim = arg_int(c, 1, 0), size[RANK_MAX];
    bool keepdim = arg_bool(c, 2, false);
    int32_t wrapped;
    if (!ordered(self, false) || length_of(self, dim, &wrapped) < 1)
        return CALL_FALLBACK;
    int32_t rank = shape_of(self, wrapped, keepdim ? 1 : -1, size);
    struct npu_tensor *values = result(c, 0, self->dtype, rank, size), *indices = result(c, 1, ACL_INT64, rank, size);
    return launch(c, row->aclnn,
                  (union aclnn_value[]){{.t = self}, {.i = dim}, {.i = keepdim}, {.t = values}, {.t = indices}});
}

/* ---- results as long as the data say: a temporary with room for all, then what was found ---- */

static int give_found(struct call *c, int k, const struct npu_tensor *found, int32_t rank, const int64_t *size)
{
    int64_t stride[RANK_MAX], step = 1;
    for (int32_t i = rank; i-- > 0; step *= size[i])
        stride[i] = step;
    struct npu_tensor *out = result(c, k, found->dtype, rank, size);
    if (call_failed(c))
        return CALL_ERROR;
    return step ? copy_tensor(c, out, view_of(c, found, rank, size, stride, found->offset)) : CALL_OK;
}

/* self, sorted, return_inverse, return_counts */
static int run_unique2(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0);
    bool want_inverse = arg_bool(c, 2, false), want_counts = arg_bool(c, 3, false);
    int64_t n = tensor_numel(self), size[RANK_MAX], none = 0;
    int32_t rank;
    if (!ordered(self, true))
        return CALL_FALLBACK;
    struct npu_tensor *value = temp(c, self->dtype, 1, &n), *counts = want_counts ? temp(c, ACL_INT64, 1, &n) : NULL;
    struct npu_tensor *inverse =
        want_inverse ? result(c, 1, ACL_INT64, self->rank, self->size) : result(c, 1, ACL_INT64, 1, &none);
    if (call_failed(c))
        return CALL_ERROR;
    if (launch_sized(c, row->aclnn,
                     (union aclnn_value[]){{.t = self},
                                           {.i = true},
                                           {.i = want_inverse},
                                           {.i = want_counts},
                                           {.t = value},
                                           {.t = want_inverse ? inverse : NULL},
                                           {.t = counts}},
                     4, &rank, size))
        return CALL_ERROR;
    if (give_found(c, 0, value, rank, size))
        return CALL_ERROR;
    if (want_counts)
        return give_found(c, 2, counts, rank, size);
    result(c, 2, ACL_INT64, 1, &none);
    return call_failed(c) ? CALL_ERROR : CALL_OK;
}

static int run_nonzero(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0);
    if (self->device < 0 || self->rank > RANK_MAX)
        return CALL_FALLBACK;
    int64_t size[RANK_MAX] = {tensor_numel(self), self->rank};
    int32_t rank;
    struct npu_tensor *all = temp(c, ACL_INT64, 2, size);
    if (call_failed(c) || launch_sized(c, row->aclnn, (union aclnn_value[]){{.t = self}, {.t = all}}, 1, &rank, size))
        return CALL_ERROR;
    return give_found(c, 0, all, rank, size);
}

/* self, mask */
static int run_masked_select(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *self = arg_tensor(c, 0), *mask = arg_tensor(c, 1);
    int64_t size[RANK_MAX], n = 1;
    if (self->device < 0 || mask->device < 0 || mask->dtype != ACL_BOOL || self->rank > RANK_MAX ||
        mask->rank > RANK_MAX)
        return CALL_FALLBACK;
    int32_t rank = broadcast_shape(c, (const struct npu_tensor *[]){self, mask}, 2, size);
    if (rank < 0)
        return CALL_ERROR;
    for (int32_t i = 0; i < rank; i++)
        n *= size[i];
    struct npu_tensor *all = temp(c, self->dtype, 1, &n);
    if (call_failed(c) ||
        launch_sized(c, row->aclnn, (union aclnn_value[]){{.t = self}, {.t = mask}, {.t = all}}, 2, &rank, size))
        return CALL_ERROR;
    return give_found(c, 0, all, rank, size);
}

static const struct aten_row rows[] = {
    {"sort.stable", run_sort, &sort, 0, false},
    {"sort.values_stable", run_sort, &sort, 0, false},
    {"topk", run_topk, &topk, 0, false},
    {"topk.values", run_topk, &topk, 0, false},
    {"kthvalue", run_kthvalue, &kthvalue, 0, false},
    {"kthvalue.values", run_kthvalue, &kthvalue, 0, false},
    {"median", run_median, &median, 0, false},
    {"nanmedian", run_median, &nanmedian, 0, false},
    {"median.dim", run_median_dim, &median_dim, 0, false},
    {"median.dim_values", run_median_dim, &median_dim, 0, false},
    {"nanmedian.dim", run_median_dim, &nanmedian_dim, 0, false},
    {"nanmedian.dim_values", run_median_dim, &nanmedian_dim, 0, false},
    {"_unique2", run_unique2, &unique2, 0, false},
    {"nonzero", run_nonzero, &nonzero, 0, false},
    {"nonzero.out", run_nonzero, &nonzero, 0, false},
    {"masked_select", run_masked_select, &masked_select, 0, false},
    {"masked_select.out", run_masked_select, &masked_select, 0, false},
};
ATEN_FAMILY(sort_family, rows);
