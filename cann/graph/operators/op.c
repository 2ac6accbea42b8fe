/* SPDX-License-Identifier: BSD-3-Clause */
/* One call of an operator's function: its arena, operands, results, and what it hands to aclnn; see op.h. */
#include "graph/operators/op.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aclnnop/aclnn_inplace_copy.h"
#include "base/number.h"

struct block {
    struct block *next;
    _Alignas(16) char bytes[];
};

enum handle_kind { HANDLE_SCALAR, HANDLE_INTS };
struct handle {
    struct handle *next;
    enum handle_kind kind;
    const void *object;
};

struct op {
    const struct node *node;
    const struct tensor *const *in;
    struct context *context;   /* NULL: types are inferred */
    struct type *types;        /* inferred */
    struct tensor *const *out; /* run */
    struct operand **inputs;   /* made at the first question */
    int status;
    bool open;  /* contents that it needs are unknown */
    bool tries; /* sizes are numbers that stand for open ones */
    struct block *blocks;
    char *free, *end;
    struct handle *handles;
    struct launch launch;
};

/* ---- memory ---- */

static void *take(struct op *op, size_t bytes)
{
    static char spare[65536];
    bytes = (bytes + 15) & ~(size_t)15;
    if (bytes > (size_t)(op->end - op->free)) {
        size_t room = bytes > 32768 ? bytes : 32768;
        struct block *block = calloc(1, sizeof *block + room);
        if (!block) {
            op_fail(op, GRAPH_NO_MEMORY, "no memory");
            return bytes <= sizeof spare ? spare : NULL;
        }
        block->next = op->blocks;
        op->blocks = block;
        op->free = block->bytes;
        op->end = block->bytes + room;
    }
    void *p = op->free;
    op->free += bytes;
    return p;
}

static void *keep(struct op *op, enum handle_kind kind, const void *object)
{
    if (!object) {
        op_fail(op, GRAPH_NO_MEMORY, "no memory for an argument");
        return NULL;
    }
    struct handle *h = take(op, sizeof *h);
    *h = (struct handle){op->handles, kind, object};
    op->handles = h;
    return (void *)object;
}

static void settle(struct op *op)
{
    for (struct handle *h = op->handles; h; h = h->next)
        if (h->kind == HANDLE_SCALAR)
            aclDestroyScalar(h->object);
        else
            aclDestroyIntArray(h->object);
    for (struct block *b = op->blocks, *next; b; b = next) {
        next = b->next;
        free(b);
    }
}

/* ---- failures ---- */

void op_fail(struct op *op, int status, const char *format, ...)
{
    char text[512];
    va_list list;
    if (op->status)
        return;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    op->status = graph_fail(status, "%s", text);
}

bool op_open(const struct op *op)
{
    return op->open;
}

bool op_tries(const struct op *op)
{
    return op->tries;
}

bool op_runs(const struct op *op)
{
    return op->context && !op->status;
}

void op_check_dtype(struct op *op, const struct operand *t, const aclDataType *list, int n)
{
    for (int i = 0; t && i < n; i++)
        if (t->dtype == list[i])
            return;
    if (t)
        op_fail(op, GRAPH_UNSUPPORTED, "%s of %s is not supported", op->node->op, dtype_name(t->dtype));
}

/* ---- the node ---- */

const struct node *op_node(const struct op *op)
{
    return op->node;
}

const void *op_detail(const struct op *op)
{
    return op->node->row->detail;
}

int op_code(const struct op *op)
{
    return op->node->row->code;
}

int op_version(const struct op *op)
{
    return op->node->version;
}

int op_inputs(const struct op *op)
{
    return op->node->n_in;
}

int op_outputs(const struct op *op)
{
    return op->node->n_out;
}

bool op_wants(const struct op *op, int k)
{
    return k < op->node->n_out && op->node->out[k] != VALUE_NONE;
}

int64_t op_int(const struct op *op, const char *name, int64_t otherwise)
{
    return node_int(op->node, name, otherwise);
}

double op_float(const struct op *op, const char *name, double otherwise)
{
    const struct attribute *a = node_attribute(op->node, name);
    return a && a->kind == ATTRIBUTE_FLOAT ? (double)a->f : otherwise;
}

