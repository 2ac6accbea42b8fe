/* SPDX-License-Identifier: BSD-3-Clause */
/* Normalisation in one compute type; kernels/norm.c includes this for float and double, with T, NAME(x), BLOCK_OF,
 * STORE and DIRECT(dtype) (is that T as it lies in memory?) defined; undefines them. */

/* Some planes of n elements: those that fit a block together, or a part of one that does not. */
struct NAME(part) {
    int64_t plane, planes, at, size;
};

BLOCK_INLINE bool NAME(next_part)(struct NAME(part) * p, const struct norm_planes *shape)
{
    p->at += p->size;
    if (p->at >= shape->n) {
        p->at = 0;
        p->plane += p->planes;
    }
    if (p->plane >= shape->planes || !shape->n)
        return false;
    p->size = shape->n - p->at < BLOCK ? shape->n - p->at : BLOCK;
    int64_t most = shape->n <= BLOCK / 2 ? BLOCK / shape->n : 1;
    p->planes = shape->planes - p->plane < most ? shape->planes - p->plane : most;
    return true;
}

/* The part's elements side by side. */
BLOCK_INLINE const T *NAME(gather)(aclDataType dtype, const struct NAME(part) * p, const struct norm_planes *shape,
                                   const char *data, T *restrict buffer)
{
    int64_t size = (int64_t)dtype_size(dtype), step = shape->step * size;
    data += p->plane * step + p->at * size;
    if (p->planes == 1)
        return BLOCK_OF(dtype, p->size, data, size, buffer);
    for (int64_t k = 0; k < p->planes; k++, data += step) {
        if (DIRECT(dtype))
            for (int64_t i = 0; i < p->size; i++)
                buffer[k * p->size + i] = ((const T *)data)[i];
        else
            LOAD(dtype, p->size, data, size, buffer + k * p->size);
    }
    return buffer;
}

BLOCK_INLINE void NAME(scatter)(aclDataType dtype, const struct NAME(part) * p, const struct norm_planes *shape,
                                const T *restrict done, char *data)
{
    int64_t size = (int64_t)dtype_size(dtype), step = shape->step * size;
    data += p->plane * step + p->at * size;
    for (int64_t k = 0; k < p->planes; k++, data += step) {
        if (DIRECT(dtype))
            for (int64_t i = 0; i < p->size; i++)
                ((T *)data)[i] = done[k * p->size + i];
        else
            STORE(dtype, p->size, done + k * p->size, data, size);
    }
}

static void NAME(moments)(const struct norm_types *t, const struct norm_planes *shape, const char *x, double *moments)
{
    T buffer[BLOCK];
    for (struct NAME(part) p = {0}; NAME(next_part)(&p, shape);) {
        int64_t m = p.planes * p.size;
        const T *xs = NAME(gather)(t->x, &p, shape, x, buffer);
        T centre = NAME(sum_of)(m, xs) / (T)m, off = 0;
        double squares = NAME(lanes_sum)(LANES_SQUARES_ABOUT, m, xs, NULL, centre);
        if (m >= 64) /* what the mean of many lacks */
            off = NAME(lanes_sum)(LANES_ABOUT, m, xs, NULL, centre);
        double n = moments[2] + (double)m, mean = centre + (double)off / (double)m, delta = mean - moments[0];
        squares -= (double)off * off / (double)m;
        moments[1] += squares + delta * delta * (moments[2] * (double)m / n);
        moments[0] += delta * ((double)m / n);
        moments[2] = n;
    }
}

static void NAME(sums)(const struct norm_types *t, const struct norm_planes *shape, const char *g, const char *x,
                       double mean, double *sum)
{
    T buffer[BLOCK], buffer2[BLOCK];
    for (struct NAME(part) p = {0}; NAME(next_part)(&p, shape);) {
        int64_t m = p.planes * p.size;
        const T *gs = NAME(gather)(t->grad, &p, shape, g, buffer), *xs = NAME(gather)(t->x, &p, shape, x, buffer2);
        sum[0] += NAME(sum_of)(m, gs);
        sum[1] += NAME(lanes_sum)(LANES_DOT_ABOUT, m, xs, gs, (T)mean);
    }
}

/* Each plane where it lies: for types that need no conversion. */
static void NAME(scale_planes)(const struct norm_planes *shape, const T *restrict x, const struct norm_channel *c,
                               T *restrict out)
{
    T mean = (T)c->mean, factor = (T)c->factor, shift = (T)c->shift;
    for (int64_t k = 0; k < shape->planes; k++, x += shape->step, out += shape->step)
        for (int64_t i = 0; i < shape->n; i++)
            out[i] = (x[i] - mean) * factor + shift;
}

