/* SPDX-License-Identifier: BSD-3-Clause */
/* Launching aclnn operators (op.h): wraps arguments into aclTensor, aclScalar and lists, runs both phases on the call's
 * stream, destroys the wrappers. Symbols and the caller for the signature are found at the first launch and kept in the
 * operator's state (benign race: every thread finds the same). */
#include "launch.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../bridge/call.h"

enum { PARAMETERS_MAX = 48 };

struct operator
{
    void *first; /* aclnnXGetWorkspaceSize */
    aclnnStatus (*second)(void *, uint64_t, aclOpExecutor *, aclrtStream);
    aclnn_caller caller;
    int parameters;
};

static int report(struct call *c, aclError code, const char *what)
{
    return call_acl_error(c, code, what, "launch", __FILE__, __LINE__);
}

static pthread_mutex_t find_lock = PTHREAD_MUTEX_INITIALIZER;

/* NULL if no library has the operator. */
static struct operator* find(struct aclnn *op)
{
    struct operator* known = __atomic_load_n((struct operator**)&op->state, __ATOMIC_ACQUIRE);
    if (known)
        return known;
    char name[160];
    snprintf(name, sizeof name, "%sGetWorkspaceSize", op->name);
    void *first = cann_symbol(name), *second = cann_symbol(op->name);
    aclnn_caller caller = aclnn_caller_find(op->signature);
    if (!first || !second || !caller)
        return NULL;
    pthread_mutex_lock(&find_lock);
    if (!op->state) {
        struct operator* made = malloc(sizeof *made);
        if (made) {
            made->first = first;
            memcpy(&made->second, &second, sizeof second);
            made->caller = caller;
            made->parameters = (int)strlen(op->signature);
            __atomic_store_n((struct operator**)&op->state, made, __ATOMIC_RELEASE);
        }
    }
    pthread_mutex_unlock(&find_lock);
    return op->state;
}

bool aclnn_exists(struct aclnn *op)
{
    return find(op) != NULL;
}

/* ---- wrapping ---- */
static aclScalar *wrap_scalar(const struct npu_scalar *s)
{
    bool b = s->i != 0;
    switch (s->kind) {
    case SCALAR_BOOL:
        return cann.aclCreateScalar(&b, ACL_BOOL);
    case SCALAR_INT:
        return cann.aclCreateScalar((void *)&s->i, ACL_INT64);
    case SCALAR_FLOAT:
        return cann.aclCreateScalar((void *)s->d, ACL_DOUBLE);
    default:
        return cann.aclCreateScalar((void *)s->d, ACL_COMPLEX128);
    }
}

/* A 0-dim CPU tensor as a device tensor of its value. Filled by an operator, so in the order of the stream. */
static const struct npu_tensor *to_device(struct call *c, const struct npu_tensor *t)
{
    static struct aclnn fill = ACLNN("aclnnInplaceFillScalar", "TS");
    struct npu_scalar value;
    struct npu_tensor *fresh = temp(c, t->dtype, t->rank, t->size);
    if (tensor_item(c, t, &value))
        return fresh;
    launch(c, &fill, (union aclnn_value[]){{.t = fresh}, {.s = &value}});
    return fresh;
}

static aclTensor *wrap_tensor(struct call *c, const struct npu_tensor *t)
{
    static const aclFormat by_rank[] = {ACL_FORMAT_ND,  ACL_FORMAT_ND,   ACL_FORMAT_ND,
                                        ACL_FORMAT_NCL, ACL_FORMAT_NCHW, ACL_FORMAT_NCDHW};
    if (__builtin_expect(t->device < 0, 0)) {
        t = to_device(c, t);
        if (call_failed(c))
            return NULL;
    }
    int64_t storage = t->storage_bytes >> __builtin_ctzll(dtype_bytes(t->dtype)); /* sizes are powers of two */
    return cann.aclCreateTensor(t->size, (uint64_t)t->rank, t->dtype, t->stride, t->offset,
                                t->rank < 6 ? by_rank[t->rank] : ACL_FORMAT_ND, &storage, 1, t->data);
}

static aclTensorList *wrap_tensors(struct call *c, const struct npu_tensor *list, size_t n)
{
    const aclTensor **each = call_take(c, sizeof(aclTensor *) * (n ? n : 1));
    for (size_t i = 0; i < n; i++)
        each[i] = list[i].defined ? wrap_tensor(c, &list[i]) : NULL;
    return cann.aclCreateTensorList(each, n); /* takes the tensors over */
}

static aclScalarList *wrap_scalars(struct call *c, const struct npu_scalar *list, size_t n)
{
    const aclScalar **each = call_take(c, sizeof(aclScalar *) * (n ? n : 1));
    for (size_t i = 0; i < n; i++)
        each[i] = wrap_scalar(&list[i]);
    return cann.aclCreateScalarList(each, n);
}

