/* SPDX-License-Identifier: BSD-3-Clause */
/* Elementwise kernels for complex numbers: the operations of elementwise.h that have a complex form. */
#ifndef ANYNPU_KERNELS_COMPLEX_H
#define ANYNPU_KERNELS_COMPLEX_H

#include "kernels/isa.h"
#include "kernels/loop.h"

struct complex_row {
    int op;
    walk_loop c64, c128;
};

struct complex_table {
    const struct complex_row *row;
    int count;
};

ISA_DECLARE(const struct complex_table, complex_kernels);

#endif
