/* SPDX-License-Identifier: BSD-3-Clause */
/* The allocator of device memory; see memory.h.
 *
 * A device's range is a chain of blocks, used and free, kept in two treaps: all blocks by offset (which block holds an
 * address), free blocks by size (best fit, lowest first). Free neighbours are always merged. `fresh` counts a block's
 * bytes that have no pages yet, lying at its high end; their sum shrinks only here, so what the process was granted
 * minus what the memfds hold is what may still be touched for the first time, and is kept free of other promises. */
#define _GNU_SOURCE
#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/host.h"
#include "base/options.h"
#include "error.h"
#include "fault.h"
#include "guard.h"
#include "usage.h"

enum { ALIGN = 512, PAGE = 4096, HUGE = 2 << 20 };

enum tree { BY_OFFSET, BY_SIZE, TREES };

struct block {
    uint64_t offset, size, fresh;
    struct block *before, *after;
    struct block *left[TREES], *right[TREES];
    uint32_t rank;
    bool used;
};

struct arena {
    _Atomic(char *) base; /* what clients get */
    char *usable;         /* what the process may touch; the same but in guard mode */
    uint64_t capacity;
    int fd;
    struct block *root[TREES];
    uint64_t used, peak, kept; /* kept: bytes of free blocks that have pages */
};

struct other {
    char *base;
    size_t size;
    ptrdiff_t usable;
    enum range_kind kind;
    int32_t device;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct arena arenas[DEVICES_MAX];
static _Atomic int arena_count; /* highest device with an arena + 1 */
static struct block *spare_blocks;
static struct other *others;
static size_t other_count, other_room;
static _Atomic size_t others_seen;
static int64_t granted, slack, keep_limit = -1;
static uint32_t seed = 2463534242u;

static bool less(const struct block *a, uint64_t size, uint64_t offset, enum tree t)
{
    return t == BY_SIZE && a->size != size ? a->size < size : a->offset < offset;
}

static void split(struct block *b, uint64_t size, uint64_t offset, enum tree t, struct block **low, struct block **high)
{
    if (!b) {
        *low = *high = NULL;
    } else if (less(b, size, offset, t)) {
        split(b->right[t], size, offset, t, &b->right[t], high);
        *low = b;
    } else {
        split(b->left[t], size, offset, t, low, &b->left[t]);
        *high = b;
    }
}

static struct block *join(struct block *low, struct block *high, enum tree t)
{
    if (!low || !high)
        return low ? low : high;
    if (low->rank > high->rank) {
        low->right[t] = join(low->right[t], high, t);
        return low;
    }
    high->left[t] = join(low, high->left[t], t);
    return high;
}

static void insert(struct arena *a, struct block *b, enum tree t)
{
    struct block *low, *high;
    b->left[t] = b->right[t] = NULL;
    split(a->root[t], b->size, b->offset, t, &low, &high);
    a->root[t] = join(join(low, b, t), high, t);
}

static void erase(struct arena *a, struct block *b, enum tree t)
{
    struct block **p = &a->root[t];
    while (*p != b)
        p = less(*p, b->size, b->offset, t) ? &(*p)->right[t] : &(*p)->left[t];
    *p = join(b->left[t], b->right[t], t);
}

/* Last block that begins at or before offset. */
static struct block *block_at(const struct arena *a, uint64_t offset)
{
    struct block *found = NULL;
    for (struct block *b = a->root[BY_OFFSET]; b;)
        if (b->offset <= offset) {
            found = b;
            b = b->right[BY_OFFSET];
        } else {
            b = b->left[BY_OFFSET];
        }
    return found;
}

static struct block *block_new(void)
{
    struct block *b = spare_blocks;
    if (b)
        spare_blocks = b->after;
    else if (!(b = malloc(sizeof *b)))
        return NULL;
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    *b = (struct block){.rank = seed};
    return b;
}

static void block_drop(struct block *b)
{
    b->after = spare_blocks;
    spare_blocks = b;
}

static void add_free(struct arena *a, struct block *b)
{
    b->used = false;
    a->kept += b->size - b->fresh;
    insert(a, b, BY_SIZE);
}

static void remove_free(struct arena *a, struct block *b)
{
    a->kept -= b->size - b->fresh;
    erase(a, b, BY_SIZE);
}

/* Cuts b at `size`; the new block is what follows. b is in no size tree. */
static struct block *cut(struct arena *a, struct block *b, uint64_t size)
{
    struct block *rest = block_new();
    if (!rest)
        return NULL;
    rest->offset = b->offset + size;
    rest->size = b->size - size;
    rest->fresh = b->fresh < rest->size ? b->fresh : rest->size;
    b->size = size;
    b->fresh -= rest->fresh;
    rest->before = b;
    rest->after = b->after;
    if (b->after)
        b->after->before = rest;
    b->after = rest;
    insert(a, rest, BY_OFFSET);
    return rest;
}

/* b swallows the block after it. Neither is in the size tree. */
static void swallow(struct arena *a, struct block *b)
{
    struct block *gone = b->after;
    erase(a, gone, BY_OFFSET);
    b->size += gone->size;
    b->fresh += gone->fresh;
    b->after = gone->after;
    if (b->after)
        b->after->before = b;
    block_drop(gone);
}

/* Pages of a free block back to the machine. b is in no size tree. */
static void give_back(struct arena *a, struct block *b)
{
    uint64_t begin = (b->offset + PAGE - 1) / PAGE * PAGE, end = (b->offset + b->size) / PAGE * PAGE;
    if (b->fresh == b->size || end <= begin)
        return;
    if (fallocate(a->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)begin, (off_t)(end - begin)) == 0) {
        uint64_t fresh = end - begin; /* the edges share pages with neighbours */
        if (fresh > b->fresh) {
            granted -= (int64_t)(fresh - b->fresh);
            b->fresh = fresh;
        }
    }
}

