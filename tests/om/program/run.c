/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs any model once from files: run MODEL.om OUT [--batch N] IN…: IN is the bytes of an input; the bytes of output i
 * go to OUT.i, its sizes are printed. Compiled by the tests in one line, like a user's program. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl.h"

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        aclError status_ = (call);                                                                                     \
        if (status_ != ACL_SUCCESS) {                                                                                  \
            const char *text_ = aclGetRecentErrMsg();                                                                  \
            fprintf(stderr, "%s: %d\n%s\n", #call, status_, text_ ? text_ : "");                                       \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

static void *read_file(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END)) {
        perror(path);
        exit(1);
    }
    *bytes = (size_t)ftell(file);
    rewind(file);
    void *data = malloc(*bytes + 1);
    if (fread(data, 1, *bytes, file) != *bytes)
        exit(1);
    fclose(file);
    return data;
}

static void add(aclmdlDataset *dataset, void *memory, size_t bytes)
{
    CHECK(aclmdlAddDatasetBuffer(dataset, aclCreateDataBuffer(memory, bytes)));
}

static void write_outputs(const aclmdlDesc *desc, aclmdlDataset *output, const char *prefix)
{
    for (size_t i = 0; i < aclmdlGetDatasetNumBuffers(output); i++) {
        aclDataBuffer *buffer = aclmdlGetDatasetBuffer(output, i);
        const aclTensorDesc *told = aclmdlGetDatasetTensorDesc(output, i);
        aclmdlIODims dims = {.dimCount = 0};
        if (told) {
            dims.dimCount = aclGetTensorDescNumDims(told);
            for (size_t d = 0; d < dims.dimCount; d++)
                dims.dims[d] = aclGetTensorDescDim(told, d);
        } else {
            CHECK(aclmdlGetCurOutputDims(desc, i, &dims));
        }
        size_t bytes = aclDataTypeSize(aclmdlGetOutputDataType(desc, i));
        for (size_t d = 0; d < dims.dimCount; d++) {
            printf(d ? " %ld" : "%ld", (long)dims.dims[d]);
            bytes *= (size_t)dims.dims[d];
        }
        printf("\n");
        char path[4096];
        snprintf(path, sizeof path, "%s.%zu", prefix, i);
        void *host = malloc(bytes + 1);
        if (bytes)
            CHECK(aclrtMemcpy(host, bytes, aclGetDataBufferAddr(buffer), bytes, ACL_MEMCPY_DEVICE_TO_HOST));
        FILE *file = fopen(path, "wb");
        if (!file || fwrite(host, 1, bytes, file) != bytes || fclose(file)) {
            perror(path);
            exit(1);
        }
        free(host);
    }
}

int main(int argc, char **argv)
{
    uint32_t model;
    int first = 3;
    uint64_t batch = 0;
    if (argc > 4 && !strcmp(argv[3], "--batch")) {
        batch = strtoull(argv[4], NULL, 10);
        first = 5;
    }
    CHECK(aclInit(NULL));
    CHECK(aclrtSetDevice(0));
    CHECK(aclmdlLoadFromFile(argv[1], &model));
    aclmdlDesc *desc = aclmdlCreateDesc();
    CHECK(aclmdlGetDesc(desc, model));
    aclmdlDataset *input = aclmdlCreateDataset(), *output = aclmdlCreateDataset();
    for (size_t i = 0; i < aclmdlGetNumInputs(desc); i++) {
        size_t bytes = aclmdlGetInputSizeByIndex(desc, i);
        void *host = NULL, *memory;
        if (first + (int)i < argc)
            host = read_file(argv[first + (int)i], &bytes);
        CHECK(aclrtMalloc(&memory, bytes ? bytes : 1, ACL_MEM_MALLOC_HUGE_FIRST));
        if (host)
            CHECK(aclrtMemcpy(memory, bytes, host, bytes, ACL_MEMCPY_HOST_TO_DEVICE));
        add(input, memory, bytes);
        free(host);
    }
    for (size_t i = 0; i < aclmdlGetNumOutputs(desc); i++)
        add(output, NULL, 0); /* the execution finds memory for it */
    if (batch) {
        size_t index;
        CHECK(aclmdlGetInputIndexByName(desc, ACL_DYNAMIC_TENSOR_NAME, &index));
        CHECK(aclmdlSetDynamicBatchSize(model, input, index, batch));
    }
    CHECK(aclmdlExecute(model, input, output));
    write_outputs(desc, output, argv[2]);
    CHECK(aclmdlDestroyDesc(desc));
    CHECK(aclmdlUnload(model));
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
    return 0;
}
