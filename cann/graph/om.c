/* SPDX-License-Identifier: BSD-3-Clause */
/* The offline model file. One set of functions (transfer_*) says what the graph section holds; it writes or reads as
 * the stream is set, so that both directions agree by construction. A stream that has met an error does nothing more
 * and reads zeros. Layout: docs/OM_FORMAT.md. */
#define _GNU_SOURCE
#include "graph/om.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "graph/operator.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the file is little-endian and used in place");

static const char magic[8] = "ANYNPUOM";
enum { SECTION_GRAPH = 1, SECTION_WEIGHTS = 2, SECTIONS = 2 };
enum { WEIGHT_ALIGN = 64, WEIGHT_PAGE = 4096, DEEPEST_GRAPH = 32 };

struct section {
    uint32_t kind, reserved;
    uint64_t offset, bytes, checksum;
};

struct header {
    char magic[8];
    uint32_t version, sections;
    uint64_t file_bytes;
    uint64_t checksum; /* of the header and the sections' table, this field 0 */
    char reserved[32];
    struct section section[SECTIONS];
};
_Static_assert(sizeof(struct header) == 128, "documented");

/* Eight lanes of eight bytes, so that it keeps up with memory. */
static uint64_t checksum(const void *bytes, size_t size)
{
    enum { LANES = 8 };
    const uint64_t k = 0xd6e8feb86659fd93u;
    uint64_t lane[LANES], word, sum = size * k;
    const char *at = bytes;
    for (int i = 0; i < LANES; i++)
        lane[i] = k * (uint64_t)(i + 1);
    for (; size >= 8 * LANES; size -= 8 * LANES, at += 8 * LANES)
        for (int i = 0; i < LANES; i++) {
            memcpy(&word, at + 8 * i, 8);
            lane[i] = (lane[i] ^ word) * k;
            lane[i] ^= lane[i] >> 32;
        }
    for (; size > 0; size--, at++)
        lane[size % LANES] = (lane[size % LANES] ^ (uint8_t)*at) * k;
    for (int i = 0; i < LANES; i++) {
        sum = (sum ^ lane[i]) * k;
        sum ^= sum >> 32;
    }
    return sum;
}

/* ---- the stream of the graph section ---- */
struct stream {
    bool writing, bad;
    char *bytes; /* writing: grows */
    size_t size, at;
    struct model *model;
    const char *weights;  /* reading: the section */
    size_t weights_size;  /* writing: as far as it is laid out */
    size_t weights_given; /* reading: data bytes referred to by constants, bounded by the section: overlap is refused */
    int depth;
};

static void transfer_bytes(struct stream *s, void *data, size_t bytes)
{
    if (s->bad || bytes == 0)
        return;
    if (s->writing) {
        if (bytes > s->size - s->at) {
            size_t size = 2 * (s->size + bytes) + 4096;
            char *larger = realloc(s->bytes, size);
            if (!larger) {
                s->bad = true;
                return;
            }
            s->bytes = larger;
            s->size = size;
        }
        memcpy(s->bytes + s->at, data, bytes);
    } else {
        if (bytes > s->size - s->at) {
            s->bad = true;
            memset(data, 0, bytes);
            return;
        }
        memcpy(data, s->bytes + s->at, bytes);
    }
    s->at += bytes;
}

static void transfer_32(struct stream *s, int32_t *number)
{
    if (!s->writing)
        *number = 0;
    transfer_bytes(s, number, sizeof *number);
}

static void transfer_64(struct stream *s, int64_t *number)
{
    if (!s->writing)
        *number = 0;
    transfer_bytes(s, number, sizeof *number);
}

/* How many items of at least `least` bytes each follow: no more than the rest of the section can hold. */
static void transfer_count(struct stream *s, int32_t *count, size_t least)
{
    transfer_32(s, count);
    if (!s->writing && (*count < 0 || (size_t)*count > (s->size - s->at) / least)) {
        s->bad = true;
        *count = 0;
    }
}

