/* SPDX-License-Identifier: BSD-3-Clause */
/* Datasets: rows of data buffers for an execution, with the size that was chosen for it. Plain data of the client, used
 * by one thread at a time; buffers stay the client's, descriptions that an execution made are the dataset's. */
#include <stdlib.h>

#include "error.h"
#include "model.h"

aclmdlDataset *aclmdlCreateDataset(void)
{
    struct aclmdlDataset *d = calloc(1, sizeof *d);
    if (!d)
        fail(ACL_ERROR_BAD_ALLOC, "no host memory for a dataset");
    return d;
}

aclError aclmdlDestroyDataset(const aclmdlDataset *dataset)
{
    CHECK_ARG(dataset);
    for (size_t i = 0; i < dataset->count; i++)
        if (dataset->blob[i].own)
            aclDestroyTensorDesc(dataset->blob[i].desc);
    free(dataset->blob);
    free((void *)(uintptr_t)dataset);
    return ACL_SUCCESS;
}

aclError aclmdlAddDatasetBuffer(aclmdlDataset *dataset, aclDataBuffer *dataBuffer)
{
    CHECK_ARG(dataset);
    CHECK_ARG(dataBuffer);
    if (dataset->count == dataset->room) {
        size_t room = dataset->room ? dataset->room * 2 : 8;
        struct model_blob *more = realloc(dataset->blob, room * sizeof *more);
        if (!more)
            return fail(ACL_ERROR_BAD_ALLOC, "no host memory for a dataset of %zu buffers", room);
        dataset->blob = more;
        dataset->room = room;
    }
    dataset->blob[dataset->count++] = (struct model_blob){.buffer = dataBuffer};
    return ACL_SUCCESS;
}

size_t aclmdlGetDatasetNumBuffers(const aclmdlDataset *dataset)
{
    return dataset ? dataset->count : 0;
}

aclDataBuffer *aclmdlGetDatasetBuffer(const aclmdlDataset *dataset, size_t index)
{
    if (dataset && index < dataset->count)
        return dataset->blob[index].buffer;
    fail(ACL_ERROR_INVALID_PARAM, "aclmdlGetDatasetBuffer: no buffer %zu in a dataset of %zu", index,
         aclmdlGetDatasetNumBuffers(dataset));
    return NULL;
}

aclError aclmdlSetDatasetTensorDesc(aclmdlDataset *dataset, aclTensorDesc *tensorDesc, size_t index)
{
    CHECK_ARG(dataset);
    if (index >= dataset->count)
        return fail(ACL_ERROR_INVALID_PARAM, "aclmdlSetDatasetTensorDesc: no buffer %zu in a dataset of %zu", index,
                    dataset->count);
    struct model_blob *b = &dataset->blob[index];
    if (b->own)
        aclDestroyTensorDesc(b->desc);
    b->desc = tensorDesc;
    b->own = false;
    return ACL_SUCCESS;
}

aclTensorDesc *aclmdlGetDatasetTensorDesc(const aclmdlDataset *dataset, size_t index)
{
    if (dataset && index < dataset->count)
        return dataset->blob[index].desc;
    fail(ACL_ERROR_INVALID_PARAM, "aclmdlGetDatasetTensorDesc: no buffer %zu in a dataset of %zu", index,
         aclmdlGetDatasetNumBuffers(dataset));
    return NULL;
}
