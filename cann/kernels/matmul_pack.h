/* SPDX-License-Identifier: BSD-3-Clause */
/* Packing b for the blocked product of float and double; included by matmul.c with T, NAME and LANES as
 * matmul_tile.h has them. NAME(turn) transposes. */

static void NAME(pack)(void *panels, const void *b, int64_t rs, int64_t cs, int64_t k, int64_t n)
{
    enum { WIDTH = NV * LANES };
    T *to = panels;
    const T *from = b;
    for (int64_t j = 0; j < n; j += WIDTH, from += WIDTH * cs, to += WIDTH * k) {
        int columns = (int)(n - j < WIDTH ? n - j : WIDTH);
        if (columns < WIDTH)
            memset(to, 0, (size_t)(WIDTH * k) * sizeof(T));
        if (cs == 1 && columns == WIDTH)
            for (int64_t p = 0; p < k; p++)
                memcpy(to + p * WIDTH, from + p * rs, WIDTH * sizeof(T));
        else if (rs == 1)
            NAME(turn)(to, from, cs * (int64_t)sizeof(T), columns, k, WIDTH);
        else
            for (int64_t p = 0; p < k; p++)
                for (int i = 0; i < columns; i++)
                    to[p * WIDTH + i] = from[i * cs + p * rs];
    }
}
