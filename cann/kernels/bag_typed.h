/* SPDX-License-Identifier: BSD-3-Clause */
/* Bags of rows of one type, included by bag.c with  T  and  NAME(x). */

static int64_t NAME(reduce)(const struct bag *b, const T *table, const int64_t *index, const T *factor, int64_t n,
                            T *restrict out, int64_t *restrict largest)
{
    int64_t counted = 0;
    for (int64_t j = 0; j < b->width; j++)
        out[j] = 0;
    for (int64_t j = 0; largest && j < b->width; j++)
        largest[j] = 0;
    for (int64_t i = 0; i < n; i++) {
        if (index[i] == b->padding)
            continue;
        const T *row = table + index[i] * b->width;
        if (b->mode == BAG_MAX) {
            for (int64_t j = 0; j < b->width; j++) {
                if (counted && !(row[j] > out[j]))
                    continue;
                out[j] = row[j];
                if (largest)
                    largest[j] = index[i];
            }
        } else {
            T scale = factor ? factor[i] : 1;
            for (int64_t j = 0; j < b->width; j++)
                out[j] += scale * row[j];
        }
        counted++;
    }
    for (int64_t j = 0; b->mode == BAG_MEAN && counted && j < b->width; j++)
        out[j] /= (T)counted;
    return counted;
}

#undef T
#undef NAME
