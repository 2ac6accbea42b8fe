/* SPDX-License-Identifier: BSD-3-Clause */
/* ONNX files that are nearly right: a model written here byte by byte, then every byte changed, every length cut, and
 * files made to exhaust the reader. Nothing may crash, hang or take much memory; failures have texts. */
#include "hostile.h"

#include <stdbool.h>
#include <sys/resource.h>

#include "check.h"
#include "graph/graph.h"
#include "graph/onnx/onnx.h"

/* A small writer of protobuf. */
struct bytes {
    uint8_t data[1 << 16];
    size_t size;
};

static void varint(struct bytes *b, uint64_t x)
{
    for (; x >= 0x80; x >>= 7)
        b->data[b->size++] = (uint8_t)(x | 0x80);
    b->data[b->size++] = (uint8_t)x;
}

static void number(struct bytes *b, int field, uint64_t x)
{
    varint(b, (uint64_t)field << 3);
    varint(b, x);
}

static void blob(struct bytes *b, int field, const void *data, size_t size)
{
    varint(b, (uint64_t)field << 3 | 2);
    varint(b, size);
    memcpy(b->data + b->size, data, size);
    b->size += size;
}

static void word(struct bytes *b, int field, const char *text)
{
    blob(b, field, text, strlen(text));
}

static void part(struct bytes *b, int field, const struct bytes *inner)
{
    blob(b, field, inner->data, inner->size);
}

static void node(struct bytes *graph, const char *op, const char *a, const char *b, const char *y,
                 const struct bytes *attribute)
{
    struct bytes n = {.size = 0};
    word(&n, 1, a);
    if (b)
        word(&n, 1, b);
    word(&n, 2, y);
    word(&n, 4, op);
    if (attribute)
        part(&n, 5, attribute);
    part(graph, 1, &n);
}

static void value(struct bytes *graph, int field, const char *name, bool open)
{
    static struct bytes dim, shape, tensor, type, info;
    dim.size = shape.size = tensor.size = type.size = info.size = 0;
    if (open)
        word(&dim, 2, "n");
    else
        number(&dim, 1, 4);
    part(&shape, 1, &dim);
    number(&tensor, 1, 1); /* float */
    part(&tensor, 2, &shape);
    part(&type, 1, &tensor);
    word(&info, 1, name);
    part(&info, 2, &type);
    part(graph, field, &info);
}

/* y = If(c) { x w } else { x }, with a reshape by a constant and a weight of raw and typed data. */
static void make(struct bytes *model)
{
    static struct bytes graph, inner, attribute, tensor, set;
    static const float w[4] = {1, 2, 3, 4};
    graph.size = inner.size = attribute.size = tensor.size = set.size = 0;
    node(&inner, "Mul", "x", "w", "t", NULL);
    value(&inner, 12, "t", true);
    word(&attribute, 1, "then_branch");
    number(&attribute, 20, 5);
    part(&attribute, 6, &inner);
    value(&graph, 11, "x", false);
    node(&graph, "Reshape", "x", "s", "r", NULL);
    node(&graph, "If", "c", NULL, "q", &attribute);
    node(&graph, "Concat", "r", "w", "y", NULL);
    word(&graph, 2, "g");
    number(&tensor, 1, 4);
    number(&tensor, 2, 1);
    word(&tensor, 8, "w");
    blob(&tensor, 9, w, sizeof w);
    part(&graph, 5, &tensor);
    tensor.size = 0;
    number(&tensor, 1, 2);
    number(&tensor, 2, 7);
    number(&tensor, 7, 2);
    number(&tensor, 7, 2);
    word(&tensor, 8, "s");
    part(&graph, 5, &tensor);
    tensor.size = 0;
    number(&tensor, 2, 9);
    number(&tensor, 5, 1);
    word(&tensor, 8, "c");
    part(&graph, 5, &tensor);
    value(&graph, 12, "y", true);
    number(&set, 2, 17);
    number(model, 1, 9);
    part(model, 8, &set);
    part(model, 7, &graph);
}

