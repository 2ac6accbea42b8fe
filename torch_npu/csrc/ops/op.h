/* SPDX-License-Identifier: BSD-3-Clause */
/* What an ATen operator looks like from C.
 *
 * A family file has rows {aten name → adapter, aclnn operator}; the bridge registers each row's name for the NPU and,
 * when PyTorch calls it, hands the adapter a struct call: the arguments in schema order, and functions to make results
 * and temporaries and to launch aclnn operators on the current stream. An adapter infers shape and dtype, asks for its
 * results, launches, and returns 0; or returns CALL_FALLBACK before it has launched anything or asked for a result, and
 * the operator runs on the CPU, counted; or returns call_error(…), which becomes a Python exception.
 *
 * The same adapter serves the functional, in-place and out= overloads: result() knows from the schema what to hand out.
 * Everything a call hands out is freed by the bridge when the adapter returns. Adapters run on the caller's thread with
 * the device guard already set; all tensors are on that device, save 0-dim CPU tensors (device < 0), which launch()
 * moves by itself. Negative and conjugate bits are already resolved. */
#ifndef TORCH_NPU_OPS_OP_H
#define TORCH_NPU_OPS_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(hidden) /* short names, for this library alone */

struct call;

/* A tensor, or a view of one: enough to make an aclTensor. Copy it and change size, stride, offset for another view of
 * the same storage (expand: stride 0; transpose: swap); dims beyond `rank` are unused. */
struct npu_tensor {
    void *impl; /* c10::TensorImpl, borrowed; NULL for views made in C */
    void *data; /* the storage's first byte */
    int64_t storage_bytes;
    int64_t offset; /* elements */
    const int64_t *size, *stride;
    int32_t rank;
    aclDataType dtype;
    int16_t device; /* npu index; -1: on the CPU */
    bool defined;   /* false: None / undefined */
    bool wrapped;   /* a Python number made tensor: weak in type promotion */
};

enum scalar_kind { SCALAR_BOOL, SCALAR_INT, SCALAR_FLOAT, SCALAR_COMPLEX };

struct npu_scalar {
    enum scalar_kind kind;
    int64_t i;   /* bool and int */
    double d[2]; /* float, complex: real and imaginary (d[0] is set for bool and int too) */
};

/* ---- arguments, by position in the schema ---- */
int arg_count(struct call *c);
bool arg_none(struct call *c, int i);                                      /* None, an absent optional */
const struct npu_tensor *arg_tensor(struct call *c, int i);                /* ->defined is false for None */
size_t arg_tensors(struct call *c, int i, const struct npu_tensor **list); /* Tensor[] and Tensor?[] */
int64_t arg_int(struct call *c, int i, int64_t if_none);
double arg_double(struct call *c, int i, double if_none);
bool arg_bool(struct call *c, int i, bool if_none);
const char *arg_string(struct call *c, int i);       /* NULL if none */
struct npu_scalar arg_scalar(struct call *c, int i); /* Scalar; also int, float, bool arguments */
size_t arg_scalars(struct call *c, int i, const struct npu_scalar **list);
size_t arg_ints(struct call *c, int i, const int64_t **list); /* int[]; 0 and NULL if none; a lone int gives 1 */
size_t arg_doubles(struct call *c, int i, const double **list);
size_t arg_bools(struct call *c, int i, const bool **list);
aclDataType arg_dtype(struct call *c, int i, aclDataType if_none); /* ScalarType? */

/* The argument's tensor from C value 0-dim CPU or device tensor (waits for the device). */
int tensor_item(struct call *c, const struct npu_tensor *t, struct npu_scalar *value);

/* ---- results ----
 * Result k of the schema: for an in-place or out= overload the given tensor (out is resized when its shape differs,
 * with PyTorch's warning; an in-place one must already have that shape), otherwise a new contiguous tensor. `dtype` is
 * what the computation gives; if the given tensor has another dtype, or overlaps an input in a way the row does not
 * allow, a temporary is handed out and copied (cast) when the adapter returns; an impossible cast is PyTorch's error.
 */
struct npu_tensor *result(struct call *c, int k, aclDataType dtype, int32_t rank, const int64_t *size);
/* The same with explicit strides for a new tensor. */
struct npu_tensor *result_strided(struct call *c, int k, aclDataType dtype, int32_t rank, const int64_t *size,
                                  const int64_t *stride);
/* The same for elementwise operators: a new tensor takes the layout that TensorIterator would give it from the inputs.
 */
struct npu_tensor *result_pointwise(struct call *c, int k, aclDataType dtype, int32_t rank, const int64_t *size,
                                    const struct npu_tensor *const *inputs, int n);
void result_undefined(struct call *c, int k);          /* None for an optional gradient */
void result_bool(struct call *c, int k, bool value);   /* a result that is a bool */
void result_int(struct call *c, int k, int64_t value); /* a result that is an int */
void result_self(struct call *c, int k, int arg);      /* the result is argument arg itself */
/* Tensor[] results: n tensors, then each by result_list_at. For in-place/foreach forms the bridge returns the list
 * itself. */
void result_list(struct call *c, int k, size_t n);
struct npu_tensor *result_list_at(struct call *c, int k, size_t j, aclDataType dtype, int32_t rank, const int64_t *size,
                                  const int64_t *stride);

/* ---- temporaries (stream-ordered device memory, freed after the call) ---- */
struct npu_tensor *temp(struct call *c, aclDataType dtype, int32_t rank, const int64_t *size);
const struct npu_tensor *cast(struct call *c, const struct npu_tensor *t, aclDataType dtype); /* t itself if it fits */
const struct npu_tensor *contiguous(struct call *c, const struct npu_tensor *t);              /* t itself if it is */
/* A view in C memory of the call: sizes and strides are copied. */
struct npu_tensor *view_of(struct call *c, const struct npu_tensor *t, int32_t rank, const int64_t *size,
                           const int64_t *stride, int64_t offset);
