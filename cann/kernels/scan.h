/* SPDX-License-Identifier: BSD-3-Clause */
/* Scans: running sums, products and extremes. Elements of every real type are computed with as double or int64_t
 * (uint64 keeps its bits in sums and products), which is at least what PyTorch's CPU kernels do. */
#ifndef ANYNPU_KERNELS_SCAN_H
#define ANYNPU_KERNELS_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "acl/acl_base.h"
#include "kernels/isa.h"

/* An extreme is the latest of equals, and NaN once there was one: PyTorch's cummax. */
enum scan_op { SCAN_SUM, SCAN_PROD, SCAN_MAX, SCAN_MIN };

struct scan_param {
    enum scan_op op;
    aclDataType dtype, out_dtype, index_dtype;
    bool exclusive; /* sums only: what came before the element */
};

/* Eight bytes: a double for float types, else an int64_t. */
union scan_value {
    double d;
    int64_t i;
};

struct scan_kernels {
    /* n elements, steps in bytes (negative: from the end). carry, if not NULL, is where the scan begins, and gets its
     * end. index: of each extreme, may be NULL. */
    void (*row)(const struct scan_param *p, int64_t n, const char *in, int64_t step, char *out, int64_t out_step,
                char *index, int64_t index_step, union scan_value *carry);
    /* cols ≤ 512 neighbouring scans; row_step etc. lead to the next element of each. */
    void (*columns)(const struct scan_param *p, int64_t n, int64_t cols, const char *in, int64_t row_step, char *out,
                    int64_t out_row_step, char *index, int64_t index_row_step);
    /* The sum or product of n elements, as row would end. */
    union scan_value (*total)(const struct scan_param *p, int64_t n, const char *in, int64_t step);
};

ISA_DECLARE(const struct scan_kernels, scan_kernels);

#endif
