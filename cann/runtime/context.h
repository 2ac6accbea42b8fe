/* SPDX-License-Identifier: BSD-3-Clause */
/* Contexts: a device with a default stream, as threads see it. Destroyed contexts are recognised by their handle. */
#ifndef ANYNPU_RUNTIME_CONTEXT_H
#define ANYNPU_RUNTIME_CONTEXT_H

#include "device.h"
#include "handle.h"
#include "local.h"

struct context {
    struct handle handle;
    struct device *device;
    bool primary;
    _Atomic(struct stream *) stream; /* the default stream, made at its first use */
    _Atomic int64_t options[4];      /* aclSysParamOpt + 1; 0: not set */
};

extern struct handle_table context_table;

/* The thread's context, NULL after fail(107002) when it has none or it was destroyed. */
struct context *context_current(void);

/* The context behind a handle, NULL after fail(107017). */
struct context *context_get(aclrtContext handle);

struct context *context_new(struct device *device, bool primary);

/* Destroys the context with all its streams; waits for their work first unless force. */
void context_free(struct context *context, bool force);

/* The context's default stream, made now if need be; NULL when memory is short. */
struct stream *context_default_stream(struct context *context);

/* The device whose default context threads without one use (aclInit's configuration); -1: none. */
void context_set_default(int32_t device);

#endif
