/* SPDX-License-Identifier: BSD-3-Clause */
/* Virtual memory: reserved address ranges, physical memory, and mappings of one into the other.
 *
 * Physical memory of a device is a block of the device's memfd, that of the host a memfd of its own, imported memory a
 * piece of another process's memfd; mapping is mmap over the reserved addresses. It lives until the handle is freed and
 * the last mapping undone. One lock (vmm), before the memory lock. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "context.h"
#include "error.h"
#include "handle.h"
#include "memory.h"
#include "share.h"

enum { PAGE = 4096, HUGE = 2 << 20, GIGA = 1 << 30 };

struct physical {
    struct handle handle;
    aclrtPhysicalMemProp prop;
    int32_t device; /* -1: host */
    void *block;    /* of the device's memory, NULL for a memfd of its own */
    int fd;         /* of the memfd; owned unless block */
    uint64_t offset;
    size_t size;
    uint32_t maps;         /* and collectives that hold it */
    bool freed;            /* the client's handle has ended */
    struct record *record; /* export */
    int record_fd;
};

struct map {
    struct map *next;
    char *base;
    size_t size;
    struct physical *memory;
    uint64_t access;
};

struct reserved {
    struct reserved *next;
    char *base;
    size_t size;
    ptrdiff_t usable;
    struct map *maps;
};

static struct handle_table physical_table = HANDLE_TABLE(struct physical, "physical memory", 1 << 18);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct reserved *all_reserved;

static struct physical *physical_get(aclrtDrvMemHandle handle)
{
    if (entry_check())
        return NULL;
    if (handle_valid(&physical_table, handle))
        return handle;
    fail(ACL_ERROR_RT_INVALID_HANDLE, "physical memory %p does not exist (freed, or never allocated)", handle);
    return NULL;
}

aclError aclrtReserveMemAddress(void **virPtr, size_t size, size_t alignment, void *expectPtr, uint64_t flags)
{
    CHECK_ARG(virPtr);
    (void)flags; /* page size hint of some clients; pages are the machine's here */
    if (!context_current())
        return fail_code();
    if (size == 0 || size > (size_t)1 << 46 || alignment > HUGE || expectPtr)
        return fail(ACL_ERROR_RT_PARAM_INVALID,
                    "cannot reserve %zu bytes (alignment %zu, address %p): the size must not be 0, "
                    "the address must be NULL",
                    size, alignment, expectPtr);
    struct reserved *r = calloc(1, sizeof *r);
    size_t bytes = (size + PAGE - 1) / PAGE * PAGE;
    char *base = r ? memory_map(-1, 0, bytes, &r->usable) : NULL;
    if (!base) {
        free(r);
        return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "no %zu addresses are free in one piece", size);
    }
    r->base = base;
    r->size = bytes;
    pthread_mutex_lock(&lock);
    r->next = all_reserved;
    all_reserved = r;
    pthread_mutex_unlock(&lock);
    *virPtr = base;
    return ACL_SUCCESS;
}

/* Under lock: the reservation that holds the address, or where it would stand. */
static struct reserved **find_reserved(const char *p)
{
    struct reserved **r = &all_reserved;
    while (*r && (size_t)(p - (*r)->base) >= (*r)->size)
        r = &(*r)->next;
    return r;
}

aclError aclrtReleaseMemAddress(void *virPtr)
{
    CHECK_ARG(virPtr);
    TRY(entry_check());
    pthread_mutex_lock(&lock);
    struct reserved **p = find_reserved(virPtr), *r = *p;
    bool good = r && r->base == virPtr, mapped = good && r->maps;
    if (good && !mapped)
        *p = r->next;
    pthread_mutex_unlock(&lock);
    if (!good)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "%p does not begin a reserved range (released twice?)", virPtr);
    if (mapped)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "the range at %p still has mappings: unmap them first", virPtr);
    memory_unmap(r->base, r->size, r->usable);
    free(r);
    return ACL_SUCCESS;
}

