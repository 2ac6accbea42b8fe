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
    if (self->rank == 0)
        k = 1; /* also for 0: PyTorch answers with the number itself */
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

enum { WITHOUT_COUNTS = 1 };

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
    bool want_inverse = arg_bool(c, 2, false), want_counts = row->code != WITHOUT_COUNTS && arg_bool(c, 3, false);
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
    if (row->code != WITHOUT_COUNTS)
        result(c, 2, ACL_INT64, 1, &none);
    return call_failed(c) ? CALL_ERROR : CALL_OK;
}

static const struct npu_scalar integer_one = {.kind = SCALAR_INT, .i = 1, .d = {1}};

/* Where an element differs from the one before along dim, the first always. */
static struct npu_tensor *starts(struct call *c, const struct npu_tensor *x, int32_t dim)
{
    static struct aclnn one = ACLNN("aclnnInplaceOne", "T"), ne = ACLNN("aclnnNeTensor", "TTT");
    struct npu_tensor *mask = temp(c, ACL_BOOL, x->rank, x->size);
    int64_t size[RANK_MAX];
    for (int32_t d = 0; d < x->rank; d++)
        size[d] = x->size[d] - (d == dim);
    launch(c, &one, (union aclnn_value[]){{.t = mask}});
    if (size[dim])
        launch(c, &ne,
               (union aclnn_value[]){{.t = view_of(c, x, x->rank, size, x->stride, x->offset + x->stride[dim])},
                                     {.t = view_of(c, x, x->rank, size, x->stride, x->offset)},
                                     {.t = view_of(c, mask, x->rank, size, mask->stride, mask->stride[dim])}});
    return mask;
}

/* How many elements each run of n has, from where it begins. */
static int give_lengths(struct call *c, int k, const struct npu_tensor *places, int64_t runs, int64_t n)
{
    static struct aclnn sub = ACLNN("aclnnSub", "TTST"), fill = ACLNN("aclnnInplaceFillScalar", "TS");
    int64_t one = 1, more = runs + 1;
    const struct npu_scalar end = {.kind = SCALAR_INT, .i = n, .d = {(double)n}};
    struct npu_tensor *out = result(c, k, ACL_INT64, 1, &runs);
    if (call_failed(c) || !runs)
        return call_failed(c) ? CALL_ERROR : CALL_OK;
    struct npu_tensor *all = temp(c, ACL_INT64, 1, &more);
    launch(c, &fill, (union aclnn_value[]){{.t = all}, {.s = &end}});
    copy_tensor(c, view_of(c, all, 1, &runs, &one, 0), view_of(c, places, 1, &runs, &one, places->offset));
    return launch(c, &sub,
                  (union aclnn_value[]){{.t = view_of(c, all, 1, &runs, &one, 1)},
                                        {.t = view_of(c, all, 1, &runs, &one, 0)},
                                        {.s = &integer_one},
                                        {.t = out}});
}

