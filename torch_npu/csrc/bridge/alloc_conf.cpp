// SPDX-License-Identifier: BSD-3-Clause
// PYTORCH_NPU_ALLOC_CONF and PYTORCH_ALLOC_CONF: the keys and what each takes stand in torch_npu/_variables.py. A bad
// key or value is refused at the first use of device memory, by name. Keys about what software memory does not have are
// checked and then ignored.
#include <c10/util/Exception.h>

#include <atomic>
#include <cstdlib>
#include <memory>

#include "error.h"
#include "memory.h"
#include "variables.h"

namespace npu
{

enum Key {
#define ALLOC_KEY(name, kind, low, high, rule) KEY_##name,
#include "variable_rows.h"
#undef ALLOC_KEY
};

enum Kind_of_value { BOOL, INTEGER, FRACTION, DIVISIONS, WORD };

struct Row {
    const char *name;
    Kind_of_value kind;
    double low, high; // both included
    const char *rule; // how they read
};

static const Row rows[] = {
#define ALLOC_KEY(name, kind, low, high, rule) {#name, kind, low, high, rule},
#include "variable_rows.h"
#undef ALLOC_KEY
};

constexpr size_t mega = 1 << 20;

// The keys that have an effect.
static void set_number(AllocConf &conf, int key, double value)
{
    size_t bytes = (size_t)value * mega;
    switch (key) {
    case KEY_max_split_size_mb:
        conf.max_split = bytes;
        break;
    case KEY_garbage_collection_threshold:
        conf.gc_threshold = value;
        break;
    case KEY_expandable_segments:
        conf.expandable = value != 0;
        break;
    case KEY_base_addr_aligned_kb:
        conf.alignment = (size_t)value << 10;
        break;
    case KEY_pinned_max_round_threshold_mb:
        conf.pinned_round = bytes;
        break;
    case KEY_pinned_max_cached_size_mb:
        conf.pinned_cached = bytes;
        break;
    case KEY_throw_on_npumalloc_oom:
        conf.refuse_early = value != 0;
        break;
    case KEY_multi_stream_lazy_reclaim:
        conf.lazy = value != 0;
        break;
    case KEY_max_non_split_rounding_mb:
        conf.max_non_split_rounding = bytes;
        break;
    case KEY_segment_size_mb:
    case KEY_large_segment_size_mb:
        conf.segment = bytes;
        break;
    case KEY_per_process_memory_fraction:
        conf.fraction = value;
        break;
    }
}

[[noreturn]] static void refuse(const char *variable, const std::string &why)
{
    TORCH_CHECK_VALUE(false, variable, ": ", why, error_suffix(Module::OPS, Kind::VALUE));
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

static bool is_number(const std::string &text)
{
    return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

static void set_key(AllocConf &conf, const char *variable, const std::string &name, const std::string &value)
{
    std::string known;
    for (const Row &row : rows) {
        known += std::string(known.empty() ? "" : ", ") + row.name;
        if (name != row.name)
            continue;
        int key = (int)(&row - rows);
        char *end;
        double number = strtod(value.c_str(), &end);
        bool inside = !value.empty() && !*end && number >= row.low && number <= row.high;
        switch (row.kind) {
        case BOOL:
            if (value != "True" && value != "False")
                refuse(variable, "Expected a single True/False argument for " + name + ", but got '" + value + "'");
            return set_number(conf, key, value == "True");
        case INTEGER:
            if (!is_number(value))
                refuse(variable, "CachingAllocator option " + name + " is invalid: '" + value + "' is not a number");
            if (!inside)
                refuse(variable,
                       "CachingAllocator option " + name + " error, must be " + row.rule + ", but got " + value);
            return set_number(conf, key, number);
        case FRACTION:
            if (!inside || (row.rule[3] == '(' && (number <= row.low || number >= row.high)))
                refuse(variable, name + " is invalid, set it " + row.rule + "; it is '" + value + "'");
            return set_number(conf, key, number);
        case DIVISIONS:
            return set_divisions(conf, variable, value);
        case WORD:
            if (value != row.rule)
                refuse(variable, "Unsupported " + name + " value: " + value + ", it must be " + row.rule);
            conf.huge_pages = key == KEY_page_size;
            return;
        }
    }
    refuse(variable, "Unrecognized key '" + name + "' in NPU allocator config; known are " + known);
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
    if (conf.expandable && (conf.max_split != SIZE_MAX || conf.gc_threshold > 0))
        refuse(variable, "`max_split_size_mb` or `garbage_collection_threshold`, cannot be enabled with "
                         "`expandable_segments`, please set `expandable_segments` to `False`.");
    if (conf.pinned_round != SIZE_MAX && conf.pinned_round > conf.pinned_cached)
        refuse(variable, "pinned_max_round_threshold_mb (" + std::to_string(conf.pinned_round / mega) +
                             ") > pinned_max_cached_size_mb (" + std::to_string(conf.pinned_cached / mega) + ")");
    if (conf.max_split < conf.segment)
        refuse(variable, "max_split_size_mb must be at least large_segment_size_mb");
}

// Settings are replaced as a whole; older ones are leaked, since a thread may still be reading them.
static std::atomic<const AllocConf *> current{nullptr};

static const AllocConf *from_environment()
{
    auto made = std::make_unique<AllocConf>();
    const char *own = variable_raw(VARIABLE_PYTORCH_NPU_ALLOC_CONF),
               *common = variable_raw(VARIABLE_PYTORCH_ALLOC_CONF);
    TORCH_CHECK(!own || !common,
                "Both PYTORCH_NPU_ALLOC_CONF and PYTORCH_ALLOC_CONF have been set, please set only one of them.",
                error_suffix(Module::OPS, Kind::VALUE));
    const char *variable = variable_name(own ? VARIABLE_PYTORCH_NPU_ALLOC_CONF : VARIABLE_PYTORCH_ALLOC_CONF);
    made->text = own ? own : common ? common : "";
    parse(*made, variable, made->text);
    check(*made, variable);
    made->caching = !variable_on(VARIABLE_PYTORCH_NO_NPU_MEMORY_CACHING);
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
