/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of tensors in one launch: the foreach operators, the fused optimizers, and gradient scaling.
 *
 * A foreach adapter serves what PyTorch calls the fast route: at each place of the lists tensors of one type and shape
 * that the result has too. Everything else it leaves to PyTorch's composite of single operators (CALL_FALLBACK). */
#include "op.h"

#include <string.h>

enum {
    INPUTS = 3, /* 1 to 3 lists */
    /* what stands behind the lists, or before them (FIRST) */
    NONE = 0 << 2,
    SCALAR = 1 << 2, /* takes part in type promotion */
    SCALARS = 2 << 2,
    ALPHA = 3 << 2, /* these do not */
    WEIGHT = 4 << 2,
    WEIGHTS = 5 << 2, /* a list of numbers, given to an aclnn operator that takes one: a launch for each value */
    FIRST = 6 << 2,
    FORM = 7 << 2,
    FLOATS = 1 << 5, /* floating types only */
    POWER = 1 << 6,  /* no negative integer powers of integers */
    IN_PLACE = 1 << 7,
};

static int form_of(const struct aten_row *row)
{
    return row->code & FORM;
}

static bool takes(int code, aclDataType t)
{
    switch (t) {
    case ACL_FLOAT:
    case ACL_DOUBLE:
    case ACL_FLOAT16:
    case ACL_BF16:
        return true;
    case ACL_INT8:
    case ACL_UINT8:
    case ACL_INT16:
    case ACL_INT32:
    case ACL_INT64:
        return !(code & FLOATS);
    default:
        return false;
    }
}

static bool same_shape(const struct npu_tensor *a, const struct npu_tensor *b)
{
    return a->rank == b->rank && !memcmp(a->size, b->size, (size_t)a->rank * sizeof *a->size);
}

/* Does memory hold exactly the tensor's elements, so that a result may have its strides? */
static bool dense(const struct npu_tensor *t)
{
    if (tensor_contiguous(t))
        return true;
    int64_t expect = 1;
    bool used[64] = {0};
    for (int32_t i = 0; i < t->rank; i++) {
        int32_t next = -1;
        for (int32_t d = 0; d < t->rank && next < 0; d++)
            if (!used[d] && (t->size[d] == 1 || t->stride[d] == expect))
                next = d;
        if (next < 0)
            return false;
        used[next] = true;
        expect *= t->size[next];
    }
    return true;
}

struct lists {
    size_t n;
    int inputs;
    const struct npu_tensor *in[3];
    struct npu_scalar scalar;
    const struct npu_scalar *scalars; /* one for each place, or NULL */
};

/* Reads and checks the arguments; CALL_FALLBACK for what is not the fast route. */
static int read_lists(struct call *c, const struct aten_row *row, struct lists *l)
{
    int form = form_of(row), first = form == FIRST;
    *l = (struct lists){.inputs = row->code & INPUTS};
    l->n = arg_tensors(c, first, &l->in[0]);
    if (!l->n)
        return call_error(c, CALL_RUNTIME_ERROR, "Tensor list must have at least one tensor.");
    for (int k = 1; k < l->inputs; k++) {
        size_t n = arg_tensors(c, first + k, &l->in[k]);
        if (n != l->n)
            return call_error(c, CALL_RUNTIME_ERROR,
                              "Tensor lists must have the same number of tensors, got %zu and %zu", l->n, n);
    }
    if (form == SCALARS || form == WEIGHTS) {
        size_t n = arg_scalars(c, l->inputs, &l->scalars);
        if (n != l->n)
            return call_error(c, CALL_RUNTIME_ERROR,
                              "Tensor list must have same number of elements as scalar list, got %zu and %zu", l->n, n);
    } else if (form != NONE) {
        l->scalar = arg_scalar(c, first ? 0 : l->inputs);
    }
    for (size_t j = 0; j < l->n; j++) {
        const struct npu_tensor *t = &l->in[0][j];
        const struct npu_scalar *s = l->scalars ? &l->scalars[j] : &l->scalar;
        if (!takes(row->code, t->dtype) || t->device < 0)
            return CALL_FALLBACK;
        for (int k = 1; k < l->inputs; k++)
            if (l->in[k][j].dtype != t->dtype || l->in[k][j].device < 0 || !same_shape(&l->in[k][j], t))
                return CALL_FALLBACK;
        if (form == NONE)
            continue;
        if (promote(&t, 1, s, 1) != t->dtype || s->kind == SCALAR_COMPLEX)
            return CALL_FALLBACK;
        if (row->code & POWER && is_integral(t->dtype, false) && (form == FIRST || s->i < 0))
            return CALL_FALLBACK;
    }
    return CALL_OK;
}

/* Launches for the chosen places of the lists. */
static int launch_places(struct call *c, const struct aten_row *row, const struct lists *l,
                         const struct npu_tensor *out, const size_t *place, size_t n, const struct npu_scalar *scalar)
{
    union aclnn_value v[6];
    int at = 0, form = form_of(row);
    struct npu_tensor *list[4];
    struct npu_scalar *scalars = NULL;
    bool all = n == l->n;
    if (form == FIRST)
        v[at++].s = scalar;
    for (int k = 0; k <= l->inputs; k++) {
        const struct npu_tensor *from = k < l->inputs ? l->in[k] : out;
        if (k == l->inputs) {
            if (form == SCALARS) {
                scalars = call_alloc(c, n * sizeof *scalars);
                for (size_t j = 0; j < n; j++)
                    scalars[j] = l->scalars[place[j]];
                v[at].q.list = scalars;
                v[at++].q.n = n;
            } else if (form != NONE && form != FIRST) {
                v[at++].s = scalar;
            }
        }
        if (!all) {
            list[k] = call_alloc(c, n * sizeof *list[k]);
            for (size_t j = 0; j < n; j++)
                list[k][j] = from[place[j]];
            from = list[k];
        }
        v[at].l.list = from;
        v[at++].l.n = n;
    }
    return launch(c, row->aclnn, v);
}

