/* SPDX-License-Identifier: BSD-3-Clause */
/* Recurrent layers, row by row of a batch: the cell of an LSTM by itself, whose 16-bit floats compute in float; and a
 * step of a whole sequence, of an LSTM or GRU, in float or double. Gates stand side by side in a row: input, forget,
 * cell, output; reset, update, new. */
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

/* What a step keeps for the gradient: the gates as they were used, the new state, … */
enum { LSTM_I, LSTM_G, LSTM_F, LSTM_O, LSTM_H, LSTM_C, LSTM_TANH_C, LSTM_KEPT };
enum { GRU_R, GRU_Z, GRU_N, GRU_HN /* the state's part of n */, GRU_H, GRU_KEPT };
enum { RECURRENT_KEPT = LSTM_KEPT };

/* One row of one step: `hidden` units. */
struct recurrent_row {
    const void *input, *bias;   /* gates from the input; the biases of those from the state, or NULL */
    void *state;                /* gates from the state; used up */
    void *h, *c, *y;            /* the states, replaced (c: LSTM); h goes to y too */
    void *kept[RECURRENT_KEPT]; /* all of them or none */
};

/* Its gradient. The gates' goes to `gates`, and as seen from the state to `state` (GRU; unused by LSTM). */
struct recurrent_gradient {
    const void *grad_y;                        /* NULL: zeros */
    const void *kept[RECURRENT_KEPT], *before; /* the former c (LSTM) or h (GRU) */
    void *grad_h,
        *grad_c; /* of the new states; replaced by that of the former, as far as it doesn't go through gates */
    void *gates, *state;
};

struct recurrent_kernels {
    void (*forward)(const struct lstm_cell *c, int64_t begin, int64_t end); /* rows */
    void (*backward)(const struct lstm_cell_gradient *c, int64_t begin, int64_t end);
    /* out[i] = the sum of column i over rows, for columns [begin, end) of x [rows, columns]; in the rows' order */
    void (*sum_rows)(aclDataType dtype, int64_t rows, int64_t columns, const void *x, void *out, int64_t begin,
                     int64_t end);
    /* A step of one row; dtype: ACL_FLOAT, ACL_DOUBLE */
    void (*lstm)(aclDataType dtype, int64_t hidden, const struct recurrent_row *row);
    void (*gru)(aclDataType dtype, int64_t hidden, const struct recurrent_row *row);
    void (*lstm_backward)(aclDataType dtype, int64_t hidden, const struct recurrent_gradient *row);
    void (*gru_backward)(aclDataType dtype, int64_t hidden, const struct recurrent_gradient *row);
};

ISA_DECLARE(const struct recurrent_kernels, recurrent_kernels);

#endif
