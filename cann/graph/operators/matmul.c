/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrix products: MatMul, Gemm, and Einsum, which is brought to products of matrices. */
#include <ctype.h>
#include <string.h>

#include "aclnnop/aclnn_addmm.h"
#include "aclnnop/aclnn_inplace_add.h"
#include "aclnnop/aclnn_inplace_muls.h"
#include "aclnnop/aclnn_inplace_zero.h"
#include "aclnnop/aclnn_matmul.h"
#include "aclnnop/aclnn_reduce_sum.h"
#include "graph/operators/onnx.h"
#include "graph/operators/row.h"

/* Integers go through double. */
static void product(struct op *op, struct operand *a, struct operand *b, struct operand *y)
{
    bool whole = !dtype_is_float(y->dtype) && !dtype_is_complex(y->dtype);
    struct operand *to = whole ? op_temp(op, ACL_DOUBLE, y->rank, y->dim) : y;
    if (op_count(y) == 0)
        return;
    if (op_count(a) == 0) {
        OP_CALL(op, aclnnInplaceZero, op_out(op, y));
        return;
    }
    a = whole ? op_cast(op, a, ACL_DOUBLE) : a;
    b = whole ? op_cast(op, b, ACL_DOUBLE) : b;
    OP_CALL(op, aclnnMatmul, op_acl(op, a), op_acl(op, b), op_out(op, to), 0);
    if (whole)
        op_copy(op, y, to);
}

static void define_matmul(struct op *op)
{
    struct operand *a = op_in(op, 0), *b = op_in(op, 1);
    int64_t dim[OP_RANK];
    int32_t rank = onnx_matmul_shape(op, a, b, dim);
    product(op, a, b, op_result(op, 0, a->dtype, rank, dim));
}

static void define_gemm(struct op *op)
{
    struct operand *a = op_in(op, 0), *b = op_in(op, 1), *c = op_in(op, 2);
    double alpha = op_float(op, "alpha", 1), beta = op_float(op, "beta", 1);
    const int64_t turn[] = {1, 0};
    if (a->rank != 2 || b->rank != 2) {
        op_fail(op, GRAPH_INVALID, "takes matrices, not tensors of %d and %d dimensions", a->rank, b->rank);
        return;
    }
    a = op_int(op, "transA", 0) ? op_transpose(op, a, turn) : a;
    b = op_int(op, "transB", 0) ? op_transpose(op, b, turn) : b;
    int64_t dim[] = {a->dim[0], b->dim[1]};
    if (a->dim[1] != b->dim[0]) {
        op_fail(op, GRAPH_INVALID, "a product of matrices with %lld columns and %lld rows", (long long)a->dim[1],
                (long long)b->dim[0]);
        return;
    }
    struct operand *y = op_result(op, 0, a->dtype, 2, dim);
    c = c ? op_expand(op, c, 2, dim) : NULL;
    if (op_count(y) == 0)
        return;
    if (c && dtype_is_float(y->dtype) && a->dim[1]) {
        OP_CALL(op, aclnnAddmm, op_acl(op, c), op_acl(op, a), op_acl(op, b), op_number(op, beta), op_number(op, alpha),
                op_out(op, y), 0);
        return;
    }
    product(op, a, b, y);
    if (alpha != 1)
        OP_CALL(op, aclnnInplaceMuls, op_out(op, y), op_scalar_for(op, y->dtype, alpha));
    if (c)
        OP_CALL(op, aclnnInplaceAdd, op_out(op, y), op_acl(op, c), op_scalar_for(op, y->dtype, beta));
}

/* ---- Einsum ---- */

/* A tensor whose dimensions have letters; what "..." stands for gets digits from the back. */
struct term {
    struct operand *t;
    char label[OP_RANK + 1];
};

static bool has(const char *labels, char c)
{
    return c && strchr(labels, c);
}

