/* SPDX-License-Identifier: BSD-3-Clause */
/* All ranks in one process (HcclCommInitAll), driven by one thread; groups; several streams; graphs; collectives that
 * are queued when their communicator is destroyed. */
#include "ranks.h"

enum { DEVICES = 4, N = 30000 };

static HcclComm comms[DEVICES];
static aclrtStream streams[DEVICES];
static float *a[DEVICES], *b[DEVICES];

static void use(int d)
{
    OK(aclrtSetDevice(d));
}

static void fill(int d, float value)
{
    static float host[N];
    for (int i = 0; i < N; i++)
        host[i] = value + (float)(i % 7);
    put(a[d], host, sizeof host);
}

static bool holds(int d, const float *memory, float value, float times)
{
    static float host[N];
    use(d);
    OK(aclrtSynchronizeStream(streams[d]));
    get(host, memory, sizeof host);
    for (int i = 0; i < N; i++)
        if (host[i] != value + times * (float)(i % 7))
            return false;
    return true;
}

static void begin(void)
{
    int32_t devices[DEVICES];
    for (int d = 0; d < DEVICES; d++) {
        devices[d] = d;
        use(d);
        OK(aclrtCreateStream(&streams[d]));
        a[d] = device_new(N * sizeof(float));
        b[d] = device_new(N * sizeof(float));
    }
    OK(HcclCommInitAll(DEVICES, devices, comms));
    devices[3] = 0;
    HcclComm none[DEVICES];
    CHECK_EQ(HcclCommInitAll(DEVICES, devices, none), HCCL_E_PARA);
    CHECK_TEXT(aclGetRecentErrMsg(), "device 0 is in the list of HcclCommInitAll twice");
    devices[3] = 77;
    CHECK(HcclCommInitAll(1, devices + 3, none) != HCCL_SUCCESS);
}

static void one_thread(uint64_t n)
{
    for (int d = 0; d < DEVICES; d++) {
        use(d);
        fill(d, (float)d);
        OK(HcclAllReduce(a[d], b[d], n, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comms[d], streams[d]));
        OK(HcclBroadcast(b[d], n, HCCL_DATA_TYPE_FP32, 2, comms[d], streams[d]));
    }
    for (int d = 0; d < DEVICES; d++) {
        static float host[N];
        use(d);
        OK(aclrtSynchronizeStream(streams[d]));
        get(host, b[d], sizeof host);
        CHECK(host[n - 1] == 6 + 4 * (float)((n - 1) % 7));
    }
    CHECK_EQ(HcclBarrier(comms[1], streams[DEVICES - 1]), HCCL_E_PARA); /* not its device */
    CHECK_TEXT(aclGetRecentErrMsg(), "current device is 3, rank 1 of group");
}

/* A ring by sends and receives: each rank's calls wait for HcclGroupEnd. */
static void group(void)
{
    for (int d = 0; d < DEVICES; d++) {
        use(d);
        fill(d, (float)(10 * d));
        OK(HcclGroupStart());
        OK(HcclSend(a[d], N, HCCL_DATA_TYPE_FP32, (uint32_t)(d + 1) % DEVICES, comms[d], streams[d]));
        OK(HcclRecv(b[d], N, HCCL_DATA_TYPE_FP32, (uint32_t)(d + DEVICES - 1) % DEVICES, comms[d], streams[d]));
        OK(HcclGroupEnd());
    }
    for (int d = 0; d < DEVICES; d++)
        CHECK(holds(d, b[d], (float)(10 * ((d + DEVICES - 1) % DEVICES)), 1));
    /* to itself */
    use(0);
    HcclSendRecvItem self[] = {{HCCL_SEND, a[0], N, HCCL_DATA_TYPE_FP32, 0},
                               {HCCL_RECV, b[0], N, HCCL_DATA_TYPE_FP32, 0}};
    OK(HcclBatchSendRecv(self, 2, comms[0], streams[0]));
    CHECK(holds(0, b[0], 0, 1));
}

