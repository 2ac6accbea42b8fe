// SPDX-License-Identifier: BSD-3-Clause
// The watchdog: one thread of the process that looks at every communicator ten times a second. An operation that failed
// or outlived its timeout makes it write the flight recorder's file (TORCH_HCCL_DUMP_ON_TIMEOUT=1) and give the
// communicator up, so that whoever waits gets an error.
#pragma once

namespace npu
{

void watchdog_start(); // starts the thread if it does not run

} // namespace npu
