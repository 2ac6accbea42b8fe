/* SPDX-License-Identifier: BSD-3-Clause */
/* Plain loops over unsigned integers; see unsigned.h. */
#include "graph/operators/unsigned.h"

#include <string.h>

#include "runtime/door.h"

struct job {
    const char *x, *y;
    char *out;
    int64_t count;
    size_t bytes;
    enum unsigned_op code;
};

static uint64_t load(const char *at, size_t bytes)
{
    uint64_t v = 0;
    memcpy(&v, at, bytes);
    return v;
}

static uint64_t compute(enum unsigned_op code, uint64_t x, uint64_t y, size_t bytes)
{
    switch (code) {
    case UNSIGNED_ADD:
        return x + y;
    case UNSIGNED_SUB:
        return x - y;
    case UNSIGNED_MUL:
        return x * y;
    case UNSIGNED_DIV:
        return y ? x / y : 0;
    case UNSIGNED_MOD:
        return y ? x % y : 0;
    case UNSIGNED_MAX:
        return x > y ? x : y;
    case UNSIGNED_MIN:
        return x < y ? x : y;
    case UNSIGNED_AND:
        return x & y;
    case UNSIGNED_OR:
        return x | y;
    case UNSIGNED_XOR:
        return x ^ y;
    case UNSIGNED_LEFT:
        return y < 8 * bytes ? x << y : 0;
    case UNSIGNED_RIGHT:
        return y < 8 * bytes ? x >> y : 0;
    case UNSIGNED_EQ:
        return x == y;
    case UNSIGNED_GT:
        return x > y;
    case UNSIGNED_GE:
        return x >= y;
    case UNSIGNED_LT:
        return x < y;
    default:
        return x <= y;
    }
}

static void piece(void *arg, int64_t begin, int64_t end)
{
    const struct job *j = arg;
    size_t out = j->code >= UNSIGNED_EQ ? 1 : j->bytes;
    for (size_t i = (size_t)begin; i < (size_t)end; i++) {
        uint64_t v =
            compute(j->code, load(j->x + i * j->bytes, j->bytes), load(j->y + i * j->bytes, j->bytes), j->bytes);
        memcpy(j->out + i * out, &v, out); /* little end first, as everywhere here */
    }
}

static int run(void *arg)
{
    struct job j = *(const struct job *)arg;
    j.x = device_address(j.x);
    j.y = device_address(j.y);
    j.out = device_address(j.out);
    parallel(j.count, 4096, piece, &j);
    return 0;
}

bool unsigned_binary(struct op *op, enum unsigned_op code, struct operand *x, struct operand *y, struct operand *out)
{
    if (x->dtype != ACL_UINT16 && x->dtype != ACL_UINT32 && x->dtype != ACL_UINT64)
        return false;
    if (code == UNSIGNED_NONE) {
        op_fail(op, GRAPH_UNSUPPORTED, "%s of %s is not supported", op_node(op)->op, dtype_name(x->dtype));
        return true;
    }
    x = op_contiguous(op, op_expand(op, x, out->rank, out->dim));
    y = op_contiguous(op, op_expand(op, op_cast(op, y, x->dtype), out->rank, out->dim));
    struct job j = {op_data(op, x), op_data(op, y), op_data(op, out), op_count(out), dtype_size(x->dtype), code};
    op_host(op, op_node(op)->op, run, &j, sizeof j);
    return true;
}
