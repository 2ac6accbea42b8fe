/* SPDX-License-Identifier: BSD-3-Clause */
/* Distances of one type, included by distance.c with  T  and  NAME(x). */

static double NAME(one)(const T *x, const T *y, int64_t d, double p)
{
    double sum = 0;
    for (int64_t i = 0; i < d; i++) {
        double a = fabs((double)x[i] - (double)y[i]);
        sum = p == 2                  ? sum + a * a
              : p == 1                ? sum + a
              : p == 0                ? sum + (a != 0)
              : p == (double)INFINITY ? (a > sum || a != a ? a : sum)
                                      : sum + pow(a, p);
    }
    return p == 2 ? sqrt(sum) : p == 0 || p == 1 || p == (double)INFINITY ? sum : pow(sum, 1 / p);
}

static void NAME(row)(const T *x, const T *y, int64_t n, int64_t d, double p, T *out)
{
    for (int64_t j = 0; j < n; j++)
        out[j] = (T)NAME(one)(x, y + j * d, d, p);
}

static void NAME(gradient)(const T *x, const T *y, const T *g, const T *distance, int64_t n, int64_t d, double p, T *gx)
{
    for (int64_t i = 0; i < d; i++) {
        double sum = (double)gx[i];
        for (int64_t j = 0; j < n; j++)
            sum += (double)g[j] * slope((double)(T)(x[i] - y[j * d + i]), (double)distance[j], p);
        gx[i] = (T)sum;
    }
}

#undef T
#undef NAME
