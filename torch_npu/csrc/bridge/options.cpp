// SPDX-License-Identifier: BSD-3-Clause
// Options (options.h). Lock: one.
#include "options.h"

#include <map>
#include <mutex>

#include "device.h"
#include "error.h"

namespace npu
{

// aclCompileOpt of the published interface.
static const std::map<std::string, int> &compile_options()
{
    static const auto *const table = new std::map<std::string, int>{{"ACL_PRECISION_MODE", 0},
                                                                    {"ACL_AICORE_NUM", 1},
                                                                    {"ACL_AUTO_TUNE_MODE", 2},
                                                                    {"ACL_OP_SELECT_IMPL_MODE", 3},
                                                                    {"ACL_OPTYPELIST_FOR_IMPLMODE", 4},
                                                                    {"ACL_OP_DEBUG_LEVEL", 5},
                                                                    {"ACL_DEBUG_DIR", 6},
                                                                    {"ACL_OP_COMPILER_CACHE_MODE", 7},
                                                                    {"ACL_OP_COMPILER_CACHE_DIR", 8},
                                                                    {"ACL_OP_PERFORMANCE_MODE", 9},
                                                                    {"ACL_OP_JIT_COMPILE", 10},
                                                                    {"ACL_OP_DETERMINISTIC", 11},
                                                                    {"ACL_CUSTOMIZE_DTYPES", 12},
                                                                    {"ACL_OP_PRECISION_MODE", 13},
                                                                    {"ACL_ALLOW_HF32", 14},
                                                                    {"ACL_PRECISION_MODE_V2", 15},
                                                                    {"ACL_OP_DEBUG_OPTION", 16}};
    return *table;
}

static std::mutex lock;
static std::map<std::string, std::string> &values()
{
    static auto *const table = new std::map<std::string, std::string>;
    return *table;
}

void option_set(const char *name, const char *value)
{
    auto known = compile_options().find(name);
    using SetFn = aclError (*)(int, const char *);
    if (known != compile_options().end())
        if (auto set = reinterpret_cast<SetFn>(cann_symbol("aclSetCompileopt")); set && any_device_used())
            check_acl(set(known->second, value), "aclSetCompileopt", __func__, __FILE__, __LINE__);
    std::lock_guard<std::mutex> hold(lock);
    values()[name] = value;
}

bool option_get(const char *name, std::string *value)
{
    std::lock_guard<std::mutex> hold(lock);
    auto found = values().find(name);
    if (found == values().end())
        return false;
    *value = found->second;
    return true;
}

} // namespace npu
