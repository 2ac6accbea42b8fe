/* SPDX-License-Identifier: BSD-3-Clause */
/* Fourier transforms along an axis and of frames, determinants; computed in double. */
#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/operators/row.h"
#include "runtime/door.h"

/* y[k] = sum of x[i * step] e^(sign 2 pi i k / n), halved as long as n is even. */
static void transform(const double complex *x, int64_t step, int64_t n, double sign, double complex *y,
                      double complex *scratch)
{
    if (n % 2 == 0 && n > 1) {
        int64_t half = n / 2;
        transform(x, 2 * step, half, sign, scratch, y);
        transform(x + step, 2 * step, half, sign, scratch + half, y + half);
        for (int64_t k = 0; k < half; k++) {
            double complex odd = cexp(sign * 2 * M_PI * I * (double)k / (double)n) * scratch[half + k];
            y[k] = scratch[k] + odd;
            y[k + half] = scratch[k] - odd;
        }
        return;
    }
    for (int64_t k = 0; k < n; k++) {
        y[k] = 0;
        for (int64_t i = 0; i < n; i++)
            y[k] += x[i * step] * cexp(sign * 2 * M_PI * I * (double)(i * k % n) / (double)n);
    }
}

/* Rows of x: [outer, n_in, inner, parts]; of y: [outer, n_out, inner, parts_out]. Frames: each of `frames` rows of an
 * outer one begins `hop` elements after the one before and is weighted. */
struct dft {
    const double *x, *window;
    double *y;
    int64_t outer, inner, n_in, n, n_out, frames, hop;
    int parts, parts_out;
    bool inverse, completes; /* the input is the half of a spectrum whose rest mirrors it */
};

static void read_row(const struct dft *d, int64_t outer, int64_t frame, int64_t inner, double complex *to)
{
    int64_t given = d->frames ? d->n : d->n_in < d->n ? d->n_in : d->n;
    for (int64_t i = 0; i < d->n; i++) {
        int64_t at = frame * d->hop + i;
        const double *x = d->x + ((outer * d->n_in + at) * d->inner + inner) * d->parts;
        to[i] = i < given && at < d->n_in ? x[0] + (d->parts == 2 ? x[1] * I : 0) : 0;
        if (d->window)
            to[i] *= d->window[i];
    }
    for (int64_t i = d->n / 2 + 1; d->completes && i < d->n; i++)
        to[i] = conj(to[d->n - i]);
}

static void dft_piece(void *arg, int64_t begin, int64_t end)
{
    const struct dft *d = arg;
    double complex *row = malloc(sizeof *row * (size_t)(3 * d->n + 1));
    int64_t frames = d->frames ? d->frames : 1;
    for (int64_t r = begin; row && r < end; r++) {
        int64_t inner = r % d->inner, frame = r / d->inner % frames, outer = r / d->inner / frames;
        double complex *y = row + d->n;
        read_row(d, outer, frame, inner, row);
        transform(row, 1, d->n, d->inverse ? 1 : -1, y, y + d->n);
        for (int64_t k = 0; k < d->n_out; k++) {
            double complex v = d->inverse ? y[k] / (double)d->n : y[k];
            double *to = d->y + (((outer * frames + frame) * d->n_out + k) * d->inner + inner) * d->parts_out;
            to[0] = creal(v);
            if (d->parts_out == 2)
                to[1] = cimag(v);
        }
    }
    free(row);
}

static int run_dft(void *arg)
{
    struct dft d = *(const struct dft *)arg;
    d.x = device_address(d.x);
    d.y = device_address(d.y);
    d.window = d.window ? device_address(d.window) : NULL;
    parallel(d.outer * d.inner * (d.frames ? d.frames : 1), 1, dft_piece, &d);
    return 0;
}

static bool check_signal(struct op *op, const struct operand *x, int64_t n)
{
    int64_t parts = x->rank ? x->dim[x->rank - 1] : 0;
    bool fine = x->rank >= 2 && (parts == 1 || parts == 2) && n > 0 && n < 1 << 28;
    if (!fine)
        op_fail(op, GRAPH_INVALID, "a transform of %lld points of a tensor whose last dimension is %lld", (long long)n,
                (long long)parts);
    return fine;
}

static void define_dft(struct op *op)
{
    struct operand *x = op_in(op, 0);
    size_t count;
    const int64_t *length = op_in(op, 1) ? op_whole(op, 1, &count) : NULL;
    const int64_t *given = op_version(op) >= 20 && op_in(op, 2) ? op_whole(op, 2, &count) : NULL;
    if (op_open(op)) {
        op_result_open(op, 0, x->dtype, x->rank, NULL);
        return;
    }
    if (x->rank < 2) {
        op_fail(op, GRAPH_INVALID, "a signal of %d dimensions", x->rank);
        return;
    }
    int axis = op_axis(op, given ? given[0] : op_version(op) >= 20 ? -2 : op_int(op, "axis", 1), x->rank);
    struct dft d = {.inverse = op_int(op, "inverse", 0), .n_in = x->dim[axis], .parts = (int)x->dim[x->rank - 1]};
    bool half = op_int(op, "onesided", 0);
    d.completes = d.inverse && half;
    d.n = length ? length[0] : d.completes ? 2 * (d.n_in - 1) : d.n_in;
    d.n_out = half && !d.inverse ? d.n / 2 + 1 : d.n;
    d.parts_out = d.completes ? 1 : 2;
    d.outer = op_span(x, 0, axis);
    d.inner = op_span(x, axis + 1, x->rank - 1);
    if (!check_signal(op, x, d.n))
        return;
    int64_t dim[OP_RANK];
    memcpy(dim, x->dim, sizeof dim);
    dim[axis] = d.n_out;
    dim[x->rank - 1] = d.parts_out;
    struct operand *y = op_result(op, 0, x->dtype, x->rank, dim), *to = op_temp(op, ACL_DOUBLE, x->rank, dim);
    d.x = op_data(op, op_cast(op, x, ACL_DOUBLE));
    d.y = op_data(op, to);
    op_host(op, "DFT", run_dft, &d, sizeof d);
    op_copy(op, y, to);
}

