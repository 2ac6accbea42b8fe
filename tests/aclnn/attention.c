/* SPDX-License-Identifier: BSD-3-Clause */
/* Fused attention and its gradient against the formulas in double: all layouts, masks, biases, grouped heads, dropping,
 * sequences of different length, sizes around the borders of blocks. */
#include "acl/acl.h"
#include "aclnnop/aclnn_flash_attention_score.h"
#include "aclnnop/aclnn_flash_attention_score_grad.h"
#include "aclnnop/aclnn_flash_attention_score_grad_v2.h"
#include "aclnnop/aclnn_flash_attention_score_grad_v4.h"
#include "aclnnop/aclnn_flash_attention_score_v2.h"
#include "aclnnop/aclnn_flash_attention_score_v4.h"
#include "base/dtype.h"
#include "check.h"

#include <math.h>
#include <stdint.h>

enum { Q, K, V, DY, BIAS, OUT, DQ, DK, DV, DBIAS, MAX, SUM, TENSORS };

static aclrtStream stream;
static char *device; /* of all tensors, 4 MB each, then masks and the workspace */
enum { ROOM = 4 << 20, MASK = TENSORS * ROOM, DROP = MASK + ROOM, WORK = DROP + ROOM, WORK_BYTES = 64 << 20 };

struct problem {
    const char *layout;
    int64_t b, n, kv, sq, sk, d, dv;
    int mode;
    int64_t pre, next, prefix;
    bool mask, bias, add_then_mul;
    double keep;
    aclDataType dtype;
    const int64_t *ends_q, *ends_k; /* TND */
};

static float host[TENSORS][ROOM / 4];
static uint8_t mask[ROOM], drop[ROOM];
static uint64_t state = 7;

static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 40) / (1 << 24) * 2 - 1;
}

/* Index of an element in the layout; rows counts all rows of the tensor, heads its heads. */
static int64_t place(const struct problem *p, int64_t b, int64_t h, int64_t row, int64_t c, int64_t heads, int64_t rows,
                     int64_t columns)
{
    if (strcmp(p->layout, "SBH") == 0)
        return ((row * p->b + b) * heads + h) * columns + c;
    if (strcmp(p->layout, "BNSD") == 0)
        return ((b * heads + h) * rows + row) * columns + c;
    if (strcmp(p->layout, "TND") == 0)
        return (row * heads + h) * columns + c;
    return ((b * rows + row) * heads + h) * columns + c;
}

static aclTensor *tensor(const struct problem *p, int which, int64_t heads, int64_t rows, int64_t columns)
{
    int64_t dim[4], rank = 4;
    if (strcmp(p->layout, "BSH") == 0 || strcmp(p->layout, "SBH") == 0) {
        bool first = p->layout[0] == 'S';
        rank = 3, dim[0] = first ? rows : p->b, dim[1] = first ? p->b : rows, dim[2] = heads * columns;
    } else if (strcmp(p->layout, "TND") == 0) {
        rank = 3, dim[0] = rows, dim[1] = heads, dim[2] = columns;
    } else {
        bool head_first = p->layout[1] == 'N';
        dim[0] = p->b, dim[1] = head_first ? heads : rows, dim[2] = head_first ? rows : heads, dim[3] = columns;
    }
    int64_t count = 1;
    for (int i = 0; i < rank; i++)
        count *= dim[i];
    if (which < OUT) { /* inputs: made up, rounded to the type, copied */
        static uint16_t half[ROOM / 4];
        for (int64_t i = 0; i < count; i++) {
            float x = (float)uniform();
            half[i] = p->dtype == ACL_BF16 ? bf16_from_float(x) : f16_from_float(x);
            host[which][i] = p->dtype == ACL_FLOAT  ? x
                             : p->dtype == ACL_BF16 ? bf16_to_float(half[i])
                                                    : f16_to_float(half[i]);
        }
        size_t bytes = (size_t)count * aclDataTypeSize(p->dtype);
        const void *from = p->dtype == ACL_FLOAT ? (const void *)host[which] : half;
        CHECK_EQ(aclrtMemcpy(device + which * ROOM, ROOM, from, bytes, ACL_MEMCPY_HOST_TO_DEVICE), 0);
    }
    return aclCreateTensor(dim, (uint64_t)rank, p->dtype, NULL, 0, ACL_FORMAT_ND, NULL, 0, device + which * ROOM);
}

