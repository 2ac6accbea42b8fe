/* SPDX-License-Identifier: BSD-3-Clause */
/* Reductions in one compute type; kernels/reduce.c includes this once for each, with
 *   T     the type that elements are computed in      WIDE  the accumulator's
 *   BITS  T, or the unsigned type that wraps          NAME(x)  x with the type's suffix
 *   IS_NAN(x)  0 for integers                          MASK  an integer as wide as T
 *   LOWEST, HIGHEST  ends of T's range                DENSE(dtype)  elements of that dtype are T as they lie in memory
 *   QUICK  defined when kernels/lanes.h has T          HALVES  when T is what 16-bit floats are computed in
 * and undefines them. Every operator is compiled from the same loops: op is a constant wherever it is inlined. */

BLOCK_INLINE T NAME(map)(enum reduce_op op, T x, double p)
{
    switch (op) {
    case REDUCE_NANSUM:
        return IS_NAN(x) ? 0 : x;
    case REDUCE_NONZERO:
        return x != 0;
    case REDUCE_ABS_SUM:
    case REDUCE_ABS_MAX:
    case REDUCE_ABS_MIN:
        return x < 0 ? -x : x;
    case REDUCE_SQUARES:
        return (T)((BITS)x * (BITS)x);
    case REDUCE_POWERS:
        return (T)pow(fabs((double)x), p);
    default:
        return x;
    }
}

BLOCK_INLINE WIDE NAME(identity)(enum reduce_op op)
{
    switch (op) {
    case REDUCE_PROD:
        return 1;
    case REDUCE_MAX:
    case REDUCE_ARGMAX:
        return LOWEST;
    case REDUCE_MIN:
    case REDUCE_ARGMIN:
    case REDUCE_ABS_MIN:
        return HIGHEST;
    default:
        return 0;
    }
}

BLOCK_INLINE T NAME(fold)(enum reduce_op op, T a, T x)
{
    switch (op) {
    case REDUCE_PROD:
        return (T)((BITS)a * (BITS)x);
    case REDUCE_MAX:
    case REDUCE_ARGMAX:
    case REDUCE_ABS_MAX:
        return ((x > a) | IS_NAN(x)) ? x : a;
    case REDUCE_MIN:
    case REDUCE_ARGMIN:
    case REDUCE_ABS_MIN:
        return ((x < a) | IS_NAN(x)) ? x : a;
    default:
        return (T)((BITS)a + (BITS)x);
    }
}

BLOCK_INLINE WIDE NAME(fold_wide)(enum reduce_op op, WIDE a, WIDE x)
{
    switch (op) {
    case REDUCE_PROD:
        return (WIDE)((WIDE_BITS)a * (WIDE_BITS)x);
    case REDUCE_MAX:
    case REDUCE_ABS_MAX:
        return ((x > a) | IS_NAN(x)) ? x : a;
    case REDUCE_MIN:
    case REDUCE_ABS_MIN:
        return ((x < a) | IS_NAN(x)) ? x : a;
    default:
        return (WIDE)((WIDE_BITS)a + (WIDE_BITS)x);
    }
}

/* Is x, which comes later, a better maximum (minimum) than a? */
BLOCK_INLINE bool NAME(better)(enum reduce_op op, T x, T a)
{
    return (op == REDUCE_ARGMAX ? x > a : x < a) | (IS_NAN(x) & !IS_NAN(a));
}

/* n elements as T, at most as many as the buffer holds; unsigned 64-bit numbers are shifted so that signed comparison
 * orders them. */
BLOCK_INLINE const T *NAME(read)(const struct reduce_param *p, int64_t n, const char *in, int64_t step, T *buffer)
{
    const T *x = BLOCK_OF(p->dtype, n, in, step, buffer);
#ifdef SHIFT
    if (p->dtype == ACL_UINT64 && reduce_ordered(p->op)) {
        for (int64_t i = 0; i < n; i++)
            buffer[i] = SHIFT(x[i]);
        return buffer;
    }
#endif
    return x;
}