static void give_back_all(void)
{
    for (int d = 0; d < atomic_load(&arena_count); d++) {
        struct arena *a = &arenas[d];
        struct block *b = atomic_load(&a->base) ? block_at(a, 0) : NULL;
        for (; b; b = b->after)
            if (!b->used && b->fresh < b->size) {
                remove_free(a, b);
                give_back(a, b);
                add_free(a, b);
            }
    }
}

/* What may still be granted, in bytes. */
static int64_t headroom(void)
{
    int64_t resident = 0, available = host_available();
    for (int d = 0; d < atomic_load(&arena_count); d++) {
        struct stat st;
        if (atomic_load(&arenas[d].base) && fstat(arenas[d].fd, &st) == 0)
            resident += (int64_t)st.st_blocks * 512;
    }
    int64_t margin = available / 32 > (64 << 20) ? available / 32 : 64 << 20;
    return available - margin - (granted > resident ? granted - resident : 0);
}

static bool grant(uint64_t fresh)
{
    if ((int64_t)fresh > slack) {
        int64_t room = headroom();
        if ((int64_t)fresh > room) {
            give_back_all();
            room = headroom();
        }
        if ((int64_t)fresh > room)
            return false;
        slack = room < ((int64_t)256 << 20) + (int64_t)fresh ? room : ((int64_t)256 << 20) + (int64_t)fresh;
    }
    slack -= (int64_t)fresh;
    granted += (int64_t)fresh;
    return true;
}

