/* SPDX-License-Identifier: BSD-3-Clause */
/* Profiling through the published interface: sessions and their refusals, what is recorded of operators, copies, marks,
 * reports and threads, a killed process, a full disk, a fork; `--bench` prints what recording costs. */
#include "child.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "acl/acl_prof.h"
#include "acl/acl_rt.h"
#include "aclnn/acl_meta.h"
#include "aclnnop/aclnn_add.h"
#include "anynpu/extension.h"
#include "anynpu/trace.h"
#include "hccl/hccl.h"
#include "toolchain/prof_api.h"

extern const struct anynpu_extension *anynpu_extension(void);

static char root[256];

/* ---- reading a trace ---- */
struct seen {
    int kind[8], task_class[8], strings, chunks, threads, tensors;
    int64_t last_end;
    uint64_t copied, reduced, lost, taken, given;
    uint32_t rank4, correlation;
    bool ended, ordered, named;
};

static void read_record(struct seen *s, const char *p, const struct anynpu_trace_chunk *chunk)
{
    const struct anynpu_trace_head *h = (const void *)p;
    s->kind[h->kind & 7]++;
    if (h->kind == ANYNPU_TRACE_STRING) {
        const struct anynpu_trace_string *t = (const void *)p;
        s->named |= t->bytes == 8 && !memcmp(t + 1, "aclnnAdd", 8) && t->id == MsprofGetHashId("aclnnAdd", 8);
    }
    if (h->kind == ANYNPU_TRACE_MEMORY) {
        int64_t change = ((const struct anynpu_trace_memory *)(const void *)p)->change;
        s->taken += change > 0 ? (uint64_t)change : 0;
        s->given += change < 0 ? (uint64_t)-change : 0;
    }
    if (h->kind != ANYNPU_TRACE_TASK)
        return;
    const struct anynpu_trace_task *t = (const void *)p;
    s->task_class[t->task_class & 7]++;
    s->tensors += t->tensors;
    s->ordered &= t->launch <= t->begin && t->begin <= t->end && t->launch > 0;
    s->copied += t->task_class == ANYNPU_TASK_COPY ? t->bytes : 0;
    s->reduced += t->task_class == ANYNPU_TASK_COLLECTIVE ? t->bytes : 0;
    s->correlation += t->correlation == 77;
    const struct anynpu_trace_tensor *x = (const void *)(t + 1);
    const uint32_t *size = (const uint32_t *)(x + 1);
    if (t->tensors >= 3)
        s->rank4 += x->rank == 2 && size[0] == 4 && size[1] == 8 && x->dtype == ACL_FLOAT;
    (void)chunk;
}

static struct seen read_trace(const char *path)
{
    struct seen s = {.ordered = true};
    int fd = open(path, O_RDONLY);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) || st.st_size < ANYNPU_TRACE_UNIT)
        return s;
    char *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0), *end = p + st.st_size;
    close(fd);
    const struct anynpu_trace_file *f = (const void *)p;
    s.ended = f->end_mono_ns != 0;
    s.lost = f->lost;
    for (char *c = p + ANYNPU_TRACE_UNIT; c < end;) {
        const struct anynpu_trace_chunk *chunk = (const void *)c;
        if (chunk->magic != ANYNPU_TRACE_CHUNK_MAGIC)
            break;
        s.chunks++;
        s.threads += chunk->bytes == ANYNPU_TRACE_UNIT;
        for (char *r = c + sizeof *chunk; r < c + chunk->bytes;) {
            const struct anynpu_trace_head *h = (const void *)r;
            if (!h->words)
                break;
            read_record(&s, r, chunk);
            r += h->words * 8;
        }
        c += chunk->bytes;
    }
    munmap(p, (size_t)st.st_size);
    return s;
}

