/* SPDX-License-Identifier: BSD-3-Clause */
/* Folding: the context whose launches run at once. A node's inputs go to device memory, its results come back to the
 * host and stay in the fold's list; device memory lives as long as the node's turn. One thread. */
#include "graph/fold.h"

#include <stdlib.h>
#include <string.h>

#include "acl/acl.h"
#include "base/dtype.h"
#include "runtime/door.h"

/* Things to be given back: device memory, descriptors, host results. */
struct list {
    void **items;
    size_t count, room;
};

struct fold {
    struct context context; /* first: the context is the fold */
    aclrtStream stream;
    size_t limit;
    struct list device, tensors, lists, results;
};

static bool keep(struct list *list, void *item)
{
    if (list->count == list->room) {
        size_t room = list->room ? 2 * list->room : 32;
        void **items = realloc(list->items, room * sizeof *items);
        if (!items)
            return false;
        list->items = items;
        list->room = room;
    }
    list->items[list->count++] = item;
    return true;
}

static int told_by_acl(const char *what)
{
    const char *text = aclGetRecentErrMsg();
    return graph_fail(GRAPH_FAILED, "%s failed: %s", what, text ? text : "no reason was given");
}

static int allocate(struct fold *fold, struct tensor *tensor)
{
    int64_t bytes = type_bytes(&tensor->type);
    if (bytes < 0)
        return graph_fail(GRAPH_UNSUPPORTED, "a tensor of unknown size");
    void *memory = NULL;
    if (aclrtMalloc(&memory, bytes ? (size_t)bytes : 1, ACL_MEM_MALLOC_NORMAL_ONLY))
        return told_by_acl("aclrtMalloc");
    if (!keep(&fold->device, memory)) {
        aclrtFree(memory);
        return graph_fail(GRAPH_NO_MEMORY, "no memory");
    }
    tensor->device = memory;
    return GRAPH_OK;
}

static int fold_allocate(struct context *context, struct tensor *tensor)
{
    return allocate((struct fold *)context, tensor);
}

static aclTensor *fold_view(struct context *context, const struct tensor *tensor, int32_t rank, const int64_t *dim,
                            const int64_t *stride, int64_t offset)
{
    struct fold *fold = (struct fold *)context;
    int64_t dense[TYPE_RANK_MAX], size = 1;
    for (int32_t i = rank - 1; i >= 0; size *= dim[i--])
        dense[i] = size;
    aclTensor *made = aclCreateTensor(dim, (uint64_t)rank, tensor->type.dtype, stride ? stride : dense, offset,
                                      ACL_FORMAT_ND, tensor->type.dim, (uint64_t)tensor->type.rank, tensor->device);
    if (made && !keep(&fold->tensors, made)) {
        aclDestroyTensor(made);
        made = NULL;
    }
    return made;
}

/* A list destroys its tensors. */
static aclTensorList *fold_list(struct context *context, const aclTensor *const *tensors, size_t n)
{
    struct fold *fold = (struct fold *)context;
    aclTensorList *made = aclCreateTensorList(tensors, n);
    if (made && !keep(&fold->lists, made)) {
        aclDestroyTensorList(made);
        made = NULL;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = fold->tensors.count; made && j-- > 0;)
            if (fold->tensors.items[j] == tensors[i]) {
                fold->tensors.items[j] = fold->tensors.items[--fold->tensors.count];
                break;
            }
    return made;
}

static int fold_launch(struct context *context, const struct launch *launch)
{
    struct fold *fold = (struct fold *)context;
    if (launch->status)
        return told_by_acl(launch->name);
    struct tensor workspace = {.type = type_make(ACL_UINT8, 1, (int64_t[]){(int64_t)launch->workspace})};
    if (launch->workspace)
        GRAPH_TRY(allocate(fold, &workspace));
    return launch->run(workspace.device, launch->workspace, launch->executor, fold->stream) ? told_by_acl(launch->name)
                                                                                            : GRAPH_OK;
}

static int fold_write(struct context *context, const struct tensor *tensor, const void *bytes)
{
    struct fold *fold = (struct fold *)context;
    size_t size = (size_t)type_bytes(&tensor->type);
    if (size == 0)
        return GRAPH_OK;
    if (aclrtSynchronizeStream(fold->stream) ||
        aclrtMemcpy(tensor->device, size, bytes, size, ACL_MEMCPY_HOST_TO_DEVICE))
        return told_by_acl("aclrtMemcpy");
    return GRAPH_OK;
}

static int fold_read(struct context *context, const struct tensor *tensor, void *bytes, size_t size)
{
    struct fold *fold = (struct fold *)context;
    if (aclrtSynchronizeStream(fold->stream) ||
        (size && aclrtMemcpy(bytes, size, tensor->device, size, ACL_MEMCPY_DEVICE_TO_HOST)))
        return told_by_acl("aclrtMemcpy");
    return GRAPH_OK;
}

static int fold_copy(struct context *context, const struct tensor *to, size_t to_offset, const struct tensor *from,
                     size_t from_offset, size_t bytes)
{
    struct fold *fold = (struct fold *)context;
    if (bytes && aclrtMemcpyAsync((char *)to->device + to_offset, bytes, (char *)from->device + from_offset, bytes,
                                  ACL_MEMCPY_DEVICE_TO_DEVICE, fold->stream))
        return told_by_acl("aclrtMemcpyAsync");
    return GRAPH_OK;
}

