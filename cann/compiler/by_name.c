/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators by name (aclop). A chip compiles them from its operator library; here operators exist as aclnn functions
 * alone, so these say what was asked for and what to call instead. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>

#include "acl/acl_op_compiler.h"
#include "base/dtype.h"
#include "runtime/door.h"

/* Appends "DT_FLOAT[2,3] " for each tensor. */
static size_t describe(char *text, size_t room, int count, const aclTensorDesc *const desc[])
{
    size_t at = 0;
    text[0] = 0;
    for (int i = 0; desc && i < count && at < room; i++) {
        at += (size_t)snprintf(text + at, room - at, "%s%s[", i ? ", " : "", dtype_name(aclGetTensorDescType(desc[i])));
        size_t rank = aclGetTensorDescNumDims(desc[i]);
        for (size_t d = 0; rank != ACL_UNKNOWN_RANK && d < rank && at < room; d++)
            at += (size_t)snprintf(text + at, room - at, "%s%" PRId64, d ? "," : "", aclGetTensorDescDim(desc[i], d));
        if (at < room)
            at += (size_t)snprintf(text + at, room - at, "]");
    }
    return at;
}

static int not_found(const char *name, int inputs, const aclTensorDesc *const input[], int outputs,
                     const aclTensorDesc *const output[])
{
    char in[512], out[512], function[256];
    if (!name || inputs < 0 || outputs < 0)
        return fail(ACL_ERROR_INVALID_PARAM, "operator %s with %d inputs and %d outputs", name ? name : "(NULL)",
                    inputs, outputs);
    describe(in, sizeof in, inputs, input);
    describe(out, sizeof out, outputs, output);
    snprintf(function, sizeof function, "aclnn%sGetWorkspaceSize", name);
    bool exists = dlsym(RTLD_DEFAULT, function) != NULL;
    return fail(ACL_ERROR_OP_NOT_FOUND, "operator %s (%s -> %s) cannot be called by name on this device; %s%s%s", name,
                in, out, exists ? "call aclnn" : "there is no aclnn", name, exists ? " instead" : " either");
}

aclError aclopCompile(const char *opType, int numInputs, const aclTensorDesc *const inputDesc[], int numOutputs,
                      const aclTensorDesc *const outputDesc[], const aclopAttr *attr, aclopEngineType engineType,
                      aclopCompileType compileFlag, const char *opPath)
{
    (void)attr, (void)engineType, (void)compileFlag, (void)opPath;
    return not_found(opType, numInputs, inputDesc, numOutputs, outputDesc);
}

aclError aclopCompileAndExecute(const char *opType, int numInputs, const aclTensorDesc *const inputDesc[],
                                const aclDataBuffer *const inputs[], int numOutputs,
                                const aclTensorDesc *const outputDesc[], aclDataBuffer *const outputs[],
                                const aclopAttr *attr, aclopEngineType engineType, aclopCompileType compileFlag,
                                const char *opPath, aclrtStream stream)
{
    (void)inputs, (void)outputs, (void)attr, (void)engineType, (void)compileFlag, (void)opPath, (void)stream;
    return not_found(opType, numInputs, inputDesc, numOutputs, outputDesc);
}

aclError aclopCompileAndExecuteV2(const char *opType, int numInputs, aclTensorDesc *inputDesc[],
                                  aclDataBuffer *inputs[], int numOutputs, aclTensorDesc *outputDesc[],
                                  aclDataBuffer *outputs[], aclopAttr *attr, aclopEngineType engineType,
                                  aclopCompileType compileFlag, const char *opPath, aclrtStream stream)
{
    (void)inputs, (void)outputs, (void)attr, (void)engineType, (void)compileFlag, (void)opPath, (void)stream;
    return not_found(opType, numInputs, (const aclTensorDesc *const *)inputDesc, numOutputs,
                     (const aclTensorDesc *const *)outputDesc);
}