static aclTensor *plain(aclDataType dtype, int64_t at, uint64_t rank, const int64_t *dim)
{
    return aclCreateTensor(dim, rank, dtype, NULL, 0, ACL_FORMAT_ND, NULL, 0, device + at);
}

/* ---- the formulas ---- */

static bool hides(const struct problem *p, int64_t b, int64_t h, int64_t i, int64_t j, int64_t sq, int64_t sk)
{
    int64_t shift = sk - sq;
    bool by_mask = p->mask && mask[((b * p->n + h) * p->sq + i) * p->sk + j];
    switch (p->mode) {
    case 0:
        return p->mask && (by_mask || j < i - p->pre || j > i + p->next);
    case 1:
        return by_mask;
    case 2:
        return j > i;
    case 3:
        return j > i + shift;
    case 4:
        return j < i + shift - p->pre || j > i + shift + p->next;
    default:
        return j > i + shift && j >= p->prefix;
    }
}

static double result[TENSORS][ROOM / 4];

static void reference(const struct problem *p, int64_t b, int64_t h, int64_t q0, int64_t sq, int64_t k0, int64_t sk)
{
    static double w[512], g[512];
    int64_t kv = h / (p->n / p->kv), rows_q = p->ends_q ? p->ends_q[p->b - 1] : p->sq,
            rows_k = p->ends_k ? p->ends_k[p->b - 1] : p->sk;
    double scale = 1 / sqrt((double)p->d);
#define AT(which, heads, rows, columns, head, row, c) [which][place(p, b, head, row, c, heads, rows, columns)]
    for (int64_t i = 0; i < sq; i++) {
        double max = -INFINITY, sum = 0, dot = 0;
        for (int64_t j = 0; j < sk; j++) {
            double s = 0;
            for (int64_t c = 0; c < p->d; c++)
                s += (double)host AT(Q, p->n, rows_q, p->d, h, q0 + i, c) *
                     host AT(K, p->kv, rows_k, p->d, kv, k0 + j, c);
            double bias = p->bias ? host[BIAS][((b * p->n + h) * p->sq + i) * p->sk + j] : 0;
            w[j] = hides(p, b, h, i, j, sq, sk) ? -INFINITY : s * scale + bias * (p->add_then_mul ? scale : 1);
            max = fmax(max, w[j]);
        }
        for (int64_t j = 0; j < sk; j++)
            sum += w[j] = max == -INFINITY ? 0 : exp(w[j] - max);
        for (int64_t j = 0; j < sk; j++) {
            int64_t bit = ((b * p->n + h) * p->sq + i) * p->sk + j;
            double keep = p->keep == 1 ? 1 : (drop[bit / 8] >> bit % 8 & 1) / p->keep;
            w[j] = sum > 0 ? w[j] / sum : 0;
            g[j] = 0;
            for (int64_t c = 0; c < p->dv; c++) {
                double v = host AT(V, p->kv, rows_k, p->dv, kv, k0 + j, c),
                       dy = host AT(DY, p->n, rows_q, p->dv, h, q0 + i, c);
                result AT(OUT, p->n, rows_q, p->dv, h, q0 + i, c) += w[j] * keep * v;
                result AT(DV, p->kv, rows_k, p->dv, kv, k0 + j, c) += w[j] * keep * dy;
                g[j] += dy * v * keep;
            }
            dot += w[j] * g[j];
        }
        for (int64_t j = 0; j < sk; j++) {
            double ds = w[j] * (g[j] - dot);
            if (p->bias)
                result[DBIAS][((b * p->n + h) * p->sq + i) * p->sk + j] = ds * (p->add_then_mul ? scale : 1);
            for (int64_t c = 0; c < p->d; c++) {
                result AT(DQ, p->n, rows_q, p->d, h, q0 + i, c) +=
                    scale * ds * host AT(K, p->kv, rows_k, p->d, kv, k0 + j, c);
                result AT(DK, p->kv, rows_k, p->d, kv, k0 + j, c) +=
                    scale * ds * host AT(Q, p->n, rows_q, p->d, h, q0 + i, c);
            }
        }
    }
}

