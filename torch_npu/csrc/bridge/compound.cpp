// SPDX-License-Identifier: BSD-3-Clause
// Sparse and nested tensors on the NPU (compound.h). What only handles their structure is PyTorch's own code for any
// device, registered here; what computes goes through the fallback (fallback.cpp), which moves the parts. That needs an
// entry of its own where PyTorch has both a kernel for the CPU and a composite, which would otherwise come first.
#include "compound.h"

#include <ATen/NestedTensorImpl.h>
#include <ATen/SparseCsrTensorImpl.h>
#include <ATen/SparseCsrTensorUtils.h>
#include <ATen/SparseTensorImpl.h>
#include <ATen/native/SparseTensorUtils.h>
#include <ATen/ops/_coalesced_native.h>
#include <ATen/ops/_dimI_native.h>
#include <ATen/ops/_dimV_native.h>
#include <ATen/ops/_indices_native.h>
#include <ATen/ops/_nested_tensor_size_native.h>
#include <ATen/ops/_nested_tensor_storage_offsets_native.h>
#include <ATen/ops/_nested_tensor_strides_native.h>
#include <ATen/ops/_nested_view_from_buffer_native.h>
#include <ATen/ops/_nnz_native.h>
#include <ATen/ops/_sparse_coo_tensor_with_dims_and_tensors_native.h>
#include <ATen/ops/_sparse_coo_tensor_with_dims_native.h>
#include <ATen/ops/_to_copy_native.h>
#include <ATen/ops/_to_dense_native.h>
#include <ATen/ops/_to_sparse_native.h>
#include <ATen/ops/_values_native.h>
#include <ATen/ops/alias_native.h>
#include <ATen/ops/ccol_indices_native.h>
#include <ATen/ops/clone_native.h>
#include <ATen/ops/col_indices_native.h>
#include <ATen/ops/copy_native.h>
#include <ATen/ops/copy_sparse_to_sparse_native.h>
#include <ATen/ops/crow_indices_native.h>
#include <ATen/ops/dense_dim_native.h>
#include <ATen/ops/empty_like_native.h>
#include <ATen/ops/empty_native.h>
#include <ATen/ops/indices_native.h>
#include <ATen/ops/is_coalesced_native.h>
#include <ATen/ops/is_same_size_native.h>
#include <ATen/ops/row_indices_native.h>
#include <ATen/ops/select_native.h>
#include <ATen/ops/sparse_dim_native.h>
#include <ATen/ops/sparse_resize_and_clear_native.h>
#include <ATen/ops/sparse_resize_native.h>
#include <ATen/ops/transpose_native.h>
#include <ATen/ops/unbind_native.h>
#include <ATen/ops/values_native.h>
#include <ATen/ops/zero_native.h>
#include <torch/library.h>

#include "fallback.h"

