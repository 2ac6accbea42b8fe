/* SPDX-License-Identifier: BSD-3-Clause */
/* Asking whether a node can run, without running it: its aclnn operators are prepared, which checks types and shapes,
 * and thrown away. */
#include <stdlib.h>
#include <string.h>

#include "acl/acl.h"
#include "graph/operators/op.h"

struct rehearsal {
    struct context context; /* first */
    void **made;            /* descriptors */
    bool *is_list;
    size_t count, room;
    bool asked; /* for contents, which there are none of */
};

static void *keep(struct rehearsal *r, void *made, bool is_list)
{
    if (made && r->count == r->room) {
        size_t room = r->room ? 2 * r->room : 32;
        void **more = realloc(r->made, room * sizeof *more);
        bool *lists = more ? realloc(r->is_list, room * sizeof *lists) : NULL;
        r->made = more ? more : r->made;
        r->is_list = lists ? lists : r->is_list;
        if (!lists)
            return NULL; /* a descriptor is lost with the process's memory at its end */
        r->room = room;
    }
    if (made) {
        r->made[r->count] = made;
        r->is_list[r->count++] = is_list;
    }
    return made;
}

static aclTensor *view(struct context *context, const struct tensor *tensor, int32_t rank, const int64_t *dim,
                       const int64_t *stride, int64_t offset)
{
    int64_t dense[TYPE_RANK_MAX], size = 1;
    for (int32_t i = rank - 1; i >= 0; size *= dim[i--])
        dense[i] = size;
    return keep((struct rehearsal *)context,
                aclCreateTensor(dim, (uint64_t)rank, tensor->type.dtype, stride ? stride : dense, offset, ACL_FORMAT_ND,
                                tensor->type.dim, (uint64_t)tensor->type.rank, NULL),
                false);
}

static aclTensorList *list(struct context *context, const aclTensor *const *tensors, size_t n)
{
    struct rehearsal *r = (struct rehearsal *)context;
    aclTensorList *made = keep(r, aclCreateTensorList(tensors, n), true);
    for (size_t k = 0; made && k < n; k++)
        for (size_t i = 0; i < r->count; i++)
            if (r->made[i] == tensors[k] && !r->is_list[i])
                r->made[i] = NULL; /* goes with the list */
    return made;
}

static int launch(struct context *context, const struct launch *l)
{
    (void)context;
    if (l->status) {
        const char *text = aclGetRecentErrMsg();
        return graph_fail(GRAPH_UNSUPPORTED, "%s", text ? text : l->name);
    }
    aclDestroyAclOpExecutor(l->executor);
    return GRAPH_OK;
}

static int room(struct context *context, struct tensor *tensor)
{
    (void)context;
    tensor->device = NULL;
    return GRAPH_OK;
}

static int nothing_written(struct context *context, const struct tensor *tensor, const void *bytes)
{
    (void)context, (void)tensor, (void)bytes;
    return GRAPH_OK;
}

static int nothing_copied(struct context *context, const struct tensor *to, size_t to_offset, const struct tensor *from,
                          size_t from_offset, size_t bytes)
{
    (void)context, (void)to, (void)to_offset, (void)from, (void)from_offset, (void)bytes;
    return GRAPH_OK;
}

static int nothing_called(struct context *context, const char *name, int (*fn)(void *arg), const void *arg,
                          size_t bytes)
{
    (void)context, (void)name, (void)fn, (void)arg, (void)bytes;
    return GRAPH_OK;
}

static int no_contents(struct context *context, const struct tensor *tensor, void *bytes, size_t size)
{
    (void)tensor, (void)bytes, (void)size;
    ((struct rehearsal *)context)->asked = true;
    return graph_fail(GRAPH_FAILED, "contents are asked for");
}

static bool known(const struct tensor *const *t, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        if (t[i] && !type_known(&t[i]->type))
            return false;
    return true;
}

int op_check(const struct node *node, const struct tensor *table)
{
    size_t n_in = (size_t)node->n_in, n_out = (size_t)node->n_out;
    if (!node->row || !node->row->run)
        return GRAPH_OK;
    const struct tensor **in = calloc(n_in + 1, sizeof *in);
    struct tensor *results = calloc(n_out + 1, sizeof *results), **out = calloc(n_out + 1, sizeof *out);
    struct rehearsal r = {.context = {.view = view,
                                      .list = list,
                                      .launch = launch,
                                      .scratch = room,
                                      .output = room,
                                      .write = nothing_written,
                                      .copy = nothing_copied,
                                      .read = no_contents,
                                      .call = nothing_called}};
    int status = in && results && out ? GRAPH_OK : graph_fail(GRAPH_NO_MEMORY, "no memory");
    for (size_t i = 0; !status && i < n_in; i++)
        in[i] = node->in[i] == VALUE_NONE ? NULL : &table[node->in[i]];
    for (size_t i = 0; !status && i < n_out; i++) {
        if (node->out[i] == VALUE_NONE)
            continue;
        results[i] = table[node->out[i]];
        out[i] = &results[i];
    }
    bool sizes = node->row->flags & OPERATOR_SIZES;
    if (!status && known(in, node->n_in) && (sizes || known((const struct tensor *const *)out, node->n_out)))
        status = node->row->run(node, &r.context, in, out);
    for (size_t i = 0; i < r.count; i++)
        if (r.made[i] && r.is_list[i])
            aclDestroyTensorList(r.made[i]);
        else if (r.made[i])
            aclDestroyTensor(r.made[i]);
    free(r.made);
    free(r.is_list);
    free(in);
    free(results);
    free(out);
    return r.asked || status == GRAPH_NO_MEMORY ? GRAPH_OK : status;
}
