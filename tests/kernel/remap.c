/* SPDX-License-Identifier: BSD-3-Clause */
/* Moves by position and their gradient, against index arithmetic one element at a time: steps, tables, fill values and
 * runs, ranks 1 to 4, rows of 0 to 67 elements, work cut at any place; the same bits at every level. */
#include "harness.h"
#include "kernels/remap.h"

static const struct remap_kernels *const tables[] = HARNESS_TABLES(remap_kernels);
enum { COUNT_MAX = 70, RANK_MAX = 4, LISTS = 256 };

static int64_t out_table[RANK_MAX][COUNT_MAX], in_table[RANK_MAX][COUNT_MAX];
static struct remap_run run[COUNT_MAX];

static int64_t pick(int64_t n)
{
    return (int64_t)(harness_random() % (uint64_t)n);
}

/* Makes dimension d of `count` elements; the output's places are `stride` apart, the input's lie in [0, span). Returns
 * the dimension's extent in the output. */
static int64_t make_dim(struct remap_dim *d, int k, int64_t count, int64_t stride, int64_t span, int kind)
{
    *d = (struct remap_dim){count, stride, kind % 4 == 1 ? -1 : kind % 4 == 2 ? 0 : 1, NULL, NULL};
    for (int64_t i = 0; i < count; i++) {
        out_table[k][i] = (count - 1 - i) * stride;
        in_table[k][i] = pick(4) ? pick(span) : REMAP_FILL;
    }
    if (kind % 4 == 3)
        d->in_at = in_table[k];
    if (kind % 5 == 4)
        d->out_at = out_table[k];
    return count * stride;
}

/* The innermost table as runs of consecutive inputs or of fill. */
static int64_t make_runs(struct remap_dim *d, int k, int64_t span)
{
    int64_t runs = 0;
    for (int64_t i = 0; i < d->count; runs++) {
        int64_t length = 1 + pick(d->count - i < span ? d->count - i : span),
                from = pick(3) ? pick(span - length + 1) : REMAP_FILL;
        run[runs] = (struct remap_run){i, length, from};
        for (int64_t j = 0; j < length; j++, i++)
            in_table[k][i] = from == REMAP_FILL ? REMAP_FILL : from + j;
    }
    d->in_at = in_table[k];
    return runs;
}

static void reference(const struct remap *r, int64_t element, char *out)
{
    int64_t rest = element, to = 0, from = 0;
    bool fill = false;
    for (int k = r->rank - 1; k >= 0; k--) {
        const struct remap_dim *d = &r->dim[k];
        int64_t i = rest % d->count, at = d->in_at ? d->in_at[i] : i * d->in_step;
        rest /= d->count;
        to += d->out_at ? d->out_at[i] : i * d->out_step;
        fill |= at == REMAP_FILL;
        from += at == REMAP_FILL ? 0 : at;
    }
    memcpy(out + to * r->size, fill ? (const char *)r->fill : r->in + from * r->size, (size_t)r->size);
}

static void one_remap(int32_t size, int rank, int64_t n, int kind, bool runs)
{
    struct remap r = {.rank = rank, .size = size};
    int64_t extent = 1, elements = 1, low = 0, high = 0, span = n + 3;
    for (int k = rank - 1; k >= 0; k--) {
        int64_t count = k == rank - 1 ? n : 1 + pick(3),
                gap = extent + (k == rank - 1 ? (runs ? 0 : kind % 3 == 1) : 0);
        extent = make_dim(&r.dim[k], k, count, gap, span, runs && k == rank - 1 ? 0 : kind + k);
        elements *= count;
    }
    if (runs) {
        r.runs = make_runs(&r.dim[rank - 1], rank - 1, span);
        r.run = run;
    }
    for (int k = 0; k < rank; k++) { /* the reach of the input */
        const struct remap_dim *d = &r.dim[k];
        int64_t reach = d->in_at ? span - 1 : (d->count - 1) * d->in_step;
        low += reach < 0 ? reach : 0, high += reach > 0 ? reach : 0;
    }
    char *in = harness_buffer(0, (size_t)((high - low + 1) * size)), context[96];
    harness_fill(ACL_UINT8, in, 1, (high - low + 1) * size, 0, 0);
    r.in = in - low * size;
    for (int i = 0; i < 16; i++)
        r.fill[i] = (unsigned char)(0x30 + i);
    size_t bytes = (size_t)(extent * size);
    char *want = harness_buffer(1, bytes);
    int64_t cut = elements ? pick(elements) : 0;
    for (int64_t i = 0; i < elements; i++)
        reference(&r, i, want);
    for (int level = 0; level < harness_levels(); level++) {
        r.out = harness_buffer(2, bytes);
        if (cut)
            tables[level]->remap(&r, 0, cut);
        if (elements)
            tables[level]->remap(&r, cut, elements);
        harness_guard(2);
        snprintf(context, sizeof context, "%s, rank %d, row %d, kind %d%s", harness_level_name(level), rank, (int)n,
                 kind, runs ? ", runs" : "");
        harness_compare(ACL_UINT8, r.out, want, 1, (int64_t)bytes, 0, 0, context);
    }
}