/* A range of `size` bytes at a multiple of 2 MiB, over the memfd or (fd < 0) over nothing. */
static char *reserve(uint64_t size, int fd, uint64_t offset)
{
    char *p = mmap(NULL, size + HUGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    char *aligned = (char *)(((uintptr_t)p + HUGE - 1) / HUGE * HUGE);
    if (aligned > p)
        munmap(p, (size_t)(aligned - p));
    if (p + HUGE > aligned)
        munmap(aligned + size, (size_t)(p + HUGE - aligned));
    if (fd >= 0 && mmap(aligned, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd,
                        (off_t)offset) == MAP_FAILED) {
        munmap(aligned, size);
        return NULL;
    }
    madvise(aligned, size, MADV_DONTFORK);
    madvise(aligned, size, MADV_DONTDUMP);
    if (fd >= 0)
        madvise(aligned, size, MADV_HUGEPAGE);
    return aligned;
}

char *memory_map(int fd, uint64_t offset, uint64_t size, ptrdiff_t *usable)
{
    char *real = reserve(size, fd, offset), *handed = real;
    *usable = 0;
    if (real && memory_guarded()) {
        handed = reserve(size, -1, 0);
        if (!handed)
            munmap(real, size);
        *usable = real - handed;
    }
    return handed;
}

void memory_unmap(char *base, uint64_t size, ptrdiff_t usable)
{
    munmap(base, size);
    if (usable)
        munmap(base + usable, size);
}

static bool open_arena(struct device *device)
{
    struct arena *a = &arenas[device->id];
    if (atomic_load(&a->base))
        return true;
    uint64_t capacity = ((uint64_t)option_number(OPTION_MEMORY) + HUGE - 1) / HUGE * HUGE;
    int fd = memfd_create("anynpu", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)capacity) != 0) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    ptrdiff_t usable = 0;
    char *handed = memory_map(fd, 0, capacity, &usable);
    struct block *b = handed ? block_new() : NULL;
    if (!b) {
        if (handed)
            memory_unmap(handed, capacity, usable);
        close(fd);
        return false;
    }
    b->size = b->fresh = capacity;
    *a = (struct arena){.usable = handed + usable, .capacity = capacity, .fd = fd};
    insert(a, b, BY_OFFSET);
    add_free(a, b);
    atomic_store_explicit(&a->base, handed, memory_order_release);
    if (atomic_load(&arena_count) <= device->id)
        atomic_store(&arena_count, device->id + 1);
    if (keep_limit < 0) { /* the first device */
        if (memory_guarded())
            guard_watch();
        keep_limit = option_number(OPTION_KEEP);
        if (keep_limit < 0)
            keep_limit = host_available() / 4;
    }
    return true;
}

/* Smallest free block of at least `size`. */
static struct block *best_fit(const struct arena *a, uint64_t size)
{
    struct block *found = NULL;
    for (struct block *b = a->root[BY_SIZE]; b;)
        if (b->size >= size) {
            found = b;
            b = b->left[BY_SIZE];
        } else {
            b = b->right[BY_SIZE];
        }
    return found;
}

/* A block that is no longer used: merged with free neighbours; pages beyond the keep limit go back. */
static void release(struct arena *a, struct block *b)
{
    if (b->after && !b->after->used) {
        remove_free(a, b->after);
        swallow(a, b);
    }
    if (b->before && !b->before->used) {
        b = b->before;
        remove_free(a, b);
        swallow(a, b);
    }
    if ((int64_t)(a->kept + b->size - b->fresh) > keep_limit)
        give_back(a, b);
    add_free(a, b);
}

static int alloc_locked(struct device *device, uint64_t size, uint64_t align, void **out)
{
    struct arena *a = &arenas[device->id];
    if (!open_arena(device))
        return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "device %d: cannot reserve its address range: %s", device->id,
                    strerror(errno));
    struct block *b = fault_malloc(a->used + size) ? NULL : best_fit(a, align > ALIGN ? size + align - ALIGN : size);
    if (!b)
        return fail(ACL_ERROR_RT_MEMORY_ALLOCATION,
                    "device %d is out of memory: %llu bytes wanted, %llu of %llu in use, no free piece is large enough",
                    device->id, (unsigned long long)size, (unsigned long long)a->used, (unsigned long long)a->capacity);
    remove_free(a, b);
    uint64_t skip = (align - b->offset % align) % align;
    if (skip) {
        struct block *rest = cut(a, b, skip);
        add_free(a, b);
        if (!rest)
            return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "the host is out of memory");
        b = rest;
    }
    if (b->size > size) {
        struct block *rest = cut(a, b, size);
        if (!rest) {
            add_free(a, b);
            return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "the host is out of memory");
        }
        add_free(a, rest);
    }
    b->used = true; /* give_back_all() leaves it alone */
    if (!grant(b->fresh)) {
        uint64_t wanted = b->fresh;
        release(a, b);
        return fail(
            ACL_ERROR_RT_MEMORY_ALLOCATION,
            "device %d is out of memory: %llu bytes wanted, but the machine (or its cgroup) has only %lld bytes "
            "available for it",
            device->id, (unsigned long long)wanted, (long long)headroom());
    }
    b->fresh = 0;
    a->used += b->size;
    if (a->used > a->peak)
        a->peak = a->used;
    usage_memory(device->id, a->used);
    *out = atomic_load(&a->base) + b->offset;
    return ACL_SUCCESS;
}

