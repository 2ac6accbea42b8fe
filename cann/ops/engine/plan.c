/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans: arena, views, temporaries, steps; see plan.h here and ops/plan.h. No locks. */
#define _GNU_SOURCE
#include "plan.h"

#include <stdlib.h>
#include <sys/mman.h>

/* Operators as long as this are described in any case: their failure may be reported late. */
enum { DESCRIBED_NS = 20000 };

enum { ALIGN = 64, CHUNK = 16384, EMERGENCY = 1 << 20 };
_Static_assert(sizeof(struct plan) + 1024 < POOL_PLAN_BYTES, "most operators need no second block");

/* Data of a view in the workspace while the workspace is unknown: this plus the offset. Not an address of user memory.
 */
#define UNBOUND     ((uintptr_t)0x8000 << 48)
#define UNBOUND_END ((uintptr_t)0xc000 << 48)

/* ---- arena ---- */

/* Memory is short: the plan fails, but prepare may go on writing, so it gets a mapping that is never run from. */
static void *emergency(struct plan *plan, size_t bytes)
{
    plan_fail(plan, ACLNN_ERR_INNER_NULLPTR, "Host memory is short: %s needs %zu bytes for its plan.", plan->row->name,
              bytes);
    size_t size = bytes + ALIGN > EMERGENCY ? bytes + ALIGN : EMERGENCY;
    struct plan_chunk *c = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (c == MAP_FAILED)
        abort(); /* not even address space */
    c->next = plan->chunks;
    c->mapped = size;
    plan->chunks = c;
    plan->free = (char *)c + ALIGN + bytes;
    plan->end = (char *)c + size;
    return (char *)c + ALIGN;
}

static void *grow(struct plan *plan, size_t bytes)
{
    size_t size = bytes > CHUNK - ALIGN ? bytes + ALIGN : CHUNK;
    struct plan_chunk *c = size >= bytes ? aligned_alloc(ALIGN, (size + ALIGN - 1) / ALIGN * ALIGN) : NULL;
    if (!c)
        return emergency(plan, bytes);
    c->next = plan->chunks;
    c->mapped = 0;
    plan->chunks = c;
    plan->free = (char *)c + ALIGN + bytes;
    plan->end = (char *)c + size;
    return (char *)c + ALIGN;
}

static inline void *take(struct plan *plan, size_t bytes, size_t align)
{
    uintptr_t at = ((uintptr_t)plan->free + align - 1) / align * align;
    if (at > (uintptr_t)plan->end || bytes > (uintptr_t)plan->end - at)
        return grow(plan, bytes);
    plan->free = (char *)(at + bytes);
    return (void *)at;
}

const struct op_row *plan_row(const struct plan *plan)
{
    return plan->row;
}

void *plan_alloc(struct plan *plan, size_t bytes)
{
    void *p = take(plan, bytes, ALIGN);
    return memset(p, 0, bytes);
}

/* ---- views ---- */

static const char *name_of(const struct plan *plan, const aclTensor *tensor)
{
    for (int p = 0; p < plan->row->params; p++)
        if (plan->row->param[p].kind == 'T' && plan->arg[p].tensor == tensor)
            return plan->row->param[p].name;
    return "list";
}

static void copy_layout(struct view *to, const struct view *from)
{
    to->dtype = from->dtype;
    to->rank = from->rank;
    for (int32_t i = 0; i < from->rank; i++) {
        to->dim[i] = from->dim[i];
        to->stride[i] = from->stride[i];
    }
}

struct view *plan_view(struct plan *plan, const aclTensor *tensor)
{
    struct view *v = take(plan, sizeof *v, 16);
    copy_layout(v, &tensor->view);
    v->data = device_address(tensor->view.data);
    if (!v->data && view_count(v) && !plan->addressless)
        plan->addressless = name_of(plan, tensor);
    return v;
}

