/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank is killed at a random point, from its start to the middle of collectives: all others must end by themselves,
 * soon and with an error, and nothing of shared memory must be left. Rank 0 is the root, and may be the victim.
 * TEST_KILLS says how often (15). */
#include "ranks.h"

#include <dirent.h>

enum { RANKS = 3, N = 50000, TOLD = 7, LATEST_S = 15 };

static uint64_t state;

static uint32_t next(uint32_t n)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((state >> 33) % n);
}

/* The root information through a file, as a launcher's store does it. */
static void exchange(struct world *w)
{
    const char *path = getenv("TEST_FILE");
    char part[160];
    snprintf(part, sizeof part, "%s.part", path);
    if (w->rank == 0) {
        if (HcclGetRootInfo(&w->root))
            exit(TOLD);
        FILE *f = fopen(part, "w");
        fwrite(&w->root, sizeof w->root, 1, f);
        fclose(f);
        rename(part, path);
        return;
    }
    FILE *f = NULL;
    for (int i = 0; i < 100 && !(f = fopen(path, "r")); i++)
        usleep(10000);
    if (!f || fread(&w->root, sizeof w->root, 1, f) != 1)
        exit(TOLD);
    fclose(f);
}

/* Works until something fails, which is the rule here: TOLD, with the text. */
static void victim(void)
{
    alarm(30);
    struct world w = world_begin();
    exchange(&w);
    if (HcclCommInitRootInfo(w.size, &w.root, w.rank, &w.comm)) {
        fprintf(stderr, "%s\n", aclGetRecentErrMsg());
        exit(TOLD);
    }
    char *a = device_new(N * sizeof(float)), *b = device_new(N * sizeof(float));
    state = (uint64_t)atoi(getenv("TEST_SEED"));
    HcclResult result = HCCL_SUCCESS;
    for (int i = 0; !result; i++) {
        uint64_t n = next(2) ? 100 : N / w.size;
        switch (next(5)) {
        case 0:
            result = HcclAllReduce(a, b, n, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_MAX, w.comm, w.stream);
            break;
        case 1:
            result = HcclAllGather(a, b, n / w.size, HCCL_DATA_TYPE_FP32, w.comm, w.stream);
            break;
        case 2:
            result = HcclBroadcast(b, n, HCCL_DATA_TYPE_FP32, next(w.size), w.comm, w.stream);
            break;
        case 3: {
            HcclSendRecvItem ring[] = {{HCCL_SEND, a, n, HCCL_DATA_TYPE_FP32, (w.rank + 1) % w.size},
                                       {HCCL_RECV, b, n, HCCL_DATA_TYPE_FP32, (w.rank + w.size - 1) % w.size}};
            result = HcclBatchSendRecv(ring, 2, w.comm, w.stream);
            break;
        }
        default: {
            uint32_t ids[] = {0, 1, 2};
            HcclComm part = NULL;
            result = HcclCreateSubCommConfig(&w.comm, 3, ids, (uint64_t)i, w.rank, NULL, &part);
            if (!result) {
                result = HcclBarrier(part, w.stream);
                HcclCommDestroy(part);
            }
        }
        }
        if (!result && next(2) && aclrtSynchronizeStream(w.stream))
            result = HCCL_E_RUNTIME;
    }
    fprintf(stderr, "%s\n", aclGetRecentErrMsg());
    exit(TOLD);
}

/* Ranks that are still there: shared memory is memfd, which ends with the last process that has it. */
static int alive(const pid_t *pids)
{
    int n = 0;
    for (int r = 0; r < RANKS; r++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/fd", (int)pids[r]);
        DIR *d = opendir(path);
        n += d != NULL;
        if (d)
            closedir(d);
    }
    return n;
}

static void trial(uint32_t seed)
{
    pid_t pids[RANKS];
    int outs[RANKS];
    char env[512], file[96];
    const char *hosts = getenv("TEST_HOSTS");
    state = seed;
    snprintf(file, sizeof file, "/tmp/anynpu-kill-%d-%u", (int)getpid(), seed);
    for (uint32_t r = 0; r < RANKS; r++) {
        snprintf(env, sizeof env,
                 "TEST_RANK=%u\nTEST_SIZE=%u\nTEST_ROOT=\nTEST_SEED=%u\nTEST_FILE=%s\nHCCL_CONNECT_TIMEOUT=1\n"
                 "ANYNPU_HCCL_HOST=%u",
                 r, RANKS, seed, file, hosts ? r % (uint32_t)atoi(hosts) : 0);
        pids[r] = child_start("victim", env, &outs[r]);
    }
    uint32_t who = next(RANKS), delay = next(4) == 0 ? next(20000) : 10000 + next(150000);
    usleep(delay);
    kill(pids[who], SIGKILL);
    int64_t began = clock_ns();
    for (uint32_t r = 0; r < RANKS; r++) {
        int status = child_end(pids[r], outs[r]);
        CHECK(status == (r == who ? -SIGKILL : TOLD) || status == TOLD);
        if (status != TOLD && r != who)
            fprintf(stderr, "  seed %u: rank %u was killed after %u us, rank %u ended with %d: %s\n", seed, who, delay,
                    r, status, child_output);
    }
    CHECK(clock_ns() - began < LATEST_S * INT64_C(1000000000));
    CHECK_EQ(alive(pids), 0);
    unlink(file);
}

int main(int argc, char **argv)
{
    child_main(argc, argv, (struct part[]){{"victim", victim}, {NULL, NULL}});
    const char *wish = getenv("TEST_KILLS");
    int kills = wish ? atoi(wish) : 15;
    for (int i = 0; i < kills; i++)
        trial((uint32_t)i + 1);
    return check_done();
}
