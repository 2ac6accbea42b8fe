/* SPDX-License-Identifier: BSD-3-Clause */
/* aclTensorDesc: what clients of single operators and models tell about a tensor. Plain data, owned by the client, used
 * by one thread at a time; nothing here touches the device. */
#include <stdlib.h>
#include <string.h>

#include "acl/acl_base_mdl.h"
#include "base/dtype.h"
#include "runtime/error.h"

enum { DIMS_MAX = 128 };

struct shape {
    int rank;
    int64_t *dim;
};

struct aclTensorDesc {
    aclDataType dtype;
    aclFormat format, storage_format, origin_format;
    struct shape view, storage, origin;
    size_t ranges; /* pairs */
    int64_t (*range)[2];
    size_t value_ranges;
    int64_t (*value_range)[2];
    char *name, *dynamic_name;
    void *constant;
    size_t constant_bytes;
    aclMemType placement;
};

static aclError set_shape(struct shape *shape, int rank, const int64_t *dim)
{
    if (rank < 0 || rank > DIMS_MAX || (rank > 0 && !dim))
        return fail(ACL_ERROR_INVALID_PARAM, "a shape has 0 to %d dimensions, but got %d%s", DIMS_MAX, rank,
                    rank > 0 && !dim ? " and a NULL pointer" : "");
    for (int i = 0; i < rank; i++)
        if (dim[i] < -2 || (dim[i] == -2 && rank != 1))
            return fail(ACL_ERROR_INVALID_PARAM, "dimension %d of a shape is %ld", i, (long)dim[i]);
    int64_t *copy = malloc(sizeof *copy * (size_t)(rank ? rank : 1));
    if (!copy)
        return fail(ACL_ERROR_BAD_ALLOC, "no host memory for a shape of %d dimensions", rank);
    for (int i = 0; i < rank; i++)
        copy[i] = dim[i];
    free(shape->dim);
    *shape = (struct shape){rank, copy};
    return ACL_SUCCESS;
}

static aclError set_text(char **to, const char *text)
{
    char *copy = strdup(text);
    if (!copy)
        return fail(ACL_ERROR_BAD_ALLOC, "no host memory for a name of %zu bytes", strlen(text));
    free(*to);
    *to = copy;
    return ACL_SUCCESS;
}

aclTensorDesc *aclCreateTensorDesc(aclDataType dataType, int numDims, const int64_t *dims, aclFormat format)
{
    struct aclTensorDesc *d = calloc(1, sizeof *d);
    if (!d) {
        fail(ACL_ERROR_BAD_ALLOC, "no host memory for a tensor description");
        return NULL;
    }
    d->dtype = dataType;
    d->format = d->origin_format = format;
    d->storage_format = ACL_FORMAT_UNDEFINED;
    if (set_shape(&d->view, numDims, dims)) {
        free(d);
        return NULL;
    }
    return d;
}

void aclDestroyTensorDesc(const aclTensorDesc *desc)
{
    struct aclTensorDesc *d = (struct aclTensorDesc *)desc;
    if (!d)
        return;
    free(d->view.dim);
    free(d->storage.dim);
    free(d->origin.dim);
    free(d->range);
    free(d->value_range);
    free(d->name);
    free(d->dynamic_name);
    free(d->constant);
    free(d);
}

static aclError set_ranges(int64_t (**to)[2], size_t *to_count, size_t count, int64_t range[][2])
{
    if (count > DIMS_MAX || (count && !range))
        return fail(ACL_ERROR_INVALID_PARAM, "%zu ranges given, at most %d are possible", count, DIMS_MAX);
    int64_t(*copy)[2] = malloc(sizeof *copy * (count ? count : 1));
    if (!copy)
        return fail(ACL_ERROR_BAD_ALLOC, "no host memory for %zu ranges", count);
    if (count)
        memcpy(copy, range, sizeof *copy * count);
    free(*to);
    *to = copy;
    *to_count = count;
    return ACL_SUCCESS;
}