static bool same_scalar(const struct npu_scalar *a, const struct npu_scalar *b)
{
    return a->kind == b->kind && a->i == b->i && a->d[0] == b->d[0];
}

/* One launch for all places that share a type and, where the operator takes one number, that number. */
static int launch_all(struct call *c, const struct aten_row *row, const struct lists *l, const struct npu_tensor *out)
{
    bool by_value = form_of(row) == WEIGHTS;
    size_t *place = call_alloc(c, l->n * sizeof *place);
    bool *done = call_alloc(c, l->n);
    for (size_t j = 0; j < l->n; j++) {
        if (done[j])
            continue;
        size_t n = 0;
        for (size_t k = j; k < l->n; k++) {
            if (done[k] || l->in[0][k].dtype != l->in[0][j].dtype ||
                (by_value && !same_scalar(&l->scalars[k], &l->scalars[j])))
                continue;
            done[k] = true;
            place[n++] = k;
        }
        if (launch_places(c, row, l, out, place, n, by_value ? &l->scalars[j] : &l->scalar))
            return CALL_ERROR;
    }
    return CALL_OK;
}

/* The outputs: the first list itself, or new tensors like it. */
static const struct npu_tensor *outputs(struct call *c, const struct aten_row *row, const struct lists *l)
{
    if (row->code & IN_PLACE)
        return l->in[0];
    struct npu_tensor *out = call_alloc(c, l->n * sizeof *out);
    result_list(c, 0, l->n);
    for (size_t j = 0; j < l->n; j++) {
        const struct npu_tensor *t = &l->in[0][j];
        out[j] = *result_list_at(c, 0, j, t->dtype, t->rank, t->size, dense(t) ? t->stride : NULL);
    }
    return out;
}

static int run_foreach(struct call *c, const struct aten_row *row)
{
    struct lists l;
    int status = read_lists(c, row, &l);
    if (status)
        return status;
    const struct npu_tensor *out = outputs(c, row, &l);
    return call_failed(c) ? CALL_ERROR : launch_all(c, row, &l, out);
}

/* A 0-dim tensor for all: add, mul and div, whose aclnn operators read the number on the device. */
static int run_by_tensor(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *other = arg_tensor(c, 1);
    struct lists l = {.inputs = 1};
    l.n = arg_tensors(c, 0, &l.in[0]);
    if (!l.n)
        return call_error(c, CALL_RUNTIME_ERROR, "Tensor list must have at least one tensor.");
    if (other->rank || other->device < 0)
        return CALL_FALLBACK;
    if (form_of(row) == ALPHA) {
        struct npu_scalar alpha = arg_scalar(c, 2);
        if (alpha.d[0] != 1 || alpha.kind == SCALAR_COMPLEX)
            return CALL_FALLBACK;
    }
    for (size_t j = 0; j < l.n; j++) {
        const struct npu_tensor *both[2] = {&l.in[0][j], other};
        if (!takes(row->code, both[0]->dtype) || both[0]->device < 0 || both[0]->dtype != l.in[0][0].dtype ||
            promote(both, 2, NULL, 0) != both[0]->dtype)
            return CALL_FALLBACK;
    }
    const struct npu_tensor *out = outputs(c, row, &l);
    if (call_failed(c))
        return CALL_ERROR;
    return launch(c, row->aclnn, (union aclnn_value[]){{.l = {l.in[0], l.n}}, {.t = other}, {.l = {out, l.n}}});
}

static int run_norm(struct call *c, const struct aten_row *row)
{
    struct lists l = {.inputs = 1};
    l.n = arg_tensors(c, 0, &l.in[0]);
    struct npu_scalar order = arg_scalar(c, 1);
    if (!l.n)
        return call_error(c, CALL_RUNTIME_ERROR, "Tensor list must have at least one tensor.");
    if (!(order.d[0] >= 0) || order.kind == SCALAR_COMPLEX)
        return CALL_FALLBACK;
    for (size_t j = 0; j < l.n; j++) {
        const struct npu_tensor *t = &l.in[0][j];
        if (!is_floating(t->dtype) || !takes(0, t->dtype) || t->device < 0 || t->dtype != l.in[0][0].dtype ||
            (!tensor_numel(t) && order.d[0] > 1e300))
            return CALL_FALLBACK;
    }
    aclDataType dtype = arg_dtype(c, 2, l.in[0][0].dtype);
    if (!takes(FLOATS, dtype) || promote_types(dtype, l.in[0][0].dtype) != dtype)
        return CALL_FALLBACK;
    struct npu_tensor *out = call_alloc(c, l.n * sizeof *out);
    result_list(c, 0, l.n);
    for (size_t j = 0; j < l.n; j++)
        out[j] = *result_list_at(c, 0, j, dtype, 0, NULL, NULL);
    if (call_failed(c))
        return CALL_ERROR;
    return launch(c, row->aclnn, (union aclnn_value[]){{.l = {l.in[0], l.n}}, {.s = &order}, {.l = {out, l.n}}});
}

