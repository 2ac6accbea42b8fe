// SPDX-License-Identifier: BSD-3-Clause
// Hot operators without boxing: the C++ signature that PyTorch declares for the operator is turned into the same call
// of the same row that the boxed kernel makes. One line of HOT for each; arguments may be tensors and numbers only.
#include <ATen/core/Tensor.h> // before the others: they lean on it

#include <ATen/ops/abs_ops.h>
#include <ATen/ops/add_ops.h>
#include <ATen/ops/addmm_ops.h>
#include <ATen/ops/bmm_ops.h>
#include <ATen/ops/div_ops.h>
#include <ATen/ops/eq_ops.h>
#include <ATen/ops/exp_ops.h>
#include <ATen/ops/fill_ops.h>
#include <ATen/ops/ge_ops.h>
#include <ATen/ops/gt_ops.h>
#include <ATen/ops/le_ops.h>
#include <ATen/ops/lt_ops.h>
#include <ATen/ops/mm_ops.h>
#include <ATen/ops/mul_ops.h>
#include <ATen/ops/ne_ops.h>
#include <ATen/ops/neg_ops.h>
#include <ATen/ops/relu_ops.h>
#include <ATen/ops/rsqrt_ops.h>
#include <ATen/ops/sigmoid_ops.h>
#include <ATen/ops/silu_ops.h>
#include <ATen/ops/sqrt_ops.h>
#include <ATen/ops/sub_ops.h>
#include <ATen/ops/tanh_ops.h>
#include <ATen/ops/threshold_backward_ops.h>
#include <ATen/ops/zero_ops.h>
#include <torch/library.h>

#include <cstring>
#include <unordered_map>

#include "boxed.h"
#include "metadata.h"

