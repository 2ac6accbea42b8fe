/* SPDX-License-Identifier: BSD-3-Clause */
/* See search.h: bisection, one function a class of numbers. */
#include "search.h"

#include "base/dtype.h"

static inline double float_at(aclDataType type, const char *data, int64_t i)
{
    switch (type) {
    case ACL_FLOAT:
        return ((const float *)data)[i];
    case ACL_DOUBLE:
        return ((const double *)data)[i];
    case ACL_FLOAT16:
        return f16_to_float(((const uint16_t *)data)[i]);
    default:
        return bf16_to_float(((const uint16_t *)data)[i]);
    }
}

static inline int64_t int_at(aclDataType type, const char *data, int64_t i)
{
    switch (type) {
    case ACL_INT8:
        return ((const int8_t *)data)[i];
    case ACL_UINT8:
    case ACL_BOOL:
        return ((const uint8_t *)data)[i];
    case ACL_INT16:
        return ((const int16_t *)data)[i];
    case ACL_UINT16:
        return ((const uint16_t *)data)[i];
    case ACL_INT32:
        return ((const int32_t *)data)[i];
    case ACL_UINT32:
        return ((const uint32_t *)data)[i];
    default:
        return ((const int64_t *)data)[i];
    }
}

static inline int64_t sorted_index(const struct search *s, int64_t i)
{
    return s->sorter ? s->sorter[i] : i;
}

static void run(const struct search *s)
{
    bool floats = dtype_is_float(s->type);
    int64_t turn = s->type == ACL_UINT64 ? INT64_MIN : 0; /* unsigned order as signed */
    for (int64_t j = 0; j < s->m; j++) {
        double f = floats ? float_at(s->type, s->values, j) : 0;
        int64_t v = floats ? 0 : int_at(s->type, s->values, j) ^ turn, low = 0, high = s->n;
        while (low < high) {
            int64_t middle = low + (high - low) / 2, at = sorted_index(s, middle);
            bool before;
            if (floats) {
                double x = float_at(s->type, s->sequence, at);
                before = s->right ? !(x > f) : !(x >= f);
            } else {
                int64_t x = int_at(s->type, s->sequence, at) ^ turn;
                before = s->right ? x <= v : x < v;
            }
            low = before ? middle + 1 : low;
            high = before ? high : middle;
        }
        s->places[j] = low;
    }
}

const struct search_kernels ISA(search_kernels) = {.run = run};