static int run_zero(struct call *c, const struct aten_row *row)
{
    struct lists l;
    l.n = arg_tensors(c, 0, &l.in[0]);
    if (!l.n)
        return call_error(c, CALL_RUNTIME_ERROR, "Tensor list must have at least one tensor.");
    for (size_t j = 0; j < l.n; j++)
        if (l.in[0][j].device < 0)
            return CALL_FALLBACK;
    return launch(c, row->aclnn, (union aclnn_value[]){{.l = {l.in[0], l.n}}});
}

static int run_copy(struct call *c, const struct aten_row *row)
{
    struct lists l = {0};
    l.n = arg_tensors(c, 0, &l.in[0]);
    size_t n = arg_tensors(c, 1, &l.in[1]);
    if (!l.n || n != l.n)
        return CALL_FALLBACK;
    for (size_t j = 0; j < l.n; j++) {
        const struct npu_tensor *to = &l.in[0][j], *from = &l.in[1][j];
        if (to->device < 0 || from->device < 0 || to->dtype != from->dtype || !same_shape(to, from))
            return CALL_FALLBACK;
    }
    return launch(c, row->aclnn, (union aclnn_value[]){{.l = {l.in[1], n}}, {.l = {l.in[0], n}}});
}

/* ---- rounding: one aclnn operator, told by a number (AscendC's numbering) ---- */

enum { MODE_ROUND = 1, MODE_FLOOR = 2, MODE_CEIL = 3, MODE_TRUNC = 5, MODE_FRAC = 7, MODE_SHIFT = 8 };

static int run_round(struct call *c, const struct aten_row *row)
{
    struct lists l;
    int status = read_lists(c, row, &l);
    if (status)
        return status;
    struct npu_scalar mode = {.kind = SCALAR_INT, .i = row->code >> MODE_SHIFT, .d = {row->code >> MODE_SHIFT}};
    for (size_t j = 1; j < l.n; j++)
        if (l.in[0][j].dtype != l.in[0][0].dtype)
            return CALL_FALLBACK;
    const struct npu_tensor *out = outputs(c, row, &l);
    if (call_failed(c))
        return CALL_ERROR;
    return launch(c, row->aclnn, (union aclnn_value[]){{.l = {l.in[0], l.n}}, {.s = &mode}, {.l = {out, l.n}}});
}

/* ---- mixed precision ---- */

static int one_float(struct call *c, const struct npu_tensor *t, const char *name)
{
    if (tensor_numel(t) != 1)
        return call_error(c, CALL_RUNTIME_ERROR, "%s must be a 1-element tensor.", name);
    if (t->dtype != ACL_FLOAT)
        return call_error(c, CALL_RUNTIME_ERROR, "%s must be a float tensor.", name);
    return CALL_OK;
}

static int run_unscale(struct call *c, const struct aten_row *row)
{
    struct lists l = {.inputs = 1};
    l.n = arg_tensors(c, 0, &l.in[0]);
    const struct npu_tensor *found = arg_tensor(c, 1), *scale = arg_tensor(c, 2);
    if (!l.n)
        return CALL_OK;
    if (one_float(c, scale, "inv_scale") || one_float(c, found, "found_inf"))
        return CALL_ERROR;
    for (size_t j = 0; j < l.n; j++)
        if (l.in[0][j].device < 0 || !takes(FLOATS, l.in[0][j].dtype))
            return call_error(c, CALL_RUNTIME_ERROR, "scaled_grads must be floating-point tensors on the NPU.");
    size_t *place = call_alloc(c, l.n * sizeof *place);
    bool *done = call_alloc(c, l.n);
    for (size_t j = 0; j < l.n; j++) {
        struct npu_tensor *list = call_alloc(c, l.n * sizeof *list);
        size_t n = 0;
        for (size_t k = j; k < l.n && !done[j]; k++)
            if (!done[k] && l.in[0][k].dtype == l.in[0][j].dtype)
                place[n++] = k;
        for (size_t k = 0; k < n; k++) {
            done[place[k]] = true;
            list[k] = l.in[0][place[k]];
        }
        if (n && launch(c, row->aclnn, (union aclnn_value[]){{.l = {list, n}}, {.t = found}, {.t = scale}}))
            return CALL_ERROR;
    }
    return CALL_OK;
}

static int run_update_scale(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *scale = arg_tensor(c, 0), *tracker = arg_tensor(c, 1), *found = arg_tensor(c, 2);
    if (one_float(c, scale, "current_scale") || one_float(c, found, "found_inf"))
        return CALL_ERROR;
    if (tensor_numel(tracker) != 1 || tracker->dtype != ACL_INT32)
        return call_error(c, CALL_RUNTIME_ERROR, "growth_tracker must be a 1-element int tensor.");
    result_self(c, 0, 0);
    return launch(c, row->aclnn,
                  (union aclnn_value[]){{.t = scale},
                                        {.t = tracker},
                                        {.t = found},
                                        {.d = arg_double(c, 3, 2)},
                                        {.d = arg_double(c, 4, 0.5)},
                                        {.i = arg_int(c, 5, 2000)},
                                        {.t = scale},
                                        {.t = tracker}});
}

/* ---- fused optimizers ---- */

/* The learning rate: a number, or a tensor with one. */
static int read_lr(struct call *c, int i, bool is_tensor, double *lr)
{
    if (!is_tensor) {
        *lr = arg_double(c, i, 0);
        return CALL_OK;
    }
    struct npu_scalar value;
    if (tensor_item(c, arg_tensor(c, i), &value))
        return CALL_ERROR;
    *lr = value.d[0];
    return CALL_OK;
}

