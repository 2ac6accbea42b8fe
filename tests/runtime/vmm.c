/* SPDX-License-Identifier: BSD-3-Clause */
/* Virtual memory: reserving, mapping, growing a segment as caching allocators do, and every wrong order. */
#include "child.h"

#include "task.h"

enum { MB = 1 << 20, UNIT = 2 * MB };

static const aclrtPhysicalMemProp prop = {
    ACL_MEM_HANDLE_TYPE_NONE, ACL_MEM_ALLOCATION_TYPE_PINNED, ACL_HBM_MEM_HUGE, {0, ACL_MEM_LOCATION_TYPE_DEVICE}, 0};

static void segment(void)
{
    char *base = NULL, text[64] = "across the border", back[64];
    aclrtDrvMemHandle h[4], retained = NULL;
    size_t unit = 0, before = 0, after = 0, total = 0;
    aclrtPhysicalMemProp got = prop;
    CHECK_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &before, &total), 0);
    CHECK_EQ(aclrtMemGetAllocationGranularity(&got, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &unit), 0);
    CHECK_EQ(unit, UNIT);
    CHECK_EQ(aclrtReserveMemAddress((void **)&base, (size_t)8 << 30, 0, NULL, 1), 0);
    CHECK_EQ((uintptr_t)base % UNIT, 0);
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(aclrtMallocPhysical(&h[i], UNIT, &prop, 0), 0);
        CHECK_EQ(aclrtMapMem(base + i * UNIT, UNIT, 0, h[i], 0), 0);
    }
    CHECK_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &after, &total), 0);
    CHECK_EQ(before - after, 4 * UNIT);
    /* a tensor over several mappings is device memory; one beyond them is not */
    CHECK_EQ(aclrtMemcpy(base + UNIT - 10, 64, text, 64, ACL_MEMCPY_HOST_TO_DEVICE), 0);
    CHECK_EQ(aclrtMemcpy(back, 64, base + UNIT - 10, 64, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    CHECK_TEXT(back, "across the border");
    CHECK_EQ(aclrtMemset(base, 4 * UNIT, 3, 4 * UNIT), 0);
    CHECK_EQ(aclrtMemset(base, 4 * UNIT + 1, 3, 4 * UNIT + 1), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtMemRetainAllocationHandle(base + UNIT, &retained), 0);
    CHECK(retained == h[1]);
    CHECK_EQ(aclrtMemGetAllocationPropertiesFromHandle(h[1], &got), 0);
    CHECK_EQ(got.memAttr, ACL_HBM_MEM_HUGE);
    /* the middle goes and comes back; contents of the others stay */
    CHECK_EQ(aclrtUnmapMem(base + UNIT), 0);
    CHECK_EQ(aclrtUnmapMem(base + UNIT), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtMemset(base, 4 * UNIT, 3, 4 * UNIT), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtMapMem(base + UNIT, UNIT, 0, h[1], 0), 0);
    CHECK_EQ(aclrtMemcpy(back, 64, base + 3 * UNIT - 32, 64, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    CHECK(back[0] == 3 && back[63] == 3);
    CHECK_EQ(aclrtReleaseMemAddress(base), ACL_ERROR_RT_PARAM_INVALID); /* still mapped */
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(aclrtFreePhysical(h[i]), 0); /* lives as long as it is mapped */
        CHECK_EQ(aclrtMemset(base + i * UNIT, UNIT, 1, UNIT), 0);
        CHECK_EQ(aclrtFreePhysical(h[i]), ACL_ERROR_RT_INVALID_HANDLE);
        CHECK_EQ(aclrtUnmapMem(base + i * UNIT), 0);
    }
    CHECK_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &after, &total), 0);
    CHECK_EQ(before, after);
    CHECK_EQ(aclrtReleaseMemAddress(base), 0);
    CHECK_EQ(aclrtReleaseMemAddress(base), ACL_ERROR_RT_PARAM_INVALID);
}

