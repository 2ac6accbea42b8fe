/* SPDX-License-Identifier: BSD-3-Clause */
/* Every collective in every type, with counts from nothing to beyond what the board holds, out of place and in place,
 * on 1, 2, 3 and 8 ranks: each rank knows what must come out. */
#include "ranks.h"

enum { MOST = 40000 };

static const uint64_t counts[] = {0, 1, 7, 1000, MOST};
enum { COUNTS = sizeof counts / sizeof *counts };

static struct world w;
static char *sent, *received, *expected, *send_buffer, *recv_buffer;

static void fill(int t, uint32_t seed, uint32_t rank, uint64_t from, uint64_t n, char *to, bool product)
{
    for (uint64_t i = 0; i < n; i++)
        value_store(t, to, i, value_at(seed, rank, from + i, product));
}

static void compare(const char *what, int t, uint64_t n, bool in_place)
{
    size_t bytes = n * type_size(t);
    OK(aclrtSynchronizeStream(w.stream));
    get(received, in_place ? send_buffer : recv_buffer, bytes);
    int same = memcmp(received, expected, bytes) == 0;
    CHECK(same);
    if (!same)
        fprintf(stderr, "  %s, %s, %llu elements%s\n", what, types[t].name, (unsigned long long)n,
                in_place ? ", in place" : "");
}

static void reductions(int t, uint64_t n, bool in_place)
{
    size_t size = type_size(t);
    for (HcclReduceOp op = HCCL_REDUCE_SUM; op <= HCCL_REDUCE_MIN; op++) {
        uint32_t seed = (uint32_t)(n + (uint64_t)op), root = (seed + (uint32_t)t) % w.size;
        bool product = op == HCCL_REDUCE_PROD;
        void *to = in_place ? send_buffer : recv_buffer;
        fill(t, seed, w.rank, 0, n, sent, product);
        for (uint64_t i = 0; i < n; i++)
            value_store(t, expected, i, value_reduced(t, seed, w.size, i, op));
        put(send_buffer, sent, n * size);
        OK(HcclAllReduce(send_buffer, to, n, types[t].type, op, w.comm, w.stream));
        compare("HcclAllReduce", t, n, in_place);
        put(send_buffer, sent, n * size);
        OK(HcclReduce(send_buffer, to, n, types[t].type, op, root, w.comm, w.stream));
        if (w.rank == root)
            compare("HcclReduce", t, n, in_place);
        /* each rank's part of a longer array */
        uint64_t part = n / w.size, from = w.rank * part;
        for (uint64_t i = 0; i < part; i++)
            value_store(t, expected, i, value_reduced(t, seed, w.size, from + i, op));
        OK(aclrtSynchronizeStream(w.stream));
        put(send_buffer, sent, n * size);
        OK(HcclReduceScatter(send_buffer, recv_buffer, part, types[t].type, op, w.comm, w.stream));
        compare("HcclReduceScatter", t, part, false);
        put(send_buffer, sent, n * size);
        OK(HcclReduceScatter(send_buffer, send_buffer, part, types[t].type, op, w.comm, w.stream));
        compare("HcclReduceScatter at the beginning", t, part, true);
    }
}

