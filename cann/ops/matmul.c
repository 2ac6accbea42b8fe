/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrix products: arguments checked and seen as batches of matrices here, the work is plan_gemm's. */
#include "ops/matmul.h"

#include "ops/gemm.h"

static const aclDataType types[] = {ACL_FLOAT,  ACL_FLOAT16, ACL_BF16,      ACL_DOUBLE,    ACL_INT8,
                                    ACL_INT16,  ACL_INT32,   ACL_INT64,     ACL_UINT8,     ACL_UINT16,
                                    ACL_UINT32, ACL_UINT64,  ACL_COMPLEX64, ACL_COMPLEX128};
enum { TYPES = sizeof types / sizeof types[0] };

/* Parameters a and b are multiplied, out is written: floats of any kinds, or one type of integer. */
static int check_types(struct plan *plan, const union op_value *arg, int a, int b, int out)
{
    TRY(plan_check_dtype(plan, a, types, TYPES));
    TRY(plan_check_dtype(plan, b, types, TYPES));
    TRY(plan_check_dtype(plan, out, types, TYPES));
    aclDataType x = arg[a].tensor->view.dtype, y = arg[b].tensor->view.dtype, z = arg[out].tensor->view.dtype;
    bool floats = dtype_is_float(x) && dtype_is_float(y) && dtype_is_float(z);
    if (!floats && (x != y || x != z))
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                         "Expected tensors of one data type or of floating point types, but got %s, %s and %s.",
                         dtype_name(x), dtype_name(y), dtype_name(z));
    return ACLNN_SUCCESS;
}

static int check_rank(struct plan *plan, const struct op_row *row, const union op_value *arg, int p, int32_t rank)
{
    if (arg[p].tensor->view.rank == rank)
        return ACLNN_SUCCESS;
    return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Expected tensor %s to have %d dimensions, but got %d.",
                     row->param[p].name, rank, arg[p].tensor->view.rank);
}

static int bad_product(struct plan *plan, const struct view *a, const struct view *b)
{
    char left[256], right[256];
    return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Tensors of sizes %s and %s cannot be multiplied.",
                     shape_text(left, sizeof left, a->rank, a->dim), shape_text(right, sizeof right, b->rank, b->dim));
}

/* v with a dimension of size 1 put before dimension `at`. */
static void insert_one(struct view *v, int32_t at)
{
    for (int32_t d = v->rank++; d > at; d--) {
        v->dim[d] = v->dim[d - 1];
        v->stride[d] = v->stride[d - 1];
    }
    v->dim[at] = 1;
    v->stride[at] = 0;
}

static struct gemm_scale scale_of(const aclScalar *alpha, const aclScalar *beta)
{
    struct gemm_scale s = {.alpha = 1, .beta = 1, .alpha_int = 1, .beta_int = 1};
    if (alpha) {
        s.alpha = scalar_double(alpha);
        s.alpha_int = scalar_int(alpha);
    }
    if (beta) {
        s.beta = scalar_double(beta);
        s.beta_int = scalar_int(beta);
    }
    return s;
}

/* out = alpha a b + beta added, whatever the type; added, alpha and beta may be NULL: none, 1, 1. */
static int multiply(struct plan *plan, struct view *out, struct view *a, struct view *b, struct view *added,
                    const aclScalar *alpha, const aclScalar *beta)
{
    if (dtype_is_complex(out->dtype))
        return view_count(out) ? plan_gemm_complex(plan, out, a, b, added, alpha, beta) : ACLNN_SUCCESS;
    struct gemm_scale scale = scale_of(alpha, beta);
    plan_gemm(plan, out, a, b, added, &scale);
    return ACLNN_SUCCESS;
}

