/* SPDX-License-Identifier: BSD-3-Clause */
/* See window.h. A list of what was set, activated and registered, by communicator: ranges only say where pieces may be
 * activated; pieces and windows of mapped memory hold its physical memory and how other processes find it. */
#define _GNU_SOURCE
#include "window.h"

#include <stdlib.h>

#include "error.h"

enum window_kind { RANGE, PIECE, SYMMETRIC };

struct window {
    struct window *next;
    const struct comm *comm; /* whose; not counted */
    enum window_kind kind;
    const char *base;
    size_t size;
    struct share share;
    void *hold; /* NULL: nothing to share (a range), or shared anyway (allocated memory) */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct window *windows;
static _Atomic size_t held; /* windows with a hold */

#define CHECK_POINTER(p)                                                                                               \
    do {                                                                                                               \
        if (!(p))                                                                                                      \
            return hccl_fail(HCCL_E_PTR, EI_PARAMETER "value NULL of parameter %s of %s is invalid.", #p, __func__);   \
    } while (0)

static bool holds(const struct window *w, const char *p, size_t bytes)
{
    return p >= w->base && p < w->base + w->size && bytes <= (size_t)(w->base + w->size - p);
}

static bool overlaps(const struct window *w, const char *p, size_t bytes)
{
    return p < w->base + w->size && w->base < p + bytes;
}

bool window_share(const void *address, size_t bytes, struct share *share)
{
    if (atomic_load_explicit(&held, memory_order_acquire) == 0)
        return false;
    const char *p = address;
    pthread_mutex_lock(&lock);
    struct window *w = windows;
    while (w && !(w->hold && holds(w, p, bytes)))
        w = w->next;
    if (w && share) {
        *share = w->share;
        share->offset += (uint64_t)(p - w->base);
        share->bytes = bytes;
    }
    pthread_mutex_unlock(&lock);
    return w != NULL;
}

static void end(struct window *w)
{
    if (w->hold) {
        atomic_fetch_sub(&held, 1);
        share_drop(w->hold);
    }
    free(w);
}

void window_forget(const struct comm *comm)
{
    struct window *gone = NULL;
    pthread_mutex_lock(&lock);
    for (struct window **p = &windows, *w; (w = *p);)
        if (w->comm == comm) {
            *p = w->next;
            w->next = gone;
            gone = w;
        } else {
            p = &w->next;
        }
    pthread_mutex_unlock(&lock);
    while (gone) {
        struct window *w = gone;
        gone = w->next;
        end(w);
    }
}

/* Under lock: the communicator's window of a kind that fits [base, base + bytes); where it stands in the list. */
static struct window **find(const struct comm *comm, enum window_kind kind, const char *base, size_t bytes,
                            bool (*fits)(const struct window *w, const char *p, size_t bytes))
{
    struct window **p = &windows;
    while (*p && !(((*p)->comm == comm) && (*p)->kind == kind && fits(*p, base, bytes)))
        p = &(*p)->next;
    return p;
}

static bool begins(const struct window *w, const char *p, size_t bytes)
{
    (void)bytes;
    return w->base == p;
}

/* Adds a window like this one, when it does not overlap another of its kind, and (a piece) lies in a range. */
static HcclResult add(const struct window *like, const char *function, struct window **made)
{
    struct window *w = malloc(sizeof *w);
    if (!w)
        return hccl_fail(HCCL_E_MEMORY, EI_RESOURCE "the host is out of memory");
    *w = *like;
    pthread_mutex_lock(&lock);
    bool twice = *find(w->comm, w->kind, w->base, w->size, overlaps) != NULL;
    bool astray = w->kind == PIECE && !*find(w->comm, RANGE, w->base, w->size, holds);
    if (!twice && !astray) {
        w->next = windows;
        windows = w;
        if (w->hold)
            atomic_fetch_add(&held, 1);
    }
    pthread_mutex_unlock(&lock);
    if (!twice && !astray) {
        *made = w;
        return HCCL_SUCCESS;
    }
    free(w);
    return hccl_fail(HCCL_E_PARA, EI_PARAMETER "%s: %zu bytes at %p %s.", function, like->size,
                     (const void *)like->base,
                     twice ? "overlap what was given to it before" : "lie in no range of HcclCommSetMemoryRange");
}

static HcclResult check_zero(const char *function, const char *name, uint64_t value)
{
    return value
               ? hccl_fail(HCCL_E_PARA, EI_PARAMETER "value %llu of parameter %s of %s is invalid. Expected value: 0.",
                           (unsigned long long)value, name, function)
               : HCCL_SUCCESS;
}

/* A communicator's handle for a moment: windows know it by its address alone. */
static HcclResult check_comm(HcclComm comm, const char *function)
{
    struct comm *c = comm_get(comm, function);
    if (c)
        comm_put(c);
    return c ? HCCL_SUCCESS : HCCL_E_PARA;
}

HcclResult HcclCommSetMemoryRange(HcclComm comm, void *baseVirPtr, size_t size, size_t alignment, uint64_t flags)
{
    CHECK_POINTER(comm);
    CHECK_POINTER(baseVirPtr);
    HCCL_TRY(check_comm(comm, __func__));
    HCCL_TRY(check_zero(__func__, "alignment", alignment));
    HCCL_TRY(check_zero(__func__, "flags", flags));
    if (size == 0 || !addresses_reserved(baseVirPtr, size))
        return hccl_fail(HCCL_E_PARA,
                         EI_PARAMETER "value %p of parameter baseVirPtr of %s: %zu addresses there were not reserved "
                                      "by aclrtReserveMemAddress.",
                         baseVirPtr, __func__, size);
    struct window *made;
    return add(&(struct window){.comm = comm, .kind = RANGE, .base = baseVirPtr, .size = size}, __func__, &made);
}

/* Takes the window that begins there out of the list. */
static HcclResult take(HcclComm comm, enum window_kind kind, const void *base, const char *function)
{
    pthread_mutex_lock(&lock);
    struct window **p = find(comm, kind, base, 0, begins), *w = *p;
    bool active = w && kind == RANGE && *find(comm, PIECE, w->base, w->size, overlaps);
    if (w && !active)
        *p = w->next;
    pthread_mutex_unlock(&lock);
    if (active)
        return hccl_fail(HCCL_E_PARA, EI_PARAMETER "%s: memory in the range at %p is active: deactivate it first.",
                         function, base);
    if (!w)
        return hccl_fail(HCCL_E_NOT_FOUND, EI_PARAMETER "%s: nothing of the communicator begins at %p (ended twice?).",
                         function, base);
    end(w);
    return HCCL_SUCCESS;
}

HcclResult HcclCommUnsetMemoryRange(HcclComm comm, void *baseVirPtr)
{
    CHECK_POINTER(comm);
    CHECK_POINTER(baseVirPtr);
    HCCL_TRY(check_comm(comm, __func__));
    return take(comm, RANGE, baseVirPtr, __func__);
}

static HcclResult add_held(struct window *w, const char *function, struct window **made)
{
    if (share_hold(w->base, w->size, &w->share, &w->hold))
        return hccl_fail(HCCL_E_PARA, EI_PARAMETER "%s: %zu bytes at %p are not one mapping of device memory.",
                         function, w->size, (const void *)w->base);
    HcclResult result = add(w, function, made);
    if (result)
        share_drop(w->hold);
    return result;
}

HcclResult HcclCommActivateCommMemory(HcclComm comm, void *virPtr, size_t size, size_t offset, aclrtDrvMemHandle handle,
                                      uint64_t flags)
{
    CHECK_POINTER(comm);
    CHECK_POINTER(virPtr);
    CHECK_POINTER(handle);
    HCCL_TRY(check_comm(comm, __func__));
    HCCL_TRY(check_zero(__func__, "offset", offset));
    HCCL_TRY(check_zero(__func__, "flags", flags));
    aclrtDrvMemHandle there = NULL;
    if (size == 0 || aclrtMemRetainAllocationHandle(virPtr, &there) || there != handle)
        return hccl_fail(HCCL_E_PARA, EI_PARAMETER "%s: the physical memory %p is not mapped at %p (%zu bytes).",
                         __func__, handle, virPtr, size);
    struct window *made;
    return add_held(&(struct window){.comm = comm, .kind = PIECE, .base = virPtr, .size = size}, __func__, &made);
}

HcclResult HcclCommDeactivateCommMemory(HcclComm comm, void *virPtr)
{
    CHECK_POINTER(comm);
    CHECK_POINTER(virPtr);
    HCCL_TRY(check_comm(comm, __func__));
    return take(comm, PIECE, virPtr, __func__);
}

HcclResult HcclCommSymWinRegister(HcclComm comm, void *addr, uint64_t size, HcclCommSymWindow *winHandle, uint32_t flag)
{
    CHECK_POINTER(comm);
    CHECK_POINTER(addr);
    CHECK_POINTER(winHandle);
    HCCL_TRY(check_comm(comm, __func__));
    if (flag != HCCL_WIN_COLL_SYMMETRIC)
        return hccl_fail(HCCL_E_NOT_SUPPORT,
                         EI_PARAMETER "value %u of parameter flag of %s is invalid. Expected value: "
                                      "HCCL_WIN_COLL_SYMMETRIC.",
                         flag, __func__);
    if (size == 0 || !device_holds(addr, size))
        return hccl_fail(HCCL_E_PARA,
                         EI_PARAMETER "value %p of parameter addr of %s: %llu bytes there are not device memory.", addr,
                         __func__, (unsigned long long)size);
    struct window w = {.comm = comm, .kind = SYMMETRIC, .base = addr, .size = size}, *made;
    HCCL_TRY(share_possible(addr) ? add(&w, __func__, &made) : add_held(&w, __func__, &made));
    *winHandle = made;
    return HCCL_SUCCESS;
}

HcclResult HcclCommSymWinDeregister(HcclCommSymWindow winHandle)
{
    CHECK_POINTER(winHandle);
    pthread_mutex_lock(&lock);
    struct window **p = &windows, *w;
    while (*p && *p != winHandle)
        p = &(*p)->next;
    w = *p && (*p)->kind == SYMMETRIC ? *p : NULL;
    if (w)
        *p = w->next;
    pthread_mutex_unlock(&lock);
    if (!w)
        return hccl_fail(HCCL_E_NOT_FOUND,
                         EI_PARAMETER "value %p of parameter winHandle of %s is no window (deregistered twice?).",
                         winHandle, __func__);
    end(w);
    return HCCL_SUCCESS;
}

HcclResult HcclCommSymWinGet(HcclComm comm, void *ptr, size_t size, HcclCommSymWindow *winHandle, size_t *offset)
{
    CHECK_POINTER(comm);
    CHECK_POINTER(ptr);
    CHECK_POINTER(winHandle);
    CHECK_POINTER(offset);
    HCCL_TRY(check_comm(comm, __func__));
    pthread_mutex_lock(&lock);
    struct window *w = *find(comm, SYMMETRIC, ptr, size, holds);
    if (w) {
        *winHandle = w;
        *offset = (size_t)((char *)ptr - w->base);
    }
    pthread_mutex_unlock(&lock);
    return w && size
               ? HCCL_SUCCESS
               : hccl_fail(HCCL_E_NOT_FOUND, EI_PARAMETER "%s: no window of the communicator holds %zu bytes at %p.",
                           __func__, size, ptr);
}
