/* SPDX-License-Identifier: BSD-3-Clause */
/* The handler of SIGSEGV in guard mode: when the address is device memory it writes one line, then what was installed
 * before takes over (by default the process ends). Only functions that a signal handler may call; no lock, so that the
 * block is not looked up. */
#include "guard.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"

static struct sigaction before;

static size_t put(char *out, size_t n, const char *text)
{
    size_t length = strlen(text);
    memcpy(out + n, text, length);
    return n + length;
}

static void explain(int device, uintptr_t address)
{
    char line[256], digit[2] = "0";
    size_t n = put(line, 0, "[ERROR] the host touched memory of NPU device ");
    if (device >= 10) {
        digit[0] = (char)('0' + device / 10);
        n = put(line, n, digit);
    }
    digit[0] = (char)('0' + device % 10);
    n = put(line, n, digit);
    n = put(line, n, " at 0x");
    for (int shift = 44; shift >= 0; shift -= 4) {
        digit[0] = "0123456789abcdef"[address >> shift & 15];
        n = put(line, n, digit);
    }
    n = put(line, n, " (ANYNPU_GUARD=1): only tasks may; the host copies with aclrtMemcpy\n");
    if (write(STDERR_FILENO, line, n) < 0)
        return;
}

static void handle(int number, siginfo_t *info, void *context)
{
    int device = memory_device_of(info->si_addr);
    if (device >= 0)
        explain(device, (uintptr_t)info->si_addr);
    if (before.sa_flags & SA_SIGINFO && before.sa_sigaction)
        before.sa_sigaction(number, info, context);
    else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
        before.sa_handler(number);
    else
        sigaction(number, &(struct sigaction){.sa_handler = SIG_DFL}, NULL); /* the access is tried again and ends us */
}

void guard_watch(void)
{
    struct sigaction mine = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&mine.sa_mask);
    sigaction(SIGSEGV, &mine, &before);
}
