/* SPDX-License-Identifier: BSD-3-Clause */
/* Special functions in double and float against other ways to the same numbers: libm's J and Y, Bessel's integrals by
 * Simpson's rule in long double, sums, closed forms of polynomials; all levels give the same bits, and no function
 * lacks a test. */
#include "harness.h"
#include "kernels/elementwise.h"

#include <math.h>

typedef long double wide;

static const struct elementwise_table *const one[] = HARNESS_TABLES(special_kernels);
static const struct elementwise_table *const two[] = HARNESS_TABLES(special2_kernels);

#define PI acosl(-1)

/* Simpson's rule over [0, end]. */
static wide integral(wide (*f)(wide t, wide x, int n), wide x, int n, wide end)
{
    enum { STEPS = 2000 };
    wide h = end / STEPS, sum = f(0, x, n) + f(end, x, n);
    for (int i = 1; i < STEPS; i++)
        sum += (i % 2 ? 4 : 2) * f(i * h, x, n);
    return sum * h / 3;
}

static wide i_of(wide t, wide x, int n)
{
    return expl(x * cosl(t) - fabsl(x)) * cosl(n * t) / PI;
}
static wide k_of(wide t, wide x, int n)
{
    return expl(-x * (coshl(t) - 1)) * coshl(n * t);
}
static wide airy_of(wide t, wide x, int n)
{
    (void)n; /* K of order 1/3 */
    return expl(-x * coshl(t)) * coshl(t / 3);
}
/* e^(x^2) erfc(x): directly, or far out by the continued fraction (DLMF 7.9.3) */
static wide scaled_erfc(wide x)
{
    if (x < 6)
        return expl(x * x) * erfcl(x);
    wide below = x;
    for (int k = 200; k > 0; k--)
        below = x + k * 0.5L / below;
    return 1 / (sqrtl(PI) * below);
}

static wide bessel(int op, wide x)
{
    switch (op) {
    case SPECIAL_J0:
    case SPECIAL_J1:
        return op == SPECIAL_J1 ? j1((double)x) : j0((double)x);
    case SPECIAL_Y0:
    case SPECIAL_Y1:
        return op == SPECIAL_Y1 ? y1((double)x) : y0((double)x);
    case SPECIAL_I0:
    case SPECIAL_I1:
        return integral(i_of, x, op == SPECIAL_I1, PI) * expl(fabsl(x));
    case SPECIAL_I0E:
    case SPECIAL_I1E:
        return integral(i_of, x, op == SPECIAL_I1E, PI);
    case SPECIAL_K0:
    case SPECIAL_K1:
        return integral(k_of, x, op == SPECIAL_K1, acoshl(60 / x + 1)) * expl(-x);
    default:
        return integral(k_of, x, op == SPECIAL_K1E, acoshl(60 / x + 1));
    }
}

/* Ai of either sign; on the left by Maclaurin's series, good while it does not cancel. */
static wide airy(wide x)
{
    if (x > 1) {
        wide zeta = 2 * x * sqrtl(x) / 3;
        return sqrtl(x / 3) / PI * integral(airy_of, zeta, 0, acoshl(80 / zeta + 1));
    }
    wide f = 1, g = x, a = 1, b = x;
    for (int k = 1; k < 120; k++) {
        a *= x * x * x / ((3.0L * k - 1) * (3 * k));
        b *= x * x * x / ((3.0L * k) * (3 * k + 1));
        f += a;
        g += b;
    }
    return 0.355028053887817239260063186004183L * f - 0.258819403792806798405183560189204L * g;
}

static wide zeta_sum(wide x, wide q)
{
    wide sum = 0;
    int n = 20000;
    for (int k = 0; k < n; k++)
        sum += powl(q + k, -x);
    wide end = q + n;
    return sum + powl(end, 1 - x) / (x - 1) + powl(end, -x) / 2 + x * powl(end, -x - 1) / 12;
}

/* The lower incomplete gamma function by its integral, in u = t^a. */
static wide gamma_lower(wide a, wide x)
{
    wide sum = 0, term = 1 / a;
    for (int k = 1; k < 2000; k++) {
        sum += term;
        term *= x / (a + k);
    }
    return sum * expl(a * logl(x) - x - lgammal(a));
}

