/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared rules of ONNX; see onnx.h. */
#include "graph/operators/onnx.h"

#include <string.h>

#include "aclnnop/aclnn_adds.h"
#include "aclnnop/aclnn_lt_scalar.h"
#include "aclnnop/aclnn_s_where.h"

aclDataType onnx_dtype(int64_t number)
{
    static const aclDataType types[] = {
        [1] = ACL_FLOAT,          [2] = ACL_UINT8,         [3] = ACL_INT8,         [4] = ACL_UINT16,
        [5] = ACL_INT16,          [6] = ACL_INT32,         [7] = ACL_INT64,        [8] = ACL_STRING,
        [9] = ACL_BOOL,           [10] = ACL_FLOAT16,      [11] = ACL_DOUBLE,      [12] = ACL_UINT32,
        [13] = ACL_UINT64,        [14] = ACL_COMPLEX64,    [15] = ACL_COMPLEX128,  [16] = ACL_BF16,
        [17] = ACL_FLOAT8_E4M3FN, [18] = ACL_DT_UNDEFINED, [19] = ACL_FLOAT8_E5M2, [20] = ACL_DT_UNDEFINED,
        [21] = ACL_DT_UNDEFINED,  [22] = ACL_INT4,         [23] = ACL_FLOAT4_E2M1, [24] = ACL_FLOAT8_E8M0,
    };
    return number > 0 && number < (int64_t)(sizeof types / sizeof types[0]) ? types[number] : ACL_DT_UNDEFINED;
}

aclDataType onnx_attribute_dtype(struct op *op, const char *name, aclDataType otherwise)
{
    int64_t number = op_int(op, name, 0);
    aclDataType dtype = number ? onnx_dtype(number) : otherwise;
    if (dtype == ACL_DT_UNDEFINED || dtype == ACL_STRING) {
        op_fail(op, GRAPH_UNSUPPORTED, "%s: tensors of ONNX's type %lld are not supported", name, (long long)number);
        return ACL_FLOAT;
    }
    return dtype;
}

struct operand *onnx_index(struct op *op, struct operand *index, int64_t limit)
{
    struct operand *wide = op_cast(op, index, ACL_INT64);
    if (index->host && op_count(index)) { /* usually known, and usually not negative */
        bool negative = false;
        for (int64_t i = 0; i < op_count(index) && !negative; i++)
            negative = index->dtype == ACL_INT32 ? ((const int32_t *)index->host)[i] < 0
                                                 : ((const int64_t *)index->host)[i] < 0;
        if (!negative)
            return wide;
    }
    struct operand *mask = op_temp(op, ACL_BOOL, index->rank, index->dim);
    struct operand *turned = op_temp(op, ACL_INT64, index->rank, index->dim);
    OP_CALL(op, aclnnLtScalar, op_acl(op, wide), op_integer(op, 0), op_out(op, mask));
    OP_CALL(op, aclnnAdds, op_acl(op, wide), op_integer(op, limit), op_integer(op, 1), op_out(op, turned));
    OP_CALL(op, aclnnSWhere, op_acl(op, mask), op_acl(op, turned), op_acl(op, wide), op_out(op, turned));
    return turned;
}

int32_t onnx_matmul_shape(struct op *op, const struct operand *a, const struct operand *b, int64_t *dim)
{
    if (a->rank < 1 || b->rank < 1) {
        op_fail(op, GRAPH_INVALID, "a matrix product of a scalar");
        return 0;
    }
    int64_t inner_a = a->dim[a->rank - 1], inner_b = b->dim[b->rank > 1 ? b->rank - 2 : 0];
    if (inner_a != inner_b) {
        op_fail(op, GRAPH_INVALID, "a product of matrices with %lld columns and %lld rows", (long long)inner_a,
                (long long)inner_b);
        return 0;
    }
    struct operand left = {.rank = a->rank > 2 ? a->rank - 2 : 0}, right = {.rank = b->rank > 2 ? b->rank - 2 : 0};
    memcpy(left.dim, a->dim, sizeof left.dim);
    memcpy(right.dim, b->dim, sizeof right.dim);
    int32_t rank = op_broadcast(op, (struct operand *[]){&left, &right}, 2, dim);
    if (rank > OP_RANK - 2) {
        op_fail(op, GRAPH_UNSUPPORTED, "%d dimensions", rank + 2);
        return 0;
    }
    if (a->rank > 1)
        dim[rank++] = a->dim[a->rank - 2];
    if (b->rank > 1)
        dim[rank++] = b->dim[b->rank - 1];
    return rank;
}