static void define_stft(struct op *op)
{
    struct operand *x = op_in(op, 0), *window = op_in(op, 2);
    size_t count;
    const int64_t *step = op_whole(op, 1, &count), *length = op_in(op, 3) ? op_whole(op, 3, &count) : NULL;
    if (!step || op_open(op)) {
        op_result_open(op, 0, x->dtype, 4, NULL);
        return;
    }
    struct dft d = {.inner = 1, .parts_out = 2, .hop = step[0], .outer = x->dim[0]};
    d.n_in = x->rank > 1 ? x->dim[1] : 0;
    d.parts = x->rank > 2 ? (int)x->dim[2] : 1;
    d.n = length ? length[0] : window ? op_count(window) : d.n_in;
    d.n_out = op_int(op, "onesided", 1) ? d.n / 2 + 1 : d.n;
    if (x->rank != 3 || d.hop < 1 || d.n > d.n_in || (window && op_count(window) != d.n)) {
        op_fail(op, GRAPH_INVALID, "frames of %lld every %lld of a signal of %lld", (long long)d.n, (long long)d.hop,
                (long long)d.n_in);
        return;
    }
    if (!check_signal(op, x, d.n))
        return;
    d.frames = 1 + (d.n_in - d.n) / d.hop;
    int64_t dim[] = {d.outer, d.frames, d.n_out, 2};
    struct operand *y = op_result(op, 0, x->dtype, 4, dim), *to = op_temp(op, ACL_DOUBLE, 4, dim);
    d.x = op_data(op, op_cast(op, x, ACL_DOUBLE));
    d.window = op_data(op, window ? op_cast(op, window, ACL_DOUBLE) : NULL);
    d.y = op_data(op, to);
    op_host(op, "STFT", run_dft, &d, sizeof d);
    op_copy(op, y, to);
}

/* ---- determinants ---- */

struct det {
    double *x, *y; /* x is used up */
    int64_t count, n;
};

static double eliminate(double *a, int64_t n)
{
    double det = 1;
    for (int64_t c = 0; c < n; c++) {
        int64_t pivot = c;
        for (int64_t r = c + 1; r < n; r++)
            if (fabs(a[r * n + c]) > fabs(a[pivot * n + c]))
                pivot = r;
        if (a[pivot * n + c] == 0)
            return 0;
        for (int64_t k = 0; pivot != c && k < n; k++) {
            double t = a[c * n + k];
            a[c * n + k] = a[pivot * n + k];
            a[pivot * n + k] = t;
        }
        det *= pivot == c ? a[c * n + c] : -a[c * n + c];
        for (int64_t r = c + 1; r < n; r++) {
            double f = a[r * n + c] / a[c * n + c];
            for (int64_t k = c; k < n; k++)
                a[r * n + k] -= f * a[c * n + k];
        }
    }
    return det;
}

static int run_det(void *arg)
{
    const struct det *d = arg;
    double *x = device_address(d->x), *y = device_address(d->y);
    for (int64_t i = 0; i < d->count; i++)
        y[i] = eliminate(x + i * d->n * d->n, d->n);
    return 0;
}

static void define_det(struct op *op)
{
    struct operand *x = op_in(op, 0);
    if (x->rank < 2 || x->dim[x->rank - 1] != x->dim[x->rank - 2]) {
        op_fail(op, GRAPH_INVALID, "takes square matrices");
        return;
    }
    struct operand *y = op_result(op, 0, x->dtype, x->rank - 2, x->dim);
    struct operand *from = op_temp(op, ACL_DOUBLE, x->rank, x->dim), *to = op_temp(op, ACL_DOUBLE, y->rank, y->dim);
    op_copy(op, from, x);
    struct det d = {op_data(op, from), op_data(op, to), op_count(y), x->dim[x->rank - 1]};
    op_host(op, "Det", run_det, &d, sizeof d);
    op_copy(op, y, to);
}

const struct operator_row operators_signal[] = {
    ROW("DFT", 17, 0, 0, 1, 3, 1, 1, define_dft, NULL, 0),
    ROW("STFT", 17, 0, 0, 2, 4, 1, 1, define_stft, NULL, 0),
    ROW("Det", 11, 0, 0, 1, 1, 1, 1, define_det, NULL, 0),
    {0},
};
