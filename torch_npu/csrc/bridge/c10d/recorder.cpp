// SPDX-License-Identifier: BSD-3-Clause
// The flight recorder (recorder.h). Keys and version are those of PyTorch's format, so that its analyser reads the
// files.
#include "recorder.h"

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/serialization/pickler.h>
#include <torch/csrc/profiler/combined_traceback.h>

#include <fstream>
#include <future>
#include <thread>

#include "../variables.h"

namespace npu
{

using c10::IValue;
using Dict = c10::Dict<IValue, IValue>;

struct Entry {
    uint64_t id = 0;
    GroupName group;
    std::string title;
    std::weak_ptr<Operation> operation;
    uint64_t seq = 0;
    bool p2p = false, completed = false;
    int64_t timeout_ms = 0, created_ns = 0, completed_ns = 0;
    float duration = -1;
    std::vector<std::vector<int64_t>> sizes[2]; // of inputs, outputs
    std::vector<std::string> dtypes[2];
    std::shared_ptr<torch::CapturedTraceback> stack;
};

static std::mutex lock;
static std::vector<Entry> ring;
static uint64_t next_id = 1;
static std::map<std::string, std::pair<std::string, std::vector<uint64_t>>> groups; // name → description, ranks

static size_t capacity()
{
    static const size_t entries = [] {
        const char *own = variable_raw(VARIABLE_TORCH_HCCL_TRACE_BUFFER_SIZE);
        const char *set = own ? own : variable_raw(VARIABLE_TORCH_FR_BUFFER_SIZE);
        return set ? (size_t)strtoul(set, nullptr, 10) : 0;
    }();
    return entries;
}

bool recorder_on()
{
    static const bool on = capacity() > 0;
    return on;
}

bool timing_on()
{
    static const bool on = recorder_on() || variable_on(VARIABLE_TORCH_HCCL_ENABLE_TIMING);
    return on;
}

static int64_t now_ns()
{
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}

void recorder_group(const GroupName &group, const std::vector<uint64_t> &ranks)
{
    std::lock_guard<std::mutex> hold(lock);
    groups[group.name] = {group.description, ranks};
}

void recorder_add(const std::shared_ptr<Operation> &operation, const GroupName &group, const char *title,
                  const std::vector<at::Tensor> &inputs, const std::vector<at::Tensor> &outputs)
{
    if (!recorder_on())
        return;
    Entry entry;
    entry.group = group;
    entry.title = title;
    entry.operation = operation;
    entry.seq = operation->seq;
    entry.p2p = operation->p2p;
    entry.timeout_ms = operation->timeout.count();
    entry.created_ns = now_ns();
    const std::vector<at::Tensor> *sides[2] = {&inputs, &outputs};
    for (int side = 0; side < 2; side++)
        for (const at::Tensor &t : *sides[side]) {
            entry.sizes[side].push_back(t.sizes().vec());
            entry.dtypes[side].push_back(c10::toString(t.scalar_type()));
        }
    entry.stack = torch::CapturedTraceback::gather(true, true, false);
    std::lock_guard<std::mutex> hold(lock);
    operation->record = entry.id = next_id++;
    if (ring.size() < capacity())
        ring.push_back(std::move(entry));
    else
        ring[(entry.id - 1) % capacity()] = std::move(entry);
}

static Entry *find_locked(uint64_t id)
{
    size_t at = (id - 1) % capacity();
    return at < ring.size() && ring[at].id == id ? &ring[at] : nullptr;
}

void recorder_finish(const Operation &operation)
{
    if (!operation.record)
        return;
    float duration = operation.start ? operation.start->elapsed(*operation.end) : -1;
    std::lock_guard<std::mutex> hold(lock);
    if (Entry *entry = find_locked(operation.record)) {
        entry->completed = true;
        entry->completed_ns = now_ns();
        entry->duration = duration;
    }
}

void recorder_reset()
{
    std::lock_guard<std::mutex> hold(lock);
    ring.clear();
    next_id = 1;
}

// ---- dumps ----
static Dict new_dict()
{
    return Dict(c10::AnyType::get(), c10::AnyType::get());
}

static c10::List<IValue> new_list()
{
    return c10::List<IValue>(c10::AnyType::get());
}

static std::string ranks_text(const std::vector<uint64_t> &ranks)
{
    std::string text = "[";
    for (size_t i = 0; i < ranks.size(); i++)
        text += (i ? ", " : "") + std::to_string(ranks[i]);
    return text + "]";
}

static std::string pickled(const IValue &value)
{
    std::string text;
    torch::jit::Pickler pickler([&](const char *data, size_t size) { text.append(data, size); }, nullptr, nullptr,
                                nullptr, nullptr, false);
    pickler.protocol();
    pickler.pushIValue(value);
    pickler.stop();
    return text;
}

static const char *state_of(const Entry &entry)
{
    auto operation = entry.operation.lock();
    if (entry.completed || (operation && operation->done()))
        return "completed";
    return operation && operation->start && operation->start->done() ? "started" : "scheduled";
}

static c10::List<IValue> list_of(const std::vector<std::vector<int64_t>> &sizes)
{
    auto all = new_list();
    for (auto &size : sizes) {
        auto one = new_list();
        for (int64_t n : size)
            one.push_back(n);
        all.push_back(one);
    }
    return all;
}

static c10::List<IValue> list_of(const std::vector<std::string> &words)
{
    auto all = new_list();
    for (auto &word : words)
        all.push_back(word);
    return all;
}

static Dict describe(const Entry &entry)
{
    Dict d = new_dict();
    d.insert("record_id", (int64_t)entry.id - 1);
    d.insert("pg_id", (int64_t)entry.group.id);
    d.insert("process_group", std::make_tuple(entry.group.name, entry.group.description));
    d.insert("collective_seq_id", (int64_t)(entry.p2p ? 0 : entry.seq));
    d.insert("p2p_seq_id", (int64_t)(entry.p2p ? entry.seq : 0));
    d.insert("op_id", (int64_t)entry.seq);
    d.insert("profiling_name", entry.title);
    d.insert("time_created_ns", entry.created_ns);
    if (entry.duration >= 0)
        d.insert("duration_ms", (double)entry.duration);
    d.insert("input_sizes", list_of(entry.sizes[0]));
    d.insert("input_dtypes", list_of(entry.dtypes[0]));
    d.insert("output_sizes", list_of(entry.sizes[1]));
    d.insert("output_dtypes", list_of(entry.dtypes[1]));
    d.insert("state", std::string(state_of(entry)));
    d.insert("time_discovered_started_ns", IValue());
    d.insert("time_discovered_completed_ns", entry.completed_ns ? IValue(entry.completed_ns) : IValue());
    d.insert("retired", entry.completed);
    d.insert("timeout_ms", entry.timeout_ms);
    d.insert("is_p2p", entry.p2p);
    return d;
}

static std::vector<Entry> oldest_first()
{
    std::lock_guard<std::mutex> hold(lock);
    std::vector<Entry> all;
    size_t begin = ring.size() < capacity() || ring.empty() ? 0 : (next_id - 1) % capacity();
    for (size_t i = 0; i < ring.size(); i++)
        all.push_back(ring[(begin + i) % ring.size()]);
    return all;
}

static void add_stacks(const std::vector<Entry> &entries, std::vector<Dict> &described)
{
    std::vector<torch::CapturedTraceback *> stacks;
    for (auto &entry : entries)
        stacks.push_back(entry.stack.get());
    torch::SymbolizedTracebacks symbols = torch::symbolize(stacks);
    for (size_t i = 0; i < entries.size(); i++) {
        auto frames = new_list();
        for (auto at : symbols.tracebacks[i]) {
            auto &frame = symbols.all_frames[at];
            Dict d = new_dict();
            d.insert("name", frame.funcname);
            d.insert("filename", frame.filename);
            d.insert("line", (int64_t)frame.lineno);
            frames.push_back(d);
        }
        described[i].insert("frames", frames);
    }
}

static Dict content(bool collectives, bool stacks, bool only_active)
{
    Dict all = new_dict(), config = new_dict(), status = new_dict();
    all.insert("version", std::string("2.10"));
    std::vector<Entry> entries = oldest_first();
    {
        std::lock_guard<std::mutex> hold(lock);
        for (auto &[name, group] : groups) {
            Dict d = new_dict();
            d.insert("name", name);
            d.insert("desc", group.first);
            d.insert("ranks", ranks_text(group.second));
            config.insert(name, d);
        }
    }
    std::map<std::string, std::array<int64_t, 3>> last; // enqueued, started, completed
    for (auto &entry : entries) {
        auto &l = last.try_emplace(std::to_string(entry.group.id), std::array<int64_t, 3>{-1, -1, -1}).first->second;
        std::string state = state_of(entry);
        l[0] = (int64_t)entry.seq;
        l[1] = state != "scheduled" ? (int64_t)entry.seq : l[1];
        l[2] = state == "completed" ? (int64_t)entry.seq : l[2];
    }
    for (auto &[id, l] : last) {
        Dict d = new_dict();
        d.insert("last_enqueued_collective", l[0]);
        d.insert("last_started_collective", l[1]);
        d.insert("last_completed_collective", l[2]);
        status.insert(id, d);
    }
    all.insert("pg_config", config);
    all.insert("pg_status", status);
    all.insert("comm_lib_version", std::string(cann.path ? cann.path : ""));
    if (!collectives)
        return all;
    if (only_active)
        entries.erase(std::remove_if(entries.begin(), entries.end(),
                                     [](const Entry &entry) { return std::string(state_of(entry)) == "completed"; }),
                      entries.end());
    std::vector<Dict> described;
    for (auto &entry : entries)
        described.push_back(describe(entry));
    if (stacks)
        add_stacks(entries, described);
    auto list = new_list();
    for (auto &d : described)
        list.push_back(d);
    all.insert("entries", list);
    return all;
}

std::string recorder_dump(bool collectives, bool stacks, bool only_active)
{
    return pickled(content(collectives, stacks, only_active));
}

static void write_json(std::ostream &out, const IValue &v)
{
    if (v.isNone()) {
        out << "null";
    } else if (v.isBool()) {
        out << (v.toBool() ? "true" : "false");
    } else if (v.isInt()) {
        out << v.toInt();
    } else if (v.isDouble()) {
        out << v.toDouble();
    } else if (v.isString()) {
        out << '"';
        for (char c : v.toStringRef())
            if (c == '"' || c == '\\')
                out << '\\' << c;
            else if ((unsigned char)c < 32)
                out << ' ';
            else
                out << c;
        out << '"';
    } else if (v.isGenericDict()) {
        const char *comma = "{";
        for (auto &pair : v.toGenericDict()) {
            out << comma;
            write_json(out, pair.key());
            out << ": ";
            write_json(out, pair.value());
            comma = ", ";
        }
        out << (*comma == '{' ? "{}" : "}");
    } else {
        std::vector<IValue> items = v.isTuple() ? v.toTuple()->elements().vec() : v.toListRef().vec();
        out << '[';
        for (size_t i = 0; i < items.size(); i++) {
            out << (i ? ", " : "");
            write_json(out, items[i]);
        }
        out << ']';
    }
}

std::string recorder_dump_json(bool collectives, bool only_active)
{
    std::ostringstream out;
    write_json(out, content(collectives, false, only_active));
    return out.str();
}

void recorder_dump_on_failure(int rank)
{
    static const bool wanted = variable_on(VARIABLE_TORCH_HCCL_DUMP_ON_TIMEOUT);
    static std::once_flag once;
    if (!wanted || !recorder_on())
        return;
    std::call_once(once, [rank] {
        const char *set = variable_raw(VARIABLE_TORCH_HCCL_DEBUG_INFO_TEMP_FILE);
        std::string prefix = set ? set : "/tmp/hccl_trace_rank_";
        // Names of stack frames need Python's lock, which the program may hold for long.
        auto full = std::make_shared<std::promise<std::string>>();
        auto ready = full->get_future();
        std::thread([full] { full->set_value(recorder_dump(true, true, false)); }).detach();
        bool in_time = ready.wait_for(std::chrono::seconds(10)) == std::future_status::ready;
        std::string text = in_time ? ready.get() : recorder_dump(true, false, false);
        std::ofstream(prefix + std::to_string(rank), std::ios::binary) << text;
        TORCH_WARN("[Rank ", rank, "] flight recorder written to ", prefix, rank);
    });
}

} // namespace npu
