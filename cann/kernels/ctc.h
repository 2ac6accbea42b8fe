/* SPDX-License-Identifier: BSD-3-Clause */
/* Connectionist temporal classification of one sequence: the forward and backward recursions over the labels with
 * blanks between (A. Graves and others, 2006). Logarithms of probabilities; float or double. */
#ifndef ANYNPU_KERNELS_CTC_H
#define ANYNPU_KERNELS_CTC_H

#include <stdint.h>

#include "acl/acl_base.h"
#include "kernels/isa.h"

struct ctc {
    int64_t times, classes, blank; /* of this sequence */
    int64_t labels;                /* its length; with blanks 2 labels + 1 states */
    const int64_t *label;
    int64_t step;   /* elements between two times of the probabilities and gradients */
    int64_t states; /* elements of a row of alpha, ≥ 2 labels + 1 */
    int64_t all;    /* rows of alpha and of the gradient: times of the longest sequence */
};

struct ctc_kernels {
    /* Fills alpha[all][states] with log of the forward variables (-inf where there are none) and returns the negative
     * log likelihood. */
    double (*forward)(const struct ctc *c, aclDataType type, const void *probability, void *alpha);
    /* The gradient by the probabilities, times g; -inf in nll with zero_infinity gives zeros. beta: 2 · (2 labels + 1)
     * doubles, sums: classes doubles. */
    void (*gradient)(const struct ctc *c, aclDataType type, const void *probability, const void *alpha, double nll,
                     double g, double *beta, double *sums, void *out);
};

ISA_DECLARE(const struct ctc_kernels, ctc_kernels);

#endif
