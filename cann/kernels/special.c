/* SPDX-License-Identifier: BSD-3-Clause */
/* Special functions of one and two operands, all in double inside, with PyTorch's values at the edges. Sources: NIST
 * Digital Library of Mathematical Functions (DLMF) and Abramowitz and Stegun (A&S), by number of the formula. Instead
 * of tables of fitted coefficients: power series while they don't cancel, downward recurrence for the oscillating
 * Bessel functions, the trapezoidal rule (which converges exponentially) for K, asymptotic series from where their
 * smallest term is below the last bit. */
#include "kernels/loops.h"
#include "kernels/vmath.h"

#define PI         0x1.921fb54442d18p1
#define EULER      0x1.2788cfc6fb619p-1
#define SQRT_HALF  0x1.6a09e667f3bcdp-1
#define INF        ((double)INFINITY)
#define NOT_NUMBER ((double)NAN)

/* ---- Bessel functions J and Y of orders 0 and 1 ---- */

struct bessel {
    double j[2], y[2];
};

/* Miller's recurrence with 1 = J0 + 2 ΣJ2k (A&S 9.1.46), and Neumann's series for Y (A&S 9.1.88, 9.1.89). */
static struct bessel bessel_small(double x)
{
    double above = 0.0, now = 1e-280, sum = 0.0, even = 0.0, odd = 0.0, log_half = log(0.5 * x) + EULER;
    if (x < 1e-8)
        return (struct bessel){{1.0, 0.5 * x}, {2.0 / PI * log_half, -2.0 / (PI * x)}};
    for (int k = 2 * (((int)(1.2 * x) + 32) / 2); k > 0; k--) {
        int m = k / 2;
        double sign = m % 2 ? -1.0 : 1.0;
        if (k % 2 == 0) {
            sum += 2.0 * now;
            even += sign * now / m;
        } else if (m > 0) {
            odd += sign * (double)k / ((double)m * (m + 1)) * now;
        }
        double below = 2.0 * k / x * now - above;
        above = now;
        now = below;
        if (fabs(now) > 1e200) {
            now *= 1e-200, above *= 1e-200, sum *= 1e-200, even *= 1e-200, odd *= 1e-200;
        }
    }
    double scale = 1.0 / (sum + now), j0 = now * scale, j1 = above * scale;
    double y0 = 2.0 / PI * log_half * j0 - 4.0 / PI * even * scale;
    double y1 = -2.0 / (PI * x) * j0 + 2.0 / PI * (log_half - 1.0) * j1 - 2.0 / PI * odd * scale;
    return (struct bessel){{j0, j1}, {y0, y1}};
}

/* Hankel's expansions, A&S 9.2.5 to 9.2.10. */
static struct bessel bessel_large(double x)
{
    struct bessel b;
    double s = sin(x) * SQRT_HALF, c = cos(x) * SQRT_HALF, root = sqrt(2.0 / (PI * x));
    for (int order = 0; order < 2; order++) {
        double part[2] = {0.0, 0.0}, term = 1.0, mu = 4.0 * order;
        for (int k = 0; k < 40 && fabs(term) > 1e-18; k++) {
            part[k % 2] += k / 2 % 2 ? -term : term;
            double odd = 2.0 * k + 1.0;
            term *= (mu - odd * odd) / (8.0 * (k + 1) * x);
        }
        double cosine = order ? s - c : c + s, sine = order ? -(s + c) : s - c;
        b.j[order] = root * (part[0] * cosine - part[1] * sine);
        b.y[order] = root * (part[0] * sine + part[1] * cosine);
    }
    return b;
}

static struct bessel bessel(double x)
{
    return x < 25.0 ? bessel_small(x) : bessel_large(x);
}

static double bessel_j(double x, int order)
{
    double a = fabs(x);
    if (a == INF || a == 0.0)
        return a == 0.0 && !order ? 1.0 : 0.0;
    double y = a == a ? bessel(a).j[order] : a;
    return order && x < 0.0 ? -y : y;
}

static double bessel_y(double x, int order)
{
    if (!(x > 0.0))
        return x == 0.0 ? -INF : NOT_NUMBER;
    return x < INF ? bessel(x).y[order] : NOT_NUMBER;
}

static double spherical_j0(double x)
{
    return x == 0.0 ? 1.0 : fabs(x) == INF ? 0.0 : sin(x) / x;
}

/* ---- modified Bessel functions ---- */

