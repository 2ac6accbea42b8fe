/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators' rows: open sizes, refusals with texts, and every row with senseless inputs and attributes, inferred,
 * checked and run: whatever comes, the process lives and a failure has a text. `operators SEED TRIALS` tries others. */
#include "graph/operators/op.h"

#include "acl/acl.h"
#include "check.h"
#include "graph/fold.h"

enum { VALUES = 16, ATTRIBUTES = 12, BYTES = 1 << 16 };

static struct tensor table[VALUES];
static int32_t in[VALUES], out[VALUES];
static struct attribute attributes[ATTRIBUTES];
static struct node node;
static uint64_t state = 88172645463325252u;

static int64_t dice(int64_t from, int64_t to)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return from + (int64_t)(state % (uint64_t)(to - from + 1));
}

/* A node of n_in inputs (table[0] …) and n_out outputs behind them. */
static void make(const char *op, int32_t version, int32_t n_in, int32_t n_out)
{
    memset(table, 0, sizeof table);
    for (int32_t i = 0; i < n_in; i++)
        in[i] = i;
    for (int32_t k = 0; k < n_out; k++) {
        out[k] = n_in + k;
        table[n_in + k].type = type_unknown;
    }
    node = (struct node){.name = "tested",
                         .domain = "",
                         .op = op,
                         .version = version,
                         .n_in = n_in,
                         .n_out = n_out,
                         .in = in,
                         .out = out,
                         .attributes = attributes,
                         .row = operator_find("", op, version, NULL)};
}

static void test_open_sizes(void)
{
    make("Add", 14, 2, 1);
    table[0].type = type_make(ACL_FLOAT, 2, (int64_t[]){dim_symbol(0), 4});
    table[1].type = type_make(ACL_FLOAT, 1, (int64_t[]){4});
    CHECK_EQ(node_infer(&node, table), GRAPH_OK);
    CHECK_EQ(table[2].type.rank, 2);
    CHECK_EQ(table[2].type.dim[0], dim_symbol(0));
    CHECK_EQ(table[2].type.dim[1], 4);

    make("MatMul", 13, 2, 1);
    table[0].type = type_make(ACL_FLOAT, 3, (int64_t[]){dim_symbol(0), dim_symbol(1), 8});
    table[1].type = type_make(ACL_FLOAT, 2, (int64_t[]){8, 5});
    CHECK_EQ(node_infer(&node, table), GRAPH_OK);
    CHECK_EQ(table[2].type.dim[0], dim_symbol(0));
    CHECK_EQ(table[2].type.dim[1], dim_symbol(1));
    CHECK_EQ(table[2].type.dim[2], 5);

    make("Concat", 13, 2, 1);
    table[0].type = table[1].type = type_make(ACL_FLOAT, 2, (int64_t[]){dim_symbol(0), 3});
    attributes[0] = (struct attribute){"axis", ATTRIBUTE_INT, 1, {.i = 0}};
    node.n_attributes = 1;
    CHECK_EQ(node_infer(&node, table), GRAPH_OK);
    CHECK_EQ(table[2].type.dim[0], DIM_UNKNOWN);
    CHECK_EQ(table[2].type.dim[1], 3);

    make("Squeeze", 13, 1, 1); /* which dimensions go is not known */
    table[0].type = type_make(ACL_FLOAT, 3, (int64_t[]){dim_symbol(0), 1, 4});
    CHECK_EQ(node_infer(&node, table), GRAPH_OK);
    CHECK_EQ(table[1].type.rank, RANK_UNKNOWN);
    CHECK_EQ(table[1].type.dtype, ACL_FLOAT);

    make("NonZero", 13, 1, 1);
    table[0].type = type_make(ACL_FLOAT, 2, (int64_t[]){2, 3});
    CHECK_EQ(node_infer(&node, table), GRAPH_OK);
    CHECK_EQ(table[1].type.dim[0], 2);
    CHECK_EQ(table[1].type.dim[1], DIM_UNKNOWN);
}