int memory_alloc(struct device *device, size_t size, size_t align, void **out)
{
    if (size == 0 || size > (size_t)INT64_MAX - HUGE)
        return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "device %d: %zu bytes cannot be allocated", device->id, size);
    if (align < ALIGN)
        align = ALIGN;
    pthread_mutex_lock(&lock);
    int status = alloc_locked(device, (size + ALIGN - 1) / ALIGN * ALIGN, align, out);
    pthread_mutex_unlock(&lock);
    if (!status)
        usage_join(device);
    return status;
}

/* The device whose range holds the address, or -1. */
static int arena_of(const void *address)
{
    int n = atomic_load_explicit(&arena_count, memory_order_acquire);
    for (int d = 0; d < n; d++) {
        char *base = atomic_load_explicit(&arenas[d].base, memory_order_acquire);
        if (base && (uintptr_t)address - (uintptr_t)base < arenas[d].capacity)
            return d;
    }
    return -1;
}

int memory_device_of(const void *address)
{
    return arena_of(address);
}

int memory_free(void *address)
{
    int d = arena_of(address);
    if (d < 0)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "%p is not device memory of this process", address);
    struct arena *a = &arenas[d];
    pthread_mutex_lock(&lock);
    uint64_t offset = (uint64_t)((char *)address - atomic_load(&a->base));
    struct block *b = block_at(a, offset);
    bool good = b && b->used && b->offset == offset;
    if (good) {
        a->used -= b->size;
        usage_memory(d, a->used);
        b->used = false;
        release(a, b);
    }
    pthread_mutex_unlock(&lock);
    if (!good)
        return fail(ACL_ERROR_RT_PARAM_INVALID,
                    "%p is not the beginning of allocated memory of device %d (freed twice?)", address, d);
    return ACL_SUCCESS;
}

void memory_info(struct device *device, size_t *free, size_t *total, size_t *peak)
{
    struct arena *a = &arenas[device->id];
    pthread_mutex_lock(&lock);
    *total = a->capacity ? a->capacity : (size_t)option_number(OPTION_MEMORY);
    *free = *total - a->used;
    *peak = a->peak;
    pthread_mutex_unlock(&lock);
}

void memory_reset(struct device *device)
{
    struct arena *a = &arenas[device->id];
    pthread_mutex_lock(&lock);
    struct block *b = atomic_load(&a->base) ? block_at(a, 0) : NULL;
    if (b) {
        for (; b->after; swallow(a, b))
            ;
        a->root[BY_SIZE] = NULL;
        a->used = a->kept = 0;
        usage_memory(device->id, 0);
        give_back(a, b);
        add_free(a, b);
    }
    pthread_mutex_unlock(&lock);
}

bool memory_file(const void *address, int *fd, uint64_t *offset, uint64_t *capacity)
{
    int d = arena_of(address);
    if (d < 0)
        return false;
    *fd = arenas[d].fd;
    *capacity = arenas[d].capacity;
    *offset = (uint64_t)((const char *)address - atomic_load(&arenas[d].base));
    return true;
}