const char *op_string(const struct op *op, const char *name, const char *otherwise)
{
    return node_string(op->node, name, otherwise);
}

bool op_string_is(const struct op *op, const char *name, const char *otherwise, const char *value)
{
    return strcmp(node_string(op->node, name, otherwise), value) == 0;
}

const int64_t *op_ints(const struct op *op, const char *name, size_t *count)
{
    return node_ints(op->node, name, count);
}

/* ---- operands ---- */

static void dense(struct operand *t)
{
    int64_t size = 1;
    for (int32_t i = t->rank - 1; i >= 0; i--) {
        t->stride[i] = size;
        size *= t->dim[i] > 1 ? t->dim[i] : 1;
    }
}

static struct operand *operand_new(struct op *op, aclDataType dtype, int32_t rank, const int64_t *dim)
{
    struct operand *t = take(op, sizeof *t);
    int64_t count = 1;
    t->dtype = dtype;
    t->rank = rank;
    if (rank < 0 || rank > OP_RANK) {
        op_fail(op, GRAPH_UNSUPPORTED, "%s with %d dimensions: %d at most", op->node->op, rank, OP_RANK);
        t->rank = 0;
    }
    for (int32_t i = 0; i < t->rank; i++) {
        t->dim[i] = dim[i];
        if (dim[i] < 0 || __builtin_mul_overflow(count, dim[i] ? dim[i] : 1, &count) || count > INT64_MAX / 64) {
            op_fail(op, GRAPH_INVALID, "%s would make a tensor with dimension %d of %lld", op->node->op, i,
                    (long long)dim[i]);
            memset(t->dim, 0, sizeof t->dim);
            break;
        }
    }
    dense(t);
    return t;
}

/* Elements of less than a byte have no addresses of their own. */
static void check_width(struct op *op, const char *which, int k, aclDataType dtype)
{
    bool narrow = dtype_bits(dtype) % 8 != 0;
    if (narrow && !(op->node->row->flags & (OPERATOR_NARROW | OPERATOR_VIEW)))
        op_fail(op, GRAPH_UNSUPPORTED,
                "%s %d has elements of type %s, which only Cast, CastLike, QuantizeLinear, DequantizeLinear and "
                "changes of shape take",
                which, k, dtype_name(dtype));
}

struct operand *op_in(struct op *op, int i)
{
    if (i < 0 || i >= op->node->n_in || !op->in[i])
        return NULL;
    if (!op->inputs)
        op->inputs = take(op, sizeof(struct operand *) * (size_t)op->node->n_in);
    if (!op->inputs)
        return NULL;
    if (!op->inputs[i]) {
        struct operand *t = operand_new(op, op->in[i]->type.dtype, op->in[i]->type.rank, op->in[i]->type.dim);
        t->tensor = op->context ? op->in[i] : NULL;
        t->host = op->in[i]->host;
        op->inputs[i] = t;
        check_width(op, "input", i, t->dtype);
    }
    return op->inputs[i];
}

struct operand *op_need(struct op *op, int i)
{
    struct operand *t = op_in(op, i);
    if (t)
        return t;
    op_fail(op, GRAPH_INVALID, "%s needs its input %d", op->node->op, i);
    return operand_new(op, ACL_FLOAT, 1, (int64_t[]){0});
}

int64_t op_count(const struct operand *t)
{
    return op_span(t, 0, t->rank);
}

int64_t op_span(const struct operand *t, int from, int to)
{
    int64_t n = 1;
    for (int i = from; i < to && i < t->rank; i++)
        n *= t->dim[i];
    return n;
}

bool op_same_shape(const struct operand *a, const struct operand *b)
{
    return a->rank == b->rank && memcmp(a->dim, b->dim, sizeof *a->dim * (size_t)a->rank) == 0;
}

/* ---- contents ---- */

