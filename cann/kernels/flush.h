/* SPDX-License-Identifier: BSD-3-Clause */
/* A mode of the calling thread in which numbers too small for a normal float count as zero, read or made. What
 * multiplies bf16 in hardware always works so; kernels that give its bits without it switch the mode on while they
 * compute. */
#ifndef ANYNPU_KERNELS_FLUSH_H
#define ANYNPU_KERNELS_FLUSH_H

#include <stdint.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

/* Returns what flush_end wants. */
static inline uint64_t flush_begin(void)
{
#if defined __x86_64__
    unsigned mode = _mm_getcsr();
    _mm_setcsr(mode | 0x8040u);
    return mode;
#elif defined __aarch64__
    uint64_t mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    __asm__ volatile("msr fpcr, %0" : : "r"(mode | UINT64_C(1) << 24) : "memory");
    return mode;
#else
#error "flush_begin: how is this processor told to flush small numbers?"
#endif
}

static inline void flush_end(uint64_t mode)
{
#if defined __x86_64__
    _mm_setcsr((unsigned)mode);
#elif defined __aarch64__
    __asm__ volatile("msr fpcr, %0" : : "r"(mode) : "memory");
#endif
}

#endif