/* e^-|x| I(x), or without the factor; DLMF 10.25.2 and 10.40.1. */
static double bessel_i(double x, int order, bool scaled)
{
    double a = fabs(x), y;
    if (a <= 20.0) {
        double z = 0.25 * a * a, term = order ? 0.5 * a : 1.0;
        y = term;
        for (int k = 1; k < 100 && term > y * 1e-18; k++)
            y += term *= z / ((double)k * (k + order));
        y = scaled ? y * exp(-a) : y;
    } else {
        double term = 1.0, mu = 4.0 * order;
        y = 0.0;
        for (int k = 0; k < 40 && fabs(term) > 1e-18; k++) {
            double odd = 2.0 * k + 1.0;
            y += term;
            term *= -(mu - odd * odd) / (8.0 * (k + 1) * a);
        }
        y /= sqrt(2.0 * PI * a);
        y = a != a ? a : scaled ? y : a == INF ? a : y * exp(a);
    }
    return order && x < 0.0 ? -y : y;
}

/* e^x K(x) of any order by its integral e^(-x (cosh t - 1)) cosh(νt) over t (DLMF 10.32.9), or 10.40.2. */
static double bessel_k_scaled(double x, double order)
{
    if (x > 20.0) {
        double term = 1.0, y = 0.0, mu = 4.0 * order * order;
        for (int k = 0; k < 40 && fabs(term) > 1e-18; k++) {
            double odd = 2.0 * k + 1.0;
            y += term;
            term *= (mu - odd * odd) / (8.0 * (k + 1) * x);
        }
        return sqrt(PI / (2.0 * x)) * y;
    }
    const double step = 0.125;
    double y = 0.5;
    for (int k = 1;; k++) {
        double t = k * step, half = sinh(0.5 * t), e = 2.0 * x * half * half;
        if (e > 60.0 + order * t)
            return step * y;
        y += exp(-e) * cosh(order * t);
    }
}

static double bessel_k(double x, int order, bool scaled)
{
    if (!(x > 0.0))
        return x == 0.0 ? INF : NOT_NUMBER;
    if (x < 1e-8)
        return order ? 1.0 / x : -(log(0.5 * x) + EULER);
    if (x == INF)
        return 0.0;
    double y = bessel_k_scaled(x, order);
    return scaled ? y : y * exp(-x);
}

/* ---- Airy's function ---- */

/* y'' = xy from 0 on, by Taylor's series in steps. */
static double airy_steps(double x)
{
    double at = 0.0, y = 0.3550280538878172392600631860, slope = -0.2588194037928067984051835601;
    int steps = (int)ceil(fabs(x));
    double h = steps ? x / steps : 0.0;
    for (int i = 0; i < steps; i++, at += h) {
        double c[40] = {y, slope, 0.5 * at * y}, power = h * h, value = y + slope * h + c[2] * power,
               next = slope + 2.0 * c[2] * h;
        for (int k = 3; k < 40; k++) {
            c[k] = (at * c[k - 2] + c[k - 3]) / ((double)k * (k - 1));
            next += k * c[k] * power;
            power *= h;
            value += c[k] * power;
        }
        y = value;
        slope = next;
    }
    return y;
}

/* By K of order 1/3 (DLMF 9.6.2) on the right, 9.7.9 far on the left. */
static double airy(double x)
{
    if (x != x || fabs(x) == INF)
        return NOT_NUMBER;
    double zeta = 2.0 / 3.0 * fabs(x) * sqrt(fabs(x));
    if (x > 103.892)
        return 0.0;
    if (x > 1.0)
        return sqrt(x / 3.0) / PI * bessel_k_scaled(zeta, 1.0 / 3.0) * exp(-zeta);
    if (x > -9.5)
        return airy_steps(x);
    double part[2] = {0.0, 0.0}, term = 1.0;
    for (int k = 0; k < 30 && term > 1e-18; k++) {
        part[k % 2] += k / 2 % 2 ? -term : term;
        double n = k + 1.0;
        term *= (6.0 * n - 5.0) * (6.0 * n - 3.0) * (6.0 * n - 1.0) / (216.0 * n * (2.0 * n - 1.0) * zeta);
    }
    double s = sin(zeta) * SQRT_HALF, c = cos(zeta) * SQRT_HALF;
    return ((c + s) * part[0] + (s - c) * part[1]) / (sqrt(PI) * sqrt(sqrt(-x)));
}

/* ---- the normal distribution ---- */

