/* SPDX-License-Identifier: BSD-3-Clause */
/* Views: shapes, broadcasting, merging; and the 16-bit floats against the compiler's own. */
#include "check.h"

#include "base/dtype.h"
#include "base/view.h"

static void shapes(void)
{
    struct view v = view_make(ACL_FLOAT, 3, (int64_t[]){2, 3, 4});
    CHECK_EQ(view_count(&v), 24);
    CHECK(view_is_contiguous(&v));
    CHECK_EQ(v.stride[0], 12);
    struct view scalar = view_make(ACL_FLOAT, 0, NULL);
    CHECK_EQ(view_count(&scalar), 1);
    CHECK(view_is_contiguous(&scalar));
    struct view t = {.dtype = ACL_FLOAT, .rank = 2, .dim = {3, 2}, .stride = {1, 3}};
    CHECK(!view_is_contiguous(&t));
    t.dim[0] = 0;
    CHECK(view_is_contiguous(&t));
}

static void broadcasting(void)
{
    struct view row = view_make(ACL_FLOAT, 1, (int64_t[]){4}), out;
    CHECK(view_broadcast(&out, &row, 2, (int64_t[]){3, 4}));
    CHECK_EQ(out.stride[0], 0);
    CHECK_EQ(out.stride[1], 1);
    CHECK(!view_broadcast(&out, &row, 2, (int64_t[]){3, 5}));
    CHECK(!view_broadcast(&out, &row, 0, NULL));
}

static void merging(void)
{
    struct view a = view_make(ACL_FLOAT, 3, (int64_t[]){2, 3, 4}), b = a;
    struct view *both[] = {&a, &b};
    view_coalesce(both, 2);
    CHECK_EQ(a.rank, 1);
    CHECK_EQ(a.dim[0], 24);
    struct view c = view_make(ACL_FLOAT, 2, (int64_t[]){3, 4}), row = {.rank = 2, .dim = {3, 4}, .stride = {0, 1}};
    struct view *mixed[] = {&c, &row};
    view_coalesce(mixed, 2);
    CHECK_EQ(c.rank, 2);
    struct view one = view_make(ACL_FLOAT, 2, (int64_t[]){1, 1}), *lone[] = {&one};
    view_coalesce(lone, 1);
    CHECK_EQ(one.rank, 1);
    CHECK_EQ(one.dim[0], 1);
}

static void halves(void)
{
    int wrong = 0;
    for (uint32_t h = 0; h < 65536; h++) {
        float f = f16_to_float((uint16_t)h), b = bf16_to_float((uint16_t)h);
        wrong += f == f && f16_from_float(f) != h;
        wrong += b == b && bf16_from_float(b) != h;
    }
    CHECK_EQ(wrong, 0);
    CHECK_EQ(f16_from_float(65519.996f), 0x7bff);
    CHECK_EQ(f16_from_float(65520.0f), 0x7c00);
    CHECK_EQ(f16_from_float(0x1p-25f), 0);
    CHECK_EQ(f16_from_float(0x1.8p-25f), 1);
    CHECK_EQ(bf16_from_float(1.00390625f), 0x3f80);
    CHECK_EQ(bf16_from_float(1.01171875f), 0x3f82);
}

int main(void)
{
    shapes();
    broadcasting();
    merging();
    halves();
    return check_done();
}
