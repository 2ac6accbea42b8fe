/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of views; see gemm.h. A product of matrices is cut into tiles of at most ROWS rows; every tile packs the
 * panel of b that it needs on its stack, so nothing is shared and nothing allocated. Vectors go another way, straight
 * through memory. */
#include "ops/gemm.h"

enum {
    ROWS = 504,         /* of a in one tile; a multiple of every mr */
    STAYS = 660000,     /* bytes of a in one tile, so that they stay in the second cache */
    DIRECT_ROWS = 144,  /* with fewer rows packing b costs more than it gives */
    ALONE = 1000000,    /* operations not worth a second thread */
    TILE = 2000000,     /* operations of a tile, at least */
    GEMV_BYTES = 65536, /* of the matrix in one piece */
    GEMV_WIDE = 256,    /* rows in one piece where rows are adjacent */
    GEMV_WIDEST = 1024,
    SEGMENT = 16384 /* elements of a long dot product summed by themselves */
};

/* A plan's product; dimension d of the batch moves operand x by x.stride[d]. */
struct job {
    struct view *a, *b, *c;
    const struct view *cin; /* c's rank, or NULL */
    int32_t batch;          /* dimensions */
    int64_t count;          /* products */
    struct gemm one;        /* without addresses */
    struct gemm_tiles tiles;
    int64_t rows, pieces; /* of vectors: rows in a piece, pieces of a product */
    struct gemm_integers integers;
    struct gemv vector;
    double *part; /* sums of a long dot product's segments */
};

static int64_t max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t parts(int64_t n, int64_t size)
{
    return (n + size - 1) / size;
}

/* ---- inside a step ---- */

static char *batch_at(const struct view *v, int32_t batch, int64_t index)
{
    int64_t offset = 0;
    for (int32_t d = batch; d-- > 0; index /= v->dim[d])
        offset += index % v->dim[d] * v->stride[d];
    return v->data + offset * (int64_t)dtype_size(v->dtype);
}

/* Where gemm_pack lays what b has from row p (the first of a stretch) and column j (the first of a panel) on. */
static inline char *packed_at(const struct gemm *g, const char *panels, int64_t p, int64_t j)
{
    int64_t nr = g->kernels->nr, depth = gemm_stretch(g->k, g->kernels->kc);
    return (char *)panels + (p * parts(g->n, nr) * nr + j * min(g->k - p, depth)) * (int64_t)dtype_size(g->kernels->b);
}

size_t gemm_pack_bytes(const struct gemm *g)
{
    int64_t nr = g->kernels->nr;
    return (size_t)(g->k * parts(g->n, nr) * nr) * dtype_size(g->kernels->b);
}

void gemm_pack(const struct gemm *g, char *to, int64_t first, int64_t last)
{
    int64_t nr = g->kernels->nr, j0 = first * nr, j1 = min(g->n, last * nr), depth = gemm_stretch(g->k, g->kernels->kc);
    for (int64_t p = 0; p < g->k; p += depth)
        g->kernels->pack(packed_at(g, to, p, j0),
                         g->b + (p * g->b_rs + j0 * g->b_cs) * (int64_t)dtype_size(g->kernels->b), g->b_rs, g->b_cs,
                         min(g->k - p, depth), j1 - j0);
}