/* Lists 0 … n - 1 of the arguments: of one length, all on the device, with one type in each place. */
static int read_states(struct call *c, const struct npu_tensor **list, int n, size_t *count)
{
    for (int k = 0; k < n; k++) {
        size_t m = arg_tensors(c, k, &list[k]);
        if (k && m && m != *count)
            return call_error(c, CALL_RUNTIME_ERROR,
                              "Tensor lists must have the same number of tensors, got %zu and %zu", *count, m);
        if (!k)
            *count = m;
        if (!m)
            list[k] = NULL;
        for (size_t j = 0; j < m; j++)
            if (list[k][j].device < 0 || !takes(FLOATS, list[k][j].dtype) || list[k][j].dtype != list[0][0].dtype ||
                !same_shape(&list[k][j], &list[0][j]))
                return CALL_FALLBACK;
    }
    return CALL_OK;
}

enum { LR_TENSOR = 1 };

static int run_fused_adam(struct call *c, const struct aten_row *row)
{
    static struct aclnn minus = ACLNN("aclnnForeachSubScalarV2", "LSL");
    const struct npu_tensor *list[5], *steps, *scale = arg_tensor(c, 13), *found = arg_tensor(c, 14);
    size_t n = 0, many = arg_tensors(c, 5, &steps);
    double lr;
    int status = read_states(c, list, 5, &n);
    if (status || !n)
        return status;
    if (many != n)
        return call_error(c, CALL_RUNTIME_ERROR, "Tensor lists must have the same number of tensors, got %zu and %zu",
                          n, many);
    for (size_t j = 0; j < n; j++)
        if (steps[j].device < 0 || steps[j].dtype != ACL_FLOAT || tensor_numel(&steps[j]) != 1)
            return CALL_FALLBACK;
    if (read_lr(c, 6, row->code & LR_TENSOR, &lr))
        return CALL_ERROR;
    /* PyTorch has counted this step already, the operator does it itself */
    const int64_t size = (int64_t)n, one_size = 1, one_stride = 1;
    struct npu_tensor *before = temp(c, ACL_FLOAT, 1, &size), *counted = call_alloc(c, n * sizeof *counted);
    struct npu_tensor *given = call_alloc(c, n * sizeof *given);
    for (size_t j = 0; j < n; j++) {
        counted[j] = *view_of(c, before, 1, &one_size, &one_stride, (int64_t)j);
        given[j] = *view_of(c, &steps[j], 1, &one_size, &one_stride, steps[j].offset);
    }
    struct npu_scalar one = {.kind = SCALAR_INT, .i = 1, .d = {1}};
    if (launch(c, &minus, (union aclnn_value[]){{.l = {given, n}}, {.s = &one}, {.l = {counted, n}}}))
        return CALL_ERROR;
    /* the operator wants five lists; without amsgrad the last is not looked at */
    const struct npu_tensor *top = list[4] ? list[4] : list[3];
    return launch(c, row->aclnn,
                  (union aclnn_value[]){{.l = {list[0], n}},
                                        {.l = {list[1], n}},
                                        {.l = {list[2], n}},
                                        {.l = {list[3], n}},
                                        {.l = {top, n}},
                                        {.l = {counted, n}},
                                        {.t = scale},
                                        {.t = found},
                                        {.d = lr},
                                        {.d = arg_double(c, 7, 0.9)},
                                        {.d = arg_double(c, 8, 0.999)},
                                        {.d = arg_double(c, 9, 0)},
                                        {.d = arg_double(c, 10, 1e-8)},
                                        {.i = arg_bool(c, 11, false)},
                                        {.i = arg_bool(c, 12, false)}});
}

static int run_fused_sgd(struct call *c, const struct aten_row *row)
{
    const struct npu_tensor *list[3], *scale = arg_tensor(c, 10), *found = arg_tensor(c, 11);
    size_t n = 0;
    double lr;
    int status = read_states(c, list, 3, &n);
    if (status || !n)
        return status;
    if (list[0][0].dtype == ACL_DOUBLE) /* the operator's numbers are floats */
        return CALL_FALLBACK;
    if (found->defined) {
        struct npu_scalar bad;
        if (tensor_item(c, found, &bad))
            return CALL_ERROR;
        if (bad.d[0] == 1)
            return CALL_OK;
    }
    double momentum = arg_double(c, 4, 0);
    if (momentum == 0)
        list[2] = NULL;
    if (read_lr(c, 5, row->code & LR_TENSOR, &lr))
        return CALL_ERROR;
    return launch(c, row->aclnn,
                  (union aclnn_value[]){{.l = {list[0], n}},
                                        {.l = {list[1], n}},
                                        {.l = {list[2], list[2] ? n : 0}},
                                        {.t = scale},
                                        {.d = arg_double(c, 3, 0)},
                                        {.d = momentum},
                                        {.d = lr},
                                        {.d = arg_double(c, 6, 0)},
                                        {.i = arg_bool(c, 7, false)},
                                        {.i = arg_bool(c, 8, false)},
                                        {.i = arg_bool(c, 9, false)}});
}

/* ---- rows ---- */