/* self, return_inverse, return_counts, dim? → values, inverse, counts */
static int run_unique_consecutive(struct call *c, const struct aten_row *row)
{
    static struct aclnn cumsum = ACLNN("aclnnCumsum", "TiyT"), adds = ACLNN("aclnnAdds", "TSST");
    const struct npu_scalar minus = {.kind = SCALAR_INT, .i = -1, .d = {-1}};
    const struct npu_tensor *self = arg_tensor(c, 0), *dense;
    bool want_inverse = arg_bool(c, 1, false), want_counts = arg_bool(c, 2, false);
    int64_t n = tensor_numel(self), one = 1, none = 0, size[RANK_MAX];
    int32_t rank;
    (void)row;
    if (!ordered(self, true) || (!arg_none(c, 3) && self->rank != 1) || !n)
        return CALL_FALLBACK;
    dense = contiguous(c, self);
    const struct npu_tensor *x = view_of(c, dense, 1, &n, &one, dense->offset);
    struct npu_tensor *mask = starts(c, x, 0), *found = temp(c, x->dtype, 1, &n);
    if (launch_sized(c, &masked_select, (union aclnn_value[]){{.t = x}, {.t = mask}, {.t = found}}, 2, &rank, size) ||
        give_found(c, 0, found, rank, size))
        return CALL_ERROR;
    int64_t runs = size[0], table[2] = {n, 1};
    struct npu_tensor *inverse =
        want_inverse ? result(c, 1, ACL_INT64, self->rank, self->size) : result(c, 1, ACL_INT64, 1, &none);
    if (want_inverse) {
        struct npu_tensor *places = temp(c, ACL_INT64, 1, &n);
        launch(c, &cumsum, (union aclnn_value[]){{.t = mask}, {.i = 0}, {.i = ACL_INT64}, {.t = places}});
        launch(c, &adds, (union aclnn_value[]){{.t = places}, {.s = &minus}, {.s = &integer_one}, {.t = places}});
        int64_t stride[RANK_MAX], step = 1;
        for (int32_t i = self->rank; i-- > 0; step *= self->size[i])
            stride[i] = step;
        if (copy_tensor(c, inverse, view_of(c, places, self->rank, self->size, stride, 0)))
            return CALL_ERROR;
    }
    if (!want_counts) {
        result(c, 2, ACL_INT64, 1, &none);
        return call_failed(c) ? CALL_ERROR : CALL_OK;
    }
    struct npu_tensor *places = temp(c, ACL_INT64, 2, table);
    if (launch_sized(c, &nonzero, (union aclnn_value[]){{.t = mask}, {.t = places}}, 1, &rank, size))
        return CALL_ERROR;
    return give_lengths(c, 2, places, runs, n);
}

/* self, dim, keepdim → values, indices: in the sorted line the end of the first of the longest runs */
static int run_mode(struct call *c, const struct aten_row *row)
{
    static struct aclnn arange = ACLNN("aclnnArange", "SSST"), where = ACLNN("aclnnSWhere", "TTTT"),
                        cummax = ACLNN("aclnnCummax", "TiTT"), sub = ACLNN("aclnnSub", "TTST"),
                        argmax = ACLNN("aclnnArgMax", "TibT"), gather = ACLNN("aclnnGather", "TiTT"),
                        zero_ = ACLNN("aclnnInplaceZero", "T");
    const struct npu_tensor *self = arg_tensor(c, 0);
    bool keep = arg_bool(c, 2, false);
    (void)row;
    if (!ordered(self, true) || !self->rank || !tensor_numel(self))
        return CALL_FALLBACK;
    int32_t dim = wrap_dim(c, arg_int(c, 1, -1), self->rank), rank = 0;
    if (dim < 0)
        return CALL_ERROR;
    int64_t kept[RANK_MAX], size[RANK_MAX], across[RANK_MAX] = {0}, n = self->size[dim];
    for (int32_t d = 0; d < self->rank; d++) {
        kept[d] = d == dim ? 1 : self->size[d];
        if (d != dim || keep)
            size[rank++] = kept[d];
    }
    struct npu_tensor *values = result(c, 0, self->dtype, rank, size), *indices = result(c, 1, ACL_INT64, rank, size);
    if (call_failed(c))
        return CALL_ERROR;
    struct npu_tensor *line = temp(c, self->dtype, self->rank, self->size),
                      *order = temp(c, ACL_INT64, self->rank, self->size),
                      *begin = temp(c, ACL_INT64, self->rank, self->size),
                      *latest = temp(c, ACL_INT64, self->rank, self->size),
                      *length = temp(c, ACL_INT64, self->rank, self->size), *count = temp(c, ACL_INT64, 1, &n),
                      *zero = temp(c, ACL_INT64, 0, NULL), *at = temp(c, ACL_INT64, self->rank, kept),
                      *value = temp(c, self->dtype, self->rank, kept), *place = temp(c, ACL_INT64, self->rank, kept);
    const struct npu_scalar first = {.kind = SCALAR_INT}, end = {.kind = SCALAR_INT, .i = n, .d = {(double)n}};
    launch(c, &sort,
           (union aclnn_value[]){{.t = self}, {.i = true}, {.i = dim}, {.i = false}, {.t = line}, {.t = order}});
    struct npu_tensor *mask = starts(c, line, dim);
    launch(c, &arange, (union aclnn_value[]){{.s = &first}, {.s = &end}, {.s = &integer_one}, {.t = count}});
    launch(c, &zero_, (union aclnn_value[]){{.t = zero}});
    across[dim] = 1;
    const struct npu_tensor *position = view_of(c, count, self->rank, self->size, across, 0);
    launch(c, &where, (union aclnn_value[]){{.t = mask}, {.t = position}, {.t = zero}, {.t = begin}});
    launch(c, &cummax, (union aclnn_value[]){{.t = begin}, {.i = dim}, {.t = latest}, {.t = length}});
    launch(c, &sub, (union aclnn_value[]){{.t = position}, {.t = latest}, {.s = &integer_one}, {.t = length}});
    launch(c, &argmax, (union aclnn_value[]){{.t = length}, {.i = dim}, {.i = true}, {.t = at}});
    launch(c, &gather, (union aclnn_value[]){{.t = line}, {.i = dim}, {.t = at}, {.t = value}});
    launch(c, &gather, (union aclnn_value[]){{.t = order}, {.i = dim}, {.t = at}, {.t = place}});
    int64_t stride[RANK_MAX];
    for (int32_t d = 0, i = 0; d < self->rank; d++)
        if (d != dim || keep)
            stride[i++] = value->stride[d];
    if (copy_tensor(c, values, view_of(c, value, rank, size, stride, 0)))
        return CALL_ERROR;
    return copy_tensor(c, indices, view_of(c, place, rank, size, stride, 0));
}

