/* SPDX-License-Identifier: BSD-3-Clause */
/* One source, several ISA levels: each kernels/x.c is compiled per level with KERNEL_ISA = base, v3 or v4 and defines
 * one function table, `const struct x_kernels ISA(x_kernels)`. x.h declares them all with ISA_DECLARE(struct x_kernels,
 * x_kernels); callers take ISA_PICK(x_kernels), the best level that the CPU has and ANYNPU_CPU allows.
 * Results must not depend on the level: no contraction, explicit fma(), a fixed number of lanes in every reduction. */
#ifndef ANYNPU_KERNELS_ISA_H
#define ANYNPU_KERNELS_ISA_H

#include "base/cpu.h"

#define ISA_PASTE_(a, b) a##_##b
#define ISA_PASTE(a, b)  ISA_PASTE_(a, b)
#ifdef KERNEL_ISA
#define ISA(name) ISA_PASTE(name, KERNEL_ISA)
#endif

#ifdef __x86_64__
#define ISA_DECLARE(type, name) extern type name##_base, name##_v3, name##_v4
#define ISA_PICK(name)          (cpu_isa() == CPU_V4 ? &name##_v4 : cpu_isa() == CPU_V3 ? &name##_v3 : &name##_base)
#else
#define ISA_DECLARE(type, name) extern type name##_base
#define ISA_PICK(name)          (&name##_base)
#endif

#endif
