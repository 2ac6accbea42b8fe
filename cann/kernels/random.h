/* SPDX-License-Identifier: BSD-3-Clause */
/* Random numbers: Philox4x32-10 in counter mode. Element i of a tensor depends on (seed, offset, i) alone: pieces may
 * be computed by any thread in any order, and every ISA level gives the same bits.
 *
 * The key is the seed; the counter's upper half is the offset, so that operators with different offsets never share
 * numbers, its lower half counts blocks. Sixteen blocks make a group: 64 words of 32 bits, word w of block b at place
 * 16 w + b. An element of a type up to 32 bits takes one word, one of 64 bits two (words 0, 1 or 2, 3 of a block). */
#ifndef ANYNPU_KERNELS_RANDOM_H
#define ANYNPU_KERNELS_RANDOM_H

#include <stdint.h>

#include "acl/acl_base.h"
#include "kernels/isa.h"

enum { RANDOM_GROUP = 64 }; /* pieces begin at multiples of it */

enum random_kind {
    RANDOM_UNIFORM,     /* [a, b) */
    RANDOM_NORMAL,      /* mean a, deviation b */
    RANDOM_EXPONENTIAL, /* rate a */
    RANDOM_BERNOULLI,   /* 1 with probability a */
    RANDOM_INTEGER,     /* from, from + 1, …, from + range - 1; range 0: 2^64 */
};

struct random_param {
    uint64_t seed, offset;
    double a, b;
    double top; /* uniform: the largest number of the type below b (b if there is none above a) */
    int64_t from;
    uint64_t range;
};

struct random_kernels {
    /* Elements [first, first + n) to out; first is a multiple of RANDOM_GROUP. Floating types and f16, bf16 for the
     * first three kinds, integers and bool too for the last two. */
    void (*fill)(enum random_kind kind, aclDataType dtype, uint64_t first, int64_t n, void *out,
                 const struct random_param *p);
    /* The same kinds of numbers as double whatever the type: standard normals, or uniform in [0, 1). For operators
     * whose parameters are tensors. n ≤ RANDOM_GROUP. */
    void (*draw)(enum random_kind kind, uint64_t first, int64_t n, double *out, const struct random_param *p);
    /* Bit i of out (lowest first) is 1 with probability a; n bits, whole bytes are written. */
    void (*bits)(uint64_t first, int64_t n, uint8_t *out, const struct random_param *p);
    /* out = mask bit ? in * scale : 0 (f32 f64 f16 bf16); in and out begin at bit `first`, a multiple of 8. */
    void (*mask_bits)(aclDataType dtype, int64_t n, void *out, const void *in, const uint8_t *mask, double scale);
    /* One number of 64 bits. */
    uint64_t (*word)(uint64_t seed, uint64_t offset, uint64_t counter);
};

ISA_DECLARE(const struct random_kernels, random_kernels);

#endif