/* e^(x²) erfc(x); x² in two parts; from 10 on DLMF 7.12.1. */
static double erfcx(double x)
{
    double high = (double)(float)x, low = (x - high) * (x + high);
    if (x < 0.0)
        return x < -26.7 ? INF : 2.0 * exp(high * high) * exp(low) - erfcx(-x);
    if (x < 10.0)
        return exp(high * high) * exp(low) * erfc(x);
    double term = 1.0, y = 0.0;
    for (int k = 0; k < 30 && fabs(term) > 1e-18; k++) {
        y += term;
        term *= -(2.0 * k + 1.0) / (2.0 * x * x);
    }
    return x != x ? x : y / (x * 0x1.c5bf891b4ef6ap0);
}

static double log_ndtr(double x)
{
    double t = x * SQRT_HALF;
    return x < -1.0 ? log(0.5 * erfcx(-t)) - t * t : log1p(-0.5 * erfc(t));
}

static double entropy(double x)
{
    return x != x ? x : x > 0.0 ? -x * log(x) : x == 0.0 ? 0.0 : -INF;
}

/* ---- zeta and gamma ---- */

/* Hurwitz's zeta function by Euler and Maclaurin's sum (DLMF 25.11.5): ten terms, then (2k)! / B2k. */
static double zeta(double x, double q)
{
    static const double bernoulli[] = {12.0,
                                       -720.0,
                                       30240.0,
                                       -1209600.0,
                                       47900160.0,
                                       -1.8924375803183791606e9,
                                       7.47242496e10,
                                       -2.950130727918164224e12,
                                       1.1646782814350067249e14,
                                       -4.5979787224074726105e15,
                                       1.8152105401943546773e17,
                                       -7.1661652561756670113e18};
    if (x == 1.0)
        return INF;
    if (!(x > 1.0))
        return NOT_NUMBER;
    if (q <= 0.0) {
        if (q == floor(q))
            return INF;
        if (x != floor(x))
            return NOT_NUMBER;
    }
    double sum = pow(q, -x), at = q, last = sum;
    for (int k = 0; k < 9 || at <= 9.0; k++) {
        at += 1.0;
        last = pow(at, -x);
        sum += last;
        if (fabs(last) < fabs(sum) * 1e-17)
            return sum;
    }
    sum += last * at / (x - 1.0) - 0.5 * last;
    double rise = 1.0;
    for (int k = 0; k < 12; k++) {
        rise *= x + 2.0 * k;
        last /= at;
        double term = rise * last / bernoulli[k];
        sum += term;
        if (fabs(term) < fabs(sum) * 1e-17)
            return sum;
        rise *= x + 2.0 * k + 1.0;
        last /= at;
    }
    return sum;
}

/* The n-th derivative of digamma, n ≥ 1: (-1)^(n+1) n! ζ(n+1, x), DLMF 25.11.12; n = 1 reflected (5.15.6). */
static double polygamma(double x, double n)
{
    if (n == 1.0 && x < 0.5) {
        double s = sin(PI * x);
        return PI * PI / (s * s) - zeta(2.0, 1.0 - x);
    }
    return (fmod(n, 2.0) != 0.0 ? 1.0 : -1.0) * tgamma(n + 1.0) * zeta(n + 1.0, x);
}

/* x^a e^-x / Γ(a); from a = 10 on with Stirling's series, where the large terms have met already. */
static double gamma_factor(double a, double x)
{
    if (a < 10.0)
        return exp(a * log(x) - x) / tgamma(a);
    double r = (x - a) / a, rest = fabs(r) < 0.5 ? r - log1p(r) : r - log(x / a), z = 1.0 / (a * a);
    double series =
        (1.0 / 12.0 -
         z * (1.0 / 360.0 - z * (1.0 / 1260.0 - z * (1.0 / 1680.0 - z * (1.0 / 1188.0 - z * 691.0 / 360360.0))))) /
        a;
    return sqrt(a / (2.0 * PI)) * exp(-a * rest - series);
}

/* The regularised incomplete gamma functions: the lower one's series (DLMF 8.11.4), the upper one's continued fraction
 * (8.9.2, by Lentz's method). upper: which one is asked for. */
static double incomplete_gamma(double a, double x, bool upper)
{
    enum { TERMS = 20000 };
    if (!(x >= 0.0) || !(a >= 0.0))
        return NOT_NUMBER;
    if (a == 0.0)
        return x > 0.0 ? (upper ? 0.0 : 1.0) : NOT_NUMBER;
    if (x == 0.0)
        return upper ? 1.0 : 0.0;
    if (a == INF)
        return x == INF ? NOT_NUMBER : upper ? 1.0 : 0.0;
    if (x == INF)
        return upper ? 0.0 : 1.0;
    if (x < a + 1.0) {
        double term = 1.0, sum = 1.0;
        for (int k = 1; k < TERMS && term > sum * 1e-17; k++)
            sum += term *= x / (a + k);
        double y = gamma_factor(a, x) * sum / a;
        return upper ? 1.0 - y : y;
    }
    double b = x + 1.0 - a, c = 1e300, d = 1.0 / b, y = d;
    for (int k = 1; k < TERMS; k++) {
        double n = -k * (k - a);
        b += 2.0;
        d = n * d + b;
        c = b + n / c;
        d = 1.0 / (d == 0.0 ? 1e-300 : d);
        c = c == 0.0 ? 1e-300 : c;
        y *= d * c;
        if (fabs(d * c - 1.0) < 1e-16)
            break;
    }
    y *= gamma_factor(a, x);
    return upper ? y : 1.0 - y;
}

