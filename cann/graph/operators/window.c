/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading windows from attributes; see window.h. */
#include "graph/operators/window.h"

#include <string.h>

enum { NUMBER_MAX = 1 << 24 }; /* so that products of two and sums fit */

/* An attribute of n (or times n) integers, each at least `least`. */
static bool read(struct op *op, const char *name, int n, int64_t least, int64_t otherwise, int64_t *to)
{
    size_t count;
    const int64_t *list = op_ints(op, name, &count);
    for (int i = 0; i < n; i++)
        to[i] = otherwise;
    if (!list)
        return true;
    if (count != (size_t)n) {
        op_fail(op, GRAPH_INVALID, "%s has %zu entries, not %d", name, count, n);
        return false;
    }
    for (int i = 0; i < n; i++) {
        if (list[i] < least || list[i] > NUMBER_MAX) {
            op_fail(op, GRAPH_INVALID, "entry %d of %s is %lld", i, name, (long long)list[i]);
            return false;
        }
        to[i] = list[i];
    }
    return true;
}

static bool read_numbers(struct op *op, const struct operand *x, const int64_t *kernel, struct window *w)
{
    int64_t pads[2 * WINDOW_DIMS];
    w->n = x->rank - 2;
    if (w->n < 1 || w->n > WINDOW_DIMS) {
        op_fail(op, w->n < 1 ? GRAPH_INVALID : GRAPH_UNSUPPORTED, "takes 3 to 5 dimensions, not %d", x->rank);
        return false;
    }
    bool fine = read(op, "strides", w->n, 1, 1, w->stride) && read(op, "dilations", w->n, 1, 1, w->dilation) &&
                read(op, "pads", 2 * w->n, 0, 0, pads);
    if (kernel)
        memcpy(w->kernel, kernel, sizeof *kernel * (size_t)w->n);
    else
        fine = fine && read(op, "kernel_shape", w->n, 1, 0, w->kernel);
    for (int d = 0; fine && d < w->n; d++) {
        w->in[d] = x->dim[2 + d];
        w->before[d] = pads[d];
        w->after[d] = pads[w->n + d];
        if (w->kernel[d] < 1 || w->kernel[d] > NUMBER_MAX || w->in[d] > INT32_MAX) {
            op_fail(op, GRAPH_INVALID, "dimension %d of %lld with a kernel of %lld", d, (long long)w->in[d],
                    (long long)w->kernel[d]);
            fine = false;
        }
    }
    w->ceil = op_int(op, "ceil_mode", 0);
    return fine;
}

bool window_read(struct op *op, const struct operand *x, const int64_t *kernel, struct window *w)
{
    if (!read_numbers(op, x, kernel, w))
        return false;
    const char *automatic = op_string(op, "auto_pad", "NOTSET");
    for (int d = 0; d < w->n; d++) {
        int64_t reach = window_reach(w, d), stride = w->stride[d];
        if (strncmp(automatic, "SAME", 4) == 0) {
            w->out[d] = (w->in[d] + stride - 1) / stride;
            int64_t total = (w->out[d] - 1) * stride + reach - w->in[d], half = total > 0 ? total / 2 : 0;
            total = total > 0 ? total : 0;
            w->before[d] = strcmp(automatic, "SAME_LOWER") == 0 ? total - half : half;
            w->after[d] = total - w->before[d];
            continue;
        }
        if (strcmp(automatic, "VALID") == 0)
            w->before[d] = w->after[d] = 0;
        int64_t room = w->in[d] + w->before[d] + w->after[d] - reach;
        w->out[d] = room < 0 ? 0 : (room + (w->ceil ? stride - 1 : 0)) / stride + 1;
        if (w->ceil && (w->out[d] - 1) * stride >= w->in[d] + w->before[d])
            w->out[d]--; /* it would begin in the padding behind */
        if (room < 0 && w->in[d] != 0) {
            op_fail(op, GRAPH_INVALID, "a window of %lld does not fit into dimension %d of %lld", (long long)reach, d,
                    (long long)w->in[d]);
            return false;
        }
    }
    return true;
}

bool window_read_transposed(struct op *op, const struct operand *x, const int64_t *kernel, struct window *w)
{
    int64_t more[WINDOW_DIMS], size[WINDOW_DIMS];
    size_t given = 0;
    if (!read_numbers(op, x, kernel, w) || !read(op, "output_padding", w->n, 0, 0, more))
        return false;
    const int64_t *list = op_ints(op, "output_shape", &given);
    const char *automatic = op_string(op, "auto_pad", "NOTSET");
    bool same = strncmp(automatic, "SAME", 4) == 0, upper = strcmp(automatic, "SAME_UPPER") == 0;
    if (given == (size_t)w->n + 2) { /* with batch and channels */
        list += 2;
        given -= 2;
    }
    if (list && given != (size_t)w->n) {
        op_fail(op, GRAPH_INVALID, "output_shape has %zu entries, not %d", given, w->n);
        return false;
    }
    for (int d = 0; d < w->n; d++) {
        if (list && (list[d] < 0 || list[d] > INT32_MAX)) {
            op_fail(op, GRAPH_INVALID, "entry %d of output_shape is %lld", d, (long long)list[d]);
            return false;
        }
        int64_t full = (w->in[d] - 1) * w->stride[d] + window_reach(w, d) + more[d];
        size[d] = list ? list[d] : same ? w->in[d] * w->stride[d] : full - w->before[d] - w->after[d];
        if (list || same) {
            int64_t total = full - size[d], half = total >= 0 ? total / 2 : -((1 - total) / 2);
            w->before[d] = upper ? half : total - half;
            w->after[d] = total - w->before[d];
        }
        w->out[d] = size[d];
        if (w->out[d] < 1 || w->before[d] < 0) {
            op_fail(op, GRAPH_INVALID, "the output's dimension %d would be %lld", d, (long long)w->out[d]);
            return false;
        }
        if (w->after[d] < 0)
            w->after[d] = 0; /* the output goes on behind what the input reaches */
    }
    return true;
}

struct operand *window_flat(struct op *op, struct operand *t)
{
    return t->rank == 3 ? op_unsqueeze(op, t, 2) : t;
}