static int64_t whole_at(const void *bytes, aclDataType dtype, int64_t i)
{
    if (dtype == ACL_INT64 || dtype == ACL_UINT64)
        return ((const int64_t *)bytes)[i];
    double d = number_at(bytes, dtype, (size_t)i);
    return d >= 0x1p63 ? INT64_MAX : d >= -0x1p63 ? (int64_t)d : INT64_MIN;
}

/* The input's bytes on the host; NULL when they are not known. */
static const void *contents(struct op *op, struct operand *t)
{
    if (op_count(t) == 0)
        return "";
    if (t->host || op->status)
        return op->status ? NULL : t->host;
    if (!op->context) {
        op->open = true;
        return NULL;
    }
    size_t size = (size_t)op_count(t) * dtype_size(t->dtype); /* computed while the model runs */
    void *bytes = take(op, size);
    if (!bytes)
        return NULL;
    int status = op->context->read(op->context, t->tensor, bytes, size);
    if (status)
        op->status = status;
    t->host = status ? NULL : bytes;
    return t->host;
}

const int64_t *op_whole(struct op *op, int i, size_t *n)
{
    struct operand *t = op_in(op, i);
    const void *bytes = t ? contents(op, t) : NULL;
    *n = 0;
    if (!bytes)
        return NULL;
    int64_t count = op_count(t), *list = take(op, sizeof *list * (size_t)(count + 1));
    if (!list)
        return NULL;
    for (int64_t j = 0; j < count; j++)
        list[j] = whole_at(bytes, t->dtype, j);
    *n = (size_t)count;
    return list;
}

const double *op_numbers(struct op *op, int i, size_t *n)
{
    struct operand *t = op_in(op, i);
    const void *bytes = t ? contents(op, t) : NULL;
    *n = 0;
    if (!bytes)
        return NULL;
    int64_t count = op_count(t);
    double *list = take(op, sizeof *list * (size_t)(count + 1));
    if (!list)
        return NULL;
    for (int64_t j = 0; j < count; j++)
        list[j] = number_at(bytes, t->dtype, (size_t)j);
    *n = (size_t)count;
    return list;
}

const int64_t *op_ints_or_input(struct op *op, const char *name, int i, size_t *n)
{
    const int64_t *list = node_attribute(op->node, name) ? op_ints(op, name, n) : NULL;
    return list ? list : op_whole(op, i, n);
}

/* ---- results ---- */

struct operand *op_temp(struct op *op, aclDataType dtype, int32_t rank, const int64_t *dim)
{
    struct operand *t = operand_new(op, dtype, rank, dim);
    if (op_runs(op)) {
        struct tensor *tensor = take(op, sizeof *tensor);
        *tensor = (struct tensor){.type = type_make(dtype, t->rank, t->dim)};
        int status = op->context->scratch(op->context, tensor);
        if (status)
            op->status = status;
        t->tensor = tensor;
    }
    return t;
}

struct operand *op_result(struct op *op, int k, aclDataType dtype, int32_t rank, const int64_t *dim)
{
    if (!op_wants(op, k))
        return op_temp(op, dtype, rank, dim);
    struct operand *t = operand_new(op, dtype, rank, dim);
    check_width(op, "output", k, dtype);
    if (op->status)
        return t;
    if (!op->context) {
        op->types[k] = type_make(dtype, t->rank, t->dim);
        return t;
    }
    struct type type = type_make(dtype, t->rank, t->dim);
    if (op->node->row->flags & OPERATOR_SIZES) {
        op->out[k]->type = type;
        int status = op->context->output(op->context, op->out[k]);
        if (status)
            op->status = status;
    } else if (!type_equal(&type, &op->out[k]->type)) {
        char a[200], b[200];
        op_fail(op, GRAPH_FAILED, "output %d is %s, but room is for %s", k, type_text(&type, a, sizeof a),
                type_text(&op->out[k]->type, b, sizeof b));
    }
    t->tensor = op->out[k];
    return t;
}

struct operand *op_like(struct op *op, int k, const struct operand *t)
{
    return op_result(op, k, t->dtype, t->rank, t->dim);
}

