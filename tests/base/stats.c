/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared statistics: what one process says another reads; a killed process is gone at once; files that are not ours,
 * damaged or of another user do no harm; more processes than slots. */
#define _GNU_SOURCE
#include "base/stats.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "child.h"

static char folder[128], option[256];

static struct stats_process list[STATS_SLOTS + 8];

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Uses device 3 until it is killed. */
static void use_device(void)
{
    struct stats_slot *slot = stats_join(3, 1 << 30);
    atomic_store(&slot->memory, 123 << 20);
    uint64_t s = stats_slice(now());
    stats_busy(slot, s - 7, s, 5000);
    printf("ready\n");
    fflush(stdout);
    for (;;) {
        s = stats_slice(now());
        stats_busy(slot, s - 7, s, 5000);
        usleep(20000);
    }
}

static void see_itself(void)
{
    struct stats_slot *a = stats_join(0, 1000), *b = stats_join(1, 2000);
    CHECK(a && b && a != b);
    atomic_store(&a->memory, 7);
    CHECK_EQ(stats_read(0, list, 8), 1);
    CHECK_EQ(list[0].pid, getpid());
    CHECK_EQ(list[0].memory, 7);
    CHECK_EQ(list[0].capacity, 1000);
    CHECK_EQ(stats_read(1, list, 8), 1);
    CHECK_EQ(stats_devices(), 2);
    if (fork() == 0) { /* the child holds nothing, and its end takes nothing from the parent */
        stats_read(0, list, 8);
        _exit(0);
    }
    int status;
    wait(&status);
    CHECK_EQ(stats_read(0, list, 8), 1);
    stats_leave(1, b);
    CHECK_EQ(stats_devices(), 1);
    stats_leave(0, a);
    CHECK_EQ(stats_devices(), 0);
    struct stats_slot *again = stats_join(0, 1000);
    CHECK_EQ(atomic_load(&again->memory), 0);
}

static void see_nothing(void)
{
    struct stats_slot *a = stats_join(0, 1000);
    CHECK(a != NULL);
    CHECK_EQ(stats_read(0, list, 8), 0);
    CHECK_EQ(stats_devices(), 0);
    stats_leave(0, a);
}

static const struct part parts[] = {
    {"use_device", use_device}, {"see_itself", see_itself}, {"see_nothing", see_nothing}, {NULL, NULL}};

static void wait_ready(int out)
{
    char c;
    while (read(out, &c, 1) == 1 && c != '\n')
        ;
}

static void test_processes(void)
{
    int out[2];
    pid_t pids[2];
    for (int i = 0; i < 2; i++) {
        pids[i] = child_start("use_device", option, &out[i]);
        wait_ready(out[i]);
    }
    CHECK_EQ(stats_read(3, list, 8), 2);
    CHECK(list[0].pid < list[1].pid);
    CHECK_EQ(list[0].memory, 123 << 20);
    CHECK_EQ(list[0].busy, 5000);
    CHECK_EQ(stats_devices(), 4);
    CHECK_EQ(stats_read(3, list, 1), 1);
    CHECK_EQ(stats_read(2, list, 8), 0);
    CHECK_EQ(stats_read(-1, list, 8), 0);
    CHECK_EQ(stats_read(64, list, 8), 0);
    kill(pids[0], SIGKILL);
    CHECK_EQ(child_end(pids[0], out[0]), -SIGKILL);
    CHECK_EQ(stats_read(3, list, 8), 1);
    CHECK_EQ(list[0].pid, pids[1]);
    kill(pids[1], SIGSTOP); /* a stopped process stays, and is idle after a second */
    usleep(1300000);
    CHECK_EQ(stats_read(3, list, 8), 1);
    CHECK_EQ(list[0].busy, 0);
    kill(pids[1], SIGKILL);
    child_end(pids[1], out[1]);
    CHECK_EQ(stats_devices(), 0);
}

static void test_many(void)
{
    enum { MANY = 40 };
    static int out[MANY];
    static pid_t pids[MANY];
    for (int i = 0; i < MANY; i++)
        pids[i] = child_start("use_device", option, &out[i]);
    for (int i = 0; i < MANY; i++)
        wait_ready(out[i]);
    CHECK_EQ(stats_read(3, list, STATS_SLOTS), MANY);
    for (int i = 0; i < MANY; i++) {
        kill(pids[i], SIGKILL);
        child_end(pids[i], out[i]);
    }
    CHECK_EQ(stats_read(3, list, STATS_SLOTS), 0);
}

static void write_file(const char *name, const char *text, size_t size)
{
    char path[300];
    snprintf(path, sizeof path, "%s/anynpu-%u/%s", folder, (unsigned)getuid(), name);
    unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    CHECK(fd >= 0 && write(fd, text, size) == (ssize_t)size);
    close(fd);
}

static void test_strange_files(void)
{
    static char junk[(STATS_SLOTS + 1) * sizeof(struct stats_slot)];
    unsigned seed = 1;
    for (size_t i = 0; i < sizeof junk; i++)
        junk[i] = (char)((seed = seed * 1103515245 + 12345) >> 16);
    write_file("device-5", junk, sizeof junk);
    write_file("device-6", "short", 5);
    memcpy(junk, "anynpu-stats-1\0\0", 16);
    write_file("device-7", junk, sizeof junk);
    char path[300], other[300];
    snprintf(path, sizeof path, "%s/anynpu-%u/device-8", folder, (unsigned)getuid());
    CHECK_EQ(symlink("/dev/zero", path), 0);
    snprintf(path, sizeof path, "%s/anynpu-%u/device-9", folder, (unsigned)getuid());
    CHECK_EQ(mkfifo(path, 0600), 0);
    snprintf(other, sizeof other, "%s/anynpu-999999", folder); /* says it is another user's, and is not */
    CHECK_EQ(mkdir(other, 0700), 0);
    for (int d = 5; d < 10; d++)
        CHECK_EQ(stats_read(d, list, 8), 0);
    CHECK_EQ(stats_devices(), 0);
    rmdir(other);
}

int main(int argc, char **argv)
{
    child_main(argc, argv, parts);
    snprintf(folder, sizeof folder, "/tmp/anynpu-stats-test-%d", (int)getpid());
    snprintf(option, sizeof option, "ANYNPU_STATS=%s", folder);
    CHECK_EQ(mkdir(folder, 0700), 0);
    setenv("ANYNPU_STATS", folder, 1);
    CHECK_EQ(stats_devices(), 0);
    CHECK_CHILD("see_itself", option);
    CHECK_CHILD("see_nothing", "ANYNPU_STATS=off");
    CHECK_CHILD("see_nothing", "ANYNPU_STATS=/proc/no/such/folder");
    test_processes();
    test_many();
    test_strange_files();
    char command[300];
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK_EQ(system(command), 0);
    return check_done();
}
