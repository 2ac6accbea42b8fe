// SPDX-License-Identifier: BSD-3-Clause
// torch.npu.set_option: compile options go to CANN (aclSetCompileopt) where it has them; all are remembered.
#pragma once

#include <string>

namespace npu
{

void option_set(const char *name, const char *value);
bool option_get(const char *name, std::string *value);

} // namespace npu
