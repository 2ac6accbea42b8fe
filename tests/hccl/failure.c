/* SPDX-License-Identifier: BSD-3-Clause */
/* What goes wrong: ranks that call different things, never call, die, leave, never join; wrong arguments. Every rank
 * must hear of it, quickly and with the reason, and other communicators must go on. */
#include "ranks.h"

enum { N = 20000 };

static struct world w;
static char *a, *b;

static HcclComm part_of(HcclComm parent, uint32_t *ids, uint32_t n, uint32_t me, uint64_t id)
{
    HcclCommConfig config;
    HcclComm out = NULL;
    HcclCommConfigInit(&config);
    OK(HcclCreateSubCommConfig(&parent, n, ids, id, me, &config, &out));
    return out;
}

static void begin(void)
{
    w = world_join();
    a = device_new(16 * N * sizeof(float));
    b = device_new(16 * N * sizeof(float));
}

/* The communicator still works. */
static void check_alive(HcclComm comm, uint32_t ranks)
{
    float one[4] = {1, 2, 3, 4}, sum[4];
    put(a, one, sizeof one);
    OK(HcclAllReduce(a, b, 4, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, w.stream));
    OK(aclrtSynchronizeStream(w.stream));
    get(sum, b, sizeof sum);
    CHECK(sum[3] == 4 * (float)ranks);
}

static void check_text(const char *part)
{
    const char *text = aclGetRecentErrMsg();
    CHECK_TEXT(text, part);
    if (!text || !strstr(text, part))
        fprintf(stderr, "  rank %u\n", w.rank);
}

/* The call, or the next synchronise, fails with code; all later calls fail; the asynchronous error is `result`. */
static void check_failed(int called, int code, HcclResult result, const char *what, const char *where)
{
    int status = aclrtSynchronizeStream(w.stream);
    /* with several computers a rank may have finished before: it hears of it in its next calls */
    for (int i = 0; getenv("ANYNPU_HCCL_HOST") && !called && !status && i < 100; i++, usleep(10000)) {
        called = HcclBarrier(w.comm, w.stream);
        status = called ? 0 : aclrtSynchronizeStream(w.stream);
    }
    CHECK(called || status == code);
    if (!called && status != code)
        fprintf(stderr, "  rank %u: status %d\n", w.rank, status);
    const char *text = aclGetRecentErrMsg();
    CHECK_TEXT(text, what);
    CHECK_TEXT(text, where);
    HcclResult error = HCCL_SUCCESS;
    OK(HcclGetCommAsyncError(w.comm, &error));
    CHECK_EQ(error, result);
    CHECK_EQ(HcclBarrier(w.comm, w.stream), result);
    CHECK_TEXT(aclGetRecentErrMsg(), what);
}

