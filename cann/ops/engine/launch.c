/* SPDX-License-Identifier: BSD-3-Clause */
/* The two phases of every operator, and executors that clients use more than once. */
#include "base/futex.h"
#include "plan.h"

aclnnStatus op_prepare(const struct op_row *row, const union op_value *arg, uint64_t *workspace_size,
                       aclOpExecutor **executor)
{
    if (!workspace_size || !executor)
        return fail(ACLNN_ERR_PARAM_NULLPTR, "Expected a proper %s pointer but got null in %sGetWorkspaceSize.",
                    workspace_size ? "executor" : "workspaceSize", row->name);
    TRY(entry_check());
    aclnnStatus status;
    struct plan *plan = plan_prepare(row, arg, &status);
    if (plan)
        *workspace_size = plan->workspace;
    *executor = (aclOpExecutor *)plan;
    return status;
}

/* ---- running ---- */

static int run_one(void *arg)
{
    struct plan *plan = arg;
    return plan->step[0].run(plan->step[0].arg);
}

static int run_all(void *arg)
{
    struct plan *plan = arg;
    for (int i = 0; i < plan->steps; i++)
        TRY(plan->step[i].run(plan->step[i].arg));
    return 0;
}

static void release(void *arg)
{
    plan_free(arg);
}

/* The plan's temporaries get their addresses; -1 with a text when the client's workspace will not do. */
static aclnnStatus bind_workspace(struct plan *plan, void *workspace, uint64_t size)
{
    if (size < plan->workspace)
        return fail(ACLNN_ERR_PARAM_INVALID, "%s needs a workspace of %zu bytes, but got %lu.", plan->row->name,
                    plan->workspace, (unsigned long)size);
    if (!workspace && plan->workspace)
        return fail(ACLNN_ERR_PARAM_NULLPTR, "%s needs a workspace of %zu bytes, but got null.", plan->row->name,
                    plan->workspace);
    char *base = workspace ? device_address(workspace) : NULL; /* temporaries of no elements need none */
    for (struct plan_bound *b = plan->bound; b; b = b->next)
        b->view->data = base + ((uintptr_t)b->view->data & ~(UINT64_C(0xffff) << 48));
    return ACLNN_SUCCESS;
}

static aclnnStatus enqueue(struct plan *plan, void *workspace, uint64_t size, aclrtStream stream)
{
    if (plan->addressless)
        return fail(ACLNN_ERR_PARAM_NULLPTR, "Tensor %s of %s has elements, but its address is null.",
                    plan->addressless, plan->row->name);
    if (plan->workspace)
        TRY(bind_workspace(plan, workspace, size));
    plan->object.magic = MAGIC_PLAN_RUNNING;
    struct task task = {
        plan->steps == 1 ? run_one : run_all, release, plan, plan->work, {plan->row->name, NULL, plan->detail}};
    return stream_enqueue(stream, &task);
}

/* A launch of kept arguments: a plan of its own. */
static aclnnStatus enqueue_again(struct plan *kept, void *workspace, uint64_t size, aclrtStream stream)
{
    aclnnStatus status;
    struct plan *plan = plan_prepare(kept->row, kept->again->arg, &status);
    if (!plan)
        return status;
    status = enqueue(plan, workspace, size, stream);
    if (object_is(plan, MAGIC_PLAN)) /* refused before the stream took it */
        plan_free(plan);
    else if (!kept->again->repeatable)
        plan_free(kept);
    return status;
}

static aclnnStatus executor_check(const aclOpExecutor *executor, const char *call)
{
    if (!executor)
        return fail(ACLNN_ERR_PARAM_NULLPTR, "Expected a proper executor but got null in %s.", call);
    if (!object_is(executor, MAGIC_PLAN))
        return fail(ACLNN_ERR_PARAM_INVALID,
                    "%s was given an executor that was already launched or destroyed; only after "
                    "aclSetAclOpExecutorRepeatable can it be launched more than once.",
                    call);
    return ACLNN_SUCCESS;
}

aclnnStatus op_launch(const struct op_row *row, void *workspace, uint64_t workspace_size, aclOpExecutor *executor,
                      aclrtStream stream)
{
    TRY(executor_check(executor, row->name));
    struct plan *plan = (struct plan *)executor;
    if (plan->row != row)
        return fail(ACLNN_ERR_PARAM_INVALID, "%s was given an executor of %s.", row->name, plan->row->name);
    if (!trace_wanted(ANYNPU_TRACE_API))
        return plan->again ? enqueue_again(plan, workspace, workspace_size, stream)
                           : enqueue(plan, workspace, workspace_size, stream);
    int64_t begin = clock_ns();
    aclnnStatus status = plan->again ? enqueue_again(plan, workspace, workspace_size, stream)
                                     : enqueue(plan, workspace, workspace_size, stream);
    trace_api(row->name, begin, TRACE_LEVEL_NODE);
    return status;
}

