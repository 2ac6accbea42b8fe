/* SPDX-License-Identifier: BSD-3-Clause */
/* Two computers, as two network namespaces joined by a cable (veth): collectives cross it once for all ranks of a
 * computer, a slow cable (tc tbf) makes them slow, and a cut one ends in an error within the timeout. Without the right
 * to make namespaces the test says so and is skipped (77). */
#define _GNU_SOURCE
#include "ranks.h"

#include <sched.h>
#include <stdarg.h>
#include <sys/mount.h>

enum { SKIP = 77, MB = 1 << 20 };

static char names[2][32];

static int run(const char *fmt, ...)
{
    char command[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(command, sizeof command, fmt, args);
    va_end(args);
    return system(command);
}

static int enter(const char *name)
{
    char path[96];
    snprintf(path, sizeof path, "/var/run/netns/%s", name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int status = fd < 0 ? -1 : setns(fd, CLONE_NEWNET);
    if (fd >= 0)
        close(fd);
    return status;
}

static void take_down(void)
{
    for (int i = 0; i < 2; i++)
        run("ip netns del %s 2>/dev/null", names[i]);
}

static int set_up(void)
{
    for (int i = 0; i < 2; i++)
        snprintf(names[i], sizeof names[i], "anynpu%d%c", (int)getpid(), 'a' + i);
    char *a = names[0], *b = names[1];
    if (run("ip netns add %s 2>/dev/null", a) || run("ip netns add %s 2>/dev/null", b) ||
        run("ip link add va%d netns %s type veth peer name vb%d netns %s 2>/dev/null", (int)getpid() % 100000, a,
            (int)getpid() % 100000, b))
        return -1;
    for (int i = 0; i < 2; i++)
        if (run("ip -n %s addr add 10.77.0.%d/24 dev v%c%d && ip -n %s link set v%c%d up && ip -n %s link set lo up",
                names[i], i + 1, 'a' + i, (int)getpid() % 100000, names[i], 'a' + i, (int)getpid() % 100000, names[i]))
            return -1;
    for (int i = 0; i < 100; i++, usleep(50000)) /* until the cable is noticed */
        if (run("ip -n %s link show va%d | grep -q LOWER_UP.*state.UP && ip -n %s link show vb%d | grep -q "
                "LOWER_UP.*state.UP",
                a, (int)getpid() % 100000, b, (int)getpid() % 100000) == 0)
            break;
    return enter(a); /* the meeting point is on the first */
}

/* Bytes that the first computer has sent. */
static int64_t sent(void)
{
    char path[128], text[32] = "";
    snprintf(path, sizeof path, "ip netns exec %s cat /sys/class/net/va%d/statistics/tx_bytes", names[0],
             (int)getpid() % 100000);
    FILE *f = popen(path, "r");
    int64_t n = f && fgets(text, sizeof text, f) ? atoll(text) : -1;
    if (f)
        pclose(f);
    return n;
}

/* ---- in the ranks: computer a has the even ones ---- */

static struct world begin(void)
{
    char name[64];
    snprintf(name, sizeof name, "%s%c", getenv("TEST_NET"), 'a' + atoi(getenv("TEST_RANK")) % 2);
    alarm(25);
    CHECK_EQ(enter(name), 0);
    /* /sys shows the interfaces of the namespace in which it was mounted */
    CHECK_EQ(unshare(CLONE_NEWNS), 0);
    mount("", "/", "none", MS_REC | MS_SLAVE, NULL);
    umount2("/sys", MNT_DETACH);
    CHECK_EQ(mount("sysfs", "/sys", "sysfs", 0, NULL), 0);
    return world_join();
}

static void sums(void)
{
    struct world w = begin();
    uint64_t n = (uint64_t)atoll(getenv("TEST_ELEMENTS"));
    int times = atoi(getenv("TEST_TIMES"));
    float *host = malloc(n * sizeof *host), *device = device_new(n * sizeof *host);
    for (int i = 0; i < times; i++) {
        for (uint64_t k = 0; k < n; k++)
            host[k] = (float)((k + w.rank) % 13);
        put(device, host, n * sizeof *host);
        OK(HcclAllReduce(device, device, n, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, w.comm, w.stream));
        OK(aclrtSynchronizeStream(w.stream));
        get(host, device, n * sizeof *host);
        uint64_t wrong = 0;
        for (uint64_t k = 0; k < n; k++) {
            float sum = 0;
            for (uint32_t r = 0; r < w.size; r++)
                sum += (float)((k + r) % 13);
            wrong += host[k] != sum;
        }
        CHECK_EQ(wrong, 0);
    }
    world_end(&w);
}

static void cut(void)
{
    struct world w = begin();
    float *device = device_new(MB * sizeof *device);
    int64_t began = clock_ns();
    int status = 0;
    while (!status && clock_ns() - began < 20000000000) {
        status = (int)HcclAllReduce(device, device, MB, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_MAX, w.comm, w.stream);
        if (!status)
            status = aclrtSynchronizeStream(w.stream);
    }
    CHECK(status != 0);
    const char *text = aclGetRecentErrMsg();
    CHECK(text && (strstr(text, "(EI0002)") || strstr(text, "(EI0013)")));
    CHECK_TEXT(text, "HcclAllReduce(max, 1048576 x float32), sequence ");
    CHECK(clock_ns() - began < 15000000000);
}

int main(int argc, char **argv)
{
    child_main(argc, argv, (struct part[]){{"sums", sums}, {"cut", cut}, {NULL, NULL}});
    if (set_up()) {
        take_down();
        printf("skipped: this user may not make network namespaces (needs root and ip)\n");
        return SKIP;
    }
    char env[256];
    int n = snprintf(env, sizeof env, "TEST_NET=anynpu%d\n", (int)getpid());
    snprintf(env + n, sizeof env - (size_t)n, "TEST_ELEMENTS=10\nTEST_TIMES=20");
    CHECK_EQ(ranks_run("sums", 2, env), 0);
    /* four ranks: what crosses is one copy of the data in each direction */
    snprintf(env + n, sizeof env - (size_t)n, "TEST_ELEMENTS=%d\nTEST_TIMES=4", MB);
    int64_t before = sent();
    CHECK_EQ(ranks_run("sums", 4, env), 0);
    int64_t crossed = sent() - before, data = INT64_C(4) * MB * 4;
    CHECK(crossed > data && crossed < data + data / 8);
    if (crossed <= data || crossed >= data + data / 8)
        fprintf(stderr, "%lld bytes crossed for %lld\n", (long long)crossed, (long long)data);
    /* 100 Mbit/s: 1 MB takes at least 80 ms */
    if (run("ip netns exec %s tc qdisc add dev va%d root tbf rate 100mbit burst 64kb latency 400ms", names[0],
            (int)getpid() % 100000) == 0) {
        snprintf(env + n, sizeof env - (size_t)n, "TEST_ELEMENTS=%d\nTEST_TIMES=2", MB / 4);
        int64_t began = clock_ns();
        CHECK_EQ(ranks_run("sums", 2, env), 0);
        CHECK(clock_ns() - began > 150000000);
        run("ip netns exec %s tc qdisc del dev va%d root", names[0], (int)getpid() % 100000);
    }
    pid_t pids[2];
    int outs[2];
    snprintf(env + n, sizeof env - (size_t)n, "HCCL_EXEC_TIMEOUT=2");
    ranks_start("cut", 2, env, pids, outs);
    usleep(1500000);
    run("ip -n %s link set va%d down", names[0], (int)getpid() % 100000);
    CHECK_EQ(ranks_end("cut", 2, pids, outs), 0);
    take_down();
    return check_done();
}