static void movements(int t, uint64_t n, bool in_place)
{
    size_t size = type_size(t);
    uint32_t root = (uint32_t)(n + (uint64_t)t) % w.size;
    fill(t, 5, w.rank, 0, n, sent, false);
    put(send_buffer, sent, n * size);
    fill(t, 5, root, 0, n, expected, false);
    OK(HcclBroadcast(send_buffer, n, types[t].type, root, w.comm, w.stream));
    compare("HcclBroadcast", t, n, true);

    uint64_t part = n / w.size;
    for (uint32_t r = 0; r < w.size; r++)
        fill(t, 6, r, 0, part, expected + r * part * size, false);
    fill(t, 6, w.rank, 0, part, sent, false);
    char *from = in_place && recv_buffer ? recv_buffer + w.rank * part * size : send_buffer;
    put(from, sent, part * size);
    OK(HcclAllGather(from, recv_buffer, part, types[t].type, w.comm, w.stream));
    compare("HcclAllGather", t, part * w.size, false);

    fill(t, 7, root, 0, n, sent, false);
    memcpy(expected, sent + w.rank * part * size, part * size);
    if (w.rank == root)
        put(send_buffer, sent, n * size);
    OK(HcclScatter(send_buffer, recv_buffer, part, types[t].type, root, w.comm, w.stream));
    compare("HcclScatter", t, part, false);

    fill(t, 8, w.rank, 0, n, sent, false);
    for (uint32_t r = 0; r < w.size; r++)
        fill(t, 8, r, w.rank * part, part, expected + r * part * size, false);
    put(send_buffer, sent, n * size);
    OK(HcclAlltoAll(send_buffer, part, types[t].type, in_place ? send_buffer : recv_buffer, part, types[t].type, w.comm,
                    w.stream));
    compare("HcclAlltoAll", t, part * w.size, in_place);
}

/* Rank i's piece for rank k, in elements. */
static uint64_t piece(uint32_t i, uint32_t k, uint64_t n)
{
    return (i * 3 + k * 5) % 4 * (n / 8 / w.size);
}

static void uneven(int t, uint64_t n)
{
    size_t size = type_size(t);
    uint64_t counts_to[RANKS_MAX], at_to[RANKS_MAX], counts_from[RANKS_MAX], at_from[RANKS_MAX],
        matrix[RANKS_MAX * RANKS_MAX], end = 0, sent_end = 0;
    fill(t, 9, w.rank, 0, n, sent, false);
    put(send_buffer, sent, n * size);
    for (uint32_t r = 0; r < w.size; r++) {
        counts_from[r] = piece(r, 0, n);
        at_from[r] = end;
        fill(t, 9, r, 0, counts_from[r], expected + end * size, false);
        end += counts_from[r];
    }
    OK(HcclAllGatherV(send_buffer, counts_from[w.rank], recv_buffer, counts_from, at_from, types[t].type, w.comm,
                      w.stream));
    compare("HcclAllGatherV", t, end, false);
    for (uint64_t i = 0; i < counts_from[w.rank]; i++)
        value_store(t, expected, i, value_reduced(t, 9, w.size, at_from[w.rank] + i, HCCL_REDUCE_SUM));
    OK(HcclReduceScatterV(send_buffer, counts_from, at_from, recv_buffer, counts_from[w.rank], types[t].type,
                          HCCL_REDUCE_SUM, w.comm, w.stream));
    compare("HcclReduceScatterV", t, counts_from[w.rank], false);

    end = 0;
    for (uint32_t r = 0; r < w.size; r++) {
        counts_to[r] = piece(w.rank, r, n);
        counts_from[r] = piece(r, w.rank, n);
        at_to[r] = sent_end;
        at_from[r] = end;
        sent_end += counts_to[r];
        uint64_t theirs = 0;
        for (uint32_t k = 0; k < w.rank; k++)
            theirs += piece(r, k, n);
        fill(t, 9, r, theirs, counts_from[r], expected + end * size, false);
        end += counts_from[r];
        for (uint32_t k = 0; k < w.size; k++)
            matrix[r * w.size + k] = piece(r, k, n);
    }
    OK(HcclAlltoAllV(send_buffer, counts_to, at_to, types[t].type, recv_buffer, counts_from, at_from, types[t].type,
                     w.comm, w.stream));
    compare("HcclAlltoAllV", t, end, false);
    OK(aclrtMemset(recv_buffer, end * size + 1, 0, end * size + 1));
    OK(HcclAlltoAllVC(send_buffer, matrix, types[t].type, recv_buffer, types[t].type, w.comm, w.stream));
    compare("HcclAlltoAllVC", t, end, false);
}