static const char *trace_of(int number)
{
    static char path[600];
    char prefix[32];
    snprintf(prefix, sizeof prefix, "PROF_%06d_", number);
    *path = 0;
    DIR *d = opendir(root);
    for (struct dirent *e; d && (e = readdir(d));)
        if (!strncmp(e->d_name, prefix, strlen(prefix)))
            snprintf(path, sizeof path, "%s/%s/host/data/anynpu.trace", root, e->d_name);
    if (d)
        closedir(d);
    return path;
}

/* ---- work ---- */
static aclrtStream stream;
static void *memory;

static aclTensor *tensor(void *data)
{
    int64_t size[] = {4, 8}, stride[] = {8, 1};
    return aclCreateTensor(size, 2, ACL_FLOAT, stride, 0, ACL_FORMAT_ND, size, 2, data);
}

static void add(int times)
{
    aclTensor *a = tensor(memory), *b = tensor(memory);
    float one = 1;
    aclScalar *alpha = aclCreateScalar(&one, ACL_FLOAT);
    for (int i = 0; i < times; i++) {
        uint64_t bytes;
        aclOpExecutor *executor;
        if (aclnnAddGetWorkspaceSize(a, a, alpha, b, &bytes, &executor) || aclnnAdd(NULL, 0, executor, stream))
            CHECK(!"aclnnAdd works");
    }
    aclDestroyScalar(alpha);
    aclDestroyTensor(a);
    aclDestroyTensor(b);
}

static void *other_thread(void *unused)
{
    aclrtSetDevice(0);
    add(100);
    return unused;
}

static aclprofConfig *config(uint64_t types)
{
    uint32_t device = 0;
    return aclprofCreateConfig(&device, 1, ACL_AICORE_NONE, NULL, types);
}

static int told;
static int32_t told_of(uint32_t type, void *data, uint32_t length)
{
    const struct MsprofCommandHandle *c = data;
    CHECK_EQ(type, PROF_CTRL_SWITCH);
    CHECK_EQ(length, sizeof *c);
    CHECK_EQ(c->devNums, 1);
    told = told * 10 + (int)c->type;
    return 0;
}