static void compare(const struct problem *p, int which, int64_t count, aclDataType dtype)
{
    static const char *const names[] = {"q", "k", "v", "dy", "bias", "out", "dq", "dk", "dv", "dbias"};
    static char raw[ROOM];
    double worst = 0, limit = dtype == ACL_FLOAT ? 2e-5 : dtype == ACL_FLOAT16 ? 4e-3 : 3e-2;
    CHECK_EQ(aclrtMemcpy(raw, ROOM, device + which * ROOM, (size_t)count * aclDataTypeSize(dtype),
                         ACL_MEMCPY_DEVICE_TO_HOST),
             0);
    for (int64_t i = 0; i < count; i++) {
        double got = dtype == ACL_FLOAT  ? ((float *)raw)[i]
                     : dtype == ACL_BF16 ? bf16_to_float(((uint16_t *)raw)[i])
                                         : f16_to_float(((uint16_t *)raw)[i]);
        double error = fabs(got - result[which][i]) / (1 + fabs(result[which][i]));
        worst = error > worst || isnan(error) ? error : worst;
    }
    check_count++;
    if (!(worst < limit)) {
        check_failures++;
        fprintf(stderr, "%s b%ld n%ld/%ld s%ld/%ld d%ld/%ld mode %d: %s is off by %g\n", p->layout, (long)p->b,
                (long)p->n, (long)p->kv, (long)p->sq, (long)p->sk, (long)p->d, (long)p->dv, p->mode, names[which],
                worst);
    }
}

/* ---- running ---- */