static wide unary(int op, wide x)
{
    switch (op) {
    case SPECIAL_SPHERICAL_J0:
        return sinl(x) / x;
    case SPECIAL_AIRY:
        return airy(x);
    case SPECIAL_ERFCX:
        return scaled_erfc(x);
    case SPECIAL_LOG_NDTR:
        return x < -3 ? logl(scaled_erfc(-x / sqrtl(2)) / 2) - x * x / 2 : logl(erfcl(-x / sqrtl(2)) / 2);
    case SPECIAL_ENTR:
        return -x * logl(x);
    case SPECIAL_POLYGAMMA: /* the second derivative */
        return -2 * zeta_sum(3, x);
    default:
        return bessel(op, x);
    }
}

static wide legendre(wide x, int n)
{
    wide sum = 0, c = 1; /* sum of binomials squared */
    for (int k = 0; k <= n; k++) {
        sum += c * c * powl((x - 1) / 2, n - k) * powl((x + 1) / 2, k);
        c = c * (n - k) / (k + 1);
    }
    return sum;
}

static wide laguerre(wide x, int n)
{
    wide sum = 0, term = 1;
    for (int k = 0; k <= n; k++) {
        sum += term;
        term *= -x * (n - k) / ((wide)(k + 1) * (k + 1));
    }
    return sum;
}

static wide hermite(wide x, int n, wide two_or_one)
{
    wide sum = 0;
    for (int m = 0; 2 * m <= n; m++)
        sum += (m % 2 ? -1 : 1) * powl(two_or_one, n - m) / powl(2, two_or_one > 1 ? 0 : m) * powl(x, n - 2 * m) /
               (tgammal(m + 1) * tgammal(n - 2 * m + 1)) * (two_or_one > 1 ? powl(2, -m) : 1);
    return sum * tgammal(n + 1);
}

static wide chebyshev(int kind, wide x, int n)
{
    wide a = acosl(x);
    return kind == 0   ? cosl(n * a)
           : kind == 1 ? sinl((n + 1) * a) / sinl(a)
           : kind == 2 ? cosl((n + 0.5L) * a) / cosl(a / 2)
                       : sinl((n + 0.5L) * a) / sinl(a / 2);
}

static wide binary(int op, wide x, wide y)
{
    switch (op) {
    case SPECIAL_ZETA:
        return zeta_sum(x, y);
    case SPECIAL_IGAMMA:
        return gamma_lower(x, y);
    case SPECIAL_IGAMMAC:
        return 1 - gamma_lower(x, y);
    case SPECIAL_HERMITE_H:
        return hermite(x, (int)y, 2);
    case SPECIAL_HERMITE_HE:
        return hermite(x, (int)y, 1);
    case SPECIAL_LAGUERRE:
        return laguerre(x, (int)y);
    case SPECIAL_LEGENDRE:
        return legendre(x, (int)y);
    default:
        return op >= SPECIAL_SHIFTED_T ? chebyshev(op - SPECIAL_SHIFTED_T, 2 * x - 1, (int)y)
                                       : chebyshev(op - SPECIAL_CHEBYSHEV_T, x, (int)y);
    }
}

struct test {
    int op;
    const char *name;
    double low, high; /* of x */
    double error;     /* relative to max(1, |result|) or, for `relative`, to the result */
    bool relative;
    double low2, high2; /* of y; whole for polynomials */
};

