/* SPDX-License-Identifier: BSD-3-Clause */
/* Selecting elements by a mask. */
#ifndef ANYNPU_KERNELS_MASKED_H
#define ANYNPU_KERNELS_MASKED_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/isa.h"

struct masked_kernels {
    /* How many of n bytes are not 0. */
    int64_t (*count)(int64_t n, const uint8_t *mask);
    /* The elements (of 1, 2, 4, 8 or 16 bytes) of dense src whose mask is not 0, one after the other, dst_step bytes
     * apart; stops after `room` of them. */
    void (*select)(size_t element, int64_t n, char *dst, int64_t dst_step, int64_t room, const char *src,
                   const uint8_t *mask);
};

ISA_DECLARE(const struct masked_kernels, masked_kernels);

#endif
