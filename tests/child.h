/* SPDX-License-Identifier: BSD-3-Clause */
/* Running part of a test in a process of its own: with other environment variables (options are read once), or because
 * it ends the process. A child is this program started again with the part's name; child_main() finds it in the table.
 */
#ifndef ANYNPU_TESTS_CHILD_H
#define ANYNPU_TESTS_CHILD_H

#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

struct part {
    const char *name;
    void (*run)(void);
};

static char child_output[65536]; /* what the last child wrote, both streams */

/* In main, before anything else: runs the part that argv names, and exits; returns when there is none. */
static inline void child_main(int argc, char **argv, const struct part *parts)
{
    if (argc < 2)
        return;
    for (; parts->name; parts++)
        if (strcmp(parts->name, argv[1]) == 0) {
            alarm(60);
            parts->run();
            exit(check_failures != 0);
        }
    fprintf(stderr, "no part %s\n", argv[1]);
    exit(2);
}

/* Becomes this program again; under TEST_RUNNER, an emulator and its options, since the kernel can't run it then. */
static inline void child_exec(const char *name)
{
    char path[4096] = "", *args[16], *rest = NULL, *runner = getenv("TEST_RUNNER");
    int n = 0;
    if (runner && readlink("/proc/self/exe", path, sizeof path - 1) > 0)
        for (char *word = strtok_r(strdup(runner), " ", &rest); word && n < 13; word = strtok_r(NULL, " ", &rest))
            args[n++] = word;
    args[n] = path;
    args[n + 1] = (char *)(uintptr_t)name;
    args[n + 2] = NULL;
    if (n)
        execv(args[0], args);
    else
        execv("/proc/self/exe", args);
    _exit(4);
}

/* Starts a part; env: "NAME=value" strings, parted by newlines ("" for none). */
static inline pid_t child_start(const char *name, const char *env, int *out)
{
    int pipes[2];
    if (pipe(pipes))
        exit(3);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        char *copy = strdup(env), *rest = NULL;
        for (char *v = strtok_r(copy, "\n", &rest); v; v = strtok_r(NULL, "\n", &rest))
            putenv(v);
        dup2(pipes[1], STDOUT_FILENO);
        dup2(pipes[1], STDERR_FILENO);
        close(pipes[0]);
        close(pipes[1]);
        child_exec(name);
    }
    close(pipes[1]);
    *out = pipes[0];
    return pid;
}

/* Waits for it: its exit status, or -signal. */
static inline int child_end(pid_t pid, int out)
{
    size_t n = 0;
    ssize_t got;
    while (n < sizeof child_output - 1 &&
           ((got = read(out, child_output + n, sizeof child_output - 1 - n)) > 0 || (got < 0 && errno == EINTR)))
        n += got > 0 ? (size_t)got : 0;
    child_output[n] = 0;
    close(out);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static inline int child_run(const char *name, const char *env)
{
    int out = -1;
    pid_t pid = child_start(name, env, &out);
    return child_end(pid, out);
}

/* The part ended well; else its output is shown. */
#define CHECK_CHILD(name, env)                                                                                         \
    do {                                                                                                               \
        int status_ = child_run(name, env);                                                                            \
        CHECK_EQ(status_, 0);                                                                                          \
        if (status_)                                                                                                   \
            fprintf(stderr, "---- %s\n%s----\n", name, child_output);                                                  \
    } while (0)

#endif
