/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests with several ranks: the test starts itself once for each rank (child.h) and hands the root information over in
 * the environment. Values are small whole numbers made from a seed, so that every rank knows what all others have, and
 * sums and products are exact in every type. */
#ifndef ANYNPU_TESTS_HCCL_RANKS_H
#define ANYNPU_TESTS_HCCL_RANKS_H

#include "child.h"

#include "acl/acl.h"
#include "base/dtype.h"
#include "base/futex.h"
#include "hccl/hccl.h"

#ifdef __SANITIZE_ADDRESS__
/* Ranks are killed, leave in the middle of a call and live in namespaces where the leak checker cannot trace them. */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void)
{
    return 1;
}
#endif

enum { RANKS_MAX = 16 };

struct world {
    uint32_t rank, size;
    HcclComm comm;
    aclrtStream stream;
    HcclRootInfo root;
};

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        int ok_ = (int)(call);                                                                                         \
        CHECK_EQ(ok_, 0);                                                                                              \
        if (ok_)                                                                                                       \
            fprintf(stderr, "  %s\n", aclGetRecentErrMsg());                                                           \
    } while (0)

/* Starts n ranks of a part; returns their process ids and outputs. */
static inline void ranks_start(const char *part, uint32_t n, const char *more, pid_t *pids, int *outs)
{
    HcclRootInfo root;
    static char env[3 * sizeof root + 1024];
    if (HcclGetRootInfo(&root) != HCCL_SUCCESS) {
        fprintf(stderr, "no root information: %s\n", aclGetRecentErrMsg());
        exit(1);
    }
    for (uint32_t r = 0; r < n; r++) {
        const char *hosts = getenv("TEST_HOSTS"); /* so many computers, in turn */
        int at = sprintf(env, "TEST_RANK=%u\nTEST_SIZE=%u\n%s\n", r, n, more);
        if (hosts)
            at += sprintf(env + at, "ANYNPU_HCCL_HOST=computer%u\n", r % (uint32_t)atoi(hosts));
        at += sprintf(env + at, "TEST_ROOT=");
        for (size_t i = 0; i < 512; i++)
            at += sprintf(env + at, "%02x", (unsigned char)root.internal[i]);
        pids[r] = child_start(part, env, &outs[r]);
    }
}

/* Number of ranks that did not end well; their outputs are shown. */
static inline int ranks_end(const char *part, uint32_t n, const pid_t *pids, const int *outs)
{
    int bad = 0;
    for (uint32_t r = 0; r < n; r++) {
        int status = child_end(pids[r], outs[r]);
        if (status) {
            bad++;
            fprintf(stderr, "---- %s, rank %u of %u: status %d\n%s----\n", part, r, n, status, child_output);
        }
    }
    return bad;
}

static inline int ranks_run(const char *part, uint32_t n, const char *more)
{
    pid_t pids[RANKS_MAX];
    int outs[RANKS_MAX];
    ranks_start(part, n, more, pids, outs);
    return ranks_end(part, n, pids, outs);
}

/* In a rank: device, root information, and the communicator of all. */
static inline struct world world_begin(void)
{
    struct world w = {.rank = (uint32_t)atoi(getenv("TEST_RANK")), .size = (uint32_t)atoi(getenv("TEST_SIZE"))};
    const char *hex = getenv("TEST_ROOT");
    for (size_t i = 0; hex[2 * i]; i++) {
        char two[3] = {hex[2 * i], hex[2 * i + 1], 0};
        w.root.internal[i] = (char)strtol(two, NULL, 16);
    }
    uint32_t devices = 1;
    OK(aclrtGetDeviceCount(&devices));
    OK(aclrtSetDevice((int32_t)(w.rank % devices)));
    OK(aclrtCreateStream(&w.stream));
    return w;
}

static inline struct world world_join(void)
{
    struct world w = world_begin();
    HcclResult result = HcclCommInitRootInfo(w.size, &w.root, w.rank, &w.comm);
    OK(result);
    if (result)
        exit(1);
    return w;
}

static inline void world_end(struct world *w)
{
    OK(HcclCommDestroy(w->comm));
    OK(aclrtDestroyStream(w->stream));
}

/* ---- values ---- */