/* The array itself when writing, room for it when reading; NULL and bad when there is no memory. */
static void *transfer_room(struct stream *s, const void *array, size_t count, size_t size)
{
    if (s->writing)
        return (void *)(uintptr_t)array; /* is only read */
    void *room = model_alloc(s->model, count * size + 1);
    s->bad |= !room;
    return room;
}

static void transfer_text(struct stream *s, const char **text)
{
    int32_t length = s->writing ? (int32_t)strlen(*text) : 0;
    transfer_count(s, &length, 1);
    if (s->writing) {
        transfer_bytes(s, (void *)(uintptr_t)*text, (size_t)length);
        return;
    }
    *text = s->bad ? "" : model_text(s->model, s->bytes + s->at, (size_t)length);
    s->bad |= !*text;
    if (s->bad)
        *text = "";
    else
        s->at += (size_t)length;
}

static void transfer_32s(struct stream *s, int32_t **numbers, int32_t *count)
{
    transfer_count(s, count, sizeof **numbers);
    *numbers = transfer_room(s, *numbers, (size_t)*count, sizeof **numbers);
    if (*numbers)
        transfer_bytes(s, *numbers, (size_t)*count * sizeof **numbers);
}

static void transfer_type(struct stream *s, struct type *type)
{
    int32_t kind = (int32_t)type->kind, dtype = (int32_t)type->dtype;
    if (!s->writing)
        *type = (struct type){.rank = 0};
    transfer_32(s, &kind);
    transfer_32(s, &dtype);
    transfer_32(s, &type->rank);
    if (kind < TYPE_TENSOR || kind > TYPE_OPTIONAL || type->rank < RANK_UNKNOWN || type->rank > TYPE_RANK_MAX) {
        s->bad = true;
        kind = type->rank = 0;
    }
    type->kind = (enum type_kind)kind;
    type->dtype = (aclDataType)dtype;
    for (int32_t i = 0; i < type->rank; i++)
        transfer_64(s, &type->dim[i]);
}

/* Where a constant's bytes lie in the weights section: offset -1 means that there are none. */
static void transfer_data(struct stream *s, const void **data, size_t *bytes)
{
    int64_t offset = -1, size = (int64_t)*bytes;
    if (s->writing && *data) {
        size_t align = *bytes >= WEIGHT_PAGE ? WEIGHT_PAGE : WEIGHT_ALIGN;
        s->weights_size = (s->weights_size + align - 1) & ~(align - 1);
        offset = (int64_t)s->weights_size;
        s->weights_size += *bytes;
    }
    transfer_64(s, &offset);
    transfer_64(s, &size);
    if (s->writing)
        return;
    *data = NULL;
    *bytes = 0;
    if (offset == -1 || s->bad)
        return;
    if (offset < 0 || size < 0 || offset % WEIGHT_ALIGN || (uint64_t)offset > s->weights_size ||
        (uint64_t)size > s->weights_size - (uint64_t)offset || (s->weights_given += (size_t)size) > s->weights_size) {
        s->bad = true;
        return;
    }
    *data = s->weights + offset;
    *bytes = (size_t)size;
}

static void transfer_graph(struct stream *s, struct graph *graph);

static void transfer_tensor(struct stream *s, const struct tensor **tensor)
{
    struct tensor *room = transfer_room(s, *tensor, 1, sizeof *room), none = {.host = NULL};
    struct tensor *t = room ? room : &none;
    size_t bytes = s->writing ? (size_t)type_bytes(&t->type) : 0;
    const void *host = t->host;
    transfer_type(s, &t->type);
    transfer_data(s, &host, &bytes);
    if (!s->writing) {
        t->host = host;
        s->bad |= !host || type_bytes(&t->type) != (int64_t)bytes;
    }
    *tensor = t == &none ? NULL : t;
}