/* Reads one operand's subscript up to ',' or '-'. */
static const char *read_term(struct op *op, const char *at, struct operand *t, struct term *term)
{
    char label[OP_RANK + 1] = "";
    int n = 0, letters = 0;
    for (const char *p = at; *p && *p != ',' && *p != '-'; p++)
        letters += isalpha((unsigned char)*p) != 0;
    int hidden = t->rank - letters;
    for (; *at && *at != ',' && *at != '-'; at++) {
        if (at[0] == '.' && at[1] == '.' && at[2] == '.') {
            for (int i = hidden; i > 0 && n < OP_RANK; i--)
                label[n++] = (char)('0' + i - 1);
            at += 2;
        } else if (isalpha((unsigned char)*at) && n < OP_RANK)
            label[n++] = *at;
    }
    if (n != t->rank)
        op_fail(op, GRAPH_INVALID, "the equation names %d dimensions of a tensor with %d", n, t->rank);
    /* a letter twice: the diagonal */
    int64_t dim[OP_RANK], stride[OP_RANK];
    int rank = 0;
    term->label[0] = 0;
    for (int i = 0; i < n && i < t->rank; i++) {
        char *before = strchr(term->label, label[i]);
        if (before) {
            int k = (int)(before - term->label);
            if (dim[k] != t->dim[i])
                op_fail(op, GRAPH_INVALID, "dimension %c is %lld and %lld", label[i], (long long)dim[k],
                        (long long)t->dim[i]);
            stride[k] += t->stride[i];
            continue;
        }
        dim[rank] = t->dim[i];
        stride[rank] = t->stride[i];
        term->label[rank++] = label[i];
        term->label[rank] = 0;
    }
    term->t = op_view(op, t, rank, dim, stride, 0);
    return at;
}

/* Sums over dimensions that nobody asks for any more, and brings the others into the order of `order`, joined in one
 * group each: groups are separated by '|'. Letters that the term lacks are skipped; sizes of the groups in dim. */
static void drop(struct op *op, struct term *term, const char *needed)
{
    int64_t axes[OP_RANK], dim[OP_RANK];
    size_t n = 0;
    int rank = 0;
    char label[OP_RANK + 1];
    for (int i = 0; term->label[i]; i++)
        if (has(needed, term->label[i])) {
            label[rank] = term->label[i];
            dim[rank++] = term->t->dim[i];
        } else
            axes[n++] = i;
    label[rank] = 0;
    if (n == 0)
        return;
    struct operand *to = op_temp(op, term->t->dtype, rank, dim);
    OP_CALL(op, aclnnReduceSum, op_acl(op, term->t), op_array(op, n, axes), false, to->dtype, op_out(op, to));
    term->t = to;
    memcpy(term->label, label, sizeof label);
}

/* The term's dimensions in the order of the letters; those that it lacks have size 1. */
static struct operand *ordered(struct op *op, const struct term *term, const char *letters)
{
    int64_t dim[OP_RANK], stride[OP_RANK];
    int rank = 0;
    for (; letters[rank] && rank < OP_RANK; rank++) {
        const char *at = strchr(term->label, letters[rank]);
        dim[rank] = at ? term->t->dim[at - term->label] : 1;
        stride[rank] = at ? term->t->stride[at - term->label] : 0;
    }
    return op_view(op, term->t, rank, dim, stride, 0);
}

static int64_t size_of(const struct term *a, const struct term *b, char letter)
{
    const char *x = strchr(a->label, letter), *y = strchr(b->label, letter);
    int64_t n = x ? a->t->dim[x - a->label] : 1, m = y ? b->t->dim[y - b->label] : 1;
    return n == 1 ? m : n;
}

static void append(char *to, char c)
{
    size_t n = strlen(to);
    if (n < 2 * OP_RANK && !has(to, c)) {
        to[n] = c;
        to[n + 1] = 0;
    }
}