static int fold_call(struct context *context, const char *name, int (*fn)(void *arg), const void *arg, size_t bytes)
{
    struct fold *fold = (struct fold *)context;
    void *copy = malloc(bytes ? bytes : 1);
    if (!copy)
        return graph_fail(GRAPH_NO_MEMORY, "no memory");
    memcpy(copy, arg, bytes);
    struct task task = {.run = fn, .release = free, .arg = copy, .note = {.name = name}};
    return stream_enqueue(fold->stream, &task) || aclrtSynchronizeStream(fold->stream) ? told_by_acl(name) : GRAPH_OK;
}

struct fold *fold_new(aclrtStream stream, size_t limit)
{
    struct fold *fold = calloc(1, sizeof *fold);
    if (fold)
        *fold = (struct fold){.context = {.view = fold_view,
                                          .list = fold_list,
                                          .launch = fold_launch,
                                          .scratch = fold_allocate,
                                          .output = fold_allocate,
                                          .write = fold_write,
                                          .copy = fold_copy,
                                          .read = fold_read,
                                          .call = fold_call},
                              .stream = stream,
                              .limit = limit};
    return fold;
}

/* What the node's turn took. */
static void settle(struct fold *fold)
{
    for (size_t i = 0; i < fold->lists.count; i++)
        aclDestroyTensorList(fold->lists.items[i]);
    for (size_t i = 0; i < fold->tensors.count; i++)
        aclDestroyTensor(fold->tensors.items[i]);
    for (size_t i = 0; i < fold->device.count; i++)
        aclrtFree(fold->device.items[i]);
    fold->lists.count = fold->tensors.count = fold->device.count = 0;
}

void fold_free(struct fold *fold)
{
    if (!fold)
        return;
    settle(fold);
    for (size_t i = 0; i < fold->results.count; i++)
        free(fold->results.items[i]);
    free(fold->results.items);
    free(fold->tensors.items);
    free(fold->lists.items);
    free(fold->device.items);
    free(fold);
}

/* All that the node needs is known. */
static bool foldable(const struct fold *fold, const struct node *node, const struct tensor *table)
{
    const struct operator_row *row = node->row;
    if (row->flags & (OPERATOR_RANDOM | OPERATOR_CONTROL))
        return false;
    for (int32_t i = 0; i < node->n_in; i++) {
        const struct tensor *in = node->in[i] == VALUE_NONE ? NULL : &table[node->in[i]];
        if (in && !(row->flags & OPERATOR_SHAPE ? type_known(&in->type) : in->host && type_known(&in->type)))
            return false;
    }
    for (int32_t i = 0; i < node->n_out; i++) {
        const struct type *out = node->out[i] == VALUE_NONE ? NULL : &table[node->out[i]].type;
        if (!out || (row->flags & OPERATOR_SIZES && out->kind == TYPE_TENSOR))
            continue;
        int64_t bytes = type_known(out) ? type_bytes(out) : -1;
        if (bytes < 0 || (!(row->flags & OPERATOR_VIEW) && (size_t)bytes > fold->limit))
            return false;
    }
    return true;
}

static int compute(struct fold *fold, const struct node *node, struct tensor *table, struct tensor *in,
                   const struct tensor **ins, struct tensor *out, struct tensor **outs)
{
    const struct operator_row *row = node->row;
    for (int32_t i = 0; i < node->n_in; i++) {
        if (node->in[i] == VALUE_NONE)
            continue;
        in[i] = table[node->in[i]];
        ins[i] = &in[i];
        if (in[i].host) {
            GRAPH_TRY(allocate(fold, &in[i]));
            GRAPH_TRY(fold_write(&fold->context, &in[i], in[i].host));
        }
    }
    for (int32_t i = 0; i < node->n_out; i++) {
        if (node->out[i] == VALUE_NONE)
            continue;
        out[i] = table[node->out[i]];
        outs[i] = &out[i];
        if (!(row->flags & OPERATOR_SIZES))
            GRAPH_TRY(allocate(fold, &out[i]));
    }
    GRAPH_TRY(row->run(node, &fold->context, ins, outs));
    for (int32_t i = 0; i < node->n_out; i++) {
        if (!outs[i])
            continue;
        int64_t bytes = type_bytes(&out[i].type);
        void *host = bytes < 0 ? NULL : aligned_alloc(64, ((size_t)bytes + 64) & ~(size_t)63);
        if (!host || !keep(&fold->results, host)) {
            free(host);
            return graph_fail(GRAPH_NO_MEMORY, "no memory for a folded result");
        }
        GRAPH_TRY(fold_read(&fold->context, &out[i], host, (size_t)bytes));
        table[node->out[i]].type = out[i].type;
        table[node->out[i]].host = host;
    }
    return GRAPH_OK;
}

int fold_node(struct fold *fold, const struct node *node, struct tensor *table)
{
    if (!foldable(fold, node, table))
        return GRAPH_OK;
    if (node->row->flags & OPERATOR_VIEW) {
        table[node->out[0]].host = table[node->in[0]].host;
        return GRAPH_OK;
    }
    size_t n_in = (size_t)node->n_in + 1, n_out = (size_t)node->n_out + 1;
    struct tensor *in = calloc(n_in, sizeof *in), *out = calloc(n_out, sizeof *out);
    const struct tensor **ins = calloc(n_in, sizeof *ins);
    struct tensor **outs = calloc(n_out, sizeof *outs);
    int status = in && out && ins && outs ? compute(fold, node, table, in, ins, out, outs)
                                          : graph_fail(GRAPH_NO_MEMORY, "no memory");
    free(in);
    free(out);
    free(ins);
    free(outs);
    settle(fold);
    return status;
}