void op_result_open(struct op *op, int k, aclDataType dtype, int32_t rank, const int64_t *dim)
{
    if (op->status || op->context || !op_wants(op, k))
        return;
    op->types[k] = (struct type){.kind = TYPE_TENSOR, .dtype = dtype, .rank = rank};
    for (int32_t i = 0; i < rank; i++)
        op->types[k].dim[i] = dim ? dim[i] : DIM_UNKNOWN;
}

void op_write(struct op *op, const struct operand *t, const void *bytes)
{
    if (op_runs(op) && op_count(t)) {
        int status = op->context->write(op->context, t->tensor, bytes);
        if (status)
            op->status = status;
    }
}

static void number_store(void *bytes, aclDataType dtype, int64_t i, double d)
{
    switch ((int)dtype) {
    case ACL_FLOAT:
        ((float *)bytes)[i] = (float)d;
        break;
    case ACL_DOUBLE:
        ((double *)bytes)[i] = d;
        break;
    case ACL_FLOAT16:
        ((uint16_t *)bytes)[i] = f16_from_float((float)d);
        break;
    case ACL_BF16:
        ((uint16_t *)bytes)[i] = bf16_from_float((float)d);
        break;
    case ACL_INT8:
    case ACL_UINT8:
    case ACL_BOOL:
        ((uint8_t *)bytes)[i] = (uint8_t)(int64_t)d;
        break;
    case ACL_INT16:
    case ACL_UINT16:
        ((uint16_t *)bytes)[i] = (uint16_t)(int64_t)d;
        break;
    case ACL_INT32:
    case ACL_UINT32:
        ((uint32_t *)bytes)[i] = (uint32_t)(int64_t)d;
        break;
    default:
        ((int64_t *)bytes)[i] = (int64_t)d;
    }
}

struct operand *op_constant(struct op *op, aclDataType dtype, int32_t rank, const int64_t *dim, const double *numbers)
{
    struct operand *t = op_temp(op, dtype, rank, dim);
    int64_t count = op_count(t);
    void *bytes = op_runs(op) ? take(op, (size_t)count * 8 + 16) : NULL;
    if (!bytes)
        return t;
    for (int64_t i = 0; i < count; i++)
        number_store(bytes, dtype, i, numbers[i]);
    op_write(op, t, bytes);
    return t;
}

/* ---- views ---- */

struct operand *op_view(struct op *op, const struct operand *t, int32_t rank, const int64_t *dim, const int64_t *stride,
                        int64_t offset)
{
    struct operand *v = operand_new(op, t->dtype, rank, dim);
    v->tensor = t->tensor;
    v->offset = t->offset + offset;
    if (stride)
        memcpy(v->stride, stride, sizeof *stride * (size_t)v->rank);
    return v;
}

struct operand *op_reshape(struct op *op, const struct operand *t, int32_t rank, const int64_t *dim)
{
    struct operand *v = op_view(op, t, rank, dim, NULL, 0);
    if (!op->status && op_count(v) != op_count(t))
        op_fail(op, GRAPH_INVALID, "%lld elements do not fill a shape of %lld", (long long)op_count(t),
                (long long)op_count(v));
    return v;
}

struct operand *op_transpose(struct op *op, const struct operand *t, const int64_t *order)
{
    int64_t dim[OP_RANK], stride[OP_RANK];
    uint32_t seen = 0;
    for (int32_t i = 0; i < t->rank; i++) {
        if (order[i] < 0 || order[i] >= t->rank || seen >> order[i] & 1) {
            op_fail(op, GRAPH_INVALID, "perm is no order of %d dimensions", t->rank);
            return op_view(op, t, t->rank, t->dim, t->stride, 0);
        }
        seen |= 1u << order[i];
        dim[i] = t->dim[order[i]];
        stride[i] = t->stride[order[i]];
    }
    return op_view(op, t, t->rank, dim, stride, 0);
}