/* Few elements: four chains. (Lanes would go through memory here.) */
BLOCK_INLINE T NAME(chains)(enum reduce_op op, int64_t n, const T *restrict x, double p)
{
    T zero = (T)NAME(identity)(op), a = zero, b = zero, c = zero, d = zero;
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        a = NAME(fold)(op, a, NAME(map)(op, x[i], p));
        b = NAME(fold)(op, b, NAME(map)(op, x[i + 1], p));
        c = NAME(fold)(op, c, NAME(map)(op, x[i + 2], p));
        d = NAME(fold)(op, d, NAME(map)(op, x[i + 3], p));
    }
    if (i < n)
        a = NAME(fold)(op, a, NAME(map)(op, x[i], p));
    if (i + 1 < n)
        b = NAME(fold)(op, b, NAME(map)(op, x[i + 1], p));
    if (i + 2 < n)
        c = NAME(fold)(op, c, NAME(map)(op, x[i + 2], p));
    return NAME(fold)(op, NAME(fold)(op, a, b), NAME(fold)(op, c, d));
}

#ifdef QUICK
static __attribute__((noinline)) T NAME(quick_sum)(int64_t n, const T *restrict x)
{
    return NAME(sum_of)(n, x);
}

static __attribute__((noinline)) T NAME(quick_squares)(int64_t n, const T *restrict x)
{
    return NAME(dot_of)(n, x, x);
}

static __attribute__((noinline)) T NAME(quick_max)(int64_t n, const T *restrict x)
{
    return NAME(extreme_of)(false, n, x);
}

static __attribute__((noinline)) T NAME(quick_min)(int64_t n, const T *restrict x)
{
    return NAME(extreme_of)(true, n, x);
}
#endif

BLOCK_INLINE T NAME(lanes)(enum reduce_op op, int64_t n, const T *restrict x, double p)
{
#ifdef QUICK
    switch (op) {
    case REDUCE_SUM:
        return NAME(quick_sum)(n, x);
    case REDUCE_SQUARES:
        return NAME(quick_squares)(n, x);
    case REDUCE_MAX:
    case REDUCE_ARGMAX:
        return NAME(quick_max)(n, x);
    case REDUCE_MIN:
    case REDUCE_ARGMIN:
        return NAME(quick_min)(n, x);
    default:
        break;
    }
#endif
    if (n < LANES || op == REDUCE_POWERS)
        return NAME(chains)(op, n, x, p);
    T lane[LANES];
    int64_t i = 0;
    for (int k = 0; k < LANES; k++)
        lane[k] = (T)NAME(identity)(op);
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++)
            lane[k] = NAME(fold)(op, lane[k], NAME(map)(op, x[i + k], p));
    for (; i + 16 <= n; i += 16)
        for (int k = 0; k < 16; k++)
            lane[k] = NAME(fold)(op, lane[k], NAME(map)(op, x[i + k], p));
    T rest = NAME(chains)(op, n - i, x + i, p);
    for (int w = LANES / 2; w; w /= 2)
        for (int k = 0; k < w; k++)
            lane[k] = NAME(fold)(op, lane[k], lane[k + w]);
    return NAME(fold)(op, lane[0], rest);
}

#ifdef HALVES
/* At most CHUNK 16-bit floats, as they lie in memory; op: SUM, MAX or MIN. */
static __attribute__((noinline)) T NAME(half_lanes)(enum reduce_op op, aclDataType dtype, int64_t n,
                                                    const uint16_t *restrict x)
{
    if (dtype == ACL_BF16)
        return op == REDUCE_SUM ? sum_of_bf16(n, x) : extreme_of_bf16(op == REDUCE_MIN, n, x);
    return op == REDUCE_SUM ? sum_of_f16(n, x) : extreme_of_f16(op == REDUCE_MIN, n, x);
}