static void follow_workspace(struct plan *plan, struct view *v)
{
    struct plan_bound *b = take(plan, sizeof *b, 16);
    *b = (struct plan_bound){v, plan->bound};
    plan->bound = b;
}

struct view *plan_alias(struct plan *plan, const struct view *of, int64_t bytes)
{
    struct view *v = take(plan, sizeof *v, 16);
    copy_layout(v, of);
    v->data = of->data ? of->data + bytes : NULL;
    if ((uintptr_t)of->data >= UNBOUND && (uintptr_t)of->data < UNBOUND_END)
        follow_workspace(plan, v);
    return v;
}

struct view *plan_temp(struct plan *plan, aclDataType dtype, int32_t rank, const int64_t *dim)
{
    struct view *v = take(plan, sizeof *v, 16);
    *v = view_make(dtype, rank, dim);
    int64_t bytes = (int64_t)dtype_size(dtype);
    bool fits = bytes > 0;
    for (int32_t i = 0; i < rank; i++)
        fits = fits && dim[i] >= 0 && !__builtin_mul_overflow(bytes, dim[i], &bytes);
    if (!fits || bytes > INT64_MAX / 4 || plan->workspace > (size_t)(INT64_MAX / 4)) {
        char text[256];
        plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "%s needs a temporary %s of %s, which no memory can hold.",
                  plan->row->name, shape_text(text, sizeof text, rank, dim), dtype_name(dtype));
        return v;
    }
    v->data = (char *)(UNBOUND + plan->workspace);
    plan->workspace += ((size_t)bytes + ALIGN - 1) / ALIGN * ALIGN;
    follow_workspace(plan, v);
    return v;
}

struct view *plan_contiguous(struct plan *plan, struct view *v, aclDataType dtype)
{
    if (v->dtype == dtype && view_is_contiguous(v))
        return v;
    struct view *temp = plan_temp(plan, dtype, v->rank, v->dim);
    plan_copy(plan, temp, v);
    return temp;
}

struct view *plan_output(struct plan *plan, struct view *v, aclDataType dtype)
{
    if (v->dtype == dtype && view_is_contiguous(v))
        return v;
    return plan_temp(plan, dtype, v->rank, v->dim);
}

void plan_finish(struct plan *plan, struct view *temp, struct view *v)
{
    if (temp != v)
        plan_copy(plan, v, temp);
}

struct result_shape {
    aclTensor *tensor;
    uint32_t generation;
};

struct result_shape *plan_result_shape(struct plan *plan, int p)
{
    const aclTensor *t = plan->arg[p].tensor;
    struct result_shape *r = plan_alloc(plan, sizeof *r);
    r->tensor = t->origin ? t->origin : (aclTensor *)t;
    r->generation = t->origin ? t->origin_generation : t->object.generation;
    return r;
}

void result_shape_set(struct result_shape *r, int32_t rank, const int64_t *dim)
{
    aclTensor *t = r->tensor;
    if (!object_is(t, MAGIC_TENSOR) || t->object.generation != r->generation)
        return;
    struct view dense = view_make(t->view.dtype, rank, dim);
    dense.data = t->view.data;
    t->view = dense;
}

/* ---- steps ---- */

static void more_room(struct plan *plan)
{
    int room = plan->step_room * 4;
    struct plan_step *more = take(plan, sizeof *more * (size_t)room, 16);
    memcpy(more, plan->step, sizeof *more * (size_t)plan->steps);
    plan->step = more;
    plan->step_room = room;
}

void plan_step(struct plan *plan, int (*run)(void *arg), void *arg, uint64_t work)
{
    if (plan->steps == plan->step_room)
        more_room(plan);
    plan->step[plan->steps++] = (struct plan_step){run, arg};
    plan->work += work;
}

/* ---- life ---- */