static void transfer_attribute(struct stream *s, struct attribute *a)
{
    int32_t kind = (int32_t)a->kind, count = (int32_t)a->count;
    transfer_text(s, &a->name);
    transfer_32(s, &kind);
    transfer_count(s, &count, 1);
    a->kind = (enum attribute_kind)kind;
    a->count = (size_t)count;
    switch (kind) {
    case ATTRIBUTE_INT:
        transfer_64(s, &a->i);
        break;
    case ATTRIBUTE_FLOAT:
        if (!s->writing)
            a->f = 0;
        transfer_bytes(s, &a->f, sizeof a->f);
        break;
    case ATTRIBUTE_STRING: { /* may hold zeros */
        char *text = transfer_room(s, a->s, a->count + 1, 1);
        if (text)
            transfer_bytes(s, text, a->count);
        a->s = text ? text : "";
        break;
    }
    case ATTRIBUTE_INTS:
    case ATTRIBUTE_FLOATS: {
        size_t size = kind == ATTRIBUTE_INTS ? sizeof *a->ints : sizeof *a->floats;
        void *numbers = transfer_room(s, a->ints, a->count, size);
        if (numbers && a->count <= (s->writing ? a->count : (s->size - s->at) / size))
            transfer_bytes(s, numbers, a->count * size);
        else
            s->bad = true;
        a->ints = numbers;
        break;
    }
    case ATTRIBUTE_STRINGS: {
        const char **strings = transfer_room(s, a->strings, a->count, sizeof *strings);
        for (size_t i = 0; strings && i < a->count; i++)
            transfer_text(s, &strings[i]);
        a->strings = strings;
        break;
    }
    case ATTRIBUTE_TENSOR:
        transfer_tensor(s, &a->tensor);
        break;
    case ATTRIBUTE_GRAPH:
    case ATTRIBUTE_GRAPHS: {
        struct graph **graphs = transfer_room(s, a->graphs, a->count, sizeof *graphs);
        for (size_t i = 0; graphs && !s->bad && i < a->count; i++) {
            graphs[i] = transfer_room(s, graphs[i], 1, sizeof **graphs);
            if (graphs[i])
                transfer_graph(s, graphs[i]);
        }
        a->graphs = graphs;
        break;
    }
    default:
        s->bad = true;
    }
}

static void transfer_node(struct stream *s, struct node *node)
{
    transfer_text(s, &node->name);
    transfer_text(s, &node->domain);
    transfer_text(s, &node->op);
    transfer_32(s, &node->version);
    transfer_32s(s, (int32_t **)(uintptr_t)&node->in, &node->n_in);
    transfer_32s(s, (int32_t **)(uintptr_t)&node->out, &node->n_out);
    transfer_count(s, &node->n_attributes, 12);
    struct attribute *attributes = transfer_room(s, node->attributes, (size_t)node->n_attributes, sizeof *attributes);
    for (int32_t i = 0; attributes && !s->bad && i < node->n_attributes; i++)
        transfer_attribute(s, &attributes[i]);
    node->attributes = attributes;
    if (s->bad)
        node->n_attributes = 0;
    if (!s->writing)
        node->row = operator_find(node->domain, node->op, node->version, NULL);
}

static void transfer_graph(struct stream *s, struct graph *graph)
{
    if (!s->writing)
        graph->model = s->model;
    if (++s->depth > DEEPEST_GRAPH)
        s->bad = true;
    transfer_text(s, &graph->name);
    transfer_32s(s, &graph->in, &graph->n_in);
    transfer_32s(s, &graph->out, &graph->n_out);
    transfer_count(s, &graph->n_nodes, 24);
    graph->nodes = transfer_room(s, graph->nodes, (size_t)graph->n_nodes, sizeof *graph->nodes);
    for (int32_t i = 0; graph->nodes && !s->bad && i < graph->n_nodes; i++)
        transfer_node(s, &graph->nodes[i]);
    s->depth--;
}

