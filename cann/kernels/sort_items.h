/* SPDX-License-Identifier: BSD-3-Clause */
/* Included by sort.c for each kind of item, with ITEM (the type), NAME(x), DIGITS (bytes of a key), KEY(item) and
 * BEFORE(a, b). */
enum { NAME(few) = 24 };

static void NAME(insertion)(int64_t n, ITEM *a)
{
    for (int64_t i = 1; i < n; i++) {
        ITEM x = a[i];
        int64_t j = i;
        for (; j > 0 && BEFORE(x, a[j - 1]); j--)
            a[j] = a[j - 1];
        a[j] = x;
    }
}

/* Merges neighbours of `width`, bottom up; for rows too short for counting digits. */
static ITEM *NAME(merges)(int64_t n, ITEM *a, ITEM *b)
{
    for (int64_t i = 0; i < n; i += NAME(few))
        NAME(insertion)(n - i < NAME(few) ? n - i : NAME(few), a + i);
    for (int64_t width = NAME(few); width < n; width *= 2) {
        for (int64_t i = 0; i < n; i += 2 * width) {
            int64_t x = i, end_x = i + width < n ? i + width : n, y = end_x,
                    end_y = i + 2 * width < n ? i + 2 * width : n;
            for (int64_t to = i; to < end_y; to++)
                b[to] = y == end_y || (x < end_x && !BEFORE(a[y], a[x])) ? a[x++] : a[y++];
        }
        ITEM *t = a;
        a = b;
        b = t;
    }
    return a;
}

/* Counting by bytes of the key from the lowest; items come in order of their places, which every pass keeps. */
static ITEM *NAME(digits)(int64_t n, ITEM *a, ITEM *b)
{
    int64_t count[DIGITS][256];
    memset(count, 0, sizeof count);
    for (int64_t i = 0; i < n; i++)
        for (int d = 0; d < DIGITS; d++)
            count[d][KEY(a[i]) >> 8 * d & 255]++;
    for (int d = 0; d < DIGITS; d++) {
        if (count[d][KEY(a[0]) >> 8 * d & 255] == n) /* all the same */
            continue;
        int64_t at = 0;
        for (int v = 0; v < 256; v++) {
            int64_t c = count[d][v];
            count[d][v] = at;
            at += c;
        }
        for (int64_t i = 0; i < n; i++)
            b[count[d][KEY(a[i]) >> 8 * d & 255]++] = a[i];
        ITEM *t = a;
        a = b;
        b = t;
    }
    return a;
}

static ITEM *NAME(sort)(int64_t n, ITEM *a, ITEM *b)
{
    return n < 128 * DIGITS ? NAME(merges)(n, a, b) : NAME(digits)(n, a, b);
}

/* Splits by the highest byte that differs until what remains is little; the chosen gather at the front. */
static void NAME(least)(int64_t n, int64_t k, ITEM *items, ITEM *scratch)
{
    ITEM *left = items;
    int64_t taken = 0;
    for (int d = DIGITS - 1; d >= 0 && n > 4 * NAME(few) && k > taken && k - taken < n; d--) {
        int64_t count[256] = {0}, below = 0, same = 0;
        for (int64_t i = 0; i < n; i++)
            count[KEY(left[i]) >> 8 * d & 255]++;
        uint64_t border = 0;
        while (below + count[border] < k - taken)
            below += count[border++];
        if (count[border] == n)
            continue;
        /* what is below goes to the front, what is on the border to the scratch and back: both keep their order */
        int64_t front = taken;
        for (int64_t i = 0; i < n; i++) {
            uint64_t digit = KEY(left[i]) >> 8 * d & 255;
            ITEM x = left[i];
            if (digit < border)
                items[front++] = x;
            else if (digit == border)
                scratch[same++] = x;
        }
        taken = front;
        left = items + taken;
        n = same;
        memcpy(left, scratch, sizeof(ITEM) * (size_t)n);
    }
    if (k > taken) { /* the rest in order; equal keys by place */
        ITEM *sorted = NAME(sort)(n, left, scratch);
        memmove(left, sorted, sizeof(ITEM) * (size_t)(k - taken));
    }
    ITEM *sorted = NAME(sort)(k, items, scratch);
    if (sorted != items)
        memcpy(items, sorted, sizeof(ITEM) * (size_t)k);
}
#undef ITEM
#undef NAME
#undef DIGITS
#undef KEY
#undef BEFORE
