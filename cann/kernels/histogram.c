/* SPDX-License-Identifier: BSD-3-Clause */
/* Counting: see histogram.h. Bins are found block by block, counts follow one by one. */
#include "kernels/histogram.h"

#include <math.h>

#include "kernels/block.h"
#include "kernels/lanes.h"

static float rounded(aclDataType dtype, float x)
{
    return dtype == ACL_BF16 ? bf16_to_float(bf16_from_float(x)) : f16_to_float(f16_from_float(x));
}

/* PyTorch rounds every step to the 16-bit type. */
static float narrow_place(aclDataType dtype, float x, float low, float high, float bins)
{
    float at = rounded(dtype, rounded(dtype, x - low) * rounded(dtype, bins));
    return rounded(dtype, at / rounded(dtype, high - low));
}

static void bins_f32(aclDataType dtype, int64_t n, const char *x, float low, float high, int64_t bins, int64_t *count)
{
    float buffer[BLOCK];
    int32_t bin[BLOCK];
    int64_t size = (int64_t)dtype_size(dtype);
    for (int64_t m; n > 0; n -= m, x += m * size) {
        m = n < BLOCK ? n : BLOCK;
        const float *v = block_f32(dtype, m, x, size, buffer);
        for (int64_t i = 0; i < m; i++) {
            bool inside = (v[i] >= low) & (v[i] <= high);
            float at = dtype == ACL_FLOAT ? (v[i] - low) * (float)bins / (high - low)
                                          : narrow_place(dtype, v[i], low, high, (float)bins);
            bin[i] = inside ? (int32_t)(inside ? at : 0) : -1;
        }
        for (int64_t i = 0; i < m; i++)
            if (bin[i] >= 0)
                count[bin[i] < bins ? bin[i] : bins - 1]++;
    }
}

static void bins_f64(aclDataType dtype, int64_t n, const char *x, double low, double high, int64_t bins, int64_t *count)
{
    double buffer[BLOCK];
    int64_t size = (int64_t)dtype_size(dtype);
    for (int64_t m; n > 0; n -= m, x += m * size) {
        m = n < BLOCK ? n : BLOCK;
        const double *v = block_f64(dtype, m, x, size, buffer);
        for (int64_t i = 0; i < m; i++) {
            if (!(v[i] >= low && v[i] <= high))
                continue;
            int64_t bin = (int64_t)((v[i] - low) * (double)bins / (high - low));
            count[bin < bins ? bin : bins - 1]++;
        }
    }
}

static bool narrow(aclDataType dtype)
{
    return dtype == ACL_FLOAT || dtype == ACL_FLOAT16 || dtype == ACL_BF16;
}

static void bins(aclDataType dtype, int64_t n, const char *x, double low, double high, int64_t how_many, int64_t *count)
{
    if (narrow(dtype) && how_many < INT32_MAX / 2)
        bins_f32(dtype, n, x, (float)low, (float)high, how_many, count);
    else
        bins_f64(dtype, n, x, low, high, how_many, count);
}

static void range(aclDataType dtype, int64_t n, const char *x, double *low, double *high)
{
    double buffer[BLOCK];
    int64_t size = (int64_t)dtype_size(dtype);
    *low = INFINITY;
    *high = -INFINITY;
    for (int64_t m; n > 0; n -= m, x += m * size) {
        m = n < BLOCK ? n : BLOCK;
        const double *v = block_f64(dtype, m, x, size, buffer);
        *low = extreme_f64(true, *low, extreme_of_f64(true, m, v));
        *high = extreme_f64(false, *high, extreme_of_f64(false, m, v));
    }
}

static int64_t values(aclDataType dtype, int64_t n, const char *x, int64_t how_many, int64_t *count)
{
    int64_t buffer[BLOCK], size = (int64_t)dtype_size(dtype);
    for (int64_t i = 0, m; i < n; i += m, x += m * size) {
        m = n - i < BLOCK ? n - i : BLOCK;
        const int64_t *v = block_i64(dtype, m, x, size, buffer);
        for (int64_t k = 0; k < m; k++) {
            if (v[k] < 0 || v[k] >= how_many)
                return i + k;
            count[v[k]]++;
        }
    }
    return -1;
}

static int64_t weights(aclDataType dtype, int64_t n, const char *x, aclDataType weight_dtype, const char *weight,
                       int64_t how_many, double *sum)
{
    int64_t buffer[BLOCK], size = (int64_t)dtype_size(dtype), weight_size = (int64_t)dtype_size(weight_dtype);
    double buffer2[BLOCK];
    for (int64_t i = 0, m; i < n; i += m, x += m * size, weight += m * weight_size) {
        m = n - i < BLOCK ? n - i : BLOCK;
        const int64_t *v = block_i64(dtype, m, x, size, buffer);
        const double *w = block_f64(weight_dtype, m, weight, weight_size, buffer2);
        for (int64_t k = 0; k < m; k++) {
            if (v[k] < 0 || v[k] >= how_many)
                return i + k;
            sum[v[k]] += w[k];
        }
    }
    return -1;
}

const struct histogram_kernels ISA(histogram_kernels) = {bins, range, values, weights};