static struct aclnn add_scalar = ACLNN("aclnnForeachAddScalarV2", "LSL");
static struct aclnn add_scalars = ACLNN("aclnnForeachAddScalarList", "LQL");
static struct aclnn add_list = ACLNN("aclnnForeachAddListV2", "LLSL");
static struct aclnn add_tensor = ACLNN("aclnnForeachAddScalar", "LTL");
static struct aclnn sub_scalar = ACLNN("aclnnForeachSubScalarV2", "LSL");
static struct aclnn sub_scalars = ACLNN("aclnnForeachSubScalarList", "LQL");
static struct aclnn sub_list = ACLNN("aclnnForeachSubListV2", "LLSL");
static struct aclnn mul_scalar = ACLNN("aclnnForeachMulScalarV2", "LSL");
static struct aclnn mul_scalars = ACLNN("aclnnForeachMulScalarList", "LQL");
static struct aclnn mul_list = ACLNN("aclnnForeachMulList", "LLL");
static struct aclnn mul_tensor = ACLNN("aclnnForeachMulScalar", "LTL");
static struct aclnn div_scalar = ACLNN("aclnnForeachDivScalarV2", "LSL");
static struct aclnn div_scalars = ACLNN("aclnnForeachDivScalarList", "LQL");
static struct aclnn div_list = ACLNN("aclnnForeachDivList", "LLL");
static struct aclnn div_tensor = ACLNN("aclnnForeachDivScalar", "LTL");
static struct aclnn maximum_scalar = ACLNN("aclnnForeachMaximumScalarV2", "LSL");
static struct aclnn maximum_scalars = ACLNN("aclnnForeachMaximumScalarList", "LQL");
static struct aclnn maximum_list = ACLNN("aclnnForeachMaximumList", "LLL");
static struct aclnn minimum_scalar = ACLNN("aclnnForeachMinimumScalarV2", "LSL");
static struct aclnn minimum_scalars = ACLNN("aclnnForeachMinimumScalarList", "LQL");
static struct aclnn minimum_list = ACLNN("aclnnForeachMinimumList", "LLL");
static struct aclnn pow_scalar = ACLNN("aclnnForeachPowScalarV2", "LSL");
static struct aclnn pow_scalars = ACLNN("aclnnForeachPowScalarList", "LQL");
static struct aclnn pow_list = ACLNN("aclnnForeachPowList", "LLL");
static struct aclnn scalar_pow = ACLNN("aclnnForeachPowScalarAndTensor", "SLL");
static struct aclnn addcmul = ACLNN("aclnnForeachAddcmulScalarV2", "LLLSL");
static struct aclnn addcdiv = ACLNN("aclnnForeachAddcdivScalarV2", "LLLSL");
static struct aclnn lerp_list = ACLNN("aclnnForeachLerpList", "LLLL");
static struct aclnn lerp_scalar = ACLNN("aclnnForeachLerpScalar", "LLSL");
static struct aclnn abs_list = ACLNN("aclnnForeachAbs", "LL");
static struct aclnn acos_list = ACLNN("aclnnForeachAcos", "LL");
static struct aclnn asin_list = ACLNN("aclnnForeachAsin", "LL");
static struct aclnn atan_list = ACLNN("aclnnForeachAtan", "LL");
static struct aclnn cos_list = ACLNN("aclnnForeachCos", "LL");
static struct aclnn cosh_list = ACLNN("aclnnForeachCosh", "LL");
static struct aclnn erf_list = ACLNN("aclnnForeachErf", "LL");
static struct aclnn erfc_list = ACLNN("aclnnForeachErfc", "LL");
static struct aclnn exp_list = ACLNN("aclnnForeachExp", "LL");
static struct aclnn expm1_list = ACLNN("aclnnForeachExpm1", "LL");
static struct aclnn log_list = ACLNN("aclnnForeachLog", "LL");
static struct aclnn log10_list = ACLNN("aclnnForeachLog10", "LL");
static struct aclnn log1p_list = ACLNN("aclnnForeachLog1p", "LL");
static struct aclnn log2_list = ACLNN("aclnnForeachLog2", "LL");
static struct aclnn neg_list = ACLNN("aclnnForeachNeg", "LL");
static struct aclnn reciprocal_list = ACLNN("aclnnForeachReciprocal", "LL");
static struct aclnn sigmoid_list = ACLNN("aclnnForeachSigmoid", "LL");
static struct aclnn sign_list = ACLNN("aclnnForeachSign", "LL");
static struct aclnn sin_list = ACLNN("aclnnForeachSin", "LL");
static struct aclnn sinh_list = ACLNN("aclnnForeachSinh", "LL");
static struct aclnn sqrt_list = ACLNN("aclnnForeachSqrt", "LL");
static struct aclnn tan_list = ACLNN("aclnnForeachTan", "LL");
static struct aclnn tanh_list = ACLNN("aclnnForeachTanh", "LL");
static struct aclnn round_list = ACLNN("aclnnForeachRoundOffNumberV2", "LSL");
static struct aclnn norm_list = ACLNN("aclnnForeachNorm", "LSL");
static struct aclnn zero_list = ACLNN("aclnnForeachZeroInplace", "L");
static struct aclnn copy_list = ACLNN("aclnnForeachCopy", "LL");
static struct aclnn unscale = ACLNN("aclnnForeachNonFiniteCheckAndUnscale", "LTT");
static struct aclnn update_scale = ACLNN("aclnnAmpUpdateScale", "TTTddiTT");
static struct aclnn fused_adam = ACLNN("aclnnFusedAdam", "LLLLLLTTdddddbb");
static struct aclnn fused_adamw = ACLNN("aclnnFusedAdamw", "LLLLLLTTdddddbb");
static struct aclnn fused_sgd = ACLNN("aclnnFusedSgd", "LLLTffffbbb");