/* False when an object that must exist could not be made. */
static bool wrap(struct call *c, char letter, const union aclnn_value *v, union aclnn_native *native)
{
    switch (letter) {
    case 'T':
        native->p = NULL;
        if (v->t && v->t->defined)
            return (native->p = wrap_tensor(c, v->t)) != NULL;
        return true;
    case 'S':
        native->p = NULL;
        return !v->s || (native->p = wrap_scalar(v->s)) != NULL;
    case 'L':
        return (native->p = wrap_tensors(c, v->l.list, v->l.n)) != NULL;
    case 'Q':
        return (native->p = wrap_scalars(c, v->q.list, v->q.n)) != NULL;
    case 'I':
        native->p = NULL;
        return !v->ints.list || (native->p = cann.aclCreateIntArray(v->ints.list, v->ints.n)) != NULL;
    case 'B':
        native->p = NULL;
        return !v->bools.list || (native->p = cann.aclCreateBoolArray(v->bools.list, v->bools.n)) != NULL;
    case 'F':
        native->p = NULL;
        return !v->floats.list || (native->p = cann.aclCreateFloatArray(v->floats.list, v->floats.n)) != NULL;
    case 'd':
    case 'f':
        native->d = v->d;
        return true;
    case 's':
        native->p = (void *)v->str;
        return true;
    default:
        native->i = v->i;
        return true;
    }
}

static void unwrap(char letter, union aclnn_native native)
{
    if (!native.p)
        return;
    switch (letter) {
    case 'T':
        cann.aclDestroyTensor(native.p);
        break;
    case 'S':
        cann.aclDestroyScalar(native.p);
        break;
    case 'L':
        cann.aclDestroyTensorList(native.p);
        break;
    case 'Q':
        cann.aclDestroyScalarList(native.p);
        break;
    case 'I':
        cann.aclDestroyIntArray(native.p);
        break;
    case 'B':
        cann.aclDestroyBoolArray(native.p);
        break;
    case 'F':
        cann.aclDestroyFloatArray(native.p);
        break;
    default: /* numbers and strings */
        break;
    }
}

static int missing(struct call *c, struct aclnn *op)
{
    char name[160];
    if (!aclnn_caller_find(op->signature))
        return call_error(c, CALL_RUNTIME_ERROR, "%s: no caller for the signature %s was generated", op->name,
                          op->signature);
    snprintf(name, sizeof name, "%sGetWorkspaceSize", op->name);
    return call_error(c, CALL_NOT_IMPLEMENTED,
                      "%s or %s not in libopapi.so, or libopapi.so not found: this CANN does not offer the operator",
                      op->name, name);
}

/* The shape that an operator has given to a tensor, once it has run. */
static void read_shape(struct call *c, const aclTensor *tensor, const char *name, int32_t *rank, int64_t *size)
{
    int64_t *dims = NULL;
    uint64_t n = 0;
    if (call_wait(c))
        return;
    aclnnStatus status = cann.aclGetViewShape(tensor, &dims, &n);
    if (status)
        report(c, status, name);
    *rank = (int32_t)n;
    for (uint64_t d = 0; !status && d < n; d++)
        size[d] = dims[d];
    free(dims);
}

static inline __attribute__((always_inline)) int
launch_and_read(struct call *c, struct aclnn *op, const union aclnn_value *values, int p, int32_t *rank, int64_t *size)
{
    union aclnn_native native[PARAMETERS_MAX];
    if (__builtin_expect(c->status != CALL_OK, 0))
        return CALL_ERROR;
    struct operator* known = __atomic_load_n((struct operator**)&op->state, __ATOMIC_ACQUIRE);
    if (__builtin_expect(!known, 0) && !(known = find(op)))
        return missing(c, op);
    if (known->parameters > PARAMETERS_MAX)
        return call_error(c, CALL_RUNTIME_ERROR, "%s: too many parameters", op->name);
    int done = 0;
    bool made = true;
    for (; done < known->parameters && made; done++)
        made = wrap(c, op->signature[done], &values[done], &native[done]);
    uint64_t workspace = 0;
    aclOpExecutor *executor = NULL;
    void *memory = NULL;
    if (!made)
        report(c, ACLNN_ERR_INNER_NULLPTR, op->name);
    if (c->status == CALL_OK) {
        aclnnStatus status = known->caller(known->first, native, &workspace, &executor);
        if (status)
            report(c, status, op->name);
    }
    if (c->status == CALL_OK && workspace)
        call_take_device(c, workspace, &memory);
    if (c->status == CALL_OK) {
        c->launched = true;
        aclnnStatus status = known->second(memory, workspace, executor, c->stream);
        if (status)
            report(c, status, op->name);
    }
    if (c->status == CALL_OK && p >= 0)
        read_shape(c, native[p].p, op->name, rank, size);
    for (int i = 0; i < done; i++)
        unwrap(op->signature[i], native[i]);
    return c->status == CALL_OK && call_blocking ? call_sync(c) : c->status;
}

int launch(struct call *c, struct aclnn *op, const union aclnn_value *values)
{
    return launch_and_read(c, op, values, -1, NULL, NULL);
}

int launch_sized(struct call *c, struct aclnn *op, const union aclnn_value *values, int p, int32_t *rank, int64_t *size)
{
    return launch_and_read(c, op, values, p, rank, size);
}

int copy_tensor(struct call *c, const struct npu_tensor *dst, const struct npu_tensor *src)
{
    static struct aclnn copy = ACLNN("aclnnInplaceCopy", "TT");
    return launch(c, &copy, (union aclnn_value[]){{.t = dst}, {.t = src}});
}