void *call_alloc(struct call *c, size_t bytes); /* host memory of the call, zeroed */

/* ---- type and shape rules ---- */
/* torch.result_type over tensors (dimensioned, 0-dim and wrapped numbers weigh differently) and scalars. */
aclDataType promote(const struct npu_tensor *const *tensors, int n, const struct npu_scalar *scalars, int m);
aclDataType promote_types(aclDataType a, aclDataType b);
aclDataType default_float(void); /* torch.get_default_dtype() */
bool is_integral(aclDataType t, bool with_bool);
bool is_floating(aclDataType t);
bool is_complex(aclDataType t);
/* Broadcast shape of n tensors into size[16]; returns the rank, or -1 after call_error (names the sizes). */
int32_t broadcast_shape(struct call *c, const struct npu_tensor *const *tensors, int n, int64_t *size);
int64_t tensor_numel(const struct npu_tensor *t);
bool tensor_contiguous(const struct npu_tensor *t);
/* dim in [-rank, rank) → [0, rank) (rank 0 counts as 1); PyTorch's IndexError otherwise, returning -1. */
int32_t wrap_dim(struct call *c, int64_t dim, int32_t rank);

/* ---- random numbers ---- */
/* Philox seed and offset of the generator argument i (or the default one if None / i < 0); advances it by `count`.
 * Inside a graph both are read when it is executed: from two tensors of one int64 each, `offset` being added to the
 * second. */
struct philox_state {
    uint64_t seed, offset;
    const struct npu_tensor *seeds, *offsets; /* NULL outside a graph */
};
int philox(struct call *c, int i, uint64_t count, struct philox_state *state);

/* ---- launching ---- */
/* An aclnn operator and how it is called: one letter per parameter of GetWorkspaceSize, in order:
 * T tensor  S scalar  L tensor list  Q scalar list  I int array  B bool array  F float array
 * i int64_t  j int / int32_t  c int8_t  u uint64_t  b bool  d double  f float  y aclDataType  s char*
 * The callers are generated at build time from the literals in the family files. Symbols are looked up at the first
 * call; a missing one is an error that names it. */
struct aclnn {
    const char *name, *signature;
    void *state; /* the bridge's */
};
#define ACLNN(name, signature)                                                                                         \
    {                                                                                                                  \
        name, signature, NULL                                                                                          \
    }

union aclnn_value {
    const struct npu_tensor *t; /* T; NULL or undefined passes NULL */
    const struct npu_scalar *s; /* S; NULL passes NULL */
    struct {
        const struct npu_tensor *list;
        size_t n;
    } l; /* L: array of tensors; undefined ones pass NULL */
    struct {
        const struct npu_scalar *list;
        size_t n;
    } q; /* Q */
    struct {
        const int64_t *list;
        size_t n;
    } ints; /* I; list NULL passes NULL */
    struct {
        const bool *list;
        size_t n;
    } bools; /* B */
    struct {
        const float *list;
        size_t n;
    } floats;        /* F */
    int64_t i;       /* i j c u b y */
    double d;        /* d f */
    const char *str; /* s */
};

/* Both phases on the current stream. How a scalar's dtype is passed: int64, double, bool or complex128 by its kind. */
int launch(struct call *c, struct aclnn *op, const union aclnn_value *values);
/* The same for an operator whose result's size depends on data: waits, then reads the shape that parameter p's tensor
 * has got (its tensor is given in the largest size). */
int launch_sized(struct call *c, struct aclnn *op, const union aclnn_value *values, int p, int32_t *rank,
                 int64_t *size);
bool aclnn_exists(struct aclnn *op);
/* Waits for the stream and returns its error: for operators whose checks happen on the device (index ranges) or whose
 * result size depends on data. */
int call_sync(struct call *c);
/* Copies count elements of a tensor's data to host memory (waits). */
int tensor_read(struct call *c, const struct npu_tensor *t, void *host);
/* dst ← src with conversion and broadcasting (aclnnInplaceCopy). */
int copy_tensor(struct call *c, const struct npu_tensor *dst, const struct npu_tensor *src);

/* Is the CANN the software one of this project? Its operators take any strides and no helper masks. */
bool software_npu(void);

/* ---- outcomes ---- */
enum { CALL_OK = 0, CALL_ERROR = -1, CALL_FALLBACK = 1 };
enum call_error_kind { CALL_RUNTIME_ERROR, CALL_INDEX_ERROR, CALL_VALUE_ERROR, CALL_TYPE_ERROR, CALL_NOT_IMPLEMENTED };
int call_error(struct call *c, enum call_error_kind kind, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The recorded error's text (memory of the call; NULL if there is none), and another one in its place. */
const char *call_error_text(struct call *c);
int call_reword(struct call *c, enum call_error_kind kind, const char *text);
bool call_failed(struct call *c); /* an earlier helper has recorded an error: return CALL_ERROR */

/* ---- rows ---- */
struct aten_row {
    const char *name; /* "add.Tensor": overload names in full */
    int (*run)(struct call *c, const struct aten_row *row);
    struct aclnn *aclnn; /* the adapter's operator, may be NULL */
    int code;            /* the family's own */
    bool alias_ok;       /* the output may be an input itself (elementwise) */
};

struct aten_family {
    const char *name;
    const struct aten_row *row;
    size_t rows;
};
/* Each family file ends with one of these; csrc/ops/families.c lists them. */
#define ATEN_FAMILY(id, table) const struct aten_family id = {#id, table, sizeof(table) / sizeof((table)[0])}

const struct aten_row *call_row(struct call *c);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