static bool is_host(const aclrtPhysicalMemProp *prop)
{
    return prop->location.type == ACL_MEM_LOCATION_TYPE_HOST || prop->location.type == ACL_MEM_LOCATION_TYPE_HOST_NUMA;
}

static int check_prop(const aclrtPhysicalMemProp *prop)
{
    CHECK_ARG(prop);
    if (prop->allocationType != ACL_MEM_ALLOCATION_TYPE_PINNED)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "allocation type %d is not ACL_MEM_ALLOCATION_TYPE_PINNED",
                    (int)prop->allocationType);
    if (prop->memAttr > ACL_MEM_P2P_HUGE1G)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "memory attribute %d is unknown", (int)prop->memAttr);
    if (!is_host(prop) && prop->location.type != ACL_MEM_LOCATION_TYPE_DEVICE)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "location type %d is neither device nor host",
                    (int)prop->location.type);
    return ACL_SUCCESS;
}

/* Smallest piece: by what the attribute says of pages. */
static size_t granularity_of(const aclrtPhysicalMemProp *prop)
{
    switch (prop->memAttr) {
    case ACL_HBM_MEM_HUGE1G:
    case ACL_HBM_MEM_P2P_HUGE1G:
    case ACL_MEM_HUGE1G:
    case ACL_MEM_P2P_HUGE1G:
        return GIGA;
    case ACL_DDR_MEM_NORMAL:
    case ACL_HBM_MEM_NORMAL:
    case ACL_DDR_MEM_P2P_NORMAL:
    case ACL_HBM_MEM_P2P_NORMAL:
    case ACL_MEM_NORMAL:
    case ACL_MEM_P2P_NORMAL:
        return PAGE;
    default:
        return HUGE;
    }
}

aclError aclrtMemGetAllocationGranularity(aclrtPhysicalMemProp *prop, aclrtMemGranularityOptions option,
                                          size_t *granularity)
{
    CHECK_ARG(granularity);
    TRY(check_prop(prop));
    if (option != ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM && option != ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "granularity option %d is unknown", (int)option);
    *granularity = granularity_of(prop);
    return ACL_SUCCESS;
}

static int alloc_host(struct physical *m, size_t size)
{
    m->fd = memfd_create("anynpu-host", MFD_CLOEXEC);
    m->device = -1;
    if (m->fd < 0 || ftruncate(m->fd, (off_t)size) != 0)
        return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "the host cannot allocate %zu bytes: %s", size, strerror(errno));
    return ACL_SUCCESS;
}

static int alloc_device(struct physical *m, size_t size)
{
    struct device *d = device_get(m->prop.location.id);
    if (!d)
        return ACL_ERROR_RT_INVALID_DEVICEID;
    m->device = d->id;
    uint64_t capacity;
    TRY(memory_alloc(d, size, granularity_of(&m->prop) < HUGE ? PAGE : HUGE, &m->block));
    memory_file(m->block, &m->fd, &m->offset, &capacity);
    return ACL_SUCCESS;
}

/* The memory itself; the handle has ended and nothing maps it. */
static void destroy(struct physical *m)
{
    if (m->record)
        record_free(m->record, m->record_fd);
    if (m->block)
        memory_free(m->block);
    else if (m->fd >= 0)
        close(m->fd);
    handle_free(&physical_table, m);
}

static int on_device(void *object, void *device)
{
    const struct physical *m = object;
    return m->block && m->device == *(int32_t *)device;
}

bool physical_in_use(int32_t device)
{
    return handle_each(&physical_table, on_device, &device) != 0;
}

aclError aclrtMallocPhysical(aclrtDrvMemHandle *handle, size_t size, const aclrtPhysicalMemProp *prop, uint64_t flags)
{
    CHECK_ARG(handle);
    TRY(check_prop(prop));
    TRY(device_use());
    if (size == 0 || flags)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "size %zu must not be 0 and flags %llu must be", size,
                    (unsigned long long)flags);
    size_t unit = granularity_of(prop);
    if (size > SIZE_MAX / 2)
        return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%zu bytes cannot be allocated", size);
    struct physical *m = handle_new(&physical_table);
    if (!m)
        return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "too many pieces of physical memory");
    m->prop = *prop;
    m->fd = -1;
    m->size = (size + unit - 1) / unit * unit;
    int status = is_host(prop) ? alloc_host(m, m->size) : alloc_device(m, m->size);
    if (status) {
        destroy(m);
        return status;
    }
    *handle = m;
    return ACL_SUCCESS;
}

