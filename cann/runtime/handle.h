/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of objects that clients hold by handle. A handle is the address of a slot in the table's own reserved range,
 * so any value can be checked without reading where it points: range, alignment, live mark. Slots are never unmapped
 * and are reused late, so a handle that was destroyed is recognised. One lock a table, taken in handle_new and
 * handle_free alone. */
#ifndef ANYNPU_RUNTIME_HANDLE_H
#define ANYNPU_RUNTIME_HANDLE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Every object begins with this. */
struct handle {
    _Atomic uint32_t live; /* HANDLE_LIVE while the handle is valid */
    uint32_t id;           /* index of the slot */
    struct handle *next;   /* in the list of free slots */
};

enum { HANDLE_LIVE = 0x4e505521 };

struct handle_table {
    const char *what; /* "stream" */
    size_t size;      /* of a slot, a multiple of 64 */
    uint32_t capacity;
    pthread_mutex_t lock;
    _Atomic(char *) base; /* reserved at first use */
    uint32_t used;        /* slots handed out at least once */
    uint32_t free_count, live_count;
    struct handle *first, *last; /* freed slots, oldest first */
};

#define HANDLE_TABLE(type, text, slots)                                                                                \
    {                                                                                                                  \
        .what = text, .size = (sizeof(type) + 63) / 64 * 64, .capacity = slots, .lock = PTHREAD_MUTEX_INITIALIZER      \
    }

/* A zeroed object, live at once; NULL when the table or memory is full (the caller fails with its own code). */
void *handle_new(struct handle_table *table);

/* Ends the handle. handle_retire() only makes it invalid (objects that others still use), handle_free() frees the slot.
 */
bool handle_retire(void *object);
void handle_free(struct handle_table *table, void *object);

static inline bool handle_valid(const struct handle_table *table, const void *handle)
{
    char *base = atomic_load_explicit(&((struct handle_table *)(uintptr_t)table)->base, memory_order_acquire);
    uintptr_t offset = (uintptr_t)handle - (uintptr_t)base;
    if (!base || offset >= (uintptr_t)table->size * table->capacity || offset % table->size)
        return false;
    return atomic_load_explicit(&((struct handle *)(uintptr_t)handle)->live, memory_order_acquire) == HANDLE_LIVE;
}

/* Calls fn for each live object until it returns non-zero. Objects may come and go meanwhile: fn must check them. */
int handle_each(struct handle_table *table, int (*fn)(void *object, void *arg), void *arg);

#endif