/* The same order as that of dense floats. Short rows are widened many at a time. */
static void NAME(half_row)(enum reduce_op op, const struct reduce_param *p, int64_t results, int64_t result_step,
                           int64_t n, const char *in, WIDE *restrict acc)
{
    enum { SHORT = 64 };
    T buffer[CHUNK];
    if (n <= SHORT && result_step == 2 * n) {
        for (int64_t m; results > 0; results -= m, in += m * result_step, acc += m) {
            m = results < CHUNK / n ? results : CHUNK / n;
            load_f32(p->dtype, m * n, in, 2, buffer);
            for (int64_t j = 0; j < m; j++)
                acc[j] = NAME(fold_wide)(op, acc[j], NAME(lanes)(op, n, buffer + j * n, 0));
        }
        return;
    }
    for (int64_t j = 0; j < results; j++, in += result_step)
        for (int64_t m, i = 0; i < n; i += m) {
            m = n - i < CHUNK ? n - i : CHUNK;
            T part = NAME(half_lanes)(op, p->dtype, m, (const uint16_t *)in + i);
            acc[j] = NAME(fold_wide)(op, acc[j], part);
        }
}

/* Sums of columns that lie side by side, in the order of NAME(column). */
static __attribute__((noinline)) void NAME(half_columns)(aclDataType dtype, int64_t rows, int64_t row_step,
                                                         int64_t cols, const char *in, WIDE *restrict acc)
{
    enum { N = NAME(VECTOR) };
    T part[BLOCK];
    bool narrow = dtype == ACL_BF16;
    for (int64_t m; rows > 0; rows -= m) {
        m = rows < ROWS ? rows : ROWS;
        for (int64_t j = 0; j < cols; j++)
            part[j] = 0;
        for (int64_t r = 0; r < m; r += 4, in += 4 * row_step) {
            const uint16_t *x[4];
            int64_t four = m - r < 4 ? m - r : 4;
            for (int64_t k = 0; k < four; k++)
                x[k] = (const uint16_t *)(in + k * row_step);
            int64_t j = 0;
            for (; four == 4 && j + N <= cols; j += N) {
                NAME(vector) v[4], *to = (NAME(vector) *)(part + j);
                for (int k = 0; k < 4; k++)
                    v[k] = narrow ? bf16_vector(x[k] + j) : f16_vector(x[k] + j);
                *to += (v[0] + v[1]) + (v[2] + v[3]);
            }
            for (; j < cols; j++) {
                T v[4];
                for (int64_t k = 0; k < four; k++)
                    v[k] = narrow ? bf16_to_float(x[k][j]) : f16_to_float(x[k][j]);
                if (four == 4)
                    part[j] += (v[0] + v[1]) + (v[2] + v[3]);
                else
                    for (int64_t k = 0; k < four; k++)
                        part[j] += v[k];
            }
        }
        in -= (m + 3) / 4 * 4 * row_step - m * row_step;
        for (int64_t j = 0; j < cols; j++)
            acc[j] += part[j];
    }
}
#endif

BLOCK_INLINE void NAME(row)(enum reduce_op op, const struct reduce_param *p, int64_t results, int64_t result_step,
                            int64_t n, int64_t step, const char *in, WIDE *restrict acc)
{
#ifdef HALVES
    if ((op == REDUCE_SUM || op == REDUCE_MAX || op == REDUCE_MIN) && step == 2 &&
        (p->dtype == ACL_BF16 || p->dtype == ACL_FLOAT16)) {
        NAME(half_row)(op, p, results, result_step, n, in, acc);
        return;
    }
#endif
    T buffer[CHUNK];
    bool dense = DENSE(p->dtype) && step == (int64_t)sizeof(T) && !(p->dtype == ACL_UINT64 && reduce_ordered(op));
    if (dense && n <= CHUNK) {
        for (int64_t j = 0; j < results; j++, in += result_step)
            acc[j] = NAME(fold_wide)(op, acc[j], NAME(lanes)(op, n, (const T *)in, p->p));
        return;
    }
    bool wide = dense || op == REDUCE_SUM || op == REDUCE_MAX || op == REDUCE_MIN;
    int64_t most = wide ? CHUNK : BLOCK;
    for (int64_t j = 0; j < results; j++, in += result_step) {
        const char *at = in;
        for (int64_t m, left = n; left > 0; left -= m, at += m * step) {
            m = left < most ? left : most;
            const T *x = dense ? (const T *)at : NAME(read)(p, m, at, step, buffer);
            acc[j] = NAME(fold_wide)(op, acc[j], NAME(lanes)(op, m, x, p->p));
        }
    }
}