/* Rank 1 differs from the others in what TEST_DIFFER says. */
static void differ(void)
{
    begin();
    uint32_t ids[] = {0, 1, 2};
    HcclComm other = part_of(w.comm, ids, 3, w.rank, 7);
    check_alive(w.comm, 3);
    const char *how = getenv("TEST_DIFFER");
    bool odd = w.rank == 1;
    uint64_t large = atoi(getenv("TEST_COUNT") ? getenv("TEST_COUNT") : "100");
    int64_t began = clock_ns();
    int called;
    const char *what = "parameter count, local end";
    if (strcmp(how, "count") == 0) {
        called = HcclAllReduce(a, b, odd ? large + 1 : large, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, w.comm, w.stream);
    } else if (strcmp(how, "type") == 0) {
        called = HcclAllReduce(a, b, large, odd ? HCCL_DATA_TYPE_INT32 : HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, w.comm,
                               w.stream);
        what = "parameter dataType";
    } else if (strcmp(how, "reduce") == 0) {
        called =
            HcclAllReduce(a, b, large, HCCL_DATA_TYPE_FP32, odd ? HCCL_REDUCE_MAX : HCCL_REDUCE_SUM, w.comm, w.stream);
        what = "parameter reduceOp";
    } else if (strcmp(how, "root") == 0) {
        called = HcclBroadcast(a, large, HCCL_DATA_TYPE_FP32, odd ? 1 : 0, w.comm, w.stream);
        what = "parameter root, local end";
    } else if (strcmp(how, "op") == 0) {
        called = odd ? HcclBroadcast(a, large, HCCL_DATA_TYPE_FP32, 0, w.comm, w.stream)
                     : HcclAllReduce(a, b, large, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, w.comm, w.stream);
        what = "parameter op, local end Hccl";
    } else { /* one all-to-all piece */
        uint64_t to[3] = {5, 5, 5}, from[3] = {5, 5, 5}, at[3] = {0, 10, 20};
        if (odd)
            to[2] = 6;
        called = HcclAlltoAllV(a, to, at, HCCL_DATA_TYPE_FP32, b, from, at, HCCL_DATA_TYPE_FP32, w.comm, w.stream);
        if (w.rank != 2 && !called) { /* only rank 2 can see it: the others hear of it with their next call */
            while (!called && clock_ns() - began < 5000000000 && aclrtSynchronizeStream(w.stream) == 0)
                called = HcclBarrier(w.comm, w.stream);
            CHECK_TEXT(aclGetRecentErrMsg(), "rank 1 sends 24 bytes to rank 2, which expects 20");
            check_alive(other, 3);
            return;
        }
        what = "rank 1 sends 24 bytes to rank 2, which expects 20";
    }
    check_failed(called, ACL_ERROR_RT_FFTS_PLUS_EXCEPTION, HCCL_E_PARA, "(EI0005)", what);
    CHECK(clock_ns() - began < 2000000000);
    check_alive(other, 3);
    OK(HcclCommDestroy(other));
    world_end(&w);
}

/* Rank 1 sends another number of elements than rank 0 receives. */
static void differ_pair(void)
{
    begin();
    int called = 0;
    if (w.rank == 1)
        called = HcclSend(a, 11, HCCL_DATA_TYPE_FP32, 0, w.comm, w.stream);
    if (w.rank == 0)
        called = HcclRecv(b, 10, HCCL_DATA_TYPE_FP32, 1, w.comm, w.stream);
    if (w.rank == 0)
        check_failed(called, ACL_ERROR_RT_FFTS_PLUS_EXCEPTION, HCCL_E_PARA, "(EI0005)",
                     "sent as 11 x float32 and received as 10 x float32");
    world_end(&w);
}

/* Rank 1 never calls. */
static void timeout(void)
{
    begin();
    check_alive(w.comm, 3);
    if (w.rank == 1) {
        HcclResult error = HCCL_SUCCESS;
        for (int i = 0; i < 300 && !error; i++, usleep(20000))
            OK(HcclGetCommAsyncError(w.comm, &error));
        CHECK_EQ(error, HCCL_E_TIMEOUT);
        return;
    }
    int64_t began = clock_ns();
    int called = HcclAllGather(a, b, N, HCCL_DATA_TYPE_FP32, w.comm, w.stream);
    check_failed(
        called, ACL_ERROR_RT_FFTS_PLUS_TIMEOUT, HCCL_E_TIMEOUT, "(EI0002): The wait execution of the Notify register",
        getenv("ANYNPU_HCCL_HOST") ? "rank 1 (" : "rank 1 has finished HcclAllReduce(sum, 4 x float32), sequence 0");
    CHECK(clock_ns() - began > 900000000 && clock_ns() - began < 4000000000);
    world_end(&w);
}

