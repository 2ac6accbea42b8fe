/* SPDX-License-Identifier: BSD-3-Clause */
/* See usage.h. The sampler looks at the streams' states and at the pool; how many threads compute for a device, of
 * those that the process has for computing, is the device's use at that moment, and holds for the time since the look
 * before. A second after the last task it looks less often. Slots are handed to the sampler by an atomic pointer and
 * stay allocated: the sampler may still hold one that its device has just left. */
#define _GNU_SOURCE
#include "usage.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "base/cpu.h"
#include "base/futex.h"
#include "base/options.h"
#include "base/stats.h"
#include "pool.h"
#include "stream.h"

enum { TICK_NS = 10000000, REST_NS = 50000000 };

static _Atomic(struct stats_slot *) slots[DEVICES_MAX]; /* by the process's device id */
static _Atomic uint64_t memory[DEVICES_MAX];
static _Atomic bool sampling;

struct look {
    uint32_t busy[DEVICES_MAX];
};

static int look_at_stream(void *object, void *arg)
{
    struct stream *s = object;
    struct look *look = arg;
    uint32_t state = atomic_load_explicit(&s->state, memory_order_acquire);
    if (state == STREAM_IDLE ||
        (state == STREAM_DEVICE && (atomic_load_explicit(&s->resting, memory_order_relaxed) || stream_is_idle(s))))
        return 0;
    if (s->device)
        look->busy[s->device->id]++;
    return 0;
}

/* Sum of share × time in the running slice. */
struct mean {
    uint64_t slice;
    int64_t weighted, weight;
};

static void publish(struct stats_slot *slot, struct mean *m, int64_t before, int64_t now, uint32_t share)
{
    uint64_t first = stats_slice(before), last = stats_slice(now);
    if (m->slice != last) { /* what was left of the old slice, and whole slices in between */
        if (m->slice == first) {
            m->weighted += (int64_t)share * (int64_t)((first + 1) * STATS_SLICE_MS * 1000000 - (uint64_t)before);
            m->weight = STATS_SLICE_MS * INT64_C(1000000);
            stats_busy(slot, first, first, (uint32_t)(m->weighted / m->weight));
        }
        if (last > first + 1)
            stats_busy(slot, first + 1, last - 1, share);
        before = (int64_t)(last * STATS_SLICE_MS * 1000000);
        *m = (struct mean){.slice = last};
    }
    m->weighted += (int64_t)share * (now - before);
    m->weight += now - before;
    if (m->weight > 0)
        stats_busy(slot, last, last, (uint32_t)(m->weighted / m->weight));
}

static void *sample(void *unused)
{
    (void)unused;
    static struct mean means[DEVICES_MAX];
    int64_t before = clock_ns(), used = before;
    for (;;) {
        nanosleep(&(struct timespec){0, before - used > 1000000000 ? REST_NS : TICK_NS}, NULL);
        struct look look = {{0}};
        handle_each(&stream_table, look_at_stream, &look);
        int32_t device = -1;
        uint32_t joined = pool_joined(&device);
        if (device >= 0)
            look.busy[device] += joined;
        int64_t now = clock_ns();
        uint32_t threads = (uint32_t)cpu_count();
        for (int d = 0; d < DEVICES_MAX; d++) {
            struct stats_slot *slot = atomic_load_explicit(&slots[d], memory_order_acquire);
            if (!slot)
                continue;
            uint32_t busy = look.busy[d] < threads ? look.busy[d] : threads;
            if (busy)
                used = now;
            publish(slot, &means[d], before, now, busy * STATS_FULL / threads);
        }
        before = now;
    }
    return NULL;
}

static void publish_memory(struct stats_slot *slot, uint64_t bytes)
{
    atomic_store_explicit(&slot->memory, bytes, memory_order_relaxed);
    if (bytes > atomic_load_explicit(&slot->peak, memory_order_relaxed))
        atomic_store_explicit(&slot->peak, bytes, memory_order_relaxed);
}

static void join(struct device *device)
{
    struct stats_slot *slot = stats_join(device->physical, (uint64_t)option_number(OPTION_MEMORY));
    publish_memory(slot, atomic_load(&memory[device->id]));
    atomic_store_explicit(&slots[device->id], slot, memory_order_release);
    if (!atomic_exchange(&sampling, true) && thread_start(sample, NULL, "npu-usage"))
        atomic_store(&sampling, false);
}

void usage_join(struct device *device)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (atomic_load_explicit(&slots[device->id], memory_order_acquire))
        return;
    pthread_mutex_lock(&lock);
    if (!atomic_load(&slots[device->id]))
        join(device);
    pthread_mutex_unlock(&lock);
}

void usage_leave(struct device *device)
{
    struct stats_slot *slot = atomic_exchange(&slots[device->id], NULL);
    if (slot)
        stats_leave(device->physical, slot);
}

void usage_memory(int32_t device, uint64_t bytes)
{
    atomic_store_explicit(&memory[device], bytes, memory_order_relaxed);
    struct stats_slot *slot = atomic_load_explicit(&slots[device], memory_order_acquire);
    if (!slot)
        return;
    publish_memory(slot, bytes);
}

int usage_percent(struct device *device)
{
    struct stats_process list[STATS_SLOTS];
    size_t n = stats_read(device->physical, list, STATS_SLOTS);
    uint32_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += list[i].busy;
    return (int)((sum < STATS_FULL ? sum : STATS_FULL) + 50) / 100;
}

void usage_after_fork(void)
{
    for (int d = 0; d < DEVICES_MAX; d++)
        atomic_store(&slots[d], NULL);
    atomic_store(&sampling, false);
}