static void try(const struct problem *p)
{
    bool tnd = p->ends_q != NULL;
    int64_t rows_q = tnd ? p->ends_q[p->b - 1] : p->sq, rows_k = tnd ? p->ends_k[p->b - 1] : p->sk,
            batches = tnd ? 1 : p->b;
    int64_t full[4] = {p->b, p->n, p->sq, p->sk}, scores = p->b * p->n * p->sq * p->sk, bytes = (scores + 7) / 8;
    int64_t sums[4] = {batches, tnd ? rows_q : p->n, tnd ? p->n : rows_q, 8}, none = 0;
    const int64_t prefixes[8] = {p->prefix, p->prefix, p->prefix, p->prefix,
                                 p->prefix, p->prefix, p->prefix, p->prefix};
    char layout[8];
    uint64_t size;
    aclOpExecutor *executor;
    snprintf(layout, sizeof layout, "%s", p->layout);
    aclTensor *q = tensor(p, Q, p->n, rows_q, p->d), *k = tensor(p, K, p->kv, rows_k, p->d),
              *v = tensor(p, V, p->kv, rows_k, p->dv);
    aclTensor *dy = tensor(p, DY, p->n, rows_q, p->dv), *out = tensor(p, OUT, p->n, rows_q, p->dv),
              *dq = tensor(p, DQ, p->n, rows_q, p->d);
    aclTensor *dk = tensor(p, DK, p->kv, rows_k, p->d), *dv = tensor(p, DV, p->kv, rows_k, p->dv),
              *empty = plain(ACL_FLOAT, 0, 1, &none);
    aclTensor *max = plain(ACL_FLOAT, MAX * ROOM, tnd ? 3 : 4, sums + tnd),
              *sum = plain(ACL_FLOAT, SUM * ROOM, tnd ? 3 : 4, sums + tnd);
    aclTensor *hidden = p->mask ? plain(ACL_BOOL, MASK, 4, full) : NULL,
              *kept = p->keep < 1 ? plain(ACL_UINT8, DROP, 1, &bytes) : NULL;
    aclTensor *bias = p->bias ? plain(ACL_FLOAT, BIAS * ROOM, 4, full) : NULL,
              *dbias = p->bias ? plain(ACL_FLOAT, DBIAS * ROOM, 4, full) : NULL;
    aclIntArray *prefix = aclCreateIntArray(prefixes, 8);
    aclIntArray *ends_q = tnd ? aclCreateIntArray(p->ends_q, (uint64_t)p->b) : NULL,
                *ends_k = tnd ? aclCreateIntArray(p->ends_k, (uint64_t)p->b) : NULL;
    for (int64_t i = 0; i < scores && i < ROOM; i++) {
        mask[i] = uniform() > 0.4;
        drop[i] = (uint8_t)(int)(uniform() * 1000);
        if (p->bias)
            host[BIAS][i] = (float)uniform();
    }
    if (p->mask)
        CHECK_EQ(aclrtMemcpy(device + MASK, ROOM, mask, (size_t)scores, ACL_MEMCPY_HOST_TO_DEVICE), 0);
    if (p->keep < 1)
        CHECK_EQ(aclrtMemcpy(device + DROP, ROOM, drop, (size_t)bytes, ACL_MEMCPY_HOST_TO_DEVICE), 0);
    if (p->bias)
        CHECK_EQ(aclrtMemcpy(device + BIAS * ROOM, ROOM, host[BIAS], (size_t)(4 * scores), ACL_MEMCPY_HOST_TO_DEVICE),
                 0);
    double scale = 1 / sqrt((double)p->d);
    if (tnd)
        CHECK_EQ(aclnnFlashAttentionScoreV4GetWorkspaceSize(
                     q, k, v, bias, kept, NULL, hidden, NULL, NULL, NULL, NULL, NULL, NULL, prefix, ends_q, ends_k,
                     NULL, NULL, scale, p->keep, p->pre, p->next, p->n, layout, 0, p->mode, 0, p->add_then_mul, NULL, 0,
                     0, max, sum, empty, out, &size, &executor),
                 0);
    else if (p->add_then_mul)
        CHECK_EQ(aclnnFlashAttentionScoreGetWorkspaceSize(q, k, v, bias, kept, NULL, hidden, prefix, scale, p->keep,
                                                          p->pre, p->next, p->n, layout, 0, p->mode, max, sum, empty,
                                                          out, &size, &executor),
                 0);
    else
        CHECK_EQ(aclnnFlashAttentionScoreV2GetWorkspaceSize(q, k, v, bias, kept, NULL, hidden, prefix, NULL, NULL,
                                                            scale, p->keep, p->pre, p->next, p->n, layout, 0, p->mode,
                                                            0, max, sum, empty, out, &size, &executor),
                 0);
    CHECK(size <= WORK_BYTES);
    CHECK_EQ((tnd               ? aclnnFlashAttentionScoreV4
              : p->add_then_mul ? aclnnFlashAttentionScore
                                : aclnnFlashAttentionScoreV2)(device + WORK, size, executor, stream),
             0);
    if (tnd)
        CHECK_EQ(aclnnFlashAttentionScoreGradV4GetWorkspaceSize(
                     q, k, v, dy, bias, kept, NULL, hidden, max, sum, NULL, out, NULL, NULL, NULL, NULL, NULL, NULL,
                     NULL, NULL, prefix, ends_q, ends_k, NULL, NULL, scale, p->keep, p->pre, p->next, p->n, layout,
                     NULL, 0, p->mode, p->add_then_mul, 0, 0, 0, dq, dk, dv, NULL, NULL, NULL, NULL, &size, &executor),
                 0);
    else if (p->add_then_mul)
        CHECK_EQ(aclnnFlashAttentionScoreGradGetWorkspaceSize(q, k, v, dy, bias, kept, NULL, hidden, max, sum, NULL,
                                                              out, prefix, scale, p->keep, p->pre, p->next, p->n,
                                                              layout, 0, p->mode, dq, dk, dv, dbias, &size, &executor),
                 0);
    else
        CHECK_EQ(aclnnFlashAttentionScoreGradV2GetWorkspaceSize(
                     q, k, v, dy, bias, kept, NULL, hidden, max, sum, NULL, out, prefix, NULL, NULL, scale, p->keep,
                     p->pre, p->next, p->n, layout, 0, p->mode, 0, dq, dk, dv, dbias, &size, &executor),
                 0);
    CHECK(size <= WORK_BYTES);
    CHECK_EQ((tnd               ? aclnnFlashAttentionScoreGradV4
              : p->add_then_mul ? aclnnFlashAttentionScoreGrad
                                : aclnnFlashAttentionScoreGradV2)(device + WORK, size, executor, stream),
             0);
    CHECK_EQ(aclrtSynchronizeStream(stream), 0);
    memset(result, 0, sizeof result);
    for (int64_t b = 0; b < p->b; b++)
        for (int64_t h = 0; h < p->n; h++) {
            int64_t q0 = tnd && b ? p->ends_q[b - 1] : 0, k0 = tnd && b ? p->ends_k[b - 1] : 0;
            reference(p, tnd ? b : b, h, q0, tnd ? p->ends_q[b] - q0 : p->sq, k0, tnd ? p->ends_k[b] - k0 : p->sk);
        }
    compare(p, OUT, batches * p->n * rows_q * p->dv, p->dtype);
    compare(p, DQ, batches * p->n * rows_q * p->d, p->dtype);
    compare(p, DK, batches * p->kv * rows_k * p->d, p->dtype);
    compare(p, DV, batches * p->kv * rows_k * p->dv, p->dtype);
    if (p->bias)
        compare(p, DBIAS, scores, ACL_FLOAT);
    aclTensor *all[] = {q, k, v, dy, out, dq, dk, dv, empty, max, sum, hidden, kept, bias, dbias};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        aclDestroyTensor(all[i]);
    aclDestroyIntArray(prefix);
    aclDestroyIntArray(ends_q);
    aclDestroyIntArray(ends_k);
}