static void transfer_aipp(struct stream *s, struct aipp *aipp)
{
    for (const struct aipp_field *field = aipp_fields; field->name; field++) {
        void *at = (char *)aipp + field->offset;
        if (field->type == AIPP_LONG) {
            transfer_64(s, at);
        } else if (field->type == AIPP_BOOL) {
            int32_t on = *(bool *)at;
            transfer_32(s, &on);
            *(bool *)at = on != 0;
        } else {
            transfer_bytes(s, at, 4);
        }
    }
}

static void transfer_model(struct stream *s)
{
    struct model *model = s->model;
    int32_t n_symbols = model->n_symbols, n_values = model->n_values, kind = (int32_t)model->gears.kind;
    transfer_text(s, &model->name);
    transfer_text(s, &model->producer);
    transfer_text(s, &model->soc);
    transfer_text(s, &model->command);
    transfer_32(s, &model->opset);
    transfer_count(s, &n_symbols, 20);
    for (int32_t i = 0; !s->bad && i < n_symbols; i++) {
        struct dim_range range = s->writing ? model->symbols[i] : (struct dim_range){"", 0, 0};
        transfer_text(s, &range.name);
        transfer_64(s, &range.low);
        transfer_64(s, &range.high);
        if (!s->writing && model_symbol(model, range.name, range.low, range.high) < 0)
            s->bad = true;
    }
    transfer_32(s, &kind);
    model->gears.kind = (enum gear_kind)kind;
    transfer_32(s, &model->gears.symbols);
    if (model->gears.symbols < 0 || model->gears.symbols > model->n_symbols || kind < GEARS_NONE || kind > GEARS_DIMS)
        s->bad = true;
    else
        transfer_count(s, &model->gears.count, 8 * ((size_t)model->gears.symbols + (model->gears.symbols == 0)));
    if (!s->bad) {
        size_t sizes = (size_t)model->gears.count * (size_t)model->gears.symbols;
        int64_t *room = transfer_room(s, model->gears.sizes, sizes, sizeof *room);
        if (room)
            transfer_bytes(s, room, sizes * sizeof *room);
        model->gears.sizes = room;
    }
    transfer_count(s, &model->n_aipp, 200);
    struct aipp *aipp = transfer_room(s, model->aipp, (size_t)model->n_aipp, sizeof *aipp);
    for (int32_t i = 0; aipp && i < model->n_aipp; i++)
        transfer_aipp(s, &aipp[i]);
    model->aipp = aipp;
    transfer_count(s, &n_values, 32);
    for (int32_t i = 0; !s->bad && i < n_values; i++) {
        struct value value = s->writing ? model->values[i] : (struct value){.name = ""};
        transfer_text(s, &value.name);
        transfer_type(s, &value.type);
        transfer_data(s, &value.data, &value.bytes);
        if (s->writing)
            continue;
        if (model_value(model, value.name, &value.type) < 0) {
            s->bad = true;
        } else {
            model->values[i].data = value.data;
            model->values[i].bytes = value.bytes;
        }
    }
    transfer_graph(s, &model->main);
}

/* ---- writing ---- */
/* The weights in the order in which transfer_data laid them out. */
struct weights {
    char *to;
    size_t at;
};

static void put(struct weights *weights, const void *data, size_t bytes)
{
    size_t align = bytes >= WEIGHT_PAGE ? WEIGHT_PAGE : WEIGHT_ALIGN;
    weights->at = (weights->at + align - 1) & ~(align - 1);
    memcpy(weights->to + weights->at, data, bytes);
    weights->at += bytes;
}

static void put_graph(struct weights *weights, const struct graph *graph)
{
    for (int32_t n = 0; n < graph->n_nodes; n++)
        for (int32_t i = 0; i < graph->nodes[n].n_attributes; i++) {
            const struct attribute *a = &graph->nodes[n].attributes[i];
            if (a->kind == ATTRIBUTE_TENSOR)
                put(weights, a->tensor->host, (size_t)type_bytes(&a->tensor->type));
            if (a->kind == ATTRIBUTE_GRAPH || a->kind == ATTRIBUTE_GRAPHS)
                for (size_t g = 0; g < a->count; g++)
                    put_graph(weights, a->graphs[g]);
        }
}

