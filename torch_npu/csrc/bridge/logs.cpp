// SPDX-License-Identifier: BSD-3-Clause
// See logs.h. Constant after logs_install(); a line is one write.
#include "logs.h"

#include <ATen/record_function.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "variables.h"

namespace npu
{

int log_levels[static_cast<int>(Log::COUNT)] = {3, 3, 3, 3, 3};

static const char *const names[] = {"memory", "dispatch", "dispatch_time", "env", "acl"};
static std::vector<std::string> keep, drop;

static bool passes(const char *line)
{
    for (const std::string &text : drop)
        if (strstr(line, text.c_str()))
            return false;
    for (const std::string &text : keep)
        if (strstr(line, text.c_str()))
            return true;
    return keep.empty();
}

void log_write(Log module, LogLevel level, const char *format, ...)
{
    static const char *const levels[] = {"DEBUG", "INFO", "ERROR"};
    char line[1024];
    struct timespec now;
    struct tm local;
    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &local);
    size_t n = strftime(line, sizeof line, "[%Y-%m-%d-%H:%M:%S", &local);
    n += (size_t)snprintf(line + n, sizeof line - n, ".%03ld] [PID:%d] [%s] [torch_npu.%s] ", now.tv_nsec / 1000000,
                          (int)getpid(), levels[static_cast<int>(level)], names[static_cast<int>(module)]);
    va_list args;
    va_start(args, format);
    int m = vsnprintf(line + n, sizeof line - n - 1, format, args);
    va_end(args);
    n = m < 0 ? n : std::min(n + (size_t)m, sizeof line - 2);
    line[n] = 0;
    if (!passes(line))
        return;
    line[n++] = '\n';
    ssize_t done = write(STDERR_FILENO, line, n);
    (void)done; // nowhere to tell
}

// ---- dispatch ----
struct Began : at::ObserverContext {
    int64_t ns;
};

static int64_t now_ns()
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static std::string describe(const at::RecordFunction &fn)
{
    std::string text;
    for (const c10::IValue &value : fn.inputs()) {
        if (!value.isTensor() || !value.toTensor().defined())
            continue;
        const at::Tensor &t = value.toTensor();
        text += text.empty() ? "" : ", ";
        text += c10::toString(t.scalar_type());
        text += t.layout() == at::kStrided ? c10::str(t.sizes()) : "[…]";
        text += t.is_cpu() ? " cpu" : "";
    }
    return text;
}

static std::unique_ptr<at::ObserverContext> enter(const at::RecordFunction &fn)
{
    if (logs(Log::DISPATCH, LogLevel::INFO))
        log_write(Log::DISPATCH, LogLevel::INFO, "%s(%s)", fn.name(), describe(fn).c_str());
    auto began = std::make_unique<Began>();
    began->ns = now_ns();
    return began;
}

static void leave(const at::RecordFunction &fn, at::ObserverContext *context)
{
    if (logs(Log::DISPATCH_TIME, LogLevel::INFO))
        log_write(Log::DISPATCH_TIME, LogLevel::INFO, "%s %.1fus", fn.name(),
                  (double)(now_ns() - static_cast<Began *>(context)->ns) / 1000);
}

// ---- the variables ----
template <class Take> static void each_part(const char *text, Take take)
{
    for (const char *at = text ? text : ""; *at;) {
        at += strspn(at, ", ");
        size_t n = strcspn(at, ",");
        std::string part(at, n);
        while (!part.empty() && part.back() == ' ')
            part.pop_back();
        if (!part.empty())
            take(part);
        at += n;
    }
}

static void take_module(const std::string &part)
{
    int level = part[0] == '+' ? 0 : part[0] == '-' ? 2 : 1;
    std::string name = part.substr(level != 1);
    bool all = name == "all";
    for (int i = 0; i < static_cast<int>(Log::COUNT); i++)
        if (all || name == names[i])
            log_levels[i] = level;
}

void logs_install()
{
    each_part(variable_raw(VARIABLE_TORCH_NPU_LOGS), take_module);
    each_part(variable_raw(VARIABLE_TORCH_NPU_LOGS_FILTER), [](const std::string &part) {
        (part[0] == '-' ? drop : keep).push_back(part.substr(part[0] == '-' || part[0] == '+'));
    });
    if (logs(Log::DISPATCH, LogLevel::INFO) || logs(Log::DISPATCH_TIME, LogLevel::INFO))
        at::addGlobalCallback(
            at::RecordFunctionCallback(enter, leave).needsInputs(true).scopes({at::RecordScope::FUNCTION}));
    if (logs(Log::ENV, LogLevel::INFO)) {
        static const enum variable all[] = {
#define VARIABLE(name, value) VARIABLE_##name,
#include "variable_rows.h"
#undef VARIABLE
        };
        for (enum variable v : all) {
            const char *value = variable_raw(v);
            if (value)
                log_write(Log::ENV, LogLevel::INFO, "%s=%s", variable_name(v), value);
            else if (logs(Log::ENV, LogLevel::DEBUG))
                log_write(Log::ENV, LogLevel::DEBUG, "%s is not set", variable_name(v));
        }
    }
}

} // namespace npu