/* self, size, fill_value: nonzero, cut or filled to that many rows */
static int run_nonzero_static(struct call *c, const struct aten_row *row)
{
    static struct aclnn fill = ACLNN("aclnnInplaceFillScalar", "TS");
    const struct npu_tensor *self = arg_tensor(c, 0);
    struct npu_scalar value = {.kind = SCALAR_INT, .i = arg_int(c, 2, -1), .d = {(double)arg_int(c, 2, -1)}};
    int64_t wish = arg_int(c, 1, 0), all[RANK_MAX] = {tensor_numel(self), self->rank}, size[2] = {wish, self->rank};
    int32_t rank;
    if (self->device < 0 || self->rank > RANK_MAX || wish < 0)
        return CALL_FALLBACK;
    struct npu_tensor *out = result(c, 0, ACL_INT64, 2, size), *found = temp(c, ACL_INT64, 2, all);
    if (call_failed(c) || !tensor_numel(out))
        return call_failed(c) ? CALL_ERROR : CALL_OK;
    if (launch(c, &fill, (union aclnn_value[]){{.t = out}, {.s = &value}}) || !tensor_numel(self))
        return call_failed(c) ? CALL_ERROR : CALL_OK;
    if (launch_sized(c, row->aclnn, (union aclnn_value[]){{.t = self}, {.t = found}}, 1, &rank, all))
        return CALL_ERROR;
    size[0] = all[0] < wish ? all[0] : wish;
    if (!size[0])
        return CALL_OK;
    return copy_tensor(c, view_of(c, out, 2, size, out->stride, out->offset),
                       view_of(c, found, 2, size, (int64_t[]){self->rank, 1}, 0));
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
    {"_unique", run_unique2, &unique2, WITHOUT_COUNTS, false},
    {"unique_consecutive", run_unique_consecutive, NULL, 0, false},
    {"mode", run_mode, NULL, 0, false},
    {"nonzero_static", run_nonzero_static, &nonzero, 0, false},
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
