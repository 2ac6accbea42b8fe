/* SPDX-License-Identifier: BSD-3-Clause */
/* protobuf-c reads messages within messages by recursion, as deep as the file says. So the nesting is measured before:
 * the same walk, along the schema's descriptors, without unpacking anything. */
#include "graph/onnx/parts.h"

enum { DEEPEST = 128 };
enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

static bool varint(const uint8_t **at, const uint8_t *end, uint64_t *number)
{
    *number = 0;
    for (int shift = 0; *at < end && shift < 70; shift += 7) {
        uint8_t byte = *(*at)++;
        if (shift < 64)
            *number |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

static int walk(const ProtobufCMessageDescriptor *message, const uint8_t *at, const uint8_t *end, int depth)
{
    if (depth > DEEPEST)
        return graph_fail(GRAPH_INVALID, "messages stand in each other more than %d levels deep", DEEPEST);
    while (at < end) {
        uint64_t tag, size = 0;
        if (!varint(&at, end, &tag))
            return graph_fail(GRAPH_INVALID, "the file is cut or no ONNX model");
        switch (tag & 7) {
        case WIRE_VARINT:
            if (!varint(&at, end, &tag))
                return graph_fail(GRAPH_INVALID, "the file is cut or no ONNX model");
            continue;
        case WIRE_64:
            size = 8;
            break;
        case WIRE_32:
            size = 4;
            break;
        case WIRE_BYTES:
            if (varint(&at, end, &size))
                break;
            return graph_fail(GRAPH_INVALID, "the file is cut or no ONNX model");
        default:
            return graph_fail(GRAPH_INVALID, "the file is cut or no ONNX model");
        }
        if (size > (uint64_t)(end - at))
            return graph_fail(GRAPH_INVALID, "the file is cut: a part of %llu bytes has %llu left",
                              (unsigned long long)size, (unsigned long long)(end - at));
        const ProtobufCFieldDescriptor *field =
            (tag & 7) == WIRE_BYTES ? protobuf_c_message_descriptor_get_field(message, (unsigned)(tag >> 3)) : NULL;
        if (field && field->type == PROTOBUF_C_TYPE_MESSAGE)
            GRAPH_TRY(walk(field->descriptor, at, at + size, depth + 1));
        at += size;
    }
    return GRAPH_OK;
}

int onnx_depth(const void *bytes, size_t size)
{
    return walk(&onnx__model_proto__descriptor, bytes, (const uint8_t *)bytes + size, 0);
}
