// SPDX-License-Identifier: BSD-3-Clause
// Devices, streams and events of the bridge.
//
// A stream is named by its index within its device: 0 is the default stream, then a pool of normal and one of high
// priority, then foreign streams registered by handle. The index is PyTorch's StreamId. The current device and the
// current stream of each device are per thread. Nothing touches a device before use_device().
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include <string>

#include "cann.h"

namespace npu
{

constexpr int max_devices = 64;
constexpr int pool_streams = 32; // of each priority
constexpr int max_streams = 200; // with the default and the foreign ones
constexpr c10::DeviceType device_type = c10::DeviceType::PrivateUse1;

struct ThreadState {
    int8_t device = 0; // current
    int8_t bound = -1; // the device this thread's CANN context belongs to
    uint8_t stream[max_devices] = {};
};
extern thread_local ThreadState thread_state __attribute__((tls_model("initial-exec")));

// Visible devices, asked anew until one is used; where there is none, `why` says why.
int count_devices(std::string *why);
int device_count() noexcept;
inline int current_device() noexcept
{
    return thread_state.device;
}
void check_device(int device); // throws the official text for a bad id
void bind_device(int device);  // slow path of use_device
// Makes the device current for this thread's CANN calls (initialising it the first time) without changing
// current_device().
inline void use_device(int device)
{
    if (__builtin_expect(thread_state.bound != device, 0))
        bind_device(device);
}
void set_device(int device);           // checks and makes current; binds at the next use
bool device_used(int device) noexcept; // initialised by this process
bool any_device_used() noexcept;
bool forked() noexcept; // a child of a process that had used a device

aclrtStream make_stream(int device, int stream); // creates the pool stream at its first use
extern aclrtStream stream_table[max_devices][max_streams];
inline aclrtStream stream_handle(int device, int stream)
{
    aclrtStream handle = __atomic_load_n(&stream_table[device][stream], __ATOMIC_ACQUIRE);
    return __builtin_expect(handle != nullptr, 1) ? handle : make_stream(device, stream);
}
inline int current_stream_index(int device)
{
    return thread_state.stream[device];
}
// The current stream's handle; the device is bound.
inline aclrtStream current_stream(int device)
{
    use_device(device);
    return stream_handle(device, current_stream_index(device));
}
int next_stream(int device, int priority);          // round robin in the pool; priority < 0 is high
int foreign_stream(int device, aclrtStream stream); // registers another's stream, returns its index
int stream_priority(int stream);

// Waits release nothing themselves (callers hold no GIL) but wake up to let Python handle signals.
void wait_stream(int device, int stream);
// The same, where an operator needs a result on the host: torch.npu.set_sync_debug_mode watches these.
extern int sync_debug_mode; // 0; 1: warn; 2: throw
void tell_sync();
inline void await_result(int device, int stream)
{
    if (__builtin_expect(sync_debug_mode, 0))
        tell_sync();
    wait_stream(device, stream);
}
void wait_device(int device);
void wait_event(aclrtEvent event);
bool stream_done(int device, int stream);
void stream_check(int device, int stream); // throws the stream's pending error

// Set by _C: called now and then while waiting; throws when the user pressed Ctrl-C.
extern void (*interrupt_check)();

// Set by _C: "file:line in function" of the user's Python code on this thread, "" when there is none.
extern std::string (*python_place)();

// Host address of device memory, or nullptr (another maker's CANN, guard mode).
inline void *host_view(const void *device, size_t bytes)
{
    return cann.extension && cann.extension->host_view ? cann.extension->host_view(device, bytes) : nullptr;
}

} // namespace npu
