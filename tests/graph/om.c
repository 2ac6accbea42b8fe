/* SPDX-License-Identifier: BSD-3-Clause */
/* The offline model file: what is written is read again, and no damaged file is taken or brings the reader down. */
#include "graph/om.h"

#include "check.h"
#include "hostile.h"

#include <unistd.h>

static const float weights[1500] = {1, 2, 3};
static const int64_t shape[2] = {-1, 5};

/* y = then(x): If with a subgraph that uses the constants outside; sizes by a symbol with two gears, AIPP. */
static struct model *make(void)
{
    struct model *m = model_new();
    m->opset = 21;
    m->name = "made";
    int s = model_symbol(m, "batch", 1, 8);
    struct type image = type_make(ACL_FLOAT, 2, (int64_t[]){dim_symbol(s), 300});
    struct type flag = type_make(ACL_BOOL, 0, NULL), table = type_make(ACL_FLOAT, 2, (int64_t[]){5, 300});
    struct type pair = type_make(ACL_INT64, 1, (int64_t[]){2});
    int32_t x = model_value(m, "x", &image), c = model_value(m, "c", &flag), w = model_value(m, "w", &table);
    int32_t t = model_value(m, "t", &pair), y = model_value(m, "y", &type_unknown),
            z = model_value(m, "z", &type_unknown);
    m->values[w].data = weights;
    m->values[w].bytes = sizeof weights;
    m->values[t].data = shape;
    m->values[t].bytes = sizeof shape;
    struct tensor *ones = model_alloc(m, sizeof *ones);
    *ones = (struct tensor){.type = pair, .host = shape};
    struct graph *inner = model_alloc(m, sizeof *inner), **inners = model_alloc(m, sizeof *inners);
    struct node *nodes = model_alloc(m, 2 * sizeof *nodes);
    struct attribute *attributes = model_alloc(m, 8 * sizeof *attributes);
    int32_t *ids = model_alloc(m, 16 * sizeof *ids);
    memcpy(ids, (int32_t[]){x, w, VALUE_NONE, z, c, y}, 6 * sizeof *ids);
    attributes[0] = (struct attribute){"axis", ATTRIBUTE_INT, 1, {.i = -3}};
    attributes[1] = (struct attribute){"alpha", ATTRIBUTE_FLOAT, 1, {.f = 0.5f}};
    attributes[2] = (struct attribute){"mode", ATTRIBUTE_STRING, 6, {.s = "linear"}};
    attributes[3] = (struct attribute){"perm", ATTRIBUTE_INTS, 2, {.ints = shape}};
    attributes[4] = (struct attribute){"scales", ATTRIBUTE_FLOATS, 3, {.floats = weights}};
    static const char *const words[] = {"a", "", "c"};
    attributes[5] = (struct attribute){"keys", ATTRIBUTE_STRINGS, 3, {.strings = words}};
    attributes[6] = (struct attribute){"value", ATTRIBUTE_TENSOR, 1, {.tensor = ones}};
    nodes[0] = (struct node){"n", "anynpu", "Test", 1, 3, 1, 7, ids, ids + 3, attributes, NULL};
    *inner = (struct graph){m, "then", 1, 0, 1, nodes, ids, ids + 3};
    inners[0] = inner;
    attributes[7] = (struct attribute){"then_branch", ATTRIBUTE_GRAPH, 1, {.graphs = inners}};
    nodes[1] = (struct node){"if", "", "If", 21, 1, 1, 1, ids + 4, ids + 5, attributes + 7, NULL};
    int32_t *ends = model_alloc(m, 3 * sizeof *ends);
    memcpy(ends, (int32_t[]){x, c, y}, 3 * sizeof *ends);
    m->main.nodes = nodes + 1;
    m->main.n_nodes = 1;
    m->main.in = ends;
    m->main.n_in = 2;
    m->main.out = ends + 2;
    m->main.n_out = 1;
    static const int64_t sizes[] = {1, 8};
    m->gears = (struct gears){GEARS_BATCH, 2, 1, sizes};
    struct aipp *aipp = model_alloc(m, sizeof *aipp);
    *aipp = (struct aipp){
        .input = 0, .mode = AIPP_STATIC, .format = AIPP_RGB888_U8, .crop = true, .var_reci = {[2] = 0.25f}};
    m->aipp = aipp;
    m->n_aipp = 1;
    return m;
}