static const struct test tests[] = {
    {SPECIAL_I0, "i0", -60, 60, 4e-15, true},
    {SPECIAL_I0E, "i0e", -60, 60, 4e-15, true},
    {SPECIAL_I1, "i1", -60, 60, 4e-14, true},
    {SPECIAL_I1E, "i1e", -60, 60, 4e-14, true},
    {SPECIAL_J0, "j0", -60, 60, 3e-15},
    {SPECIAL_J1, "j1", -60, 60, 3e-15},
    {SPECIAL_Y0, "y0", 0.1, 60, 3e-15},
    {SPECIAL_Y1, "y1", 0.1, 60, 6e-15},
    {SPECIAL_K0, "k0", 0.01, 60, 4e-14, true},
    {SPECIAL_K0E, "k0e", 0.01, 60, 4e-15, true},
    {SPECIAL_K1, "k1", 0.01, 60, 4e-14, true},
    {SPECIAL_K1E, "k1e", 0.01, 60, 4e-15, true},
    {SPECIAL_SPHERICAL_J0, "spherical_j0", 0.001, 60, 1e-15},
    {SPECIAL_AIRY, "airy_ai", -10.5, 12, 1e-10},
    {SPECIAL_ERFCX, "erfcx", -5, 40, 2e-14, true},
    {SPECIAL_LOG_NDTR, "log_ndtr", -30, 3, 2e-14, true},
    {SPECIAL_ENTR, "entr", 0.001, 30, 1e-15},
    {SPECIAL_POLYGAMMA, "polygamma 2", 0.1, 30, 1e-14, true},
    {SPECIAL_ZETA, "zeta", 1.5, 20, 4e-14, true, 0.1, 20},
    {SPECIAL_IGAMMA, "igamma", 0.1, 30, 1e-13, false, 0.1, 40},
    {SPECIAL_IGAMMAC, "igammac", 0.1, 30, 1e-13, false, 0.1, 40},
    {SPECIAL_CHEBYSHEV_T, "chebyshev_t", -0.99, 0.99, 1e-13, false, 0, 25},
    {SPECIAL_CHEBYSHEV_U, "chebyshev_u", -0.99, 0.99, 1e-12, false, 0, 25},
    {SPECIAL_CHEBYSHEV_V, "chebyshev_v", -0.99, 0.99, 1e-12, false, 0, 25},
    {SPECIAL_CHEBYSHEV_W, "chebyshev_w", -0.99, 0.99, 1e-12, false, 0, 25},
    {SPECIAL_SHIFTED_T, "shifted_t", 0.01, 0.99, 1e-12, false, 0, 25},
    {SPECIAL_SHIFTED_U, "shifted_u", 0.01, 0.99, 1e-11, false, 0, 25},
    {SPECIAL_SHIFTED_V, "shifted_v", 0.01, 0.99, 1e-11, false, 0, 25},
    {SPECIAL_SHIFTED_W, "shifted_w", 0.01, 0.99, 1e-11, false, 0, 25},
    {SPECIAL_HERMITE_H, "hermite_h", -3, 3, 1e-11, false, 0, 12},
    {SPECIAL_HERMITE_HE, "hermite_he", -3, 3, 1e-11, false, 0, 12},
    {SPECIAL_LAGUERRE, "laguerre", -3, 8, 1e-11, false, 0, 12},
    {SPECIAL_LEGENDRE, "legendre", -1.5, 1.5, 1e-12, false, 0, 12},
};

static void run(const struct test *t, aclDataType type)
{
    enum { COUNT = 100 };
    bool pair = t->op >= SPECIAL2_TABLE, whole = t->op >= SPECIAL_CHEBYSHEV_T;
    int64_t size = (int64_t)dtype_size(type);
    const int64_t step[] = {size, size, size};
    struct elementwise_param param = {.d = {2}};
    char *x = harness_buffer(0, COUNT * 8), *y = harness_buffer(1, COUNT * 8), first[COUNT * 8];
    for (int i = 0; i < COUNT; i++) {
        harness_put(type, x + i * size, t->low + (t->high - t->low) * (i + harness_uniform(0, 1)) / COUNT);
        double second = harness_uniform(t->low2, t->high2);
        harness_put(type, y + i * size, whole ? floor(second) : second);
    }
    for (int level = 0; level < harness_levels(); level++) {
        const struct elementwise_table *table = pair ? two[level] : one[level];
        char *out = harness_buffer(2, (size_t)(COUNT * size));
        table->loop[t->op & 0xff][type](COUNT, (char *[]){out, x, y}, step, &param);
        harness_guard(2);
        if (level) {
            CHECK(memcmp(out, first, (size_t)(COUNT * size)) == 0);
            continue;
        }
        memcpy(first, out, (size_t)(COUNT * size));
        for (int i = 0; i < COUNT; i++) {
            wide a = harness_value(type, x + i * size), b = harness_value(type, y + i * size);
            wide want = pair ? binary(t->op, a, b) : unary(t->op, a), got = harness_value(type, out + i * size);
            wide scale = t->relative || fabsl(want) > 1 ? fabsl(want) : 1;
            wide error = t->error + (type == ACL_FLOAT ? 6.1e-8 * (double)(fabsl(want) / scale) : 0);
            if (!(fabsl(got - want) <= error * scale)) {
                fprintf(stderr, "%s %s(%.17Lg, %.17Lg): %.17Lg, not %.17Lg\n", dtype_name(type), t->name, a, b, got,
                        want);
                CHECK(false);
                return;
            }
        }
        CHECK(true);
    }
}