static void refusals(void)
{
    uint32_t twice[] = {0, 0}, far[] = {60};
    aclprofConfig *c = config(ACL_PROF_TASK_TIME);
    CHECK(c != NULL);
    CHECK_EQ(aclprofStart(c), ACL_ERROR_PROF_NOT_RUN);
    CHECK_EQ(aclprofFinalize(), ACL_ERROR_PROF_NOT_RUN);
    CHECK_EQ(aclprofInit(NULL, 1), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(aclprofInit("/proc/none", 10), ACL_ERROR_INVALID_FILE);
    CHECK_TEXT(aclGetRecentErrMsg(), "/proc/none");
    CHECK_EQ(aclprofInit(root, strlen(root) + 2), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(aclprofInit(root, strlen(root)), 0);
    CHECK_EQ(aclprofInit(root, strlen(root)), ACL_ERROR_PROF_ALREADY_RUN);
    CHECK_EQ(aclprofStop(c), ACL_ERROR_PROF_NOT_RUN);
    CHECK(aclprofCreateConfig(twice, 2, ACL_AICORE_NONE, NULL, ACL_PROF_TASK_TIME) == NULL);
    CHECK_TEXT(aclGetRecentErrMsg(), "twice");
    CHECK(aclprofCreateConfig(far, 1, ACL_AICORE_NONE, NULL, ACL_PROF_TASK_TIME) == NULL);
    CHECK(aclprofCreateConfig(twice, 0, ACL_AICORE_NONE, NULL, ACL_PROF_TASK_TIME) == NULL);
    CHECK_EQ(aclprofSetConfig(ACL_PROF_HOST_SYS, "cpu", 3), ACL_ERROR_PROF_MODULES_UNSUPPORTED);
    CHECK_EQ(aclprofSetConfig(ACL_PROF_STORAGE_LIMIT, "1MB", 3), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(aclprofDestroyConfig(NULL), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(aclprofDestroyConfig(c), 0);
}

static void session(void)
{
    aclprofConfig *c = config(ACL_PROF_TASK_TIME | ACL_PROF_ACL_API | ACL_PROF_MSPROFTX);
    void *stamp = aclprofCreateStamp();
    uint32_t range;
    char text[64] = {0};
    pthread_t thread;
    told = 0;
    CHECK_EQ(MsprofRegisterCallback(1, told_of), 0);
    add(3); /* not recorded */
    CHECK_EQ(aclprofWarmup(c), 0);
    CHECK_EQ(aclprofStart(c), 0);
    CHECK_EQ(aclprofStart(c), ACL_ERROR_PROF_ALREADY_RUN);
    anynpu_extension()->trace->correlate(77);
    add(1000);
    anynpu_extension()->trace->correlate(0);
    CHECK_EQ(aclrtMemcpyAsync(memory, 64, text, 64, ACL_MEMCPY_HOST_TO_DEVICE, stream), 0);
    CHECK_EQ(aclrtMemcpy(text, 64, memory, 64, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    CHECK_EQ(aclrtMemsetAsync(memory, 128, 0, 128, stream), 0);
    void *more = NULL;
    CHECK_EQ(aclrtMalloc(&more, 5000, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    CHECK_EQ(aclrtFree(more), 0);
    pthread_create(&thread, NULL, other_thread, NULL);
    pthread_join(thread, NULL);
    CHECK_EQ(aclprofSetStampTraceMessage(stamp, "a mark", 6), 0);
    CHECK_EQ(aclprofMark(stamp), 0);
    CHECK_EQ(aclprofPush(stamp), 0);
    CHECK_EQ(aclprofRangeStart(stamp, &range), 0);
    CHECK_EQ(aclprofRangeStop(range), 0);
    CHECK_EQ(aclprofRangeStop(range), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(aclprofPop(), 0);
    CHECK_EQ(aclprofPop(), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(aclprofMarkEx("both", 4, stream), 0);
    struct MsprofApi api = {.level = 20000, .threadId = 5, .beginTime = 1, .endTime = 2};
    CHECK_EQ(MsprofReportApi(1, &api), 0);
    CHECK_EQ(MsprofReportCompactInfo(1, &api, sizeof api), 0);
    CHECK_EQ(MsprofReportAdditionalInfo(1, &api, sizeof api), 0);
    CHECK_EQ(MsprofReportCompactInfo(1, NULL, 4), -1);
    aclrtSynchronizeStream(stream);
    CHECK_EQ(aclprofStop(c), 0);
    add(3);
    CHECK_EQ(told, PROF_COMMANDHANDLE_TYPE_START * 10 + PROF_COMMANDHANDLE_TYPE_STOP);
    struct seen s = read_trace(trace_of(1));
    CHECK(s.ended && s.ordered && s.named);
    CHECK_EQ(s.lost, 0);
    CHECK_EQ(s.task_class[ANYNPU_TASK_KERNEL], 1100);
    CHECK_EQ(s.rank4, 1100);
    CHECK_EQ(s.tensors, 3300);
    CHECK_EQ(s.correlation, 1000);
    CHECK_EQ(s.task_class[ANYNPU_TASK_COPY], 2);
    CHECK_EQ(s.copied, 128);
    CHECK_EQ(s.task_class[ANYNPU_TASK_FILL], 1);
    CHECK_EQ(s.kind[ANYNPU_TRACE_API], 1107); /* 1,100 operators, 3 copies, 2 of memory, a wait, a report */
    CHECK_EQ(s.kind[ANYNPU_TRACE_MEMORY], 2);
    CHECK(s.taken >= 5000 && s.taken == s.given);
    CHECK_EQ(s.kind[ANYNPU_TRACE_MARK], 5);
    CHECK_EQ(s.kind[ANYNPU_TRACE_REPORT], 2);
    CHECK(s.threads >= 2);
    /* only what was asked for; a second folder */
    aclprofConfig *little = config(ACL_PROF_TASK_TIME_L0);
    CHECK_EQ(aclprofStart(little), 0);
    add(10);
    CHECK_EQ(aclprofMark(stamp), 0);
    CHECK_EQ(aclprofFinalize(), 0); /* stops too */
    s = read_trace(trace_of(2));
    CHECK_EQ(s.task_class[ANYNPU_TASK_KERNEL], 10);
    CHECK_EQ(s.kind[ANYNPU_TRACE_API] + s.kind[ANYNPU_TRACE_MARK], 0);
    CHECK(s.named); /* strings are written anew */
    aclprofDestroyStamp(stamp);
    aclprofDestroyConfig(c);
    aclprofDestroyConfig(little);
}

/* Much more than one chunk, in bounded memory. */
static void large(int times)
{
    char path[300];
    struct rusage before, after;
    snprintf(path, sizeof path, "%s/large.trace", root);
    const struct anynpu_trace_api_table *trace = anynpu_extension()->trace;
    CHECK_EQ(*trace->kinds, 0);
    CHECK_EQ(trace->start(path, 1u << ANYNPU_TRACE_TASK), 0);
    CHECK_EQ(trace->start(path, 1u << ANYNPU_TRACE_TASK), ACL_ERROR_PROF_ALREADY_RUN);
    CHECK(*trace->kinds != 0);
    add(1000);
    getrusage(RUSAGE_SELF, &before);
    add(times);
    getrusage(RUSAGE_SELF, &after);
    CHECK_EQ(trace->stop(), 0);
    CHECK_EQ(trace->stop(), ACL_ERROR_PROF_NOT_RUN);
    struct seen s = read_trace(path);
    CHECK_EQ(s.task_class[ANYNPU_TASK_KERNEL], times + 1000);
    CHECK(after.ru_maxrss - before.ru_maxrss < 8 << 10); /* KiB */
    unlink(path);
}

/* The process is killed amid records: they are all in the file. */
static void killed(void)
{
    char path[300];
    int pipes[2];
    snprintf(path, sizeof path, "%s/killed.trace", root);
    CHECK_EQ(pipe(pipes), 0);
    pid_t pid = fork();
    if (pid == 0) { /* a child that has not used a device: see main */
        char byte = 0;
        aclrtSetDevice(0);
        aclrtMalloc(&memory, 4096, ACL_MEM_MALLOC_HUGE_FIRST);
        aclrtCreateStream(&stream);
        anynpu_extension()->trace->start(path, 1u << ANYNPU_TRACE_TASK);
        add(5000);
        if (write(pipes[1], &byte, 1) != 1)
            _exit(1);
        for (;;)
            add(100);
    }
    char byte;
    CHECK_EQ(read(pipes[0], &byte, 1), 1);
    usleep(2000);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(pipes[0]);
    close(pipes[1]);
    struct seen s = read_trace(path);
    CHECK(!s.ended && s.ordered && s.named);
    CHECK(s.task_class[ANYNPU_TASK_KERNEL] >= 5000);
    unlink(path);
}

/* A disk that is full: the program goes on, what was lost is counted. */
static void full_disk(void)
{
    char path[300];
    struct rlimit was, small = {1 << 20, 1 << 20};
    snprintf(path, sizeof path, "%s/full.trace", root);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &was);
    small.rlim_max = was.rlim_max;
    setrlimit(RLIMIT_FSIZE, &small);
    const struct anynpu_trace_api_table *trace = anynpu_extension()->trace;
    CHECK_EQ(trace->start(path, 1u << ANYNPU_TRACE_TASK), 0);
    add(30000);
    CHECK_EQ(trace->stop(), 0);
    setrlimit(RLIMIT_FSIZE, &was);
    struct seen s = read_trace(path);
    CHECK(s.ended && s.lost > 0 && s.task_class[ANYNPU_TASK_KERNEL] > 1000);
    CHECK_EQ(s.task_class[ANYNPU_TASK_KERNEL] + s.lost, 30000);
    unlink(path);
}

/* A collective is one, with its bytes. */
static void collective(void)
{
    char path[300];
    HcclRootInfo info;
    HcclComm comm = NULL;
    snprintf(path, sizeof path, "%s/collective.trace", root);
    CHECK_EQ(HcclGetRootInfo(&info), 0);
    CHECK_EQ(HcclCommInitRootInfo(1, &info, 0, &comm), 0);
    const struct anynpu_trace_api_table *trace = anynpu_extension()->trace;
    CHECK_EQ(trace->start(path, 1u << ANYNPU_TRACE_TASK), 0);
    CHECK_EQ(HcclAllReduce(memory, memory, 32, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream), 0);
    CHECK_EQ(aclrtSynchronizeStream(stream), 0);
    CHECK_EQ(trace->stop(), 0);
    CHECK_EQ(HcclCommDestroy(comm), 0);
    struct seen s = read_trace(path);
    CHECK_EQ(s.task_class[ANYNPU_TASK_COLLECTIVE], 1);
    CHECK_EQ(s.reduced, 32 * sizeof(float));
    unlink(path);
}

/* A forked child records nothing into its parent's file, and the parent goes on. */
static void forked(void)
{
    char path[300];
    snprintf(path, sizeof path, "%s/forked.trace", root);
    const struct anynpu_trace_api_table *trace = anynpu_extension()->trace;
    CHECK_EQ(trace->start(path, 1u << ANYNPU_TRACE_TASK | 1u << ANYNPU_TRACE_MARK), 0);
    add(10);
    pid_t pid = fork();
    if (pid == 0) {
        aclprofMarkEx("child", 5, NULL);
        _exit(*trace->kinds != 0);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    CHECK_EQ(status, 0);
    add(10);
    CHECK_EQ(trace->stop(), 0);
    struct seen s = read_trace(path);
    CHECK_EQ(s.task_class[ANYNPU_TASK_KERNEL], 20);
    CHECK_EQ(s.kind[ANYNPU_TRACE_MARK], 0);
    unlink(path);
}

static double microseconds(int times)
{
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    add(times);
    clock_gettime(CLOCK_MONOTONIC, &b);
    return ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / 1e3 / times;
}

static void bench(void)
{
    char path[300];
    snprintf(path, sizeof path, "%s/bench.trace", root);
    double off = 1e9, tasks = 1e9, all = 1e9;
    const struct anynpu_trace_api_table *trace = anynpu_extension()->trace;
    for (int i = 0; i < 40; i++) {
        double t = microseconds(20000);
        off = t < off ? t : off;
        trace->start(path, 1u << ANYNPU_TRACE_TASK);
        t = microseconds(20000);
        tasks = t < tasks ? t : tasks;
        trace->stop();
        trace->start(path, 1u << ANYNPU_TRACE_TASK | 1u << ANYNPU_TRACE_API);
        t = microseconds(20000);
        all = t < all ? t : all;
        trace->stop();
    }
    printf("aclnnAdd of 4x8, us: off %.3f, tasks recorded %.3f (+%.3f), calls too %.3f (+%.3f)\n", off, tasks,
           tasks - off, all, all - off);
    unlink(path);
}

int main(int argc, char **argv)
{
    const char *folder = getenv("TMPDIR");
    snprintf(root, sizeof root, "%s/anynpu_prof_XXXXXX", folder ? folder : "/tmp");
    if (!mkdtemp(root))
        return 1;
    if (argc == 1)
        killed(); /* first: its child must not be that of a used process */
    CHECK_EQ(aclrtSetDevice(0), 0);
    CHECK_EQ(aclrtMalloc(&memory, 4096, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    CHECK_EQ(aclrtCreateStream(&stream), 0);
    if (argc > 1 && !strcmp(argv[1], "--bench")) {
        bench();
    } else if (argc > 1) {
        large(atoi(argv[1]));
    } else {
        refusals();
        session();
        large(100000);
        full_disk();
        collective();
        forked();
    }
    char command[300];
    snprintf(command, sizeof command, "rm -rf %s", root);
    CHECK_EQ(system(command), 0);
    return check_done();
}