static void check_read(const struct model *m)
{
    CHECK_EQ(m->n_values, 6);
    CHECK_EQ(m->opset, 21);
    CHECK_EQ(m->main.n_in, 2);
    CHECK_EQ(m->main.n_nodes, 1);
    CHECK_EQ(graph_input(&m->main, "c"), 1);
    CHECK(m->main.model == m);
    const struct value *w = &m->values[2];
    CHECK(w->data && memcmp(w->data, weights, sizeof weights) == 0 && (uintptr_t)w->data % 4096 == 0);
    CHECK_EQ(m->values[0].type.dim[0], dim_symbol(0));
    CHECK_EQ(m->gears.count, 2);
    CHECK_EQ(m->gears.sizes[1], 8);
    CHECK(m->aipp[0].crop && m->aipp[0].var_reci[2] == 0.25f);
    const struct graph *inner = node_graph(&m->main.nodes[0], "then_branch");
    CHECK(inner && inner->model == m && inner->n_nodes == 1);
    if (!inner)
        return;
    const struct node *node = &inner->nodes[0];
    size_t n;
    CHECK_EQ(node_int(node, "axis", 0), -3);
    CHECK(node_float(node, "alpha", 0) == 0.5f);
    CHECK_TEXT(node_string(node, "mode", ""), "linear");
    CHECK(node_ints(node, "perm", &n) && n == 2 && node_ints(node, "perm", &n)[1] == 5);
    CHECK(node_floats(node, "scales", &n) && n == 3 && node_floats(node, "scales", &n)[2] == 3);
    CHECK_TEXT(node_attribute(node, "keys")->strings[2], "c");
    CHECK(node_tensor(node, "value") && memcmp(node_tensor(node, "value")->host, shape, sizeof shape) == 0);
    CHECK_EQ(node->in[2], VALUE_NONE);
}

/* Any one byte changed, any length cut: refused with a text. */
static void check_damage(const char *bytes, size_t size)
{
    char *copy = aligned_alloc(4096, (size + 4096) & ~(size_t)4095);
    struct model *m;
    for (size_t i = 0; i < size; i += i < 3000 ? 1 : 61) {
        memcpy(copy, bytes, size);
        copy[i] ^= 0x41;
        int status = om_open_memory(copy, size, &m);
        CHECK(status && *graph_reason());
        if (!status)
            model_free(m);
    }
    for (size_t i = 16; i < size; i += i < 3000 ? 1 : 61)
        for (int bit = 0; bit < 8; bit++) { /* with right checksums: refused or read, nothing worse */
            memcpy(copy, bytes, size);
            copy[i] ^= (char)(1 << bit);
            hostile_try((const uint8_t *)copy, size);
        }
    for (size_t i = 0; i < size; i += 37) {
        int status = om_open_memory(memcpy(copy, bytes, i), i, &m);
        CHECK(status && *graph_reason());
        if (!status)
            model_free(m);
    }
    CHECK(om_open_memory(memcpy(copy, "IMOD\1\2\3\4", 8), 8, &m) == GRAPH_UNSUPPORTED);
    CHECK_TEXT(graph_reason(), "Huawei's ATC");
    free(copy);
}

int main(void)
{
    char path[] = "/tmp/om-test-XXXXXX";
    close(mkstemp(path));
    struct model *m = make(), *again = NULL;
    CHECK_EQ(om_write(m, path), GRAPH_OK);
    CHECK(m->main.model == m && node_graph(&m->main.nodes[0], "then_branch")->model == m);
    model_free(m);
    CHECK_EQ(om_open(path, &again), GRAPH_OK);
    if (again) {
        check_read(again);
        check_damage(again->mapping, again->mapped);
        char *odd = malloc(again->mapped + 1);
        struct model *third = NULL;
        CHECK_EQ(om_open_memory(memcpy(odd + 1, again->mapping, again->mapped), again->mapped, &third), GRAPH_OK);
        model_free(third);
        free(odd);
    }
    model_free(again);
    CHECK_EQ(om_open("/nowhere/x.om", &again), GRAPH_FAILED);
    CHECK_TEXT(graph_reason(), "/nowhere/x.om");
    unlink(path);
    return check_done();
}
