// SPDX-License-Identifier: BSD-3-Clause
// TORCH_NPU_LOGS: what this package does, module by module, on stderr. `TORCH_NPU_LOGS=dispatch,+memory,-acl`: a name
// alone is level INFO, + DEBUG, - ERROR. TORCH_NPU_LOGS_FILTER=+text,-text keeps lines with one of the texts and drops
// those with another. A module that is not named costs one load of a constant; dispatch hooks into PyTorch only when it
// is named.
#pragma once

#include <cstdarg>

namespace npu
{

enum class Log { MEMORY, DISPATCH, DISPATCH_TIME, ENV, ACL, COUNT };
enum class LogLevel { DEBUG, INFO, ERROR };

extern int log_levels[static_cast<int>(Log::COUNT)]; // lowest wanted, 3: none

inline bool logs(Log module, LogLevel level)
{
    return __builtin_expect(static_cast<int>(level) >= log_levels[static_cast<int>(module)], 0);
}

void log_write(Log module, LogLevel level, const char *format, ...) __attribute__((format(printf, 3, 4)));

// Reads the variables, hooks into dispatch if that is wanted. Once, at import.
void logs_install();

} // namespace npu
