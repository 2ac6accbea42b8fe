/* SPDX-License-Identifier: BSD-3-Clause */
/* What kernel tests share, in the manner of dav1d's checkasm: every ISA level of a kernel against a slow, obvious
 * reference, on lengths 0..67, odd and zero strides, special values (NaN, Inf, -0, subnormals, extremes), with guard
 * bytes around every output and an unreadable page behind every buffer; all levels must give the same bits. With
 * --bench the same programs time the kernels (one line a kernel and level). A word as argument selects kernels whose
 * name contains it. --digest prints a number made of all base results, by which two architectures are compared.
 *
 *     int main(int argc, char **argv)
 *     {
 *         harness_begin(argc, argv);
 *         harness_loop(&(struct loop_test){.name = "add f32", .inputs = 2, .type = {ACL_FLOAT, ACL_FLOAT, ACL_FLOAT},
 *                                          .loop = HARNESS_LOOPS(elementwise_kernels, add_f32), .reference = ref_add});
 *         return harness_end();
 *     }
 *
 * Kernels of other shapes use the parts: harness_levels, harness_buffer, harness_random, harness_compare, harness_time.
 */
#ifndef ANYNPU_TESTS_KERNEL_HARNESS_H
#define ANYNPU_TESTS_KERNEL_HARNESS_H

#include "base/dtype.h"
#include "check.h"
#include "kernels/isa.h"
#include "kernels/loop.h"

enum { HARNESS_LEVELS_MAX = 3, HARNESS_OPERANDS = 8 };

void harness_begin(int argc, char **argv);
int harness_end(void); /* main's result */

/* Is this kernel selected on the command line? Tests of whole kernels begin with it. Also sets the name for messages.
 */
bool harness_wants(const char *name);
bool harness_benches(void); /* --bench */

/* ---- ISA levels ---- */

/* How many levels this CPU can run; their names. */
int harness_levels(void);
const char *harness_level_name(int level);

/* A kernel table's levels as an array of pointers to tables / of one member, index = level. */
#ifdef __x86_64__
#define HARNESS_TABLES(table)                                                                                          \
    {                                                                                                                  \
        &table##_base, &table##_v3, &table##_v4                                                                        \
    }
#define HARNESS_LOOPS(table, member)                                                                                   \
    {                                                                                                                  \
        table##_base.member, table##_v3.member, table##_v4.member                                                      \
    }
#else
#define HARNESS_TABLES(table)                                                                                          \
    {                                                                                                                  \
        &table##_base                                                                                                  \
    }
#define HARNESS_LOOPS(table, member)                                                                                   \
    {                                                                                                                  \
        table##_base.member                                                                                            \
    }
#endif

/* ---- data ---- */

/* `bytes` bytes that end right before an unreadable page and begin after guard bytes, filled with 0xa5. `which` < 32
 * names one of the harness's buffers: its former content is gone. */
char *harness_buffer(int which, size_t bytes);
/* Reports guard bytes of the buffer that were overwritten. */
void harness_guard(int which);

/* Same numbers in every run. */
uint64_t harness_random(void);
double harness_uniform(double low, double high);

/* Fills n elements, `step` bytes apart. Numbers come from [low, high] (low == high: the type's whole range, with
 * special values: NaN, ±Inf, ±0, subnormals, extremes, mixed in). Bools are 0 and 1. */
void harness_fill(aclDataType type, char *data, int64_t step, int64_t n, double low, double high);

/* An element as a number (any real type; bool is 0 or 1), and a number as an element, rounded to the type or, for
 * integers, cut off. */
double harness_value(aclDataType type, const char *at);
void harness_put(aclDataType type, char *at, double value);

/* ---- comparing ---- */

/* Elements got and want are n elements `step` apart; NaN equals NaN. ulp: how many units in the last place may lie
 * between (0: the same bits, but for the sign and payload of NaN). near: absolute difference that is fine anyway.
 * `context` goes into the message, which names the first element that differs. */
bool harness_compare(aclDataType type, const char *got, const char *want, int64_t step, int64_t n, double ulp,
                     double near, const char *context);

/* ---- loops ---- */

struct loop_test {
    const char *name;
    int inputs;                         /* operands 1..inputs; operand 0 is the output */
    aclDataType type[HARNESS_OPERANDS]; /* of the operands */
    walk_loop loop[HARNESS_LEVELS_MAX]; /* HARNESS_LOOPS(…) */
    walk_loop reference;                /* slow and obvious */
    const void *param;
    double ulp, near; /* against the reference; between levels always the same bits */
    double low[HARNESS_OPERANDS], high[HARNESS_OPERANDS]; /* of the inputs; 0, 0: everything */
    bool accumulates;                                     /* the output is also read: filled like an input first */
    bool no_alias;                                        /* the output may not be an input */
};

void harness_loop(const struct loop_test *test);

/* ---- time ---- */

/* With --bench: calls run(arg) until the time is known, prints nanoseconds a call and per element, and GB/s. */
void harness_time(const char *name, int level, void (*run)(void *arg), void *arg, int64_t elements, int64_t bytes);

#endif
