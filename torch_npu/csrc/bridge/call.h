/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside of struct call (ops/op.h): shared by the C files of ops/ that serve adapters and the C++ of bridge/ that talks
 * to PyTorch. A call lives on the caller's stack for one operator; nothing in it is shared between threads. No C++
 * exception crosses C code: helpers record it and the call fails. */
#ifndef TORCH_NPU_BRIDGE_CALL_H
#define TORCH_NPU_BRIDGE_CALL_H

#include "../ops/op.h"
#include "cann.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(hidden) /* short names, for this library alone */

enum arg_kind { ARG_OTHER, ARG_TENSOR, ARG_TENSORS, ARG_GENERATOR, ARG_DEVICE };
enum result_how { RESULT_NEW, RESULT_OUT, RESULT_INPLACE, RESULT_OTHER };

/* What the schema says of a result: a new one, or the argument it is written to. */
struct result_fact {
    uint8_t how;
    bool list;
    int8_t arg; /* for RESULT_OUT and RESULT_INPLACE */
};

/* Facts of one operator's schema, made once at registration. */
struct schema_fact {
    const char *name;    /* "aten::add.Tensor" */
    int args, results;   /* results: what result(k) may be asked for */
    int returns;         /* what goes back on the stack */
    const uint8_t *kind; /* enum arg_kind by argument */
    const bool *written; /* by argument */
    const struct result_fact *result;
    bool cpu_index;  /* index tensors on the CPU are moved to the device */
    bool composite;  /* what the adapter does not take goes to PyTorch's composite kernel (foreach) */
    bool overlap_ok; /* the written tensor may overlap itself: fill_ and such */
};

struct result_item {
    struct npu_tensor t;      /* what the adapter got */
    struct npu_tensor target; /* the given tensor, when t is a temporary */
    void *made;               /* c10::TensorImpl of a new result, owned until it is handed over */
    bool copy_back;
};

struct result_slot {
    struct result_item one;
    struct result_item *item; /* list results */
    size_t n;
    int16_t self; /* 1 + argument that is the result; 0: none */
    bool undefined, asked;
    bool is_bool, is_int;
    int64_t value; /* the result is this bool or int */
};

struct chunk {
    struct chunk *next;
};

struct held {
    struct held *next;
    void *block; /* npu::Block of a temporary */
};

enum { CALL_ARENA = 3072, CALL_SLOTS = 24, RESULT_SLOTS = 6 };

struct call {
    const struct aten_row *row;
    const struct schema_fact *schema;
    void *values;                     /* c10::IValue array of the arguments; NULL when all were given converted */
    const struct npu_tensor **tensor; /* by argument, NULL: not converted yet */
    const struct npu_scalar **scalar;
    struct result_slot *result;
    struct held *held;
    struct chunk *chunks;
    char *message;   /* of the recorded error */
    void *exception; /* std::exception_ptr, when the error came as one */
    size_t used;     /* bytes of the arena */
    int status;      /* CALL_OK or CALL_ERROR */
    enum call_error_kind kind;
    int16_t device;
    bool launched; /* something is on the stream: too late to fall back */
    aclrtStream stream;
    const struct npu_tensor *tensor_slots[CALL_SLOTS];
    const struct npu_scalar *scalar_slots[CALL_SLOTS];
    struct result_slot result_slots[RESULT_SLOTS];
    char arena[CALL_ARENA] __attribute__((aligned(16)));
};

/* ops/call.c */
void *call_take(struct call *c, size_t bytes); /* arena memory, not zeroed, never NULL */
void call_drop(struct call *c);                /* frees what C took: chunks and the message */
int call_acl_error(struct call *c, aclError code, const char *what, const char *function, const char *file, int line);
bool can_cast(aclDataType from, aclDataType to);
const char *dtype_name(aclDataType t); /* "Float", as PyTorch says */
size_t dtype_bytes(aclDataType t);
/* Strides TensorIterator gives a new result of these inputs; false: contiguous. */
bool pointwise_strides(const struct npu_tensor *const *inputs, int n, int32_t rank, const int64_t *size,
                       int64_t *stride);
bool scalar_from_memory(aclDataType t, const void *data, struct npu_scalar *value);

/* bridge (C++) */
const char *call_exception_text(struct call *c); /* memory of the call */
void call_exception_drop(struct call *c);
int call_take_device(struct call *c, size_t bytes, void **data); /* a temporary block on the current stream */
int call_wait(struct call *c);
bool call_captured(struct call *c); /* the stream captures a graph: what goes wrong shows when it is executed */
int call_read(struct call *c, const void *device, size_t bytes, void *host);                        /* waits, copies */
void *call_text(aclError code, const char *what, const char *function, const char *file, int line); /* malloc'ed */

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
