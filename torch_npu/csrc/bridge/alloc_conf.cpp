// SPDX-License-Identifier: BSD-3-Clause
// PYTORCH_NPU_ALLOC_CONF and PYTORCH_ALLOC_CONF: one table of keys, each with its check. A bad key or value is refused
// at the first use of device memory, by name. Keys about hardware that software memory does not have are checked and
// then ignored.
#include <c10/util/Exception.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "error.h"
#include "memory.h"

namespace npu
{

enum class Type { BOOL, NUMBER, FRACTION, DIVISIONS, WORD };

struct Key {
    const char *name;
    Type type;
    double low, high; // exclusive lower, inclusive upper bound of a number
    void (*set)(AllocConf &, double);
    const char *rule; // how the bounds read
};

static void nothing(AllocConf &, double)
{
}
constexpr double mega = 1 << 20;
constexpr double no_limit = 1e15;

static const Key keys[] = {
    {"max_split_size_mb", Type::NUMBER, 20, no_limit, [](AllocConf &c, double v) { c.max_split = (size_t)(v * mega); },
     "larger than 20"},
    {"garbage_collection_threshold", Type::FRACTION, 0, 1, [](AllocConf &c, double v) { c.gc_threshold = v; },
     "in (0, 1)"},
    {"expandable_segments", Type::BOOL, 0, 1, [](AllocConf &c, double v) { c.expandable = v != 0; }, "True or False"},
    {"roundup_power2_divisions", Type::DIVISIONS, 0, 0, nothing, "a power of 2 or a list such as [256:1,512:2,>:8]"},
    {"max_non_split_rounding_mb", Type::NUMBER, 20, no_limit,
     [](AllocConf &c, double v) { c.max_non_split_rounding = (size_t)(v * mega); }, "larger than 20"},
    {"segment_size_mb", Type::NUMBER, 19, 512, [](AllocConf &c, double v) { c.segment = (size_t)(v * mega); },
     "in [20, 512]"},
    {"large_segment_size_mb", Type::NUMBER, 10, no_limit,
     [](AllocConf &c, double v) { c.segment = (size_t)(v * mega); }, "larger than 10"},
    {"per_process_memory_fraction", Type::NUMBER, 0, 1, [](AllocConf &c, double v) { c.fraction = v; }, "in (0, 1]"},
    {"base_addr_aligned_kb", Type::NUMBER, -1, 16, nothing, "in [0, 16]"},
    {"page_size", Type::WORD, 0, 0, nothing, "1g"},
    {"multi_stream_lazy_reclaim", Type::BOOL, 0, 1, nothing, "True or False"},
    {"pinned_use_background_threads", Type::BOOL, 0, 1, nothing, "True or False"},
    {"pin_memory_expandable_segments", Type::BOOL, 0, 1, nothing, "True or False"},
    {"pinned_mem_register", Type::BOOL, 0, 1, nothing, "True or False"},
    {"pinned_max_round_threshold_mb", Type::NUMBER, 0, no_limit, nothing, "larger than 0"},
    {"pinned_max_cached_size_mb", Type::NUMBER, 0, no_limit, nothing, "larger than 0"},
    {"throw_on_npumalloc_oom", Type::BOOL, 0, 1, nothing, "True or False"},
    {"release_lock_on_npumalloc", Type::BOOL, 0, 1, nothing, "True or False"},
};

[[noreturn]] static void refuse(const char *variable, const std::string &why)
{
    TORCH_CHECK_VALUE(false, variable, ": ", why, error_suffix(Module::PTA, Kind::VALUE));
    __builtin_unreachable();
}

static void set_divisions(AllocConf &conf, const char *variable, const std::string &value)
{
    auto bad = [&] {
        refuse(variable,
               "roundup_power2_divisions:" + value + " is not a power of 2 or a list such as [256:1,512:2,>:8]");
    };
    auto number = [&](const std::string &text) {
        char *end;
        unsigned long n = strtoul(text.c_str(), &end, 10);
        if (text.empty() || *end || !n || (n & (n - 1)))
            bad();
        return (size_t)n;
    };
    if (value.empty() || value[0] != '[') {
        size_t n = number(value);
        for (auto &d : conf.divisions)
            d = n;
        return;
    }
    std::string list = value.substr(1, value.size() - 2);
    size_t last = 0, from = 0;
    for (size_t at = 0; at <= list.size(); at = from) {
        size_t end = list.find(',', at);
        std::string pair = list.substr(at, end == std::string::npos ? end : end - at);
        from = end == std::string::npos ? list.size() + 1 : end + 1;
        size_t colon = pair.find(':');
        if (colon == std::string::npos)
            bad();
        size_t n = number(pair.substr(colon + 1)), until = 16;
        if (pair.substr(0, colon) != ">")
            until = std::min<size_t>(16, (size_t)__builtin_ctzl(number(pair.substr(0, colon))));
        for (; last < until; last++)
            conf.divisions[last] = n;
        conf.divisions[std::min<size_t>(until, 15)] = n;
    }
}

static void set_key(AllocConf &conf, const char *variable, const std::string &name, const std::string &value)
{
    for (const Key &key : keys) {
        if (name != key.name)
            continue;
        auto bad = [&] { refuse(variable, name + ":" + value + " is not allowed, it must be " + key.rule); };
        char *end;
        double number = strtod(value.c_str(), &end);
        switch (key.type) {
        case Type::BOOL:
            if (value != "True" && value != "False" && value != "true" && value != "false")
                bad();
            return key.set(conf, value == "True" || value == "true");
        case Type::NUMBER:
        case Type::FRACTION:
            if (value.empty() || *end || !(number > key.low) || !(number <= key.high) ||
                (key.type == Type::FRACTION && number >= key.high))
                bad();
            return key.set(conf, number);
        case Type::DIVISIONS:
            return set_divisions(conf, variable, value);
        case Type::WORD:
            if (value != key.rule)
                bad();
            return;
        }
    }
    std::string known;
    for (const Key &key : keys)
        known += std::string(known.empty() ? "" : ", ") + key.name;
    refuse(variable, "unrecognized key '" + name + "'; known are " + known);
}

static void parse(AllocConf &conf, const char *variable, const std::string &text)
{
    size_t at = 0;
    while (at < text.size()) {
        size_t end = at;
        for (int depth = 0; end < text.size() && (depth || text[end] != ','); end++)
            depth += text[end] == '[' ? 1 : text[end] == ']' ? -1 : 0;
        std::string pair;
        for (char c : text.substr(at, end - at))
            if (!isspace((unsigned char)c))
                pair += c;
        at = end + 1;
        if (pair.empty())
            continue;
        size_t colon = pair.find(':');
        if (colon == std::string::npos)
            refuse(variable, "'" + pair + "' is not key:value");
        set_key(conf, variable, pair.substr(0, colon), pair.substr(colon + 1));
    }
}

static void check(const AllocConf &conf, const char *variable)
{
    if (conf.expandable && conf.max_split != SIZE_MAX)
        refuse(variable, "max_split_size_mb and expandable_segments cannot be set together");
}

// Settings are replaced as a whole; older ones are leaked, since a thread may still be reading them.
static std::atomic<const AllocConf *> current{nullptr};

static const AllocConf *from_environment()
{
    auto made = std::make_unique<AllocConf>();
    const char *own = getenv("PYTORCH_NPU_ALLOC_CONF"), *common = getenv("PYTORCH_ALLOC_CONF");
    if (own && common)
        refuse("PYTORCH_NPU_ALLOC_CONF", "PYTORCH_ALLOC_CONF is set too; set one of them only");
    const char *variable = own ? "PYTORCH_NPU_ALLOC_CONF" : "PYTORCH_ALLOC_CONF";
    made->text = own ? own : common ? common : "";
    parse(*made, variable, made->text);
    check(*made, variable);
    const char *raw = getenv("PYTORCH_NO_NPU_MEMORY_CACHING");
    made->caching = !(raw && *raw && strcmp(raw, "0") != 0);
    return made.release();
}

const AllocConf &alloc_conf()
{
    const AllocConf *conf = current.load(std::memory_order_acquire);
    if (__builtin_expect(conf != nullptr, 1))
        return *conf;
    conf = from_environment();
    const AllocConf *none = nullptr;
    current.compare_exchange_strong(none, conf);
    return *current.load();
}

void alloc_conf_change(const char *settings)
{
    auto made = std::make_unique<AllocConf>();
    made->caching = alloc_conf().caching;
    made->text = settings;
    parse(*made, "allocator settings", made->text);
    check(*made, "allocator settings");
    current = made.release();
}

std::string memory_settings()
{
    return alloc_conf().text;
}

} // namespace npu
