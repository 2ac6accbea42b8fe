/* SPDX-License-Identifier: BSD-3-Clause */
/* Mapped memory in collectives: through a copy, in place once it is activated or a symmetric window, and misuse. */
#include "ranks.h"

enum { PIECE = 2 << 20, COUNT = PIECE / 4 };

static aclrtDrvMemHandle map_at(void *p, size_t bytes)
{
    int32_t device = 0;
    OK(aclrtGetDevice(&device));
    aclrtPhysicalMemProp prop = {.allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED,
                                 .memAttr = ACL_HBM_MEM_HUGE,
                                 .location = {.id = (uint32_t)device, .type = ACL_MEM_LOCATION_TYPE_DEVICE}};
    aclrtDrvMemHandle handle = NULL;
    OK(aclrtMallocPhysical(&handle, bytes, &prop, 0));
    OK(aclrtMapMem(p, bytes, 0, handle, 0));
    return handle;
}

static void unmap(void *p, aclrtDrvMemHandle handle)
{
    OK(aclrtUnmapMem(p));
    OK(aclrtFreePhysical(handle));
}

/* Sums `count` floats of the ranks from one place to another. */
static void check_sum(const struct world *w, float *from, float *to, size_t count)
{
    float *host = malloc(count * sizeof *host);
    for (size_t i = 0; i < count; i++)
        host[i] = (float)value_at(5, w->rank, i, false);
    put(from, host, count * sizeof *host);
    OK(HcclAllReduce(from, to, count, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, w->comm, w->stream));
    OK(aclrtSynchronizeStream(w->stream));
    get(host, to, count * sizeof *host);
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++)
        wrong += host[i] != (float)value_reduced(4, 5, w->size, i, HCCL_REDUCE_SUM);
    CHECK_EQ(wrong, 0);
    free(host);
}

static size_t bytes_used(void)
{
    size_t free_bytes = 0, total = 0;
    OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total));
    return total - free_bytes;
}

/* Whether a collective over the memory makes a stand-in: device memory that is in use while its stream waits. */
static bool is_copied(const struct world *w, float *p)
{
    aclrtNotify gate;
    aclrtStream other;
    OK(aclrtCreateNotify(&gate, 0));
    OK(aclrtCreateStream(&other));
    OK(aclrtWaitAndResetNotify(gate, other, 0));
    size_t before = bytes_used();
    OK(HcclAllReduce(p, p, COUNT, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_MAX, w->comm, other));
    size_t during = bytes_used();
    OK(aclrtRecordNotify(gate, w->stream));
    OK(aclrtSynchronizeStream(other));
    OK(aclrtDestroyStream(other));
    OK(aclrtDestroyNotify(gate));
    return during >= before + PIECE;
}

static void zero_copy(void)
{
    struct world w = world_join();
    char *base = NULL;
    OK(aclrtReserveMemAddress((void **)&base, 4 * PIECE, 0, NULL, 1));
    aclrtDrvMemHandle first = map_at(base, PIECE), second = map_at(base + PIECE, PIECE);
    float *a = (float *)base, *b = (float *)(base + PIECE);
    check_sum(&w, a, b, COUNT);

    CHECK_EQ(HcclCommActivateCommMemory(w.comm, base, PIECE, 0, first, 0), HCCL_E_PARA);
    CHECK_TEXT(aclGetRecentErrMsg(), "lie in no range of HcclCommSetMemoryRange");
    CHECK_EQ(HcclCommSetMemoryRange(w.comm, base, 5 * PIECE, 0, 0), HCCL_E_PARA);
    CHECK_TEXT(aclGetRecentErrMsg(), "were not reserved");
    CHECK_EQ(HcclCommSetMemoryRange(w.comm, base, 4 * PIECE, 1, 0), HCCL_E_PARA);
    OK(HcclCommSetMemoryRange(w.comm, base, 4 * PIECE, 0, 0));
    CHECK_EQ(HcclCommSetMemoryRange(w.comm, base, PIECE, 0, 0), HCCL_E_PARA);
    CHECK_EQ(HcclCommActivateCommMemory(w.comm, base, PIECE, 0, second, 0), HCCL_E_PARA);
    CHECK_TEXT(aclGetRecentErrMsg(), "is not mapped at");
    CHECK_EQ(HcclCommActivateCommMemory(w.comm, base, 2 * PIECE, 0, first, 0), HCCL_E_PARA);
    CHECK_TEXT(aclGetRecentErrMsg(), "are not one mapping of device memory");
    OK(HcclCommActivateCommMemory(w.comm, base, PIECE, 0, first, 0));
    OK(HcclCommActivateCommMemory(w.comm, base + PIECE, PIECE, 0, second, 0));
    CHECK_EQ(HcclCommActivateCommMemory(w.comm, base, PIECE, 0, first, 0), HCCL_E_PARA);
    CHECK_TEXT(aclGetRecentErrMsg(), "overlap");
    check_sum(&w, a, b, COUNT);
    check_sum(&w, b + 4, a + 8, COUNT / 2);
    check_sum(&w, a + COUNT / 2, b + COUNT / 2, COUNT / 2);
    check_sum(&w, a, a, COUNT + 64); /* over both pieces: a copy */
    CHECK(!is_copied(&w, a));
    CHECK_EQ(HcclCommUnsetMemoryRange(w.comm, base), HCCL_E_PARA);
    CHECK_TEXT(aclGetRecentErrMsg(), "deactivate it first");
    OK(HcclCommDeactivateCommMemory(w.comm, base));
    CHECK_EQ(HcclCommDeactivateCommMemory(w.comm, base), HCCL_E_NOT_FOUND);
    CHECK(is_copied(&w, a));
    check_sum(&w, a, b, COUNT);
    OK(HcclCommDeactivateCommMemory(w.comm, base + PIECE));
    OK(HcclCommUnsetMemoryRange(w.comm, base));

    /* a communicator ends with what is active */
    OK(HcclCommSetMemoryRange(w.comm, base, 4 * PIECE, 0, 0));
    OK(HcclCommActivateCommMemory(w.comm, base, PIECE, 0, first, 0));
    OK(HcclCommDestroy(w.comm));
    unmap(base, first);
    unmap(base + PIECE, second);
    OK(aclrtReleaseMemAddress(base));
}

