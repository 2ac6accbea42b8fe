// SPDX-License-Identifier: BSD-3-Clause
// Error texts (error.h).
#include "error.h"

#include <c10/util/Exception.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <ctime>

#include "device.h"
#include "variables.h"

namespace npu
{

static const char *module_name(Module module)
{
    static const char *const name[] = {"PTA", "OPS", "DIST", "GRAPH", "PROF"};
    return name[static_cast<int>(module)];
}

static const char *meaning(Kind kind)
{
    static const char *const text[] = {"",
                                       "invalid parameter",
                                       "invalid type",
                                       "invalid value",
                                       "invalid pointer",
                                       "internal error",
                                       "memory error",
                                       "feature not supported",
                                       "resource not found",
                                       "resource unavailable",
                                       "system call failed",
                                       "timeout error",
                                       "permission error"};
    switch (kind) {
    case Kind::ACL:
        return "call acl api failed";
    case Kind::HCCL:
        return "call hccl api failed";
    case Kind::GE:
        return "call ge api failed";
    default:
        return text[static_cast<int>(kind)];
    }
}

std::string error_suffix(Module module, Kind kind)
{
    char when[32], text[256];
    time_t now = time(nullptr);
    struct tm local;
    localtime_r(&now, &local);
    strftime(when, sizeof when, "%Y-%m-%d-%H:%M:%S", &local);
    const char *rank = variable_raw(VARIABLE_RANK);
    snprintf(text, sizeof text, "\n[ERROR] %s (PID:%d, Device:%d, RankID:%d) ERR%02d%03d %s %s", when, (int)getpid(),
             current_device(), rank && *rank ? atoi(rank) : -1, static_cast<int>(module), static_cast<int>(kind),
             module_name(module), meaning(kind));
    return text;
}

static bool compact()
{
    static const bool on = variable_on(VARIABLE_TORCH_NPU_COMPACT_ERROR_OUTPUT);
    return on;
}

// The reason within CANN's block: one line without its time stamp, as the compact form shows it.
static std::string compact_text(const std::string &cann_text)
{
    if (cann_text.find("Inner Error") != std::string::npos)
        return "CANN error: CANN Inner Error. Please rectify the fault based on the error information in the ascend "
               "log.";
    std::string line;
    for (char c : cann_text)
        line += c == '\n' ? ' ' : c;
    return "CANN error: " + line;
}

// What a capture refuses: the place in the user's program, and what to do about it.
static std::string capture_text(aclError code)
{
    bool refused = (code >= 107024 && code <= 107034) || (code >= 107036 && code <= 107038) || code == 507903;
    if (!refused)
        return "";
    std::string place = python_place ? python_place() : "";
    std::string text = "\nNot permitted during NPU graph capture";
    if (!place.empty())
        text += ": called at " + place;
    if (code == 107027 || code == 107028 || code == 107030)
        text +=
            ". The captured work has not run yet, so its values cannot be read or waited for (.item(), .cpu(), print, "
            "bool(), synchronize); move this out of the captured region";
    return text + ".";
}

std::string acl_text(aclError code, const char *call, const char *function, const char *file, int line)
{
    const char *recent = cann_loaded() ? cann.aclGetRecentErrMsg() : nullptr;
    std::string cann_text = recent ? recent : "";
    if (compact() && !cann_text.empty())
        return compact_text(cann_text) + capture_text(code);
    const char *base = strrchr(file, '/');
    std::string text = std::string(function) + ":" + (base ? base + 1 : file) + ":" + std::to_string(line) +
                       " NPU function error: " + call + ", error code is " + std::to_string(code) + capture_text(code) +
                       error_suffix(Module::PTA, Kind::ACL);
    if (!cann_text.empty())
        text += "\n" + cann_text;
    return text;
}

void raise_acl(aclError code, const char *call, const char *function, const char *file, int line)
{
    std::string text = acl_text(code, call, function, file, line);
    throw c10::Error({function, file, static_cast<uint32_t>(line)}, text);
}

} // namespace npu
