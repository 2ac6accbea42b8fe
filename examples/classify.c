/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a converted classifier on pictures: a first program for offline models, with nothing but AscendCL.
 *
 *   atc --model=m.onnx --framework=5 --output=m --soc_version=Ascend910B3
 *   cc classify.c -I$ASCEND_HOME_PATH/include -L$ASCEND_HOME_PATH/lib64 -lascendcl -Wl,-rpath,$ASCEND_HOME_PATH/lib64
 * -o classify
 *   ./classify m.om pictures.bin
 *
 * pictures.bin holds inputs of the model one after another, as bytes (numpy's tofile). For each picture a line is
 * printed: the class with the highest score, and the score. The last picture's line is followed by the time of an
 * execution. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "acl/acl.h"

static void check(aclError status, const char *what)
{
    if (status != ACL_SUCCESS) {
        const char *text = aclGetRecentErrMsg();
        fprintf(stderr, "%s failed with %d\n%s\n", what, status, text ? text : "");
        exit(1);
    }
}

#define CHECK(call) check(call, #call)

/* A dataset of one buffer of device memory. */
static aclmdlDataset *make_dataset(size_t bytes, void **memory)
{
    CHECK(aclrtMalloc(memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    aclmdlDataset *dataset = aclmdlCreateDataset();
    CHECK(aclmdlAddDatasetBuffer(dataset, aclCreateDataBuffer(*memory, bytes)));
    return dataset;
}

static void free_dataset(aclmdlDataset *dataset, void *memory)
{
    CHECK(aclDestroyDataBuffer(aclmdlGetDatasetBuffer(dataset, 0)));
    CHECK(aclmdlDestroyDataset(dataset));
    CHECK(aclrtFree(memory));
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Rows of scores: one for each picture of the batch. */
static void print_best(const float *score, size_t rows, size_t classes)
{
    for (size_t r = 0; r < rows; r++) {
        size_t best = 0;
        for (size_t c = 1; c < classes; c++)
            if (score[r * classes + c] > score[r * classes + best])
                best = c;
        printf("%zu %.6f\n", best, (double)score[r * classes + best]);
    }
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: %s model.om pictures.bin\n", argv[0]);
        return 2;
    }
    FILE *pictures = fopen(argv[2], "rb");
    if (!pictures) {
        perror(argv[2]);
        return 2;
    }
    uint32_t model;
    CHECK(aclInit(NULL));
    CHECK(aclrtSetDevice(0));
    CHECK(aclmdlLoadFromFile(argv[1], &model));

    aclmdlDesc *desc = aclmdlCreateDesc();
    CHECK(aclmdlGetDesc(desc, model));
    size_t in_bytes = aclmdlGetInputSizeByIndex(desc, 0), out_bytes = aclmdlGetOutputSizeByIndex(desc, 0);
    aclmdlIODims in_dims, out_dims;
    CHECK(aclmdlGetInputDims(desc, 0, &in_dims));
    CHECK(aclmdlGetOutputDims(desc, 0, &out_dims));
    if (aclmdlGetNumInputs(desc) != 1 || aclmdlGetOutputDataType(desc, 0) != ACL_FLOAT || out_dims.dimCount != 2) {
        fprintf(stderr, "%s is not a classifier with one input and float scores (pictures, classes)\n", argv[1]);
        return 1;
    }
    fprintf(stderr, "input %s: %zu bytes, output %s: %ld classes\n", in_dims.name, in_bytes, out_dims.name,
            (long)out_dims.dims[1]);

    void *in, *out, *host_in = malloc(in_bytes);
    float *score = malloc(out_bytes);
    aclmdlDataset *input = make_dataset(in_bytes, &in), *output = make_dataset(out_bytes, &out);
    double busy = 0;
    size_t runs = 0;
    while (fread(host_in, 1, in_bytes, pictures) == in_bytes) {
        CHECK(aclrtMemcpy(in, in_bytes, host_in, in_bytes, ACL_MEMCPY_HOST_TO_DEVICE));
        double begin = now();
        CHECK(aclmdlExecute(model, input, output));
        busy += now() - begin;
        runs++;
        CHECK(aclrtMemcpy(score, out_bytes, out, out_bytes, ACL_MEMCPY_DEVICE_TO_HOST));
        print_best(score, (size_t)out_dims.dims[0], (size_t)out_dims.dims[1]);
    }
    fprintf(stderr, "%zu executions, %.3f ms each\n", runs, runs ? 1e3 * busy / (double)runs : 0);

    free_dataset(input, in);
    free_dataset(output, out);
    free(host_in);
    free(score);
    fclose(pictures);
    CHECK(aclmdlDestroyDesc(desc));
    CHECK(aclmdlUnload(model));
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
    return 0;
}
