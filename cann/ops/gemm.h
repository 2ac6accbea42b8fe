/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrix products of views, as steps of a plan or inside one. The bits of an element depend on its row, its column and
 * k alone: not on the other rows, the number of threads or the ISA. 16-bit floats are multiplied and added in float,
 * integers modulo 2^bits. */
#ifndef ANYNPU_OPS_GEMM_H
#define ANYNPU_OPS_GEMM_H

#include "kernels/matmul.h"
#include "ops/plan.h"

struct gemm_scale {
    double alpha, beta;
    int64_t alpha_int, beta_int; /* for integers */
};

/* Adds the steps for c = alpha a b + beta cin. c [batch…][m][n], a [batch…][m][k], b [batch…][k][n] have one rank and
 * the same batch dimensions (broadcast by stride 0); cin broadcasts to c, or is NULL. Any strides; a and b of one type.
 */
void plan_gemm(struct plan *plan, struct view *c, struct view *a, struct view *b, const struct view *cin,
               const struct gemm_scale *scale);

/* The same for complex numbers (complex64, complex128; all of one type). cin, alpha and beta may be NULL: none, 1, 1.
 */
int plan_gemm_complex(struct plan *plan, struct view *c, struct view *a, struct view *b, struct view *cin,
                      const aclScalar *alpha, const aclScalar *beta);

/* Adds what makes v readable as that type: v itself when it is; else a dense temporary in v's own order of strides,
 * where what v repeats (stride 0) is stored once. */
struct view *plan_dense(struct plan *plan, struct view *v, aclDataType dtype);

/* One product; strides in elements, c_cs is 1. */
struct gemm {
    const struct gemm_kernels *kernels;
    aclDataType c_half; /* as in struct gemm_block; when it is set k must be ≤ kc */
    int64_t m, n, k;
    const char *a, *b, *cin;
    char *c;
    int64_t a_rs, a_cs, b_rs, b_cs, cin_rs, cin_cs, c_rs;
    double alpha, beta;
    bool packed; /* b was laid out by gemm_pack */
};

/* For products with one b (float or double): lays panels [first, last) of nr columns of g's b out at `to`, where all of
 * them take gemm_pack_bytes. Afterwards b = to and packed = true serve any number of gemm_part. */
size_t gemm_pack_bytes(const struct gemm *g);
void gemm_pack(const struct gemm *g, char *to, int64_t first, int64_t last);

/* How `count` products are cut into tiles of tile_m rows and tile_n columns for the compute pool. */
struct gemm_tiles {
    int64_t tile_m, tile_n, tiles_m, tiles_n;
};
struct gemm_tiles gemm_tiles(const struct gemm_kernels *kernels, int64_t m, int64_t n, int64_t k, int64_t count);

/* Rows [i0, i1) and columns [j0, j1) of c, on this thread; j0 is a multiple of nr. Uses 44 KiB of stack; for 16-bit
 * floats 132. */
void gemm_part(const struct gemm *g, int64_t i0, int64_t i1, int64_t j0, int64_t j1);

#endif