static const char *kind_name(char kind)
{
    switch (kind) {
    case 'T':
        return "Tensor";
    case 'S':
        return "Scalar";
    case 'I':
        return "IntArray";
    case 'F':
        return "FloatArray";
    case 'B':
        return "BoolArray";
    case 'L':
        return "TensorList";
    case 'Q':
        return "ScalarList";
    default:
        return "string";
    }
}

static const uint32_t kind_magic['Z'] = {
    ['T'] = MAGIC_TENSOR, ['S'] = MAGIC_SCALAR,  ['I'] = MAGIC_INTS,    ['F'] = MAGIC_FLOATS,
    ['B'] = MAGIC_BOOLS,  ['L'] = MAGIC_TENSORS, ['Q'] = MAGIC_SCALARS,
};

static int check_tensor(struct plan *plan, const char *name, const aclTensor *tensor)
{
    if (dtype_size(tensor->view.dtype))
        return ACLNN_SUCCESS;
    return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Tensor %s not implemented for %s.", name,
                     dtype_name(tensor->view.dtype));
}

static int check_elements(struct plan *plan, const struct op_param *param, const aclTensorList *list)
{
    enum object_magic magic = param->kind == 'L' ? MAGIC_TENSOR : MAGIC_SCALAR;
    for (uint64_t i = 0; i < list->size; i++) {
        if (!list->value[i])
            continue;
        if (!object_is(list->value[i], magic))
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Element %lu of %s was destroyed.", (unsigned long)i,
                             param->name);
        if (magic == MAGIC_TENSOR)
            TRY(check_tensor(plan, param->name, list->value[i]));
    }
    return ACLNN_SUCCESS;
}

/* Null and dead handles, types without whole bytes. Everything else was checked when the handle was made. */
static int check_args(struct plan *plan, const union op_value *arg)
{
    const struct op_row *row = plan->row;
    for (int p = 0; p < row->params; p++) {
        const struct op_param *param = &row->param[p];
        if (param->kind == 'i' || param->kind == 'd')
            continue;
        if (!arg[p].tensor) {
            if (param->optional)
                continue;
            return plan_fail(plan, ACLNN_ERR_PARAM_NULLPTR, "Expected a proper %s but got null for argument %s.",
                             kind_name(param->kind), param->name);
        }
        if (param->kind == 's')
            continue;
        if (!object_is(arg[p].tensor, kind_magic[(int)param->kind]))
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "%s %s was destroyed or never created.",
                             kind_name(param->kind), param->name);
        if (param->kind == 'T')
            TRY(check_tensor(plan, param->name, arg[p].tensor));
        else if (param->kind == 'L' || param->kind == 'Q')
            TRY(check_elements(plan, param, arg[p].tensors));
    }
    return ACLNN_SUCCESS;
}

static struct plan *make(const struct op_row *row)
{
    struct plan *plan = pool_get(POOL_PLAN, MAGIC_PLAN);
    if (!plan)
        return NULL;
    plan->row = row;
    plan->again = NULL;
    plan->status = 0;
    plan->steps = 0;
    plan->step_room = PLAN_STEPS_INSIDE;
    plan->step = plan->first_step;
    plan->work = 0;
    plan->workspace = 0;
    plan->bound = NULL;
    plan->detail = NULL;
    plan->addressless = NULL;
    plan->chunks = NULL;
    plan->free = plan->inside;
    plan->end = (char *)plan + POOL_PLAN_BYTES;
    return plan;
}

