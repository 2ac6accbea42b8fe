/* SPDX-License-Identifier: BSD-3-Clause */
/* A model in memory: ONNX's operators as nodes, in an order in which they can run. Values (inputs, constants, results)
 * of the main graph and of all subgraphs stand in one table of the model and are named by their index, so that a
 * subgraph uses what is outside of it like anything else. Everything but constants' bytes lives in the model's arena:
 * nothing is freed before model_free. Constants' bytes stay where they were read (a mapped file) or lie in the arena.
 *
 * A model is built by one thread (reader, passes) and not changed afterwards: then any number of threads may read it.
 * What is learned of values for certain sizes of the inputs stands in tables of their own (struct tensor, one a value;
 * operator.h), not here. */
#ifndef ANYNPU_GRAPH_GRAPH_H
#define ANYNPU_GRAPH_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acl/acl_base.h"
#include "base/view.h"
#include "graph/aipp.h"

enum { TYPE_RANK_MAX = VIEW_RANK_MAX };
enum { RANK_UNKNOWN = -1 };
enum { DIM_UNKNOWN = -1 };
enum { VALUE_NONE = -1 }; /* an optional input or output that is left out */

/* A size that is the same wherever it stands, but not known yet: the k-th symbol of the model. */
static inline int64_t dim_symbol(int k)
{
    return -2 - (int64_t)k;
}

enum type_kind { TYPE_TENSOR, TYPE_SEQUENCE, TYPE_OPTIONAL }; /* the two latter: of tensors of dtype */

struct type {
    enum type_kind kind;
    aclDataType dtype;          /* ACL_DT_UNDEFINED: unknown */
    int32_t rank;               /* or RANK_UNKNOWN */
    int64_t dim[TYPE_RANK_MAX]; /* ≥ 0, DIM_UNKNOWN or a symbol (dim_symbol) */
};

extern const struct type type_unknown;
struct type type_make(aclDataType dtype, int32_t rank, const int64_t *dim);
bool type_known(const struct type *type);    /* a tensor, dtype, rank and every dim known */
int64_t type_count(const struct type *type); /* elements; -1: unknown or more than 2^62 */
int64_t type_bytes(const struct type *type); /* -1: unknown, too many, or a dtype without a size */
bool type_equal(const struct type *a, const struct type *b);
/* "DT_FLOAT [1, 3, ?, s0]" into text; returns text. */
const char *type_text(const struct type *type, char *text, size_t size);

/* A tensor as infer() and run() see it. */
struct tensor {
    struct type type;
    const void
        *host;    /* its bytes on the host, when they are known before running (constants, folded results), or NULL */
    void *device; /* where it lies on the device; NULL while only types are inferred */
};

/* ---- attributes ---- */
enum attribute_kind {
    ATTRIBUTE_INT = 1,
    ATTRIBUTE_FLOAT,
    ATTRIBUTE_STRING,
    ATTRIBUTE_INTS,
    ATTRIBUTE_FLOATS,
    ATTRIBUTE_STRINGS,
    ATTRIBUTE_TENSOR,
    ATTRIBUTE_GRAPH,
    ATTRIBUTE_GRAPHS,
};

struct attribute {
    const char *name;
    enum attribute_kind kind;
    size_t count; /* of ints, floats, strings, graphs; characters of a string */
    union {
        int64_t i;
        float f;
        const char *s; /* ends with 0 besides */
        const int64_t *ints;
        const float *floats;
        const char *const *strings;
        const struct tensor *tensor; /* host is set */
        struct graph *const *graphs; /* count 1 for ATTRIBUTE_GRAPH */
    };
};

/* ---- nodes, graphs, models ---- */
struct node {
    const char *name;   /* never NULL; made up when the file has none */
    const char *domain; /* "" is ONNX's own */
    const char *op;     /* "Conv" */
    int32_t version;    /* of the domain that the model asks for */
    int32_t n_in, n_out, n_attributes;
    const int32_t *in; /* values, or VALUE_NONE */
    const int32_t *out;
    const struct attribute *attributes;
    const struct operator_row *row; /* operator.h; NULL: not looked up or unknown */
};

struct value {
    const char *name; /* never NULL */
    struct type type; /* as the file says, or as inferred with symbols */
    const void *data; /* a constant's bytes; NULL: computed or an input */
    size_t bytes;     /* of data */
};

