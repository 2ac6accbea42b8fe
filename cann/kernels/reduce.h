/* SPDX-License-Identifier: BSD-3-Clause */
/* Reduction kernels: many elements into one accumulator (row) or a row of accumulators (column).
 *
 * Elements are computed with as float (f16 bf16 f32), double or int64_t (integers, bool). Accumulators are 8-byte
 * words, a double or an int64_t, in planes: word w of accumulator j is acc[w * plane + j]. Most operators have one
 * word; ARGMAX and ARGMIN {value, int64 index}; MOMENTS {mean, sum of squared differences from it, double count}.
 * Floats are summed in 64 lanes over at most 2048 elements, those sums in double: a fixed order whatever the CPU.
 * NaN wins every maximum and minimum; the first of equals wins an ARG; index −1 says that nothing was seen. */
#ifndef ANYNPU_KERNELS_REDUCE_H
#define ANYNPU_KERNELS_REDUCE_H

#include <stdbool.h>
#include <stdint.h>

#include "acl/acl_base.h"
#include "kernels/isa.h"

enum reduce_op {
    REDUCE_SUM,
    REDUCE_PROD,
    REDUCE_MAX,
    REDUCE_MIN,
    REDUCE_ARGMAX,
    REDUCE_ARGMIN,
    REDUCE_MOMENTS, /* floats only, as all that follow but NONZERO */
    REDUCE_NANSUM,
    REDUCE_NONZERO, /* how many are not 0 */
    REDUCE_ABS_SUM,
    REDUCE_SQUARES,
    REDUCE_POWERS, /* sum of |x|^p */
    REDUCE_ABS_MAX,
    REDUCE_ABS_MIN,
    REDUCE_MIN_MAX, /* both in one pass */
    REDUCE_OPS
};

enum reduce_type { REDUCE_F32, REDUCE_F64, REDUCE_I64, REDUCE_TYPES };

/* What becomes of an accumulator. */
enum reduce_finish {
    REDUCE_VALUE,
    REDUCE_INDEX,
    REDUCE_OTHER, /* MIN_MAX: the maximum */
    REDUCE_MEAN,  /* value / count */
    REDUCE_SQRT,
    REDUCE_ROOT, /* value ^ (1 / p) */
    REDUCE_ANY,  /* value ≠ 0 */
    REDUCE_ALL,  /* value = count */
    REDUCE_VAR,  /* MOMENTS: squares / max(0, count − p) */
    REDUCE_STD,
    REDUCE_MOMENT_MEAN,
};

struct reduce_param {
    enum reduce_op op;
    aclDataType dtype; /* of the elements */
    double p;          /* exponent */
};

struct reduce_kernels {
    int (*words)(enum reduce_op op); /* of one accumulator */
    /* The identity into n accumulators. */
    void (*init)(enum reduce_op op, enum reduce_type type, int64_t n, void *acc, int64_t plane);
    /* For each of some results: n elements, step bytes apart, into its accumulator; index: of the first element, for
     * ARGs. */
    void (*row)(const struct reduce_param *p, enum reduce_type type, int64_t results, int64_t result_step, int64_t n,
                int64_t step, const char *in, int64_t index, void *acc, int64_t plane);
    /* rows × cols elements into cols ≤ 512 accumulators; index: of the first row. */
    void (*column)(const struct reduce_param *p, enum reduce_type type, int64_t rows, int64_t row_step, int64_t cols,
                   int64_t col_step, const char *in, int64_t index, void *acc, int64_t plane);
    /* acc ← acc ∘ other, other's elements coming later. */
    void (*merge)(enum reduce_op op, enum reduce_type type, int64_t n, void *acc, int64_t plane, const void *other,
                  int64_t other_plane);
    /* Writes n results, step bytes apart. count: elements in each accumulator. p: see the finish. */
    void (*finish)(const struct reduce_param *p, enum reduce_finish finish, enum reduce_type type, double argument,
                   int64_t count, int64_t n, const void *acc, int64_t plane, char *out, int64_t step,
                   aclDataType dtype);
    /* Are n elements of two arrays of one type equal, as == says (NaN is not, -0 is 0)? */
    bool (*equal)(aclDataType dtype, int64_t n, const char *a, int64_t a_step, const char *b, int64_t b_step);
};

ISA_DECLARE(const struct reduce_kernels, reduce_kernels);

#endif