int prepare_matmul(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    TRY(check_types(plan, arg, 0, 1, 2));
    if (row->code != MATMUL_ANY) {
        TRY(check_rank(plan, row, arg, 0, row->code));
        TRY(check_rank(plan, row, arg, 1, row->code));
    }
    struct view *a = plan_view(plan, arg[0].tensor), *b = plan_view(plan, arg[1].tensor),
                *out = plan_view(plan, arg[2].tensor);
    const struct view *self = &arg[0].tensor->view, *mat2 = &arg[1].tensor->view;
    bool vector_a = a->rank == 1, vector_b = b->rank == 1;
    if (a->rank == 0 || b->rank == 0 || a->rank + (int)vector_a + (int)vector_b > VIEW_RANK_MAX)
        return bad_product(plan, self, mat2);
    if (vector_a)
        insert_one(a, 0);
    if (vector_b)
        insert_one(b, 1);
    int32_t rank = a->rank > b->rank ? a->rank : b->rank;
    while (a->rank < rank)
        insert_one(a, 0);
    while (b->rank < rank)
        insert_one(b, 0);
    if (a->dim[rank - 1] != b->dim[rank - 2])
        return bad_product(plan, self, mat2);
    int64_t dim[VIEW_RANK_MAX];
    for (int32_t d = 0; d < rank - 2; d++)
        dim[d] = a->dim[d] == 1 ? b->dim[d] : a->dim[d];
    struct view *both[] = {a, b};
    for (int i = 0; i < 2; i++) {
        struct view *v = both[i];
        dim[rank - 2] = v->dim[rank - 2];
        dim[rank - 1] = v->dim[rank - 1];
        if (!view_broadcast(v, v, rank, dim) || (row->code == MATMUL_BMM && self->dim[0] != mat2->dim[0]))
            return bad_product(plan, self, mat2);
    }
    dim[rank - 2] = a->dim[rank - 2];
    dim[rank - 1] = b->dim[rank - 1];
    int32_t n = 0;
    int64_t shape[VIEW_RANK_MAX];
    for (int32_t d = 0; d < rank; d++)
        if (!(vector_a && d == rank - 2) && !(vector_b && d == rank - 1))
            shape[n++] = dim[d];
    TRY(plan_check_shape(plan, 2, n, shape));
    if (vector_b)
        insert_one(out, out->rank);
    if (vector_a)
        insert_one(out, out->rank - 1);
    return multiply(plan, out, a, b, NULL, NULL, NULL);
}

int prepare_mv(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    TRY(check_types(plan, arg, 0, 1, 2));
    TRY(check_rank(plan, row, arg, 0, 2));
    TRY(check_rank(plan, row, arg, 1, 1));
    struct view *a = plan_view(plan, arg[0].tensor), *x = plan_view(plan, arg[1].tensor),
                *out = plan_view(plan, arg[2].tensor);
    if (a->dim[1] != x->dim[0])
        return bad_product(plan, a, x);
    TRY(plan_check_shape(plan, 2, 1, a->dim));
    insert_one(x, 1);
    insert_one(out, 1);
    return multiply(plan, out, a, x, NULL, NULL, NULL);
}

int prepare_dot(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    TRY(check_types(plan, arg, 0, 1, 2));
    TRY(check_rank(plan, row, arg, 0, 1));
    TRY(check_rank(plan, row, arg, 1, 1));
    struct view *a = plan_view(plan, arg[0].tensor), *x = plan_view(plan, arg[1].tensor),
                *out = plan_view(plan, arg[2].tensor);
    if (a->dim[0] != x->dim[0])
        return bad_product(plan, a, x);
    TRY(plan_check_shape(plan, 2, 0, NULL));
    insert_one(a, 0);
    insert_one(x, 1);
    insert_one(out, 0);
    insert_one(out, 0);
    return multiply(plan, out, a, x, NULL, NULL, NULL);
}

int prepare_ger(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    TRY(check_types(plan, arg, 0, 1, 2));
    TRY(check_rank(plan, row, arg, 0, 1));
    TRY(check_rank(plan, row, arg, 1, 1));
    struct view *a = plan_view(plan, arg[0].tensor), *b = plan_view(plan, arg[1].tensor);
    TRY(plan_check_shape(plan, 2, 2, (int64_t[]){a->dim[0], b->dim[0]}));
    insert_one(a, 1);
    insert_one(b, 0);
    return multiply(plan, plan_view(plan, arg[2].tensor), a, b, NULL, NULL, NULL);
}

/* The matrix to be added broadcasts to the result. */
static int check_added(struct plan *plan, const struct op_row *row, const union op_value *arg, int p, int32_t rank,
                       const int64_t *dim)
{
    const struct view *self = &arg[p].tensor->view;
    struct view expanded;
    char text[256], want[256];
    TRY(plan_check_dtype(plan, p, types, TYPES));
    if (!view_broadcast(&expanded, self, rank, dim))
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "Tensor %s of size %s does not broadcast to %s.",
                         row->param[p].name, shape_text(text, sizeof text, self->rank, self->dim),
                         shape_text(want, sizeof want, rank, dim));
    return ACLNN_SUCCESS;
}

