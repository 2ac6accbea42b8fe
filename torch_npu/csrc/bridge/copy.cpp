// SPDX-License-Identifier: BSD-3-Clause
// copy_ between NPU and NPU, NPU and CPU, with conversion, any strides, broadcasting; .item().
//
// Physical memory is copied first, ignoring neg and conj bits; then, if the two sides' bits differ, the destination is
// negated or conjugated in place. (Resolving the bits beforehand would recurse: resolving copies.)
#include <ATen/EmptyTensor.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/conj_physical.h>
#include <torch/library.h>

#include <cstring>

#include "boxed.h"
#include "error.h"
#include "graph.h"
#include "host.h"
#include "metadata.h"
#include "profile.h"

namespace npu
{

using at::Tensor;

// Types CANN does not know are moved as integers of their size.
static aclDataType by_size(size_t bytes)
{
    return bytes == 1   ? ACL_UINT8
           : bytes == 2 ? ACL_INT16
           : bytes == 4 ? ACL_INT32
           : bytes == 8 ? ACL_INT64
                        : ACL_COMPLEX128;
}

void device_copy(const Tensor &dst, const Tensor &src)
{
    static const schema_fact facts{"aten::copy_", 0, 0, 0, nullptr, nullptr, nullptr, false, false};
    static const aten_row row{"copy_", nullptr, nullptr, 0, false};
    call c;
    call_begin(&c, &row, &facts, dst.device().index());
    struct Free {
        call *c;
        ~Free()
        {
            call_free(c);
        }
    } free{&c};
    npu_tensor to, from;
    describe(&to, dst.unsafeGetTensorImpl());
    describe(&from, src.unsafeGetTensorImpl());
    to.dtype = to.dtype == ACL_DT_UNDEFINED ? by_size(dst.dtype().itemsize()) : to.dtype;
    from.dtype = from.dtype == ACL_DT_UNDEFINED ? by_size(src.dtype().itemsize()) : from.dtype;
    call_finish(&c, copy_tensor(&c, &to, &from));
}

// The same elements in the same places: the bytes between first and last can be copied as they are.
static bool same_layout(const Tensor &a, const Tensor &b)
{
    return a.dtype() == b.dtype() && a.sizes() == b.sizes() && a.strides() == b.strides() &&
           a.is_non_overlapping_and_dense();
}

static char *start(const Tensor &t)
{
    return static_cast<char *>(const_cast<void *>(t.storage().data())) +
           (size_t)t.storage_offset() * t.dtype().itemsize();
}

static Tensor raw(const Tensor &t)
{
    return wrap_storage(t.storage(), npu_keys, t.sizes(), t.strides(), t.storage_offset(), t.dtype());
}

static bool acl_knows(const Tensor &t)
{
    return to_acl(t.scalar_type()) != ACL_DT_UNDEFINED;
}

static void copy_on_device(const Tensor &dst, const Tensor &src)
{
    int device = dst.device().index();
    if (same_layout(dst, src)) {
        size_t bytes = (size_t)dst.numel() * dst.dtype().itemsize();
        if (start(dst) != start(src))
            ACL(aclrtMemcpyAsync, start(dst), bytes, start(src), bytes, MEMCPY_D2D, current_stream(device));
        return;
    }
    if (dst.dtype() != src.dtype() && !(acl_knows(dst) && acl_knows(src))) { // convert on the CPU
        Tensor host = at::Tensor(at::detail::empty_cpu(src.sizes(), src.scalar_type()));
        copy_(host, src, false);
        copy_(const_cast<Tensor &>(dst), host, false);
        return;
    }
    device_copy(dst, src);
}

// Through host memory of the source's layout; the two devices' streams are ordered by waiting.
static void copy_between_devices(Tensor &dst, const Tensor &src)
{
    Tensor from = src;
    if (src.dtype() != dst.dtype() || !src.is_non_overlapping_and_dense() || !src.is_contiguous()) {
        from = make_tensor(src.device().index(), src.sizes(), {}, dst.dtype());
        copy_on_device(from, raw(src));
    }
    await_result(from.device().index(), current_stream_index(from.device().index()));
    Tensor to = dst.is_contiguous() ? dst : make_tensor(dst.device().index(), dst.sizes(), {}, dst.dtype());
    size_t bytes = (size_t)to.numel() * to.dtype().itemsize();
    int device = to.device().index();
    await_result(device, current_stream_index(device));
    ACL(aclrtMemcpy, start(to), bytes, start(from), bytes, MEMCPY_D2D);
    if (!to.is_same(dst))
        copy_on_device(raw(dst), to);
}

static Tensor host_contiguous(const Tensor &like, at::ScalarType type, bool pinned)
{
    return Tensor(at::detail::empty_cpu(like.sizes(), type, pinned));
}

static void copy_to_host(Tensor &dst, const Tensor &src, bool non_blocking)
{
    int device = src.device().index(), stream = current_stream_index(device);
    use_device(device);
    size_t bytes = (size_t)src.numel() * src.dtype().itemsize();
    bool plain = same_layout(dst, src);
    if (non_blocking && plain && pinned_contains(start(dst))) {
        ACL(aclrtMemcpyAsync, start(dst), bytes, start(src), bytes, MEMCPY_D2H, stream_handle(device, stream));
        pinned_record(start(dst), device, stream);
        return;
    }
    await_result(device, stream);
    if (Tensor alias = host_alias(src); alias.defined()) {
        int64_t begin = traced(ANYNPU_TRACE_TASK) ? trace()->now() : 0;
        if (plain && bytes <= 1 << 16)
            memcpy(start(dst), start(alias), bytes);
        else
            dst.copy_(alias);
        if (C10_UNLIKELY(begin != 0))
            trace_copy("MemcpyDtoH", device, bytes, begin);
        return;
    }
    if (plain) {
        ACL(aclrtMemcpy, start(dst), bytes, start(src), bytes, MEMCPY_D2H);
        return;
    }
    Tensor packed = make_tensor(device, src.sizes(), {}, src.dtype());
    copy_on_device(packed, raw(src));
    await_result(device, stream);
    Tensor host = host_contiguous(src, src.scalar_type(), false);
    ACL(aclrtMemcpy, start(host), bytes, start(packed), bytes, MEMCPY_D2H);
    dst.copy_(host);
}

constexpr size_t staging_limit = 4 << 20; // larger copies wait for the stream instead of passing through pinned memory

static void copy_to_device(Tensor &dst, const Tensor &src, bool non_blocking)
{
    int device = dst.device().index(), stream = current_stream_index(device);
    use_device(device);
    aclrtStream handle = stream_handle(device, stream);
    size_t bytes = (size_t)dst.numel() * dst.dtype().itemsize();
    bool plain = same_layout(dst, src);
    if (non_blocking && plain && pinned_contains(start(src))) {
        ACL(aclrtMemcpyAsync, start(dst), bytes, start(src), bytes, MEMCPY_H2D, handle);
        pinned_record(start(src), device, stream);
        return;
    }
    if (captures_active() && stream_capture(handle)) {
        std::string place = python_place ? python_place() : "";
        TORCH_CHECK(
            false,
            "Cannot copy between CPU and NPU tensors during NPU graph capture unless the CPU tensor is pinned and "
            "the copy is non_blocking: use tensor.pin_memory().to(\"npu\", non_blocking=True), or copy before the "
            "capture",
            place.empty() ? "" : " (called at " + place + ")", error_suffix(Module::GRAPH, Kind::NOT_SUPPORT));
    }
    bool idle = cann.extension && cann.extension->stream_idle && cann.extension->stream_idle(handle);
    if (!idle && bytes <= staging_limit) {
        Tensor staged = plain ? Tensor(at::detail::empty_cpu({(int64_t)bytes}, at::kByte, true))
                              : host_contiguous(dst, dst.scalar_type(), true);
        if (plain)
            memcpy(start(staged), start(src), bytes);
        else
            staged.copy_(src);
        bool direct = plain || dst.is_contiguous();
        Tensor target = direct ? dst : make_tensor(device, dst.sizes(), {}, dst.dtype());
        ACL(aclrtMemcpyAsync, start(target), bytes, start(staged), bytes, MEMCPY_H2D, handle);
        pinned_record(start(staged), device, stream);
        if (!direct)
            copy_on_device(raw(dst), target);
        return;
    }
    await_result(device, stream);
    if (Tensor alias = host_alias(dst); alias.defined()) {
        int64_t begin = traced(ANYNPU_TRACE_TASK) ? trace()->now() : 0;
        if (plain && bytes <= 1 << 16)
            memcpy(start(alias), start(src), bytes);
        else
            alias.copy_(src);
        if (C10_UNLIKELY(begin != 0))
            trace_copy("MemcpyHtoD", device, bytes, begin);
        return;
    }
    Tensor host = src;
    if (!plain) {
        host = host_contiguous(dst, dst.scalar_type(), false);
        host.copy_(src);
    }
    bool direct = plain || dst.is_contiguous();
    Tensor target = direct ? dst : make_tensor(device, dst.sizes(), {}, dst.dtype());
    ACL(aclrtMemcpy, start(target), bytes, start(host), bytes, MEMCPY_H2D);
    if (!direct)
        copy_on_device(raw(dst), target);
}

// A CPU tensor without its lazy bits; NPU tensors are described by memory anyway.
static Tensor without_bits(const Tensor &t)
{
    if (!t.is_conj() && !t.is_neg())
        return t;
    if (t.is_privateuseone())
        return raw(t);
    return host_tensor(c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(t.storage().unsafeGetStorageImpl()),
                       t.unsafeGetTensorImpl());
}

Tensor &copy_(Tensor &self, const Tensor &source, bool non_blocking)
{
    if (self.is_same(source))
        return self;
    TORCH_CHECK(!self._is_zerotensor(),
                "ZeroTensors are immutable. Please materialize the tensor using `.clone()`, if you want a mutable "
                "zero tensor.");
    if (source._is_zerotensor())
        return self.zero_();
    TORCH_CHECK_NOT_IMPLEMENTED(self.layout() == at::kStrided && source.layout() == at::kStrided,
                                "copy_ between a strided and a sparse tensor is not implemented for NPU",
                                error_suffix(Module::OPS, Kind::NOT_SUPPORT));
    Tensor src = source.sizes() == self.sizes() ? source : source.expand(self.sizes());
    if (self.numel() == 0)
        return self;
    at::assert_no_internal_overlap(self);
    Tensor dst_raw = without_bits(self), src_raw = without_bits(src);
    if (!self.is_privateuseone())
        copy_to_host(dst_raw, src_raw, non_blocking);
    else if (!src.is_privateuseone())
        copy_to_device(dst_raw, src_raw, non_blocking);
    else if (self.device() != src.device())
        copy_between_devices(dst_raw, src_raw);
    else {
        if (self.storage().is_alias_of(src.storage()))
            at::assert_no_partial_overlap(self, src);
        copy_on_device(dst_raw, src_raw);
    }
    if (self.is_conj() != src.is_conj() && self.is_complex() && src.is_complex())
        at::conj_physical_out(dst_raw, dst_raw);
    if (self.is_neg() != src.is_neg())
        dst_raw.neg_();
    return self;
}

static Tensor copy_from(const Tensor &self, const Tensor &dst, bool non_blocking)
{
    copy_(const_cast<Tensor &>(dst), self, non_blocking);
    return dst;
}

static Tensor copy_from_and_resize(const Tensor &self, const Tensor &dst)
{
    dst.resize_(self.sizes());
    return copy_from(self, dst, false);
}

template <class T> static T read(const char *data)
{
    T value;
    memcpy(&value, data, sizeof value);
    return value;
}

static at::Scalar local_scalar_dense(const Tensor &self)
{
    TORCH_CHECK(self.numel() > 0, "_local_scalar_dense: Empty tensor not supported");
    int device = self.device().index();
    size_t bytes = self.dtype().itemsize();
    alignas(16) char data[16];
    TORCH_CHECK(bytes <= sizeof data, "_local_scalar_dense: unknown type");
    await_result(device, current_stream_index(device));
    int64_t begin = traced(ANYNPU_TRACE_TASK) ? trace()->now() : 0;
    if (const void *host = host_view(start(self), bytes)) {
        memcpy(data, host, bytes);
        if (C10_UNLIKELY(begin != 0))
            trace_copy("MemcpyDtoH", device, bytes, begin);
    } else
        ACL(aclrtMemcpy, data, bytes, start(self), bytes, MEMCPY_D2H);
    switch (self.scalar_type()) {
#define CASE(type, name)                                                                                               \
    case at::ScalarType::name:                                                                                         \
        return at::Scalar(read<type>(data));
        AT_FORALL_SCALAR_TYPES_WITH_COMPLEX(CASE)
        CASE(uint16_t, UInt16)
        CASE(uint32_t, UInt32)
        CASE(uint64_t, UInt64)
#undef CASE
    default:
        TORCH_CHECK_NOT_IMPLEMENTED(false, "\"_local_scalar_dense\" not implemented for '", self.scalar_type(),
                                    "' (not implemented for NPU)");
    }
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    m.impl("copy_", TORCH_FN(copy_));
    m.impl("_copy_from", TORCH_FN(copy_from));
    m.impl("_copy_from_and_resize", TORCH_FN(copy_from_and_resize));
    m.impl("_local_scalar_dense", TORCH_FN(local_scalar_dense));
}

// Both read the bits themselves.
TORCH_LIBRARY_IMPL(aten, Conjugate, m)
{
    m.impl("_copy_from", torch::CppFunction::makeFallthrough());
}
TORCH_LIBRARY_IMPL(aten, Negative, m)
{
    m.impl("_copy_from", torch::CppFunction::makeFallthrough());
}

} // namespace npu
