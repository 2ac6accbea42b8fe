/* SPDX-License-Identifier: BSD-3-Clause */
/* The inside of a plan; ops/plan.h is its contract. Internal to libnnopbase.
 *
 * Life: op_prepare makes it (MAGIC_PLAN), op_launch hands it to a stream (MAGIC_PLAN_RUNNING), which frees it; a plan
 * that is never launched is freed by aclDestroyAclOpExecutor. A plan that a client made repeatable, or whose addresses
 * it changed, has a `again`: deep copies of the arguments, from which every launch prepares a new plan; so launches in
 * flight never see later changes. Used by one thread at a time. */
#ifndef ANYNPU_OPS_ENGINE_PLAN_H
#define ANYNPU_OPS_ENGINE_PLAN_H

#include "object.h"

struct plan_step {
    int (*run)(void *arg);
    void *arg;
};

/* A view in the workspace: its data is an offset until op_launch knows the address. */
struct plan_bound {
    struct view *view;
    struct plan_bound *next;
};

struct plan_chunk {
    struct plan_chunk *next;
    size_t mapped; /* bytes, when it came from mmap; 0: from malloc */
};

/* What is needed to prepare once more. arg holds copies, `given` what the client passed (to find a tensor again). */
struct plan_again {
    bool repeatable; /* survives a launch */
    union op_value *arg;
};

enum { PLAN_STEPS_INSIDE = 6 };

struct plan {
    struct object object;
    const struct op_row *row;
    union op_value *arg; /* as given */
    struct plan_again *again;
    int status; /* of the first plan_fail */
    int steps, step_room;
    struct plan_step *step;
    uint64_t work;
    size_t workspace;
    struct plan_bound *bound;
    const struct task_detail *detail; /* for the profiler, when it records */
    const char *addressless;          /* a parameter whose tensor has elements but no address */
    struct plan_chunk *chunks;
    char *free, *end; /* of the arena's current block */
    struct plan_step first_step[PLAN_STEPS_INSIDE];
    char inside[];
};

/* What the profiler is told of the tensors; memory of the plan. While the client's handles live. (describe.c) */
const struct task_detail *plan_describe(struct plan *plan);

/* Where some device saturates: the steps that keep to the current one's mode. While the client's handles live.
 * (saturate.c) */
void plan_saturate(struct plan *plan);

/* Where operators are dumped: a step before all others (call it first) and one after them. While the client's handles
 * live. (dump.c) */
struct plan_dump *plan_dump_before(struct plan *plan);
void plan_dump_after(struct plan *plan, struct plan_dump *dump);

/* A prepared plan or NULL with *status set. */
struct plan *plan_prepare(const struct op_row *row, const union op_value *arg, aclnnStatus *status);

/* Gives back all that it holds. Any state. */
void plan_free(struct plan *plan);

/* Makes plan->again when there is none yet. */
aclnnStatus plan_keep(struct plan *plan, const char *call);

#endif