void om_seal(void *file, size_t size)
{
    struct header *header = file;
    if (size < sizeof *header)
        return;
    header->file_bytes = size;
    for (int i = 0; i < SECTIONS; i++) {
        struct section *section = &header->section[i];
        if (section->offset <= size && section->bytes <= size - section->offset)
            section->checksum = checksum((const char *)file + section->offset, section->bytes);
    }
    header->checksum = 0;
    header->checksum = checksum(header, sizeof *header);
}

static void fill(char *file, const struct header *layout, const struct stream *s)
{
    struct header *header = (struct header *)file;
    *header = *layout;
    memcpy(file + layout->section[0].offset, s->bytes, s->at);
    struct weights weights = {.to = file + layout->section[1].offset};
    for (int32_t i = 0; i < s->model->n_values; i++)
        if (s->model->values[i].data)
            put(&weights, s->model->values[i].data, s->model->values[i].bytes);
    put_graph(&weights, &s->model->main);
    om_seal(file, layout->file_bytes);
}

/* Room is taken before the mapping is filled: a full disk is an error here, not a fault there. */
static int write_file(const char *path, const struct header *layout, const struct stream *s)
{
    size_t size = layout->file_bytes;
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file < 0)
        return graph_fail(GRAPH_FAILED, "%s cannot be written: %s", path, strerror(errno));
    int error = posix_fallocate(file, 0, (off_t)size);
    void *map = error ? MAP_FAILED : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (!error && map == MAP_FAILED)
        error = errno;
    if (!error) {
        fill(map, layout, s);
        munmap(map, size);
    }
    if (close(file) && !error)
        error = errno;
    return error ? graph_fail(GRAPH_FAILED, "%s cannot be written: %s", path, strerror(error)) : GRAPH_OK;
}

int om_write(const struct model *model, const char *path)
{
    GRAPH_TRY(model_check(model));
    struct model copy = *model; /* the stream's functions set what they transfer, also when they write it */
    struct stream s = {.writing = true, .model = &copy};
    transfer_model(&s);
    char *name = NULL;
    int status = GRAPH_OK;
    if (s.bad || asprintf(&name, "%s.part%d", path, (int)getpid()) < 0) {
        free(s.bytes);
        return graph_fail(GRAPH_NO_MEMORY, "no memory to write %s", path);
    }
    struct header layout = {.version = OM_VERSION, .sections = SECTIONS};
    memcpy(layout.magic, magic, sizeof magic);
    uint64_t weights = (sizeof layout + s.at + WEIGHT_PAGE - 1) & ~(uint64_t)(WEIGHT_PAGE - 1);
    layout.section[0] = (struct section){
        .kind = SECTION_GRAPH, .offset = sizeof layout, .bytes = weights - sizeof layout}; /* the gap is checked too */
    layout.section[1] = (struct section){.kind = SECTION_WEIGHTS, .offset = weights, .bytes = s.weights_size};
    layout.file_bytes = weights + s.weights_size;
    status = write_file(name, &layout, &s);
    if (!status && rename(name, path))
        status = graph_fail(GRAPH_FAILED, "%s cannot be written: %s", path, strerror(errno));
    if (status)
        unlink(name);
    free(name);
    free(s.bytes);
    return status;
}

