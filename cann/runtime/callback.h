/* SPDX-License-Identifier: BSD-3-Clause */
/* Host callbacks in stream order, and the callbacks that clients register for failures and state changes.
 * No callback runs under a lock. */
#ifndef ANYNPU_RUNTIME_CALLBACK_H
#define ANYNPU_RUNTIME_CALLBACK_H

#include <stdbool.h>
#include <stdint.h>

#include "acl/acl_rt.h"

struct stream;

/* Tells the exception callbacks of a failed task. */
void callback_exception(struct stream *stream, uint32_t task, int status);

/* The stream ends: no thread processes its callbacks any more. */
void callback_forget(struct stream *stream);

/* Tells the registered callbacks of a change. */
void callback_stream(struct stream *stream, aclrtStreamState state);
void callback_device(int32_t device, aclrtDeviceState state);

/* Before and after the tasks of a device are aborted; the status of the first callback that fails. */
int callback_abort(int32_t device, aclrtDeviceTaskAbortStage stage, uint32_t timeout);

#endif