static inline __attribute__((always_inline)) void part(const struct gemm *g, int64_t i0, int64_t i1, int64_t j0,
                                                       int64_t j1, char *panel)
{
    const struct gemm_kernels *kernels = g->kernels;
    const int64_t size_a = (int64_t)dtype_size(kernels->a), size_b = (int64_t)dtype_size(kernels->b),
                  size = (int64_t)dtype_size(kernels->sum), size_c = g->c_half ? 2 : size;
    int nr = kernels->nr;
    bool direct = !g->packed && g->b_cs == 1 && i1 - i0 <= DIRECT_ROWS && kernels->b == kernels->sum;
    struct gemm_block block = {
        .m = i1 - i0, .a_rs = g->a_rs, .a_cs = g->a_cs, .c_rs = g->c_rs, .alpha = g->alpha, .c_half = g->c_half};
    int64_t depth = gemm_stretch(g->k, kernels->kc);
    for (int64_t p = 0; p == 0 || p < g->k; p += depth) {
        block.k = min(g->k - p, depth);
        block.a = g->a + (i0 * g->a_rs + p * g->a_cs) * size_a;
        block.beta = p ? 1 : g->beta;
        block.cin_rs = p ? g->c_rs : g->cin_rs;
        block.cin_cs = p ? 1 : g->cin_cs;
        for (int64_t j = j0; j < j1; j += block.n) {
            const char *b = g->b + (p * g->b_rs + j * g->b_cs) * size_b;
            block.n = direct && j1 - j >= nr ? (j1 - j) / nr * nr : min(j1 - j, nr);
            if (g->packed) {
                block.n = j1 - j;
                block.b = packed_at(g, g->b, p, j);
                block.b_rs = 0;
            } else if (direct && block.n >= nr) {
                block.b = b;
                block.b_rs = g->b_rs;
            } else {
                kernels->pack(panel, b, g->b_rs, g->b_cs, block.k, block.n);
                block.b = panel;
                block.b_rs = 0;
            }
            block.c = g->c + (i0 * g->c_rs + j) * size_c;
            block.cin = p ? block.c : g->cin + (i0 * g->cin_rs + j * g->cin_cs) * size;
            kernels->block(&block);
        }
    }
}

static __attribute__((noinline)) void part_of_halves(const struct gemm *g, int64_t i0, int64_t i1, int64_t j0,
                                                     int64_t j1)
{
    _Alignas(64) char panel[GEMM_PANEL_HALF];
    part(g, i0, i1, j0, j1, panel);
}

void gemm_part(const struct gemm *g, int64_t i0, int64_t i1, int64_t j0, int64_t j1)
{
    _Alignas(64) char panel[GEMM_PANEL];
    if (g->kernels->b != g->kernels->sum)
        part_of_halves(g, i0, i1, j0, j1);
    else
        part(g, i0, i1, j0, j1, panel);
}

static void run_tiles(void *arg, int64_t begin, int64_t end)
{
    const struct job *job = arg;
    struct gemm g = job->one;
    struct gemm_tiles cut = job->tiles;
    int64_t tiles = cut.tiles_m * cut.tiles_n;
    for (int64_t t = begin; t < end; t++) {
        int64_t index = t / tiles, i = t % tiles / cut.tiles_n * cut.tile_m, j = t % tiles % cut.tiles_n * cut.tile_n;
        g.a = batch_at(job->a, job->batch, index);
        g.b = batch_at(job->b, job->batch, index);
        g.c = batch_at(job->c, job->batch, index);
        g.cin = job->cin ? batch_at(job->cin, job->batch, index) : g.c;
        gemm_part(&g, i, min(g.m, i + cut.tile_m), j, min(g.n, j + cut.tile_n));
    }
}

static int run_matrices(void *arg)
{
    struct job *job = arg;
    struct gemm_tiles cut = job->tiles;
    int64_t tiles = job->count * cut.tiles_m * cut.tiles_n;
    if (tiles == 1)
        run_tiles(job, 0, 1);
    else
        parallel(tiles, max(1, TILE / max(1, 2 * cut.tile_m * cut.tile_n * job->one.k)), run_tiles, job);
    return 0;
}

static void run_integer_rows(void *arg, int64_t begin, int64_t end)
{
    const struct job *job = arg;
    int64_t size = (int64_t)dtype_size(job->c->dtype), m = job->integers.m;
    struct gemm_integers g = job->integers;
    for (int64_t r = begin; r < end; r += g.m) {
        int64_t i = r % m;
        g.m = min(m - i, end - r);
        g.a = batch_at(job->a, job->batch, r / m) + i * g.a_rs * size;
        g.b = batch_at(job->b, job->batch, r / m);
        g.c = batch_at(job->c, job->batch, r / m) + i * g.c_rs * size;
        g.cin = job->cin ? batch_at(job->cin, job->batch, r / m) + i * g.cin_rs * size : g.c;
        ISA_PICK(matmul_kernels)->integers(&g, job->c->dtype);
    }
}