static void check_changes(const struct bytes *whole)
{
    static const uint8_t changes[] = {0x01, 0x80, 0xff, 0x7f, 0x08};
    uint8_t *copy = malloc(whole->size);
    for (size_t i = 0; i < whole->size; i++)
        for (size_t k = 0; k < sizeof changes; k++) {
            memcpy(copy, whole->data, whole->size);
            copy[i] ^= changes[k];
            hostile_try(copy, whole->size);
        }
    for (size_t i = 0; i < whole->size; i++) {
        uint8_t *cut = malloc(i ? i : 1); /* of its own, for the sanitizer */
        memcpy(cut, whole->data, i);
        if (!hostile_try(cut, i))
            CHECK(*graph_reason());
        free(cut);
    }
    free(copy);
}

/* Graph within attribute within node within graph …, as deep as a megabyte allows. */
static void check_depth(void)
{
    enum { SIZE = 1 << 20 };
    uint8_t *file = malloc(SIZE);
    size_t at = SIZE;
    for (int level = 0; at > 64; level++) { /* from the inside out */
        size_t size = SIZE - at;
        uint8_t head[16];
        struct bytes b = {.size = 0};
        static const int fields[] = {1, 5, 6}; /* node, attribute, graph */
        varint(&b, (uint64_t)fields[2 - level % 3] << 3 | 2);
        varint(&b, size);
        memcpy(head, b.data, b.size);
        at -= b.size;
        memcpy(file + at, head, b.size);
    }
    CHECK(!hostile_try(file + at, SIZE - at));
    free(file);
}

/* Millions of empty nodes in a few bytes each: the reader's memory stays bounded. */
static void check_swelling(void)
{
    enum { NODES = 8 << 20 };
    size_t size = 0;
    uint8_t *file = malloc(2 * (size_t)NODES + 16);
    struct bytes head = {.size = 0};
    varint(&head, 7 << 3 | 2);
    varint(&head, 2 * (uint64_t)NODES);
    memcpy(file, head.data, head.size);
    size = head.size;
    for (size_t i = 0; i < NODES; i++) {
        file[size++] = 1 << 3 | 2;
        file[size++] = 0;
    }
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    CHECK(!hostile_try(file, size));
    getrusage(RUSAGE_SELF, &after);
    CHECK(after.ru_maxrss - before.ru_maxrss < 1 << 20); /* KiB: less than a GiB */
    free(file);
}

/* f1 calls f2 twice, f2 calls f3 twice …: 2^30 nodes if nobody stops it. And a function that calls itself. */
static void check_functions(void)
{
    static struct bytes model, graph, f, call, set;
    char name[8], next[8];
    model.size = 0;
    for (int i = 0; i < 30; i++) {
        f.size = 0;
        snprintf(name, sizeof name, "f%d", i);
        snprintf(next, sizeof next, i == 29 ? "Relu" : "f%d", i + 1);
        word(&f, 1, name);
        word(&f, 10, "d");
        word(&f, 4, "a");
        word(&f, 5, "c");
        for (int k = 0; k < 2; k++) {
            call.size = 0;
            word(&call, 1, k ? "b" : "a");
            word(&call, 2, k ? "c" : "b");
            word(&call, 4, next);
            word(&call, 7, i == 29 ? "" : "d");
            part(&f, 7, &call);
        }
        part(&model, 25, &f);
    }
    graph.size = call.size = set.size = 0;
    value(&graph, 11, "x", false);
    word(&call, 1, "x");
    word(&call, 2, "y");
    word(&call, 4, "f0");
    word(&call, 7, "d");
    part(&graph, 1, &call);
    number(&set, 2, 17);
    part(&model, 8, &set);
    part(&model, 7, &graph);
    CHECK(!hostile_try(model.data, model.size));
    CHECK_TEXT(graph_reason(), "more than");
}

int main(void)
{
    static struct bytes whole;
    make(&whole);
    CHECK(hostile_try(whole.data, whole.size));
    struct model *model = NULL;
    CHECK_EQ(onnx_parse(whole.data, whole.size, NULL, &model), GRAPH_OK);
    if (model) {
        CHECK_EQ(model->main.n_nodes, 3);
        CHECK_EQ(model->main.n_in, 1);
        CHECK_EQ(model->opset, 17);
        CHECK(node_graph(&model->main.nodes[1], "then_branch") != NULL);
    }
    model_free(model);
    check_changes(&whole);
    check_depth();
    check_swelling();
    check_functions();
    return check_done();
}
