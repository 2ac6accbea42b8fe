// SPDX-License-Identifier: BSD-3-Clause
// Tensors made of ordinary ones: sparse (COO), compressed sparse (CSR, CSC, BSR, BSC) and nested. Taking one to another
// device is taking its parts there and putting them together again.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

namespace npu
{

using MovePart = std::function<at::Tensor(const at::Tensor &)>;

bool is_compound(const at::Tensor &t);

// A tensor of the same kind whose parts are move(part); the parts decide which device it is on.
at::Tensor compound_of(const at::Tensor &t, const MovePart &move);

// Makes `to` what `from` is, with the parts move(part) of `from`: an operator wrote it elsewhere. Not for nested
// tensors, whose structure no operator changes in place.
void compound_assign(const at::Tensor &to, const at::Tensor &from, const MovePart &move);

} // namespace npu
