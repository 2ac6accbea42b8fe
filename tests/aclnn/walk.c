/* SPDX-License-Identifier: BSD-3-Clause */
/* walk() calls its loop for every element exactly once, each operand at the right address, whatever the shapes and
 * strides: random views of up to five dimensions (transposed, with gaps, expanded, empty), compared with counting
 * through the indices. */
#include "acl/acl.h"
#include "check.h"
#include "ops/walk.h"

#include <stdint.h>

enum { ROOM = 1 << 16, LARGE = 300000 };

static int32_t a[ROOM], b[ROOM], out[ROOM], want[ROOM];
static int32_t large_in[LARGE], large_out[LARGE];
static uint64_t state = 1;

static int64_t chance(int64_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((state >> 33) % (uint64_t)n);
}

/* out += a * 3 + b, so that a second visit shows. */
static void loop(int64_t n, char *const *data, const int64_t *step, const void *param)
{
    for (int64_t i = 0; i < n; i++)
        *(int32_t *)(data[0] + i * step[0]) +=
            *(int32_t *)(data[1] + i * step[1]) * 3 + *(int32_t *)(data[2] + i * step[2]) + *(const int32_t *)param;
}

/* Random strides: dimensions in any order in memory, with gaps; inputs may be expanded. */
static struct view random_view(int32_t *memory, int32_t rank, const int64_t *dim, bool expand)
{
    struct view v = {.data = (char *)memory, .dtype = ACL_INT32, .rank = rank};
    int32_t order[5] = {0, 1, 2, 3, 4};
    int64_t step = 1 + chance(2);
    for (int32_t i = rank - 1; i > 0; i--)
        if (chance(2)) {
            int32_t j = (int32_t)chance(i + 1), t = order[i];
            order[i] = order[j];
            order[j] = t;
        }
    for (int32_t i = rank; i-- > 0;) {
        int32_t d = order[i];
        v.dim[d] = dim[d];
        v.stride[d] = expand && chance(4) == 0 ? 0 : step;
        step = v.stride[d] ? step * (dim[d] ? dim[d] : 1) + (chance(4) == 0) : step;
    }
    return v;
}

static int32_t *at(const struct view *v, int32_t *memory, const int64_t *index)
{
    for (int32_t i = 0; i < v->rank; i++)
        memory += index[i] * v->stride[i];
    return memory;
}

static void try_random(void)
{
    int64_t dim[5], index[5] = {0};
    int32_t rank = (int32_t)chance(6), extra = (int32_t)chance(9);
    for (int i = 0; i < 5; i++)
        dim[i] = chance(12) ? 1 + chance(chance(3) ? 4 : 9) : 0;
    struct view o = random_view(out, rank, dim, false), x = random_view(a, rank, dim, true),
                y = random_view(b, rank, dim, true);
    const struct view *const views[] = {&o, &x, &y};
    memcpy(want, out, sizeof out);
    for (int64_t left = view_count(&o); left > 0; left--) {
        *at(&o, want, index) += *at(&x, a, index) * 3 + *at(&y, b, index) + extra;
        for (int32_t i = rank; i-- > 0 && ++index[i] == dim[i];)
            index[i] = 0;
    }
    if (chance(2))
        walk(views, 3, loop, &extra, 1);
    else
        walk_here(views, 3, loop, &extra);
    CHECK(memcmp(want, out, sizeof out) == 0);
}

static void count(int64_t n, char *const *data, const int64_t *step, const void *param)
{
    (void)param;
    for (int64_t i = 0; i < n; i++)
        *(int32_t *)(data[0] + i * step[0]) += 1 + *(int32_t *)(data[1] + i * step[1]);
}

/* Large enough for many pieces, whose borders fall inside rows. */
static void try_large(void)
{
    for (int64_t rows = 1; rows <= 300000; rows *= 7) {
        int64_t dim[2] = {rows, LARGE / rows}, n = dim[0] * dim[1];
        struct view o = view_make(ACL_INT32, 2, dim), x = o;
        o.data = (char *)large_out;
        x.data = (char *)large_in;
        if (rows % 2) { /* read transposed: nothing merges */
            x.stride[0] = 1;
            x.stride[1] = rows;
        }
        memset(large_out, 0, sizeof large_out);
        walk((const struct view *const[]){&o, &x}, 2, count, NULL, 8);
        int wrong = 0;
        for (int64_t i = 0; i < n; i++) {
            int64_t from = rows % 2 ? i % dim[1] * rows + i / dim[1] : i;
            wrong += large_out[i] != 1 + large_in[from];
        }
        CHECK_EQ(wrong, 0);
    }
}

int main(void)
{
    CHECK_EQ(aclInit(NULL), 0);
    for (int i = 0; i < ROOM; i++) {
        a[i] = (int32_t)chance(1000);
        b[i] = (int32_t)chance(1000);
    }
    for (int i = 0; i < LARGE; i++)
        large_in[i] = (int32_t)chance(1000);
    for (int i = 0; i < 3000; i++)
        try_random();
    try_large();
    aclFinalize();
    return check_done();
}