static void NAME(gradient_planes)(const struct norm_planes *shape, const T *restrict g, const T *restrict x,
                                  const struct norm_channel *c, T *restrict out)
{
    T mean = (T)c->mean, factor = (T)c->factor, shift = (T)c->shift, slope = (T)c->slope;
    for (int64_t k = 0; k < shape->planes; k++, g += shape->step, x += shape->step, out += shape->step)
        for (int64_t i = 0; i < shape->n; i++)
            out[i] = (g[i] * factor - shift) - (x[i] - mean) * slope;
}

static void NAME(scale)(const struct norm_types *t, const struct norm_planes *shape, const char *x,
                        const struct norm_channel *c, char *out)
{
    if (DIRECT(t->x) && DIRECT(t->out)) {
        NAME(scale_planes)(shape, (const T *)x, c, (T *)out);
        return;
    }
    T buffer[BLOCK], done[BLOCK], mean = (T)c->mean, factor = (T)c->factor, shift = (T)c->shift;
    for (struct NAME(part) p = {0}; NAME(next_part)(&p, shape);) {
        int64_t m = p.planes * p.size;
        const T *restrict xs = NAME(gather)(t->x, &p, shape, x, buffer);
        for (int64_t i = 0; i < m; i++)
            done[i] = (xs[i] - mean) * factor + shift;
        NAME(scatter)(t->out, &p, shape, done, out);
    }
}

static void NAME(gradient)(const struct norm_types *t, const struct norm_planes *shape, const char *g, const char *x,
                           const struct norm_channel *c, char *out)
{
    if (DIRECT(t->grad) && DIRECT(t->x) && DIRECT(t->out)) {
        NAME(gradient_planes)(shape, (const T *)g, (const T *)x, c, (T *)out);
        return;
    }
    T buffer[BLOCK], buffer2[BLOCK], done[BLOCK];
    T mean = (T)c->mean, factor = (T)c->factor, shift = (T)c->shift, slope = (T)c->slope;
    for (struct NAME(part) p = {0}; NAME(next_part)(&p, shape);) {
        int64_t m = p.planes * p.size;
        const T *restrict gs = NAME(gather)(t->grad, &p, shape, g, buffer);
        const T *restrict xs = NAME(gather)(t->x, &p, shape, x, buffer2);
        for (int64_t i = 0; i < m; i++)
            done[i] = (gs[i] * factor - shift) - (xs[i] - mean) * slope;
        NAME(scatter)(t->out, &p, shape, done, out);
    }
}

/* ---- channels side by side ---- */

/* Rows × cols as pieces that fit a block: many narrow rows or a part of a wide one. */
struct NAME(tile) {
    int64_t row, rows, col, cols;
};

BLOCK_INLINE bool NAME(next_tile)(struct NAME(tile) * p, int64_t rows, int64_t cols)
{
    p->col += p->cols;
    if (p->col >= cols) {
        p->col = 0;
        p->row += p->rows;
    }
    if (p->row >= rows || !cols)
        return false;
    p->cols = cols - p->col < BLOCK ? cols - p->col : BLOCK;
    int64_t most = cols <= BLOCK ? BLOCK / cols : 1;
    p->rows = rows - p->row < most ? rows - p->row : most;
    return true;
}

static void NAME(sums_columns)(const struct norm_types *t, int64_t rows, int64_t cols, const char *g, const char *x,
                               const T *restrict mean, double *restrict sum_g, double *restrict sum_gx)
{
    T buffer[BLOCK], buffer2[BLOCK], part[BLOCK], part2[BLOCK];
    int64_t g_size = (int64_t)dtype_size(t->grad), x_size = (int64_t)dtype_size(t->x);
    for (struct NAME(tile) p = {0}; NAME(next_tile)(&p, rows, cols);) {
        int64_t at = p.row * cols + p.col, m = p.rows * p.cols;
        const T *restrict gs = BLOCK_OF(t->grad, m, g + at * g_size, g_size, buffer);
        const T *restrict xs = BLOCK_OF(t->x, m, x + at * x_size, x_size, buffer2);
        for (int64_t j = 0; j < p.cols; j++) {
            part[j] = gs[j];
            part2[j] = gs[j] * (xs[j] - mean[p.col + j]);
        }
        for (int64_t r = 1; r < p.rows; r++)
            for (int64_t j = 0; j < p.cols; j++) {
                part[j] += gs[r * p.cols + j];
                part2[j] += gs[r * p.cols + j] * (xs[r * p.cols + j] - mean[p.col + j]);
            }
        for (int64_t j = 0; j < p.cols; j++) {
            sum_g[p.col + j] += part[j];
            sum_gx[p.col + j] += part2[j];
        }
    }
}

