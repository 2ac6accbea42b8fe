/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the dense loops over operands of any stride and type: a block of elements at a time is gathered and converted
 * into buffers on the stack, computed, and converted back. What is dense and of the loop's type is used where it is. */
#include "kernels/elementwise.h"

#include <string.h>

#include "kernels/half.h"

enum { BLOCK = 512, WIDEST = 16 };

typedef char buffer[BLOCK * WIDEST];

static void convert(int64_t n, char *to, int64_t to_step, const char *from, int64_t from_step,
                    const struct copy_cast *c)
{
    char *const data[] = {to, (char *)from};
    const int64_t step[] = {to_step, from_step};
    ISA(copy_kernels).cast(n, data, step, c);
}

static inline void load(int64_t n, char *to, const char *from, int64_t step, const struct elementwise_operand *operand)
{
    if (operand->half && step == operand->memory) {
        half_load(operand->half, n, (float *)to, (const uint16_t *)from);
    } else if (operand->same) {
        ISA(copy_kernels).move((size_t)operand->size, n, to, operand->size, from, step);
    } else if (operand->twice) {
        _Alignas(64) buffer middle;
        convert(n, middle, operand->middle, from, step, &operand->first);
        convert(n, to, operand->size, middle, operand->middle, &operand->second);
    } else {
        convert(n, to, operand->size, from, step, &operand->first);
    }
}

static inline void store(int64_t n, char *to, int64_t step, const char *from, const struct elementwise_operand *operand)
{
    if (operand->half && step == operand->memory) {
        half_store(operand->half, n, (uint16_t *)to, (const float *)from);
    } else if (operand->same) {
        ISA(copy_kernels).move((size_t)operand->size, n, to, step, from, operand->size);
    } else if (operand->twice) {
        _Alignas(64) buffer middle;
        convert(n, middle, operand->middle, from, operand->size, &operand->first);
        convert(n, to, step, middle, operand->middle, &operand->second);
    } else {
        convert(n, to, step, from, operand->size, &operand->first);
    }
}

static void run_blocks(int64_t n, char *const *data, const int64_t *step, const struct elementwise_block *b,
                       unsigned repeat)
{
    _Alignas(64) buffer held[ELEMENTWISE_OPERANDS];
    char *at[ELEMENTWISE_OPERANDS];
    int64_t stride[ELEMENTWISE_OPERANDS];
    bool direct[ELEMENTWISE_OPERANDS];
    int64_t first = n < BLOCK ? n : BLOCK;
    for (int k = 0; k < b->operands; k++) {
        const struct elementwise_operand *operand = &b->operand[k];
        direct[k] = operand->same && step[k] == operand->size;
        stride[k] = operand->size;
        at[k] = held[k];
        if (k && step[k] == 0) { /* once for all blocks */
            bool one = repeat >> k & 1;
            stride[k] = one ? 0 : operand->size;
            if (one && b->half && operand->size != sizeof(float))
                half_load(b->half, 1, (float *)held[k], (const uint16_t *)data[k]);
            else
                load(one ? 1 : first, held[k], data[k], 0, operand);
        }
    }
    for (int64_t begin = 0; begin < n; begin += BLOCK) {
        int64_t m = n - begin < BLOCK ? n - begin : BLOCK;
        for (int k = 0; k < b->operands; k++) {
            char *memory = data[k] + begin * step[k];
            if (direct[k])
                at[k] = memory;
            else if (k && step[k] != 0)
                load(m, held[k], memory, step[k], &b->operand[k]);
        }
        b->loop(m, at, stride, b->param);
        if (!direct[0])
            store(m, data[0] + begin * step[0], step[0], held[0], &b->operand[0]);
    }
}

static void block(int64_t n, char *const *data, const int64_t *step, const void *param)
{
    const struct elementwise_block *b = param;
    unsigned repeat = 0;
    bool straight = true;
    for (int k = 1; k < b->operands; k++)
        if (step[k] == 0 && b->repeat >> k & 1 && (!repeat || (b->half && b->operand[k].size == sizeof(float))))
            repeat = 1u << k;
    for (int k = 0; k < b->operands; k++) {
        const struct elementwise_operand *operand = &b->operand[k];
        bool fits = repeat >> k & 1 ? !b->half || operand->size == sizeof(float) : step[k] == operand->size;
        straight = straight && operand->same && fits;
    }
    if (straight)
        b->loop(n, data, step, b->param);
    else
        run_blocks(n, data, step, b, repeat);
}

const struct elementwise_kernels ISA(elementwise_kernels) = {
    {&ISA(unary_kernels), &ISA(binary_kernels), &ISA(compare_kernels), &ISA(activation_kernels), &ISA(gradient_kernels),
     &ISA(ternary_kernels), &ISA(special_kernels), &ISA(special2_kernels)},
    block,
};
