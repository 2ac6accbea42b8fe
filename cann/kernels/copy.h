/* SPDX-License-Identifier: BSD-3-Clause */
/* Moving and converting elements. The caller (ops/engine/copy.c) splits views into rows and blocks.
 *
 * Conversions follow PyTorch on x86: floats to integers truncate, out of range (and NaN) gives what the processor's
 * instruction gives (the lowest int32 or int64), then is cut to the type; anything but 0 is true; complex to real drops
 * the imaginary part; double to a 16-bit float goes through float. */
#ifndef ANYNPU_KERNELS_COPY_H
#define ANYNPU_KERNELS_COPY_H

#include <stdbool.h>
#include <stddef.h>

#include "acl/acl_base.h"
#include "kernels/isa.h"
#include "kernels/loop.h"

/* A conversion of rows; what copy_kernels.cast is told in param. */
struct copy_cast {
    walk_loop direct;                                                    /* between two types that C has */
    void (*load)(float *to, const char *from, int64_t step, int64_t n);  /* first into float pairs or floats, or NULL */
    void (*store)(char *to, int64_t step, const float *from, int64_t n); /* last out of them, or NULL */
    int load_floats, store_floats;                                       /* floats an element: 1, complex 2 */
};

struct copy_kernels {
    /* Fills *cast for dst ← src; false when there is no such conversion. */
    bool (*find_cast)(struct copy_cast *cast, aclDataType dst, aclDataType src);
    walk_loop cast; /* param: a struct copy_cast */

    /* n elements of 1, 2, 4, 8 or 16 bytes, any steps (in bytes). */
    void (*move)(size_t element, int64_t n, char *dst, int64_t dst_step, const char *src, int64_t src_step);
    /* dst[r * dst_row + c * element] ← src[r * element + c * src_column] for r < rows, c < columns: dst's rows are
     * dense, and so are src's columns. Meant for blocks that fit the caches. */
    void (*transpose)(size_t element, int64_t rows, int64_t columns, char *dst, int64_t dst_row, const char *src,
                      int64_t src_column);
    /* Every element ← *value. */
    void (*fill)(size_t element, int64_t n, char *dst, int64_t step, const void *value);
};

ISA_DECLARE(const struct copy_kernels, copy_kernels);

#endif