static void test_refusals(void)
{
    static const int64_t shape[] = {5, -1};
    make("Reshape", 14, 2, 1);
    table[0].type = type_make(ACL_FLOAT, 2, (int64_t[]){3, 4});
    table[1] = (struct tensor){.type = type_make(ACL_INT64, 1, (int64_t[]){2}), .host = shape};
    CHECK_EQ(node_infer(&node, table), GRAPH_INVALID);
    CHECK_TEXT(graph_reason(), "12 elements do not fill the shape");

    make("Conv", 11, 2, 1);
    table[0].type = type_make(ACL_FLOAT, 4, (int64_t[]){1, 3, 8, 8});
    table[1].type = type_make(ACL_FLOAT, 4, (int64_t[]){4, 2, 3, 3});
    CHECK_EQ(node_infer(&node, table), GRAPH_INVALID);
    CHECK_TEXT(graph_reason(), "3 channels, a weight for 2");

    make("Conv", 11, 2, 1);
    table[0].type = type_make(ACL_INT32, 4, (int64_t[]){1, 3, 8, 8});
    table[1].type = type_make(ACL_INT32, 4, (int64_t[]){4, 3, 3, 3});
    CHECK_EQ(node_infer(&node, table), GRAPH_OK);
    CHECK_EQ(op_check(&node, table), GRAPH_UNSUPPORTED);
    CHECK_TEXT(graph_reason(), "DT_INT32");
    table[0].type.dtype = table[1].type.dtype = table[2].type.dtype = ACL_FLOAT;
    CHECK_EQ(op_check(&node, table), GRAPH_OK);
}

/* ---- senseless ---- */

static int64_t contents[VALUES][BYTES / 8];

static void senseless_inputs(void)
{
    static const aclDataType types[] = {ACL_FLOAT, ACL_FLOAT, ACL_FLOAT, ACL_INT64,   ACL_INT64,  ACL_INT32,
                                        ACL_BOOL,  ACL_UINT8, ACL_INT8,  ACL_FLOAT16, ACL_DOUBLE, ACL_UINT32};
    aclDataType usual = types[dice(0, 11)];
    int32_t rank = (int32_t)dice(0, 5);
    for (int32_t i = 0; i < node.n_in; i++) {
        int64_t dim[8];
        bool same = dice(0, 2) > 0;
        int32_t r = same ? rank : (int32_t)dice(0, 4);
        for (int32_t d = 0; d < r; d++)
            dim[d] = dice(0, 9) ? dice(1, 4) : 0;
        if (same && i)
            memcpy(dim, table[0].type.dim, sizeof dim);
        table[i] = (struct tensor){
            .type = type_make(same || dice(0, 1) ? usual : types[dice(0, 11)], same && i ? table[0].type.rank : r, dim),
            .host = contents[i]};
        for (size_t k = 0; k < 1024; k++)
            contents[i][k] = table[i].type.dtype == ACL_INT64 ? dice(-3, 6)
                             : dice(0, 1)                     ? 0x3f8000003f800000
                                                              : dice(-1, 4);
    }
    for (int32_t i = node.row->in_min; i < node.n_in; i++)
        if (dice(0, 4) == 0)
            in[i] = VALUE_NONE;
}