int prepare_add_product(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    bool in_place = row->code & ADD_IN_PLACE;
    int kind = row->code & ~ADD_IN_PLACE, o = in_place ? 0 : 5;
    int32_t rank = kind == ADD_MM ? 2 : 3, out_rank = kind == ADD_BADDBMM ? 3 : 2;
    TRY(check_types(plan, arg, 1, 2, o));
    TRY(check_rank(plan, row, arg, 1, rank));
    TRY(check_rank(plan, row, arg, 2, rank));
    struct view *a = plan_view(plan, arg[1].tensor), *b = plan_view(plan, arg[2].tensor),
                *out = plan_view(plan, arg[o].tensor);
    if (a->dim[rank - 1] != b->dim[rank - 2] || (rank == 3 && a->dim[0] != b->dim[0]))
        return bad_product(plan, a, b);
    int64_t dim[3] = {a->dim[0], a->dim[rank - 2], b->dim[rank - 1]}, *shape = dim + 3 - out_rank;
    TRY(plan_check_shape(plan, o, out_rank, shape));
    TRY(check_added(plan, row, arg, 0, out_rank, shape));
    if (kind == ADD_ADDBMM) { /* one product over batch and k: a as [m][batch][k] */
        struct view *turned = plan_alias(plan, a, 0), *left, *right = plan_contiguous(plan, b, b->dtype);
        turned->dim[0] = a->dim[1];
        turned->stride[0] = a->stride[1];
        turned->dim[1] = a->dim[0];
        turned->stride[1] = a->stride[0];
        left = plan_alias(plan, plan_contiguous(plan, turned, a->dtype), 0);
        right = plan_alias(plan, right, 0);
        int64_t k = a->dim[0] * a->dim[2];
        *left =
            (struct view){.data = left->data, .dtype = left->dtype, .rank = 2, .dim = {a->dim[1], k}, .stride = {k, 1}};
        *right = (struct view){
            .data = right->data, .dtype = right->dtype, .rank = 2, .dim = {k, b->dim[2]}, .stride = {b->dim[2], 1}};
        a = left;
        b = right;
    }
    return multiply(plan, out, a, b, plan_view(plan, arg[0].tensor), arg[4].scalar, arg[3].scalar);
}

int prepare_addmv(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    TRY(check_types(plan, arg, 1, 2, 5));
    TRY(check_rank(plan, row, arg, 1, 2));
    TRY(check_rank(plan, row, arg, 2, 1));
    struct view *self = plan_view(plan, arg[0].tensor), *a = plan_view(plan, arg[1].tensor),
                *x = plan_view(plan, arg[2].tensor), *out = plan_view(plan, arg[5].tensor);
    if (a->dim[1] != x->dim[0])
        return bad_product(plan, a, x);
    TRY(plan_check_shape(plan, 5, 1, a->dim));
    TRY(check_added(plan, row, arg, 0, 1, a->dim));
    insert_one(self, self->rank);
    insert_one(x, 1);
    insert_one(out, 1);
    return multiply(plan, out, a, x, self, arg[3].scalar, arg[4].scalar);
}

int prepare_addr(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    int o = row->code & ADD_IN_PLACE ? 0 : 5;
    TRY(check_types(plan, arg, 1, 2, o));
    TRY(check_rank(plan, row, arg, 1, 1));
    TRY(check_rank(plan, row, arg, 2, 1));
    struct view *a = plan_view(plan, arg[1].tensor), *b = plan_view(plan, arg[2].tensor);
    int64_t shape[] = {a->dim[0], b->dim[0]};
    TRY(plan_check_shape(plan, o, 2, shape));
    TRY(check_added(plan, row, arg, 0, 2, shape));
    insert_one(a, 1);
    insert_one(b, 0);
    return multiply(plan, plan_view(plan, arg[o].tensor), a, b, plan_view(plan, arg[0].tensor), arg[4].scalar,
                    arg[3].scalar);
}

int prepare_gemm(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    TRY(check_types(plan, arg, 0, 1, 7));
    TRY(check_rank(plan, row, arg, 0, 2));
    TRY(check_rank(plan, row, arg, 1, 2));
    struct view *v[] = {plan_view(plan, arg[0].tensor), plan_view(plan, arg[1].tensor)};
    for (int i = 0; i < 2; i++)
        if (arg[5 + i].i) {
            struct view t = *v[i];
            v[i]->dim[0] = t.dim[1];
            v[i]->dim[1] = t.dim[0];
            v[i]->stride[0] = t.stride[1];
            v[i]->stride[1] = t.stride[0];
        }
    if (v[0]->dim[1] != v[1]->dim[0])
        return bad_product(plan, v[0], v[1]);
    int64_t shape[] = {v[0]->dim[0], v[1]->dim[1]};
    TRY(plan_check_shape(plan, 7, 2, shape));
    TRY(check_added(plan, row, arg, 2, 2, shape));
    struct gemm_scale scale = {arg[3].d, arg[4].d, (int64_t)arg[3].d, (int64_t)arg[4].d};
    if (dtype_is_complex(v[0]->dtype))
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "%s takes no complex numbers.", row->name);
    plan_gemm(plan, plan_view(plan, arg[7].tensor), v[0], v[1], plan_view(plan, arg[2].tensor), &scale);
    return ACLNN_SUCCESS;
}
