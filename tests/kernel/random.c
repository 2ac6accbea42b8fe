/* SPDX-License-Identifier: BSD-3-Clause */
/* Random numbers against Philox written down once more (and that against its authors' known answers), and the formulas
 * of each distribution in double; every type, lengths 0..67, pieces; the same bits at every level. */
#include "harness.h"
#include "kernels/random.h"

#include <math.h>

static const struct random_kernels *const tables[] = HARNESS_TABLES(random_kernels);

static void philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c[4], k0 = key[0], k1 = key[1];
    memcpy(c, counter, sizeof c);
    for (int round = 0; round < 10; round++, k0 += 0x9e3779b9u, k1 += 0xbb67ae85u) {
        uint64_t a = UINT64_C(0xd2511f53) * c[0], b = UINT64_C(0xcd9e8d57) * c[2];
        const uint32_t next[4] = {(uint32_t)(b >> 32) ^ c[1] ^ k0, (uint32_t)b, (uint32_t)(a >> 32) ^ c[3] ^ k1,
                                  (uint32_t)a};
        memcpy(c, next, sizeof c);
    }
    memcpy(out, c, sizeof c);
}

static void known_answers(void)
{
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } rows[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint32_t out[4];
        philox(rows[i].counter, rows[i].key, out);
        CHECK(memcmp(out, rows[i].out, sizeof out) == 0);
    }
    for (int level = 0; level < harness_levels(); level++)
        CHECK(tables[level]->word(0, 0, 0) == UINT64_C(0xe169c58d6627e8d5));
}

/* Word w of block b. */
static uint32_t word_of(const struct random_param *p, uint64_t block, int w)
{
    const uint32_t key[2] = {(uint32_t)p->seed, (uint32_t)(p->seed >> 32)};
    const uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)p->offset,
                                 (uint32_t)(p->offset >> 32)};
    uint32_t out[4];
    philox(counter, key, out);
    return out[w];
}

/* The word of element i of a narrow type; the two words of one of a wide type. */
static uint32_t narrow(const struct random_param *p, uint64_t i)
{
    return word_of(p, i / 64 * 16 + i % 16, (int)(i % 64 / 16));
}

static uint64_t wide(const struct random_param *p, uint64_t i)
{
    uint64_t block = i / 32 * 16 + i % 16;
    int pair = (int)(i % 32 / 16);
    return (uint64_t)word_of(p, block, 2 * pair + 1) << 32 | word_of(p, block, 2 * pair);
}

static double normal_f32(const struct random_param *p, uint64_t i)
{
    uint64_t block = i / 64 * 16 + i % 16;
    int place = (int)(i % 64 / 16);
    uint32_t a = word_of(p, block, place & 2), b = word_of(p, block, (place & 2) + 1);
    double radius = sqrt(-2 * log(((a >> 1) + 0.5) * 0x1p-31));
    /* the angle: two bits of quadrant, then a signed eighth of a turn */
    double angle = (double)(int32_t)(b << 2) * (M_PI_2 * 0x1p-32) + (double)(b >> 30) * M_PI_2;
    return p->a + p->b * radius * (place & 1 ? sin(angle) : cos(angle));
}

static double normal_f64(const struct random_param *p, uint64_t i)
{
    uint64_t block = i / 32 * 16 + i % 16;
    uint64_t u = (uint64_t)word_of(p, block, 1) << 32 | word_of(p, block, 0);
    uint64_t v = (uint64_t)word_of(p, block, 3) << 32 | word_of(p, block, 2);
    double radius = sqrt(-2 * log(((double)(u >> 12) + 0.5) * 0x1p-52));
    double angle = (double)(int64_t)(v << 2) * (M_PI_2 * 0x1p-64) + (double)(v >> 62) * M_PI_2;
    return p->a + p->b * radius * (i % 32 < 16 ? cos(angle) : sin(angle));
}

