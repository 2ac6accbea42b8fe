/* SPDX-License-Identifier: BSD-3-Clause */
/* A plan is what aclOpExecutor points to: everything phase 2 needs, copied in phase 1.
 *
 * An operator is a row {name, parameters, prepare, …} in a family's table (*.rows). The generated
 * aclnnXGetWorkspaceSize packs its arguments into op_value[] and calls op_prepare(), which makes a plan and calls the
 * row's prepare function; the generated aclnnX calls op_launch(), the same for every operator: one task on the stream
 * that runs the plan's steps.
 *
 * Prepare functions run on the caller's thread: check, copy views, add steps. They never touch tensor data. Steps run
 * later, in order, on a device thread; what they need lives in the plan (plan_alloc), and views' data addresses are
 * final only then. A step that wants several cores calls parallel() (runtime/door.h). */
#ifndef ANYNPU_OPS_PLAN_H
#define ANYNPU_OPS_PLAN_H

#include "aclnn/acl_meta.h"
#include "base/dtype.h"
#include "base/view.h"
#include "ops/engine/pool.h"
#include "runtime/door.h"

struct plan;
struct op_row;

/* One argument as the C prototype passed it. */
union op_value {
    const aclTensor *tensor; /* T */
    const aclScalar *scalar; /* S */
    const aclIntArray *ints; /* I */
    const aclFloatArray *floats;
    const aclBoolArray *bools;
    const aclTensorList *tensors; /* L */
    const aclScalarList *scalars;
    int64_t i; /* every integer type, bool, aclDataType */
    double d;  /* float and double */
    const char *s;
};

/* Fills the plan from the arguments; returns ACLNN_SUCCESS or plan_fail(…). */
typedef int (*op_prepare_fn)(struct plan *plan, const struct op_row *row, const union op_value *arg);

struct op_param {
    const char *name;
    char kind;     /* T S I F B L Q (scalar list) i (integers, bool, dtype) d (float, double) s */
    bool output;   /* written */
    bool optional; /* may be NULL */
};

struct op_row {
    const char *name; /* "aclnnAdd" */
    op_prepare_fn prepare;
    const struct op_param *param;
    int params;
    int code;           /* family's own: which kernel, which mode */
    const void *detail; /* family's own */
    int tensors;        /* parameters of kind T */
    int outputs;        /* parameters that are written */
    int output;         /* the first of them, -1: none */
};

/* Objects behind the handles. Prepare functions may read them (never keep them: copy, or ask plan_view for a copy). */
struct aclTensor {
    struct object object;
    struct view view; /* data = storage address + offset */
    char *storage;
    int64_t offset; /* elements */
    aclFormat format;
    int32_t storage_rank;
    int64_t storage_dim[VIEW_RANK_MAX];
    struct aclTensor *origin; /* a copy kept by an executor: whose copy it is, and of which generation */
    uint32_t origin_generation;
};

struct aclScalar {
    struct object object;
    aclDataType dtype;
    union {
        int64_t i; /* integers and bool, sign- or zero-extended */
        uint64_t u;
        double d;    /* f16 bf16 f32 f64, widened */
        double c[2]; /* complex: real and imaginary */
    };
};

struct aclIntArray {
    struct object object;
    uint64_t size;
    int64_t *value;
};
struct aclFloatArray {
    struct object object;
    uint64_t size;
    float *value;
};
struct aclBoolArray {
    struct object object;
    uint64_t size;
    bool *value;
};
struct aclTensorList {
    struct object object;
    uint64_t size;
    aclTensor **value;
};
struct aclScalarList {
    struct object object;
    uint64_t size;
    aclScalar **value;
};

/* A number as an integer: cut, the nearest one where it does not fit; NaN gives the least. */
static inline int64_t whole_number(double d)
{
    if (!(d >= -0x1p63))
        return INT64_MIN;
    return d < 0x1p63 ? (int64_t)d : INT64_MAX;
}

/* The scalar as double / int64, whatever its type (complex: the real part; a float out of range: the nearest int64). */
double scalar_double(const aclScalar *s) DOOR(scalar_double);
int64_t scalar_int(const aclScalar *s) DOOR(scalar_int);

/* "[2,3]" into buffer, for texts. */
const char *shape_text(char *buffer, size_t bytes, int32_t rank, const int64_t *dim) DOOR(shape_text);

/* Called by the generated entry points. */
aclnnStatus op_prepare(const struct op_row *row, const union op_value *arg, uint64_t *workspace_size,
                       aclOpExecutor **executor) DOOR(op_prepare);
aclnnStatus op_launch(const struct op_row *row, void *workspace, uint64_t workspace_size, aclOpExecutor *executor,
                      aclrtStream stream) DOOR(op_launch);