#ifdef QUICK
/* Greatest or least of columns, whose order does not matter. */
static __attribute__((noinline)) void NAME(column_extreme)(bool least, const struct reduce_param *p, int64_t rows,
                                                           int64_t row_step, int64_t cols, int64_t col_step,
                                                           const char *in, WIDE *restrict acc)
{
    enum { N = NAME(VECTOR) };
    T buffer[2][BLOCK], part[BLOCK];
    for (int64_t j = 0; j < cols; j++)
        part[j] = (T)acc[j];
    for (int64_t r = 0; r < rows; r += 2, in += 2 * row_step) {
        const T *a = NAME(read)(p, cols, in, col_step, buffer[0]), *b = a;
        if (r + 1 < rows)
            b = NAME(read)(p, cols, in + row_step, col_step, buffer[1]);
        int64_t j = 0;
        for (; j + N <= cols; j += N) {
            NAME(vector)
            both = NAME(vector_extreme)(least, *(const NAME(vector) *)(a + j), *(const NAME(vector) *)(b + j));
            NAME(vector) *to = (NAME(vector) *)(part + j);
            *to = NAME(vector_extreme)(least, *to, both);
        }
        for (; j < cols; j++)
            part[j] = NAME(extreme)(least, part[j], NAME(extreme)(least, a[j], b[j]));
    }
    for (int64_t j = 0; j < cols; j++)
        acc[j] = part[j];
}
#endif

BLOCK_INLINE void NAME(column)(enum reduce_op op, const struct reduce_param *p, int64_t rows, int64_t row_step,
                               int64_t cols, int64_t col_step, const char *in, WIDE *restrict acc)
{
#ifdef QUICK
    if (op == REDUCE_MAX || op == REDUCE_MIN) {
        NAME(column_extreme)(op == REDUCE_MIN, p, rows, row_step, cols, col_step, in, acc);
        return;
    }
#endif
#ifdef HALVES
    if (op == REDUCE_SUM && col_step == 2 && (p->dtype == ACL_BF16 || p->dtype == ACL_FLOAT16)) {
        NAME(half_columns)(p->dtype, rows, row_step, cols, in, acc);
        return;
    }
#endif
    T buffer[4][BLOCK], part[BLOCK];
    for (int64_t m; rows > 0; rows -= m) {
        m = rows < ROWS ? rows : ROWS;
        for (int64_t j = 0; j < cols; j++)
            part[j] = (T)NAME(identity)(op);
        int64_t r = 0;
        for (; r + 4 <= m; r += 4, in += 4 * row_step) {
            const T *restrict a = NAME(read)(p, cols, in, col_step, buffer[0]);
            const T *restrict b = NAME(read)(p, cols, in + row_step, col_step, buffer[1]);
            const T *restrict c = NAME(read)(p, cols, in + 2 * row_step, col_step, buffer[2]);
            const T *restrict d = NAME(read)(p, cols, in + 3 * row_step, col_step, buffer[3]);
            for (int64_t j = 0; j < cols; j++) {
                T ab = NAME(fold)(op, NAME(map)(op, a[j], p->p), NAME(map)(op, b[j], p->p));
                T cd = NAME(fold)(op, NAME(map)(op, c[j], p->p), NAME(map)(op, d[j], p->p));
                part[j] = NAME(fold)(op, part[j], NAME(fold)(op, ab, cd));
            }
        }
        for (; r < m; r++, in += row_step) {
            const T *restrict x = NAME(read)(p, cols, in, col_step, buffer[0]);
            for (int64_t j = 0; j < cols; j++)
                part[j] = NAME(fold)(op, part[j], NAME(map)(op, x[j], p->p));
        }
        for (int64_t j = 0; j < cols; j++)
            acc[j] = NAME(fold_wide)(op, acc[j], part[j]);
    }
}