/* ---- orthogonal polynomials (DLMF 18.9); degrees below 0 give 0 ---- */

enum chebyshev { KIND_T, KIND_U, KIND_V, KIND_W };
enum { DEGREE_MAX = 1 << 24 };

static double chebyshev(double x, double degree, enum chebyshev kind)
{
    if (!(degree < DEGREE_MAX))
        return NOT_NUMBER;
    int n = degree > -1.0 ? (int)degree : -1;
    if (n < 0)
        return 0.0;
    if (fabs(x) == 1.0) {
        double sign = x > 0.0 || n % 2 == 0 ? 1.0 : -1.0;
        bool large = kind == KIND_U || (kind == KIND_V && x < 0.0) || (kind == KIND_W && x > 0.0);
        return sign * (!large ? 1.0 : kind == KIND_U ? n + 1.0 : 2.0 * n + 1.0);
    }
    if (n > 6 && fabs(x) < 1.0) {
        double angle = acos(x);
        return kind == KIND_T   ? cos(n * angle)
               : kind == KIND_U ? sin((n + 1) * angle) / sin(angle)
               : kind == KIND_V ? cos((n + 0.5) * angle) / cos(0.5 * angle)
                                : sin((n + 0.5) * angle) / sin(0.5 * angle);
    }
    double p = 1.0, q = kind == KIND_T ? x : x + x + (kind == KIND_V ? -1.0 : kind == KIND_W ? 1.0 : 0.0);
    for (int k = 2; k <= n && q == q; k++) {
        double r = (x + x) * q - p;
        p = q;
        q = r;
    }
    return n ? q : 1.0;
}

enum recurrence { HERMITE_H, HERMITE_HE, LAGUERRE, LEGENDRE };

/* most: the degree from which on Hermite's give NaN */
static double polynomial(double x, double degree, enum recurrence kind, int most)
{
    bool hermite = kind == HERMITE_H || kind == HERMITE_HE;
    if (!(degree < DEGREE_MAX))
        return hermite && degree != degree ? 0.0 : NOT_NUMBER;
    int n = degree > -1.0 ? (int)degree : -1;
    if (n < 0)
        return 0.0;
    if (hermite && n > most)
        return NOT_NUMBER;
    double p = 1.0, q = kind == HERMITE_H ? x + x : kind == LAGUERRE ? 1.0 - x : x;
    for (int k = 1; k < n && q == q; k++) {
        double r = kind == HERMITE_H    ? (x + x) * q - 2.0 * k * p
                   : kind == HERMITE_HE ? x * q - k * p
                   : kind == LAGUERRE   ? ((2.0 * k + 1.0 - x) * q - k * p) / (k + 1.0)
                                        : ((2.0 * k + 1.0) * x * q - k * p) / (k + 1.0);
        p = q;
        q = r;
    }
    return n ? q : 1.0;
}

/* ---- loops ---- */

#define BOTH1(name, expression) MAP1(name, f32, expression) MAP1(name, f64, expression)
#define BOTH2(name, expression) MAP2(name, f32, expression) MAP2(name, f64, expression)