/* Values at the edges of the domains. */
static void edges(void)
{
    static const struct {
        int op;
        double x, y, want;
    } edge[] = {
        {SPECIAL_J0, INFINITY, 0, 0},
        {SPECIAL_J0, 0, 0, 1},
        {SPECIAL_J1, 0, 0, 0},
        {SPECIAL_Y0, 0, 0, -INFINITY},
        {SPECIAL_Y1, -1, 0, NAN},
        {SPECIAL_K0, 0, 0, INFINITY},
        {SPECIAL_K1, -1, 0, NAN},
        {SPECIAL_K1, 1e-300, 0, 1e300},
        {SPECIAL_I0, INFINITY, 0, INFINITY},
        {SPECIAL_I0E, INFINITY, 0, 0},
        {SPECIAL_AIRY, 200, 0, 0},
        {SPECIAL_AIRY, INFINITY, 0, NAN},
        {SPECIAL_ENTR, 0, 0, 0},
        {SPECIAL_ENTR, -1, 0, -INFINITY},
        {SPECIAL_ERFCX, -30, 0, INFINITY},
        {SPECIAL_ZETA, 1, 2, INFINITY},
        {SPECIAL_ZETA, 0.5, 2, NAN},
        {SPECIAL_ZETA, 2, 0, INFINITY},
        {SPECIAL_ZETA, 2.5, -0.5, NAN},
        {SPECIAL_IGAMMA, 0, 1, 1},
        {SPECIAL_IGAMMA, 0, 0, NAN},
        {SPECIAL_IGAMMA, 1, INFINITY, 1},
        {SPECIAL_IGAMMAC, 1, 0, 1},
        {SPECIAL_IGAMMA, -1, 1, NAN},
        {SPECIAL_CHEBYSHEV_T, 0.5, -1, 0},
        {SPECIAL_CHEBYSHEV_U, 1, 9, 10},
        {SPECIAL_CHEBYSHEV_V, -1, 3, -7},
        {SPECIAL_CHEBYSHEV_T, 2, 3, 26},
        {SPECIAL_HERMITE_H, 1, 600, NAN},
        {SPECIAL_LEGENDRE, 0.3, 0, 1},
    };
    const int64_t step[] = {8, 8, 8};
    struct elementwise_param param = {0};
    for (size_t i = 0; i < sizeof edge / sizeof *edge; i++) {
        double x = edge[i].x, y = edge[i].y, got = -1;
        const struct elementwise_table *table = edge[i].op >= SPECIAL2_TABLE ? two[0] : one[0];
        table->loop[edge[i].op & 0xff][ACL_DOUBLE](1, (char *[]){(char *)&got, (char *)&x, (char *)&y}, step, &param);
        bool same =
            edge[i].want != edge[i].want ? got != got : got == edge[i].want || fabs(got / edge[i].want - 1) < 1e-14;
        if (!same)
            fprintf(stderr, "operation %#x at (%g, %g): %g, not %g\n", (unsigned)edge[i].op, x, y, got, edge[i].want);
        CHECK(same);
    }
}

int main(int argc, char **argv)
{
    harness_begin(argc, argv);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        if (harness_wants(tests[i].name)) {
            run(&tests[i], ACL_DOUBLE);
            run(&tests[i], ACL_FLOAT);
        }
    if (harness_wants("edges"))
        edges();
    CHECK_EQ(one[0]->count + two[0]->count, (int)(sizeof tests / sizeof *tests));
    return harness_end();
}