struct graph {
    struct model *model;
    const char *name;
    int32_t n_nodes, n_in, n_out;
    struct node *nodes; /* in an order in which they can run */
    int32_t *in;        /* values; of the main graph: without those that are constants */
    int32_t *out;
};

/* What the dynamic sizes may be. A row of `sizes` gives each symbol of the inputs a size, in the symbols' order. */
enum gear_kind { GEARS_NONE, GEARS_BATCH, GEARS_IMAGE, GEARS_DIMS };
struct gears {
    enum gear_kind kind;
    int32_t count, symbols; /* rows, sizes in a row (symbols 0 … symbols-1 of the model) */
    const int64_t *sizes;   /* [count][symbols] */
};

/* Sizes that a symbol may have when there are no gears. */
struct dim_range {
    const char *name;  /* "batch"; "" when the file has none */
    int64_t low, high; /* high < 0: no limit */
};

/* A file with constants' bytes beside the model's own. */
struct mapping {
    const struct mapping *next;
    const char *name;
    void *bytes;
    size_t size;
};

struct model {
    struct graph main;
    struct value *values;
    int32_t n_values;
    struct dim_range *symbols;
    int32_t n_symbols;
    struct gears gears;
    const struct aipp *aipp; /* of inputs (aipp.h: input index in main.in) */
    int32_t n_aipp;
    int32_t opset;                               /* of ONNX's own domain */
    const char *name, *producer, *soc, *command; /* of the graph; of the file; atc's --soc_version and command line */
    void *arena;                                 /* owned */
    void *mapping;                               /* owned: the file that constants' bytes lie in (om.h), or NULL */
    size_t mapped;
    const struct mapping *files; /* owned: further files, while a model is converted */
    /* room in the tables, for model_value and model_symbol */
    int32_t values_room, symbols_room;
};

struct model *model_new(void); /* NULL: no memory */
void model_free(struct model *model);
/* Memory that lives as long as the model, zeroed, aligned for anything (64 bytes from 256 on); NULL: no memory. */
void *model_alloc(struct model *model, size_t bytes);
const char *model_text(struct model *model, const char *text, size_t length);
/* A new value; its index, or VALUE_NONE when there is no memory. May move model->values. */
int32_t model_value(struct model *model, const char *name, const struct type *type);
/* A new symbol; its number, or -1. */
int32_t model_symbol(struct model *model, const char *name, int64_t low, int64_t high);

/* Every index within its table, every value made once and before it is used, constants with as many bytes as their type
 * says. For readers of files, and after passes. */
int model_check(const struct model *model);

/* Index of the input of that name in graph->in, -1. */
int32_t graph_input(const struct graph *graph, const char *name);

/* The attribute of that name, or NULL. The others: its value, else what is given. */
const struct attribute *node_attribute(const struct node *node, const char *name);
int64_t node_int(const struct node *node, const char *name, int64_t otherwise);
float node_float(const struct node *node, const char *name, float otherwise);
const char *node_string(const struct node *node, const char *name, const char *otherwise);
/* NULL and *count 0 when there is none. */
const int64_t *node_ints(const struct node *node, const char *name, size_t *count);
const float *node_floats(const struct node *node, const char *name, size_t *count);
const struct tensor *node_tensor(const struct node *node, const char *name);
struct graph *node_graph(const struct node *node, const char *name);

/* ---- files ---- */
/* A file's bytes, to be given to munmap; flags are mmap's. NULL with errno when it cannot be read (*size is 0) or
 * mapped (it is not), NULL with errno 0 when it is empty or no regular file. */
void *file_map(const char *path, int flags, size_t *size);

/* ---- failures ---- */
enum graph_status {
    GRAPH_OK = 0,
    GRAPH_INVALID,     /* the model (or file) is wrong */
    GRAPH_UNSUPPORTED, /* right, but not done here */
    GRAPH_NO_MEMORY,
    GRAPH_FAILED, /* a file could not be read or written, an operator failed on the device */
};
/* Records why, for this thread, and returns status. The place that finds the fault says so, once, with the numbers:
 *   return graph_fail(GRAPH_INVALID, "axis %lld is outside of rank %d", …);
 * Whoever knows the node puts its name in front (graph_infer does). */
int graph_fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *graph_reason(void); /* the last text of this thread, never NULL */

#define GRAPH_TRY(call)                                                                                                \
    do {                                                                                                               \
        int status_ = (call);                                                                                          \
        if (status_)                                                                                                   \
            return status_;                                                                                            \
    } while (0)

#endif