/* Index of the first range that ends after the address. */
static size_t other_at(const char *address)
{
    size_t low = 0, high = other_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (others[middle].base + others[middle].size <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int range_add(enum range_kind kind, int32_t device, void *base, size_t size, ptrdiff_t usable)
{
    int status = ACL_SUCCESS;
    pthread_mutex_lock(&lock);
    size_t i = other_at(base);
    if (i < other_count && others[i].base < (char *)base + size) {
        status = ACL_ERROR_RT_PARAM_INVALID;
    } else {
        if (other_count == other_room) {
            size_t room = other_room ? other_room * 2 : 64;
            struct other *more = realloc(others, room * sizeof *more);
            if (more) {
                others = more;
                other_room = room;
            }
        }
        if (other_count == other_room) {
            status = ACL_ERROR_RT_MEMORY_ALLOCATION;
        } else {
            memmove(&others[i + 1], &others[i], (other_count - i) * sizeof *others);
            others[i] = (struct other){base, size, usable, kind, device};
            atomic_store_explicit(&others_seen, ++other_count, memory_order_release);
        }
    }
    pthread_mutex_unlock(&lock);
    return status;
}

bool range_remove(void *base, enum range_kind kind)
{
    pthread_mutex_lock(&lock);
    size_t i = other_at(base);
    bool found = i < other_count && others[i].base == base && others[i].kind == kind;
    if (found) {
        memmove(&others[i], &others[i + 1], (other_count - i - 1) * sizeof *others);
        atomic_store_explicit(&others_seen, --other_count, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    return found;
}

struct range memory_find(const void *address)
{
    struct range r = {.kind = RANGE_NONE, .device = -1};
    int d = arena_of(address);
    if (d < 0 && !atomic_load_explicit(&others_seen, memory_order_acquire))
        return r;
    pthread_mutex_lock(&lock);
    if (d >= 0) {
        char *base = atomic_load(&arenas[d].base);
        struct block *b = block_at(&arenas[d], (uint64_t)((const char *)address - base));
        if (b && b->used)
            r = (struct range){RANGE_DEVICE, d, base + b->offset, b->size};
    } else {
        size_t i = other_at(address);
        if (i < other_count && others[i].base <= (const char *)address)
            r = (struct range){others[i].kind, others[i].device, others[i].base, others[i].size};
    }
    pthread_mutex_unlock(&lock);
    return r;
}

bool memory_is_device(const void *address, size_t bytes)
{
    bool inside = false;
    const char *p = address;
    int d = arena_of(address);
    pthread_mutex_lock(&lock);
    if (d >= 0) {
        uint64_t offset = (uint64_t)(p - atomic_load(&arenas[d].base));
        struct block *b = block_at(&arenas[d], offset);
        inside = b && b->used && bytes <= b->offset + b->size - offset;
    } else { /* mappings that follow each other count as one */
        size_t i = other_at(p);
        if (i < other_count && others[i].base <= p)
            for (const char *end = p; i < other_count && others[i].base <= end && others[i].kind != RANGE_HOST; i++) {
                end = others[i].base + others[i].size;
                if (bytes <= (size_t)(end - p)) {
                    inside = true;
                    break;
                }
            }
    }
    pthread_mutex_unlock(&lock);
    return inside;
}

bool memory_guarded(void)
{
    return option_number(OPTION_GUARD) == 1;
}

void *memory_usable(const void *address)
{
    static _Atomic int guarded = -1;
    int g = atomic_load_explicit(&guarded, memory_order_relaxed);
    if (g < 0)
        atomic_store_explicit(&guarded, g = memory_guarded(), memory_order_relaxed);
    if (!g)
        return (void *)(uintptr_t)address;
    int d = arena_of(address);
    if (d >= 0)
        return arenas[d].usable + ((const char *)address - atomic_load(&arenas[d].base));
    ptrdiff_t delta = 0;
    pthread_mutex_lock(&lock);
    size_t i = other_at(address);
    if (i < other_count && others[i].base <= (const char *)address)
        delta = others[i].usable;
    pthread_mutex_unlock(&lock);
    return (char *)(uintptr_t)address + delta;
}

bool device_holds(const void *address, size_t bytes)
{
    return memory_is_device(address, bytes);
}

void *device_address(const void *address)
{
    return memory_usable(address);
}