/* ---- executors kept by clients ---- */

aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor *executor)
{
    TRY(executor_check(executor, "aclSetAclOpExecutorRepeatable"));
    struct plan *plan = (struct plan *)executor;
    TRY(plan_keep(plan, "aclSetAclOpExecutorRepeatable"));
    plan->again->repeatable = true;
    return ACLNN_SUCCESS;
}

aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor *executor)
{
    TRY(executor_check(executor, "aclDestroyAclOpExecutor"));
    plan_free((struct plan *)executor);
    return ACLNN_SUCCESS;
}

enum direction { INPUT = 1, OUTPUT = 2 };

/* The kept copy of the tensor (or list) that the client means: the one it passed to GetWorkspaceSize when it names one,
 * else the index-th of the direction. NULL with a text. */
static const union op_value *find(struct plan *plan, char kind, int directions, size_t index, const void *handle,
                                  const char *call)
{
    const struct op_row *row = plan->row;
    size_t seen = 0;
    for (int p = 0; p < row->params; p++) {
        bool fits = row->param[p].kind == kind && directions & (row->param[p].output ? OUTPUT : INPUT);
        if (!fits)
            continue;
        if (handle ? (const void *)plan->arg[p].tensor == handle : seen == index)
            if (plan->again->arg[p].tensor)
                return &plan->again->arg[p];
        seen++;
    }
    fail(ACLNN_ERR_PARAM_INVALID, "%s: %s has no such %s (index %zu of %zu).", call, row->name,
         kind == 'T' ? "tensor" : "tensor list", index, seen);
    return NULL;
}

static aclnnStatus set_address(aclOpExecutor *executor, int directions, size_t index, const aclTensor *tensor,
                               void *addr, const char *call)
{
    TRY(executor_check(executor, call));
    struct plan *plan = (struct plan *)executor;
    TRY(plan_keep(plan, call));
    const union op_value *arg = find(plan, 'T', directions, index, tensor, call);
    if (!arg)
        return ACLNN_ERR_PARAM_INVALID;
    tensor_set_address((aclTensor *)arg->tensor, addr);
    return ACLNN_SUCCESS;
}

static aclnnStatus set_element_address(aclOpExecutor *executor, int directions, size_t index, size_t element,
                                       const aclTensorList *list, void *addr, const char *call)
{
    TRY(executor_check(executor, call));
    struct plan *plan = (struct plan *)executor;
    TRY(plan_keep(plan, call));
    const union op_value *arg = find(plan, 'L', directions, index, list, call);
    if (!arg)
        return ACLNN_ERR_PARAM_INVALID;
    if (element >= arg->tensors->size || !arg->tensors->value[element])
        return fail(ACLNN_ERR_PARAM_INVALID, "%s: the list has no tensor %zu; it has %lu elements.", call, element,
                    (unsigned long)arg->tensors->size);
    tensor_set_address(arg->tensors->value[element], addr);
    return ACLNN_SUCCESS;
}

aclnnStatus aclSetInputTensorAddr(aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr)
{
    return set_address(executor, INPUT, index, tensor, addr, "aclSetInputTensorAddr");
}

aclnnStatus aclSetOutputTensorAddr(aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr)
{
    return set_address(executor, OUTPUT, index, tensor, addr, "aclSetOutputTensorAddr");
}

aclnnStatus aclSetTensorAddr(aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr)
{
    return set_address(executor, INPUT | OUTPUT, index, tensor, addr, "aclSetTensorAddr");
}

aclnnStatus aclSetDynamicInputTensorAddr(aclOpExecutor *executor, size_t irIndex, const size_t relativeIndex,
                                         aclTensorList *tensors, void *addr)
{
    return set_element_address(executor, INPUT, irIndex, relativeIndex, tensors, addr, "aclSetDynamicInputTensorAddr");
}

aclnnStatus aclSetDynamicOutputTensorAddr(aclOpExecutor *executor, size_t irIndex, const size_t relativeIndex,
                                          aclTensorList *tensors, void *addr)
{
    return set_element_address(executor, OUTPUT, irIndex, relativeIndex, tensors, addr,
                               "aclSetDynamicOutputTensorAddr");
}

aclnnStatus aclSetDynamicTensorAddr(aclOpExecutor *executor, size_t irIndex, const size_t relativeIndex,
                                    aclTensorList *tensors, void *addr)
{
    return set_element_address(executor, INPUT | OUTPUT, irIndex, relativeIndex, tensors, addr,
                               "aclSetDynamicTensorAddr");
}

aclnnStatus aclnnInit(const char *configPath)
{
    (void)configPath; /* nothing to configure; NULL and a path are both allowed */
    return entry_check();
}

aclnnStatus aclnnFinalize(void)
{
    return ACLNN_SUCCESS;
}