static int run_integers(void *arg)
{
    struct job *job = arg;
    int64_t row = max(1, job->integers.n * job->integers.k);
    parallel(job->count * job->integers.m, max(1, ALONE / 8 / row), run_integer_rows, job);
    return 0;
}

/* Pieces of rows; a is the matrix, b the vectors. */
static void run_vector_rows(void *arg, int64_t begin, int64_t end)
{
    const struct job *job = arg;
    int64_t size = (int64_t)dtype_size(job->a->dtype), sum = (int64_t)dtype_size(job->c->dtype), rows = job->rows;
    struct gemv v = job->vector;
    for (int64_t t = begin; t < end; t++) {
        int64_t index = t / job->pieces, i = t % job->pieces * rows;
        v.m = min(rows, job->vector.m - i);
        v.a = batch_at(job->a, job->batch, index) + i * v.rs * size;
        v.x = batch_at(job->b, job->batch, index);
        v.y = batch_at(job->c, job->batch, index) + i * v.ys * sum;
        v.yin = job->cin ? batch_at(job->cin, job->batch, index) + i * v.yins * sum : v.y;
        ISA_PICK(matmul_kernels)->gemv(&v, job->a->dtype);
    }
}

static int run_vectors(void *arg)
{
    struct job *job = arg;
    if (job->count * job->pieces == 1)
        run_vector_rows(job, 0, 1);
    else
        parallel(job->count * job->pieces, 1, run_vector_rows, job);
    return 0;
}

static void run_segments(void *arg, int64_t begin, int64_t end)
{
    const struct job *job = arg;
    int64_t size = (int64_t)dtype_size(job->a->dtype), sum = (int64_t)dtype_size(job->c->dtype);
    struct gemv v = job->vector;
    v.alpha = 1;
    v.beta = 0;
    for (int64_t s = begin; s < end; s++) {
        v.k = min(SEGMENT, job->vector.k - s * SEGMENT);
        v.a = job->a->data + s * SEGMENT * v.cs * size;
        v.x = job->b->data + s * SEGMENT * sum;
        v.y = (char *)job->part + s * sum;
        ISA_PICK(matmul_kernels)->gemv(&v, job->a->dtype);
    }
}

static int run_long_dot(void *arg)
{
    struct job *job = arg;
    parallel(job->pieces, 1, run_segments, job);
    struct gemv v = job->vector;
    const float *part = (const float *)job->part;
    double all = 0;
    for (int64_t s = 0; s < job->pieces; s++)
        all += job->c->dtype == ACL_DOUBLE ? job->part[s] : (double)part[s];
    all *= v.alpha;
    if (v.beta != 0) {
        const char *yin = job->cin ? job->cin->data : job->c->data;
        all += v.beta * (job->c->dtype == ACL_DOUBLE ? *(const double *)yin : (double)*(const float *)yin);
    }
    if (job->c->dtype == ACL_DOUBLE)
        *(double *)job->c->data = all;
    else
        *(float *)job->c->data = (float)all;
    return 0;
}

/* ---- planning ---- */

struct view *plan_dense(struct plan *plan, struct view *v, aclDataType dtype)
{
    int32_t order[VIEW_RANK_MAX], n = 0;
    for (int32_t d = 0; d < v->rank; d++) {
        if (v->stride[d] == 0 || v->dim[d] == 1)
            continue;
        int32_t at = n++;
        for (; at > 0 && v->stride[order[at - 1]] < v->stride[d]; at--)
            order[at] = order[at - 1];
        order[at] = d;
    }
    int64_t dim[VIEW_RANK_MAX], stride = 1;
    for (int32_t i = 0; i < n; i++)
        dim[i] = v->dim[order[i]];
    struct view *from = plan_alias(plan, v, 0), *temp = plan_temp(plan, dtype, n, dim);
    struct view *out = plan_alias(plan, temp, 0);
    out->rank = v->rank;
    for (int32_t d = 0; d < v->rank; d++) {
        out->dim[d] = v->dim[d];
        out->stride[d] = 0;
    }
    from->rank = n;
    for (int32_t i = n; i-- > 0;) {
        from->dim[i] = dim[i];
        from->stride[i] = v->stride[order[i]];
        out->stride[order[i]] = stride;
        stride *= dim[i];
    }
    plan_copy(plan, temp, from);
    return out;
}

