/* SPDX-License-Identifier: BSD-3-Clause */
/* Ordering one row. Elements become unsigned keys whose order is that of the elements (NaN after everything, both zeros
 * equal; for descending order the keys are inverted), each together with its position, so that every order is stable
 * and unique.
 *
 * An item is a uint64_t (key in the upper, position in the lower half) for types of up to 32 bits, else two of them. */
#ifndef ANYNPU_KERNELS_SORT_H
#define ANYNPU_KERNELS_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acl/acl_base.h"
#include "kernels/isa.h"

struct sort_wide {
    uint64_t key, place;
};

struct sort_kernels {
    /* items[i] ← element i (step bytes apart). wide: items are struct sort_wide, for any type and n; else uint64_t. */
    void (*load)(aclDataType type, bool wide, bool descending, int64_t n, void *items, const char *from, int64_t step);
    /* Sorts n items; scratch has the same size; both may be overwritten, the result is where the pointer says. */
    void *(*sort)(bool wide, int64_t n, void *items, void *scratch);
    /* Moves the k least of n items to the front of items, in order; scratch has the same size, both are overwritten. */
    void (*least)(bool wide, int64_t n, int64_t k, void *items, void *scratch);
    /* The k-th of n items in order (k from 1), somewhere in items or scratch, which are both overwritten. */
    const void *(*nth)(bool wide, int64_t n, int64_t k, void *items, void *scratch);
    /* For n items: the elements (of 1, 2, 4 or 8 bytes) at their places, and the places. */
    void (*gather)(bool wide, size_t element, int64_t n, const void *items, char *to, int64_t to_step, const char *from,
                   int64_t step);
    void (*places)(bool wide, int64_t n, const void *items, char *to, int64_t to_step);
};

ISA_DECLARE(const struct sort_kernels, sort_kernels);

static inline int64_t sort_place(bool wide, const void *items, int64_t i)
{
    return wide ? (int64_t)((const struct sort_wide *)items)[i].place
                : (int64_t)(((const uint64_t *)items)[i] & 0xffffffffu);
}

static inline uint64_t sort_key(bool wide, const void *items, int64_t i)
{
    return wide ? ((const struct sort_wide *)items)[i].key : ((const uint64_t *)items)[i] >> 32;
}

/* The key of every NaN of a float type, ascending. */
static inline uint64_t sort_nan_key(aclDataType type)
{
    return type == ACL_DOUBLE ? UINT64_MAX : type == ACL_FLOAT ? UINT32_MAX : UINT16_MAX;
}

#endif