struct operand *op_expand(struct op *op, const struct operand *t, int32_t rank, const int64_t *dim)
{
    int64_t stride[OP_RANK];
    int32_t lead = rank - t->rank;
    for (int32_t i = 0; i < rank && i < OP_RANK; i++) {
        int32_t j = i - lead;
        if (lead < 0 || (j >= 0 && t->dim[j] != 1 && t->dim[j] != dim[i])) {
            op_fail(op, GRAPH_INVALID, "dimension %d of %lld does not broadcast to %lld", j,
                    j >= 0 ? (long long)t->dim[j] : 0LL, (long long)dim[i]);
            return op_view(op, t, t->rank, t->dim, t->stride, 0);
        }
        stride[i] = j < 0 || t->dim[j] == 1 ? 0 : t->stride[j];
    }
    return op_view(op, t, rank, dim, stride, 0);
}

struct operand *op_slice(struct op *op, const struct operand *t, int axis, int64_t start, int64_t count, int64_t step)
{
    struct operand *v = op_view(op, t, t->rank, t->dim, t->stride, 0);
    if (count <= 1)
        step = 1;
    if (axis < 0 || axis >= t->rank || start < 0 || count < 0 ||
        (count && (start >= t->dim[axis] || start + (count - 1) * step >= t->dim[axis]))) {
        op_fail(op, GRAPH_INVALID, "%lld elements from %lld on are outside of dimension %d", (long long)count,
                (long long)start, axis);
        return v;
    }
    v->dim[axis] = count;
    v->stride[axis] = t->stride[axis] * step;
    v->offset += count ? start * t->stride[axis] : 0;
    return v;
}

struct operand *op_unsqueeze(struct op *op, const struct operand *t, int axis)
{
    int64_t dim[OP_RANK + 1], stride[OP_RANK + 1];
    for (int32_t i = 0, j = 0; i <= t->rank; i++) {
        dim[i] = i == axis ? 1 : t->dim[j];
        stride[i] = i == axis ? 0 : t->stride[j];
        j += i != axis;
    }
    return op_view(op, t, t->rank + 1, dim, stride, 0);
}

bool op_is_contiguous(const struct operand *t)
{
    int64_t size = 1;
    if (op_count(t) == 0)
        return true;
    for (int32_t i = t->rank - 1; i >= 0; size *= t->dim[i--])
        if (t->dim[i] != 1 && t->stride[i] != size)
            return false;
    return true;
}

/* ---- sizes ---- */

int op_axis(struct op *op, int64_t axis, int rank)
{
    int64_t bound = rank ? rank : 1;
    if (axis < -bound || axis >= bound) {
        op_fail(op, GRAPH_INVALID, "axis %lld is outside of rank %d", (long long)axis, rank);
        return 0;
    }
    return (int)(axis < 0 ? axis + bound : axis);
}

int op_axis_of(struct op *op, int64_t otherwise, int rank)
{
    return op_axis(op, op_int(op, "axis", otherwise), rank);
}

int op_softmax_axis(struct op *op, struct operand **x, struct operand **y)
{
    if (op_version(op) >= 13)
        return op_axis_of(op, -1, (*x)->rank);
    int axis = op_axis_of(op, 1, (*x)->rank);
    int64_t flat[] = {op_span(*x, 0, axis), op_span(*x, axis, (*x)->rank)};
    *x = op_reshape(op, *x, 2, flat);
    *y = op_reshape(op, *y, 2, flat);
    return 1;
}

int32_t op_broadcast(struct op *op, struct operand *const *t, int n, int64_t *dim)
{
    int32_t rank = 0;
    for (int k = 0; k < n; k++)
        rank = t[k] && t[k]->rank > rank ? t[k]->rank : rank;
    for (int32_t i = 0; i < rank; i++)
        dim[i] = 1;
    for (int k = 0; k < n; k++)
        for (int32_t i = 0; t[k] && i < t[k]->rank; i++) {
            int64_t *d = &dim[rank - t[k]->rank + i];
            if (*d != 1 && t[k]->dim[i] != 1 && *d != t[k]->dim[i])
                op_fail(op, GRAPH_INVALID, "dimension %d of input %d, %lld, does not broadcast with %lld", i, k,
                        (long long)t[k]->dim[i], (long long)*d);
            if (*d == 1)
                *d = t[k]->dim[i];
        }
    return rank;
}

/* ---- aclnn ---- */