/* a and b joined over the letters that are not needed any more. */
static void join(struct op *op, struct term *a, const struct term *b, const char *needed)
{
    char batch[2 * OP_RANK + 1] = "", left[2 * OP_RANK + 1] = "", right[2 * OP_RANK + 1] = "",
                             inner[2 * OP_RANK + 1] = "";
    for (const char *p = a->label; *p; p++)
        append(has(b->label, *p) ? has(needed, *p) ? batch : inner : left, *p);
    for (const char *p = b->label; *p; p++)
        if (!has(a->label, *p))
            append(right, *p);
    char order[4 * OP_RANK + 1];
    int64_t full[OP_RANK], flat[3], side[OP_RANK + 1];
    int rank = 0;
    strcpy(order, batch);
    strcat(order, left);
    strcat(order, right);
    if (strlen(order) > OP_RANK || strlen(order) + strlen(inner) > OP_RANK) {
        op_fail(op, GRAPH_UNSUPPORTED, "an equation with more than %d letters at once", OP_RANK);
        return;
    }
    for (; order[rank]; rank++)
        full[rank] = size_of(a, b, order[rank]);
    int64_t count[4] = {1, 1, 1, 1};
    const char *group[4] = {batch, left, right, inner};
    for (int g = 0; g < 4; g++)
        for (const char *p = group[g]; *p; p++)
            count[g] *= size_of(a, b, *p);
    /* [batch, left, inner] and [batch, inner, right], broadcast where one has size 1 */
    struct operand *operand[2];
    for (int s = 0; s < 2; s++) {
        char letters[4 * OP_RANK + 1];
        strcpy(letters, batch);
        strcat(letters, s ? inner : left);
        strcat(letters, s ? right : inner);
        for (int i = 0; letters[i]; i++)
            side[i] = size_of(a, b, letters[i]);
        struct operand *v = ordered(op, s ? b : a, letters);
        v = op_contiguous(op, op_expand(op, v, v->rank, side));
        flat[0] = count[0];
        flat[1] = s ? count[3] : count[1];
        flat[2] = s ? count[2] : count[3];
        operand[s] = op_reshape(op, v, 3, flat);
    }
    struct operand *y = op_temp(op, a->t->dtype, rank, full);
    flat[0] = count[0];
    flat[1] = count[1];
    flat[2] = count[2];
    product(op, operand[0], operand[1], op_reshape(op, y, 3, flat));
    a->t = y;
    strcpy(a->label, order);
}

/* The letters of the result: given behind "->", else those that stand once, in alphabetical order. */
static void result_letters(const char *equation, const struct term *terms, int n, char *out)
{
    const char *arrow = strstr(equation, "->");
    char hidden[OP_RANK + 1] = "";
    for (int k = 0; k < n; k++)
        for (const char *p = terms[k].label; *p; p++)
            if (isdigit((unsigned char)*p) && strlen(terms[k].label) && !has(hidden, *p))
                append(hidden, *p);
    out[0] = 0;
    char digits[OP_RANK + 1] = "";
    for (char d = '9'; d >= '0'; d--)
        if (has(hidden, d))
            append(digits, d);
    if (!arrow) {
        strcpy(out, digits);
        for (int c = 'A'; c <= 'z'; c++) {
            int seen = 0;
            for (const char *p = equation; *p; p++)
                seen += *p == c;
            if (seen == 1 && isalpha(c))
                append(out, (char)c);
        }
        return;
    }
    for (const char *p = arrow + 2; *p; p++)
        if (*p == '.') {
            for (const char *d = digits; *d; d++)
                append(out, *d);
            p += 2;
        } else if (isalpha((unsigned char)*p))
            append(out, *p);
}

static void define_einsum(struct op *op)
{
    enum { TERMS = 16 };
    struct term term[TERMS];
    char text[256], out[2 * OP_RANK + 1];
    int n = op_inputs(op), length = 0;
    for (const char *p = op_string(op, "equation", ""); *p && length < (int)sizeof text - 1; p++)
        if (!isspace((unsigned char)*p))
            text[length++] = *p;
    text[length] = 0;
    if (n > TERMS) {
        op_fail(op, GRAPH_UNSUPPORTED, "%d operands, %d at most", n, TERMS);
        return;
    }
    const char *at = text;
    for (int k = 0; k < n; k++) {
        at = read_term(op, at, op_need(op, k), &term[k]);
        at += *at == ',';
    }
    result_letters(text, term, n, out);
    struct term sum = term[0];
    for (int k = 1; k <= n; k++) {
        char needed[(TERMS + 2) * OP_RANK * 2] = "";
        strcpy(needed, out);
        for (int j = k + 1; j < n; j++)
            strcat(needed, term[j].label);
        if (k == n) {
            drop(op, &sum, needed);
            break;
        }
        char both[sizeof needed];
        strcpy(both, needed);
        strcat(both, term[k].label);
        drop(op, &sum, both);
        strcpy(both, needed);
        strcat(both, sum.label);
        drop(op, &term[k], both);
        join(op, &sum, &term[k], needed);
    }
    struct operand *v = ordered(op, &sum, out);
    op_copy(op, op_result(op, 0, v->dtype, v->rank, v->dim), v);
}

const struct operator_row operators_matmul[] = {
    ROW("MatMul", 1, 0, 0, 2, 2, 1, 1, define_matmul, NULL, 0),
    ROW("Gemm", 1, 0, 0, 2, 3, 1, 1, define_gemm, NULL, 0),
    ROW("Einsum", 12, 0, 0, 1, -1, 1, 1, define_einsum, NULL, 0),
    {0},
};
