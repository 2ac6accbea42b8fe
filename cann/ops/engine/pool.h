/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of the engine's objects: thread-local freelists over slabs that are never given back, so that a creation on
 * the hot path is a few loads and a handle can be looked at after it was destroyed (its magic then says so).
 *
 * An object may be freed by another thread than the one that made it: lists that grow too long hand half of it to a
 * shared list under the pool's lock, and empty ones take a batch from there. */
#ifndef ANYNPU_OPS_ENGINE_POOL_H
#define ANYNPU_OPS_ENGINE_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What every pooled object begins with. */
struct object {
    uint32_t magic;      /* enum object_magic; 0 while free */
    uint32_t generation; /* counts the lives of this piece of memory */
    struct object *next; /* in a freelist */
};

enum object_magic {
    MAGIC_FREE = 0,
    MAGIC_TENSOR = 0x74e05e01,
    MAGIC_SCALAR,
    MAGIC_INTS,
    MAGIC_FLOATS,
    MAGIC_BOOLS,
    MAGIC_TENSORS,
    MAGIC_SCALARS,
    MAGIC_PLAN,         /* prepared, may be launched */
    MAGIC_PLAN_RUNNING, /* belongs to a stream */
};

enum pool_id { POOL_TENSOR, POOL_SCALAR, POOL_ARRAY, POOL_PLAN, POOLS };

enum { POOL_ARRAY_BYTES = 192, POOL_PLAN_BYTES = 4096 };

enum { POOL_BATCH = 32, POOL_LOCAL_MAX = 2 * POOL_BATCH };

struct pool_list {
    struct object *head;
    uint32_t count;
};

/* The thread's freelists. Eight bytes of static TLS: the cheapest access, also in a library that was dlopened. */
extern _Thread_local struct pool_list *pool_mine __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* What the two below do when the thread's own list does not suffice. */
struct object *pool_more(enum pool_id id);
void pool_spill(enum pool_id id, struct object *object);

/* An object of the pool with this magic, its other bytes undefined; NULL when memory is short. */
static inline void *pool_get(enum pool_id id, enum object_magic magic)
{
    struct pool_list *list = pool_mine ? &pool_mine[id] : NULL;
    struct object *o = list ? list->head : NULL;
    if (o) {
        list->head = o->next;
        list->count--;
    } else if (!(o = pool_more(id))) {
        return NULL;
    }
    o->magic = magic;
    o->generation++;
    return o;
}

/* Gives it back; the caller has checked the magic. */
static inline void pool_put(enum pool_id id, void *object)
{
    struct object *o = (struct object *)object;
    struct pool_list *list = pool_mine ? &pool_mine[id] : NULL;
    o->magic = MAGIC_FREE;
    if (!list || list->count == POOL_LOCAL_MAX) {
        pool_spill(id, o);
        return;
    }
    o->next = list->head;
    list->head = o;
    list->count++;
}

/* Where a pool's objects are: [base, base + used). */
struct pool_range {
    _Atomic uintptr_t base;
    _Atomic size_t used;
};
extern struct pool_range pool_ranges[POOLS];

/* Is the value, whatever it is, a live object of this kind? */
static inline bool object_is(const void *value, enum object_magic magic)
{
    static const uint8_t pool[] = {POOL_TENSOR, POOL_SCALAR, POOL_ARRAY, POOL_ARRAY, POOL_ARRAY,
                                   POOL_ARRAY,  POOL_ARRAY,  POOL_PLAN,  POOL_PLAN};
    struct pool_range *range = &pool_ranges[pool[magic - MAGIC_TENSOR]];
    uintptr_t at = (uintptr_t)value - atomic_load_explicit(&range->base, memory_order_relaxed);
    return at < atomic_load_explicit(&range->used, memory_order_acquire) && at % 64 == 0 &&
           ((const struct object *)value)->magic == (uint32_t)magic;
}

#endif