/* Rank 1 is killed, or leaves (TEST_HOW). */
static void lost(void)
{
    begin();
    uint32_t ids[] = {0, 2};
    HcclComm other = w.rank == 1 ? NULL : part_of(w.comm, ids, 2, w.rank / 2, 1);
    const char *how = getenv("TEST_HOW");
    check_alive(w.comm, 3);
    if (w.rank == 1) {
        usleep(50000);
        if (strcmp(how, "leave") == 0) {
            OK(HcclCommDestroy(w.comm));
            usleep(300000);
            return;
        }
        kill(getpid(), SIGKILL);
    }
    int64_t began = clock_ns();
    int called = HcclAllReduce(a, b, N, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, w.comm, w.stream);
    check_failed(called, ACL_ERROR_RT_FFTS_PLUS_EXCEPTION, HCCL_E_REMOTE, "(EI0013): rank 1 (process ",
                 strcmp(how, "leave") == 0 ? "has destroyed its communicator" : "has ended");
    CHECK(clock_ns() - began < 1000000000);
    check_alive(other, 2);
    OK(HcclCommDestroy(other));
    HcclCommDestroy(w.comm);
}

/* Ends without destroying anything after its last collective: no error for anybody. */
static void quiet_end(void)
{
    begin();
    for (int i = 0; i < 5; i++)
        check_alive(w.comm, 3);
    if (w.rank == 0)
        usleep(100000);
    OK(HcclAllReduce(a, b, 16 * N, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, w.comm, w.stream));
    OK(aclrtSynchronizeStream(w.stream));
}

/* Its stream is aborted while it waits. */
static void aborted(void)
{
    begin();
    if (w.rank == 0) {
        int called = HcclBroadcast(a, 4, HCCL_DATA_TYPE_FP32, 0, w.comm, w.stream);
        CHECK_EQ(called, 0);
        OK(HcclBarrier(w.comm, w.stream));
        usleep(50000);
        OK(aclrtStreamAbort(w.stream));
        CHECK(aclrtSynchronizeStream(w.stream) != 0);
    } else {
        usleep(200000);
        int called = HcclBroadcast(a, 4, HCCL_DATA_TYPE_FP32, 0, w.comm, w.stream);
        check_failed(called, ACL_ERROR_RT_FFTS_PLUS_EXCEPTION, HCCL_E_REMOTE, "(EI0013)", "its stream was aborted");
    }
    world_end(&w);
}

/* Only some of the ranks come. */
static void missing(void)
{
    w = world_begin();
    if (w.rank == 1)
        return;
    CHECK_EQ(HcclCommInitRootInfo(4, &w.root, w.rank == 2 ? 3 : w.rank, &w.comm), HCCL_E_PARA);
    check_text("(EI0015): Failed to collect cluster information of the communicator based on rootInfo detection.");
}

static void missing_text(void)
{
    w = world_begin();
    if (w.rank)
        return;
    CHECK_EQ(HcclCommInitRootInfo(3, &w.root, 0, &w.comm), HCCL_E_PARA);
    check_text("List of unconnected ranks: \"[1,2,]\".");
}

static void twice(void)
{
    w = world_begin();
    CHECK_EQ(HcclCommInitRootInfo(3, &w.root, 0, &w.comm), HCCL_E_PARA);
    check_text("(EI0015)");
}

/* The meeting point is this process's, which must know of the timeout. */
static void late(void)
{
    CHECK_EQ(ranks_run("missing", 3, ""), 0);
    CHECK_EQ(ranks_run("missing_text", 1, ""), 0);
    CHECK_EQ(ranks_run("twice", 2, ""), 0);
}

