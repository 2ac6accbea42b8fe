/* SPDX-License-Identifier: BSD-3-Clause */
/* Connectionist temporal classification; see ctc.h. */
#include "kernels/ctc.h"

#include <math.h>

/* log(e^a + e^b + e^c) */
static double log_sum(double a, double b, double c)
{
    double top = a > b ? a : b;
    top = top > c ? top : c;
    if (top == -(double)INFINITY)
        return top;
    return top + log(exp(a - top) + exp(b - top) + exp(c - top));
}

static int64_t state_class(const struct ctc *c, int64_t s)
{
    return s % 2 ? c->label[s / 2] : c->blank;
}

/* May a path go from state s - 2 to s, past a blank? */
static int skips(const struct ctc *c, int64_t s)
{
    return s % 2 && s >= 2 && c->label[s / 2] != c->label[s / 2 - 1];
}

#define T       float
#define NAME(x) x##_f32
#include "kernels/ctc_typed.h"

#define T       double
#define NAME(x) x##_f64
#include "kernels/ctc_typed.h"

static double forward(const struct ctc *c, aclDataType type, const void *probability, void *alpha)
{
    return type == ACL_DOUBLE ? forward_f64(c, probability, alpha) : forward_f32(c, probability, alpha);
}

static void gradient(const struct ctc *c, aclDataType type, const void *probability, const void *alpha, double nll,
                     double g, double *beta, double *sums, void *out)
{
    if (type == ACL_DOUBLE)
        gradient_f64(c, probability, alpha, nll, g, beta, sums, out);
    else
        gradient_f32(c, probability, alpha, nll, g, beta, sums, out);
}

const struct ctc_kernels ISA(ctc_kernels) = {forward, gradient};