/* ---- reading ---- */
static int check_header(const struct header *header, size_t size)
{
    static const char foreign[4] = "IMOD";
    if (size >= sizeof foreign && memcmp(header, foreign, sizeof foreign) == 0)
        return graph_fail(GRAPH_UNSUPPORTED,
                          "this offline model was made for Ascend chips by Huawei's ATC; its content runs on no other "
                          "device. Convert the original ONNX model with the atc of this toolkit");
    if (size < sizeof *header || memcmp(header->magic, magic, sizeof magic) != 0)
        return graph_fail(GRAPH_INVALID, "this is no offline model (.om): its first bytes are not those of one");
    if (header->version == 0 || header->version > OM_VERSION)
        return graph_fail(GRAPH_UNSUPPORTED,
                          "the offline model has format version %u, this program reads up to %d: convert it again, or "
                          "use a newer toolkit",
                          header->version, OM_VERSION);
    if (header->file_bytes != size)
        return graph_fail(GRAPH_INVALID, "the offline model is cut or was added to: it has %zu bytes, not %llu", size,
                          (unsigned long long)header->file_bytes);
    struct header copy = *header;
    copy.checksum = 0;
    if (checksum(&copy, sizeof copy) != header->checksum || header->sections != SECTIONS)
        return graph_fail(GRAPH_INVALID, "the offline model is damaged: the checksum of its header is wrong");
    for (int i = 0; i < SECTIONS; i++) {
        const struct section *section = &header->section[i];
        if (section->kind != (uint32_t)i + 1 || section->offset > size || section->bytes > size - section->offset ||
            section->offset % WEIGHT_ALIGN)
            return graph_fail(GRAPH_INVALID, "the offline model is damaged: section %d lies outside of it", i + 1);
        if (checksum((const char *)header + section->offset, section->bytes) != section->checksum)
            return graph_fail(GRAPH_INVALID, "the offline model is damaged: the checksum of its %s is wrong",
                              i == 0 ? "graph" : "weights");
    }
    return GRAPH_OK;
}

static int open_bytes(const void *bytes, size_t size, struct model **out)
{
    const struct header *header = bytes;
    GRAPH_TRY(check_header(header, size));
    struct model *model = model_new();
    if (!model)
        return graph_fail(GRAPH_NO_MEMORY, "no memory");
    struct stream s = {.bytes = (char *)(uintptr_t)bytes + header->section[0].offset,
                       .size = header->section[0].bytes,
                       .model = model,
                       .weights = (const char *)bytes + header->section[1].offset,
                       .weights_size = header->section[1].bytes};
    transfer_model(&s);
    int status =
        s.bad || s.size - s.at >= WEIGHT_PAGE
            ? graph_fail(GRAPH_INVALID, "the offline model is damaged: its graph ends at byte %zu of %zu", s.at, s.size)
            : model_check(model);
    if (status)
        model_free(model);
    else
        *out = model;
    return status;
}

int om_open(const char *path, struct model **model)
{
    size_t size;
    /* All of it is read now, for the checksums: pages in one go take a third of the time. */
    void *map = file_map(path, MAP_SHARED | MAP_POPULATE, &size);
    if (!map && !errno)
        return graph_fail(GRAPH_INVALID, "%s is no offline model (.om): it is empty or no file", path);
    if (!map)
        return graph_fail(GRAPH_FAILED, "%s cannot be %s: %s", path, size ? "mapped" : "read", strerror(errno));
    int status = open_bytes(map, size, model);
    if (status) {
        munmap(map, size);
        return graph_fail(status, "%s: %s", path, graph_reason());
    }
    (*model)->mapping = map;
    (*model)->mapped = size;
    return GRAPH_OK;
}

int om_open_memory(const void *bytes, size_t size, struct model **model)
{
    if ((uintptr_t)bytes % WEIGHT_ALIGN == 0)
        return open_bytes(bytes, size, model);
    void *copy = mmap(NULL, size ? size : 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED)
        return graph_fail(GRAPH_NO_MEMORY, "no memory for a copy of %zu bytes", size);
    memcpy(copy, bytes, size);
    int status = open_bytes(copy, size, model);
    if (status) {
        munmap(copy, size);
        return status;
    }
    (*model)->mapping = copy;
    (*model)->mapped = size;
    return GRAPH_OK;
}
