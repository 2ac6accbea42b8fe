// SPDX-License-Identifier: BSD-3-Clause
// Devices and streams (device.h). Locks: init_lock (initialisation, stream creation); waits take none.
#include "device.h"

#include <c10/util/Exception.h>
#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "error.h"
#include "group_support.h"
#include "variables.h"

namespace npu
{

thread_local ThreadState thread_state;
aclrtStream stream_table[max_devices][max_streams];
void (*interrupt_check)() = nullptr;
void (*after_wait)(int device, bool failed) = nullptr;
std::string (*python_place)() = nullptr;

static std::mutex init_lock;
static bool initialised;
static std::atomic<int> count{-1};
static std::atomic<bool> used[max_devices];
static std::atomic<bool> some_used{false}, bad_fork{false};
static std::atomic<unsigned> next_normal[max_devices], next_high[max_devices], next_foreign[max_devices];

// INF_NAN_MODE_ENABLE=0: infinity becomes the largest number of its type and NaN 0, and a flag says so.
static bool saturates()
{
    static const bool on = [] {
        bool forced = variable_on(VARIABLE_INF_NAN_MODE_FORCE_DISABLE);
        TORCH_CHECK(
            forced || variable_on(VARIABLE_INF_NAN_MODE_ENABLE),
            "INF_NAN_MODE_ENABLE shouldn't be set to 0 on the current device. If you want to disable inf-nan mode, "
            "please export INF_NAN_MODE_FORCE_DISABLE=1",
            error_suffix(Module::PTA, Kind::VALUE));
        return forced;
    }();
    return on;
}

static void saturate_device()
{
    constexpr int saturation = 0; // ACL_RT_OVERFLOW_MODE_SATURATION
    TORCH_CHECK(cann.aclrtSetDeviceSatMode, "this CANN has no aclrtSetDeviceSatMode: it cannot saturate",
                error_suffix(Module::PTA, Kind::NOT_SUPPORT));
    ACL(aclrtSetDeviceSatMode, saturation);
}

static void watch_overflows(aclrtStream stream)
{
    using Switch = aclError (*)(aclrtStream, uint32_t);
    if (auto set = reinterpret_cast<Switch>(cann_symbol("aclrtSetStreamOverflowSwitch")))
        check_acl(set(stream, 1), "aclrtSetStreamOverflowSwitch", __func__, __FILE__, __LINE__);
}

static void in_child()
{
    if (some_used)
        bad_fork = true;
    thread_state.bound = -1; // the next use goes through bind_device and is refused there
}

// aclInit, once. TORCH_ACL_INIT_CONFIG_PATH names the user's own configuration file.
static aclError init_locked()
{
    if (initialised)
        return 0;
    aclError status = cann.aclInit(variable_raw(VARIABLE_TORCH_ACL_INIT_CONFIG_PATH));
    if (status && status != ACL_ERROR_REPEAT_INITIALIZE)
        return status;
    static const int registered = pthread_atfork(nullptr, nullptr, in_child);
    (void)registered;
    initialised = true;
    return 0;
}

int count_devices(std::string *why)
{
    int known = count.load(std::memory_order_relaxed);
    if (known >= 0)
        return known;
    uint32_t found = 0;
    if (!cann_loaded()) {
        *why = "torch_npu has no CANN: import torch_npu first";
        return 0;
    }
    std::lock_guard<std::mutex> lock(init_lock);
    if (init_locked() || cann.aclrtGetDeviceCount(&found)) {
        const char *recent = cann.aclGetRecentErrMsg();
        *why = recent ? recent : "the CANN gives no reason";
        return 0;
    }
    if (!found) {
        const char *visible = variable_raw(VARIABLE_ASCEND_RT_VISIBLE_DEVICES);
        *why = visible ? "ASCEND_RT_VISIBLE_DEVICES='" + std::string(visible) + "' leaves none visible"
                       : "the CANN reports none";
    }
    return found < max_devices ? (int)found : max_devices;
}

int device_count() noexcept
{
    std::string why;
    return count_devices(&why);
}

bool device_used(int device) noexcept
{
    return device >= 0 && device < max_devices && used[device];
}
bool any_device_used() noexcept
{
    return some_used;
}
bool forked() noexcept
{
    return bad_fork;
}

void check_device(int device)
{
    std::string why;
    int n = count_devices(&why);
    if (device >= 0 && device < n)
        return;
    TORCH_CHECK(n > 0, "No NPU device is available: ", why, error_suffix(Module::PTA, Kind::NOT_FOUND));
    TORCH_CHECK(false, "Invalid NPU device ID ", device, ": this machine has ", n, ", valid IDs are 0 to ", n - 1, ".",
                error_suffix(Module::PTA, Kind::VALUE));
}

void bind_device(int device)
{
    TORCH_CHECK(
        !bad_fork,
        "Cannot re-initialize NPU in forked subprocess. To use NPU with multiprocessing, you must use the 'spawn' "
        "start method",
        error_suffix(Module::PTA, Kind::UNAVAIL));
    TORCH_CHECK(cann_loaded(), "torch_npu has no CANN: import torch_npu first.",
                error_suffix(Module::PTA, Kind::NOT_FOUND));
    if (!used[device]) {
        check_device(device);
        std::lock_guard<std::mutex> lock(init_lock);
        check_acl(init_locked(), "aclInit", __func__, __FILE__, __LINE__);
        count = [] {
            uint32_t found = 0;
            return cann.aclrtGetDeviceCount(&found) ? 0 : (int)found;
        }();
        bool saturate = saturates();
        ACL(aclrtSetDevice, device);
        if (saturate)
            saturate_device();
        used[device] = some_used = true;
    } else {
        ACL(aclrtSetDevice, device);
    }
    thread_state.bound = (int8_t)device;
}

void set_device(int device)
{
    if (device == thread_state.device)
        return;
    check_device(device);
    thread_state.device = (int8_t)device;
}

aclrtStream make_stream(int device, int stream)
{
    TORCH_CHECK(stream <= 2 * pool_streams, "Unknown NPU stream id ", stream, error_suffix(Module::PTA, Kind::PARAM));
    use_device(device);
    std::lock_guard<std::mutex> lock(init_lock);
    if (!stream_table[device][stream]) {
        aclrtStream handle;
        ACL(aclrtCreateStreamWithConfig, &handle, stream > pool_streams ? 0 : 1, STREAM_FAST_LAUNCH | STREAM_FAST_SYNC);
        if (saturates())
            watch_overflows(handle);
        __atomic_store_n(&stream_table[device][stream], handle, __ATOMIC_RELEASE);
    }
    return stream_table[device][stream];
}

int next_stream(int device, int priority)
{
    check_device(device);
    auto &next = priority < 0 ? next_high[device] : next_normal[device];
    return 1 + (priority < 0 ? pool_streams : 0) + (int)(next++ % pool_streams);
}

int stream_priority(int stream)
{
    return stream > pool_streams && stream <= 2 * pool_streams ? -1 : 0;
}

int foreign_stream(int device, aclrtStream handle)
{
    std::lock_guard<std::mutex> lock(init_lock);
    int first = 2 * pool_streams + 1;
    for (int i = 0; i < max_streams; i++)
        if (stream_table[device][i] == handle)
            return i;
    int index = first + (int)next_foreign[device]++;
    TORCH_CHECK(index < max_streams, "Too many external streams on NPU ", device,
                error_suffix(Module::PTA, Kind::UNAVAIL));
    __atomic_store_n(&stream_table[device][index], handle, __ATOMIC_RELEASE);
    return index;
}

// How long one wait lasts before signals are looked at, milliseconds.
constexpr int patience = 100;
constexpr aclError timed_out[] = {507046, 107020, 507047, 207020};

static bool is_timeout(aclError status)
{
    for (aclError t : timed_out)
        if (status == t)
            return true;
    return false;
}

template <class Wait> static void wait_patiently(Wait wait, const char *name)
{
    for (;;) {
        aclError status = wait();
        if (!status)
            return;
        if (!is_timeout(status))
            raise_acl(status, name, "wait", __FILE__, __LINE__);
        if (interrupt_check)
            interrupt_check();
    }
}

static void check_pending(aclrtStream handle)
{
    if (cann.extension && cann.extension->stream_error)
        if (aclError status = cann.extension->stream_error(handle))
            raise_acl(status, "aclrtSynchronizeStream", "wait_stream", __FILE__, __LINE__);
}

static void wait_for_stream(int device, int stream)
{
    aclrtStream handle = stream_handle(device, stream);
    if (cann.extension && cann.extension->stream_idle && cann.extension->stream_error &&
        cann.extension->stream_idle(handle))
        return check_pending(handle);
    if (cann.aclrtSynchronizeStreamWithTimeout)
        wait_patiently([&] { return cann.aclrtSynchronizeStreamWithTimeout(handle, patience); },
                       "aclrtSynchronizeStreamWithTimeout");
    else
        ACL(aclrtSynchronizeStream, handle);
}

int sync_debug_mode;

void tell_sync()
{
    TORCH_CHECK(sync_debug_mode != 2, "called a synchronizing NPU operation", error_suffix(Module::PTA, Kind::ACL));
    TORCH_WARN("called a synchronizing NPU operation");
}

static void wait_for_device()
{
    if (cann.aclrtSynchronizeDeviceWithTimeout)
        wait_patiently([&] { return cann.aclrtSynchronizeDeviceWithTimeout(patience); },
                       "aclrtSynchronizeDeviceWithTimeout");
    else
        ACL(aclrtSynchronizeDevice);
}

template <class Wait> static void wait_and_report(int device, Wait wait)
{
    use_device(device);
    if (__builtin_expect(!after_wait, 1))
        return wait();
    try {
        wait();
    } catch (...) {
        after_wait(device, true);
        throw;
    }
    after_wait(device, false);
}

void wait_stream(int device, int stream)
{
    wait_and_report(device, [=] { wait_for_stream(device, stream); });
}

void wait_device(int device)
{
    wait_and_report(device, wait_for_device);
}

void wait_event(aclrtEvent event)
{
    if (!event)
        return;
    if (cann.aclrtSynchronizeEventWithTimeout)
        wait_patiently([&] { return cann.aclrtSynchronizeEventWithTimeout(event, patience); },
                       "aclrtSynchronizeEventWithTimeout");
    else
        ACL(aclrtSynchronizeEvent, event);
}

bool stream_done(int device, int stream)
{
    aclrtStream handle = stream_table[device][stream];
    if (!handle)
        return true;
    use_device(device);
    int status = 0;
    ACL(aclrtStreamQuery, handle, &status);
    return status == 0;
}

void stream_check(int device, int stream)
{
    if (aclrtStream handle = stream_table[device][stream])
        check_pending(handle);
}

} // namespace npu