aclError aclrtFreePhysical(aclrtDrvMemHandle handle)
{
    CHECK_ARG(handle);
    TRY(entry_check());
    struct physical *m = physical_get(handle);
    if (!m || !handle_retire(m))
        return m ? ACL_ERROR_RT_INVALID_HANDLE : fail_code();
    pthread_mutex_lock(&lock);
    m->freed = true;
    bool last = m->maps == 0;
    pthread_mutex_unlock(&lock);
    if (last)
        destroy(m);
    return ACL_SUCCESS;
}

/* Puts the memory under the addresses where tasks reach them. */
static bool map_pages(char *usable, const struct physical *m)
{
    bool good = mmap(usable, m->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, m->fd,
                     (off_t)m->offset) != MAP_FAILED;
    if (good) {
        madvise(usable, m->size, MADV_DONTFORK);
        madvise(usable, m->size, MADV_DONTDUMP);
    }
    return good;
}

static void unmap_pages(char *usable, size_t size)
{
    mmap(usable, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    madvise(usable, size, MADV_DONTFORK);
}

/* Under lock. */
static int map_locked(char *p, struct physical *m)
{
    struct reserved *r = *find_reserved(p);
    if (!r || m->size > (size_t)(r->base + r->size - p))
        return fail(ACL_ERROR_RT_PARAM_INVALID, "%zu bytes at %p do not lie in one reserved range", m->size, (void *)p);
    for (struct map *o = r->maps; o; o = o->next)
        if (o->base < p + m->size && p < o->base + o->size)
            return fail(ACL_ERROR_RT_PARAM_INVALID, "addresses at %p are mapped already", (void *)p);
    struct map *map = malloc(sizeof *map);
    if (!map || !map_pages(p + r->usable, m) ||
        range_add(m->device < 0 ? RANGE_HOST : RANGE_DEVICE, m->device, p, m->size, r->usable)) {
        free(map);
        unmap_pages(p + r->usable, m->size);
        return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "cannot map %zu bytes at %p: %s", m->size, (void *)p,
                    strerror(errno));
    }
    *map = (struct map){r->maps, p, m->size, m, ACL_RT_MEM_ACCESS_FLAGS_READWRITE};
    r->maps = map;
    m->maps++;
    return ACL_SUCCESS;
}

aclError aclrtMapMem(void *virPtr, size_t size, size_t offset, aclrtDrvMemHandle handle, uint64_t flags)
{
    CHECK_ARG(virPtr);
    TRY(entry_check());
    struct physical *m = physical_get(handle);
    if (!m)
        return fail_code();
    if (offset || flags || (uintptr_t)virPtr % PAGE || (size + PAGE - 1) / PAGE * PAGE > m->size || size == 0)
        return fail(
            ACL_ERROR_RT_PARAM_INVALID,
            "cannot map %zu bytes at %p (offset %zu, flags %llu): the physical memory has %zu bytes, offset and flags "
            "must be 0, the address a multiple of %d",
            size, virPtr, offset, (unsigned long long)flags, m->size, PAGE);
    pthread_mutex_lock(&lock);
    int status = map_locked(virPtr, m);
    pthread_mutex_unlock(&lock);
    return status;
}

/* Under lock: the mapping that begins at the address. */
static struct map **find_map(struct reserved *r, const char *p)
{
    static struct map *none;
    if (!r)
        return &none;
    struct map **m = &r->maps;
    while (*m && (*m)->base != p)
        m = &(*m)->next;
    return m;
}

/* Under lock: one use less; the memory, when it must be destroyed now. */
static struct physical *put_locked(struct physical *m)
{
    return --m->maps == 0 && m->freed ? m : NULL;
}

