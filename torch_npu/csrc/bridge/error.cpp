// SPDX-License-Identifier: BSD-3-Clause
// Error texts (error.h).
#include "error.h"

#include <c10/util/Exception.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "device.h"
#include "logs.h"
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

// What stands behind the time stamp of an inner error's block, up to its trace back, in one line.
static std::string inner_reason(const std::string &block)
{
    size_t line = block.rfind("[PID: ");
    size_t stamp = line == std::string::npos ? line : block.find("] ", line);
    size_t text = stamp == std::string::npos ? stamp : block.find(' ', stamp + 2);
    if (text == std::string::npos)
        return "";
    size_t end = std::min(block.find("\n        TraceBack", text), block.find("\n        调用栈", text));
    std::string reason;
    for (char c : block.substr(text + 1, end == std::string::npos ? end : end - text - 1))
        if (c != '\n' && !(c == ' ' && reason.size() && reason.back() == ' '))
            reason += c;
        else if (reason.size() && reason.back() != ' ')
            reason += ' ';
    return "Reason: " + reason;
}

// The reason within CANN's block: one line without its time stamp, as the compact form shows it.
static std::string compact_text(const std::string &cann_text)
{
    if (cann_text.find("Inner Error") != std::string::npos)
        return "CANN error: CANN Inner Error. Please rectify the fault based on the error information in the ascend "
               "log. " +
               inner_reason(cann_text);
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

// What the code means and what to look at, in the package's own words; NULL for rare ones.
static const char *code_words(aclError code)
{
    static const struct {
        aclError code;
        const char *words;
    } known[] = {
        {100000, "Parameter verification failed. \n        Check whether the input parameter value of the interface is "
                 "correct."},
        {100001, "The ACL is not initialized. \n        Check whether aclInit has been called."},
        {107000, "Parameter verification failed. \n        Check whether the input parameter value of the interface is "
                 "correct."},
        {107001, "Invalid device ID. \n        Check whether the device ID is valid."},
        {107002, "The context is empty. \n        Check whether aclrtSetContext or aclrtSetDevice is called."},
        {107003, "The stream is not in the current context. \n        Check whether the context where the stream is "
                 "located is the "
                 "same as the current context."},
        {107017, "Invalid handle. \n        Check whether the stream, event or context still exists."},
        {107019, "Event wait timed out. \n        Check whether the event is recorded."},
        {107020, "Stream synchronization timed out. \n        Check whether a task of the stream waits for another."},
        {161001, "Parameter verification failed: a null pointer. \n        Check the arguments of the operator."},
        {161002,
         "Parameter verification failed. \n        Check the data types and shapes of the operator's arguments."},
        {200000, "Failed to allocate memory. \n        Check the memory that the host has left."},
        {207000, "The feature is not supported. \n        See the reason below."},
        {207001, "Failed to allocate memory. \n        Check the device memory (npu-smi info) and what the process has "
                 "cached."},
        {207018, "Insufficient device memory. \n        Check the device memory (npu-smi info) and what the process "
                 "has cached."},
        {507001, "The internal engine failed. \n        See the reason below."},
        {507011, "The model failed to run. \n        See the reason below."},
        {507014,
         "The AI Core timed out. \n        An operator ran longer than torch.npu.utils.set_op_timeout_ms allows."},
        {507015, "The AI Core execution is abnormal. \n        An operator failed while it ran: see the reason below."},
        {507018, "The AI CPU execution is abnormal. \n        An operator failed while it ran: see the reason below."},
        {507046, "Stream synchronization timed out. \n        Check whether a task of the stream waits for another."},
        {507048, "A notify wait timed out. \n        Check whether all ranks of the collective are alive."},
    };
    for (const auto &row : known)
        if (row.code == code)
            return row.words;
    return nullptr;
}

std::string acl_text(aclError code, const char *call, const char *function, const char *file, int line)
{
    const char *recent = cann_loaded() ? cann.aclGetRecentErrMsg() : nullptr;
    std::string cann_text = recent ? recent : "";
    if (logs(Log::ACL, LogLevel::ERROR))
        log_write(Log::ACL, LogLevel::ERROR, "%s: error code %d", call, (int)code);
    if (compact() && !cann_text.empty())
        return compact_text(cann_text) + capture_text(code);
    const char *base = strrchr(file, '/');
    std::string text = std::string(function) + ":" + (base ? base + 1 : file) + ":" + std::to_string(line) +
                       " NPU function error: " + call + ", error code is " + std::to_string(code) + capture_text(code) +
                       error_suffix(Module::PTA, Kind::ACL);
    if (const char *words = code_words(code))
        text += std::string("\n[Error]: ") + words;
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
