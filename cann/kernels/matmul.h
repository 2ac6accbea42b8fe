/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrix products on one core, c = alpha a b + beta cin: the blocked product of two matrices, matrix times vector, and
 * a plain product for integers. ops/gemm.c cuts the work into blocks and spreads them.
 *
 * In the blocked product every element of c is the sum of fma(a, b) over k in ascending order within a stretch of at
 * most kc (gemm_stretch), and the stretches are added in order; so its bits depend neither on the ISA, nor on how
 * the work is cut, nor on the other rows and columns. A matrix is an address with a row stride rs and a column stride
 * cs, in elements. */
#ifndef ANYNPU_KERNELS_MATMUL_H
#define ANYNPU_KERNELS_MATMUL_H

#include <stdbool.h>
#include <stdint.h>

#include "acl/acl_base.h"
#include "kernels/isa.h"

enum {
    GEMM_KC = 320,    /* depth of one stretch, at most */
    GEMM_NR_MAX = 32, /* no level has wider panels */
    GEMM_PANEL = GEMM_KC * GEMM_NR_MAX * 4,
    GEMM_KC_F16 = 1024, /* the same for 16-bit floats, whose sums are rounded once when they are stored */
    GEMM_KC_BF16 = 1024,
    GEMM_PANEL_HALF = GEMM_KC_F16 * GEMM_NR_MAX * 4,
};

/* The depth of a stretch of at most kc when a product has depth k: equal ones, as few as may be. */
static inline int64_t gemm_stretch(int64_t k, int64_t kc)
{
    int64_t stretches = (k + kc - 1) / kc, depth = stretches > 1 ? (k + stretches - 1) / stretches : k > 0 ? k : 1;
    return stretches > 1 ? depth + depth % 2 : depth;
}

static inline int64_t gemm_depth(int64_t k)
{
    return gemm_stretch(k, GEMM_KC);
}

/* c[m][n] = alpha a[m][k] b[k][n] + beta cin[m][n]; k ≤ the kernels' kc. b is packed, or rows of unit column stride
 * when n is a multiple of nr (float and double). c has unit column stride. cin (of the type that sums) may be c itself;
 * unread when beta is 0. */
struct gemm_block {
    int64_t m, n, k;
    const void *a, *b, *cin;
    void *c;
    int64_t a_rs, a_cs, b_rs; /* b_rs 0: packed */
    int64_t cin_rs, cin_cs, c_rs;
    double alpha, beta;
    aclDataType c_half; /* ACL_FLOAT16 or ACL_BF16: c is of that type; 0: of the type that sums */
};

/* The blocked product of one type. A packed b is panels of nr columns, [k][nr], the last filled with zeros. */
struct gemm_kernels {
    int mr, nr;       /* rows and columns of a tile of c that is held in registers */
    int kc;           /* depth of one stretch, at most */
    aclDataType a, b; /* types in which the factors are read */
    aclDataType sum;  /* the type that sums */
    bool even;        /* a's rows are of unit stride, and where k is odd have a zero behind them */
    void (*pack)(void *to, const void *b, int64_t rs, int64_t cs, int64_t k, int64_t n);
    void (*block)(const struct gemm_block *g);
};

/* y[i] = alpha sum_k a[i][k] x[k] + beta yin[i] for m rows. x (adjacent), y and yin are of the type that sums: double
 * for ACL_DOUBLE, else float. With adjacent k (cs 1) sums run in 256 bytes of lanes and are added pairwise; otherwise
 * in k's order, fast when rows are adjacent (rs 1). */
struct gemv {
    int64_t m, k;
    const void *a, *x, *yin;
    void *y;
    int64_t rs, cs, ys, yins;
    double alpha, beta;
};

/* c[m][n] = alpha a b + beta cin modulo 2^bits. */
struct gemm_integers {
    int64_t m, n, k;
    const void *a, *b, *cin;
    void *c;
    int64_t a_rs, a_cs, b_rs, b_cs, cin_rs, cin_cs, c_rs, c_cs;
    int64_t alpha, beta;
};

/* bf16 is multiplied as the instruction vdpbf16ps does it: of two elements along k the second is multiplied and added
 * first, each rounded once; numbers below the normal ones count as zero. bf16_native uses it, where the CPU has it
 * (cpu_has_bf16; else its block is NULL); bf16 gives the same bits without. */
struct matmul_kernels {
    struct gemm_kernels f32, f64, f16, bf16, bf16_native;
    /* dtype of a: ACL_FLOAT, ACL_DOUBLE, ACL_FLOAT16, ACL_BF16 */
    void (*gemv)(const struct gemv *v, aclDataType dtype);
    /* ACL_INT8 … ACL_INT64 and their unsigned kin */
    void (*integers)(const struct gemm_integers *g, aclDataType dtype);
};

ISA_DECLARE(const struct matmul_kernels, matmul_kernels);

#endif
