/* SPDX-License-Identifier: BSD-3-Clause */
/* How the rows of this folder are written: one function an operator, which says what the results are and what computes
 * them. It asks for its inputs and attributes, for a result of a type (op_result), and calls aclnn operators. op_infer
 * runs it with nothing but types: results note their types, calls do nothing. op_run runs it on a device.
 *
 * The function sees known sizes only. Where a model leaves sizes open, op_infer tries it with two numbers for each open
 * size and tells what did not change. Contents of inputs come from op_whole (known ones, or read from the device);
 * where they can't be known the function stops and the results are left open.
 *
 * The first failure stays (op_fail) and later calls do nothing, so functions need not ask after each step; but dims and
 * counts must be checked before they are used as indices. Everything handed out lives as long as the call. */
#ifndef ANYNPU_GRAPH_OPERATORS_OP_H
#define ANYNPU_GRAPH_OPERATORS_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aclnn/acl_meta.h"
#include "base/dtype.h"
#include "graph/operator.h"

enum { OP_RANK = VIEW_RANK_MAX };

/* A tensor or a view of one: sizes and strides (in elements) as seen, from an element on. */
struct operand {
    aclDataType dtype;
    int32_t rank;
    int64_t dim[OP_RANK], stride[OP_RANK], offset;
    const struct tensor *tensor; /* NULL while types are inferred */
    const void *host;            /* contents where known before running; whole tensors only */
};

struct op;

/* infer() and run() of every row here. */
int op_infer(const struct node *node, const struct tensor *const *in, struct type *out, struct tensor *table);
int op_run(const struct node *node, struct context *context, const struct tensor *const *in, struct tensor *const *out);

/* Whether the node can run with the types that the table says, where they are known: GRAPH_UNSUPPORTED with the text of
 * the aclnn operator that refuses. Nothing runs; a device must be set. */
int op_check(const struct node *node, const struct tensor *table);

/* ---- the node ---- */
const struct node *op_node(const struct op *op);
const void *op_detail(const struct op *op); /* the row's */
int op_code(const struct op *op);
int op_version(const struct op *op);
int op_inputs(const struct op *op);
int op_outputs(const struct op *op);
bool op_wants(const struct op *op, int k); /* output k is used */
bool op_runs(const struct op *op);         /* false while types are inferred, and after a failure */
int64_t op_int(const struct op *op, const char *name, int64_t otherwise);
double op_float(const struct op *op, const char *name, double otherwise);
const char *op_string(const struct op *op, const char *name, const char *otherwise);
bool op_string_is(const struct op *op, const char *name, const char *otherwise, const char *value);
const int64_t *op_ints(const struct op *op, const char *name, size_t *count);

/* ---- inputs ---- */
struct operand *op_in(struct op *op, int i);   /* NULL when left out */
struct operand *op_need(struct op *op, int i); /* a failure when left out, and an empty tensor in its place */
/* Contents as integers or numbers, *n of them: NULL when left out, unknown (op_open is then true), or after a failure.
 */
const int64_t *op_whole(struct op *op, int i, size_t *n);
const double *op_numbers(struct op *op, int i, size_t *n);
bool op_open(const struct op *op);
/* Sizes are being tried: what depends on a size being 1 must be left open. */
bool op_tries(const struct op *op);
/* The attribute of the name if the node has it, else the contents of input i. */
const int64_t *op_ints_or_input(struct op *op, const char *name, int i, size_t *n);

/* ---- results and temporaries, contiguous ---- */
struct operand *op_result(struct op *op, int k, aclDataType dtype, int32_t rank, const int64_t *dim);
/* A result like t. */
struct operand *op_like(struct op *op, int k, const struct operand *t);
/* Results whose sizes depend on contents that are not known: what is known of them. Dims may be DIM_UNKNOWN. */
void op_result_open(struct op *op, int k, aclDataType dtype, int32_t rank, const int64_t *dim);
struct operand *op_temp(struct op *op, aclDataType dtype, int32_t rank, const int64_t *dim);
/* Result k or a temporary with these contents. */
void op_write(struct op *op, const struct operand *t, const void *bytes);
/* A temporary of numbers, converted. */
struct operand *op_constant(struct op *op, aclDataType dtype, int32_t rank, const int64_t *dim, const double *numbers);

