/* SPDX-License-Identifier: BSD-3-Clause */
/* Models in memory: the arena, the table of values, types and attributes, and this thread's last failure. */
#include "graph/graph.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/dtype.h"

/* ---- failures ---- */
static _Thread_local char reason[2048];

int graph_fail(int status, const char *format, ...)
{
    char text[sizeof reason]; /* the old reason may be one of the arguments */
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    memcpy(reason, text, sizeof text);
    return status;
}

const char *graph_reason(void)
{
    return reason;
}

/* ---- files ---- */
void *file_map(const char *path, int flags, size_t *size)
{
    struct stat about;
    void *bytes = MAP_FAILED;
    int file = open(path, O_RDONLY | O_CLOEXEC), error = 0;
    *size = 0;
    if (file < 0 || fstat(file, &about)) {
        error = errno;
    } else if (S_ISREG(about.st_mode) && about.st_size > 0) {
        *size = (size_t)about.st_size;
        bytes = mmap(NULL, *size, PROT_READ, flags, file, 0);
        error = errno;
    }
    if (file >= 0)
        close(file);
    errno = error;
    return bytes == MAP_FAILED ? NULL : bytes;
}

/* ---- types ---- */
const struct type type_unknown = {.dtype = ACL_DT_UNDEFINED, .rank = RANK_UNKNOWN};

struct type type_make(aclDataType dtype, int32_t rank, const int64_t *dim)
{
    struct type type = {.dtype = dtype, .rank = rank};
    for (int32_t i = 0; i < rank; i++)
        type.dim[i] = dim[i];
    return type;
}

bool type_known(const struct type *type)
{
    if (type->kind != TYPE_TENSOR || type->dtype == ACL_DT_UNDEFINED || type->rank < 0)
        return false;
    for (int32_t i = 0; i < type->rank; i++)
        if (type->dim[i] < 0)
            return false;
    return true;
}

int64_t type_count(const struct type *type)
{
    int64_t count = 1;
    if (type->rank < 0)
        return -1;
    bool empty = false;
    for (int32_t i = 0; i < type->rank; i++) {
        if (type->dim[i] < 0)
            return -1;
        empty |= type->dim[i] == 0;
    }
    if (empty)
        return 0;
    for (int32_t i = 0; i < type->rank; i++)
        if (__builtin_mul_overflow(count, type->dim[i], &count) || count > INT64_C(1) << 62)
            return -1;
    return count;
}

int64_t type_bytes(const struct type *type)
{
    int64_t count = type_count(type), each = (int64_t)dtype_bits(type->dtype), bits;
    if (count < 0 || each == 0 || __builtin_mul_overflow(count, each, &bits))
        return -1;
    return bits / 8 + (bits % 8 != 0);
}

bool type_equal(const struct type *a, const struct type *b)
{
    if (a->kind != b->kind || a->dtype != b->dtype || a->rank != b->rank)
        return false;
    for (int32_t i = 0; i < a->rank; i++)
        if (a->dim[i] != b->dim[i])
            return false;
    return true;
}

const char *type_text(const struct type *type, char *text, size_t size)
{
    static const char *const kinds[] = {"", "sequence of ", "optional "};
    int n = snprintf(text, size, "%s%s ", kinds[type->kind], dtype_name(type->dtype));
    if (type->rank < 0) {
        snprintf(text + n, (size_t)n < size ? size - (size_t)n : 0, "of any shape");
        return text;
    }
    for (int32_t i = 0; i <= type->rank && (size_t)n < size; i++) {
        const char *before = i == 0 ? "[" : i < type->rank ? ", " : "";
        int64_t dim = i < type->rank ? type->dim[i] : 0;
        if (i == type->rank)
            n += snprintf(text + n, size - (size_t)n, "%s]", before);
        else if (dim >= 0)
            n += snprintf(text + n, size - (size_t)n, "%s%lld", before, (long long)dim);
        else if (dim == DIM_UNKNOWN)
            n += snprintf(text + n, size - (size_t)n, "%s?", before);
        else
            n += snprintf(text + n, size - (size_t)n, "%ss%lld", before, (long long)(-2 - dim));
    }
    return text;
}

/* ---- the arena: blocks in a list, each handed out from its start ---- */
struct block {
    struct block *next;
    size_t used, size; /* of bytes */
    _Alignas(64) char bytes[];
};
enum { BLOCK_BYTES = 1 << 16 };

struct model *model_new(void)
{
    struct model *model = calloc(1, sizeof *model);
    if (model) {
        model->main.model = model;
        model->main.name = model->name = model->producer = model->soc = model->command = "";
    }
    return model;
}