static int mantissa(aclDataType type)
{
    return type == ACL_FLOAT ? 24 : type == ACL_FLOAT16 ? 11 : 8;
}

static double expected(enum random_kind kind, aclDataType type, const struct random_param *p, uint64_t i)
{
    bool is_double = type == ACL_DOUBLE;
    if (kind == RANDOM_NORMAL)
        return is_double ? normal_f64(p, i) : normal_f32(p, i);
    if (kind == RANDOM_EXPONENTIAL)
        return -log(is_double ? ((double)(wide(p, i) >> 12) + 0.5) * 0x1p-52 : ((narrow(p, i) >> 1) + 0.5) * 0x1p-31) /
               p->a;
    double u = is_double ? (double)(wide(p, i) >> 11) * 0x1p-53
                         : (double)(narrow(p, i) >> (32 - mantissa(type))) / (1 << mantissa(type));
    return fmin(p->a + (p->b - p->a) * u, p->top);
}

static void floats(enum random_kind kind, aclDataType type, uint64_t first, int64_t n)
{
    struct random_param p = {.seed = 0x123456789abcdef0u + (uint64_t)n, .offset = 77 + first};
    p.a = kind == RANDOM_EXPONENTIAL ? 2.5 : -1.5;
    p.b = kind == RANDOM_UNIFORM ? 2.5 : 0.75;
    p.top = type == ACL_DOUBLE  ? nextafter(2.5, 0)
            : type == ACL_FLOAT ? nextafterf(2.5f, 0)
            : type == ACL_BF16  ? 2.484375
                                : 2.498046875;
    int64_t size = (int64_t)dtype_size(type);
    char *want = harness_buffer(0, (size_t)(n * size)), *base = harness_buffer(2, (size_t)(n * size)), context[64];
    for (int64_t i = 0; i < n; i++)
        harness_put(type, want + i * size, expected(kind, type, &p, first + (uint64_t)i));
    for (int level = 0; level < harness_levels(); level++) {
        char *out = level ? harness_buffer(1, (size_t)(n * size)) : base;
        tables[level]->fill(kind, type, first, n, out, &p);
        harness_guard(level ? 1 : 2);
        snprintf(context, sizeof context, "%s, n %d%s", harness_level_name(level), (int)n,
                 level ? " (against base)" : "");
        harness_compare(type, out, level ? base : want, size, n, level ? 0 : 3,
                        level                ? 0
                        : type == ACL_DOUBLE ? 4e-15
                        : type == ACL_FLOAT  ? 2e-6
                                             : 0,
                        context);
        for (int64_t i = 0; kind == RANDOM_UNIFORM && i < n; i++)
            CHECK(harness_value(type, out + i * size) >= p.a && harness_value(type, out + i * size) < p.b);
    }
}

static void integers(enum random_kind kind, aclDataType type, uint64_t range, uint64_t first, int64_t n)
{
    struct random_param p = {.seed = 99 + (uint64_t)n, .offset = first, .a = 0.3, .from = -3, .range = range};
    int64_t size = (int64_t)dtype_size(type);
    char *want = harness_buffer(0, (size_t)(n * size));
    for (int64_t i = 0; i < n; i++) {
        uint64_t at = first + (uint64_t)i;
        int64_t v = kind == RANDOM_BERNOULLI ? narrow(&p, at) < (uint64_t)(0.3 * 0x1p32)
                    : range - 1 < 1u << 24   ? (int64_t)(narrow(&p, at) * range >> 32) - 3
                    : range                  ? (int64_t)((unsigned __int128)wide(&p, at) * range >> 64) - 3
                                             : (int64_t)(wide(&p, at) - 3);
        if (dtype_is_float(type))
            harness_put(type, want + i * size, (double)v);
        else
            memcpy(want + i * size, &v, (size_t)size);
    }
    for (int level = 0; level < harness_levels(); level++) {
        char *out = harness_buffer(1, (size_t)(n * size));
        tables[level]->fill(kind, type, first, n, out, &p);
        harness_guard(1);
        harness_compare(type, out, want, size, n, 0, 0, harness_level_name(level));
    }
}

