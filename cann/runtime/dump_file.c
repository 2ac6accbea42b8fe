/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of a dump. Binary ones are as CANN's comparison tools read them: eight bytes with the length of a description,
 * the description (protobuf, message toolkit.dumpdata.DumpData), then the bytes of the inputs and of the outputs. The
 * statistics' tables have a row for each tensor. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/dtype.h"
#include "base/number.h"
#include "dump.h"

static int failed(const char *path)
{
    return fail(ACL_ERROR_INTERNAL_ERROR, "the dump %s can't be written: %s", path, strerror(errno));
}

/* ---- protobuf ---- */
/* A message under construction. */
struct message {
    FILE *to;
    char *bytes;
    size_t size;
};

static bool begin(struct message *m)
{
    *m = (struct message){.bytes = NULL};
    m->to = open_memstream(&m->bytes, &m->size);
    return m->to != NULL;
}

static void put_varint(FILE *to, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        fputc((int)(value & 0x7f) | 0x80, to);
    fputc((int)value, to);
}

static void put_number(FILE *to, unsigned field, uint64_t value)
{
    put_varint(to, field << 3);
    put_varint(to, value);
}

static void put_bytes(FILE *to, unsigned field, const void *bytes, size_t size)
{
    put_varint(to, field << 3 | 2);
    put_varint(to, size);
    fwrite(bytes, 1, size, to);
}

/* Ends the inner message and puts it into the outer one; false: no memory. */
static bool put_message(FILE *to, unsigned field, struct message *inner)
{
    bool done = fclose(inner->to) == 0;
    if (done)
        put_bytes(to, field, inner->bytes, inner->size);
    free(inner->bytes);
    return done;
}

/* enum OutputDataType of the description */
static uint64_t dumped_dtype(aclDataType dtype)
{
    static const uint8_t numbers[] = {
        [ACL_FLOAT] = 1,        [ACL_FLOAT16] = 2,        [ACL_INT8] = 3,         [ACL_UINT8] = 4,
        [ACL_INT16] = 5,        [ACL_UINT16] = 6,         [ACL_INT32] = 7,        [ACL_INT64] = 8,
        [ACL_UINT32] = 9,       [ACL_UINT64] = 10,        [ACL_BOOL] = 11,        [ACL_DOUBLE] = 12,
        [ACL_STRING] = 13,      [ACL_COMPLEX64] = 16,     [ACL_COMPLEX128] = 17,  [ACL_BF16] = 27,
        [ACL_INT4] = 28,        [ACL_UINT1] = 29,         [ACL_COMPLEX32] = 32,   [ACL_HIFLOAT8] = 33,
        [ACL_FLOAT8_E5M2] = 34, [ACL_FLOAT8_E4M3FN] = 35, [ACL_FLOAT8_E8M0] = 36, [ACL_FLOAT6_E3M2] = 37,
        [ACL_FLOAT6_E2M3] = 38, [ACL_FLOAT4_E2M1] = 39,   [ACL_FLOAT4_E1M2] = 40,
    };
    return dtype >= 0 && (size_t)dtype < sizeof numbers ? numbers[dtype] : 0;
}

/* Fields of OpOutput and OpInput, which number them differently. */
struct fields {
    unsigned tensor, size, original_shape; /* the first: in DumpData */
};
static const struct fields input_fields = {4, 5, 6}, output_fields = {3, 6, 7};

static bool put_shape(FILE *to, unsigned field, const struct dump_tensor *t)
{
    struct message shape, dims;
    if (!begin(&shape))
        return false;
    bool done = begin(&dims);
    if (done) {
        for (int32_t i = 0; i < t->rank; i++)
            put_varint(dims.to, (uint64_t)t->dim[i]);
        done = put_message(shape.to, 1, &dims);
    }
    return put_message(to, field, &shape) && done;
}