namespace npu
{

using at::Tensor;

static bool is_compressed(const Tensor &t)
{
    c10::Layout layout = t.layout();
    return layout == c10::kSparseCsr || layout == c10::kSparseCsc || layout == c10::kSparseBsr ||
           layout == c10::kSparseBsc;
}

bool is_compound(const Tensor &t)
{
    return t.defined() && (t.is_nested() || t.layout() == c10::kSparse || is_compressed(t));
}

static c10::DispatchKeySet keys(const Tensor &part, c10::DispatchKey cpu, c10::DispatchKey npu)
{
    return c10::DispatchKeySet(part.is_privateuseone() ? npu : cpu);
}

static void fill_coo(at::SparseTensorImpl *to, const Tensor &from, const MovePart &move)
{
    auto *source = at::sparse::get_sparse_impl(from);
    to->raw_resize_(source->sparse_dim(), source->dense_dim(), source->sizes());
    to->set_indices_and_values_unsafe(move(source->indices()), move(source->values()));
    to->set_coalesced(source->coalesced());
}

static void fill_compressed(at::SparseCsrTensorImpl *to, const Tensor &from, const MovePart &move)
{
    auto *source = at::sparse_csr::get_sparse_csr_impl(from);
    to->set_member_tensors(move(source->compressed_indices()), move(source->plain_indices()), move(source->values()),
                           source->sizes());
}

Tensor compound_of(const Tensor &t, const MovePart &move)
{
    using Key = c10::DispatchKey;
    if (t.is_nested()) {
        auto *nested = at::native::get_nested_tensor_impl(t);
        return at::detail::make_tensor<at::native::NestedTensorImpl>(
            move(nested->get_unsafe_storage_as_tensor()), nested->get_nested_sizes(), nested->get_nested_strides(),
            nested->get_storage_offsets());
    }
    if (t.layout() == c10::kSparse) {
        auto set = keys(move(at::sparse::get_sparse_impl(t)->values()), Key::SparseCPU, Key::SparsePrivateUse1);
        Tensor made = at::detail::make_tensor<at::SparseTensorImpl>(set, t.dtype());
        fill_coo(at::sparse::get_sparse_impl(made), t, move);
        return made;
    }
    Tensor values = move(at::sparse_csr::get_sparse_csr_impl(t)->values());
    Tensor made = at::detail::make_tensor<at::SparseCsrTensorImpl>(
        keys(values, Key::SparseCsrCPU, Key::SparseCsrPrivateUse1), values.device(), t.layout(), t.dtype());
    fill_compressed(at::sparse_csr::get_sparse_csr_impl(made), t, move);
    return made;
}

void compound_assign(const Tensor &to, const Tensor &from, const MovePart &move)
{
    if (to.is_nested())
        return;
    if (to.layout() == c10::kSparse)
        fill_coo(at::sparse::get_sparse_impl(to), from, move);
    else
        fill_compressed(at::sparse_csr::get_sparse_csr_impl(to), from, move);
}

// Gives `npu` the fallback where PyTorch has a kernel for `cpu` and a composite.
template <c10::DispatchKey cpu, c10::DispatchKey npu> static void fall_back_before_composites(torch::Library &m)
{
    using Key = c10::DispatchKey;
    auto &dispatcher = c10::Dispatcher::singleton();
    for (const c10::OperatorName &name : dispatcher.getAllOpNames()) {
        auto op = dispatcher.findOp(name);
        if (!op || !op->hasKernelForDispatchKey(cpu) || op->hasKernelForDispatchKey(npu))
            continue;
        if (op->hasKernelForDispatchKey(Key::CompositeExplicitAutograd) ||
            op->hasKernelForDispatchKey(Key::CompositeExplicitAutogradNonFunctional) ||
            op->hasKernelForDispatchKey(Key::CompositeImplicitAutograd) ||
            op->hasKernelForDispatchKey(Key::CompositeImplicitAutogradNestedTensor))
            m.impl(c10::toString(name).c_str(), torch::CppFunction::makeFromBoxedFunction<&fallback_compound<cpu>>());
    }
}

TORCH_LIBRARY_IMPL(aten, SparsePrivateUse1, m)
{
    using namespace at::native;
    m.impl("empty.memory_format", TORCH_FN(empty_sparse_symint));
    m.impl("_sparse_coo_tensor_with_dims", TORCH_FN(new_with_dims_sparse));
    m.impl("_sparse_coo_tensor_with_dims_and_tensors", TORCH_FN(new_with_dims_and_tensor_sparse_symint));
    m.impl("sparse_resize_", TORCH_FN(sparse_resize_));
    m.impl("sparse_resize_and_clear_", TORCH_FN(sparse_resize_and_clear_));
    m.impl("sparse_dim", TORCH_FN(sparse_dim_sparse));
    m.impl("_dimI", TORCH_FN(sparse_dim_sparse));
    m.impl("dense_dim", TORCH_FN(dense_dim_sparse));
    m.impl("_dimV", TORCH_FN(dense_dim_sparse));
    m.impl("_nnz", TORCH_FN(_nnz_sparse));
    m.impl("is_coalesced", TORCH_FN(is_coalesced_sparse));
    m.impl("_coalesced_", TORCH_FN(_coalesced_sparse_));
    m.impl("_indices", TORCH_FN(_indices_sparse));
    m.impl("_values", TORCH_FN(_values_sparse));
    m.impl("indices", TORCH_FN(indices_sparse));
    m.impl("values", TORCH_FN(values_sparse));
    m.impl("copy_", TORCH_FN(copy_sparse_wrapper_));
    m.impl("copy_sparse_to_sparse_", TORCH_FN(copy_sparse_));
    m.impl("clone", TORCH_FN(clone_sparse));
    m.impl("zero_", TORCH_FN(zero_sparse_));
    m.impl("_to_dense", TORCH_FN(sparse_to_dense));
    fall_back_before_composites<c10::DispatchKey::SparseCPU, c10::DispatchKey::SparsePrivateUse1>(m);
}

TORCH_LIBRARY_IMPL(aten, SparseCsrPrivateUse1, m)
{
    using namespace at::native;
    m.impl("sparse_dim", TORCH_FN(sparse_dim_sparse_csr));
    m.impl("dense_dim", TORCH_FN(dense_dim_sparse_csr));
    m.impl("_nnz", TORCH_FN(_nnz_sparse_csr));
    m.impl("crow_indices", TORCH_FN(crow_indices_sparse_csr));
    m.impl("col_indices", TORCH_FN(col_indices_sparse_csr));
    m.impl("ccol_indices", TORCH_FN(ccol_indices_sparse_csr));
    m.impl("row_indices", TORCH_FN(row_indices_sparse_csr));
    m.impl("values", TORCH_FN(values_sparse_csr));
    m.impl("empty.memory_format", TORCH_FN(empty_sparse_compressed_symint));
    m.impl("empty_like", TORCH_FN(empty_like_sparse_csr));
    m.impl("copy_", TORCH_FN(copy_sparse_compressed_));
    m.impl("clone", TORCH_FN(clone_sparse_compressed));
    m.impl("zero_", TORCH_FN(zero_sparse_csr_));
    m.impl("select.int", TORCH_FN(select_sparse_csr));
    fall_back_before_composites<c10::DispatchKey::SparseCsrCPU, c10::DispatchKey::SparseCsrPrivateUse1>(m);
}

TORCH_LIBRARY_IMPL(aten, NestedTensorPrivateUse1, m)
{
    using namespace at::native;
    m.impl("_nested_tensor_size", TORCH_FN(_nested_tensor_size));
    m.impl("_nested_tensor_strides", TORCH_FN(_nested_tensor_strides));
    m.impl("_nested_tensor_storage_offsets", TORCH_FN(_nested_tensor_storage_offsets));
    m.impl("unbind.int", TORCH_FN(NestedTensor_unbind));
    m.impl("select.int", TORCH_FN(select_nested));
    m.impl("transpose.int", TORCH_FN(transpose_nested));
    m.impl("alias", TORCH_FN(alias_nested));
    m.impl("values", TORCH_FN(values_nested));
    m.impl("is_same_size", TORCH_FN(nested_is_same_size));
    m.impl("_to_copy", TORCH_FN(_to_copy_nested));
    m.impl("empty_like", TORCH_FN(empty_like_nested));
    m.impl("copy_", TORCH_FN(copy_nested_));
    m.impl("clone", TORCH_FN(clone_nested));
    m.impl("zero_", TORCH_FN(zero_nested_));
    fall_back_before_composites<c10::DispatchKey::NestedTensorCPU, c10::DispatchKey::NestedTensorPrivateUse1>(m);
}

TORCH_LIBRARY_IMPL(_, SparsePrivateUse1, m)
{
    m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback_compound<c10::DispatchKey::SparseCPU>>());
}
TORCH_LIBRARY_IMPL(_, SparseCsrPrivateUse1, m)
{
    m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback_compound<c10::DispatchKey::SparseCsrCPU>>());
}
TORCH_LIBRARY_IMPL(_, NestedTensorPrivateUse1, m)
{
    m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback_compound<c10::DispatchKey::NestedTensorCPU>>());
}

} // namespace npu