static void arguments(void)
{
    begin();
    float host[4] = {0};
    HcclResult error;
    CHECK_EQ(HcclAllReduce(NULL, b, 4, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, w.comm, w.stream), HCCL_E_PTR);
    check_text("(EI0003): value NULL of parameter sendBuf of HcclAllReduce is invalid");
    CHECK_EQ(HcclAllReduce(a, host, 4, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, w.comm, w.stream), HCCL_E_PARA);
    check_text("16 bytes there are not device memory");
    CHECK_EQ(HcclAllReduce(a, b, UINT64_MAX / 2, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, w.comm, w.stream), HCCL_E_PARA);
    check_text("too large");
    CHECK_EQ(HcclAllReduce(a, b, 4, (HcclDataType)13, HCCL_REDUCE_SUM, w.comm, w.stream), HCCL_E_PARA);
    check_text("parameter dataType of HcclAllReduce is unknown");
    CHECK_EQ(HcclAllReduce(a, b, 4, HCCL_DATA_TYPE_INT128, HCCL_REDUCE_SUM, w.comm, w.stream), HCCL_E_NOT_SUPPORT);
    CHECK_EQ(HcclAllReduce(a, b, 4, HCCL_DATA_TYPE_FP32, (HcclReduceOp)4, w.comm, w.stream), HCCL_E_PARA);
    CHECK_EQ(HcclBroadcast(a, 4, HCCL_DATA_TYPE_FP32, 3, w.comm, w.stream), HCCL_E_PARA);
    check_text("value 3 of parameter root of HcclBroadcast is not in [0, 3)");
    CHECK_EQ(HcclSend(a, 4, HCCL_DATA_TYPE_FP32, 3, w.comm, w.stream), HCCL_E_PARA);
    CHECK_EQ(HcclBatchSendRecv(NULL, 1, w.comm, w.stream), HCCL_E_PTR);
    CHECK_EQ(HcclAllGatherV(a, 1, b, NULL, NULL, HCCL_DATA_TYPE_FP32, w.comm, w.stream), HCCL_E_PTR);
    CHECK_EQ(HcclAllReduce(a, b, 4, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, &host, w.stream), HCCL_E_PARA);
    check_text("is not a communicator");
    CHECK_EQ(HcclAllReduce(a, b, 4, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, NULL, w.stream), HCCL_E_PTR);
    CHECK(HcclAllReduce(a, b, 4, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, w.comm, &host) != 0);
    CHECK_EQ(HcclCommInitRootInfo(3, NULL, 0, &w.comm), HCCL_E_PTR);
    CHECK_EQ(HcclCommInitRootInfo(3, &w.root, 3, &w.comm), HCCL_E_PARA);
    HcclRootInfo none = {{0}};
    CHECK_EQ(HcclCommInitRootInfo(3, &none, 0, &w.comm), HCCL_E_PARA);
    CHECK_EQ(HcclGroupEnd(), HCCL_E_PARA);
    check_alive(w.comm, 3);
    CHECK_EQ(HcclCommDestroy(NULL), HCCL_E_PTR);
    HcclComm gone = w.comm;
    world_end(&w);
    CHECK_EQ(HcclCommDestroy(gone), HCCL_E_PARA);
    CHECK_EQ(HcclGetCommAsyncError(gone, &error), HCCL_E_PARA);
}

/* An environment variable that is no number. */
static void environment(void)
{
    HcclRootInfo root;
    CHECK_EQ(HcclGetRootInfo(&root), HCCL_E_PARA);
    CHECK_TEXT(aclGetRecentErrMsg(), getenv("TEST_TEXT"));
}

static void no_interface(void)
{
    HcclRootInfo root;
    CHECK_EQ(HcclGetRootInfo(&root), HCCL_E_PARA);
    CHECK_TEXT(aclGetRecentErrMsg(), "Value nothing0 for environment variable HCCL_SOCKET_IFNAME is invalid");
}

static void port_used(void)
{
    HcclRootInfo root;
    OK(HcclGetRootInfo(&root));
    CHECK_EQ(HcclGetRootInfo(&root), HCCL_E_NETWORK);
    CHECK_TEXT(aclGetRecentErrMsg(), "Communication_Error_Bind_IP_Port(EI0019)");
    CHECK_TEXT(aclGetRecentErrMsg() ? "" : "served once", "served once");
}