static void NAME(scale_columns)(const struct norm_types *t, int64_t rows, int64_t cols, const char *x,
                                const T *restrict mean, const T *restrict factor, const T *restrict shift, char *out)
{
    T buffer[BLOCK], done[BLOCK];
    int64_t x_size = (int64_t)dtype_size(t->x), out_size = (int64_t)dtype_size(t->out);
    for (struct NAME(tile) p = {0}; NAME(next_tile)(&p, rows, cols);) {
        int64_t at = p.row * cols + p.col, m = p.rows * p.cols;
        const T *restrict xs = BLOCK_OF(t->x, m, x + at * x_size, x_size, buffer);
        T *restrict to = DIRECT(t->out) ? (T *)(out + at * out_size) : done;
        for (int64_t r = 0; r < p.rows; r++)
            for (int64_t j = 0; j < p.cols; j++)
                to[r * p.cols + j] = (xs[r * p.cols + j] - mean[p.col + j]) * factor[p.col + j] + shift[p.col + j];
        if (!DIRECT(t->out))
            STORE(t->out, m, done, out + at * out_size, out_size);
    }
}

static void NAME(gradient_columns)(const struct norm_types *t, int64_t rows, int64_t cols, const char *g, const char *x,
                                   const T *restrict mean, const T *restrict factor, const T *restrict shift,
                                   const T *restrict slope, char *out)
{
    T buffer[BLOCK], buffer2[BLOCK], done[BLOCK];
    int64_t g_size = (int64_t)dtype_size(t->grad), x_size = (int64_t)dtype_size(t->x);
    int64_t out_size = (int64_t)dtype_size(t->out);
    for (struct NAME(tile) p = {0}; NAME(next_tile)(&p, rows, cols);) {
        int64_t at = p.row * cols + p.col, m = p.rows * p.cols;
        const T *restrict gs = BLOCK_OF(t->grad, m, g + at * g_size, g_size, buffer);
        const T *restrict xs = BLOCK_OF(t->x, m, x + at * x_size, x_size, buffer2);
        T *restrict to = DIRECT(t->out) ? (T *)(out + at * out_size) : done;
        for (int64_t r = 0; r < p.rows; r++)
            for (int64_t j = 0; j < p.cols; j++) {
                int64_t k = p.col + j;
                T d = xs[r * p.cols + j] - mean[k];
                to[r * p.cols + j] = (gs[r * p.cols + j] * factor[k] - shift[k]) - d * slope[k];
            }
        if (!DIRECT(t->out))
            STORE(t->out, m, done, out + at * out_size, out_size);
    }
}

/* ---- layer norm ---- */

/* The row's statistics; a row that fits a block is loaded into buffer once. */
static void NAME(row_moments)(const struct norm_layer *l, const char *x, const T *loaded, T *buffer, T *mean, T *rstd)
{
    int64_t size = (int64_t)dtype_size(l->type.x), most = DIRECT(l->type.x) ? 4 * BLOCK : BLOCK;
    double total = 0;
    if (!l->rms) {
        for (int64_t i = 0, m; i < l->n; i += m) {
            m = l->n - i < most ? l->n - i : most;
            total += NAME(sum_of)(m, loaded ? loaded : BLOCK_OF(l->type.x, m, x + i * size, size, buffer));
        }
        total /= (double)l->n;
    }
    *mean = (T)total;
    total = 0;
    for (int64_t i = 0, m; i < l->n; i += m) {
        m = l->n - i < most ? l->n - i : most;
        const T *xs = loaded ? loaded : BLOCK_OF(l->type.x, m, x + i * size, size, buffer);
        total += NAME(lanes_sum)(LANES_SQUARES_ABOUT, m, xs, NULL, *mean);
    }
    *rstd = (T)(1 / sqrt(total / (double)l->n + l->eps));
}

BLOCK_INLINE void NAME(affine)(int64_t n, const T *restrict x, T mean, T rstd, const T *restrict w, const T *restrict b,
                               T *restrict out)
{
    if (w && b)
        for (int64_t i = 0; i < n; i++)
            out[i] = (x[i] - mean) * rstd * w[i] + b[i];
    else if (w)
        for (int64_t i = 0; i < n; i++)
            out[i] = (x[i] - mean) * rstd * w[i];
    else if (b)
        for (int64_t i = 0; i < n; i++)
            out[i] = (x[i] - mean) * rstd + b[i];
    else
        for (int64_t i = 0; i < n; i++)
            out[i] = (x[i] - mean) * rstd;
}

