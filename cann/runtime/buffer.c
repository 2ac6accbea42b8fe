/* SPDX-License-Identifier: BSD-3-Clause */
/* Data buffers, element sizes and half precision: the parts of acl_base_rt.h that need no device. */
#include <stdlib.h>

#include "acl/acl_base.h"
#include "base/dtype.h"
#include "error.h"

struct aclDataBuffer {
    void *data;
    size_t size;
};

aclDataBuffer *aclCreateDataBuffer(void *data, size_t size)
{
    struct aclDataBuffer *b = malloc(sizeof *b);
    if (b)
        *b = (struct aclDataBuffer){data, size};
    else
        fail(ACL_ERROR_BAD_ALLOC, "the host is out of memory");
    return b;
}

aclError aclDestroyDataBuffer(const aclDataBuffer *dataBuffer)
{
    CHECK_ARG(dataBuffer);
    free((void *)(uintptr_t)dataBuffer);
    return ACL_SUCCESS;
}

aclError aclUpdateDataBuffer(aclDataBuffer *dataBuffer, void *data, size_t size)
{
    CHECK_ARG(dataBuffer);
    *dataBuffer = (struct aclDataBuffer){data, size};
    return ACL_SUCCESS;
}

void *aclGetDataBufferAddr(const aclDataBuffer *dataBuffer)
{
    return dataBuffer ? dataBuffer->data : NULL;
}

uint32_t aclGetDataBufferSize(const aclDataBuffer *dataBuffer)
{
    return dataBuffer ? (uint32_t)dataBuffer->size : 0;
}

size_t aclGetDataBufferSizeV2(const aclDataBuffer *dataBuffer)
{
    return dataBuffer ? dataBuffer->size : 0;
}

size_t aclDataTypeSize(aclDataType dataType)
{
    return dtype_size(dataType);
}

float aclFloat16ToFloat(aclFloat16 value)
{
    return f16_to_float(value);
}

aclFloat16 aclFloatToFloat16(float value)
{
    return f16_from_float(value);
}
