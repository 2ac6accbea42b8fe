/* SPDX-License-Identifier: BSD-3-Clause */
/* The cell of an LSTM, forward and backward, row by row of a batch. Gates stand side by side in a row: input, forget,
 * cell, output. 16-bit floats compute in float. */
#ifndef ANYNPU_KERNELS_RECURRENT_H
#define ANYNPU_KERNELS_RECURRENT_H

#include <stdint.h>

#include "acl/acl_base.h"
#include "kernels/isa.h"

/* Dense arrays: gates [rows, 4 hidden], states [rows, hidden], biases [4 hidden] (NULL: none). */
struct lstm_cell {
    aclDataType dtype;
    int64_t hidden;
    const void *input, *state, *input_bias, *state_bias; /* gates from the input and from the former state */
    const void *cx;
    void *hy, *cy;
    void *active; /* the gates as they were used, [rows, 4 hidden] */
};

struct lstm_cell_gradient {
    aclDataType dtype;
    int64_t hidden;
    const void *grad_hy, *grad_cy; /* NULL: zeros */
    const void *cx, *cy, *active;
    void *gates, *grad_cx;
};

struct recurrent_kernels {
    void (*forward)(const struct lstm_cell *c, int64_t begin, int64_t end); /* rows */
    void (*backward)(const struct lstm_cell_gradient *c, int64_t begin, int64_t end);
    /* out[i] = the sum of column i over rows, for columns [begin, end) of x [rows, columns]; in the rows' order */
    void (*sum_rows)(aclDataType dtype, int64_t rows, int64_t columns, const void *x, void *out, int64_t begin,
                     int64_t end);
};

ISA_DECLARE(const struct recurrent_kernels, recurrent_kernels);

#endif