/* Two collectives of a communicator on two streams of each rank may overlap; they are matched by the order of calls. */
static void two_streams(void)
{
    aclrtStream other[DEVICES];
    float *sum[DEVICES], *most[DEVICES][2];
    for (int d = 0; d < DEVICES; d++) {
        use(d);
        OK(aclrtCreateStream(&other[d]));
        sum[d] = device_new(N * sizeof(float));
        most[d][0] = device_new(N * sizeof(float));
        most[d][1] = device_new(N * sizeof(float));
        fill(d, (float)d);
    }
    for (int d = 0; d < DEVICES; d++) {
        use(d);
        for (int i = 0; i < 20; i++) { /* each result belongs to one stream */
            OK(HcclAllReduce(a[d], i % 2 ? b[d] : sum[d], N, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comms[d],
                             i % 2 ? streams[d] : other[d]));
            OK(HcclAllReduce(a[d], most[d][i % 2], N, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_MAX, comms[d],
                             i % 2 ? other[d] : streams[d]));
        }
    }
    for (int d = 0; d < DEVICES; d++) {
        use(d);
        OK(aclrtSynchronizeStream(other[d]));
        CHECK(holds(d, b[d], 6, 4));
        CHECK(holds(d, sum[d], 6, 4));
        CHECK(holds(d, most[d][0], 3, 1));
        CHECK(holds(d, most[d][1], 3, 1));
        OK(aclrtDestroyStream(other[d]));
    }
}

/* Captured once, executed several times, with calls in between. */
static void graph(void)
{
    aclmdlRI graphs[DEVICES];
    for (int d = 0; d < DEVICES; d++) {
        use(d);
        fill(d, (float)d);
        OK(aclmdlRICaptureBegin(streams[d], ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL));
        OK(HcclAllReduce(a[d], b[d], N, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comms[d], streams[d]));
        OK(HcclBroadcast(b[d], N, HCCL_DATA_TYPE_FP32, 1, comms[d], streams[d]));
        OK(aclmdlRICaptureEnd(streams[d], &graphs[d]));
    }
    for (int i = 0; i < 3; i++) {
        for (int d = 0; d < DEVICES; d++) {
            use(d);
            fill(d, (float)(d + i));
            OK(aclmdlRIExecuteAsync(graphs[d], streams[d]));
            OK(HcclBarrier(comms[d], streams[d]));
        }
        for (int d = 0; d < DEVICES; d++)
            CHECK(holds(d, b[d], (float)(6 + 4 * i), 4));
    }
    for (int d = 0; d < DEVICES; d++) {
        use(d);
        OK(aclmdlRIDestroy(graphs[d]));
    }
}

static void destroy_queued(void)
{
    for (int d = 0; d < DEVICES; d++) {
        use(d);
        fill(d, 1);
        OK(HcclAllReduce(a[d], b[d], N, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comms[d], streams[d]));
        OK(HcclCommDestroy(comms[d]));
    }
    for (int d = 0; d < DEVICES; d++)
        CHECK(holds(d, b[d], 4, 4));
}

static void run(void)
{
    begin();
    char name[2][COMM_NAME_MAX_LENGTH];
    OK(HcclGetCommName(comms[0], name[0]));
    OK(HcclGetCommName(comms[3], name[1]));
    CHECK(strcmp(name[0], name[1]) == 0 && strlen(name[0]) > 8);
    one_thread(10);
    one_thread(N);
    group();
    two_streams();
    graph();
    destroy_queued();
}

int main(int argc, char **argv)
{
    child_main(argc, argv, (struct part[]){{"run", run}, {NULL, NULL}});
    CHECK_CHILD("run", "ANYNPU_DEVICES=4");
    CHECK_CHILD("run", "ANYNPU_DEVICES=4\nANYNPU_GUARD=1");
    CHECK_CHILD("run", "ANYNPU_DEVICES=4\nANYNPU_JITTER=200");
    CHECK_CHILD("run", "ANYNPU_DEVICES=4\nANYNPU_INLINE_US=0");
    return check_done();
}