static const struct aten_row rows[] = {
    {"_foreach_add.Scalar", run_foreach, &add_scalar, 1 | SCALAR},
    {"_foreach_add_.Scalar", run_foreach, &add_scalar, 1 | SCALAR | IN_PLACE},
    {"_foreach_add.List", run_foreach, &add_list, 2 | ALPHA},
    {"_foreach_add_.List", run_foreach, &add_list, 2 | ALPHA | IN_PLACE},
    {"_foreach_add.ScalarList", run_foreach, &add_scalars, 1 | SCALARS},
    {"_foreach_add_.ScalarList", run_foreach, &add_scalars, 1 | SCALARS | IN_PLACE},
    {"_foreach_add.Tensor", run_by_tensor, &add_tensor, ALPHA},
    {"_foreach_add_.Tensor", run_by_tensor, &add_tensor, ALPHA | IN_PLACE},
    {"_foreach_sub.Scalar", run_foreach, &sub_scalar, 1 | SCALAR},
    {"_foreach_sub_.Scalar", run_foreach, &sub_scalar, 1 | SCALAR | IN_PLACE},
    {"_foreach_sub.List", run_foreach, &sub_list, 2 | ALPHA},
    {"_foreach_sub_.List", run_foreach, &sub_list, 2 | ALPHA | IN_PLACE},
    {"_foreach_sub.ScalarList", run_foreach, &sub_scalars, 1 | SCALARS},
    {"_foreach_sub_.ScalarList", run_foreach, &sub_scalars, 1 | SCALARS | IN_PLACE},
    {"_foreach_mul.Scalar", run_foreach, &mul_scalar, 1 | SCALAR},
    {"_foreach_mul_.Scalar", run_foreach, &mul_scalar, 1 | SCALAR | IN_PLACE},
    {"_foreach_mul.List", run_foreach, &mul_list, 2 | NONE},
    {"_foreach_mul_.List", run_foreach, &mul_list, 2 | NONE | IN_PLACE},
    {"_foreach_mul.ScalarList", run_foreach, &mul_scalars, 1 | SCALARS},
    {"_foreach_mul_.ScalarList", run_foreach, &mul_scalars, 1 | SCALARS | IN_PLACE},
    {"_foreach_mul.Tensor", run_by_tensor, &mul_tensor, NONE},
    {"_foreach_mul_.Tensor", run_by_tensor, &mul_tensor, NONE | IN_PLACE},
    {"_foreach_div.Scalar", run_foreach, &div_scalar, 1 | SCALAR | FLOATS},
    {"_foreach_div_.Scalar", run_foreach, &div_scalar, 1 | SCALAR | FLOATS | IN_PLACE},
    {"_foreach_div.List", run_foreach, &div_list, 2 | NONE | FLOATS},
    {"_foreach_div_.List", run_foreach, &div_list, 2 | NONE | FLOATS | IN_PLACE},
    {"_foreach_div.ScalarList", run_foreach, &div_scalars, 1 | SCALARS | FLOATS},
    {"_foreach_div_.ScalarList", run_foreach, &div_scalars, 1 | SCALARS | FLOATS | IN_PLACE},
    {"_foreach_div.Tensor", run_by_tensor, &div_tensor, NONE | FLOATS},
    {"_foreach_div_.Tensor", run_by_tensor, &div_tensor, NONE | FLOATS | IN_PLACE},
    {"_foreach_maximum.Scalar", run_foreach, &maximum_scalar, 1 | SCALAR},
    {"_foreach_maximum_.Scalar", run_foreach, &maximum_scalar, 1 | SCALAR | IN_PLACE},
    {"_foreach_maximum.List", run_foreach, &maximum_list, 2 | NONE},
    {"_foreach_maximum_.List", run_foreach, &maximum_list, 2 | NONE | IN_PLACE},
    {"_foreach_maximum.ScalarList", run_foreach, &maximum_scalars, 1 | SCALARS},
    {"_foreach_maximum_.ScalarList", run_foreach, &maximum_scalars, 1 | SCALARS | IN_PLACE},
    {"_foreach_minimum.Scalar", run_foreach, &minimum_scalar, 1 | SCALAR},
    {"_foreach_minimum_.Scalar", run_foreach, &minimum_scalar, 1 | SCALAR | IN_PLACE},
    {"_foreach_minimum.List", run_foreach, &minimum_list, 2 | NONE},
    {"_foreach_minimum_.List", run_foreach, &minimum_list, 2 | NONE | IN_PLACE},
    {"_foreach_minimum.ScalarList", run_foreach, &minimum_scalars, 1 | SCALARS},
    {"_foreach_minimum_.ScalarList", run_foreach, &minimum_scalars, 1 | SCALARS | IN_PLACE},
    {"_foreach_clamp_min.Scalar", run_foreach, &maximum_scalar, 1 | SCALAR},
    {"_foreach_clamp_min_.Scalar", run_foreach, &maximum_scalar, 1 | SCALAR | IN_PLACE},
    {"_foreach_clamp_min.List", run_foreach, &maximum_list, 2 | NONE},
    {"_foreach_clamp_min_.List", run_foreach, &maximum_list, 2 | NONE | IN_PLACE},
    {"_foreach_clamp_min.ScalarList", run_foreach, &maximum_scalars, 1 | SCALARS},
    {"_foreach_clamp_min_.ScalarList", run_foreach, &maximum_scalars, 1 | SCALARS | IN_PLACE},
    {"_foreach_clamp_max.Scalar", run_foreach, &minimum_scalar, 1 | SCALAR},
    {"_foreach_clamp_max_.Scalar", run_foreach, &minimum_scalar, 1 | SCALAR | IN_PLACE},
    {"_foreach_clamp_max.List", run_foreach, &minimum_list, 2 | NONE},
    {"_foreach_clamp_max_.List", run_foreach, &minimum_list, 2 | NONE | IN_PLACE},
    {"_foreach_clamp_max.ScalarList", run_foreach, &minimum_scalars, 1 | SCALARS},
    {"_foreach_clamp_max_.ScalarList", run_foreach, &minimum_scalars, 1 | SCALARS | IN_PLACE},
    {"_foreach_pow.Scalar", run_foreach, &pow_scalar, 1 | SCALAR | POWER},
    {"_foreach_pow_.Scalar", run_foreach, &pow_scalar, 1 | SCALAR | POWER | IN_PLACE},
    {"_foreach_pow.List", run_foreach, &pow_list, 2 | NONE | FLOATS},
    {"_foreach_pow_.List", run_foreach, &pow_list, 2 | NONE | FLOATS | IN_PLACE},
    {"_foreach_pow.ScalarList", run_foreach, &pow_scalars, 1 | SCALARS | POWER},
    {"_foreach_pow_.ScalarList", run_foreach, &pow_scalars, 1 | SCALARS | POWER | IN_PLACE},
    {"_foreach_pow.ScalarAndTensor", run_foreach, &scalar_pow, 1 | FIRST | POWER},
    {"_foreach_addcmul.Scalar", run_foreach, &addcmul, 3 | ALPHA},
    {"_foreach_addcmul_.Scalar", run_foreach, &addcmul, 3 | ALPHA | IN_PLACE},
    {"_foreach_addcmul.ScalarList", run_foreach, &addcmul, 3 | WEIGHTS},
    {"_foreach_addcmul_.ScalarList", run_foreach, &addcmul, 3 | WEIGHTS | IN_PLACE},
    {"_foreach_addcdiv.Scalar", run_foreach, &addcdiv, 3 | ALPHA | FLOATS},
    {"_foreach_addcdiv_.Scalar", run_foreach, &addcdiv, 3 | ALPHA | FLOATS | IN_PLACE},
    {"_foreach_addcdiv.ScalarList", run_foreach, &addcdiv, 3 | WEIGHTS | FLOATS},
    {"_foreach_addcdiv_.ScalarList", run_foreach, &addcdiv, 3 | WEIGHTS | FLOATS | IN_PLACE},
    {"_foreach_lerp.List", run_foreach, &lerp_list, 3 | NONE | FLOATS},
    {"_foreach_lerp_.List", run_foreach, &lerp_list, 3 | NONE | FLOATS | IN_PLACE},
    {"_foreach_lerp.Scalar", run_foreach, &lerp_scalar, 2 | WEIGHT | FLOATS},
    {"_foreach_lerp_.Scalar", run_foreach, &lerp_scalar, 2 | WEIGHT | FLOATS | IN_PLACE},
    {"_foreach_lerp.ScalarList", run_foreach, &lerp_scalar, 2 | WEIGHTS | FLOATS},
    {"_foreach_lerp_.ScalarList", run_foreach, &lerp_scalar, 2 | WEIGHTS | FLOATS | IN_PLACE},
    {"_foreach_abs", run_foreach, &abs_list, 1 | NONE},
    {"_foreach_abs_", run_foreach, &abs_list, 1 | NONE | IN_PLACE},
    {"_foreach_acos", run_foreach, &acos_list, 1 | NONE | FLOATS},
    {"_foreach_acos_", run_foreach, &acos_list, 1 | NONE | FLOATS | IN_PLACE},
    {"_foreach_asin", run_foreach, &asin_list, 1 | NONE | FLOATS},
    {"_foreach_asin_", run_foreach, &asin_list, 1 | NONE | FLOATS | IN_PLACE},
    {"_foreach_atan", run_foreach, &atan_list, 1 | NONE | FLOATS},
    {"_foreach_atan_", run_foreach, &atan_list, 1 | NONE | FLOATS | IN_PLACE},
    {"_foreach_cos", run_foreach, &cos_list, 1 | NONE | FLOATS},
    {"_foreach_cos_", run_foreach, &cos_list, 1 | NONE | FLOATS | IN_PLACE},
    {"_foreach_cosh", run_foreach, &cosh_list, 1 | NONE | FLOATS},
    {"_foreach_cosh_", run_foreach, &cosh_list, 1 | NONE | FLOATS | IN_PLACE},
    {"_foreach_erf", run_foreach, &erf_list, 1 | NONE | FLOATS},
    {"_foreach_erf_", run_foreach, &erf_list, 1 | NONE | FLOATS | IN_PLACE},
    {"_foreach_erfc", run_foreach, &erfc_list, 1 | NONE | FLOATS},
    {"_foreach_erfc_", run_foreach, &erfc_list, 1 | NONE | FLOATS | IN_PLACE},
    {"_foreach_exp", run_foreach, &exp_list, 1 | NONE | FLOATS},
    {"_foreach_exp_", run_foreach, &exp_list, 1 | NONE | FLOATS | IN_PLACE},
    {"_foreach_expm1", run_foreach, &expm1_list, 1 | NONE | FLOATS},
    {"_foreach_expm1_", run_foreach, &expm1_list, 1 | NONE | FLOATS | IN_PLACE},
    {"_foreach_log", run_foreach, &log_list, 1 | NONE | FLOATS},
    {"_foreach_log_", run_foreach, &log_list, 1 | NONE | FLOATS | IN_PLACE},
    {"_foreach_log10", run_foreach, &log10_list, 1 | NONE | FLOATS},
    {"_foreach_log10_", run_foreach, &log10_list, 1 | NONE | FLOATS | IN_PLACE},
    {"_foreach_log1p", run_foreach, &log1p_list, 1 | NONE | FLOATS},
    {"_foreach_log1p_", run_foreach, &log1p_list, 1 | NONE | FLOATS | IN_PLACE},
    {"_foreach_log2", run_foreach, &log2_list, 1 | NONE | FLOATS},
    {"_foreach_log2_", run_foreach, &log2_list, 1 | NONE | FLOATS | IN_PLACE},
    {"_foreach_neg", run_foreach, &neg_list, 1 | NONE},
    {"_foreach_neg_", run_foreach, &neg_list, 1 | NONE | IN_PLACE},
    {"_foreach_reciprocal", run_foreach, &reciprocal_list, 1 | NONE | FLOATS},
    {"_foreach_reciprocal_", run_foreach, &reciprocal_list, 1 | NONE | FLOATS | IN_PLACE},
    {"_foreach_sigmoid", run_foreach, &sigmoid_list, 1 | NONE | FLOATS},
    {"_foreach_sigmoid_", run_foreach, &sigmoid_list, 1 | NONE | FLOATS | IN_PLACE},
    {"_foreach_sign", run_foreach, &sign_list, 1 | NONE},
    {"_foreach_sign_", run_foreach, &sign_list, 1 | NONE | IN_PLACE},
    {"_foreach_sin", run_foreach, &sin_list, 1 | NONE | FLOATS},
    {"_foreach_sin_", run_foreach, &sin_list, 1 | NONE | FLOATS | IN_PLACE},
    {"_foreach_sinh", run_foreach, &sinh_list, 1 | NONE | FLOATS},
    {"_foreach_sinh_", run_foreach, &sinh_list, 1 | NONE | FLOATS | IN_PLACE},
    {"_foreach_sqrt", run_foreach, &sqrt_list, 1 | NONE | FLOATS},
    {"_foreach_sqrt_", run_foreach, &sqrt_list, 1 | NONE | FLOATS | IN_PLACE},
    {"_foreach_tan", run_foreach, &tan_list, 1 | NONE | FLOATS},
    {"_foreach_tan_", run_foreach, &tan_list, 1 | NONE | FLOATS | IN_PLACE},
    {"_foreach_tanh", run_foreach, &tanh_list, 1 | NONE | FLOATS},
    {"_foreach_tanh_", run_foreach, &tanh_list, 1 | NONE | FLOATS | IN_PLACE},
    {"_foreach_round", run_round, &round_list, 1 | NONE | FLOATS | MODE_ROUND << MODE_SHIFT},
    {"_foreach_round_", run_round, &round_list, 1 | NONE | FLOATS | MODE_ROUND << MODE_SHIFT | IN_PLACE},
    {"_foreach_floor", run_round, &round_list, 1 | NONE | FLOATS | MODE_FLOOR << MODE_SHIFT},
    {"_foreach_floor_", run_round, &round_list, 1 | NONE | FLOATS | MODE_FLOOR << MODE_SHIFT | IN_PLACE},
    {"_foreach_ceil", run_round, &round_list, 1 | NONE | FLOATS | MODE_CEIL << MODE_SHIFT},
    {"_foreach_ceil_", run_round, &round_list, 1 | NONE | FLOATS | MODE_CEIL << MODE_SHIFT | IN_PLACE},
    {"_foreach_trunc", run_round, &round_list, 1 | NONE | FLOATS | MODE_TRUNC << MODE_SHIFT},
    {"_foreach_trunc_", run_round, &round_list, 1 | NONE | FLOATS | MODE_TRUNC << MODE_SHIFT | IN_PLACE},
    {"_foreach_frac", run_round, &round_list, 1 | NONE | FLOATS | MODE_FRAC << MODE_SHIFT},
    {"_foreach_frac_", run_round, &round_list, 1 | NONE | FLOATS | MODE_FRAC << MODE_SHIFT | IN_PLACE},
    {"_foreach_norm.Scalar", run_norm, &norm_list, 0},
    {"_foreach_zero_", run_zero, &zero_list, 0},
    {"_foreach_copy_", run_copy, &copy_list, 0},
    {"_amp_foreach_non_finite_check_and_unscale_", run_unscale, &unscale, 0},
    {"_amp_update_scale_", run_update_scale, &update_scale, 0},
    {"_fused_adam_", run_fused_adam, &fused_adam, 0},
    {"_fused_adam_.tensor_lr", run_fused_adam, &fused_adam, LR_TENSOR},
    {"_fused_adamw_", run_fused_adam, &fused_adamw, 0},
    {"_fused_adamw_.tensor_lr", run_fused_adam, &fused_adamw, LR_TENSOR},
    {"_fused_sgd_", run_fused_sgd, &fused_sgd, 0},
    {"_fused_sgd_.tensor_lr", run_fused_sgd, &fused_sgd, LR_TENSOR},
};
ATEN_FAMILY(foreach_family, rows);
