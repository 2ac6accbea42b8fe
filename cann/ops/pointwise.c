/* SPDX-License-Identifier: BSD-3-Clause */
/* The elementwise step: finds the loop and the conversions around it in phase 1, runs them in phase 2. When all
 * operands lie flat (dense, or one element for all) the loop is called on ranges of one long row; otherwise walk()
 * orders them. */
#include "kernels/complex.h"
#include "ops/elementwise.h"
#include "ops/walk.h"

enum { PIECE_NS = 16384, PIECE_MIN = 1024 };

struct step {
    walk_loop loop;
    const void *param;
    int views, cost;
    bool flat;
    int64_t count;
    int64_t step[ELEMENTWISE_OPERANDS]; /* bytes, when flat */
    const struct view *view[ELEMENTWISE_OPERANDS];
    struct elementwise_param values;
    int32_t fault;
};

/* ---- running ---- */

static void run_range(void *arg, int64_t begin, int64_t end)
{
    const struct step *s = arg;
    char *data[ELEMENTWISE_OPERANDS];
    for (int k = 0; k < s->views; k++)
        data[k] = s->view[k]->data + begin * s->step[k];
    s->loop(end - begin, data, s->step, s->param);
}

static int run(void *arg)
{
    struct step *s = arg;
    int64_t grain = PIECE_NS / s->cost < PIECE_MIN ? PIECE_MIN : PIECE_NS / s->cost;
    if (!s->flat)
        walk(s->view, s->views, s->loop, s->param, s->cost);
    else if (s->count <= grain)
        run_range(s, 0, s->count);
    else
        parallel(s->count, grain, run_range, s);
    if (s->fault)
        return fail(ACL_ERROR_INVALID_PARAM, "ZeroDivisionError");
    return 0;
}

/* ---- finding ---- */

static bool half(aclDataType t)
{
    return t == ACL_FLOAT16 || t == ACL_BF16;
}

static bool answers_bool(int op)
{
    return op >> 8 == COMPARE_TABLE >> 8 || (op >= UNARY_LOGICAL_NOT && op < UNARY_END);
}

static walk_loop find_complex(int op, bool wide)
{
    const struct complex_table *table = ISA_PICK(complex_kernels);
    for (int i = 0; i < table->count; i++)
        if (table->row[i].op == op)
            return wide ? table->row[i].c128 : table->row[i].c64;
    return NULL;
}

static walk_loop find_loop(const struct elementwise_kernels *k, int op, aclDataType type)
{
    const struct elementwise_table *table = k->table[op >> 8];
    int place = type;
    if (op == TERNARY_WHERE) {
        size_t size = dtype_size(type);
        if (!size || size > 16)
            return NULL;
        place = __builtin_ctzll(size);
    }
    if (op != TERNARY_WHERE && (type == ACL_COMPLEX64 || type == ACL_COMPLEX128))
        return find_complex(op, type == ACL_COMPLEX128);
    if ((op & 0xff) >= table->count || place < 0 || place >= ELEMENTWISE_DTYPES)
        return NULL;
    return table->loop[op & 0xff][place];
}

static aclDataType loop_type(int op, aclDataType type)
{
    return half(type) && op != TERNARY_WHERE ? ACL_FLOAT : type;
}

bool elementwise_has(int op, aclDataType type)
{
    return find_loop(ISA_PICK(elementwise_kernels), op, loop_type(op, type)) != NULL;
}

/* Nanoseconds an element, roughly: what calls libm is slow, so is double. */
static int cost_of(int op, aclDataType type)
{
    bool wide = type == ACL_DOUBLE;
    if (dtype_is_complex(type))
        return 20;
    if (op >= SPECIAL_TABLE)
        return 400;
    if (op == UNARY_ERFINV || op == UNARY_LGAMMA || op == UNARY_DIGAMMA || op == UNARY_SINC || op == UNARY_NDTRI ||
        op == UNARY_LOGIT)
        return 40;
    if (op >= UNARY_EXP && op <= UNARY_ERFC)
        return wide ? 8 : 1;
    if (op == BINARY_POW || op == BINARY_GCD || op == BINARY_LCM)
        return wide ? 20 : 4;
    if (op >= BINARY_ATAN2 && op <= BINARY_XLOG1PY)
        return wide ? 16 : 4;
    if (op >= BINARY_DIV_FLOOR && op <= BINARY_FMOD)
        return 4;
    return 1;
}