static struct view *as_type(struct plan *plan, struct view *v, aclDataType dtype)
{
    return v->dtype == dtype ? v : plan_dense(plan, v, dtype);
}

static int64_t batch_count(const struct view *v, int32_t batch)
{
    int64_t n = 1;
    for (int32_t d = 0; d < batch; d++)
        n *= v->dim[d];
    return n;
}

/* The last two dimensions swapped. */
static struct view *turned(struct plan *plan, const struct view *v)
{
    struct view *t = plan_alias(plan, v, 0);
    int32_t r = v->rank - 1, c = v->rank - 2;
    t->dim[r] = v->dim[c];
    t->dim[c] = v->dim[r];
    t->stride[r] = v->stride[c];
    t->stride[c] = v->stride[r];
    return t;
}

/* Batch dimensions that b repeats and that continue a's and c's rows become rows. */
static void fold_batch(struct job *job, struct plan *plan)
{
    struct view *a = plan_alias(plan, job->a, 0), *b = plan_alias(plan, job->b, 0), *c = plan_alias(plan, job->c, 0);
    struct view *cin = job->cin ? plan_alias(plan, job->cin, 0) : NULL, *all[] = {a, b, c, cin};
    bool changed = false;
    for (int32_t d = job->batch - 1; d >= 0 && b->stride[d] == 0; d--) {
        int32_t row = c->rank - 2, col = row + 1;
        int64_t m = c->dim[row];
        if (a->stride[d] != m * a->stride[row] || c->stride[d] != m * c->stride[row] ||
            (cin && cin->stride[d] != m * cin->stride[row]))
            break;
        for (int i = 0; i < 4; i++) {
            struct view *v = all[i];
            if (!v)
                continue;
            if (v != b)
                v->dim[row] *= v->dim[d];
            v->dim[d] = v->dim[row];
            v->stride[d] = v->stride[row];
            v->dim[row] = v->dim[col];
            v->stride[row] = v->stride[col];
            v->rank--;
        }
        changed = true;
    }
    if (!changed)
        return;
    job->a = a;
    job->b = b;
    job->c = c;
    job->cin = cin;
    job->batch = c->rank - 2;
}

struct gemm_tiles gemm_tiles(const struct gemm_kernels *kernels, int64_t m, int64_t n, int64_t k, int64_t count)
{
    int mr = kernels->mr, nr = kernels->nr;
    double work = 2.0 * (double)m * (double)n * (double)k * (double)count;
    struct gemm_tiles t = {.tile_m = m, .tile_n = n};
    int64_t row = gemm_stretch(k, kernels->kc) * (int64_t)dtype_size(kernels->a);
    int64_t rows = min(ROWS, max(1, STAYS / row / mr) * mr);
    if (m > rows)
        t.tile_m = parts(parts(m, parts(m, rows)), mr) * mr;
    if (work > ALONE && parallel_threads() > 1) {
        int64_t wish = min(4 * parallel_threads(), (int64_t)(work / TILE) + 1);
        int64_t each = parts(wish, count * parts(m, t.tile_m)); /* tiles wanted in a row of tiles */
        int64_t panels = parts(n, nr);
        t.tile_n = parts(panels, min(each, panels)) * nr;
        if (each > panels)
            t.tile_m = parts(parts(t.tile_m, parts(each, panels)), mr) * mr;
    }
    t.tiles_m = parts(m, t.tile_m);
    t.tiles_n = parts(n, t.tile_n);
    return t;
}

static uint64_t nanoseconds(double work)
{
    return work < 1e15 ? (uint64_t)work : UINT64_C(1000000000000000);
}

