// SPDX-License-Identifier: BSD-3-Clause
// Device memory and events of other processes (share.h).
#include "share.h"

#include "device.h"
#include "error.h"
#include "memory.h"

namespace npu
{

constexpr size_t key_size = 65;
constexpr uint64_t any_process = 1, peer_access = 1; // export and import flags of the published interface

template <class Function> static Function required(const char *name)
{
    auto found = reinterpret_cast<Function>(cann_symbol(name));
    TORCH_CHECK_NOT_IMPLEMENTED(found, "this CANN has no ", name, error_suffix(Module::PTA, Kind::NOT_SUPPORT));
    return found;
}

SharedMemory share_memory(const c10::StorageImpl &storage)
{
    int device = storage.device().index();
    char *base = nullptr;
    size_t bytes = 0;
    TORCH_CHECK_NOT_IMPLEMENTED(
        memory_segment(storage.data_ptr(), &base, &bytes), "This storage's memory belongs to another process ",
        "or library and cannot be shared from here", error_suffix(Module::PTA, Kind::NOT_SUPPORT));
    wait_device(device);
    use_device(device);
    auto export_key = required<aclError (*)(void *, size_t, char *, size_t, uint64_t)>("aclrtIpcMemGetExportKey");
    char key[key_size] = "";
    check_acl(export_key(base, bytes, key, sizeof key, any_process), "aclrtIpcMemGetExportKey", __func__, __FILE__,
              __LINE__);
    return {device, std::string(key, strnlen(key, sizeof key)), storage.nbytes(),
            (size_t)(static_cast<const char *>(storage.data()) - base)};
}

void unshare_memory(const std::string &key)
{
    auto close_key = required<aclError (*)(const char *)>("aclrtIpcMemClose");
    check_acl(close_key(key.c_str()), "aclrtIpcMemClose", __func__, __FILE__, __LINE__);
}

struct Import {
    std::string key;
    int device;
    c10::intrusive_ptr<c10::StorageImpl> counters;
    size_t slot;
};

static void close_import(void *context)
{
    std::unique_ptr<Import> import(static_cast<Import *>(context));
    if (forked())
        return;
    try {
        wait_device(import->device); // tasks may still be reading it
        unshare_memory(import->key);
    } catch (...) { // the error stays with the stream; the sender may have its memory back
    }
    __atomic_store_n(static_cast<int32_t *>(import->counters->mutable_data()) + import->slot, 0, __ATOMIC_RELEASE);
}

c10::intrusive_ptr<c10::StorageImpl> open_shared_memory(const SharedMemory &from,
                                                        c10::intrusive_ptr<c10::StorageImpl> counters, size_t slot)
{
    check_device(from.device);
    TORCH_CHECK((slot + 1) * sizeof(int32_t) <= counters->nbytes(), "slot ", slot, " is beyond the counters",
                error_suffix(Module::PTA, Kind::PARAM));
    use_device(from.device);
    auto import_key = required<aclError (*)(void **, const char *, uint64_t)>("aclrtIpcMemImportByKey");
    void *base = nullptr;
    check_acl(import_key(&base, from.key.c_str(), peer_access), "aclrtIpcMemImportByKey", __func__, __FILE__, __LINE__);
    auto *import = new Import{from.key, from.device, std::move(counters), slot};
    c10::DataPtr data(static_cast<char *>(base) + from.offset, import, &close_import,
                      c10::Device(device_type, (c10::DeviceIndex)from.device));
    return c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), (int64_t)from.bytes,
                                                 std::move(data), memory_allocator(), false);
}

// ---- events ----

constexpr size_t event_handle_size = 64;
struct EventHandle {
    char text[event_handle_size]; // aclrtIpcEventHandle
};

std::string share_event(aclrtEvent event)
{
    auto get = required<aclError (*)(aclrtEvent, EventHandle *)>("aclrtIpcGetEventHandle");
    EventHandle handle = {};
    check_acl(get(event, &handle), "aclrtIpcGetEventHandle", __func__, __FILE__, __LINE__);
    return {handle.text, sizeof handle.text};
}

aclrtEvent open_shared_event(const std::string &handle)
{
    TORCH_CHECK_VALUE(handle.size() == event_handle_size, "the handle of an event has ", event_handle_size,
                      " bytes, not ", handle.size(), error_suffix(Module::PTA, Kind::VALUE));
    auto open = required<aclError (*)(EventHandle, aclrtEvent *)>("aclrtIpcOpenEventHandle");
    EventHandle copy;
    handle.copy(copy.text, sizeof copy.text);
    aclrtEvent event = nullptr;
    check_acl(open(copy, &event), "aclrtIpcOpenEventHandle", __func__, __FILE__, __LINE__);
    return event;
}

} // namespace npu
