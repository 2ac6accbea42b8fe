/* SPDX-License-Identifier: BSD-3-Clause */
/* Random programs of collectives, each made from its seed: groups of some ranks, calls on two streams without waiting,
 * results used by later calls. Every rank also computes what all ranks' buffers must hold by a slow model of its own,
 * in numbers that wrap, and compares its buffers at the end. TEST_PROGRAMS says how many (150). */
#include "ranks.h"

enum { BUFFERS = 4, ELEMENTS = 6000, CALLS = 14, GROUPS = 3 };

static const int whole[] = {0, 1, 2, 5, 6, 7, 8, 9}; /* indices of types[]: those that wrap */

struct group {
    uint32_t ranks[RANKS_MAX], n;
    HcclComm comm;
};

static struct world w;
static char *buffers[BUFFERS], *model[RANKS_MAX][BUFFERS];
static aclrtStream streams[2];
static aclrtEvent event;
static uint64_t state;
static int t; /* type of the program */

static uint32_t next(uint32_t n)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((state >> 33) % n);
}

static int64_t load(const char *from, uint64_t i)
{
    int64_t v = 0;
    size_t size = type_size(t);
    memcpy(&v, from + i * size, size);
    bool is_signed = types[t].acl == ACL_INT8 || types[t].acl == ACL_INT16 || types[t].acl == ACL_INT32;
    int unused = 64 - 8 * (int)size;
    return is_signed ? (int64_t)((uint64_t)v << unused) >> unused : v;
}

static int64_t fold(HcclReduceOp op, int64_t a, int64_t b)
{
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    bool greater = types[t].acl == ACL_UINT64 ? x > y : a > b;
    return op == HCCL_REDUCE_SUM                ? (int64_t)(x + y)
           : op == HCCL_REDUCE_PROD             ? (int64_t)(x * y)
           : (op == HCCL_REDUCE_MAX) == greater ? a
                                                : b;
}

/* Element i of the reduction over the group's buffers `from`. */
static int64_t reduced(const struct group *g, int from, uint64_t i, HcclReduceOp op)
{
    int64_t v = load(model[g->ranks[0]][from], i);
    for (uint32_t k = 1; k < g->n; k++)
        v = fold(op, v, load(model[g->ranks[k]][from], i));
    return v;
}

/* One call on the group, in the model and, when this rank is in it (me < n), for real. */
static void call(const struct group *g, uint32_t me, aclrtStream s)
{
    static char scratch[RANKS_MAX][ELEMENTS * 8];
    size_t size = type_size(t);
    HcclDataType type = types[t].type;
    int from = (int)next(BUFFERS), to = (int)next(BUFFERS);
    uint32_t kind = next(9), root = next(g->n);
    HcclReduceOp op = (HcclReduceOp)next(4);
    uint64_t n = (uint64_t[]){1 + next(8), 1 + next(600), 1 + next(ELEMENTS)}[next(3)], each = n / g->n;
    bool mine = me < g->n;
    char *a = buffers[from], *b = buffers[to];
    HcclResult result = HCCL_SUCCESS;
    if (from == to && (kind == 4 || kind == 7 || kind == 8))
        kind = 0;
    uint64_t out = n; /* elements of `to` that change, for the ranks in `who` (all, or one) */
    int64_t who = -1;
    for (uint32_t k = 0; k < g->n; k++)
        memcpy(scratch[k], model[g->ranks[k]][to], ELEMENTS * size);
    switch (kind) {
    case 0:
    case 1:
        for (uint64_t i = 0; i < n; i++)
            for (uint32_t k = 0; k < g->n; k++)
                value_store(t, scratch[k], i, reduced(g, from, i, op));
        if (mine)
            result = HcclAllReduce(a, b, n, type, op, g->comm, s);
        break;
    case 2:
        who = root;
        for (uint64_t i = 0; i < n; i++)
            value_store(t, scratch[root], i, reduced(g, from, i, op));
        if (mine)
            result = HcclReduce(a, b, n, type, op, root, g->comm, s);
        break;
    case 3:
        for (uint32_t k = 0; k < g->n; k++)
            memcpy(scratch[k], model[g->ranks[root]][to], n * size);
        if (mine)
            result = HcclBroadcast(b, n, type, root, g->comm, s);
        break;
    case 4:
        out = each * g->n;
        for (uint32_t k = 0; k < g->n; k++)
            for (uint32_t r = 0; r < g->n; r++)
                memcpy(scratch[k] + r * each * size, model[g->ranks[r]][from], each * size);
        if (mine)
            result = HcclAllGather(a, b, each, type, g->comm, s);
        break;
    case 5:
        out = each;
        for (uint32_t k = 0; k < g->n; k++)
            for (uint64_t i = 0; i < each; i++)
                value_store(t, scratch[k], i, reduced(g, from, k * each + i, op));
        if (mine)
            result = HcclReduceScatter(a, b, each, type, op, g->comm, s);
        break;
    case 6:
        out = each;
        for (uint32_t k = 0; k < g->n; k++)
            memcpy(scratch[k], model[g->ranks[root]][from] + k * each * size, each * size);
        if (mine)
            result = HcclScatter(a, b, each, type, root, g->comm, s);
        break;
    case 7:
        out = each * g->n;
        for (uint32_t k = 0; k < g->n; k++)
            for (uint32_t r = 0; r < g->n; r++)
                memcpy(scratch[k] + r * each * size, model[g->ranks[r]][from] + k * each * size, each * size);
        if (mine)
            result = HcclAlltoAll(a, each, type, b, each, type, g->comm, s);
        break;
    default: /* a ring */
        for (uint32_t k = 0; k < g->n; k++)
            memcpy(scratch[k], model[g->ranks[(k + g->n - 1) % g->n]][from], n * size);
        if (mine) {
            HcclSendRecvItem ring[] = {{HCCL_SEND, a, n, type, (me + 1) % g->n},
                                       {HCCL_RECV, b, n, type, (me + g->n - 1) % g->n}};
            result = HcclBatchSendRecv(ring, 2, g->comm, s);
        }
    }
    OK(result);
    for (uint32_t k = 0; k < g->n; k++)
        if (who < 0 || who == k)
            memcpy(model[g->ranks[k]][to], scratch[k], out * size);
}

