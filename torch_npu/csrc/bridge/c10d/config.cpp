// SPDX-License-Identifier: BSD-3-Clause
// What a communicator is opened with: HcclCommConfig from ProcessGroupHCCL.Options and the environment. The timeout of
// the group becomes HCCL's limit for each operation, so that a rank that does not come ends in HCCL's error, which
// names it.
#include <cstring>

#include "../variables.h"
#include "comm.h"
#include "hccl/hccl.h"

namespace npu
{

static int64_t number(const std::string &key, const GroupOptions::Value &value, int64_t limit = UINT32_MAX,
                      const char *limit_name = "UINT32_MAX")
{
    TORCH_CHECK(std::holds_alternative<int64_t>(value), "Value type of ", key, " should be int.",
                error_suffix(Module::DIST, Kind::TYPE));
    int64_t n = std::get<int64_t>(value);
    TORCH_CHECK(n >= 0, "Value of ", key, " must not be negative, but it is ", n, ".",
                error_suffix(Module::DIST, Kind::VALUE));
    TORCH_CHECK(n <= limit, "Value type of ", key, " exceeds ", limit_name, "(", limit, ").",
                error_suffix(Module::DIST, Kind::VALUE));
    return n;
}

template <size_t Size>
static void copy_text(char (&field)[Size], const std::string &key, const GroupOptions::Value &value)
{
    TORCH_CHECK(std::holds_alternative<std::string>(value), "Value type of ", key, " should be string.",
                error_suffix(Module::DIST, Kind::TYPE));
    const std::string &text = std::get<std::string>(value);
    TORCH_CHECK(text.size() < Size, "The length of ", key, " is ", text.size(), ", the limit is ", Size - 1, ".",
                error_suffix(Module::DIST, Kind::VALUE));
    memcpy(field, text.c_str(), text.size() + 1);
}

static void apply(HcclCommConfig *config, const std::string &key, const GroupOptions::Value &value)
{
    if (key == "hccl_buffer_size")
        config->hcclBufferSize = (uint32_t)number(key, value);
    else if (key == "group_name")
        copy_text(config->hcclUdi, key, value);
    else if (key == "qos_traffic_class")
        config->hcclRdmaTrafficClass = (uint32_t)number(key, value);
    else if (key == "qos_service_level")
        config->hcclRdmaServiceLevel = (uint32_t)number(key, value);
    else if (key == "hccl_sdma_qos")
        config->hcclQos = (uint32_t)number(key, value);
    else if (key == "hccl_op_expansion_mode")
        config->hcclOpExpansionMode = (uint32_t)number(key, value);
    else if (key == "hccl_deterministic")
        config->hcclDeterministic = (uint32_t)number(key, value);
    else if (key == "hccl_exec_timeout")
        config->hcclExecTimeOut = (int32_t)number(key, value, INT32_MAX, "INT32_MAX");
    else if (key == "hccl_algo")
        copy_text(config->hcclAlgo, key, value);
    else if (key == "hccl_retry_enable")
        copy_text(config->hcclRetryEnable, key, value);
    else if (key == "hccl_retry_params")
        copy_text(config->hcclRetryParams, key, value);
    else if (key == "hccl_buffer_name")
        copy_text(config->hcclBufferName, key, value);
    else
        TORCH_CHECK(false, "hccl_config has no key '", key,
                    "'. Keys are hccl_buffer_size, group_name, qos_traffic_class, qos_service_level, hccl_sdma_qos, "
                    "hccl_op_expansion_mode, hccl_deterministic, hccl_exec_timeout, hccl_algo, hccl_retry_enable, "
                    "hccl_retry_params, hccl_buffer_name.",
                    error_suffix(Module::DIST, Kind::VALUE));
}

void check_config(const GroupOptions &options)
{
    HcclCommConfig config;
    HcclCommConfigInit(&config);
    for (auto &[key, value] : options.hccl_config)
        apply(&config, key, value);
}

void make_config(HcclCommConfig *config, const GroupOptions &options, int world_rank, bool p2p)
{
    HcclCommConfigInit(config);
    config->hcclExecTimeOut = (int32_t)std::max<int64_t>(1, (options.timeout.count() + 999) / 1000);
    config->hcclWorldRankID = (uint32_t)world_rank;
    for (auto &[key, value] : options.hccl_config)
        apply(config, key, value);
    if (p2p) {
        const char *set = variable_raw(VARIABLE_P2P_HCCL_BUFFSIZE);
        int megabytes = set ? atoi(set) : 20;
        if (megabytes > 0)
            config->hcclBufferSize = (uint32_t)megabytes;
    }
}

} // namespace npu
