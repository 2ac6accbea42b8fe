/* SPDX-License-Identifier: BSD-3-Clause */
/* The seam between the model calls of libascendcl and the library that executes models (cann/graph, opened at the first
 * load, so that libascendcl does not depend on the operators). libascendcl checks arguments, keeps ids, datasets and
 * descriptions; the executor knows files, memory and operators. The executor's functions return a status and have
 * called fail(). */
#ifndef ANYNPU_RUNTIME_MODEL_H
#define ANYNPU_RUNTIME_MODEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acl/acl_mdl.h"

/* How a model's sizes are chosen at run time. */
enum model_dynamic {
    MODEL_FIXED,
    MODEL_BATCH, /* one of several batch sizes, through the input ACL_DYNAMIC_TENSOR_NAME */
    MODEL_IMAGE, /* one of several heights and widths, likewise */
    MODEL_DIMS,  /* one of several rows of sizes, likewise */
    MODEL_RANGE, /* within limits: by a tensor description, else by the buffer's bytes where one size is open */
};

/* One input or output as programs see it. */
struct model_tensor {
    const char *name;
    aclDataType dtype;
    aclFormat format;
    size_t bytes; /* of the largest size; 0: no upper end */
    size_t rank;
    const int64_t *dims;       /* -1: chosen at run time */
    const int64_t (*range)[2]; /* [rank]: smallest and largest; -1: no upper end */
    aclmdlInputAippType aipp;
    size_t aipp_input;               /* dynamic AIPP: index of the input of parameters; SIZE_MAX: none */
    const struct aclAippInfo *image; /* static AIPP, else NULL */
};

/* What a model is, apart from its weights. Immutable; freed with its last reference. */
struct model_info {
    _Atomic uint32_t references;
    enum model_dynamic dynamic;
    size_t inputs, outputs;
    struct model_tensor *input, *output; /* with the inputs of sizes and AIPP parameters at the end */
    size_t gears, gear_sizes;            /* choices, and how many numbers make one */
    const int64_t *gear;                 /* [gears][gear_sizes] */
    const int64_t *gear_dims;            /* [gears][sum of the own inputs' ranks]: all sizes of all own inputs */
    const int64_t *gear_output;          /* [gears][sum of the outputs' ranks] */
    size_t size_input;                   /* index of ACL_DYNAMIC_TENSOR_NAME; SIZE_MAX: none */
    size_t own_inputs;                   /* before those added at the end */
    size_t work, weight;                 /* bytes */
};

struct model_buffer {
    void *address;
    size_t bytes;
    size_t rank;         /* of dims; SIZE_MAX: dims are not told */
    const int64_t *dims; /* MODEL_RANGE */
};

enum { MODEL_RANK_MAX = 16 };

/* Of an output, after the execution was queued. */
struct model_result {
    size_t rank;
    int64_t dims[MODEL_RANK_MAX];
    aclDataType dtype;
    size_t bytes;
    void *address; /* of an output whose buffer had none: allocated on the device, the caller's */
};

struct executable; /* loaded */

/* Where a model's bytes are: a file, or memory that is copied as far as it is needed. */
struct model_source {
    const char *path;
    const void *data;
    size_t bytes;
};

struct model_memory {
    void *work, *weight; /* the caller's, or NULL */
    size_t work_bytes, weight_bytes;
};

struct model_executor {
    /* A reference for the caller. */
    int (*describe)(const struct model_source *source, struct model_info **info);
    void (*info_free)(struct model_info *info); /* with the last reference */
    /* On the current context's device. id: the model's from then on. */
    int (*load)(const struct model_source *source, const struct model_memory *memory, uint32_t id,
                struct executable **model);
    const struct model_info *(*info)(const struct executable *model);
    /* Queues an execution. The counts are those of info, sizes were not looked at yet. gear: the choice; SIZE_MAX: none
     * was made. Calls for one model may come from several threads; each waits for its turn. An output without an
     * address is allocated when `allocate`, else refused. */
    int (*execute)(struct executable *model, const struct model_buffer *input, const struct model_buffer *output,
                   size_t gear, bool allocate, struct model_result *result, aclrtStream stream);
    /* Nobody executes it any more (the caller's matter); waits for what is queued. */
    void (*unload)(struct executable *model);
};

/* The executor library's one symbol. */
#define MODEL_EXECUTOR_SYMBOL "anynpu_model_executor"

/* The executor, opened now if need be; NULL after fail(). */
const struct model_executor *model_executor(void);

/* A description's reference. */
struct model_info *model_info_ref(const struct model_info *info);
void model_info_unref(struct model_info *info);

/* The loaded model behind an id, held until model_release(); NULL after fail(). */
struct executable *model_hold(uint32_t id, const char *call);
const struct model_info *model_info_of(const struct executable *model);
void model_release(uint32_t id);
/* The choice that was set last for a loaded model; SIZE_MAX: none. */
size_t model_gear_set(uint32_t id);
void model_set_gear(uint32_t id, size_t gear);

/* How long aclmdlExecuteV2 waits, ms; -1: as long as it takes. */
int32_t model_config_timeout(const aclmdlExecConfigHandle *handle);

/* ---- datasets ---- */
struct model_blob {
    aclDataBuffer *buffer;
    aclTensorDesc *desc;
    bool own; /* desc was made by an execution */
};

struct aclmdlDataset {
    size_t count, room;
    struct model_blob *blob;
    uint32_t gear_model; /* whose choice was set; 0: none */
    size_t gear;
};

#endif