BOTH1(i0, bessel_i(x, 0, false))
BOTH1(i0e, bessel_i(x, 0, true))
BOTH1(i1, bessel_i(x, 1, false))
BOTH1(i1e, bessel_i(x, 1, true))
BOTH1(j0, bessel_j(x, 0))
BOTH1(j1, bessel_j(x, 1))
BOTH1(y0, bessel_y(x, 0))
BOTH1(y1, bessel_y(x, 1))
BOTH1(k0, bessel_k(x, 0, false))
BOTH1(k0e, bessel_k(x, 0, true))
BOTH1(k1, bessel_k(x, 1, false))
BOTH1(k1e, bessel_k(x, 1, true))
BOTH1(spherical_j0, spherical_j0(x))
BOTH1(airy, airy(x))
BOTH1(erfcx, erfcx(x))
BOTH1(log_ndtr, log_ndtr(x))
BOTH1(entr, entropy(x))
BOTH1(polygamma, polygamma(x, s[0]))
BOTH2(zeta, zeta(x, y))
BOTH2(igamma, incomplete_gamma(x, y, false))
BOTH2(igammac, incomplete_gamma(x, y, true))
BOTH2(chebyshev_t, chebyshev(x, y, KIND_T))
BOTH2(chebyshev_u, chebyshev(x, y, KIND_U))
BOTH2(chebyshev_v, chebyshev(x, y, KIND_V))
BOTH2(chebyshev_w, chebyshev(x, y, KIND_W))
BOTH2(shifted_t, chebyshev(2.0 * (double)x - 1.0, y, KIND_T))
BOTH2(shifted_u, chebyshev(2.0 * (double)x - 1.0, y, KIND_U))
BOTH2(shifted_v, chebyshev(2.0 * (double)x - 1.0, y, KIND_V))
BOTH2(shifted_w, chebyshev(2.0 * (double)x - 1.0, y, KIND_W))
MAP2(hermite_h, f32, polynomial(x, y, HERMITE_H, 128))
MAP2(hermite_h, f64, polynomial(x, y, HERMITE_H, 512))
MAP2(hermite_he, f32, polynomial(x, y, HERMITE_HE, 128))
MAP2(hermite_he, f64, polynomial(x, y, HERMITE_HE, 512))
BOTH2(laguerre, polynomial(x, y, LAGUERRE, 0))
BOTH2(legendre, polynomial(x, y, LEGENDRE, 0))

static const walk_loop one[][ELEMENTWISE_DTYPES] = {
    AT(SPECIAL_I0) = {FLOATS(i0)},
    AT(SPECIAL_I0E) = {FLOATS(i0e)},
    AT(SPECIAL_I1) = {FLOATS(i1)},
    AT(SPECIAL_I1E) = {FLOATS(i1e)},
    AT(SPECIAL_J0) = {FLOATS(j0)},
    AT(SPECIAL_J1) = {FLOATS(j1)},
    AT(SPECIAL_Y0) = {FLOATS(y0)},
    AT(SPECIAL_Y1) = {FLOATS(y1)},
    AT(SPECIAL_K0) = {FLOATS(k0)},
    AT(SPECIAL_K0E) = {FLOATS(k0e)},
    AT(SPECIAL_K1) = {FLOATS(k1)},
    AT(SPECIAL_K1E) = {FLOATS(k1e)},
    AT(SPECIAL_SPHERICAL_J0) = {FLOATS(spherical_j0)},
    AT(SPECIAL_AIRY) = {FLOATS(airy)},
    AT(SPECIAL_ERFCX) = {FLOATS(erfcx)},
    AT(SPECIAL_LOG_NDTR) = {FLOATS(log_ndtr)},
    AT(SPECIAL_ENTR) = {FLOATS(entr)},
    AT(SPECIAL_POLYGAMMA) = {FLOATS(polygamma)},
};

static const walk_loop two[][ELEMENTWISE_DTYPES] = {
    AT(SPECIAL_ZETA) = {FLOATS(zeta)},
    AT(SPECIAL_IGAMMA) = {FLOATS(igamma)},
    AT(SPECIAL_IGAMMAC) = {FLOATS(igammac)},
    AT(SPECIAL_CHEBYSHEV_T) = {FLOATS(chebyshev_t)},
    AT(SPECIAL_CHEBYSHEV_U) = {FLOATS(chebyshev_u)},
    AT(SPECIAL_CHEBYSHEV_V) = {FLOATS(chebyshev_v)},
    AT(SPECIAL_CHEBYSHEV_W) = {FLOATS(chebyshev_w)},
    AT(SPECIAL_SHIFTED_T) = {FLOATS(shifted_t)},
    AT(SPECIAL_SHIFTED_U) = {FLOATS(shifted_u)},
    AT(SPECIAL_SHIFTED_V) = {FLOATS(shifted_v)},
    AT(SPECIAL_SHIFTED_W) = {FLOATS(shifted_w)},
    AT(SPECIAL_HERMITE_H) = {FLOATS(hermite_h)},
    AT(SPECIAL_HERMITE_HE) = {FLOATS(hermite_he)},
    AT(SPECIAL_LAGUERRE) = {FLOATS(laguerre)},
    AT(SPECIAL_LEGENDRE) = {FLOATS(legendre)},
};

const struct elementwise_table ISA(special_kernels) = {one, sizeof one / sizeof *one, NULL, 0};
const struct elementwise_table ISA(special2_kernels) = {two, sizeof two / sizeof *two, NULL, 0};