namespace npu
{

using at::Scalar;
using at::Tensor;

union Slot {
    npu_tensor tensor;
    npu_scalar scalar;
};

static inline void scan(Scan &s, const Tensor &t, const schema_fact *facts)
{
    scan_tensor(s, t.unsafeGetTensorImpl(), facts);
}
static inline void scan(Scan &, const Scalar &, const schema_fact *)
{
}

static inline void set(call *c, int i, Slot *slot, const Tensor &t)
{
    if (C10_LIKELY(t.defined()))
        describe(&slot->tensor, t.unsafeGetTensorImpl());
    else
        slot->tensor = npu_tensor{};
    c->tensor[i] = &slot->tensor;
}
static inline void set(call *c, int i, Slot *slot, const Scalar &s)
{
    describe_scalar(&slot->scalar, s);
    c->scalar[i] = &slot->scalar;
}

// The argument an in-place or out= operator returns: the one that is no const reference.
static inline Tensor *written(Tensor &t)
{
    return &t;
}
static inline Tensor *written(const Tensor &)
{
    return nullptr;
}
static inline Tensor *written(const Scalar &)
{
    return nullptr;
}

// Conjugates and negates in memory what is only marked.
static inline bool lazy(const Tensor &t)
{
    return t.defined() && t.unsafeGetTensorImpl()->key_set().has_any(lazy_keys);
}
static inline bool lazy(const Scalar &)
{
    return false;
}
static inline Tensor &resolved(Tensor &t)
{
    return t;
}
static inline Tensor resolved(const Tensor &t)
{
    return lazy(t) ? t.resolve_conj().resolve_neg() : t;
}
static inline const Scalar &resolved(const Scalar &s)
{
    return s;
}

template <class Op, class Signature> struct Hot;

template <class Op, class R, class... A> struct Hot<Op, R(A...)> {
    static inline const Row *row = nullptr;

    static R run(A... a)
    {
        Scan s;
        const schema_fact *facts = row->schema;
        (scan(s, a, facts), ...);
        if (C10_UNLIKELY(s.lazy)) {
            bool marked = false; // a result
            ((marked = marked || (written(a) && lazy(a))), ...);
            if (!marked)
                return run(resolved(a)...);
            s.fall_back = true;
        }
        if (C10_LIKELY(!s.fall_back)) {
            int device = s.device < 0 ? current_device() : s.device;
            call c;
            call_begin(&c, row->row, facts, device);
            FreeCall free{&c};
            Slot slot[sizeof...(A)];
            int i = 0;
            ((set(&c, i, &slot[i], a), i++), ...);
            int status = row->row->run(&c, row->row);
            if (C10_LIKELY(status != CALL_FALLBACK || c.status != CALL_OK || c.launched)) {
                call_finish(&c, status);
                if constexpr (std::is_same_v<R, Tensor>) {
                    return take_result(&c, 0);
                } else {
                    Tensor *out = nullptr;
                    ((out = written(a) ? written(a) : out), ...);
                    return *out;
                }
            }
        }
        return by_stack(a...);
    }

    // What the boxed kernel would do.
    static R by_stack(A... a)
    {
        static const c10::OperatorHandle op =
            c10::Dispatcher::singleton().findSchemaOrThrow(Op::name, Op::overload_name);
        torch::jit::Stack stack;
        (stack.emplace_back(a), ...);
        fallback(op, npu_keys, &stack);
        if constexpr (std::is_same_v<R, Tensor>) {
            return std::move(stack.back()).toTensor();
        } else {
            Tensor *out = nullptr;
            ((out = written(a) ? written(a) : out), ...);
            return *out;
        }
    }
};

template <class Op> static void register_hot(torch::Library &library, const Row *row)
{
    using Thunk = Hot<Op, typename Op::schema>;
    Thunk::row = row;
    library.impl(row->row->name, TORCH_FN(Thunk::run));
}

template <class Op> static std::pair<std::string, HotRegister> hot()
{
    std::string name = std::string(Op::name).substr(strlen("aten::"));
    return {*Op::overload_name ? name + "." + Op::overload_name : name, &register_hot<Op>};
}

HotRegister find_hot(const std::string &name)
{
    namespace op = at::_ops;
    static const std::unordered_map<std::string, HotRegister> table = {
        hot<op::add_Tensor>(),
        hot<op::add__Tensor>(),
        hot<op::add_out>(),
        hot<op::add_Scalar>(),
        hot<op::add__Scalar>(),
        hot<op::sub_Tensor>(),
        hot<op::sub__Tensor>(),
        hot<op::sub_out>(),
        hot<op::sub_Scalar>(),
        hot<op::sub__Scalar>(),
        hot<op::mul_Tensor>(),
        hot<op::mul__Tensor>(),
        hot<op::mul_out>(),
        hot<op::mul_Scalar>(),
        hot<op::mul__Scalar>(),
        hot<op::div_Tensor>(),
        hot<op::div__Tensor>(),
        hot<op::div_out>(),
        hot<op::div_Scalar>(),
        hot<op::div__Scalar>(),
        hot<op::relu>(),
        hot<op::relu_>(),
        hot<op::neg>(),
        hot<op::neg_out>(),
        hot<op::abs>(),
        hot<op::abs_out>(),
        hot<op::exp>(),
        hot<op::exp_out>(),
        hot<op::sqrt>(),
        hot<op::sqrt_out>(),
        hot<op::rsqrt>(),
        hot<op::rsqrt_out>(),
        hot<op::sigmoid>(),
        hot<op::sigmoid_out>(),
        hot<op::tanh>(),
        hot<op::tanh_out>(),
        hot<op::silu>(),
        hot<op::silu_out>(),
        hot<op::eq_Tensor>(),
        hot<op::eq_Scalar>(),
        hot<op::eq_Tensor_out>(),
        hot<op::eq_Scalar_out>(),
        hot<op::ne_Tensor>(),
        hot<op::ne_Scalar>(),
        hot<op::ne_Tensor_out>(),
        hot<op::ne_Scalar_out>(),
        hot<op::lt_Tensor>(),
        hot<op::lt_Scalar>(),
        hot<op::lt_Tensor_out>(),
        hot<op::lt_Scalar_out>(),
        hot<op::le_Tensor>(),
        hot<op::le_Scalar>(),
        hot<op::le_Tensor_out>(),
        hot<op::le_Scalar_out>(),
        hot<op::gt_Tensor>(),
        hot<op::gt_Scalar>(),
        hot<op::gt_Tensor_out>(),
        hot<op::gt_Scalar_out>(),
        hot<op::ge_Tensor>(),
        hot<op::ge_Scalar>(),
        hot<op::ge_Tensor_out>(),
        hot<op::ge_Scalar_out>(),
        hot<op::threshold_backward>(),
        hot<op::threshold_backward_grad_input>(),
        hot<op::mm>(),
        hot<op::mm_out>(),
        hot<op::bmm>(),
        hot<op::bmm_out>(),
        hot<op::addmm>(),
        hot<op::addmm_out>(),
        hot<op::fill__Scalar>(),
        hot<op::fill__Tensor>(),
        hot<op::zero_>(),
    };
    auto found = table.find(name);
    return found == table.end() ? nullptr : found->second;
}

} // namespace npu