struct types {
    aclDataType compute, loop; /* what values are rounded to; what the loop reads */
    const struct copy_kernels *copy;
};

/* Memory type → loop. A float next to halves is not rounded to them, as PyTorch does not round scalars. */
static bool input_way(struct elementwise_operand *o, const struct types *t, aclDataType memory, aclDataType loop)
{
    o->memory = (int32_t)dtype_size(memory);
    o->size = (int32_t)dtype_size(loop);
    o->same = memory == loop;
    o->half = half(memory) && loop == ACL_FLOAT && memory == t->compute ? memory : 0;
    if (o->same)
        return true;
    if (memory == t->compute || t->compute == t->loop || loop == ACL_BOOL)
        return t->copy->find_cast(&o->first, loop, memory);
    o->twice = true;
    o->middle = (int32_t)dtype_size(t->compute);
    return t->copy->find_cast(&o->first, t->compute, memory) && t->copy->find_cast(&o->second, loop, t->compute);
}

static bool output_way(struct elementwise_operand *o, const struct types *t, aclDataType memory, aclDataType loop)
{
    o->memory = (int32_t)dtype_size(memory);
    o->size = (int32_t)dtype_size(loop);
    o->same = memory == loop && (loop == ACL_BOOL || t->compute == t->loop);
    o->half = half(memory) && loop == ACL_FLOAT && memory == t->compute ? memory : 0;
    if (o->same)
        return true;
    if (memory == t->compute || t->compute == t->loop || loop == ACL_BOOL)
        return t->copy->find_cast(&o->first, memory, loop);
    o->twice = true;
    o->middle = (int32_t)dtype_size(t->compute);
    return t->copy->find_cast(&o->first, t->compute, loop) && t->copy->find_cast(&o->second, memory, t->compute);
}

/* Are all views dense in out's shape, or a single element? Then s->step tells how they advance. */
static bool lie_flat(struct step *s, struct view *out, struct view *const *in, int n)
{
    if (!view_is_contiguous(out))
        return false;
    bool whole = view_count(out) == 1;
    s->step[0] = (int64_t)dtype_size(out->dtype);
    s->view[0] = out;
    for (int k = 0; k < n; k++) {
        const struct view *v = in[k];
        s->view[k + 1] = v;
        if (v->rank == out->rank && view_same_shape(v, out)) {
            if (!view_is_contiguous(v))
                return false;
            s->step[k + 1] = (int64_t)dtype_size(v->dtype);
            whole = true;
        } else if (view_count(v) == 1 && v->rank <= out->rank) {
            s->step[k + 1] = 0;
        } else {
            return false;
        }
    }
    return whole; /* else some dimension of out comes from nowhere */
}

static int refuse_shape(struct plan *plan, const struct view *in, const struct view *out)
{
    char have[256], want[256];
    return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "%s: the shape %s cannot be broadcast to %s.", plan_row(plan)->name,
                     shape_text(have, sizeof have, in->rank, in->dim),
                     shape_text(want, sizeof want, out->rank, out->dim));
}

/* Shapes of the operands stretched to out's; every dimension of out must come from one of them. */
static int spread(struct plan *plan, struct step *s, struct view *out, struct view *const *in, int n)
{
    int64_t largest[VIEW_RANK_MAX];
    for (int32_t i = 0; i < out->rank; i++)
        largest[i] = 1;
    s->view[0] = out;
    for (int k = 0; k < n; k++) {
        struct view shaped, *v = in[k];
        if (!view_broadcast(&shaped, v, out->rank, out->dim))
            return refuse_shape(plan, v, out);
        for (int32_t i = 0; i < v->rank; i++)
            if (v->dim[i] != 1)
                largest[out->rank - v->rank + i] = v->dim[i];
        struct view *a = plan_alias(plan, v, 0);
        a->rank = shaped.rank;
        for (int32_t i = 0; i < shaped.rank; i++) {
            a->dim[i] = shaped.dim[i];
            a->stride[i] = shaped.stride[i];
        }
        s->view[k + 1] = a;
    }
    for (int32_t i = 0; i < out->rank; i++)
        if (largest[i] != out->dim[i]) {
            char want[256], have[256];
            return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected tensor for out to have size %s, but got %s.",
                             shape_text(want, sizeof want, out->rank, largest),
                             shape_text(have, sizeof have, out->rank, out->dim));
        }
    return ACLNN_SUCCESS;
}

