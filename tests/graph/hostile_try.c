/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a model. With -DLIBFUZZER this is the target of libFuzzer (tests/graph/README.md). */
#include "hostile.h"

#include <stdlib.h>
#include <string.h>

#include "graph/om.h"
#include "graph/onnx/onnx.h"
#include "graph/operator.h"

static int infer(struct model *model)
{
    struct tensor *table = table_new(model);
    if (table)
        graph_infer(&model->main, table, NULL); /* any answer will do */
    free(table);
    model_free(model);
    return 1;
}

int hostile_try(const uint8_t *bytes, size_t size)
{
    struct model *model = NULL;
    if (size >= 8 && memcmp(bytes, "ANYNPUOM", 8) == 0) {
        uint8_t *copy = aligned_alloc(64, (size + 64) & ~(size_t)63); /* ends where the file does, for the sanitizer */
        int read = 0;
        if (copy) {
            om_seal(memcpy(copy, bytes, size), size); /* what lies behind the checksums must hold as well */
            read = om_open_memory(copy, size, &model) == GRAPH_OK;
        }
        if (read)
            infer(model);
        free(copy);
        return read;
    }
    return onnx_parse(bytes, size, NULL, &model) == GRAPH_OK ? infer(model) : 0;
}

#ifdef LIBFUZZER
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    hostile_try(bytes, size);
    return 0;
}
#endif