static bool put_tensor(FILE *to, const struct dump_tensor *t, const struct fields *fields)
{
    struct message m;
    if (!begin(&m))
        return false;
    put_number(m.to, 1, dumped_dtype(t->dtype));
    put_number(m.to, 2, (uint64_t)(t->format < 0 ? ACL_FORMAT_ND : t->format));
    bool done = put_shape(m.to, 3, t);
    put_number(m.to, fields->size, t->bytes);
    done &= put_shape(m.to, fields->original_shape, t);
    return put_message(to, fields->tensor, &m) && done;
}

static bool describe(struct message *m, const struct dump_op *op)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (!begin(m))
        return false;
    bool done = true;
    put_bytes(m->to, 1, "2.0", 3);
    put_number(m->to, 2, (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000);
    for (uint32_t i = 0; i < op->out; i++)
        done &= put_tensor(m->to, &op->tensor[op->in + i], &output_fields);
    for (uint32_t i = 0; i < op->in; i++)
        done &= put_tensor(m->to, &op->tensor[i], &input_fields);
    put_bytes(m->to, 6, op->name, strlen(op->name));
    return fclose(m->to) == 0 && done;
}

int dump_file_write(const char *path, const struct dump_op *op)
{
    struct message m;
    if (!describe(&m, op)) {
        free(m.bytes);
        return fail(ACL_ERROR_BAD_ALLOC, "no host memory to describe the tensors of %s", op->name);
    }
    FILE *f = fopen(path, "we");
    bool done = f != NULL;
    uint64_t size = m.size;
    if (done) {
        fwrite(&size, sizeof size, 1, f);
        fwrite(m.bytes, 1, m.size, f);
        for (uint32_t i = 0; i < op->in + op->out; i++)
            fwrite(op->tensor[i].data, 1, op->tensor[i].bytes, f);
        done = !ferror(f);
        done &= fclose(f) == 0;
    }
    free(m.bytes);
    return done ? 0 : failed(path);
}

/* ---- statistics ---- */
static bool has_numbers(aclDataType dtype)
{
    return dtype_is_float(dtype) || dtype_is_int(dtype) || dtype == ACL_BOOL;
}

/* NaN counts for nothing but their number. */
static void put_row(FILE *to, const char *side, uint32_t index, const struct dump_tensor *t)
{
    size_t count = 1, nan = 0, low = 0, high = 0;
    double most = -INFINITY, least = INFINITY, sum = 0;
    fprintf(to, "%s,%u,%zu,%s,%s,", side, index, t->bytes, dtype_name(t->dtype),
            t->format == ACL_FORMAT_NCHW ? "NCHW" : "ND");
    for (int32_t i = 0; i < t->rank; i++) {
        fprintf(to, "%s%lld", i ? "x" : "", (long long)t->dim[i]);
        count *= (size_t)t->dim[i];
    }
    if (!has_numbers(t->dtype)) {
        fprintf(to, ",,,,%zu,,,\n", count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        double v = number_at(t->data, t->dtype, i);
        if (isnan(v)) {
            nan++;
            continue;
        }
        low += isinf(v) && v < 0;
        high += isinf(v) && v > 0;
        most = v > most ? v : most;
        least = v < least ? v : least;
        sum += v;
    }
    if (count > nan)
        fprintf(to, ",%.9g,%.9g,%.9g", most, least, sum / (double)(count - nan));
    else
        fputs(count ? ",nan,nan,nan" : ",,,", to);
    fprintf(to, ",%zu,%zu,%zu,%zu\n", count, nan, low, high);
}

int dump_table_write(const char *path, const struct dump_op *op)
{
    FILE *f = fopen(path, "we");
    if (!f)
        return failed(path);
    fputs("Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value,Min Value,Avg Value,Count,Nan Count,"
          "Negative Inf Count,Positive Inf Count\n",
          f);
    for (uint32_t i = 0; i < op->in; i++)
        put_row(f, "Input", i, &op->tensor[i]);
    for (uint32_t i = 0; i < op->out; i++)
        put_row(f, "Output", i, &op->tensor[op->in + i]);
    bool done = !ferror(f);
    done &= fclose(f) == 0;
    return done ? 0 : failed(path);
}