aclError aclSetTensorShapeRange(aclTensorDesc *desc, size_t dimsCount, int64_t dimsRange[][ACL_TENSOR_SHAPE_RANGE_NUM])
{
    CHECK_ARG(desc);
    return set_ranges(&desc->range, &desc->ranges, dimsCount, dimsRange);
}

aclError aclSetTensorValueRange(aclTensorDesc *desc, size_t valueCount,
                                int64_t valueRange[][ACL_TENSOR_VALUE_RANGE_NUM])
{
    CHECK_ARG(desc);
    return set_ranges(&desc->value_range, &desc->value_ranges, valueCount, valueRange);
}

/* ---- reading ---- */

aclDataType aclGetTensorDescType(const aclTensorDesc *desc)
{
    return desc ? desc->dtype : ACL_DT_UNDEFINED;
}

aclFormat aclGetTensorDescFormat(const aclTensorDesc *desc)
{
    return desc ? desc->format : ACL_FORMAT_UNDEFINED;
}

static bool rank_unknown(const aclTensorDesc *desc)
{
    return desc->view.rank == 1 && desc->view.dim[0] == -2;
}

size_t aclGetTensorDescElementCount(const aclTensorDesc *desc)
{
    size_t count = 1;
    if (!desc || rank_unknown(desc))
        return 0;
    for (int i = 0; i < desc->view.rank; i++) {
        int64_t dim = desc->view.dim[i];
        if (dim < 0)
            dim = (size_t)i < desc->ranges && desc->range[i][1] > 0 ? desc->range[i][1] : 0;
        if (__builtin_mul_overflow(count, (size_t)dim, &count))
            return 0;
    }
    return count;
}

size_t aclGetTensorDescSize(const aclTensorDesc *desc)
{
    size_t bytes;
    if (!desc || __builtin_mul_overflow(aclGetTensorDescElementCount(desc), dtype_size(desc->dtype), &bytes))
        return 0;
    return bytes;
}

size_t aclGetTensorDescNumDims(const aclTensorDesc *desc)
{
    if (!desc)
        return 0;
    return rank_unknown(desc) ? ACL_UNKNOWN_RANK : (size_t)desc->view.rank;
}

aclError aclGetTensorDescDimV2(const aclTensorDesc *desc, size_t index, int64_t *dimSize)
{
    CHECK_ARG(desc);
    CHECK_ARG(dimSize);
    if (index >= (size_t)desc->view.rank)
        return fail(ACL_ERROR_INVALID_PARAM, "dimension %zu of a tensor of %d dimensions", index, desc->view.rank);
    *dimSize = desc->view.dim[index];
    return ACL_SUCCESS;
}

int64_t aclGetTensorDescDim(const aclTensorDesc *desc, size_t index)
{
    int64_t dim = -1;
    return aclGetTensorDescDimV2(desc, index, &dim) ? -1 : dim;
}

aclError aclGetTensorDescDimRange(const aclTensorDesc *desc, size_t index, size_t dimRangeNum, int64_t *dimRange)
{
    CHECK_ARG(desc);
    CHECK_ARG(dimRange);
    if (index >= desc->ranges || dimRangeNum < 2)
        return fail(ACL_ERROR_INVALID_PARAM, "range %zu of %zu asked for, room for %zu numbers", index, desc->ranges,
                    dimRangeNum);
    dimRange[0] = desc->range[index][0];
    dimRange[1] = desc->range[index][1];
    return ACL_SUCCESS;
}

const char *aclGetTensorDescName(aclTensorDesc *desc)
{
    return desc && desc->name ? desc->name : "";
}

aclTensorDesc *aclGetTensorDescByIndex(aclTensorDesc *desc, size_t index)
{
    if (desc && index == 0)
        return desc;
    fail(ACL_ERROR_INVALID_PARAM, "tensor description %zu of a list of one", index);
    return NULL;
}