/* The loop from and to 16-bit floats, when all operands are of that type; one may be a float of one element, which
 * repeats (beside a single result it would not). */
static walk_loop find_half(const struct elementwise_kernels *k, int op, aclDataType type, bool repeats,
                           const struct view *out, struct view *const *in, int n)
{
    const struct elementwise_table *table = k->table[op >> 8];
    int floats = 0;
    if (!half(type) || out->dtype != type || (op & 0xff) >= table->halves || view_count(out) < 2)
        return NULL;
    for (int i = 0; i < n; i++) {
        bool one = in[i]->dtype == ACL_FLOAT && in[i]->rank == 0 && repeats;
        floats += one;
        if (in[i]->dtype != type && !one)
            return NULL;
    }
    return floats < n && floats <= 1 ? table->half[op & 0xff][type == ACL_BF16] : NULL;
}

/* The loop itself when it can take the operands as they are, else the block loop around it. */
static int wrap(struct plan *plan, struct step *s, int op, aclDataType compute, const struct view *out,
                struct view *const *in, int n)
{
    const struct elementwise_kernels *kernels = ISA_PICK(elementwise_kernels);
    const bool repeats =
        op >> 8 == BINARY_TABLE >> 8 || op >> 8 == COMPARE_TABLE >> 8 || op >> 8 == SPECIAL2_TABLE >> 8;
    const walk_loop straight = find_half(kernels, op, compute, repeats, out, in, n);
    const struct types t = {compute, straight ? compute : loop_type(op, compute), ISA_PICK(copy_kernels)};
    const aclDataType result = answers_bool(op) ? ACL_BOOL : t.loop;
    bool plain = s->flat && out->dtype == result;
    int zeros = 0;
    s->loop = straight ? straight : find_loop(kernels, op, t.loop);
    s->param = &s->values;
    for (int k = 0; k < n; k++) {
        bool one = s->step[k + 1] == 0;
        plain = plain && in[k]->dtype == (op == TERNARY_WHERE && k == 0 ? ACL_BOOL
                                          : one && straight             ? ACL_FLOAT
                                                                        : t.loop);
        zeros += one;
    }
    if (plain && (zeros == 0 || (repeats && zeros == 1)))
        return ACLNN_SUCCESS;
    struct elementwise_block *b = plan_alloc(plan, sizeof *b);
    b->loop = s->loop;
    b->param = &s->values;
    b->operands = n + 1;
    b->repeat = repeats ? 6 : 0;
    b->half = straight ? compute : 0;
    bool known = output_way(&b->operand[0], &t, out->dtype, result);
    for (int k = 0; k < n; k++)
        known = known && input_way(&b->operand[k + 1], &t, in[k]->dtype,
                                   op == TERNARY_WHERE && k == 0 ? ACL_BOOL
                                   : straight                    ? in[k]->dtype
                                                                 : t.loop);
    if (!known)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "%s: an operand cannot be converted to or from %s.",
                         plan_row(plan)->name, dtype_name(compute));
    s->loop = kernels->block;
    s->param = b;
    return ACLNN_SUCCESS;
}

int plan_elementwise(struct plan *plan, int op, aclDataType compute, struct view *out, struct view *const *in, int n,
                     const struct elementwise_param *param)
{
    struct step *s = plan_alloc(plan, sizeof *s);
    s->views = n + 1;
    s->cost = cost_of(op, compute);
    s->flat = lie_flat(s, out, in, n);
    s->count = view_count(out);
    if (param)
        s->values = *param;
    s->values.fault = &s->fault;
    if (!s->flat)
        TRY(spread(plan, s, out, in, n));
    TRY(wrap(plan, s, op, compute, out, in, n));
    if (s->count)
        plan_step(plan, run, s, (uint64_t)s->count * (uint64_t)s->cost);
    return ACLNN_SUCCESS;
}

struct view *plan_scalar(struct plan *plan, const aclScalar *s, aclDataType dtype)
{
    struct view *v = plan_alloc(plan, sizeof *v + 16);
    v->data = (char *)(v + 1);
    v->dtype = dtype;
    scalar_store(s, dtype, v->data);
    return v;
}