aclError aclrtUnmapMem(void *virPtr)
{
    CHECK_ARG(virPtr);
    TRY(entry_check());
    struct physical *unused = NULL;
    pthread_mutex_lock(&lock);
    struct reserved *r = *find_reserved(virPtr);
    struct map **p = find_map(r, virPtr), *map = *p;
    if (map) {
        *p = map->next;
        range_remove(map->base, map->memory->device < 0 ? RANGE_HOST : RANGE_DEVICE);
        unmap_pages(map->base + r->usable, map->size);
        unused = put_locked(map->memory);
    }
    pthread_mutex_unlock(&lock);
    if (!map)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "no mapping begins at %p (unmapped twice?)", virPtr);
    free(map);
    if (unused)
        destroy(unused);
    return ACL_SUCCESS;
}

bool addresses_reserved(const void *base, size_t bytes)
{
    const char *p = base;
    pthread_mutex_lock(&lock);
    struct reserved *r = *find_reserved(p);
    bool inside = r && bytes <= (size_t)(r->base + r->size - p);
    pthread_mutex_unlock(&lock);
    return inside;
}

int share_hold(const void *address, size_t bytes, struct share *share, void **hold)
{
    const char *p = address;
    struct physical *m = NULL;
    size_t offset = 0;
    TRY(entry_check());
    pthread_mutex_lock(&lock);
    struct reserved *r = *find_reserved(p);
    for (struct map *map = r ? r->maps : NULL; map && !m; map = map->next)
        if (map->memory->block && p >= map->base && p < map->base + map->size &&
            bytes <= (size_t)(map->base + map->size - p)) {
            m = map->memory;
            m->maps++;
            offset = (size_t)(p - map->base);
        }
    pthread_mutex_unlock(&lock);
    if (!m)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "%zu bytes at %p do not lie in one mapping of device memory", bytes,
                    address);
    struct device *d = device_get(m->device);
    *share = (struct share){.pid = (int32_t)getpid(), .bytes = bytes, .device = d ? d->physical : 0};
    memory_file(m->block, &share->fd, &share->offset, &share->capacity);
    share->offset += offset;
    *hold = m;
    return ACL_SUCCESS;
}

void share_drop(void *hold)
{
    pthread_mutex_lock(&lock);
    struct physical *unused = put_locked(hold);
    pthread_mutex_unlock(&lock);
    if (unused)
        destroy(unused);
}

aclError aclrtMemSetAccess(void *virPtr, size_t size, aclrtMemAccessDesc *desc, size_t count)
{
    CHECK_ARG(virPtr);
    CHECK_ARG(desc);
    TRY(entry_check());
    if (count == 0)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "count must not be 0");
    uint64_t flags = desc[count - 1].flags;
    int protection = flags == ACL_RT_MEM_ACCESS_FLAGS_READWRITE ? PROT_READ | PROT_WRITE
                     : flags == ACL_RT_MEM_ACCESS_FLAGS_READ    ? PROT_READ
                                                                : PROT_NONE;
    if (flags != ACL_RT_MEM_ACCESS_FLAGS_NONE && protection == PROT_NONE)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "access flags %llu are unknown", (unsigned long long)flags);
    pthread_mutex_lock(&lock);
    struct reserved *r = *find_reserved(virPtr);
    struct map *map = *find_map(r, virPtr);
    bool good = map && map->size >= size && size > 0;
    if (good) {
        map->access = flags;
        good = mprotect(map->base + r->usable, map->size, protection) == 0;
    }
    pthread_mutex_unlock(&lock);
    return good ? ACL_SUCCESS : fail(ACL_ERROR_RT_PARAM_INVALID, "no mapping of %zu bytes begins at %p", size, virPtr);
}

aclError aclrtMemGetAccess(void *virPtr, aclrtMemLocation *location, uint64_t *flag)
{
    CHECK_ARG(virPtr);
    CHECK_ARG(location);
    CHECK_ARG(flag);
    TRY(entry_check());
    pthread_mutex_lock(&lock);
    struct map *map = *find_map(*find_reserved(virPtr), virPtr);
    if (map)
        *flag = map->access;
    pthread_mutex_unlock(&lock);
    return map ? ACL_SUCCESS : fail(ACL_ERROR_RT_PARAM_INVALID, "no mapping begins at %p", virPtr);
}

