/* SPDX-License-Identifier: BSD-3-Clause */
/* What the CPU can do, and how many of it this process may use. */
#ifndef ANYNPU_BASE_CPU_H
#define ANYNPU_BASE_CPU_H

#include <stdbool.h>

enum cpu_isa { CPU_BASE, CPU_V3, CPU_V4 };

/* The level that kernels run at: the CPU's best, or less by the option ANYNPU_CPU=base|v3|v4. Constant in a process. */
enum cpu_isa cpu_isa(void);

/* Multiplies bf16 itself (AVX512_BF16). */
bool cpu_has_bf16(void);

/* Cores for computing: the affinity mask, cut by the cgroup's CPU quota and OMP_NUM_THREADS; ≥ 1. */
int cpu_count(void);

#endif
