/* SPDX-License-Identifier: BSD-3-Clause */
/* searchsorted and bucketize. What PyTorch refuses falls back, so that the text is PyTorch's own. */
#include "op.h"

#include <string.h>

static struct aclnn search = ACLNN("aclnnSearchSorted", "TTbbTT");
static struct aclnn search_scalar = ACLNN("aclnnSearchSorteds", "TSbbTT");

enum { SEARCH, BUCKETIZE };

static bool ordered(const struct npu_tensor *t)
{
    return t->device >= 0 && t->rank <= 16 && (is_floating(t->dtype) || is_integral(t->dtype, false));
}

/* right, or what `side` says; -1 for what PyTorch refuses. */
static int right_of(struct call *c, bool right, int side_arg)
{
    const char *side = side_arg >= 0 && !arg_none(c, side_arg) ? arg_string(c, side_arg) : NULL;
    if (!side)
        return right;
    if (strcmp(side, "right") == 0)
        return 1;
    return strcmp(side, "left") == 0 && !right ? 0 : -1;
}

static bool fits(const struct npu_tensor *sequence, const struct npu_tensor *values)
{
    if (sequence->rank == 1)
        return true;
    if (sequence->rank == 0 || sequence->rank != values->rank)
        return false;
    return memcmp(sequence->size, values->size, sizeof(int64_t) * (size_t)(sequence->rank - 1)) == 0;
}

/* sorted_sequence, self, out_int32, right, side, sorter; or self, boundaries, out_int32, right */
static int run_tensor(struct call *c, const struct aten_row *row)
{
    bool bucketize = row->code == BUCKETIZE;
    const struct npu_tensor *sequence = arg_tensor(c, bucketize), *values = arg_tensor(c, !bucketize);
    const struct npu_tensor *sorter = bucketize || arg_none(c, 5) ? NULL : arg_tensor(c, 5);
    int right = right_of(c, arg_bool(c, 3, false), bucketize ? -1 : 4);
    if (!ordered(sequence) || !ordered(values) || right < 0 || !fits(sequence, values))
        return CALL_FALLBACK;
    if (sorter && (sorter->dtype != ACL_INT64 || sorter->rank != sequence->rank || sorter->device < 0 ||
                   memcmp(sorter->size, sequence->size, sizeof(int64_t) * (size_t)sorter->rank)))
        return CALL_FALLBACK;
    aclDataType type = promote((const struct npu_tensor *[]){sequence, values}, 2, NULL, 0);
    sequence = cast(c, sequence, type);
    values = cast(c, values, type);
    bool narrow = arg_bool(c, 2, false);
    struct npu_tensor *out = result(c, 0, narrow ? ACL_INT32 : ACL_INT64, values->rank, values->size);
    if (call_failed(c))
        return CALL_ERROR;
    return launch(
        c, row->aclnn,
        (union aclnn_value[]){{.t = sequence}, {.t = values}, {.i = narrow}, {.i = right}, {.t = sorter}, {.t = out}});
}

/* The same with a number in place of the values. */
static int run_scalar(struct call *c, const struct aten_row *row)
{
    bool bucketize = row->code == BUCKETIZE;
    const struct npu_tensor *sequence = arg_tensor(c, bucketize);
    struct npu_scalar value = arg_scalar(c, !bucketize);
    int right = right_of(c, arg_bool(c, 3, false), bucketize ? -1 : 4);
    if (!ordered(sequence) || right < 0 || sequence->rank != 1 || (!bucketize && !arg_none(c, 5)) ||
        value.kind == SCALAR_COMPLEX || promote(&sequence, 1, &value, 1) != sequence->dtype)
        return CALL_FALLBACK;
    bool narrow = arg_bool(c, 2, false);
    struct npu_tensor *out = result(c, 0, narrow ? ACL_INT32 : ACL_INT64, 0, NULL);
    if (call_failed(c))
        return CALL_ERROR;
    return launch(
        c, row->aclnn,
        (union aclnn_value[]){{.t = sequence}, {.s = &value}, {.i = narrow}, {.i = right}, {.t = NULL}, {.t = out}});
}

static const struct aten_row rows[] = {
    {"searchsorted.Tensor", run_tensor, &search, SEARCH, false},
    {"searchsorted.Tensor_out", run_tensor, &search, SEARCH, false},
    {"searchsorted.Scalar", run_scalar, &search_scalar, SEARCH, false},
    {"searchsorted.Scalar_out", run_scalar, &search_scalar, SEARCH, false},
    {"bucketize.Tensor", run_tensor, &search, BUCKETIZE, false},
    {"bucketize.Tensor_out", run_tensor, &search, BUCKETIZE, false},
    {"bucketize.Scalar", run_scalar, &search_scalar, BUCKETIZE, false},
};
ATEN_FAMILY(search_family, rows);