static void wrong(void)
{
    char *base = NULL;
    aclrtDrvMemHandle h = NULL, g = NULL;
    aclrtPhysicalMemProp bad = prop;
    aclrtMemAccessDesc access = {ACL_RT_MEM_ACCESS_FLAGS_READ, {0, ACL_MEM_LOCATION_TYPE_DEVICE}, {0}};
    aclrtMemLocation location = {0, ACL_MEM_LOCATION_TYPE_DEVICE};
    uint64_t flags = 0;
    CHECK_EQ(aclrtReserveMemAddress((void **)&base, 0, 0, NULL, 0), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtReserveMemAddress((void **)&base, SIZE_MAX, 0, NULL, 0), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtReserveMemAddress((void **)&base, 4 * UNIT, 0, NULL, 0), 0);
    CHECK_EQ(aclrtMallocPhysical(&h, 0, &prop, 0), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtMallocPhysical(&h, UNIT, NULL, 0), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(aclrtMallocPhysical(&h, (size_t)1 << 50, &prop, 0), ACL_ERROR_RT_MEMORY_ALLOCATION);
    bad.location.id = 99;
    CHECK_EQ(aclrtMallocPhysical(&h, UNIT, &bad, 0), ACL_ERROR_RT_INVALID_DEVICEID);
    bad = prop;
    bad.location.type = ACL_MEM_LOCATION_TYPE_MANAGED;
    CHECK_EQ(aclrtMallocPhysical(&h, UNIT, &bad, 0), ACL_ERROR_RT_PARAM_INVALID);
    bad.location.type = ACL_MEM_LOCATION_TYPE_HOST;
    bad.memAttr = ACL_MEM_NORMAL;
    CHECK_EQ(aclrtMallocPhysical(&g, 10000, &bad, 0), 0); /* host memory */
    CHECK_EQ(aclrtMapMem(base, 10000, 0, g, 0), 0);
    strcpy(device_address(base), "host");
    CHECK_EQ(aclrtUnmapMem(base), 0);
    CHECK_EQ(aclrtFreePhysical(g), 0);
    CHECK_EQ(aclrtMallocPhysical(&h, UNIT, &prop, 0), 0);
    CHECK_EQ(aclrtMapMem(base, UNIT, 4096, h, 0), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtMapMem(base, 2 * UNIT, 0, h, 0), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtMapMem(base + 5, UNIT, 0, h, 0), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtMapMem(base + 4 * UNIT, UNIT, 0, h, 0), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtMapMem(base + 3 * UNIT + MB, UNIT, 0, h, 0), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtMapMem(base, UNIT, 0, &h, 0), ACL_ERROR_RT_INVALID_HANDLE);
    CHECK_EQ(aclrtMapMem(base, UNIT, 0, h, 0), 0);
    CHECK_EQ(aclrtMapMem(base + MB, UNIT, 0, h, 0), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtMapMem(base + 2 * UNIT, UNIT, 0, h, 0), 0); /* twice, elsewhere: the same memory */
    CHECK_EQ(aclrtMemset(base, UNIT, 77, UNIT), 0);
    CHECK_EQ(((char *)device_address(base))[2 * UNIT + 5], 77);
    CHECK_EQ(aclrtMemSetAccess(base, UNIT, &access, 1), 0);
    CHECK_EQ(aclrtMemGetAccess(base, &location, &flags), 0);
    CHECK_EQ(flags, ACL_RT_MEM_ACCESS_FLAGS_READ);
    CHECK_EQ(aclrtMemSetAccess(base + MB, UNIT, &access, 1), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtUnmapMem(base), 0);
    CHECK_EQ(aclrtUnmapMem(base + 2 * UNIT), 0);
    CHECK_EQ(aclrtFreePhysical(h), 0);
    CHECK_EQ(aclrtReleaseMemAddress(base + UNIT), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtReleaseMemAddress(base), 0);
}

static void guarded(void)
{
    aclrtSetDevice(0);
    segment();
    wrong();
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {{"guarded", guarded}, {NULL, NULL}};
    child_main(argc, argv, parts);
    CHECK_EQ(aclrtSetDevice(0), 0);
    segment();
    wrong();
    CHECK_CHILD("guarded", "ANYNPU_GUARD=1");
    return check_done();
}