static void NAME(layer)(const struct norm_layer *l, int64_t rows, const char *x, char *out, T *mean, T *rstd)
{
    T buffer[BLOCK], done[BLOCK];
    const T *w = l->weight, *b = l->bias;
    int64_t n = l->n, size = (int64_t)dtype_size(l->type.x), out_size = (int64_t)dtype_size(l->type.out);
    for (int64_t r = 0; r < rows; r++, x += n * size, out += n * out_size) {
        const T *loaded = n <= BLOCK ? BLOCK_OF(l->type.x, n, x, size, buffer) : NULL;
        NAME(row_moments)(l, x, loaded, buffer, &mean[r], &rstd[r]);
        for (int64_t i = 0, m; i < n; i += m) {
            m = n - i < BLOCK ? n - i : BLOCK;
            const T *xs = loaded ? loaded : BLOCK_OF(l->type.x, m, x + i * size, size, buffer);
            T *to = DIRECT(l->type.out) ? (T *)out + i : done;
            NAME(affine)(m, xs, mean[r], rstd[r], w ? w + i : NULL, b ? b + i : NULL, to);
            if (!DIRECT(l->type.out))
                STORE(l->type.out, m, done, out + i * out_size, out_size);
        }
    }
}

/* dx = rstd (g w − Σ g w / n − x̂ Σ g w x̂ / n), x̂ = (x − mean) rstd; RMS norm has no middle term. */
static void NAME(layer_gradient)(const struct norm_layer *l, int64_t rows, const char *g, const char *x,
                                 const T *restrict mean, const T *restrict rstd, char *dx, T *restrict dweight,
                                 T *restrict dbias)
{
    T buffer[BLOCK], buffer2[BLOCK], weighed[BLOCK], done[BLOCK];
    const T *restrict w = l->weight;
    int64_t n = l->n, g_size = (int64_t)dtype_size(l->type.grad), size = (int64_t)dtype_size(l->type.x);
    int64_t out_size = (int64_t)dtype_size(l->type.out);
    for (int64_t r = 0; r < rows; r++, g += n * g_size, x += n * size) {
        T centre = l->rms ? 0 : mean[r], scale = rstd[r];
        double sum = 0, sum_x = 0;
        for (int64_t i = 0, m; dx && i < n; i += m) {
            m = n - i < BLOCK ? n - i : BLOCK;
            const T *gs = BLOCK_OF(l->type.grad, m, g + i * g_size, g_size, buffer);
            const T *xs = BLOCK_OF(l->type.x, m, x + i * size, size, buffer2);
            if (w) {
                for (int64_t j = 0; j < m; j++)
                    weighed[j] = gs[j] * w[i + j];
                gs = weighed;
            }
            sum += l->rms ? 0 : NAME(sum_of)(m, gs);
            sum_x += NAME(lanes_sum)(LANES_DOT_ABOUT, m, xs, gs, centre);
        }
        T middle = (T)(sum / (double)n) * scale, slope = (T)(sum_x / (double)n) * scale * scale * scale;
        for (int64_t i = 0, m; i < n; i += m) {
            m = n - i < BLOCK ? n - i : BLOCK;
            const T *restrict gs = BLOCK_OF(l->type.grad, m, g + i * g_size, g_size, buffer);
            const T *restrict xs = BLOCK_OF(l->type.x, m, x + i * size, size, buffer2);
            if (dx) {
                T *restrict to = DIRECT(l->type.out) ? (T *)dx + i : done;
                if (w)
                    for (int64_t j = 0; j < m; j++)
                        to[j] = (gs[j] * w[i + j] * scale - middle) - (xs[j] - centre) * slope;
                else
                    for (int64_t j = 0; j < m; j++)
                        to[j] = (gs[j] * scale - middle) - (xs[j] - centre) * slope;
                if (!DIRECT(l->type.out))
                    STORE(l->type.out, m, done, dx + i * out_size, out_size);
            }
            if (dweight)
                for (int64_t j = 0; j < m; j++)
                    dweight[i + j] += gs[j] * ((xs[j] - centre) * scale);
            if (dbias)
                for (int64_t j = 0; j < m; j++)
                    dbias[i + j] += gs[j];
        }
        dx = dx ? dx + n * out_size : NULL;
    }
}

#undef T
#undef NAME
#undef BLOCK_OF
#undef STORE
#undef LOAD
#undef DIRECT
