/* SPDX-License-Identifier: BSD-3-Clause */
/* combine.c for elements of type T: NAME(x) is x with the type's suffix, W the type to compute in (unsigned where T
 * wraps). A block at a time in a buffer, so that out may be one of the inputs. */

#define FOLD(what, expression)                                                                                         \
    static void NAME(what)(int64_t n, void *out, const void *const *in, int count)                                     \
    {                                                                                                                  \
        T block[COMBINE_BLOCK];                                                                                        \
        for (int64_t at = 0; at < n; at += COMBINE_BLOCK) {                                                            \
            int64_t m = n - at < COMBINE_BLOCK ? n - at : COMBINE_BLOCK;                                               \
            const T *a = (const T *)in[0] + at;                                                                        \
            for (int k = 1; k < count; k++, a = block) {                                                               \
                const T *b = (const T *)in[k] + at;                                                                    \
                for (int64_t i = 0; i < m; i++) {                                                                      \
                    T x = a[i], y = b[i];                                                                              \
                    block[i] = (T)(expression);                                                                        \
                }                                                                                                      \
            }                                                                                                          \
            if ((T *)out + at != a)                                                                                    \
                memcpy((T *)out + at, a, (size_t)m * sizeof(T));                                                       \
        }                                                                                                              \
    }

FOLD(sum, (W)x + (W)y)
FOLD(prod, (W)x *(W)y)
FOLD(max, x != x || x > y ? x : y)
FOLD(min, x != x || x < y ? x : y)

#undef FOLD
#undef T
#undef W
#undef NAME
