// SPDX-License-Identifier: BSD-3-Clause
// libhccl.so of the CANN that was found: its functions, looked up at the first process group, and its errors.
//
// A function that this CANN does not have is nullptr in the table; calling it through call_hccl() is an error that
// names it. Errors have the official shape: the call, its code, "ERR02200 DIST call hccl api failed.", CANN's own text.
#pragma once

#include <string>
#include <utility>

#include "../error.h"
#include "hccl/hccl_types.h"

namespace npu
{

struct Hccl {
#define X(type, name, parameters) type(*name) parameters;
#include "hccl.def"
#undef X
};

const Hccl &hccl(); // opens the library; throws where there is none

std::string hccl_text(HcclResult code, const char *call, const char *function, const char *file, int line);
[[noreturn]] void raise_hccl(HcclResult code, const char *call, const char *function, const char *file, int line);
[[noreturn]] void raise_missing(const char *name);

template <class Function, class... Arguments>
void call_hccl(Function *address, const char *name, const char *function, const char *file, int line,
               Arguments &&...arguments)
{
    if (!address)
        raise_missing(name);
    HcclResult code = address(std::forward<Arguments>(arguments)...);
    if (code != HCCL_SUCCESS)
        raise_hccl(code, name, function, file, line);
}

} // namespace npu

// Calls an HCCL function and throws if it fails.
#define HCCL(name, ...) ::npu::call_hccl(::npu::hccl().name, #name, __func__, __FILE__, __LINE__, __VA_ARGS__)
