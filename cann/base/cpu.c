/* SPDX-License-Identifier: BSD-3-Clause */
/* CPU level and count; see cpu.h. Both are read once. */
#define _GNU_SOURCE
#include "cpu.h"

#include "host.h"
#include "options.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#ifdef __x86_64__
/* Not every compiler's __builtin_cpu_supports knows the name. */
static bool has_f16c(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && c >> 29 & 1;
}
#endif

static int best_isa(void)
{
#ifdef __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return CPU_V4;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2") && has_f16c())
        return CPU_V3;
#endif
    return CPU_BASE;
}

static int chosen_isa(void)
{
    int best = best_isa();
    int64_t wish = option_number(OPTION_CPU);
    return wish >= 0 && wish < best ? (int)wish : best;
}

enum cpu_isa cpu_isa(void)
{
    static _Atomic int known = -1;
    int isa = atomic_load_explicit(&known, memory_order_relaxed);
    if (isa < 0) {
        isa = chosen_isa();
        atomic_store_explicit(&known, isa, memory_order_relaxed);
    }
    return (enum cpu_isa)isa;
}

bool cpu_has_bf16(void)
{
#ifdef __x86_64__
    static _Atomic int known = -1;
    int has = atomic_load_explicit(&known, memory_order_relaxed);
    if (has < 0) {
        unsigned a = 0, b, c, d;
        has = cpu_isa() == CPU_V4 && __get_cpuid_count(7, 1, &a, &b, &c, &d) && a >> 5 & 1;
        atomic_store_explicit(&known, has, memory_order_relaxed);
    }
    return has;
#else
    return false;
#endif
}

int cpu_count(void)
{
    static _Atomic int known;
    int n = atomic_load_explicit(&known, memory_order_relaxed);
    if (n > 0)
        return n;
    cpu_set_t set;
    n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    int limit = host_cpu_quota();
    if (limit > 0 && limit < n)
        n = limit;
    const char *omp = getenv("OMP_NUM_THREADS");
    long wish = omp ? strtol(omp, NULL, 10) : 0;
    if (wish > 0 && wish < 1024)
        n = (int)wish;
    atomic_store_explicit(&known, n, memory_order_relaxed);
    return n;
}
