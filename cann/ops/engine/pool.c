/* SPDX-License-Identifier: BSD-3-Clause */
/* See pool.h. Lock: one mutex a pool, held for a few instructions, a leaf; taken over fork so that a child finds it
 * free. */
#include "pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "ops/plan.h"

enum { SLAB_BYTES = 65536 };
#define RESERVED ((size_t)4 << 30)

static struct pool {
    size_t bytes;
    pthread_mutex_t lock;
    struct object *shared;
} pools[POOLS] = {
    [POOL_TENSOR] = {(sizeof(struct aclTensor) + 63) / 64 * 64, PTHREAD_MUTEX_INITIALIZER, NULL},
    [POOL_SCALAR] = {64, PTHREAD_MUTEX_INITIALIZER, NULL},
    [POOL_ARRAY] = {POOL_ARRAY_BYTES, PTHREAD_MUTEX_INITIALIZER, NULL},
    [POOL_PLAN] = {POOL_PLAN_BYTES, PTHREAD_MUTEX_INITIALIZER, NULL},
};
_Static_assert(sizeof(struct aclScalar) <= 64, "a scalar fits its pool");

struct pool_range pool_ranges[POOLS];

_Thread_local struct pool_list *pool_mine;
static pthread_key_t leaving;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void lock_all(void)
{
    for (int i = 0; i < POOLS; i++)
        pthread_mutex_lock(&pools[i].lock);
}

static void unlock_all(void)
{
    for (int i = POOLS; i-- > 0;)
        pthread_mutex_unlock(&pools[i].lock);
}

/* Gives the first `count` of a local list to everybody. */
static void share(struct pool *pool, struct pool_list *list, uint32_t count)
{
    struct object *first = list->head, *last = first;
    for (uint32_t i = 1; i < count; i++)
        last = last->next;
    list->head = last->next;
    list->count -= count;
    pthread_mutex_lock(&pool->lock);
    last->next = pool->shared;
    pool->shared = first;
    pthread_mutex_unlock(&pool->lock);
}

static void leave(void *arg)
{
    struct pool_list *lists = arg;
    pool_mine = NULL;
    for (int i = 0; i < POOLS; i++)
        if (lists[i].count)
            share(&pools[i], &lists[i], lists[i].count);
    free(lists);
}

static void start(void)
{
    pthread_key_create(&leaving, leave);
    pthread_atfork(lock_all, unlock_all, unlock_all);
}

/* The thread's lists; NULL when memory is short. */
static struct pool_list *enter(void)
{
    if (pool_mine)
        return pool_mine;
    pthread_once(&once, start);
    struct pool_list *lists = calloc(POOLS, sizeof *lists);
    if (lists && pthread_setspecific(leaving, lists)) {
        free(lists);
        lists = NULL;
    }
    return pool_mine = lists;
}

static bool take_shared(struct pool *pool, struct pool_list *list)
{
    pthread_mutex_lock(&pool->lock);
    while (pool->shared && list->count < POOL_BATCH) {
        struct object *o = pool->shared;
        pool->shared = o->next;
        o->next = list->head;
        list->head = o;
        list->count++;
    }
    pthread_mutex_unlock(&pool->lock);
    return list->count > 0;
}

/* The next piece of the pool's range as memory; NULL when there is none. */
static char *next_slab(enum pool_id id)
{
    struct pool_range *range = &pool_ranges[id];
    char *slab = NULL;
    pthread_mutex_lock(&pools[id].lock);
    uintptr_t base = atomic_load(&range->base);
    size_t used = atomic_load(&range->used);
    if (!base) {
        void *map = mmap(NULL, RESERVED, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        base = map == MAP_FAILED ? 0 : (uintptr_t)map;
        atomic_store(&range->base, base);
    }
    if (base && used + SLAB_BYTES <= RESERVED && !mprotect((char *)base + used, SLAB_BYTES, PROT_READ | PROT_WRITE)) {
        slab = (char *)base + used;
        atomic_store(&range->used, used + SLAB_BYTES);
    }
    pthread_mutex_unlock(&pools[id].lock);
    return slab;
}

static bool refill(enum pool_id id, struct pool_list *list)
{
    size_t bytes = pools[id].bytes;
    if (take_shared(&pools[id], list))
        return true;
    char *slab = next_slab(id);
    if (!slab)
        return false;
    for (size_t at = 0; at + bytes <= SLAB_BYTES; at += bytes) {
        struct object *o = (struct object *)(slab + at);
        *o = (struct object){MAGIC_FREE, 0, list->head};
        list->head = o;
        list->count++;
    }
    return true;
}

struct object *pool_more(enum pool_id id)
{
    struct pool_list *lists = enter();
    if (!lists || (!lists[id].head && !refill(id, &lists[id])))
        return NULL;
    struct object *o = lists[id].head;
    lists[id].head = o->next;
    lists[id].count--;
    return o;
}

void pool_spill(enum pool_id id, struct object *object)
{
    struct pool_list one = {object, 1}, *lists = enter();
    object->next = NULL;
    if (!lists) { /* no memory for a list of the thread's: straight to the shared one */
        share(&pools[id], &one, 1);
        return;
    }
    struct pool_list *list = &lists[id];
    object->next = list->head;
    list->head = object;
    if (++list->count > POOL_LOCAL_MAX)
        share(&pools[id], list, POOL_BATCH);
}