static void symmetric(void)
{
    struct world w = world_begin();
    HcclCommConfig config;
    HcclCommConfigInit(&config);
    CHECK_EQ(config.hcclSymWinMaxMemSizePerRank, 16);
    config.hcclSymWinMaxMemSizePerRank = 1;
    OK(HcclCommInitRootInfoConfig(w.size, &w.root, w.rank, &config, &w.comm));
    char *base = NULL;
    OK(aclrtReserveMemAddress((void **)&base, PIECE, 0, NULL, 1));
    aclrtDrvMemHandle handle = map_at(base, PIECE);
    void *plain = device_new(PIECE);
    HcclCommSymWindow mapped = NULL, allocated = NULL, found = NULL;
    size_t offset = 0;
    CHECK_EQ(HcclCommSymWinRegister(w.comm, base, PIECE, &mapped, HCCL_WIN_DEFAULT), HCCL_E_NOT_SUPPORT);
    CHECK_EQ(HcclCommSymWinRegister(w.comm, &w, sizeof w, &mapped, 1), HCCL_E_PARA);
    CHECK(is_copied(&w, (float *)base));
    OK(HcclCommSymWinRegister(w.comm, base, PIECE, &mapped, HCCL_WIN_COLL_SYMMETRIC));
    OK(HcclCommSymWinRegister(w.comm, plain, PIECE, &allocated, HCCL_WIN_COLL_SYMMETRIC));
    CHECK(!is_copied(&w, (float *)base));
    check_sum(&w, (float *)base, plain, COUNT);
    OK(HcclCommSymWinGet(w.comm, base + 64, 128, &found, &offset));
    CHECK(found == mapped && offset == 64);
    OK(HcclCommSymWinGet(w.comm, plain, PIECE, &found, &offset));
    CHECK(found == allocated && offset == 0);
    CHECK_EQ(HcclCommSymWinGet(w.comm, base + 64, PIECE, &found, &offset), HCCL_E_NOT_FOUND);
    OK(HcclCommSymWinDeregister(mapped));
    CHECK_EQ(HcclCommSymWinDeregister(mapped), HCCL_E_NOT_FOUND);
    OK(HcclCommSymWinDeregister(allocated));
    unmap(base, handle);
    OK(aclrtReleaseMemAddress(base));
    OK(aclrtFree(plain));
    world_end(&w);
}

int main(int argc, char **argv)
{
    child_main(argc, argv, (struct part[]){{"zero_copy", zero_copy}, {"symmetric", symmetric}, {NULL, NULL}});
    CHECK_EQ(ranks_run("zero_copy", 2, "ANYNPU_DEVICES=2"), 0);
    CHECK_EQ(ranks_run("symmetric", 3, "ANYNPU_DEVICES=3"), 0);
    return check_done();
}
