/* SPDX-License-Identifier: BSD-3-Clause */
/* The extension table (anynpu/extension.h) and the notes for the next task. */
#include "anynpu/extension.h"

#include <stdio.h>

#include "base/options.h"
#include "capture.h"
#include "context.h"
#include "error.h"
#include "local.h"
#include "memory.h"
#include "stream.h"
#include "trace.h"

const struct anynpu_extension *anynpu_extension(void) __attribute__((visibility("default")));

static void *host_view(const void *device, size_t bytes)
{
    if (memory_guarded() || entry_check() || !memory_is_device(device, bytes))
        return NULL;
    return (void *)(uintptr_t)device;
}

static void note(const char *name, const char *where)
{
    struct local *me = local();
    snprintf(me->note_name, sizeof me->note_name, "%s", name ? name : "");
    snprintf(me->note_where, sizeof me->note_where, "%s", where ? where : "");
    me->noted = true;
}

static struct stream *peek(aclrtStream handle)
{
    struct context *c = local()->context;
    if (handle)
        return handle_valid(&stream_table, handle) ? handle : NULL;
    return c && handle_valid(&context_table, c) ? atomic_load(&c->stream) : NULL;
}

static bool idle(aclrtStream stream)
{
    struct stream *s = peek(stream);
    return !s || (stream_is_idle(s) && !capture_has(s));
}

static aclError take_error(aclrtStream stream)
{
    struct stream *s = peek(stream);
    return s ? stream_take_error(s) : ACL_SUCCESS;
}

static aclError wait_for(aclrtStream stream, int32_t ms)
{
    struct stream *s = NULL;
    TRY(stream_get(stream, &s));
    TRY(capture_check_stream(s, "Synchronizing a stream"));
    return stream_wait(s, ms);
}

const struct anynpu_extension *anynpu_extension(void)
{
    static const struct anynpu_extension table = {
        .version = 5,
        .host_view = host_view,
        .note = note,
        .stream_idle = idle,
        .stream_error = take_error,
        .stream_wait = wait_for,
        .trace = &trace_table,
        .log_wanted = log_wanted,
        .set_place = place_set,
    };
    return option_number(OPTION_EXTENSION) ? &table : NULL;
}