aclTensor *op_out(struct op *op, const struct operand *t)
{
    if (!t || !op_runs(op))
        return NULL;
    aclTensor *made = op->context->view(op->context, t->tensor, t->rank, t->dim, t->stride, t->offset);
    if (!made)
        op_fail(op, GRAPH_NO_MEMORY, "no memory for a tensor's description");
    return made;
}

const aclTensor *op_acl(struct op *op, const struct operand *t)
{
    return op_out(op, t);
}

const aclScalar *op_number(struct op *op, double value)
{
    return op_runs(op) ? keep(op, HANDLE_SCALAR, aclCreateScalar(&value, ACL_DOUBLE)) : NULL;
}

const aclScalar *op_integer(struct op *op, int64_t value)
{
    return op_runs(op) ? keep(op, HANDLE_SCALAR, aclCreateScalar(&value, ACL_INT64)) : NULL;
}

const aclScalar *op_scalar_for(struct op *op, aclDataType dtype, double value)
{
    return dtype_is_float(dtype) || dtype_is_complex(dtype) ? op_number(op, value) : op_integer(op, (int64_t)value);
}

const aclIntArray *op_array(struct op *op, size_t n, const int64_t *list)
{
    return op_runs(op) ? keep(op, HANDLE_INTS, aclCreateIntArray(list, n)) : NULL;
}

aclTensorList *op_list(struct op *op, size_t n, struct operand *const *list)
{
    if (!op_runs(op))
        return NULL;
    const aclTensor **tensors = take(op, sizeof(aclTensor *) * (n + 1));
    for (size_t i = 0; tensors && i < n; i++)
        tensors[i] = op_acl(op, list[i]);
    aclTensorList *made = tensors && !op->status ? op->context->list(op->context, tensors, n) : NULL;
    if (!made)
        op_fail(op, GRAPH_NO_MEMORY, "no memory for a list of tensors");
    return made;
}

uint64_t *op_workspace(struct op *op)
{
    op->launch = (struct launch){0};
    return &op->launch.workspace;
}

aclOpExecutor **op_executor(struct op *op)
{
    return &op->launch.executor;
}

void op_launch(struct op *op, const char *name, int (*run)(void *, uint64_t, aclOpExecutor *, aclrtStream), int status)
{
    op->launch.name = name;
    op->launch.run = run;
    op->launch.status = status;
    int failed = op->status ? op->status : op->context->launch(op->context, &op->launch);
    if (failed)
        op->status = failed;
}

/* ---- copies ---- */

void op_copy(struct op *op, const struct operand *to, const struct operand *from)
{
    if (op_count(to))
        OP_CALL(op, aclnnInplaceCopy, op_out(op, to), op_acl(op, from));
}

struct operand *op_contiguous(struct op *op, struct operand *t)
{
    if (op_is_contiguous(t))
        return t;
    struct operand *copy = op_temp(op, t->dtype, t->rank, t->dim);
    op_copy(op, copy, t);
    return copy;
}

struct operand *op_cast(struct op *op, struct operand *t, aclDataType dtype)
{
    if (t->dtype == dtype)
        return t;
    struct operand *copy = op_temp(op, dtype, t->rank, t->dim);
    op_copy(op, copy, t);
    return copy;
}

/* ---- our own functions ---- */

void *op_data(struct op *op, const struct operand *t)
{
    return t && op_runs(op) ? (char *)t->tensor->device + (size_t)t->offset * dtype_size(t->dtype) : NULL;
}

void op_host(struct op *op, const char *name, int (*fn)(void *arg), const void *arg, size_t bytes)
{
    if (op_runs(op)) {
        int status = op->context->call(op->context, name, fn, arg, bytes);
        if (status)
            op->status = status;
    }
}

/* ---- the row's functions ---- */

int op_run(const struct node *node, struct context *context, const struct tensor *const *in, struct tensor *const *out)
{
    struct op op = {.node = node, .in = in, .context = context, .out = out};
    node->row->define(&op);
    settle(&op);
    return op.status;
}

static int try_types(const struct node *node, const struct tensor *const *in, struct type *out, bool tries)
{
    struct op op = {.node = node, .in = in, .types = out, .tries = tries};
    node->row->define(&op);
    settle(&op);
    return op.status;
}