/* Adds what makes a readable by the kernels: a itself where it will do, else a copy. Kernels of pairs want rows of unit
 * stride and a zero behind those of odd length; and rows whose distance makes all of them meet in the same lines of
 * the first cache are laid further apart. */
static struct view *rows_of(struct plan *plan, struct view *a, const struct gemm_kernels *kernels, int64_t columns)
{
    enum { PAGE = 4096, APART = 64 };
    int32_t row = a->rank - 2, col = row + 1;
    int64_t k = a->dim[col], size = (int64_t)dtype_size(kernels->a), length = kernels->even ? k + k % 2 : k;
    bool meet = a->stride[col] == 1 && a->stride[row] > 0 && a->stride[row] * size % PAGE == 0 &&
                a->dim[row] > kernels->mr && columns > 4 * kernels->nr;
    if (a->dtype == kernels->a && !meet && (!kernels->even || (a->stride[col] == 1 && k == length)))
        return a;
    if (!kernels->even && !meet)
        return as_type(plan, a, kernels->a);
    struct view *from = plan_alias(plan, a, 0);
    int64_t dim[VIEW_RANK_MAX];
    for (int32_t d = 0; d <= col; d++)
        from->dim[d] = dim[d] = a->stride[d] == 0 && d < col ? 1 : a->dim[d];
    dim[col] = length * size % PAGE == 0 ? length + APART / size : length;
    struct view *temp = plan_temp(plan, kernels->a, a->rank, dim), *to = plan_alias(plan, temp, 0);
    to->dim[col] = k;
    plan_copy(plan, to, from);
    if (k != length) {
        static const float zero;
        struct view *rest = plan_alias(plan, temp, k * size);
        rest->dim[col] = 1;
        plan_fill(plan, rest, &zero);
    }
    to = plan_alias(plan, temp, 0);
    for (int32_t d = 0; d <= col; d++) {
        to->dim[d] = a->dim[d];
        to->stride[d] = a->stride[d] == 0 && d < col ? 0 : temp->stride[d];
    }
    return to;
}

/* How factors of that type are multiplied. */
static const struct gemm_kernels *kernels_of(aclDataType type)
{
    const struct matmul_kernels *k = ISA_PICK(matmul_kernels);
    switch (type) {
    case ACL_DOUBLE:
        return &k->f64;
    case ACL_FLOAT16:
        return &k->f16;
    case ACL_BF16:
        return k->bf16_native.block && cpu_has_bf16() ? &k->bf16_native : &k->bf16;
    default:
        return &k->f32;
    }
}

static void plan_matrices(struct plan *plan, struct job *job, aclDataType type, const struct gemm_scale *scale)
{
    int32_t row = job->c->rank - 2, col = row + 1;
    struct gemm *g = &job->one;
    const struct gemm_kernels *k = kernels_of(type);
    job->a = rows_of(plan, job->a, k, job->c->dim[col]);
    job->b = as_type(plan, job->b, k->b);
    *g = (struct gemm){.kernels = k,
                       .c_half = job->c->dtype == k->sum ? 0 : job->c->dtype,
                       .m = job->c->dim[row],
                       .n = job->c->dim[col],
                       .k = job->a->dim[col],
                       .alpha = scale->alpha,
                       .beta = job->cin ? scale->beta : 0,
                       .a_rs = job->a->stride[row],
                       .a_cs = job->a->stride[col],
                       .b_rs = job->b->stride[row],
                       .b_cs = job->b->stride[col],
                       .c_rs = job->c->stride[row]};
    if (job->cin) {
        g->cin_rs = job->cin->stride[row];
        g->cin_cs = job->cin->stride[col];
    }
    job->tiles = gemm_tiles(g->kernels, g->m, g->n, g->k, job->count);
    plan_step(plan, run_matrices, job,
              nanoseconds((double)job->count * (double)g->m * (double)g->n * (double)(g->k + 8) / 50));
}

