/* SPDX-License-Identifier: BSD-3-Clause */
/* Distances between rows; see distance.h. Sums run in order, general powers in double. */
#include "kernels/distance.h"

#include <math.h>

static double sign(double x)
{
    return (x > 0) - (x < 0);
}

/* The derivative of the distance by a difference. */
static double slope(double difference, double distance, double p)
{
    double a = fabs(difference);
    if (p == 1)
        return sign(difference);
    if (p == 2)
        return distance == 0 ? 0 : difference / distance;
    if (p == 0 || distance == 0 || (p < 1 && a == 0))
        return 0;
    if (p == (double)INFINITY)
        return a == distance ? sign(difference) : 0;
    return sign(difference) * pow(a / distance, p - 1);
}

#define T       float
#define NAME(x) x##_f32
#include "kernels/distance_typed.h"

#define T       double
#define NAME(x) x##_f64
#include "kernels/distance_typed.h"

static void row(aclDataType type, const void *x, const void *y, int64_t n, int64_t d, double p, void *out)
{
    if (type == ACL_DOUBLE)
        row_f64(x, y, n, d, p, out);
    else
        row_f32(x, y, n, d, p, out);
}

static void gradient(aclDataType type, const void *x, const void *y, const void *g, const void *distance, int64_t n,
                     int64_t d, double p, void *gx)
{
    if (type == ACL_DOUBLE)
        gradient_f64(x, y, g, distance, n, d, p, gx);
    else
        gradient_f32(x, y, g, distance, n, d, p, gx);
}

const struct distance_kernels ISA(distance_kernels) = {row, gradient};
