// SPDX-License-Identifier: BSD-3-Clause
// Finding libhccl.so, and the texts of its errors (hccl.h).
#include "hccl.h"

#include <c10/util/Exception.h>
#include <dlfcn.h>

#include <cstring>

#include "../group_support.h"

namespace npu
{

static Hccl open_hccl()
{
    char message[2048] = "";
    void *library = cann_library("libhccl.so", message, sizeof message);
    TORCH_CHECK(library, "The CANN has no libhccl.so to communicate with: ", message,
                ". Please check that the cann package is installed completely.",
                error_suffix(Module::DIST, Kind::NOT_FOUND));
    Hccl table;
    void *address;
#define X(type, name, parameters)                                                                                      \
    address = dlsym(library, #name);                                                                                   \
    memcpy(&table.name, &address, sizeof address);
#include "hccl.def"
#undef X
    return table;
}

const Hccl &hccl()
{
    static const Hccl table = open_hccl();
    return table;
}

std::string hccl_text(HcclResult code, const char *call, const char *function, const char *file, int line)
{
    const char *base = strrchr(file, '/');
    const char *words = hccl().HcclGetErrorString ? hccl().HcclGetErrorString(code) : nullptr;
    std::string text = std::string(function) + ":" + (base ? base + 1 : file) + ":" + std::to_string(line) +
                       " HCCL function error: " + call + ", error code is " + std::to_string((int)code) +
                       (words ? std::string(" (") + words + ")" : "") + " " + error_suffix(Module::DIST, Kind::HCCL) +
                       ".";
    const char *recent = cann.aclGetRecentErrMsg();
    if (recent && *recent)
        text += std::string("\n") + recent;
    return text;
}

void raise_hccl(HcclResult code, const char *call, const char *function, const char *file, int line)
{
    throw c10::DistBackendError({function, file, static_cast<uint32_t>(line)},
                                hccl_text(code, call, function, file, line));
}

void raise_missing(const char *name)
{
    TORCH_CHECK_NOT_IMPLEMENTED(false, "libhccl.so of this CANN has no function ", name,
                                ", which this operation of torch.distributed needs",
                                error_suffix(Module::DIST, Kind::NOT_SUPPORT));
}

} // namespace npu