static const struct {
    HcclDataType type;
    aclDataType acl;
    const char *name;
} types[] = {
    {HCCL_DATA_TYPE_INT8, ACL_INT8, "int8"},       {HCCL_DATA_TYPE_INT16, ACL_INT16, "int16"},
    {HCCL_DATA_TYPE_INT32, ACL_INT32, "int32"},    {HCCL_DATA_TYPE_FP16, ACL_FLOAT16, "float16"},
    {HCCL_DATA_TYPE_FP32, ACL_FLOAT, "float32"},   {HCCL_DATA_TYPE_INT64, ACL_INT64, "int64"},
    {HCCL_DATA_TYPE_UINT64, ACL_UINT64, "uint64"}, {HCCL_DATA_TYPE_UINT8, ACL_UINT8, "uint8"},
    {HCCL_DATA_TYPE_UINT16, ACL_UINT16, "uint16"}, {HCCL_DATA_TYPE_UINT32, ACL_UINT32, "uint32"},
    {HCCL_DATA_TYPE_FP64, ACL_DOUBLE, "float64"},  {HCCL_DATA_TYPE_BFP16, ACL_BF16, "bfloat16"},
};
enum { TYPES = sizeof types / sizeof *types };

static inline size_t type_size(int t)
{
    return dtype_size(types[t].acl);
}

/* Element i of a rank: -8 … 8, or for products 1, 2 or -1. */
static inline int64_t value_at(uint32_t seed, uint32_t rank, uint64_t i, bool product)
{
    uint64_t h =
        (i + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ ((uint64_t)seed << 32 | (rank + 1)) * UINT64_C(0xbf58476d1ce4e5b9);
    h ^= h >> 29;
    h *= UINT64_C(0x94d049bb133111eb);
    h ^= h >> 32;
    return product ? (int64_t[]){1, 2, -1}[h % 3] : (int64_t)(h % 17) - 8;
}

static inline int64_t combined(HcclReduceOp op, int64_t a, int64_t b)
{
    if (op == HCCL_REDUCE_SUM)
        return (int64_t)((uint64_t)a + (uint64_t)b);
    if (op == HCCL_REDUCE_PROD)
        return (int64_t)((uint64_t)a * (uint64_t)b);
    return (a > b) == (op == HCCL_REDUCE_MAX) ? a : b;
}

static inline void value_store(int t, void *to, uint64_t i, int64_t v)
{
    switch (type_size(t)) {
    case 1:
        ((uint8_t *)to)[i] = (uint8_t)v;
        return;
    case 2:
        ((uint16_t *)to)[i] = types[t].acl == ACL_FLOAT16 ? f16_from_float((float)v)
                              : types[t].acl == ACL_BF16  ? bf16_from_float((float)v)
                                                          : (uint16_t)v;
        return;
    case 4:
        if (types[t].acl == ACL_FLOAT)
            ((float *)to)[i] = (float)v;
        else
            ((uint32_t *)to)[i] = (uint32_t)v;
        return;
    default:
        if (types[t].acl == ACL_DOUBLE)
            ((double *)to)[i] = (double)v;
        else
            ((uint64_t *)to)[i] = (uint64_t)v;
    }
}

/* As type t has it: unsigned types wrap, so that greatest and least are those of the wrapped values. */
static inline int64_t value_wrapped(int t, int64_t v)
{
    switch (types[t].acl) {
    case ACL_UINT8:
        return (uint8_t)v;
    case ACL_UINT16:
        return (uint16_t)v;
    case ACL_UINT32:
        return (uint32_t)v;
    default:
        return v;
    }
}

/* What the reduction over ranks [0, n) of element i is. */
static inline int64_t value_reduced(int t, uint32_t seed, uint32_t n, uint64_t i, HcclReduceOp op)
{
    bool product = op == HCCL_REDUCE_PROD, wide = types[t].acl == ACL_UINT64;
    int64_t v = value_wrapped(t, value_at(seed, 0, i, product));
    for (uint32_t r = 1; r < n; r++) {
        int64_t w = value_wrapped(t, value_at(seed, r, i, product));
        if (wide && op >= HCCL_REDUCE_MAX)
            v = ((uint64_t)v > (uint64_t)w) == (op == HCCL_REDUCE_MAX) ? v : w;
        else
            v = combined(op, v, w);
    }
    return v;
}

static inline void *device_new(size_t bytes)
{
    void *p = NULL;
    if (bytes)
        OK(aclrtMalloc(&p, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    return p;
}

static inline void put(void *device, const void *host, size_t bytes)
{
    if (bytes)
        OK(aclrtMemcpy(device, bytes, host, bytes, ACL_MEMCPY_HOST_TO_DEVICE));
}

static inline void get(void *host, const void *device, size_t bytes)
{
    if (bytes)
        OK(aclrtMemcpy(host, bytes, device, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
}

#endif