/* c [batch…][m][1]: a times the vectors b. */
static void plan_vectors(struct plan *plan, struct job *job, aclDataType type, const struct gemm_scale *scale)
{
    int32_t row = job->c->rank - 2, col = row + 1;
    struct view *a = job->a, *b = job->b;
    int64_t m = job->c->dim[row], k = a->dim[col];
    if (a->stride[col] != 1 && a->stride[row] != 1 && m > 1 && k > 1)
        a = job->a = plan_dense(plan, a, a->dtype);
    if (b->dtype != type || (b->stride[row] != 1 && k > 1))
        job->b = plan_dense(plan, b, type);
    if (k > 1 && job->b->stride[row] != 1) { /* dense, but in another order */
        struct view *rows = plan_temp(plan, type, b->rank, b->dim);
        plan_copy(plan, rows, job->b);
        job->b = rows;
    }
    struct gemv *v = &job->vector;
    *v = (struct gemv){.m = m,
                       .k = k,
                       .rs = a->stride[row],
                       .cs = k == 1 ? 1 : a->stride[col],
                       .ys = job->c->stride[row],
                       .alpha = scale->alpha,
                       .beta = job->cin ? scale->beta : 0};
    if (job->cin)
        v->yins = job->cin->stride[row];
    uint64_t work = nanoseconds((double)job->count * (double)m * (double)(k + 4) * (double)dtype_size(a->dtype) / 20);
    if (m == 1 && job->count == 1 && k > 4 * SEGMENT) {
        job->pieces = parts(k, SEGMENT);
        job->part = plan_alloc(plan, (size_t)job->pieces * sizeof(double));
        plan_step(plan, run_long_dot, job, work);
        return;
    }
    int64_t rows = max(16, parts(GEMV_BYTES, max(1, k * (int64_t)dtype_size(a->dtype))) / 16 * 16);
    if (v->cs != 1) /* a piece reads so much of each column, and little makes memory slow */
        rows = max(rows, min(GEMV_WIDEST, max(GEMV_WIDE, parts(m, 4 * parallel_threads()) / 16 * 16)));
    job->rows = min(m, rows);
    job->pieces = parts(m, job->rows);
    plan_step(plan, run_vectors, job, work);
}

static void plan_integers(struct plan *plan, struct job *job, const struct gemm_scale *scale)
{
    int32_t row = job->c->rank - 2, col = row + 1;
    const struct view *a = job->a, *b = job->b, *c = job->c, *cin = job->cin;
    job->integers = (struct gemm_integers){.m = c->dim[row],
                                           .n = c->dim[col],
                                           .k = a->dim[col],
                                           .a_rs = a->stride[row],
                                           .a_cs = a->stride[col],
                                           .b_rs = b->stride[row],
                                           .b_cs = b->stride[col],
                                           .c_rs = c->stride[row],
                                           .c_cs = c->stride[col],
                                           .alpha = scale->alpha_int,
                                           .beta = cin ? scale->beta_int : 0};
    if (cin) {
        job->integers.cin_rs = cin->stride[row];
        job->integers.cin_cs = cin->stride[col];
    }
    plan_step(plan, run_integers, job,
              nanoseconds((double)job->count * (double)c->dim[row] * (double)c->dim[col] * (double)a->dim[col]));
}

/* A large 16-bit b is read faster once per row of a than it is converted. */
static bool few_rows(const struct job *job, aclDataType type)
{
    const struct view *b = job->b;
    int32_t row = b->rank - 2, col = row + 1;
    return b->dtype != type && type == ACL_FLOAT && job->c->dim[row] <= 4 && b->dim[row] * b->dim[col] > 65536 &&
           (b->stride[row] == 1 || b->stride[col] == 1) && b->rank < VIEW_RANK_MAX;
}