struct plan *plan_prepare(const struct op_row *row, const union op_value *arg, aclnnStatus *status)
{
    struct plan *plan = make(row);
    if (!plan) {
        *status = fail(ACLNN_ERR_INNER_NULLPTR, "Host memory is short: no plan for %s.", row->name);
        return NULL;
    }
    plan->arg = take(plan, sizeof *arg * (size_t)row->params, 16);
    memcpy(plan->arg, arg, sizeof *arg * (size_t)row->params);
    int s = check_args(plan, arg);
    struct plan_dump *dump = NULL;
    if (!s && __builtin_expect(atomic_load_explicit(&dump_operators, memory_order_relaxed) != 0, 0))
        dump = plan_dump_before(plan);
    if (!s)
        s = row->prepare(plan, row, plan->arg);
    *status = s ? s : plan->status;
    if (*status == ACLNN_SUCCESS) {
        if (__builtin_expect(saturation_wanted(), 0))
            plan_saturate(plan);
        if (dump)
            plan_dump_after(plan, dump);
        if (trace_wanted(ANYNPU_TRACE_TASK) || plan->work >= DESCRIBED_NS || log_wanted(ACL_INFO))
            plan->detail = plan_describe(plan);
        return plan;
    }
    plan_free(plan);
    return NULL;
}

static void free_arg(char kind, const union op_value *arg)
{
    switch (kind) {
    case 'T':
        aclDestroyTensor(arg->tensor);
        break;
    case 'S':
        aclDestroyScalar(arg->scalar);
        break;
    case 'I':
        aclDestroyIntArray(arg->ints);
        break;
    case 'F':
        aclDestroyFloatArray(arg->floats);
        break;
    case 'B':
        aclDestroyBoolArray(arg->bools);
        break;
    case 'L':
        aclDestroyTensorList(arg->tensors);
        break;
    case 'Q':
        aclDestroyScalarList(arg->scalars);
        break;
    case 's':
        free((char *)arg->s);
        break;
    default:
        break;
    }
}

static void free_again(const struct op_row *row, struct plan_again *again)
{
    for (int p = 0; p < row->params; p++)
        free_arg(row->param[p].kind, &again->arg[p]);
    free(again);
}

void plan_free(struct plan *plan)
{
    if (plan->again)
        free_again(plan->row, plan->again);
    for (struct plan_chunk *c = plan->chunks, *next; c; c = next) {
        next = c->next;
        if (c->mapped)
            munmap(c, c->mapped);
        else
            free(c);
    }
    pool_put(POOL_PLAN, plan);
}

static bool copy_arg(char kind, union op_value *to, const union op_value *from)
{
    *to = *from;
    if (kind == 'i' || kind == 'd' || !from->tensor)
        return true;
    switch (kind) {
    case 'T':
        to->tensor = tensor_copy(from->tensor);
        break;
    case 'S':
        to->scalar = scalar_copy(from->scalar);
        break;
    case 'I':
        to->ints = aclCreateIntArray(from->ints->value, from->ints->size);
        break;
    case 'F':
        to->floats = aclCreateFloatArray(from->floats->value, from->floats->size);
        break;
    case 'B':
        to->bools = aclCreateBoolArray(from->bools->value, from->bools->size);
        break;
    case 'L':
        to->tensors = tensor_list_copy(from->tensors);
        break;
    case 'Q':
        to->scalars = scalar_list_copy(from->scalars);
        break;
    default:
        to->s = strdup(from->s);
        break;
    }
    return to->tensor != NULL;
}

aclnnStatus plan_keep(struct plan *plan, const char *call)
{
    if (plan->again)
        return ACLNN_SUCCESS;
    const struct op_row *row = plan->row;
    int status = check_args(plan, plan->arg); /* handles may have died since */
    plan->status = 0;
    if (status)
        return status;
    struct plan_again *again = calloc(1, sizeof *again + sizeof *again->arg * (size_t)row->params);
    if (!again)
        return fail(ACLNN_ERR_INNER_NULLPTR, "Host memory is short in %s.", call);
    again->arg = (union op_value *)(again + 1);
    for (int p = 0; p < row->params; p++)
        if (!copy_arg(row->param[p].kind, &again->arg[p], &plan->arg[p])) {
            while (--p >= 0)
                free_arg(row->param[p].kind, &again->arg[p]);
            free(again);
            return fail(ACLNN_ERR_INNER_NULLPTR, "Host memory is short in %s.", call);
        }
    plan->again = again;
    return ACLNN_SUCCESS;
}
