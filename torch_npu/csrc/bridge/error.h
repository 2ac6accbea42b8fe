// SPDX-License-Identifier: BSD-3-Clause
// Errors in the official shape: what failed, "[ERROR] time (PID:…, Device:…, RankID:…) ERRmmttt MODULE meaning", CANN's
// text.
#pragma once

#include <string>

#include "cann.h"

namespace npu
{

enum class Module { PTA, OPS, DIST, GRAPH, PROF };
enum class Kind {
    PARAM = 1,
    TYPE,
    VALUE,
    PTR,
    INTERNAL,
    MEMORY,
    NOT_SUPPORT,
    NOT_FOUND,
    UNAVAIL,
    SYSCALL,
    TIMEOUT,
    PERMISSION,
    ACL = 100,
    HCCL = 200,
    GE = 300
};

// "\n[ERROR] 2026-01-31-12:00:00 (PID:1, Device:0, RankID:-1) ERR00001 PTA invalid parameter"
std::string error_suffix(Module module, Kind kind);

// Throws the RuntimeError of a failed CANN call; `call` is "aclrtSetDevice" or "call aclnnAdd failed". The compact form
// under TORCH_NPU_COMPACT_ERROR_OUTPUT=1.
[[noreturn]] void raise_acl(aclError code, const char *call, const char *function, const char *file, int line);

// The text raise_acl() would throw.
std::string acl_text(aclError code, const char *call, const char *function, const char *file, int line);

inline void check_acl(aclError code, const char *call, const char *function, const char *file, int line)
{
    if (__builtin_expect(code != 0, 0))
        raise_acl(code, call, function, file, line);
}

} // namespace npu

// Calls a CANN function and throws if it fails.
#define ACL(name, ...) ::npu::check_acl(cann.name(__VA_ARGS__), #name, __func__, __FILE__, __LINE__)
