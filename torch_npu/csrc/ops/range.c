/* SPDX-License-Identifier: BSD-3-Clause */
/* Tensors made from numbers: arange, range, linspace, logspace, eye. All are out= operators; PyTorch makes the rest of
 * them. */
#include "op.h"

#include <math.h>

static double number(const struct npu_scalar *s)
{
    return s->d[0];
}

static bool real(const struct npu_scalar *s)
{
    return s->kind != SCALAR_COMPLEX;
}

static bool whole(const struct npu_scalar *s)
{
    return s->kind == SCALAR_INT || s->kind == SCALAR_BOOL;
}

static bool takes(aclDataType t)
{
    return (is_floating(t) && t <= ACL_BF16) || is_integral(t, false);
}

static int check_range(struct call *c, double start, double end, double step)
{
    if (!isfinite(start) || !isfinite(end))
        return call_error(c, CALL_RUNTIME_ERROR, "unsupported range: %g -> %g", start, end);
    if (!(step > 0 || step < 0))
        return call_error(c, CALL_RUNTIME_ERROR, "step must be nonzero");
    if ((step > 0 && start > end) || (step < 0 && start < end))
        return call_error(c, CALL_RUNTIME_ERROR, "upper bound and lower bound inconsistent with step sign");
    return CALL_OK;
}

/* The result of n numbers: an out of as many elements keeps its shape. */
static const struct npu_tensor *sequence(struct call *c, const struct npu_tensor *given, int64_t n)
{
    bool keeps = tensor_numel(given) == n && given->rank;
    return keeps ? result(c, 0, given->dtype, given->rank, given->size) : result(c, 0, given->dtype, 1, &n);
}

/* Where the operator writes its n numbers in a row: the result itself, or a temporary for spread(). */
static const struct npu_tensor *line_of(struct call *c, const struct npu_tensor *out, int64_t n)
{
    return out->rank == 1 && tensor_contiguous(out) ? out : temp(c, out->dtype, 1, &n);
}

static int spread(struct call *c, const struct npu_tensor *out, const struct npu_tensor *line)
{
    if (line == out)
        return CALL_OK;
    int64_t stride[64], expected = 1;
    for (int32_t d = out->rank - 1; d >= 0; d--) {
        stride[d] = expected;
        expected *= out->size[d];
    }
    return copy_tensor(c, out, view_of(c, line, out->rank, out->size, stride, 0));
}

enum { INCLUSIVE = 1 };

static int run_arange(struct call *c, const struct aten_row *row)
{
    struct npu_scalar start = arg_scalar(c, 0), end = arg_scalar(c, 1), step = arg_scalar(c, 2);
    const struct npu_tensor *given = arg_tensor(c, 3);
    if (!takes(given->dtype) || !real(&start) || !real(&end) || !real(&step))
        return CALL_FALLBACK;
    bool integers = is_integral(given->dtype, false);
    if (integers) { /* PyTorch counts with the result's type */
        if (!whole(&start) || !whole(&end) || !whole(&step))
            return CALL_FALLBACK;
    }
    if (check_range(c, number(&start), number(&end), number(&step)))
        return CALL_ERROR;
    double size;
    if (row->code & INCLUSIVE)
        size = floor((number(&end) - number(&start)) / number(&step)) + 1;
    else if (integers) {
        int64_t sign = step.i > 0 ? 1 : -1;
        size = (double)((end.i - start.i + step.i - sign) / step.i);
    } else
        size = ceil((number(&end) - number(&start)) / number(&step));
    if (!(size >= 0 && size < 0x1p62))
        return call_error(c, CALL_RUNTIME_ERROR, "invalid size, possible overflow?");
    int64_t n = (int64_t)size;
    const struct npu_tensor *out = sequence(c, given, n);
    if (call_failed(c))
        return CALL_ERROR;
    if (!n)
        return CALL_OK;
    const struct npu_tensor *line = line_of(c, out, n);
    if (launch(c, row->aclnn, (union aclnn_value[]){{.s = &start}, {.s = &end}, {.s = &step}, {.t = line}}))
        return CALL_ERROR;
    return spread(c, out, line);
}

/* linspace: start, end, steps, out; logspace: start, end, steps, base, out */
enum { LOGSPACE = 1 };

static int run_linspace(struct call *c, const struct aten_row *row)
{
    struct npu_scalar start = arg_scalar(c, 0), end = arg_scalar(c, 1);
    int64_t steps = arg_int(c, 2, 0);
    bool log = row->code & LOGSPACE;
    const struct npu_tensor *given = arg_tensor(c, log ? 4 : 3);
    if (steps < 0)
        return call_error(c, CALL_RUNTIME_ERROR, "number of steps must be non-negative");
    bool complex_ok = is_complex(given->dtype) && given->dtype != ACL_COMPLEX32 && !log;
    if (!(takes(given->dtype) || complex_ok) || (!complex_ok && (!real(&start) || !real(&end))))
        return CALL_FALLBACK;
    if (log && is_integral(given->dtype, false))
        return CALL_FALLBACK; /* powers that are truncated: the CPU's own */
    const struct npu_tensor *out = sequence(c, given, steps);
    if (call_failed(c))
        return CALL_ERROR;
    if (!steps)
        return CALL_OK;
    const struct npu_tensor *line = line_of(c, out, steps);
    union aclnn_value v[5] = {{.s = &start}, {.s = &end}, {.i = steps}};
    if (log)
        v[3].d = arg_double(c, 3, 10);
    v[log ? 4 : 3].t = line;
    return launch(c, row->aclnn, v) ? CALL_ERROR : spread(c, out, line);
}

static int run_eye(struct call *c, const struct aten_row *row)
{
    int64_t n = arg_int(c, 0, 0), m = row->code ? arg_int(c, 1, 0) : n, size[2] = {n, m};
    const struct npu_tensor *given = arg_tensor(c, row->code ? 2 : 1);
    if (n < 0)
        return call_error(c, CALL_RUNTIME_ERROR, "n must be greater or equal to 0, got %lld", (long long)n);
    if (m < 0)
        return call_error(c, CALL_RUNTIME_ERROR, "m must be greater or equal to 0, got %lld", (long long)m);
    const struct npu_tensor *out = result(c, 0, given->dtype, 2, size);
    if (call_failed(c))
        return CALL_ERROR;
    if (!tensor_numel(out))
        return CALL_OK;
    return launch(c, row->aclnn, (union aclnn_value[]){{.i = n}, {.i = m}, {.t = out}});
}

static struct aclnn arange = ACLNN("aclnnArange", "SSST"), range = ACLNN("aclnnRange", "SSST");
static struct aclnn linspace = ACLNN("aclnnLinspace", "SSiT"), logspace = ACLNN("aclnnLogSpace", "SSidT");
static struct aclnn eye = ACLNN("aclnnEye", "iiT");

static const struct aten_row rows[] = {
    {"arange.start_out", run_arange, &arange, 0, false},
    {"range.out", run_arange, &range, INCLUSIVE, false},
    {"linspace.out", run_linspace, &linspace, 0, false},
    {"logspace.out", run_linspace, &logspace, LOGSPACE, false},
    {"eye.out", run_eye, &eye, 0, false},
    {"eye.m_out", run_eye, &eye, 1, false},
};
ATEN_FAMILY(range_family, rows);
