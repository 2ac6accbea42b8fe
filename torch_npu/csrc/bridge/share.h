// SPDX-License-Identifier: BSD-3-Clause
// Device memory and events of other processes: what torch.multiprocessing sends is a key of the segment, not a copy.
//
// The sender keeps the memory until a counter in memory that both processes see goes to 0 (torch_npu/multiprocessing);
// the receiver's storage sets it when it dies.
#pragma once

#include <c10/core/StorageImpl.h>

#include <string>

#include "cann.h"

namespace npu
{

struct SharedMemory {
    int device;
    std::string key;      // of the whole segment
    size_t bytes, offset; // of the storage, the offset from the segment's beginning
};

// Waits for the device first. Throws NotImplementedError where the memory cannot be exported: another process's, or not
// of the caching allocator.
SharedMemory share_memory(const c10::StorageImpl &storage);
void unshare_memory(const std::string &key);

// A storage on memory of another process. `counters` is host memory that both see; when the storage dies, its int32
// number `slot` becomes 0.
c10::intrusive_ptr<c10::StorageImpl> open_shared_memory(const SharedMemory &from,
                                                        c10::intrusive_ptr<c10::StorageImpl> counters, size_t slot);

constexpr uint32_t event_interprocess = 0x40; // ACL_EVENT_IPC
// An event made with that flag, for other processes: 64 bytes, good while the event lives; and the event there.
std::string share_event(aclrtEvent event);
aclrtEvent open_shared_event(const std::string &handle); // the caller destroys it

} // namespace npu