/* ---- views; none copies ---- */
struct operand *op_view(struct op *op, const struct operand *t, int32_t rank, const int64_t *dim, const int64_t *stride,
                        int64_t offset);
struct operand *op_reshape(struct op *op, const struct operand *t, int32_t rank, const int64_t *dim); /* t contiguous */
struct operand *op_transpose(struct op *op, const struct operand *t, const int64_t *order);           /* t->rank */
struct operand *op_expand(struct op *op, const struct operand *t, int32_t rank, const int64_t *dim);  /* broadcast */
struct operand *op_slice(struct op *op, const struct operand *t, int axis, int64_t start, int64_t count, int64_t step);
struct operand *op_unsqueeze(struct op *op, const struct operand *t, int axis); /* axis ≤ rank */
bool op_is_contiguous(const struct operand *t);

/* ---- copies ---- */
struct operand *op_contiguous(struct op *op, struct operand *t);
struct operand *op_cast(struct op *op, struct operand *t, aclDataType dtype);      /* t itself if it has the type */
void op_copy(struct op *op, const struct operand *to, const struct operand *from); /* converts and broadcasts */

/* ---- sizes ---- */
int64_t op_count(const struct operand *t);
int64_t op_span(const struct operand *t, int from, int to); /* product of dims from ≤ i < to */
int op_axis(struct op *op, int64_t axis, int rank);         /* in [0, rank); 0 after a failure */
/* The attribute "axis" for that rank. */
int op_axis_of(struct op *op, int64_t otherwise, int rank);
/* The axis of Softmax and its kin. Before version 13 all from the axis on counts as one dimension: x and y become views
 * of two. */
int op_softmax_axis(struct op *op, struct operand **x, struct operand **y);
/* Broadcasts the inputs from ≤ i < to; returns the rank. */
int32_t op_broadcast(struct op *op, struct operand *const *t, int n, int64_t *dim);
bool op_same_shape(const struct operand *a, const struct operand *b);

/* ---- failures ---- */
void op_fail(struct op *op, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));
void op_check_dtype(struct op *op, const struct operand *t, const aclDataType *list, int n);

/* ---- calling aclnn ---- */
const aclTensor *op_acl(struct op *op, const struct operand *t); /* NULL for NULL */
aclTensor *op_out(struct op *op, const struct operand *t);
const aclScalar *op_number(struct op *op, double value);
const aclScalar *op_integer(struct op *op, int64_t value);
/* 1 or 1.0 as fits the type. */
const aclScalar *op_scalar_for(struct op *op, aclDataType dtype, double value);
const aclIntArray *op_array(struct op *op, size_t n, const int64_t *list);
aclTensorList *op_list(struct op *op, size_t n, struct operand *const *list);
void op_launch(struct op *op, const char *name, int (*run)(void *, uint64_t, aclOpExecutor *, aclrtStream), int status);
uint64_t *op_workspace(struct op *op);
aclOpExecutor **op_executor(struct op *op);

/* Both phases: OP_CALL(op, aclnnSoftmax, op_acl(op, x), axis, op_out(op, y)). */
#define OP_CALL(op, fn, ...)                                                                                           \
    do {                                                                                                               \
        if (op_runs(op))                                                                                               \
            op_launch(op, #fn, fn, fn##GetWorkspaceSize(__VA_ARGS__, op_workspace(op), op_executor(op)));              \
    } while (0)

/* ---- functions of ours on the device thread, where no aclnn operator fits ---- */
/* Device address of a contiguous operand as tasks see it; call it when the task is made. NULL for NULL. */
void *op_data(struct op *op, const struct operand *t);
void op_host(struct op *op, const char *name, int (*fn)(void *arg), const void *arg, size_t bytes);

#endif