/* ---- fold ---- */

static int64_t first[RANK_MAX][COUNT_MAX + 1], places[RANK_MAX][LISTS];

static void add(aclDataType type, double *sum, float *sum_f32, uint64_t *bits, const char *at)
{
    int64_t v = 0;
    if (type == ACL_DOUBLE)
        *sum += harness_value(type, at);
    else if (dtype_is_float(type))
        *sum_f32 += (float)harness_value(type, at);
    else if (type == ACL_INT64)
        memcpy(&v, at, 8), *bits += (uint64_t)v;
    else
        *bits += (uint64_t)(int64_t)harness_value(type, at);
}

static void one_fold(aclDataType type, int rank, int64_t n, int kind)
{
    struct fold f = {.rank = rank, .dtype = type};
    int64_t size = (int64_t)dtype_size(type), span = 1, extent = 1, rows = 1;
    for (int k = rank - 1; k >= 0; k--) {
        struct fold_dim *d = &f.dim[k];
        int64_t count = k == rank - 1 ? n : 1 + pick(3), lists = 0;
        *d = (struct fold_dim){count, extent, 1 + k % 2, NULL, NULL};
        extent *= count;
        rows *= k == rank - 1 ? 1 : count;
        if ((kind >> k) & 1) {
            for (int64_t i = 0; i < count; i++) {
                first[k][i] = lists;
                for (int64_t m = pick(4); m > 0; m--)
                    places[k][lists++] = pick(count + 1);
            }
            first[k][count] = lists;
            d->first = first[k], d->at = places[k];
        }
        span += 2 * (count + 1);
    }
    char *in = harness_buffer(0, (size_t)(span * size)), *want = harness_buffer(1, (size_t)(extent * size)),
         context[96];
    harness_fill(type, in, size, span, dtype_is_float(type) ? -8 : 0, dtype_is_float(type) ? 8 : 0);
    f.in = in;
    for (int64_t e = 0; e < extent; e++) {
        int64_t index[RANK_MAX], turn[RANK_MAX] = {0}, rest = e;
        double sum = 0;
        float sum_f32 = 0;
        uint64_t bits = 0;
        bool empty = false;
        for (int k = rank - 1; k >= 0; k--) {
            index[k] = rest % f.dim[k].count, rest /= f.dim[k].count;
            empty |= f.dim[k].first && f.dim[k].first[index[k]] == f.dim[k].first[index[k] + 1];
        }
        for (bool more = !empty; more;) { /* all combinations of the dimensions' lists, the last fastest */
            int64_t at = 0;
            for (int k = 0; k < rank; k++)
                at += f.dim[k].first ? f.dim[k].at[f.dim[k].first[index[k]] + turn[k]] : index[k] * f.dim[k].in_step;
            add(type, &sum, &sum_f32, &bits, in + at * size);
            int k = rank - 1;
            for (; k >= 0; k--) {
                int64_t choices = f.dim[k].first ? f.dim[k].first[index[k] + 1] - f.dim[k].first[index[k]] : 1;
                if (++turn[k] < choices)
                    break;
                turn[k] = 0;
            }
            more = k >= 0;
        }
        if (dtype_is_float(type))
            harness_put(type, want + e * size, type == ACL_DOUBLE ? sum : (double)sum_f32);
        else
            memcpy(want + e * size, &bits, (size_t)size);
    }
    for (int level = 0; level < harness_levels(); level++) {
        f.out = harness_buffer(2, (size_t)(extent * size));
        tables[level]->fold(&f, 0, rows / 2);
        tables[level]->fold(&f, rows / 2, rows);
        harness_guard(2);
        snprintf(context, sizeof context, "%s, rank %d, row %d, kind %d", harness_level_name(level), rank, (int)n,
                 kind);
        harness_compare(type, f.out, want, size, extent, 0, 0, context);
    }
}

int main(int argc, char **argv)
{
    static const aclDataType types[] = {ACL_FLOAT, ACL_DOUBLE, ACL_FLOAT16, ACL_BF16, ACL_INT8,
                                        ACL_UINT8, ACL_INT16,  ACL_INT32,   ACL_INT64};
    char name[40];
    harness_begin(argc, argv);
    for (int32_t size = 1; size <= 16; size *= 2) {
        snprintf(name, sizeof name, "remap %d", size);
        if (harness_wants(name))
            for (int64_t n = 1; n <= 67; n++)
                for (int kind = 0; kind < 20; kind++) {
                    one_remap(size, 1 + kind % RANK_MAX, n, kind, false);
                    one_remap(size, 1 + kind % RANK_MAX, n, kind, true);
                }
    }
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        snprintf(name, sizeof name, "fold %s", dtype_name(types[t]));
        if (harness_wants(name))
            for (int64_t n = 1; n <= 67; n += n % 3 + 1)
                for (int kind = 0; kind < 16; kind++)
                    one_fold(types[t], 1 + kind % 3, n, kind);
    }
    return harness_end();
}