/* [m][k] [k][n] → m products [1][k] [k][n]. */
static void rows_to_batch(struct plan *plan, struct job *job)
{
    struct view *all[] = {plan_alias(plan, job->a, 0), plan_alias(plan, job->b, 0), plan_alias(plan, job->c, 0),
                          job->cin ? plan_alias(plan, job->cin, 0) : NULL};
    int32_t row = job->c->rank - 2, col = row + 1;
    int64_t m = job->c->dim[row];
    for (int i = 0; i < 4; i++) {
        struct view *v = all[i];
        if (!v)
            continue;
        v->dim[col + 1] = v->dim[col];
        v->stride[col + 1] = v->stride[col];
        v->dim[col] = i == 1 ? v->dim[row] : 1;
        v->stride[col] = i == 1 ? v->stride[row] : 0;
        v->dim[row] = m;
        v->stride[row] = i == 1 ? 0 : v->stride[row];
        v->rank++;
    }
    job->a = all[0];
    job->b = all[1];
    job->c = all[2];
    job->cin = all[3];
    job->batch++;
}

/* c of that type, with rows or columns that lie together: itself or a temporary. */
static struct view *output_of(struct plan *plan, struct view *c, aclDataType type)
{
    int32_t row = c->rank - 2, col = row + 1;
    bool lies = c->stride[col] == 1 || c->stride[row] == 1 || c->dim[col] == 1 || c->dim[row] == 1;
    return c->dtype == type && lies ? c : plan_temp(plan, type, c->rank, c->dim);
}

static bool is_half(aclDataType t)
{
    return t == ACL_FLOAT16 || t == ACL_BF16;
}

/* The type to multiply in. */
static aclDataType factors_of(const struct view *a, const struct view *b, const struct view *c)
{
    if (a->dtype == ACL_DOUBLE || b->dtype == ACL_DOUBLE || c->dtype == ACL_DOUBLE)
        return ACL_DOUBLE;
    return a->dtype == b->dtype && is_half(a->dtype) ? a->dtype : ACL_FLOAT;
}

void plan_gemm(struct plan *plan, struct view *c, struct view *a, struct view *b, const struct view *cin,
               const struct gemm_scale *scale)
{
    struct job *job = plan_alloc(plan, sizeof *job);
    struct view *in = NULL;
    if (view_count(c) == 0)
        return;
    if (cin && (dtype_is_int(c->dtype) ? scale->beta_int != 0 : scale->beta != 0)) {
        in = plan_alias(plan, cin, 0);
        if (!view_broadcast(in, cin, c->rank, c->dim)) {
            plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                      "The matrix to be added does not broadcast to the product's shape.");
            return;
        }
    }
    *job = (struct job){.a = a, .b = b, .c = c, .cin = in, .batch = c->rank - 2};
    int32_t row = c->rank - 2, col = row + 1;
    if (!dtype_is_float(c->dtype)) {
        job->count = batch_count(c, job->batch);
        if (in)
            job->cin = as_type(plan, in, c->dtype);
        plan_integers(plan, job, scale);
        return;
    }
    aclDataType factors = factors_of(a, b, c), type = factors == ACL_DOUBLE ? ACL_DOUBLE : ACL_FLOAT;
    bool vector = c->dim[row] == 1 || c->dim[col] == 1;
    bool rounds = !vector && is_half(factors) && is_half(c->dtype) && a->dim[col] <= kernels_of(factors)->kc &&
                  !few_rows(job, type);
    struct view *out = job->c = output_of(plan, c, rounds ? c->dtype : type);
    if (in)
        job->cin = as_type(plan, in, type);
    fold_batch(job, plan);
    if (few_rows(job, type))
        rows_to_batch(plan, job);
    row = job->c->rank - 2;
    col = row + 1;
    job->count = batch_count(job->c, job->batch);
    vector = job->c->dim[col] == 1 || job->c->dim[row] == 1;
    if (vector ? job->c->dim[col] != 1 : job->c->stride[col] != 1) {
        struct view *left = turned(plan, job->b);
        job->b = turned(plan, job->a);
        job->a = left;
        job->c = turned(plan, job->c);
        if (job->cin)
            job->cin = turned(plan, job->cin);
    }
    if (vector) {
        if (type == ACL_DOUBLE)
            job->a = as_type(plan, job->a, type);
        plan_vectors(plan, job, type, scale);
    } else {
        plan_matrices(plan, job, factors, scale);
    }
    plan_finish(plan, out, c);
}