static void senseless_attributes(void)
{
    static int64_t lists[ATTRIBUTES][8];
    static const char *const ints[] = {
        "axis",      "group",     "blocksize",    "keepdims",   "to",        "batch_dims",  "block_size",
        "exclusive", "k",         "size",         "p",          "is_causal", "q_num_heads", "kv_num_heads",
        "direction", "layout",    "onesided",     "batch_axis", "time_axis", "num_groups",  "offset_group",
        "sorted",    "ceil_mode", "output_height"};
    static const char *const series[] = {"axes", "perm",      "kernel_shape", "strides",
                                         "pads", "dilations", "shape",        "output_shape"};
    static const char *const words[][4] = {
        {"mode", "linear", "reflect", "wrap"},
        {"auto_pad", "SAME_UPPER", "VALID", "SAME_LOWER"},
        {"reduction", "add", "none", "nonsense"},
        {"equation", "ij,jk->ik", "...i->...", "ii->i,,,->"},
        {"direction", "reverse", "bidirectional", "RIGHT"},
        {"coordinate_transformation_mode", "align_corners", "tf_crop_and_resize", "x"}};
    node.n_attributes = (int32_t)dice(0, ATTRIBUTES);
    for (int32_t i = 0; i < node.n_attributes; i++) {
        struct attribute *a = &attributes[i];
        int64_t kind = dice(0, 3), n = dice(0, 8);
        if (kind < 2)
            *a = (struct attribute){ints[dice(0, 23)], ATTRIBUTE_INT, 1, {.i = dice(0, 9) ? dice(-3, 5) : INT64_MIN}};
        else if (kind == 2) {
            for (int k = 0; k < 8; k++)
                lists[i][k] = dice(0, 15) ? dice(-1, 4) : dice(INT32_MAX, INT64_MAX / 2);
            *a = (struct attribute){series[dice(0, 7)], ATTRIBUTE_INTS, (size_t)n, {.ints = lists[i]}};
        } else {
            const char *const *w = words[dice(0, 5)];
            *a = (struct attribute){w[0], ATTRIBUTE_STRING, 0, {.s = w[dice(1, 3)]}};
            a->count = strlen(a->s);
        }
    }
}

static void try_row(const struct operator_row *row, struct fold *fold, int64_t *done)
{
    int32_t most_in = row->in_max < 0 || row->in_max > 9 ? row->in_min + 3 : row->in_max;
    int32_t most_out = row->out_max < 0 ? row->out_min + 2 : row->out_max;
    make(row->name, row->until ? row->until : 22, (int32_t)dice(row->in_min, most_in),
         (int32_t)dice(row->out_min ? row->out_min : 1, most_out ? most_out : 1));
    node.version = (int32_t)dice(row->since, row->until ? row->until : row->since > 28 ? row->since : 28);
    node.row = row;
    senseless_inputs();
    senseless_attributes();
    graph_fail(GRAPH_OK, "%s", "");
    int status = node_infer(&node, table);
    if (!status)
        status = op_check(&node, table);
    if (!status)
        status = fold_node(fold, &node, table);
    if (status && !*graph_reason()) {
        fprintf(stderr, "%s failed without a text\n", row->name);
        CHECK(false);
    }
    *done += !status && table[node.out[0]].host != NULL;
}

int main(int argc, char **argv)
{
    int64_t trials = argc > 2 ? strtoll(argv[2], NULL, 10) : 60, done = 0, rows = 0;
    if (argc > 1)
        state ^= strtoull(argv[1], NULL, 10) * 2654435761u;
    CHECK_EQ(aclInit(NULL), 0);
    CHECK_EQ(aclrtSetDevice(0), 0);
    test_open_sizes();
    test_refusals();
    node.n_attributes = 0;
    for (const struct operator_row *const *family = operator_families; *family; family++)
        for (const struct operator_row *row = *family; row->name; row++, rows++) {
            CHECK(row->infer && row->in_min >= 0 && (row->in_max < 0 || row->in_max >= row->in_min));
            for (int64_t i = 0; i < trials; i++) {
                struct fold *fold = fold_new(NULL, BYTES);
                CHECK(fold);
                if (fold)
                    try_row(row, fold, &done);
                fold_free(fold);
            }
        }
    printf("%lld rows, %lld nodes ran\n", (long long)rows, (long long)done);
    CHECK(done > rows); /* sense comes up often enough */
    CHECK_EQ(aclrtResetDevice(0), 0);
    CHECK_EQ(aclFinalize(), 0);
    return check_done();
}