int main(void)
{
    if (aclInit(NULL) || aclrtSetDevice(0) || aclrtCreateStream(&stream) ||
        aclrtMalloc((void **)&device, WORK + WORK_BYTES, ACL_MEM_MALLOC_HUGE_FIRST)) {
        fprintf(stderr, "no device: %s\n", aclGetRecentErrMsg());
        return 1;
    }
    static const char *const layouts[] = {"BNSD", "BSND", "BSH", "SBH"};
    for (int i = 0; i < 4; i++) {
        try(&(struct problem){layouts[i], 2, 4, 4, 65, 65, 16, 16, 0, .keep = 1});
        try(&(struct problem){layouts[i], 2, 4, 2, 33, 300, 8, 8, 3, .keep = 1, .add_then_mul = true});
    }
    for (int mode = 0; mode <= 6; mode++) {
        bool mask_is_read = mode == 0 || mode == 1 || mode == 5;
        if (mode == 5) /* the same as 1 with a whole mask */
            continue;
        struct problem p = {"BNSD", 2, 2, 1, 130, 270, 24, 40, mode, 60, 20, 100, .mask = mask_is_read, .keep = 1};
        try(&p);
        p.bias = true, p.add_then_mul = mode % 2;
        try(&p);
        p.sq = 70, p.sk = 40, p.keep = 0.75;
        try(&p);
    }
    try(&(struct problem){"BSND", 1, 2, 2, 100, 100, 64, 64, 2, .keep = 1, .dtype = ACL_FLOAT16});
    try(&(struct problem){"BSND", 1, 2, 2, 100, 100, 64, 64, 2, .keep = 1, .dtype = ACL_BF16});
    try(&(struct problem){"BNSD", 1, 1, 1, 1, 1, 1, 1, 0, .keep = 1});
    const int64_t ends_q[] = {5, 105, 105, 170}, ends_k[] = {7, 127, 130, 300};
    try(&(struct problem){"TND", 4, 4, 2, 170, 300, 16, 16, 0, .keep = 1, .ends_q = ends_q, .ends_k = ends_k});
    try(&(struct problem){"TND", 4, 4, 2, 170, 300, 16, 16, 3, .keep = 1, .ends_q = ends_q, .ends_k = ends_k});
    aclrtFree(device);
    aclrtDestroyStream(stream);
    aclFinalize();
    return check_done();
}