aclError aclrtMemRetainAllocationHandle(void *virPtr, aclrtDrvMemHandle *handle)
{
    CHECK_ARG(virPtr);
    CHECK_ARG(handle);
    TRY(entry_check());
    pthread_mutex_lock(&lock);
    struct map *map = *find_map(*find_reserved(virPtr), virPtr);
    struct physical *m = map && !map->memory->freed ? map->memory : NULL;
    pthread_mutex_unlock(&lock);
    if (!m)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "no mapping of a handle that lives begins at %p", virPtr);
    *handle = m;
    return ACL_SUCCESS;
}

aclError aclrtMemGetAllocationPropertiesFromHandle(aclrtDrvMemHandle handle, aclrtPhysicalMemProp *prop)
{
    CHECK_ARG(prop);
    struct physical *m = physical_get(handle);
    if (!m)
        return fail_code();
    *prop = m->prop;
    return ACL_SUCCESS;
}

/* A shareable handle as one number: process and descriptor of the record. */
static uint64_t pack(int32_t pid, int32_t fd)
{
    return (uint64_t)(uint32_t)pid << 32 | (uint32_t)fd;
}

static int export_physical(aclrtDrvMemHandle handle, uint64_t flags, struct physical **out)
{
    TRY(entry_check());
    if (flags & ~(uint64_t)ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "export flags 0x%llx are unknown", (unsigned long long)flags);
    struct physical *m = physical_get(handle);
    if (!m)
        return fail_code();
    if (!m->record) {
        struct record *r = record_new(SHARE_PHYSICAL, &m->record_fd);
        if (!r)
            return fail_code();
        struct device *d = m->device >= 0 ? device_get(m->device) : NULL;
        r->fd = m->fd;
        r->device = d ? d->physical : -1;
        r->offset = m->offset;
        r->size = m->size;
        m->record = r;
    }
    if (flags & ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION)
        atomic_store(&m->record->anyone, 1);
    *out = m;
    return ACL_SUCCESS;
}

static int import_physical(int32_t pid, int32_t fd, int32_t device, aclrtDrvMemHandle *handle)
{
    struct record *r = record_open(SHARE_PHYSICAL, pid, fd);
    if (!r)
        return fail_code();
    int memory = open_peer(pid, r->fd, O_RDWR);
    struct physical *m = memory >= 0 ? handle_new(&physical_table) : NULL;
    if (m) {
        m->fd = memory;
        m->offset = r->offset;
        m->size = r->size;
        m->device = r->device < 0 ? -1 : device;
        m->prop = (aclrtPhysicalMemProp){.memAttr = ACL_HBM_MEM_HUGE,
                                         .location = {(uint32_t)device, ACL_MEM_LOCATION_TYPE_DEVICE}};
    }
    record_free(r, -1);
    if (!m)
        return memory < 0 ? fail_code() : fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "too many pieces of physical memory");
    *handle = m;
    return ACL_SUCCESS;
}

struct find_record {
    int32_t fd;
    struct physical *found;
};

static int with_record(void *object, void *arg)
{
    struct physical *m = object;
    struct find_record *find = arg;
    if (m->record && m->record_fd == find->fd)
        find->found = m;
    return find->found != NULL;
}

static int allow(int32_t owner, int32_t fd, const int32_t *pid, size_t n)
{
    struct find_record find = {fd, NULL};
    TRY(entry_check());
    if (owner == (int32_t)getpid())
        handle_each(&physical_table, with_record, &find);
    return find.found ? record_allow(find.found->record, pid, n)
                      : fail(ACL_ERROR_RT_PARAM_INVALID, "this process has not exported that shareable handle");
}