/* ---- sizes that are not known ---- */

enum { TRIES = 2, OPEN_MAX = 64 };

/* Numbers that open sizes are tried with: far from each other and from usual sizes, with many divisors. */
static int64_t trial(int k, int number)
{
    return 5040 * (int64_t)(k + 1) * (number ? 3 : 2);
}

/* The open sizes of all inputs, each symbol once. */
static int open_sizes(const struct node *node, const struct tensor *const *in, int64_t *size)
{
    int n = 0;
    for (int32_t i = 0; i < node->n_in; i++)
        for (int32_t d = 0; in[i] && d < in[i]->type.rank; d++) {
            int64_t dim = in[i]->type.dim[d];
            int k = 0;
            while (k < n && (size[k] != dim || dim == DIM_UNKNOWN))
                k++;
            if (dim < 0 && k == n && n < OPEN_MAX)
                size[n++] = dim;
        }
    return n;
}

static void set_trial(struct tensor *t, const int64_t *size, int n, int number, int *next_unknown)
{
    for (int32_t d = 0; d < t->type.rank; d++) {
        int64_t *dim = &t->type.dim[d];
        if (*dim >= 0)
            continue;
        int k = 0;
        while (k < n && size[k] != *dim)
            k++;
        if (*dim == DIM_UNKNOWN)
            k = (*next_unknown)++;
        *dim = trial(k, number);
    }
}

/* What both tries agree on. */
static void agree(const struct type *a, const struct type *b, const int64_t *size, int n, struct type *out)
{
    *out = type_unknown;
    if (a->kind == b->kind)
        out->kind = a->kind;
    if (a->dtype == b->dtype)
        out->dtype = a->dtype;
    if (a->rank != b->rank)
        return;
    out->rank = a->rank;
    for (int32_t d = 0; d < a->rank; d++) {
        out->dim[d] = a->dim[d] == b->dim[d] ? a->dim[d] : DIM_UNKNOWN;
        for (int k = 0; k < n; k++)
            if (a->dim[d] == trial(k, 0) && b->dim[d] == trial(k, 1))
                out->dim[d] = size[k];
    }
}

static int infer_open(const struct node *node, const struct tensor *const *in, struct type *out, const int64_t *size,
                      int n)
{
    size_t inputs = (size_t)node->n_in, outputs = (size_t)node->n_out;
    struct tensor *tried = calloc(inputs + 1, sizeof *tried);
    const struct tensor **given = calloc(inputs + 1, sizeof *given);
    struct type *types = calloc(TRIES * outputs + 1, sizeof *types);
    int status = tried && given && types ? GRAPH_OK : graph_fail(GRAPH_NO_MEMORY, "no memory");
    bool failed = false;
    for (int number = 0; !status && number < TRIES; number++) {
        int next_unknown = n; /* each its own number */
        for (size_t i = 0; i < inputs; i++)
            if (in[i]) {
                tried[i] = *in[i];
                set_trial(&tried[i], size, n, number, &next_unknown);
                given[i] = &tried[i];
            }
        for (size_t k = 0; k < outputs; k++)
            types[(size_t)number * outputs + k] = type_unknown;
        failed |= try_types(node, given, types + (size_t)number * outputs, true) != 0;
    }
    for (size_t k = 0; !status && !failed && k < outputs; k++)
        agree(&types[k], &types[outputs + k], size, n, &out[k]);
    free(tried);
    free(given);
    free(types);
    return status; /* a failure may be due to the numbers: it is told when sizes are known */
}

int op_infer(const struct node *node, const struct tensor *const *in, struct type *out, struct tensor *table)
{
    (void)table;
    int64_t size[OPEN_MAX];
    for (int32_t i = 0; i < node->n_in; i++)
        if (in[i] && (in[i]->type.kind != TYPE_TENSOR || in[i]->type.dtype == ACL_DT_UNDEFINED || in[i]->type.rank < 0))
            return GRAPH_OK;
    int n = open_sizes(node, in, size);
    return n ? infer_open(node, in, out, size, n) : try_types(node, in, out, false);
}