void *aclGetTensorDescAddress(const aclTensorDesc *desc)
{
    return desc ? desc->constant : NULL;
}

/* ---- changing ---- */

void aclSetTensorDescName(aclTensorDesc *desc, const char *name)
{
    if (desc)
        set_text(&desc->name, name ? name : "");
}

aclError aclSetTensorStorageFormat(aclTensorDesc *desc, aclFormat format)
{
    CHECK_ARG(desc);
    desc->storage_format = format;
    return ACL_SUCCESS;
}

aclError aclSetTensorStorageShape(aclTensorDesc *desc, int numDims, const int64_t *dims)
{
    CHECK_ARG(desc);
    return set_shape(&desc->storage, numDims, dims);
}

/* The newer names of the same two. */
aclError aclSetTensorFormat(aclTensorDesc *desc, aclFormat format)
{
    return aclSetTensorStorageFormat(desc, format);
}

aclError aclSetTensorShape(aclTensorDesc *desc, int numDims, const int64_t *dims)
{
    return aclSetTensorStorageShape(desc, numDims, dims);
}

aclError aclSetTensorOriginFormat(aclTensorDesc *desc, aclFormat format)
{
    CHECK_ARG(desc);
    desc->origin_format = format;
    return ACL_SUCCESS;
}

aclError aclSetTensorOriginShape(aclTensorDesc *desc, int numDims, const int64_t *dims)
{
    CHECK_ARG(desc);
    return set_shape(&desc->origin, numDims, dims);
}

aclError aclSetTensorDynamicInput(aclTensorDesc *desc, const char *dynamicInputName)
{
    CHECK_ARG(desc);
    CHECK_ARG(dynamicInputName);
    return set_text(&desc->dynamic_name, dynamicInputName);
}

aclError aclSetTensorConst(aclTensorDesc *desc, void *dataBuffer, size_t length)
{
    CHECK_ARG(desc);
    CHECK_ARG(dataBuffer);
    void *copy = malloc(length ? length : 1);
    if (!copy)
        return fail(ACL_ERROR_BAD_ALLOC, "no host memory for a constant of %zu bytes", length);
    memcpy(copy, dataBuffer, length);
    free(desc->constant);
    desc->constant = copy;
    desc->constant_bytes = length;
    return ACL_SUCCESS;
}

aclError aclSetTensorPlaceMent(aclTensorDesc *desc, aclMemType memType)
{
    CHECK_ARG(desc);
    if (memType < ACL_MEMTYPE_DEVICE || memType > ACL_MEMTYPE_HOST_COMPILE_INDEPENDENT)
        return fail(ACL_ERROR_INVALID_PARAM, "memory type %d is unknown", (int)memType);
    desc->placement = memType;
    return ACL_SUCCESS;
}

aclError aclTransTensorDescFormat(const aclTensorDesc *srcDesc, aclFormat dstFormat, aclTensorDesc **dstDesc)
{
    CHECK_ARG(srcDesc);
    CHECK_ARG(dstDesc);
    bool to_last = srcDesc->format == ACL_FORMAT_NCHW && dstFormat == ACL_FORMAT_NHWC;
    bool to_first = srcDesc->format == ACL_FORMAT_NHWC && dstFormat == ACL_FORMAT_NCHW;
    const int64_t *d = srcDesc->view.dim;
    if (srcDesc->view.rank != 4 || (!to_last && !to_first))
        return fail(ACL_ERROR_API_NOT_SUPPORT, "no change of format %d (%d dimensions) to %d", (int)srcDesc->format,
                    srcDesc->view.rank, (int)dstFormat);
    int64_t dim[4] = {d[0], to_last ? d[2] : d[3], to_last ? d[3] : d[1], to_last ? d[1] : d[2]};
    *dstDesc = aclCreateTensorDesc(srcDesc->dtype, 4, dim, dstFormat);
    return *dstDesc ? ACL_SUCCESS : ACL_ERROR_BAD_ALLOC;
}
