/* SPDX-License-Identifier: BSD-3-Clause */
/* Grid sampling of one type, included by grid.c with  T, FN(f), libm's function for it, and NAME(x). */

/* One axis of a point: pixels inside the image, their weights and the weights' derivatives by the coordinate. */
struct NAME(axis) {
    int count;
    int64_t at[TAPS];
    T weight[TAPS], slope[TAPS];
};

/* All pixels of a point with their weights; slope[k]: by coordinate k (x, y, z). */
struct NAME(point) {
    int count;
    int64_t at[COMBINATIONS];
    T weight[COMBINATIONS], slope[3][COMBINATIONS];
};

/* Keeps a coordinate inside; *factor is multiplied by the derivative. */
static T NAME(clip)(T c, int64_t size, T *factor)
{
    T last = (T)(size - 1);
    *factor = c > 0 && c < last ? *factor : 0;
    return c > 0 ? (c < last ? c : last) : 0;
}

static T NAME(reflect)(T c, int64_t twice_low, int64_t twice_high, T *factor)
{
    if (twice_low == twice_high) {
        *factor = 0;
        return 0;
    }
    T low = (T)twice_low / 2, span = (T)(twice_high - twice_low) / 2, in = c - low;
    *factor = in < 0 ? -*factor : *factor;
    in = FN(fabs)(in);
    T extra = FN(fmod)(in, span);
    if (FN(fmod)(FN(floor)(in / span), 2) == 0)
        return extra + low;
    *factor = -*factor;
    return span - extra + low;
}

static T NAME(pad)(const struct grid *g, T c, int64_t size, T *factor)
{
    if (g->padding == GRID_REFLECTION)
        c = g->align ? NAME(reflect)(c, 0, 2 * (size - 1), factor) : NAME(reflect)(c, -1, 2 * size - 1, factor);
    return g->padding == GRID_ZEROS ? c : NAME(clip)(c, size, factor);
}

/* The tap at coordinate c, a whole number, if it lies inside. */
static void NAME(add)(struct NAME(axis) * a, int64_t size, T c, T weight, T slope)
{
    if (!(c >= 0 && c < (T)size))
        return;
    a->at[a->count] = (int64_t)c;
    a->weight[a->count] = weight;
    a->slope[a->count++] = slope;
}

static T NAME(near)(T x) /* convolution with A = -0.75 */
{
    const T A = (T)-0.75;
    return ((A + 2) * x - (A + 3)) * x * x + 1;
}

static T NAME(far)(T x)
{
    const T A = (T)-0.75;
    return ((A * x - 5 * A) * x + 8 * A) * x - 4 * A;
}

static T NAME(near_slope)(T x)
{
    const T A = (T)-0.75;
    return (3 * (A + 2) * x - 2 * (A + 3)) * x;
}

static T NAME(far_slope)(T x)
{
    const T A = (T)-0.75;
    return (3 * A * x - 10 * A) * x + 8 * A;
}

static void NAME(find_axis)(const struct grid *g, T at, int64_t size, struct NAME(axis) * a)
{
    T factor = (T)(g->align ? size - 1 : size) / 2, unused = 0;
    T c = g->align ? (at + 1) / 2 * (T)(size - 1) : ((at + 1) * (T)size - 1) / 2;
    a->count = 0;
    if (g->mode == GRID_CUBIC) {
        T whole = FN(floor)(c), t = c - whole;
        T weight[TAPS] = {NAME(far)(t + 1), NAME(near)(t), NAME(near)(1 - t), NAME(far)(2 - t)};
        T slope[TAPS] = {NAME(far_slope)(t + 1), NAME(near_slope)(t), -NAME(near_slope)(1 - t),
                         -NAME(far_slope)(2 - t)};
        for (int k = 0; k < TAPS; k++)
            NAME(add)(a, size, NAME(pad)(g, whole + (T)(k - 1), size, &unused), weight[k], slope[k] * factor);
        return;
    }
    c = NAME(pad)(g, c, size, &factor);
    if (g->mode == GRID_NEAREST) {
        NAME(add)(a, size, FN(rint)(c), 1, 0);
        return;
    }
    T whole = FN(floor)(c), part = c - whole;
    NAME(add)(a, size, whole, whole + 1 - c, -factor);
    NAME(add)(a, size, whole + 1, part, factor);
}

static void NAME(find_point)(const struct grid *g, const T *at, struct NAME(point) * p)
{
    struct NAME(axis) axis[3] = {{1, {0}, {1}, {0}}}; /* depth, height, width */
    for (int d = 0; d < g->dims; d++)
        NAME(find_axis)(g, at[d], g->size[2 - d], &axis[2 - d]);
    p->count = 0;
    for (int i = 0; i < axis[0].count; i++)
        for (int j = 0; j < axis[1].count; j++)
            for (int k = 0; k < axis[2].count; k++) {
                T z = axis[0].weight[i], y = axis[1].weight[j], x = axis[2].weight[k];
                int n = p->count++;
                p->at[n] = (axis[0].at[i] * g->size[1] + axis[1].at[j]) * g->size[2] + axis[2].at[k];
                p->weight[n] = x * y * z;
                p->slope[0][n] = axis[2].slope[k] * y * z;
                p->slope[1][n] = x * axis[1].slope[j] * z;
                p->slope[2][n] = x * y * axis[0].slope[i];
            }
}

static void NAME(sample)(const struct grid *g, const T *x, const T *grid, T *y, int64_t begin, int64_t end)
{
    int64_t pixels = g->size[0] * g->size[1] * g->size[2];
    struct NAME(point) p;
    for (int64_t i = begin; i < end; i++) {
        NAME(find_point)(g, grid + i * g->dims, &p);
        for (int64_t c = 0; c < g->channels; c++) {
            T sum = 0;
            for (int k = 0; k < p.count; k++)
                sum += p.weight[k] * x[c * pixels + p.at[k]];
            y[c * g->points + i] = sum;
        }
    }
}

static void NAME(image_gradient)(const struct grid *g, const T *grid, const T *gy, T *gx, int64_t begin, int64_t end)
{
    int64_t pixels = g->size[0] * g->size[1] * g->size[2];
    struct NAME(point) p;
    for (int64_t i = 0; i < g->points; i++) {
        NAME(find_point)(g, grid + i * g->dims, &p);
        for (int64_t c = begin; c < end; c++)
            for (int k = 0; k < p.count; k++)
                gx[c * pixels + p.at[k]] += p.weight[k] * gy[c * g->points + i];
    }
}

static void NAME(grid_gradient)(const struct grid *g, const T *x, const T *grid, const T *gy, T *ggrid, int64_t begin,
                                int64_t end)
{
    int64_t pixels = g->size[0] * g->size[1] * g->size[2];
    struct NAME(point) p;
    for (int64_t i = begin; i < end; i++) {
        NAME(find_point)(g, grid + i * g->dims, &p);
        T sum[3] = {0};
        for (int64_t c = 0; c < g->channels; c++)
            for (int k = 0; k < p.count; k++) {
                T v = x[c * pixels + p.at[k]] * gy[c * g->points + i];
                for (int d = 0; d < g->dims; d++)
                    sum[d] += p.slope[d][k] * v;
            }
        for (int d = 0; d < g->dims; d++)
            ggrid[i * g->dims + d] = sum[d];
    }
}

#undef T
#undef FN
#undef NAME
