// SPDX-License-Identifier: BSD-3-Clause
// Running a row's adapter on PyTorch's arguments: by the boxed kernel, by thunks of hot operators, by the bridge
// itself.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/UndefinedTensorImpl.h>

#include "call.h"
#include "dtype.h"
#include "memory.h"

namespace torch
{
class Library;
}

namespace npu
{

// A tensor as C sees it. Sizes and strides are borrowed from the TensorImpl.
inline void describe(npu_tensor *t, const c10::TensorImpl *impl)
{
    const c10::StorageImpl *storage = impl->unsafe_storage().unsafeGetStorageImpl();
    t->impl = const_cast<c10::TensorImpl *>(impl);
    t->data = const_cast<void *>(storage->data());
    t->storage_bytes = (int64_t)storage->nbytes();
    t->offset = impl->storage_offset();
    t->size = impl->sizes().data();
    t->stride = impl->strides().data();
    t->rank = (int32_t)impl->dim();
    t->dtype = to_acl(c10::typeMetaToScalarType(impl->dtype()));
    t->device = impl->device_type() == device_type ? impl->device().index() : (int16_t)-1;
    t->defined = true;
    t->wrapped = impl->is_wrapped_number();
}

// Sets up a call on the device's current stream. The adapter runs between begin and finish.
void call_begin(call *c, const aten_row *row, const schema_fact *schema, int device);
// Copies temporaries back, frees what the call took, throws its error. Afterwards results are taken by take_result().
void call_finish(call *c, int status);
void call_free(call *c) noexcept;
at::Tensor take_result(call *c, int k);

const schema_fact *make_facts(const c10::FunctionSchema &schema);

// The fallback of fallback.cpp, for rows that answer CALL_FALLBACK.
void fallback(const c10::OperatorHandle &op, c10::DispatchKeySet keys, torch::jit::Stack *stack);
// "Expected all tensors to be on the same device…": an NPU and a CPU, or two NPUs.
[[noreturn]] void raise_mixed_devices(const char *op);
[[noreturn]] void raise_two_devices(const char *op, int first, int second);

// Which device a call is on, from its tensors.
inline constexpr c10::DispatchKeySet lazy_keys({c10::DispatchKey::Conjugate, c10::DispatchKey::Negative});

struct Scan {
    int device = -1;
    bool fall_back = false, cpu_index = false;
    bool lazy = false; // a tensor with the conjugate or negative bit (products see them, others never do)
};
void scan_foreign(Scan &scan, const c10::TensorImpl *impl, const schema_fact *facts); // a tensor that is not on an NPU

inline void scan_tensor(Scan &scan, const c10::TensorImpl *impl, const schema_fact *facts)
{
    if (C10_UNLIKELY(impl == c10::UndefinedTensorImpl::singleton()))
        return; // has no device to ask for
    if (C10_UNLIKELY(impl->device_type() != device_type)) {
        scan_foreign(scan, impl, facts);
        return;
    }
    int index = impl->device().index();
    if (scan.device != index) {
        if (C10_UNLIKELY(scan.device >= 0))
            raise_two_devices(facts->name, scan.device, index);
        scan.device = index;
    }
    if (C10_UNLIKELY(!impl->has_storage() || to_acl(c10::typeMetaToScalarType(impl->dtype())) == ACL_DT_UNDEFINED))
        scan.fall_back = true;
    if (C10_UNLIKELY(impl->key_set().has_any(lazy_keys)))
        scan.lazy = true;
}

struct FreeCall {
    call *c;
    ~FreeCall()
    {
        call_free(c);
    }
};

void describe_scalar(npu_scalar *s, const c10::Scalar &v); // args.cpp

// dst ← src on one device through aclnnInplaceCopy.
void device_copy(const at::Tensor &dst, const at::Tensor &src);

// The registered row of a name ("add.Tensor") and its facts, nullptr if there is none.
struct Row {
    const aten_row *row;
    const schema_fact *schema;
};
const Row *find_row(const char *name);

// How thunks.cpp registers a hot operator's row; nullptr for the others.
using HotRegister = void (*)(torch::Library &library, const Row *row);
HotRegister find_hot(const std::string &name);

} // namespace npu
