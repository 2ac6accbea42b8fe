/* SPDX-License-Identifier: BSD-3-Clause */
/* See sort.h. */
#include "sort.h"

#include <stdbool.h>
#include <string.h>

#define ITEM         uint64_t
#define NAME(x)      narrow_##x
#define DIGITS       4
#define KEY(item)    ((item) >> 32)
#define BEFORE(a, b) ((a) < (b))
#include "sort_items.h"

#define ITEM         struct sort_wide
#define NAME(x)      wide_##x
#define DIGITS       8
#define KEY(item)    ((item).key)
#define BEFORE(a, b) ((a).key < (b).key || ((a).key == (b).key && (a).place < (b).place))
#include "sort_items.h"

/* Bits of a float in an order of unsigned numbers: negative ones turned round, positive ones above them. `top`: the
 * sign bit. */
static inline uint64_t float_key(uint64_t bits, uint64_t top, uint64_t infinity)
{
    uint64_t size = bits & (top - 1), all = top | (top - 1);
    if (size > infinity)
        return all;
    if (size == 0)
        return top;
    return bits & top ? ~bits & all : bits | top;
}

static inline uint32_t half_key(uint32_t bits, uint32_t infinity)
{
    uint32_t size = bits & 0x7fffu, key = bits & 0x8000u ? ~bits & 0xffffu : bits | 0x8000u;
    key = size == 0 ? 0x8000u : key;
    return size > infinity ? 0xffffu : key;
}

static inline uint64_t key_at(aclDataType type, const char *at)
{
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
    switch (type) {
    case ACL_BOOL:
    case ACL_UINT8:
        memcpy(&u8, at, 1);
        return type == ACL_BOOL ? u8 != 0 : u8;
    case ACL_INT8:
        memcpy(&u8, at, 1);
        return u8 ^ 0x80u;
    case ACL_UINT16:
        memcpy(&u16, at, 2);
        return u16;
    case ACL_INT16:
        memcpy(&u16, at, 2);
        return u16 ^ 0x8000u;
    case ACL_UINT32:
        memcpy(&u32, at, 4);
        return u32;
    case ACL_INT32:
        memcpy(&u32, at, 4);
        return u32 ^ 0x80000000u;
    case ACL_UINT64:
        memcpy(&u64, at, 8);
        return u64;
    case ACL_INT64:
        memcpy(&u64, at, 8);
        return u64 ^ 0x8000000000000000u;
    case ACL_FLOAT16:
        memcpy(&u16, at, 2);
        return half_key(u16, 0x7c00u);
    case ACL_BF16:
        memcpy(&u16, at, 2);
        return half_key(u16, 0x7f80u);
    case ACL_FLOAT:
        memcpy(&u32, at, 4);
        return float_key(u32, 0x80000000u, 0x7f800000u);
    default:
        memcpy(&u64, at, 8);
        return float_key(u64, 0x8000000000000000u, 0x7ff0000000000000u);
    }
}

/* One loop a type: the switch above falls away when the type is a constant. */
#define LOAD(TYPE, SIZE)                                                                                               \
    case TYPE:                                                                                                         \
        if (wide)                                                                                                      \
            for (int64_t i = 0; i < n; i++)                                                                            \
                pairs[i] = (struct sort_wide){key_at(TYPE, from + i * step) ^ flip, (uint64_t)i};                      \
        else if (step == SIZE)                                                                                         \
            for (int64_t i = 0; i < n; i++)                                                                            \
                items_[i] = (key_at(TYPE, from + i * SIZE) ^ flip) << 32 | (uint64_t)i;                                \
        else                                                                                                           \
            for (int64_t i = 0; i < n; i++)                                                                            \
                items_[i] = (key_at(TYPE, from + i * step) ^ flip) << 32 | (uint64_t)i;                                \
        break;

static void load(aclDataType type, bool wide, bool descending, int64_t n, void *items, const char *from, int64_t step)
{
    struct sort_wide *pairs = items;
    uint64_t *items_ = items, flip = descending ? wide ? UINT64_MAX : UINT32_MAX : 0;
    switch ((int)type) {
        LOAD(ACL_BOOL, 1)
        LOAD(ACL_UINT8, 1)
        LOAD(ACL_INT8, 1)
        LOAD(ACL_UINT16, 2)
        LOAD(ACL_INT16, 2)
        LOAD(ACL_UINT32, 4)
        LOAD(ACL_INT32, 4)
        LOAD(ACL_UINT64, 8)
        LOAD(ACL_INT64, 8)
        LOAD(ACL_FLOAT16, 2)
        LOAD(ACL_BF16, 2)
        LOAD(ACL_FLOAT, 4)
        LOAD(ACL_DOUBLE, 8)
    }
}

static void *sort(bool wide, int64_t n, void *items, void *scratch)
{
    return wide ? (void *)wide_sort(n, items, scratch) : (void *)narrow_sort(n, items, scratch);
}

static const void *nth(bool wide, int64_t n, int64_t k, void *items, void *scratch)
{
    return wide ? (const void *)wide_nth(n, k, items, scratch) : (const void *)narrow_nth(n, k, items, scratch);
}

static void least(bool wide, int64_t n, int64_t k, void *items, void *scratch)
{
    if (wide)
        wide_least(n, k, items, scratch);
    else
        narrow_least(n, k, items, scratch);
}

#define GATHER(BYTES)                                                                                                  \
    case BYTES:                                                                                                        \
        for (int64_t i = 0; i < n; i++)                                                                                \
            memcpy(to + i * to_step, from + sort_place(wide, items, i) * step, BYTES);                                 \
        break;

static void gather(bool wide, size_t element, int64_t n, const void *items, char *to, int64_t to_step, const char *from,
                   int64_t step)
{
    switch (element) {
        GATHER(1)
        GATHER(2)
        GATHER(4)
        GATHER(8)
    }
}

static void places(bool wide, int64_t n, const void *items, char *to, int64_t to_step)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t place = sort_place(wide, items, i);
        memcpy(to + i * to_step, &place, sizeof place);
    }
}

const struct sort_kernels ISA(sort_kernels) = {
    .load = load, .sort = sort, .least = least, .nth = nth, .gather = gather, .places = places};
