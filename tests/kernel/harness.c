/* SPDX-License-Identifier: BSD-3-Clause */
/* See harness.h. One thread, static state. */
#define _GNU_SOURCE
#include "harness.h"

#include <inttypes.h>
#include <math.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { BUFFERS = 32, GUARD = 256, LENGTH_MAX = 67, LONG = 4099, BENCH = 16384 };

static struct {
    const char *filter, *name;
    bool bench, digests;
    uint64_t seed, digest;
    int reported; /* messages about the current kernel */
    struct {
        char *map, *data;
        size_t size, bytes;
    } buffer[BUFFERS];
} h;

void harness_begin(int argc, char **argv)
{
    h.seed = 0x9e3779b97f4a7c15u;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--bench") == 0)
            h.bench = true;
        else if (strcmp(argv[i], "--digest") == 0)
            h.digests = true;
        else
            h.filter = argv[i];
    }
    check_count = h.filter != NULL; /* nothing may be selected */
}

int harness_end(void)
{
    if (h.digests)
        printf("digest %016" PRIx64 "\n", h.digest);
    return check_done();
}

bool harness_benches(void)
{
    return h.bench;
}

bool harness_wants(const char *name)
{
    h.name = name;
    h.reported = 0;
    return !h.filter || strstr(name, h.filter);
}

int harness_levels(void)
{
#ifdef __x86_64__
    return h.digests ? 1 : cpu_isa() + 1;
#else
    return 1;
#endif
}

const char *harness_level_name(int level)
{
    static const char *const names[] = {"base", "v3", "v4"};
    return names[level];
}

static bool failed(const char *format, ...) __attribute__((format(printf, 1, 2)));

#include <stdarg.h>

static bool failed(const char *format, ...)
{
    check_failures++;
    if (h.reported++ < 5) {
        va_list args;
        va_start(args, format);
        fprintf(stderr, "%s: ", h.name ? h.name : "?");
        vfprintf(stderr, format, args);
        fputc('\n', stderr);
        va_end(args);
    }
    return false;
}

/* ---- data ---- */

char *harness_buffer(int which, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (bytes + GUARD + page - 1) / page * page + page;
    if (h.buffer[which].size < size) {
        if (h.buffer[which].map)
            munmap(h.buffer[which].map, h.buffer[which].size);
        char *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (map == MAP_FAILED || mprotect(map + size - page, page, PROT_NONE)) {
            perror("harness_buffer");
            exit(1);
        }
        h.buffer[which].map = map;
        h.buffer[which].size = size;
    }
    char *data = h.buffer[which].map + h.buffer[which].size - page - bytes;
    h.buffer[which].data = data;
    h.buffer[which].bytes = bytes;
    memset(data - GUARD, 0x5c, GUARD);
    memset(data, 0xa5, bytes);
    return data;
}

void harness_guard(int which)
{
    check_count++;
    for (int i = 1; i <= GUARD; i++)
        if (h.buffer[which].data[-i] != 0x5c) {
            failed("wrote %d bytes before buffer %d", i, which);
            return;
        }
}