int main(int argc, char **argv)
{
    child_main(argc, argv,
               (struct part[]){{"differ", differ},
                               {"differ_pair", differ_pair},
                               {"timeout", timeout},
                               {"lost", lost},
                               {"quiet_end", quiet_end},
                               {"aborted", aborted},
                               {"late", late},
                               {"missing", missing},
                               {"missing_text", missing_text},
                               {"twice", twice},
                               {"arguments", arguments},
                               {"environment", environment},
                               {"no_interface", no_interface},
                               {"port_used", port_used},
                               {NULL, NULL}});
    static const char *const ways[] = {"count", "type", "reduce", "root", "op", "piece"};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        char env[64];
        snprintf(env, sizeof env, "TEST_DIFFER=%s", ways[i]);
        CHECK_EQ(ranks_run("differ", 3, env), 0);
        snprintf(env, sizeof env, "TEST_DIFFER=%s\nTEST_COUNT=20000", ways[i]);
        CHECK_EQ(ranks_run("differ", 3, env), 0);
    }
    CHECK_EQ(ranks_run("differ_pair", 2, ""), 0);
    CHECK_EQ(ranks_run("timeout", 3, "HCCL_EXEC_TIMEOUT=1"), 0);
    CHECK_EQ(ranks_run("lost", 3, "TEST_HOW=leave"), 0);
    pid_t pids[3];
    int outs[3], status[3];
    ranks_start("lost", 3, "TEST_HOW=kill", pids, outs);
    for (int r = 0; r < 3; r++) {
        status[r] = child_end(pids[r], outs[r]);
        CHECK_EQ(status[r], r == 1 ? -SIGKILL : 0);
        if (status[r] > 0)
            fprintf(stderr, "%s", child_output);
    }
    CHECK_EQ(ranks_run("quiet_end", 3, ""), 0);
    CHECK_EQ(ranks_run("aborted", 2, ""), 0);
    CHECK_CHILD("late", "HCCL_CONNECT_TIMEOUT=1");
    CHECK_EQ(ranks_run("arguments", 3, ""), 0);
    static const char *const wrong[][3] = {
        {"HCCL_CONNECT_TIMEOUT", "soon", "range[1, 7200]"},
        {"HCCL_CONNECT_TIMEOUT", "0", "range[1, 7200]"},
        {"HCCL_EXEC_TIMEOUT", "-1", "range[0, 2147483647]"},
        {"HCCL_EXEC_TIMEOUT", "1m", "range[0, 2147483647]"},
        {"HCCL_IF_IP", "my-host", "an IPv4 or IPv6 address of this computer"},
        {"HCCL_IF_IP", "1.2.3.256", "an IPv4 or IPv6 address of this computer"},
        {"HCCL_SOCKET_FAMILY", "IPX", "AF_INET|AF_INET6"},
        {"HCCL_IF_BASE_PORT", "80", "range[1024, 65520]"},
        {"HCCL_HOST_SOCKET_PORT_RANGE", "many", ""},
        {"HCCL_HOST_SOCKET_PORT_RANGE", "600-500", ""},
        {"HCCL_HOST_SOCKET_PORT_RANGE", "500-", ""},
        {"HCCL_HOST_SOCKET_PORT_RANGE", "500,", ""},
        {"HCCL_HOST_SOCKET_PORT_RANGE", "500-70000", ""},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char env[256];
        const char *const *one = wrong[i];
        snprintf(env, sizeof env,
                 "%s=%s\nTEST_TEXT=(EI0001): Value %s for environment variable %s is invalid. Expected value : %s",
                 one[0], one[1], one[1], one[0], one[2]);
        CHECK_CHILD("environment", env);
    }
    CHECK_CHILD("no_interface", "HCCL_SOCKET_IFNAME=nothing0");
    CHECK_CHILD("port_used", "HCCL_IF_IP=127.0.0.1\nHCCL_HOST_SOCKET_PORT_RANGE=23457");
    return check_done();
}