/* The row whose operator is being prepared, for texts. */
const struct op_row *plan_row(const struct plan *plan) DOOR(plan_row);

/* Memory that lives as long as the plan, zeroed, 64-byte aligned. Never NULL inside prepare: when memory is short the
 * plan is marked failed, op_prepare reports it, and the pointer goes to a spare block that is never run. */
void *plan_alloc(struct plan *plan, size_t bytes) DOOR(plan_alloc);

/* The plan's own copy of a tensor's view. (When a client changes addresses by aclSetTensorAddr, prepare runs again.) */
struct view *plan_view(struct plan *plan, const aclTensor *tensor) DOOR(plan_view);

/* Another view of the same memory, to be reshaped freely: `of` (a tensor's or a temporary's view) moved by `bytes`.
 * Never copy a struct view by hand: a temporary's address is known in steps only, and the plan must know who follows
 * it. */
struct view *plan_alias(struct plan *plan, const struct view *of, int64_t bytes) DOOR(plan_alias);

/* A contiguous temporary in the workspace. Its data is valid in steps only. */
struct view *plan_temp(struct plan *plan, aclDataType dtype, int32_t rank, const int64_t *dim) DOOR(plan_temp);

/* v itself when it is contiguous and of that type, else a temporary and a step that copies v into it (converting). */
struct view *plan_contiguous(struct plan *plan, struct view *v, aclDataType dtype) DOOR(plan_contiguous);

/* The mirror for outputs: v itself when contiguous and of that type, else a temporary to write into; plan_finish copies
 * it to v after the steps added so far. Call plan_finish last (no step when it is v itself). */
struct view *plan_output(struct plan *plan, struct view *v, aclDataType dtype) DOOR(plan_output);
void plan_finish(struct plan *plan, struct view *temp, struct view *v) DOOR(plan_finish);

/* Adds a step. work: nanoseconds on one core, an estimate (bytes / 10 for memory-bound work, flops / 50 for GEMM). */
void plan_step(struct plan *plan, int (*run)(void *arg), void *arg, uint64_t work) DOOR(plan_step);

/* Adds an elementwise copy with conversion from src to dst (broadcasting); used by all families. src's shape must
 * broadcast to dst's, and both types be convertible (copy_converts); otherwise the plan fails with a text. */
void plan_copy(struct plan *plan, struct view *dst, const struct view *src) DOOR(plan_copy);

/* Adds a step that sets every element of dst to the value, given as dst's type. */
void plan_fill(struct plan *plan, struct view *dst, const void *value) DOOR(plan_fill);

/* The same at once, inside a step: same shape, any strides; spread over the compute pool. */
void copy_view(const struct view *dst, const struct view *src) DOOR(copy_view);
void fill_view(const struct view *dst, const void *value) DOOR(fill_view);
bool copy_converts(aclDataType dst, aclDataType src) DOOR(copy_converts);

/* Writes the scalar's value as one element of the type, converted as PyTorch does; ≤ 16 bytes. */
void scalar_store(const aclScalar *s, aclDataType dtype, void *element) DOOR(scalar_store);

/* Operators whose result size depends on data (MaskedSelect, NonZero, Unique): a step may set the shape that
 * aclGetViewShape tells for the output argument p; it does nothing when the client has destroyed the tensor by then. */
struct result_shape;
struct result_shape *plan_result_shape(struct plan *plan, int p) DOOR(plan_result_shape);
void result_shape_set(struct result_shape *shape, int32_t rank, const int64_t *dim) DOOR(result_shape_set);

/* Argument errors with the official code and text (161001 null, 161002 invalid; "AclNN_Parameter_Error(EZ1001): …").
 *   return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected tensor %s dim %d to be %ld, but got %ld.", …);
 * op_prepare has already refused NULL for parameters that are not optional, ranks > 16 and unknown dtypes. */
int plan_fail(struct plan *plan, aclnnStatus status, const char *fmt, ...) DOOR(plan_fail)
    __attribute__((format(printf, 3, 4)));

/* "Tensor %s not implemented for DT_X, should be in dtype support list [DT_FLOAT,…]": checks parameter p's tensor or
 * tensors; an absent optional one passes. */
int plan_check_dtype(struct plan *plan, int p, const aclDataType *list, int n) DOOR(plan_check_dtype);

/* Checks that parameter p's tensor has this shape: "Expected tensor for out to have size [2,3], but got [3,2]." */
int plan_check_shape(struct plan *plan, int p, int32_t rank, const int64_t *dim) DOOR(plan_check_shape);

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        int status_ = (call);                                                                                          \
        if (status_)                                                                                                   \
            return status_;                                                                                            \
    } while (0)

#endif
