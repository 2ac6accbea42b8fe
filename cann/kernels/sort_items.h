/* SPDX-License-Identifier: BSD-3-Clause */
/* Included by sort.c for each kind of item, with ITEM (the type), NAME(x), DIGITS (bytes of a key), KEY(item) and
 * BEFORE(a, b). */
enum { NAME(few) = 24, NAME(short) = DIGITS == 8 ? 1024 : 192 };

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
    uint32_t count[DIGITS][256];
    memset(count, 0, sizeof count);
    for (int64_t i = 0; i < n; i++)
        for (int d = 0; d < DIGITS; d++)
            count[d][KEY(a[i]) >> 8 * d & 255]++;
    for (int d = 0; d < DIGITS; d++) {
        if (count[d][KEY(a[0]) >> 8 * d & 255] == n) /* all the same */
            continue;
        uint32_t at = 0;
        for (int v = 0; v < 256; v++) {
            uint32_t c = count[d][v];
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
    return n < NAME(short) || n > UINT32_MAX ? NAME(merges)(n, a, b) : NAME(digits)(n, a, b);
}

/* The digit d on which the k-th of n items lies (k from 1), and how many lie below it. Four counters a digit, since a
 * row's leading digits are mostly the same and would wait for each other. */
static uint64_t NAME(border)(int64_t n, int64_t k, const ITEM *items, int d, int64_t *below, int64_t *same)
{
    int64_t count[4][256] = {{0}}, i = 0;
    for (; i + 4 <= n; i += 4)
        for (int j = 0; j < 4; j++)
            count[j][KEY(items[i + j]) >> 8 * d & 255]++;
    for (; i < n; i++)
        count[0][KEY(items[i]) >> 8 * d & 255]++;
    *below = 0;
    for (uint64_t border = 0;; border++) {
        *same = count[0][border] + count[1][border] + count[2][border] + count[3][border];
        if (*below + *same >= k)
            return border;
        *below += *same;
    }
}

/* Splits by the highest byte that differs until what remains is little: items that lie before the k-th go to the front
 * of `items` when they are `wanted`. Returns those left, the k-th among them, all of them in the order of their places;
 * *n and *k become theirs. */
static ITEM *NAME(split)(bool wanted, int64_t *n, int64_t *k, ITEM *items, ITEM *scratch)
{
    ITEM *left = items, *front = items;
    if (*n < NAME(short)) /* counting digits costs more than it spares */
        return items;
    for (int d = DIGITS - 1; d >= 0 && *n > 4 * NAME(few) && *k < *n; d--) {
        int64_t below, same, at = 0;
        uint64_t border = NAME(border)(*n, *k, left, d, &below, &same);
        if (same == *n)
            continue;
        if (wanted) {
            for (int64_t i = 0; i < *n; i++) {
                uint64_t digit = KEY(left[i]) >> 8 * d & 255;
                ITEM x = left[i];
                *front = x;
                front += digit < border;
                scratch[at] = x;
                at += digit == border;
            }
            memcpy(front, scratch, sizeof(ITEM) * (size_t)same);
            left = front;
        } else {
            for (int64_t i = 0; i < *n; i++) {
                ITEM x = left[i];
                left[at] = x;
                at += (KEY(x) >> 8 * d & 255) == border;
            }
        }
        *n = same;
        *k -= below;
    }
    return left;
}

/* A few of many: those found so far in order, and a look at every block whether it has one that comes before the last
 * of them. */
static void NAME(fewest)(int64_t n, int64_t k, ITEM *items)
{
    enum { LOOK = 16 };
    NAME(insertion)(k, items);
    for (int64_t i = k; i < n; i += LOOK) {
        int64_t end = i + LOOK < n ? i + LOOK : n;
        int any = 0;
        for (int64_t j = i; j < end; j++)
            any |= BEFORE(items[j], items[k - 1]);
        if (!any)
            continue;
        for (int64_t j = i; j < end; j++) {
            ITEM x = items[j];
            if (!BEFORE(x, items[k - 1]))
                continue;
            int64_t at = k - 1;
            for (; at > 0 && BEFORE(x, items[at - 1]); at--)
                items[at] = items[at - 1];
            items[at] = x;
        }
    }
}

static void NAME(least)(int64_t n, int64_t k, ITEM *items, ITEM *scratch)
{
    if (k > 0 && k <= NAME(few) && k < n) {
        NAME(fewest)(n, k, items);
        return;
    }
    int64_t left = n, rest = k;
    ITEM *border = NAME(split)(true, &left, &rest, items, scratch);
    if (left == n) { /* nothing was split off */
        ITEM *all = NAME(sort)(n, items, scratch);
        if (all != items)
            memcpy(items, all, sizeof(ITEM) * (size_t)k);
        return;
    }
    if (rest > 0) { /* equal keys by place */
        ITEM *sorted = NAME(sort)(left, border, scratch);
        memmove(border, sorted, sizeof(ITEM) * (size_t)rest);
    }
    ITEM *sorted = NAME(sort)(k, items, scratch);
    if (sorted != items)
        memcpy(items, sorted, sizeof(ITEM) * (size_t)k);
}

static ITEM *NAME(nth)(int64_t n, int64_t k, ITEM *items, ITEM *scratch)
{
    ITEM *left = NAME(split)(false, &n, &k, items, scratch);
    return NAME(sort)(n, left, scratch) + (k - 1);
}
#undef ITEM
#undef NAME
#undef DIGITS
#undef KEY
#undef BEFORE
