/* SPDX-License-Identifier: BSD-3-Clause */
/* The compute pool: cpu_count() - 1 workers and whoever calls parallel().
 *
 * One job at a time. The master owns it (`busy`), writes its fields, opens it (`open` becomes an odd number never used
 * before) and takes pieces like everybody else. A worker first announces itself in `joined`, then looks whether the job
 * is still open; the master closes it, then waits until nobody is announced. Both sides use sequentially consistent
 * operations, so either the worker sees the job closed or the master sees the worker: a worker that wakes late costs
 * nothing, and no job field changes under a worker's eyes. */
#define _GNU_SOURCE
#include "pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "base/cpu.h"
#include "base/futex.h"
#include "base/options.h"
#include "door.h"
#include "local.h"
#include "stream.h"

enum { PIECES_MAX = 512, WAKE_WORK_NS = 60000, WAKE_LEFT_NS = 20000 };

static struct {
    _Alignas(64) _Atomic uint32_t busy;   /* a master holds the pool */
    _Alignas(64) _Atomic uint32_t open;   /* odd: a job is open */
    _Atomic uint32_t sleepers;            /* workers that sleep on `open` or are about to */
    _Alignas(64) _Atomic uint32_t joined; /* workers inside the job */
    _Alignas(64) _Atomic int64_t next;    /* piece to take */
    _Alignas(64) int64_t count, pieces;
    uint32_t helpers; /* workers that may take part */
    void (*body)(void *arg, int64_t begin, int64_t end);
    void *arg;
    _Atomic int32_t device; /* of the master's task, -1: none */
    _Atomic int started;    /* workers that exist */
} pool;

static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;

int64_t spin_longest(void)
{
    static _Atomic int64_t known = -1;
    int64_t ns = atomic_load_explicit(&known, memory_order_relaxed);
    if (ns < 0) {
        int64_t us = option_number(OPTION_SPIN_US);
        ns = (us >= 0 ? us : cpu_count() > 1 ? 200 : 0) * 1000;
        atomic_store_explicit(&known, ns, memory_order_relaxed);
    }
    return ns;
}

int64_t spin_limit(int64_t *state, int64_t longest)
{
    if (*state == 0 || *state > longest)
        *state = longest;
    return *state;
}

void spin_adapt(int64_t *state, int64_t longest, int64_t idle_ns)
{
    *state = idle_ns < 2 * longest ? longest : *state / 2 > SPIN_SHORT_NS ? *state / 2 : SPIN_SHORT_NS;
}

int thread_start(void *(*run)(void *), void *arg, const char *name)
{
    sigset_t all, old;
    pthread_attr_t attr;
    pthread_t thread;
    sigfillset(&all);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int status = pthread_create(&thread, &attr, run, arg);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    if (!status)
        pthread_setname_np(thread, name);
    return status;
}

/* Runs one piece; false when none is left. */
static bool take_piece(void)
{
    int64_t count = pool.count, pieces = pool.pieces,
            i = atomic_fetch_add_explicit(&pool.next, 1, memory_order_relaxed);
    if (i >= pieces)
        return false;
    pool.body(pool.arg, count / pieces * i + count % pieces * i / pieces,
              count / pieces * (i + 1) + count % pieces * (i + 1) / pieces);
    return true;
}

static void wake_workers(int64_t pieces)
{
    uint32_t sleepers = atomic_load(&pool.sleepers);
    pieces = pieces < pool.helpers ? pieces : pool.helpers;
    if (sleepers && pieces > 0)
        futex_wake(&pool.open, pieces < sleepers ? (int)pieces : (int)sleepers, false);
}

/* The master's part. Workers that sleep are woken when that pays: at once for a task that is known to be long, else
 * when the pieces done so far say so. */
static void lead(const struct local *me, int64_t pieces)
{
    bool woken = !atomic_load(&pool.sleepers) || !me->running || me->work >= WAKE_WORK_NS;
    if (woken)
        wake_workers(pieces - 1);
    int64_t begin = woken ? 0 : clock_ns();
    for (int64_t done = 1; take_piece(); done++) {
        if (woken)
            continue;
        int64_t spent = clock_ns() - begin, left = pieces - atomic_load_explicit(&pool.next, memory_order_relaxed);
        if (spent / done * left >= WAKE_LEFT_NS) {
            wake_workers(left);
            woken = true;
        }
    }
}

