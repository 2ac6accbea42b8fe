/* SPDX-License-Identifier: BSD-3-Clause */
/* Handle tables; see handle.h. */
#define _GNU_SOURCE
#include "handle.h"

#include <string.h>
#include <sys/mman.h>

/* This many freed slots rest before the oldest is used again. */
enum { REST = 256 };

void *handle_new(struct handle_table *table)
{
    struct handle *h = NULL;
    pthread_mutex_lock(&table->lock);
    char *base = atomic_load_explicit(&table->base, memory_order_relaxed);
    if (!base) {
        void *p = mmap(NULL, table->size * table->capacity, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p != MAP_FAILED) {
            base = p;
            atomic_store_explicit(&table->base, base, memory_order_release);
        }
    }
    if (base && table->used < table->capacity && table->free_count < REST) {
        h = (struct handle *)(base + table->size * table->used);
        h->id = table->used++;
    } else if (table->first) {
        h = table->first;
        table->first = h->next;
        table->free_count--;
    }
    if (h) {
        uint32_t id = h->id;
        memset((char *)h + sizeof *h, 0, table->size - sizeof *h);
        h->id = id;
        h->next = NULL;
        table->live_count++;
        atomic_store_explicit(&h->live, HANDLE_LIVE, memory_order_release);
    }
    pthread_mutex_unlock(&table->lock);
    return h;
}

bool handle_retire(void *object)
{
    uint32_t live = HANDLE_LIVE;
    return atomic_compare_exchange_strong(&((struct handle *)object)->live, &live, 0);
}

void handle_free(struct handle_table *table, void *object)
{
    struct handle *h = object;
    handle_retire(h);
    pthread_mutex_lock(&table->lock);
    h->next = NULL;
    if (table->free_count++)
        table->last->next = h;
    else
        table->first = h;
    table->last = h;
    table->live_count--;
    pthread_mutex_unlock(&table->lock);
}

int handle_each(struct handle_table *table, int (*fn)(void *object, void *arg), void *arg)
{
    char *base = atomic_load_explicit(&table->base, memory_order_acquire);
    if (!base)
        return 0;
    pthread_mutex_lock(&table->lock);
    uint32_t used = table->used;
    pthread_mutex_unlock(&table->lock);
    for (uint32_t i = 0; i < used; i++) {
        void *object = base + table->size * i;
        int status = handle_valid(table, object) ? fn(object, arg) : 0;
        if (status)
            return status;
    }
    return 0;
}
