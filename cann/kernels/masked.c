/* SPDX-License-Identifier: BSD-3-Clause */
/* See masked.h. */
#include "masked.h"

#include <string.h>

static int64_t count(int64_t n, const uint8_t *mask)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += mask[i] != 0;
    return sum;
}

/* memcpy of a constant size is a load and a store; a whole group without a set byte is skipped. */
#define SELECT(BYTES)                                                                                                  \
    static void select_##BYTES(int64_t n, char *dst, int64_t step, int64_t room, const char *src, const uint8_t *mask) \
    {                                                                                                                  \
        char *end = dst + room * step;                                                                                 \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            uint64_t eight;                                                                                            \
            if (i + 8 <= n && (memcpy(&eight, mask + i, 8), eight == 0)) {                                             \
                i += 7;                                                                                                \
                continue;                                                                                              \
            }                                                                                                          \
            if (mask[i] && dst != end) {                                                                               \
                memcpy(dst, src + i * BYTES, BYTES);                                                                   \
                dst += step;                                                                                           \
            }                                                                                                          \
        }                                                                                                              \
    }

SELECT(1)
SELECT(2)
SELECT(4)
SELECT(8)
SELECT(16)

static void select(size_t element, int64_t n, char *dst, int64_t dst_step, int64_t room, const char *src,
                   const uint8_t *mask)
{
    switch (element) {
    case 1:
        select_1(n, dst, dst_step, room, src, mask);
        break;
    case 2:
        select_2(n, dst, dst_step, room, src, mask);
        break;
    case 4:
        select_4(n, dst, dst_step, room, src, mask);
        break;
    case 8:
        select_8(n, dst, dst_step, room, src, mask);
        break;
    case 16:
        select_16(n, dst, dst_step, room, src, mask);
        break;
    }
}

const struct masked_kernels ISA(masked_kernels) = {.count = count, .select = select};