static void *work(void *unused)
{
    (void)unused;
    uint32_t seen = 0;
    int64_t spin = 0;
    local()->in_pool = true;
    for (;;) {
        uint32_t open = atomic_load(&pool.open);
        if (open & 1 && open != seen) {
            uint32_t others = atomic_fetch_add(&pool.joined, 1);
            if (atomic_load(&pool.open) == open && others < pool.helpers)
                while (take_piece())
                    ;
            atomic_fetch_sub(&pool.joined, 1);
            seen = open;
            continue;
        }
        int64_t begin = clock_ns(), until = begin + spin_limit(&spin, spin_longest());
        uint32_t now;
        while ((now = atomic_load_explicit(&pool.open, memory_order_relaxed)) == open && clock_ns() < until)
            for (int i = 0; i < 16 && atomic_load_explicit(&pool.open, memory_order_relaxed) == open; i++)
                cpu_relax();
        if (now != open)
            continue;
        atomic_fetch_add(&pool.sleepers, 1);
        futex_wait(&pool.open, open, -1, false);
        atomic_fetch_sub(&pool.sleepers, 1);
        spin_adapt(&spin, spin_longest(), clock_ns() - begin);
    }
    return NULL;
}

static int start_workers(void)
{
    pthread_mutex_lock(&start_lock);
    int n = atomic_load(&pool.started), wish = cpu_count() - 1;
    for (; n < wish; n++) {
        char name[16] = "npu-pool-";
        name[9] = (char)('0' + n / 100 % 10), name[10] = (char)('0' + n / 10 % 10), name[11] = (char)('0' + n % 10);
        if (thread_start(work, NULL, name))
            break;
    }
    atomic_store(&pool.started, n ? n : -1);
    pthread_mutex_unlock(&start_lock);
    return n;
}

int parallel_threads(void)
{
    return cpu_count();
}

void parallel(int64_t count, int64_t grain, void (*body)(void *arg, int64_t begin, int64_t end), void *arg)
{
    if (count <= 0)
        return;
    int64_t pieces = grain > 0 ? count / grain : count;
    if (pieces <= 1) {
        body(arg, 0, count);
        return;
    }
    if (pieces > PIECES_MAX)
        pieces = PIECES_MAX;
    struct local *me = local();
    if (pieces > me->blocks)
        me->blocks = (uint32_t)pieces;
    uint32_t idle = 0;
    int threads = me->running ? stream_threads(me->running, cpu_count()) : cpu_count();
    if (threads == 1 || me->in_pool ||
        !atomic_compare_exchange_strong_explicit(&pool.busy, &idle, 1, memory_order_acquire, memory_order_relaxed)) {
        for (int64_t i = 0; i < pieces; i++) /* the same pieces, so the same results */
            body(arg, count / pieces * i + count % pieces * i / pieces,
                 count / pieces * (i + 1) + count % pieces * (i + 1) / pieces);
        return;
    }
    if (!atomic_load_explicit(&pool.started, memory_order_relaxed))
        start_workers();
    pool.count = count;
    pool.pieces = pieces;
    pool.helpers = (uint32_t)threads - 1;
    pool.body = body;
    pool.arg = arg;
    atomic_store_explicit(&pool.device, me->running ? me->running->device->id : -1, memory_order_relaxed);
    atomic_store_explicit(&pool.next, 0, memory_order_relaxed);
    atomic_fetch_add(&pool.open, 1);
    me->in_pool = true;
    lead(me, pieces);
    me->in_pool = false;
    atomic_fetch_add(&pool.open, 1);
    for (int turns = 0; atomic_load(&pool.joined); turns++)
        if (turns < 2000)
            cpu_relax();
        else
            sched_yield();
    atomic_store_explicit(&pool.busy, 0, memory_order_release);
}

uint32_t pool_joined(int32_t *device)
{
    *device = atomic_load_explicit(&pool.device, memory_order_relaxed);
    return atomic_load_explicit(&pool.joined, memory_order_relaxed);
}

void pool_after_fork(void)
{
    memset((void *)&pool, 0, sizeof pool);
    pthread_mutex_init(&start_lock, NULL);
    local()->in_pool = false;
}