/* Where the first element equal to the maximum (minimum) `best` is, or the first NaN when that is it. */
BLOCK_INLINE int64_t NAME(find)(int64_t n, const T *x, T best)
{
    enum { GROUP = 64 };
    int64_t i = 0;
    for (; i + GROUP <= n; i += GROUP) {
        MASK hit = 0;
        for (int k = 0; k < GROUP; k++)
            hit |= (x[i + k] == best) | IS_NAN(x[i + k]);
        if (hit)
            break;
    }
    while (i < n - 1 && !(x[i] == best) && !IS_NAN(x[i]))
        i++;
    return i;
}

BLOCK_INLINE void NAME(arg_row)(enum reduce_op op, const struct reduce_param *p, int64_t results, int64_t result_step,
                                int64_t n, int64_t step, const char *in, int64_t index, WIDE *acc, int64_t *acc_index)
{
    T buffer[BLOCK];
    for (int64_t j = 0; j < results; j++, in += result_step) {
        const char *at = in;
        for (int64_t m, i = 0; i < n; i += m, at += m * step) {
            m = n - i < BLOCK ? n - i : BLOCK;
            const T *x = NAME(read)(p, m, at, step, buffer);
            T part = NAME(lanes)(op, m, x, 0);
            if (acc_index[j] >= 0 && !NAME(better)(op, part, (T)acc[j]))
                continue;
            acc[j] = part;
            acc_index[j] = index + i + NAME(find)(m, x, part);
        }
    }
}

BLOCK_INLINE void NAME(arg_column)(enum reduce_op op, const struct reduce_param *p, int64_t rows, int64_t row_step,
                                   int64_t cols, int64_t col_step, const char *in, int64_t index, WIDE *restrict acc,
                                   int64_t *restrict acc_index)
{
    T buffer[BLOCK], best[BLOCK];
    int32_t at[BLOCK];
    for (int64_t m; rows > 0; rows -= m, index += m) {
        m = rows < INT32_MAX ? rows : INT32_MAX;
        const T *first = NAME(read)(p, cols, in, col_step, buffer);
        for (int64_t j = 0; j < cols; j++)
            best[j] = first[j], at[j] = 0;
        in += row_step;
        for (int32_t r = 1; r < m; r++, in += row_step) {
            const T *restrict x = NAME(read)(p, cols, in, col_step, buffer);
            for (int64_t j = 0; j < cols; j++) {
                bool take = NAME(better)(op, x[j], best[j]);
                best[j] = take ? x[j] : best[j];
                at[j] = take ? r : at[j];
            }
        }
        for (int64_t j = 0; j < cols; j++)
            if (acc_index[j] < 0 || NAME(better)(op, best[j], (T)acc[j]))
                acc[j] = best[j], acc_index[j] = index + at[j];
    }
}

BLOCK_STATIC void NAME(init)(enum reduce_op op, int64_t n, WIDE *acc, int64_t plane)
{
    int words = words_of(op);
    for (int64_t j = 0; j < n; j++)
        acc[j] = NAME(identity)(op);
    for (int w = 1; w < words; w++)
        for (int64_t j = 0; j < n; j++) {
            if (op == REDUCE_MOMENTS)
                acc[w * plane + j] = 0;
            else
                ((int64_t *)acc)[w * plane + j] = -1;
        }
}

BLOCK_INLINE void NAME(merge)(enum reduce_op op, int64_t n, WIDE *restrict acc, int64_t plane,
                              const WIDE *restrict other, int64_t other_plane)
{
    if (op == REDUCE_ARGMAX || op == REDUCE_ARGMIN) {
        int64_t *at = (int64_t *)acc + plane;
        const int64_t *other_at = (const int64_t *)other + other_plane;
        for (int64_t j = 0; j < n; j++)
            if (other_at[j] >= 0 && (at[j] < 0 || NAME(better)(op, (T)other[j], (T)acc[j])))
                acc[j] = other[j], at[j] = other_at[j];
        return;
    }
    for (int64_t j = 0; j < n; j++)
        acc[j] = NAME(fold_wide)(op, acc[j], other[j]);
}

#undef T
#undef WIDE
#undef BITS
#undef WIDE_BITS
#undef NAME
#undef LOWEST
#undef HIGHEST
#undef DENSE
#undef BLOCK_OF
#undef SHIFT
#undef QUICK
#undef HALVES
#undef IS_NAN
#undef MASK
