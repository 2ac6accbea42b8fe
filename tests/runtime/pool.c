/* SPDX-License-Identifier: BSD-3-Clause */
/* parallel(): every element once, the same pieces whatever the threads, nesting, several masters, workers that slept.
 */
#include "child.h"

#include <pthread.h>

#include "task.h"

enum { N = 100003 };

static unsigned char seen[N];
static _Atomic int pieces, deep;

static void mark(void *arg, int64_t begin, int64_t end)
{
    unsigned char *s = arg;
    atomic_fetch_add(&pieces, 1);
    for (int64_t i = begin; i < end; i++)
        s[i]++;
}

static void each_once(void)
{
    static const int64_t counts[] = {0, 1, 2, 63, 1000, N}, grains[] = {0, 1, 7, 100, 5000, INT64_MAX};
    int wrong = 0;
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (size_t g = 0; g < sizeof grains / sizeof *grains; g++)
            for (int turn = 0; turn < 20; turn++) {
                memset(seen, 0, sizeof seen);
                parallel(counts[c], grains[g], mark, seen);
                for (int64_t i = 0; i < N; i++)
                    wrong += seen[i] != (i < counts[c]);
                if (turn % 5 == 4)
                    sleep_us(1000); /* workers fall asleep */
            }
    CHECK_EQ(wrong, 0);
}

/* Borders by the sum of begin * end: the same in a nested call, which runs alone. */
static _Atomic int64_t borders;

static void note_borders(void *arg, int64_t begin, int64_t end)
{
    (void)arg;
    atomic_fetch_add(&borders, begin * end);
}

static void nest(void *arg, int64_t begin, int64_t end)
{
    (void)arg;
    for (int64_t i = begin; i < end; i++) {
        parallel(1000, 10, note_borders, NULL);
        atomic_fetch_add(&deep, 1);
    }
}

static void nested(void)
{
    parallel(1000, 10, note_borders, NULL);
    int64_t once = borders;
    borders = 0;
    parallel(50, 1, nest, NULL);
    CHECK_EQ(deep, 50);
    CHECK_EQ(borders, 50 * once);
    CHECK(parallel_threads() >= 1);
}

static void *master(void *arg)
{
    unsigned char *mine = calloc(N, 1);
    int wrong = 0;
    (void)arg;
    for (int turn = 0; turn < 200; turn++)
        parallel(N, 1000, mark, mine);
    for (int i = 0; i < N; i++)
        wrong += mine[i] != 200;
    CHECK_EQ(wrong, 0);
    free(mine);
    return NULL;
}

static void masters(void)
{
    pthread_t thread[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&thread[i], NULL, master, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
}

/* A limit of cores is a share of the pool: one core of many leaves the task's own thread. */
static pthread_t owner;
static _Atomic int strangers;

static void whose(void *arg, int64_t begin, int64_t end)
{
    (void)arg, (void)begin, (void)end;
    if (!pthread_equal(pthread_self(), owner))
        atomic_fetch_add(&strangers, 1);
    sleep_us(100);
}

static int spread(void *unused)
{
    (void)unused;
    owner = pthread_self();
    parallel(200, 1, whose, NULL);
    return 0;
}

static void limited(void)
{
    aclrtStream s;
    CHECK_EQ(aclrtSetDevice(0), 0);
    CHECK_EQ(aclrtCreateStream(&s), 0);
    for (int turn = 0; turn < 3; turn++) { /* the stream's, the device's, none */
        if (turn == 0)
            CHECK_EQ(aclrtSetStreamResLimit(s, ACL_RT_DEV_RES_VECTOR_CORE, 1), 0);
        else if (turn == 1)
            CHECK_EQ(aclrtSetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, 1), 0);
        strangers = 0;
        CHECK_EQ(push(s, spread, 0, LARGE), 0);
        CHECK_EQ(aclrtSynchronizeStream(s), 0);
        CHECK(turn == 2 ? strangers > 0 : strangers == 0);
        CHECK_EQ(aclrtResetStreamResLimit(s), 0);
        if (turn == 1)
            CHECK_EQ(aclrtResetDeviceResLimit(0), 0);
    }
    CHECK_EQ(aclrtDestroyStream(s), 0);
}

static void all(void)
{
    each_once();
    nested();
    masters();
}

static void alone(void)
{
    CHECK_EQ(parallel_threads(), 1);
    all();
}

static void many(void)
{
    CHECK_EQ(parallel_threads(), 5);
    all();
    limited();
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {{"alone", alone}, {"many", many}, {NULL, NULL}};
    child_main(argc, argv, parts);
    all();
    CHECK_CHILD("alone", "OMP_NUM_THREADS=1");
    CHECK_CHILD("many", "OMP_NUM_THREADS=5\nANYNPU_SPIN_US=0");
    return check_done();
}