static void program(uint32_t seed)
{
    state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    t = whole[next(sizeof whole / sizeof *whole)];
    struct group groups[GROUPS + 1];
    uint32_t me[GROUPS + 1], count = 1 + next(GROUPS + 1);
    groups[0].n = w.size;
    groups[0].comm = w.comm;
    me[0] = w.rank;
    for (uint32_t r = 0; r < w.size; r++)
        groups[0].ranks[r] = r;
    for (uint32_t k = 1; k < count; k++) {
        groups[k].n = 0;
        me[k] = RANKS_MAX;
        uint32_t turn = next(w.size);
        for (uint32_t i = 0; i < w.size; i++) {
            uint32_t r = (i + turn) % w.size;
            if (next(2) || (i + 1 == w.size && groups[k].n == 0)) {
                if (r == w.rank)
                    me[k] = groups[k].n;
                groups[k].ranks[groups[k].n++] = r;
            }
        }
        groups[k].comm = NULL;
        if (me[k] < RANKS_MAX)
            OK(HcclCreateSubCommConfig(&w.comm, groups[k].n, groups[k].ranks, (uint64_t)seed * 8 + k, me[k], NULL,
                                       &groups[k].comm));
    }
    size_t bytes = ELEMENTS * type_size(t);
    for (int b = 0; b < BUFFERS; b++) {
        for (uint32_t r = 0; r < w.size; r++)
            for (uint64_t i = 0; i < ELEMENTS; i++)
                value_store(t, model[r][b], i, value_at(seed + (uint32_t)b, r, i, false));
        put(buffers[b], model[w.rank][b], bytes);
    }
    uint32_t last = 0;
    for (int i = 0; i < CALLS; i++) {
        uint32_t k = next(count), s = next(2);
        if (s != last) { /* what was called before comes before, on the other stream too */
            OK(aclrtRecordEvent(event, streams[last]));
            OK(aclrtStreamWaitEvent(streams[s], event));
            last = s;
        }
        call(&groups[k], me[k], streams[s]);
    }
    OK(aclrtSynchronizeStream(streams[0]));
    OK(aclrtSynchronizeStream(streams[1]));
    static char got[ELEMENTS * 8];
    for (int b = 0; b < BUFFERS; b++) {
        get(got, buffers[b], bytes);
        int same = memcmp(got, model[w.rank][b], bytes) == 0;
        CHECK(same);
        if (!same)
            fprintf(stderr, "  program %u, rank %u of %u, buffer %d, %s\n", seed, w.rank, w.size, b, types[t].name);
    }
    for (uint32_t k = 1; k < count; k++)
        if (groups[k].comm)
            OK(HcclCommDestroy(groups[k].comm));
}

static void run(void)
{
    w = world_join();
    streams[0] = w.stream;
    OK(aclrtCreateStream(&streams[1]));
    OK(aclrtCreateEvent(&event));
    for (int b = 0; b < BUFFERS; b++) {
        buffers[b] = device_new(ELEMENTS * 8);
        for (uint32_t r = 0; r < w.size; r++)
            model[r][b] = malloc(ELEMENTS * 8);
    }
    uint32_t first = (uint32_t)atoi(getenv("TEST_FIRST")), n = (uint32_t)atoi(getenv("TEST_COUNT"));
    for (uint32_t i = 0; i < n && !check_failures; i++)
        program(first + i);
    world_end(&w);
}

int main(int argc, char **argv)
{
    child_main(argc, argv, (struct part[]){{"run", run}, {NULL, NULL}});
    const char *wish = getenv("TEST_PROGRAMS");
    int programs = wish ? atoi(wish) : 150;
    static const uint32_t sizes[] = {2, 3, 4, 6};
    for (uint32_t i = 0; i < 4; i++) {
        char env[128];
        snprintf(env, sizeof env, "TEST_FIRST=%d\nTEST_COUNT=%d", (int)i * 10000, programs / 4);
        CHECK_EQ(ranks_run("run", sizes[i], env), 0);
    }
    return check_done();
}