static void pairs(int t, uint64_t n)
{
    if (w.size == 1)
        return;
    size_t size = type_size(t);
    uint32_t next = (w.rank + 1) % w.size, before = (w.rank + w.size - 1) % w.size;
    fill(t, 10, w.rank, 0, n, sent, false);
    fill(t, 10, before, 0, n, expected, false);
    put(send_buffer, sent, n * size);
    HcclSendRecvItem ring[] = {{HCCL_SEND, send_buffer, n, types[t].type, next},
                               {HCCL_RECV, recv_buffer, n, types[t].type, before}};
    OK(HcclBatchSendRecv(ring, 2, w.comm, w.stream));
    compare("HcclBatchSendRecv", t, n, false);
    OK(aclrtMemset(recv_buffer, n * size + 1, 0, n * size + 1));
    if (w.rank % 2 == 0 && w.rank + 1 < w.size)
        OK(HcclSend(send_buffer, n, types[t].type, next, w.comm, w.stream));
    if (w.rank % 2) {
        OK(HcclRecv(recv_buffer, n, types[t].type, before, w.comm, w.stream));
        compare("HcclRecv", t, n, false);
    }
    OK(aclrtSynchronizeStream(w.stream));
}

static void all(void)
{
    w = world_join();
    uint32_t size = 0, rank = 99;
    OK(HcclGetRankSize(w.comm, &size));
    OK(HcclGetRankId(w.comm, &rank));
    CHECK_EQ(size, w.size);
    CHECK_EQ(rank, w.rank);
    size_t bytes = (MOST + 64) * sizeof(double);
    sent = malloc(bytes);
    received = malloc(bytes);
    expected = malloc(bytes);
    send_buffer = device_new(bytes);
    recv_buffer = device_new(bytes);
    for (int t = 0; t < TYPES; t++)
        for (int k = 0; k < COUNTS; k++) {
            reductions(t, counts[k], k % 2);
            if (k == COUNTS - 1)
                reductions(t, counts[k], true);
            movements(t, counts[k], k % 2);
            if (k == COUNTS - 1)
                movements(t, counts[k], true);
            uneven(t, counts[k]);
            pairs(t, counts[k]);
        }
    OK(HcclBarrier(w.comm, w.stream));
    OK(aclrtSynchronizeStream(w.stream));
    HcclResult error = HCCL_E_INTERNAL;
    OK(HcclGetCommAsyncError(w.comm, &error));
    CHECK_EQ(error, HCCL_SUCCESS);
    world_end(&w);
}

/* Buffers in mapped memory, which other processes cannot reach: stand-ins do it. */
static void mapped(void)
{
    w = world_join();
    size_t size = 4 << 20;
    int32_t device = 0;
    OK(aclrtGetDevice(&device));
    aclrtPhysicalMemProp prop = {ACL_MEM_HANDLE_TYPE_NONE,
                                 ACL_MEM_ALLOCATION_TYPE_PINNED,
                                 ACL_HBM_MEM_HUGE,
                                 {(uint32_t)device, ACL_MEM_LOCATION_TYPE_DEVICE},
                                 0};
    char *at[2];
    for (int i = 0; i < 2; i++) {
        aclrtDrvMemHandle memory;
        OK(aclrtReserveMemAddress((void **)&at[i], size, 0, NULL, 0));
        OK(aclrtMallocPhysical(&memory, size, &prop, 0));
        OK(aclrtMapMem(at[i], size, 0, memory, 0));
    }
    send_buffer = at[0];
    recv_buffer = at[1];
    sent = malloc(size);
    received = malloc(size);
    expected = malloc(size);
    for (int in_place = 0; in_place < 2; in_place++) {
        reductions(4, MOST, in_place);
        movements(4, MOST, in_place);
    }
    uneven(4, MOST);
    pairs(4, MOST);
    world_end(&w);
}

int main(int argc, char **argv)
{
    child_main(argc, argv, (struct part[]){{"all", all}, {"mapped", mapped}, {NULL, NULL}});
    CHECK_EQ(ranks_run("mapped", 3, ""), 0);
    static const uint32_t sizes[] = {1, 2, 3, 8};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        CHECK_EQ(ranks_run("all", sizes[i], ""), 0);
    return check_done();
}