static void masks(aclDataType type, int64_t n, double probability)
{
    struct random_param p = {.seed = 5, .offset = (uint64_t)n, .a = probability};
    int64_t size = (int64_t)dtype_size(type), bytes = (n + 7) / 8;
    uint64_t limit = probability >= 1 ? UINT64_C(1) << 32 : (uint64_t)(probability * 0x1p32);
    char *in = harness_buffer(0, (size_t)(n * size)), *want = harness_buffer(1, (size_t)(n * size));
    uint8_t *mask = (uint8_t *)harness_buffer(2, (size_t)bytes);
    memset(mask, 0, (size_t)bytes);
    harness_fill(type, in, size, n, 0, 0);
    for (int64_t i = 0; i < n; i++) {
        bool keep = narrow(&p, (uint64_t)i) < limit;
        mask[i / 8] |= (uint8_t)(keep << i % 8);
        double scaled = harness_value(type, in + i * size) * 1.25;
        harness_put(type, want + i * size, keep ? (type == ACL_DOUBLE ? scaled : (double)(float)scaled) : 0);
    }
    for (int level = 0; level < harness_levels(); level++) {
        uint8_t *bits = (uint8_t *)harness_buffer(3, (size_t)bytes);
        char *out = harness_buffer(4, (size_t)(n * size));
        double standard[RANDOM_GROUP];
        int64_t few = n < 32 ? n : 32;
        tables[level]->bits(0, n, bits, &p);
        tables[level]->mask_bits(type, n, out, in, mask, 1.25);
        harness_guard(3), harness_guard(4);
        CHECK(memcmp(bits, mask, (size_t)bytes) == 0);
        harness_compare(type, out, want, size, n, 0, 0, harness_level_name(level));
        tables[level]->draw(RANDOM_UNIFORM, 0, few, standard, &p);
        for (int64_t i = 0; i < few; i++)
            CHECK(standard[i] == (double)(wide(&p, (uint64_t)i) >> 11) * 0x1p-53);
    }
}

int main(int argc, char **argv)
{
    static const aclDataType types[] = {ACL_FLOAT, ACL_DOUBLE, ACL_FLOAT16, ACL_BF16,  ACL_INT8,
                                        ACL_UINT8, ACL_INT16,  ACL_INT32,   ACL_INT64, ACL_BOOL};
    static const char *const kinds[] = {"uniform", "normal", "exponential", "bernoulli", "integer"};
    static const uint64_t ranges[] = {1, 2, 7, 1 << 24, (1 << 24) + 1, UINT64_C(1) << 40, 0};
    char name[40];
    harness_begin(argc, argv);
    known_answers();
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++)
        for (int kind = RANDOM_UNIFORM; kind <= RANDOM_INTEGER; kind++) {
            snprintf(name, sizeof name, "random %s %s", kinds[kind], dtype_name(types[t]));
            if (!harness_wants(name) || (kind < RANDOM_BERNOULLI && !dtype_is_float(types[t])))
                continue;
            for (int64_t n = 0; n <= 200; n += n < 67 ? 1 : 19)
                if (kind < RANDOM_BERNOULLI)
                    floats((enum random_kind)kind, types[t], n % 2 ? 0 : UINT64_C(64) << n % 50, n);
                else
                    integers((enum random_kind)kind, types[t], ranges[n % 7], n % 2 ? 0 : UINT64_C(64) << n % 50, n);
        }
    for (size_t t = 0; t < 4; t++) {
        snprintf(name, sizeof name, "random mask %s", dtype_name(types[t]));
        for (int64_t n = 0; n <= 67 && harness_wants(name); n++)
            masks(types[t], n, (double)(n % 5) / 4);
        if (harness_wants(name))
            masks(types[t], 1027, 0.5);
    }
    return harness_end();
}