void model_free(struct model *model)
{
    if (!model)
        return;
    for (const struct mapping *file = model->files; file; file = file->next)
        munmap(file->bytes, file->size);
    for (struct block *block = model->arena, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    if (model->mapping)
        munmap(model->mapping, model->mapped);
    free(model->values);
    free(model->symbols);
    free(model);
}

void *model_alloc(struct model *model, size_t bytes)
{
    size_t align = bytes >= 256 ? 64 : 16;
    struct block *block = model->arena;
    size_t at = block ? (block->used + align - 1) & ~(align - 1) : 0;
    if (!block || at > block->size || bytes > block->size - at) {
        size_t size = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES, whole;
        if (__builtin_add_overflow(size, sizeof *block + 63, &whole) ||
            !(block = aligned_alloc(64, whole & ~(size_t)63)))
            return NULL;
        *block = (struct block){.size = size};
        struct block *first = model->arena;
        if (first && bytes > BLOCK_BYTES / 4) { /* a block of its own: the first one still has room */
            block->next = first->next;
            first->next = block;
        } else {
            block->next = first;
            model->arena = block;
        }
        at = 0;
    }
    block->used = at + bytes;
    return memset(block->bytes + at, 0, bytes);
}

const char *model_text(struct model *model, const char *text, size_t length)
{
    char *copy = model_alloc(model, length + 1);
    if (copy && length)
        memcpy(copy, text, length);
    return copy;
}

/* Room for one more item in a growing table. */
static bool grow(void **table, int32_t count, int32_t *room, size_t size)
{
    if (count < *room)
        return true;
    if (*room > INT32_MAX / 2)
        return false;
    int32_t more = *room ? *room * 2 : 64;
    void *larger = realloc(*table, (size_t)more * size);
    if (!larger)
        return false;
    *table = larger;
    *room = more;
    return true;
}

int32_t model_value(struct model *model, const char *name, const struct type *type)
{
    void *values = model->values;
    if (!grow(&values, model->n_values, &model->values_room, sizeof *model->values))
        return VALUE_NONE;
    model->values = values;
    model->values[model->n_values] = (struct value){.name = name, .type = *type};
    return model->n_values++;
}

int32_t model_symbol(struct model *model, const char *name, int64_t low, int64_t high)
{
    void *symbols = model->symbols;
    if (!grow(&symbols, model->n_symbols, &model->symbols_room, sizeof *model->symbols))
        return -1;
    model->symbols = symbols;
    model->symbols[model->n_symbols] = (struct dim_range){name, low, high};
    return model->n_symbols++;
}

int32_t graph_input(const struct graph *graph, const char *name)
{
    for (int32_t i = 0; i < graph->n_in; i++)
        if (strcmp(graph->model->values[graph->in[i]].name, name) == 0)
            return i;
    return -1;
}

/* ---- attributes ---- */
const struct attribute *node_attribute(const struct node *node, const char *name)
{
    for (int32_t i = 0; i < node->n_attributes; i++)
        if (strcmp(node->attributes[i].name, name) == 0)
            return &node->attributes[i];
    return NULL;
}

static const struct attribute *of_kind(const struct node *node, const char *name, enum attribute_kind kind)
{
    const struct attribute *a = node_attribute(node, name);
    return a && a->kind == kind ? a : NULL;
}

int64_t node_int(const struct node *node, const char *name, int64_t otherwise)
{
    const struct attribute *a = of_kind(node, name, ATTRIBUTE_INT);
    return a ? a->i : otherwise;
}

float node_float(const struct node *node, const char *name, float otherwise)
{
    const struct attribute *a = of_kind(node, name, ATTRIBUTE_FLOAT);
    return a ? a->f : otherwise;
}

const char *node_string(const struct node *node, const char *name, const char *otherwise)
{
    const struct attribute *a = of_kind(node, name, ATTRIBUTE_STRING);
    return a ? a->s : otherwise;
}

const int64_t *node_ints(const struct node *node, const char *name, size_t *count)
{
    const struct attribute *a = of_kind(node, name, ATTRIBUTE_INTS);
    *count = a ? a->count : 0;
    return a ? a->ints : NULL;
}

const float *node_floats(const struct node *node, const char *name, size_t *count)
{
    const struct attribute *a = of_kind(node, name, ATTRIBUTE_FLOATS);
    *count = a ? a->count : 0;
    return a ? a->floats : NULL;
}

const struct tensor *node_tensor(const struct node *node, const char *name)
{
    const struct attribute *a = of_kind(node, name, ATTRIBUTE_TENSOR);
    return a ? a->tensor : NULL;
}

struct graph *node_graph(const struct node *node, const char *name)
{
    const struct attribute *a = of_kind(node, name, ATTRIBUTE_GRAPH);
    return a && a->count == 1 ? a->graphs[0] : NULL;
}