aclError aclrtMemExportToShareableHandle(aclrtDrvMemHandle handle, aclrtMemHandleType handleType, uint64_t flags,
                                         uint64_t *shareableHandle)
{
    CHECK_ARG(shareableHandle);
    if (handleType != ACL_MEM_HANDLE_TYPE_NONE && handleType != ACL_MEM_HANDLE_TYPE_POSIX)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "handle type %d is unknown", (int)handleType);
    struct physical *m = NULL;
    TRY(export_physical(handle, flags, &m));
    *shareableHandle = pack((int32_t)getpid(), m->record_fd);
    return ACL_SUCCESS;
}

aclError aclrtMemImportFromShareableHandle(uint64_t shareableHandle, int32_t deviceId, aclrtDrvMemHandle *handle)
{
    CHECK_ARG(handle);
    TRY(device_use());
    struct device *d = device_get(deviceId);
    if (!d)
        return ACL_ERROR_RT_INVALID_DEVICEID;
    return import_physical((int32_t)(shareableHandle >> 32), (int32_t)(uint32_t)shareableHandle, d->id, handle);
}

aclError aclrtMemSetPidToShareableHandle(uint64_t shareableHandle, int32_t *pid, size_t pidNum)
{
    return allow((int32_t)(shareableHandle >> 32), (int32_t)(uint32_t)shareableHandle, pid, pidNum);
}

/* V2: the default type is the same number, the fabric type a structure that holds a key. */
static int check_type(aclrtMemSharedHandleType type)
{
    if (type != ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT && type != ACL_MEM_SHARE_HANDLE_TYPE_FABRIC)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "share type %d is unknown", (int)type);
    return ACL_SUCCESS;
}

static int unpack(const void *handle, aclrtMemSharedHandleType type, int32_t *pid, int32_t *fd)
{
    CHECK_ARG(handle);
    TRY(check_type(type));
    if (type == ACL_MEM_SHARE_HANDLE_TYPE_FABRIC)
        return record_parse((const char *)((const aclrtMemFabricHandle *)handle)->data, SHARE_PHYSICAL, pid, fd)
                   ? ACL_SUCCESS
                   : ACL_ERROR_RT_PARAM_INVALID;
    uint64_t number;
    memcpy(&number, handle, sizeof number);
    *pid = (int32_t)(number >> 32);
    *fd = (int32_t)(uint32_t)number;
    return ACL_SUCCESS;
}

aclError aclrtMemExportToShareableHandleV2(aclrtDrvMemHandle handle, uint64_t flags, aclrtMemSharedHandleType shareType,
                                           void *shareableHandle)
{
    CHECK_ARG(shareableHandle);
    TRY(check_type(shareType));
    struct physical *m = NULL;
    TRY(export_physical(handle, flags, &m));
    if (shareType == ACL_MEM_SHARE_HANDLE_TYPE_FABRIC) {
        memset(shareableHandle, 0, sizeof(aclrtMemFabricHandle));
        record_key(shareableHandle, SHARE_PHYSICAL, (int32_t)getpid(), m->record_fd);
    } else {
        uint64_t number = pack((int32_t)getpid(), m->record_fd);
        memcpy(shareableHandle, &number, sizeof number);
    }
    return ACL_SUCCESS;
}

aclError aclrtMemImportFromShareableHandleV2(void *shareableHandle, aclrtMemSharedHandleType shareType, uint64_t flags,
                                             aclrtDrvMemHandle *handle)
{
    CHECK_ARG(handle);
    if (flags)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "flags must be 0, not %llu", (unsigned long long)flags);
    int32_t pid = 0, fd = 0;
    TRY(unpack(shareableHandle, shareType, &pid, &fd));
    TRY(device_use());
    struct device *d = device_current();
    return d ? import_physical(pid, fd, d->id, handle) : fail_code();
}

aclError aclrtMemSetPidToShareableHandleV2(void *shareableHandle, aclrtMemSharedHandleType shareType, int32_t *pid,
                                           size_t pidNum)
{
    int32_t owner = 0, fd = 0;
    TRY(unpack(shareableHandle, shareType, &owner, &fd));
    return allow(owner, fd, pid, pidNum);
}