uint64_t harness_random(void)
{
    uint64_t z = h.seed += 0x9e3779b97f4a7c15u; /* splitmix64 */
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

double harness_uniform(double low, double high)
{
    return low + (high - low) * ((double)(harness_random() >> 11) * 0x1p-53);
}

static void put_float(aclDataType type, char *at, double x)
{
    float f = (float)x;
    uint16_t half;
    switch (type) {
    case ACL_FLOAT:
        memcpy(at, &f, sizeof f);
        break;
    case ACL_DOUBLE:
        memcpy(at, &x, sizeof x);
        break;
    case ACL_FLOAT16:
        half = f16_from_float(f), memcpy(at, &half, sizeof half);
        break;
    default:
        half = bf16_from_float(f), memcpy(at, &half, sizeof half);
        break;
    }
}

/* Any bits, special values, and mostly numbers of ordinary size. */
static void put_wild(aclDataType type, char *at)
{
    static const double special[] = {0.0,       -0.0,    1.0,    -1.0,     INFINITY, -INFINITY, NAN,     0x1p-149,
                                     -0x1p-140, 0x1p-24, 0.5,    -0.5,     1.5,      2.5,       65504.0, 65520.0,
                                     1e30,      -1e30,   127.5,  -128.5,   255.9,    256.0,     2.1e9,   -2.2e9,
                                     1e19,      -1e19,   3.4e38, 0x1p-126, 0.1,      -3.7};
    uint64_t r = harness_random();
    if (r % 4 == 0) {
        put_float(type, at, special[r / 4 % (sizeof special / sizeof special[0])]);
    } else if (r % 4 == 1) {
        uint64_t bits = harness_random();
        memcpy(at, &bits, dtype_size(type));
    } else {
        put_float(type, at, harness_uniform(-100, 100));
    }
}

static void put_number(aclDataType type, char *at, double low, double high)
{
    size_t bytes = dtype_size(type);
    uint64_t r = harness_random();
    if (type == ACL_BOOL) {
        *at = (char)(r & 1);
    } else if (dtype_is_complex(type)) {
        aclDataType part = type == ACL_COMPLEX128 ? ACL_DOUBLE : type == ACL_COMPLEX64 ? ACL_FLOAT : ACL_FLOAT16;
        put_number(part, at, low, high);
        put_number(part, at + bytes / 2, low, high);
    } else if (dtype_is_float(type)) {
        if (low == high)
            put_wild(type, at);
        else
            put_float(type, at, harness_uniform(low, high));
    } else if (low == high) { /* integers: small ones, extremes, any */
        int64_t v = r % 4 == 0   ? (int64_t)(harness_random() % 9) - 4
                    : r % 4 == 1 ? INT64_MIN >> (64 - 8 * bytes)
                                 : (int64_t)harness_random();
        v = r % 16 == 1 ? ~v : v;
        memcpy(at, &v, bytes);
    } else {
        int64_t v = (int64_t)floor(harness_uniform(low, high + 1));
        v = v > high ? (int64_t)high : v;
        memcpy(at, &v, bytes);
    }
}

void harness_fill(aclDataType type, char *data, int64_t step, int64_t n, double low, double high)
{
    for (int64_t i = 0; i < n; i++)
        put_number(type, data + i * step, low, high);
}

/* ---- comparing ---- */

static double get_float(aclDataType type, const char *at)
{
    float f;
    double d;
    uint16_t half;
    switch (type) {
    case ACL_FLOAT:
        memcpy(&f, at, sizeof f);
        return f;
    case ACL_DOUBLE:
        memcpy(&d, at, sizeof d);
        return d;
    case ACL_FLOAT16:
        memcpy(&half, at, sizeof half);
        return f16_to_float(half);
    default:
        memcpy(&half, at, sizeof half);
        return bf16_to_float(half);
    }
}

double harness_value(aclDataType type, const char *at)
{
    int64_t v = 0;
    size_t bytes = dtype_size(type);
    if (dtype_is_float(type))
        return get_float(type, at);
    memcpy(&v, at, bytes);
    if (type == ACL_BOOL)
        return v != 0;
    if (type == ACL_UINT64)
        return (double)(uint64_t)v;
    if (type == ACL_INT8 || type == ACL_INT16 || type == ACL_INT32) /* the sign */
        v = (int64_t)((uint64_t)v << (64 - 8 * bytes)) >> (64 - 8 * bytes);
    return (double)v;
}

void harness_put(aclDataType type, char *at, double value)
{
    int64_t v = 0;
    if (dtype_is_float(type)) {
        put_float(type, at, value);
        return;
    }
    v = type == ACL_BOOL ? value != 0 : type == ACL_UINT64 ? (int64_t)(uint64_t)value : (int64_t)value;
    memcpy(at, &v, dtype_size(type));
}

/* The distance between neighbours at x. */
static double spacing(aclDataType type, double x)
{
    int digits = type == ACL_DOUBLE ? 53 : type == ACL_FLOAT ? 24 : type == ACL_FLOAT16 ? 11 : 8;
    int lowest = type == ACL_DOUBLE ? -1074 : type == ACL_FLOAT16 ? -24 : type == ACL_FLOAT ? -149 : -133;
    int exponent;
    frexp(x, &exponent);
    exponent -= digits;
    return ldexp(1, exponent > lowest ? exponent : lowest);
}

static bool same_element(aclDataType type, const char *got, const char *want, double ulp, double near)
{
    if (dtype_is_complex(type)) {
        aclDataType part = type == ACL_COMPLEX128 ? ACL_DOUBLE : type == ACL_COMPLEX64 ? ACL_FLOAT : ACL_FLOAT16;
        size_t half = dtype_size(type) / 2;
        return same_element(part, got, want, ulp, near) && same_element(part, got + half, want + half, ulp, near);
    }
    if (memcmp(got, want, dtype_size(type)) == 0)
        return true;
    if (!dtype_is_float(type))
        return false;
    double a = get_float(type, got), b = get_float(type, want);
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    if (ulp == 0 && near == 0)
        return false;
    if (a == b) /* zeros of both signs */
        return true;
    if (isinf(a) || isinf(b))
        return false;
    return fabs(a - b) <= near || fabs(a - b) <= ulp * spacing(type, fmax(fabs(a), fabs(b)));
}

static const char *element_text(aclDataType type, const char *at, char *text, size_t bytes)
{
    int64_t v = 0;
    if (dtype_is_float(type)) {
        snprintf(text, bytes, "%.17g", get_float(type, at));
    } else if (dtype_is_complex(type)) {
        aclDataType part = type == ACL_COMPLEX128 ? ACL_DOUBLE : type == ACL_COMPLEX64 ? ACL_FLOAT : ACL_FLOAT16;
        snprintf(text, bytes, "%.17g %+.17gi", get_float(part, at), get_float(part, at + dtype_size(type) / 2));
    } else {
        memcpy(&v, at, dtype_size(type));
        snprintf(text, bytes, "0x%" PRIx64, (uint64_t)v);
    }
    return text;
}

/* Adds an element to the digest; NaNs of any sign and payload are one. */
static void digest(aclDataType type, const char *at)
{
    size_t bytes = dtype_size(type);
    bool complex = dtype_is_complex(type);
    aclDataType part = !complex                 ? type
                       : type == ACL_COMPLEX128 ? ACL_DOUBLE
                       : type == ACL_COMPLEX64  ? ACL_FLOAT
                                                : ACL_FLOAT16;
    for (size_t i = 0; i < bytes; i += dtype_size(part)) {
        uint64_t bits = 0;
        memcpy(&bits, at + i, dtype_size(part));
        if (dtype_is_float(part) && isnan(get_float(part, at + i)))
            bits = UINT64_MAX;
        h.digest = (h.digest ^ bits) * UINT64_C(0x9e3779b97f4a7c15);
        h.digest ^= h.digest >> 29;
    }
}

bool harness_compare(aclDataType type, const char *got, const char *want, int64_t step, int64_t n, double ulp,
                     double near, const char *context)
{
    check_count++;
    for (int64_t i = 0; h.digests && i < n; i++)
        digest(type, got + i * step);
    for (int64_t i = 0; i < n; i++) {
        char a[96], b[96];
        if (!same_element(type, got + i * step, want + i * step, ulp, near))
            return failed("%s: element %" PRId64 " of %" PRId64 " is %s, expected %s", context, i, n,
                          element_text(type, got + i * step, a, sizeof a),
                          element_text(type, want + i * step, b, sizeof b));
    }
    return true;
}

/* ---- loops ---- */

enum { REFERENCE = 0, OUTPUT = 1, FIRST_LEVEL = 2, INPUT = 3, ALIAS = 16 };

static int64_t extent(int64_t n, int64_t step, size_t element)
{
    return n ? (n - 1) * step + (int64_t)element : 0;
}

/* One call of every level: n elements, operand k `every[k]` elements apart; alias > 0: the output is that input. */
static void one_setting(const struct loop_test *t, int64_t n, const int64_t *every, int alias)
{
    int64_t step[HARNESS_OPERANDS], out = 0;
    char *data[HARNESS_OPERANDS], context[160];
    for (int k = 0; k <= t->inputs; k++) {
        size_t element = dtype_size(t->type[k]);
        step[k] = every[k] * (int64_t)element;
        if (k == 0)
            out = extent(n, step[0], element);
        else
            data[k] = harness_buffer(INPUT + k, (size_t)extent(n, step[k], element));
        if (k)
            harness_fill(t->type[k], data[k], step[k], step[k] ? n : n > 0, t->low[k], t->high[k]);
    }
    char *start = harness_buffer(ALIAS, (size_t)out);
    if (alias)
        memcpy(start, data[alias], (size_t)out);
    else if (t->accumulates)
        harness_fill(t->type[0], start, step[0], n, t->low[0], t->high[0]);
    char *want = harness_buffer(REFERENCE, (size_t)out);
    memcpy(want, start, (size_t)out);
    data[0] = want;
    t->reference(n, data, step, t->param);
    for (int level = 0; level < harness_levels(); level++) {
        int which = level ? OUTPUT : FIRST_LEVEL;
        data[0] = harness_buffer(which, (size_t)out);
        memcpy(data[0], start, (size_t)out);
        char *keep = alias ? data[alias] : NULL;
        if (alias)
            data[alias] = data[0];
        t->loop[level](n, data, step, t->param);
        if (alias)
            data[alias] = keep;
        harness_guard(which);
        snprintf(context, sizeof context, "%s, n %" PRId64 ", steps %" PRId64 " %" PRId64 " %" PRId64 "%s",
                 harness_level_name(level), n, every[0], t->inputs > 0 ? every[1] : 0, t->inputs > 1 ? every[2] : 0,
                 alias ? ", in place" : "");
        if (level) {
            strncat(context, " (against base)", sizeof context - strlen(context) - 1);
            harness_compare(t->type[0], data[0], h.buffer[FIRST_LEVEL].data, step[0], n, 0, 0, context);
        } else {
            harness_compare(t->type[0], data[0], want, step[0], n, t->ulp, t->near, context);
        }
        for (int64_t i = 0; i < out; i++) /* between the elements nothing may change */
            if (i % step[0] >= (int64_t)dtype_size(t->type[0]) && data[0][i] != start[i]) {
                failed("%s: wrote between elements at byte %" PRId64, context, i);
                break;
            }
    }
}

struct bench {
    const struct loop_test *test;
    int level;
    char *data[HARNESS_OPERANDS];
    int64_t step[HARNESS_OPERANDS];
};

static void bench_call(void *arg)
{
    struct bench *b = arg;
    b->test->loop[b->level](BENCH, b->data, b->step, b->test->param);
}

static void bench_loop(const struct loop_test *t)
{
    struct bench b = {.test = t};
    int64_t bytes = 0;
    for (int k = 0; k <= t->inputs; k++) {
        b.step[k] = (int64_t)dtype_size(t->type[k]);
        b.data[k] = harness_buffer(INPUT + k, (size_t)(BENCH * b.step[k]));
        harness_fill(t->type[k], b.data[k], b.step[k], BENCH, t->low[k] < t->high[k] ? t->low[k] : 0.1,
                     t->low[k] < t->high[k] ? t->high[k] : 1.1);
        bytes += BENCH * b.step[k];
    }
    for (b.level = 0; b.level < harness_levels(); b.level++)
        harness_time(t->name, b.level, bench_call, &b, BENCH, bytes);
}

void harness_loop(const struct loop_test *t)
{
    if (!harness_wants(t->name))
        return;
    for (int64_t n = 0; n <= LENGTH_MAX; n++) {
        int64_t dense[HARNESS_OPERANDS], odd[HARNESS_OPERANDS], fixed[HARNESS_OPERANDS];
        for (int k = 0; k < HARNESS_OPERANDS; k++) {
            dense[k] = 1;
            odd[k] = (n + k) % 3 + 1;
            fixed[k] = k > 0 && ((n >> (k - 1)) & 1) ? 0 : 1;
        }
        one_setting(t, n, dense, 0);
        one_setting(t, n, odd, 0);
        one_setting(t, n, fixed, 0);
        for (int k = 1; k <= t->inputs && !t->no_alias; k++)
            if (t->type[k] == t->type[0])
                one_setting(t, n, dense, k);
    }
    const int64_t dense[HARNESS_OPERANDS] = {1, 1, 1, 1, 1, 1, 1, 1};
    one_setting(t, LONG, dense, 0);
    if (h.bench)
        bench_loop(t);
}

/* ---- time ---- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

void harness_time(const char *name, int level, void (*run)(void *arg), void *arg, int64_t elements, int64_t bytes)
{
    if (!h.bench)
        return;
    int64_t calls = 1;
    double best = INFINITY;
    run(arg);
    for (int round = 0; round < 7; round++) { /* the least of several, each of at least a millisecond */
        double start = now(), spent;
        for (int64_t i = 0; i < calls; i++)
            run(arg);
        spent = now() - start;
        if (spent < 1e6) {
            calls *= spent < 1e5 ? 8 : 2;
            round--;
            continue;
        }
        best = fmin(best, spent / (double)calls);
    }
    printf("%-32s %-4s %12.1f ns %9.3f ns/element %8.2f GB/s\n", name, harness_level_name(level), best,
           best / (double)elements, (double)bytes / best);
}
