// SPDX-License-Identifier: BSD-3-Clause
// Operators without a row run PyTorch's CPU kernel, on the device's own memory.
//
// Every distinct storage among the arguments gets one CPU-labelled alias and every tensor a CPU tensor on it; the CPU
// kernel runs, its fresh results allocated from device memory; afterwards results are relabelled, resized memory is
// moved back and the geometry of arguments is copied back. The stream is idle meanwhile. Sparse and nested tensors go
// part by part (compound.h). Where CANN offers no host view
// (another maker's, guard mode) storages are copied to the host, and back those that were written. Every use is counted
// and warned of once.
#include "fallback.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/EmptyTensor.h>
#include <ATen/core/List.h>
#include <c10/core/CPUAllocator.h>
#include <torch/library.h>

#include <cstdlib>
#include <cstring>
#include <mutex>

#include "boxed.h"
#include "compound.h"
#include "error.h"
#include "graph.h"
#include "generator.h"
#include "host.h"
#include "metadata.h"
#include "profile.h"
#include "variables.h"

namespace npu
{

using at::Tensor;
using c10::IValue;
using torch::jit::Stack;

// ---- counting ----
static std::mutex count_lock;
static std::map<std::string, FallbackUse> &counts()
{
    static auto *const table = new std::map<std::string, FallbackUse>;
    return *table;
}

static int64_t now_ns()
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
static int64_t counted_since = now_ns();

std::map<std::string, FallbackUse> fallback_uses()
{
    std::lock_guard<std::mutex> lock(count_lock);
    std::map<std::string, FallbackUse> used;
    for (auto &[name, use] : counts())
        if (use.times)
            used[name] = use;
    return used;
}

int64_t fallback_since()
{
    std::lock_guard<std::mutex> lock(count_lock);
    return now_ns() - counted_since;
}

void fallback_reset()
{
    std::lock_guard<std::mutex> lock(count_lock);
    for (auto &entry : counts()) // names stay: an operator is warned of once
        entry.second = {};
    counted_since = now_ns();
}

static void count(const std::string &name)
{
    static const bool quiet =
        variable_on(VARIABLE_TORCH_NPU_WARNING_DISABLE) || variable_on(VARIABLE_TORCH_NPU_DISABLED_WARNING);
    bool first;
    {
        std::lock_guard<std::mutex> lock(count_lock);
        auto [entry, added] = counts().try_emplace(name);
        entry->second.times++;
        first = added;
    }
    if (first && !quiet)
        TORCH_WARN("CAUTION: The operator '", name,
                   "' is not currently supported on the NPU backend and will fall back to run on the CPU. "
                   "This may have performance implications. (function npu_cpu_fallback)");
}

static void add_use(const std::string &name, int64_t bytes, int64_t ns)
{
    std::lock_guard<std::mutex> lock(count_lock);
    FallbackUse &use = counts()[name];
    use.bytes += bytes;
    use.ns += ns;
}

static std::string full_name(const c10::OperatorHandle &op)
{
    const auto &name = op.operator_name();
    return name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
}

[[noreturn]] static void unsupported(const std::string &name, const char *why)
{
    TORCH_CHECK_NOT_IMPLEMENTED(false, "CAUTION: The operator '", name,
                                "' is not currently supported on the NPU backend. (", why, "not implemented for NPU)",
                                error_suffix(Module::OPS, Kind::NOT_SUPPORT));
    __builtin_unreachable();
}

// ---- one run ----
struct Alias {
    c10::intrusive_ptr<c10::StorageImpl> device, cpu;
    bool copied = false, written = false;
};

struct Pair {
    Tensor npu, cpu;
};

struct Run {
    const std::string &name;
    const schema_fact *facts;
    int device = -1;
    int64_t bytes = 0;
    std::vector<Alias> aliases;
    std::vector<Pair> pairs, compounds;
    std::vector<bool> compound_written;

    Alias &alias_of(const Tensor &npu);
    Tensor to_cpu(const Tensor &t, bool written);
    Tensor compound_to_cpu(const Tensor &t, bool written);
    void argument(IValue &v, int i);
    c10::intrusive_ptr<c10::StorageImpl> device_storage(c10::StorageImpl *cpu);
    Tensor to_npu(const Tensor &t);
    void result(IValue &v);
    void write_back();
};

Alias &Run::alias_of(const Tensor &npu)
{
    c10::StorageImpl *storage = npu.storage().unsafeGetStorageImpl();
    for (Alias &known : aliases)
        if (known.device.get() == storage)
            return known;
    Alias made;
    made.device = c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(storage);
    made.cpu = host_storage(storage);
    if (!made.cpu) {
        size_t bytes = storage->nbytes();
        made.copied = true;
        made.cpu = c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), (int64_t)bytes,
                                                         c10::GetCPUAllocator(), true);
        if (bytes)
            ACL(aclrtMemcpy, made.cpu->mutable_data(), bytes, storage->data(), bytes, MEMCPY_D2H);
    }
    aliases.push_back(std::move(made));
    return aliases.back();
}

Tensor Run::compound_to_cpu(const Tensor &t, bool written)
{
    for (Pair &known : compounds)
        if (known.npu.is_same(t))
            return known.cpu;
    Tensor cpu = compound_of(t, [&](const Tensor &part) { return to_cpu(part, written); });
    compounds.push_back({t, cpu});
    compound_written.push_back(written);
    return cpu;
}

Tensor Run::to_cpu(const Tensor &t, bool written)
{
    if (!t.defined())
        return t;
    if (!t.is_privateuseone()) {
        if (t.is_cpu() && t.dim() > 0 && (written || is_compound(t)))
            raise_mixed_devices(name.c_str());
        return t;
    }
    if (is_compound(t))
        return compound_to_cpu(t, written);
    if (t.layout() != at::kStrided || !t.has_storage())
        unsupported(name, "an opaque tensor; ");
    if (device < 0) {
        device = t.device().index();
        await_result(device, current_stream_index(device));
    } else if (device != t.device().index()) {
        raise_two_devices(name.c_str(), device, t.device().index());
    }
    Alias &alias = alias_of(t);
    alias.written |= written;
    for (Pair &known : pairs)
        if (known.npu.is_same(t))
            return known.cpu;
    bytes += (int64_t)t.nbytes();
    Tensor cpu = host_tensor(alias.cpu, t.unsafeGetTensorImpl());
    cpu.unsafeGetTensorImpl()->_set_conj(
        t.is_conj()); // products and solvers take these as they are, without a resolved copy
    cpu.unsafeGetTensorImpl()->_set_neg(t.is_neg());
    pairs.push_back({t, cpu});
    return cpu;
}

void Run::argument(IValue &v, int i)
{
    bool written = facts->written[i];
    if (v.isTensor()) {
        v = to_cpu(v.toTensor(), written);
    } else if (v.isTensorList()) {
        c10::List<Tensor> list = v.toTensorList(), moved;
        moved.reserve(list.size());
        for (size_t k = 0; k < list.size(); k++)
            moved.push_back(to_cpu(list.get(k), written));
        v = std::move(moved);
    } else if (v.isOptionalTensorList()) {
        c10::List<std::optional<Tensor>> list = v.toOptionalTensorList(), moved;
        moved.reserve(list.size());
        for (size_t k = 0; k < list.size(); k++) {
            std::optional<Tensor> t = list.get(k);
            moved.push_back(t ? std::optional<Tensor>(to_cpu(*t, written)) : t);
        }
        v = std::move(moved);
    } else if (v.isDevice() && v.toDevice().type() == device_type) {
        if (device < 0)
            device = device_of(v.toDevice());
        v = c10::Device(c10::DeviceType::CPU);
    }
}

// The device storage that a CPU storage of a result stands for; null if its memory is ordinary host memory.
c10::intrusive_ptr<c10::StorageImpl> Run::device_storage(c10::StorageImpl *cpu)
{
    for (Alias &known : aliases)
        if (known.cpu.get() == cpu)
            return known.device;
    int64_t bytes = (int64_t)cpu->nbytes();
    c10::DataPtr data = take_device_data(cpu);
    if (!data.get() && bytes)
        return {};
    if (!data.get())
        data = memory_data(device, 0);
    Alias made;
    made.cpu = c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(cpu);
    made.device = c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), bytes, std::move(data),
                                                        memory_allocator(), true);
    aliases.push_back(made);
    return made.device;
}

Tensor Run::to_npu(const Tensor &t)
{
    if (!t.defined() || !t.is_cpu())
        return t;
    for (std::vector<Pair> *list : {&pairs, &compounds})
        for (Pair &known : *list)
            if (known.cpu.is_same(t))
                return known.npu;
    if (is_compound(t))
        return compound_of(t, [&](const Tensor &part) { return to_npu(part); });
    if (t.layout() != at::kStrided || !t.has_storage())
        unsupported(name, "its result is opaque; ");
    auto *impl = t.unsafeGetTensorImpl();
    bytes += (int64_t)t.nbytes();
    Tensor made;
    if (auto storage = device_storage(t.storage().unsafeGetStorageImpl())) {
        made = wrap_storage(c10::Storage(std::move(storage)), npu_keys, t.sizes(), t.strides(), t.storage_offset(),
                            t.dtype());
    } else {
        made = make_tensor(device, t.sizes(), t.strides(), t.dtype());
        Tensor plain = t.is_conj() || t.is_neg() ? t.resolve_conj().resolve_neg() : t;
        return copy_(made, plain, false);
    }
    made.unsafeGetTensorImpl()->_set_conj(impl->is_conj());
    made.unsafeGetTensorImpl()->_set_neg(impl->is_neg());
    return made;
}

void Run::result(IValue &v)
{
    if (v.isTensor()) {
        v = to_npu(v.toTensor());
    } else if (v.isTensorList()) {
        c10::List<Tensor> list = v.toTensorList(), moved;
        moved.reserve(list.size());
        for (size_t k = 0; k < list.size(); k++)
            moved.push_back(to_npu(list.get(k)));
        v = std::move(moved);
    }
}

// What the kernel did to its arguments: memory replaced by a resize, another storage or geometry set.
void Run::write_back()
{
    bool normalises =
        name.find("batch_norm") != std::string::npos; // running statistics are written without the schema's saying so
    for (size_t i = 0, n = aliases.size(); i < n; i++) {
        c10::StorageImpl *cpu = aliases[i].cpu.get(), *own = aliases[i].device.get();
        size_t bytes = cpu->nbytes();
        bool resized = aliases[i].copied ? bytes != own->nbytes() : !is_host_storage(cpu) && bytes != 0;
        if (resized) {
            c10::DataPtr data = take_device_data(cpu);
            if (!data.get()) {
                data = memory_data(device, bytes);
                ACL(aclrtMemcpy, data.get(), bytes, cpu->data(), bytes, MEMCPY_H2D);
            }
            own->set_data_ptr_noswap(std::move(data));
            own->set_nbytes(bytes);
        } else if (aliases[i].copied && bytes && (aliases[i].written || normalises)) {
            ACL(aclrtMemcpy, own->mutable_data(), bytes, cpu->data(), bytes, MEMCPY_H2D);
        }
    }
    for (Pair &pair : pairs) {
        auto *npu = pair.npu.unsafeGetTensorImpl(), *cpu = pair.cpu.unsafeGetTensorImpl();
        c10::StorageImpl *storage = pair.cpu.storage().unsafeGetStorageImpl();
        bool same_storage = false;
        for (Alias &known : aliases)
            same_storage |=
                known.cpu.get() == storage && known.device.get() == pair.npu.storage().unsafeGetStorageImpl();
        if (!same_storage)
            if (auto other = device_storage(storage))
                npu->set_storage_keep_dtype(c10::Storage(std::move(other)));
        if (npu->sizes() != cpu->sizes() || npu->strides() != cpu->strides())
            npu->set_sizes_and_strides(cpu->sizes(), cpu->strides());
        if (npu->storage_offset() != cpu->storage_offset())
            npu->set_storage_offset(cpu->storage_offset());
    }
    for (size_t i = 0; i < compounds.size(); i++)
        if (compound_written[i])
            compound_assign(compounds[i].npu, compounds[i].cpu, [&](const Tensor &part) { return to_npu(part); });
}

// At log level 1 a line for each run, beside the lines of the operators that ran on the NPU.
static void log_run(const Run &run, int64_t ns)
{
    if (!cann.aclAppLog || !cann.extension || cann.extension->version < 4 || !cann.extension->log_wanted(ACL_INFO))
        return;
    std::string text;
    for (const Pair &pair : run.pairs) {
        text += text.empty() ? "" : ", ";
        text += c10::toString(pair.npu.scalar_type());
        text += c10::str(pair.npu.sizes());
    }
    cann.aclAppLog(ACL_INFO, "npu_cpu_fallback", "fallback.cpp", 0, "%s(%s) fallback to CPU %.1fus", run.name.c_str(),
                   text.c_str(), (double)ns / 1000);
}

// A CPU generator for one call of an operator: seeded from the device generator's seed and offset, which moves on.
static at::Generator cpu_generator(const at::Generator *generator, int device)
{
    auto [seed, offset, seeds, offsets] = philox_take(generator, device, 4);
    uint64_t mixed = seed ^ (offset * 0x9E3779B97F4A7C15ull);
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9ull;
    return at::detail::createCPUGenerator(mixed ^ (mixed >> 27));
}

static const schema_fact *facts_of(const c10::OperatorHandle &op)
{
    static std::mutex lock;
    static auto *const known = new std::unordered_map<const c10::FunctionSchema *, const schema_fact *>;
    std::lock_guard<std::mutex> hold(lock);
    auto &facts = (*known)[&op.schema()];
    if (!facts)
        facts = make_facts(op.schema());
    return facts;
}

static void run_on_cpu(const c10::OperatorHandle &op, Stack *stack, const std::string &name, c10::DispatchKey cpu)
{
    const schema_fact *facts = facts_of(op);
    Run run{name, facts, -1, 0, {}, {}, {}, {}};
    size_t n = op.schema().arguments().size(), first = stack->size() - n;
    for (size_t i = 0; i < n; i++)
        run.argument((*stack)[first + i], (int)i);
    if (run.device < 0)
        run.device = current_device();
    use_device(run.device);
    for (size_t i = 0; i < n; i++) {
        IValue &v = (*stack)[first + i];
        if (facts->kind[i] != ARG_GENERATOR || (!run.pairs.size() && v.isNone()))
            continue;
        if (v.isNone())
            v = cpu_generator(nullptr, run.device);
        else {
            at::Generator own = v.toGenerator(); // one of the CPU is refused, as a kernel of the NPU would
            v = cpu_generator(&own, run.device);
        }
    }
    // The CPU makes its second result, which the backward pass reads, only for an argument that requires gradients.
    if (name == "aten::_sparse_mm_reduce_impl" && at::GradMode::is_enabled())
        (*stack)[first + 1].toTensor().set_requires_grad(true);
    int64_t traced_begin = traced(ANYNPU_TRACE_HOST) ? trace()->now() : 0, begin = now_ns();
    {
        DeviceAllocations on(run.device);
        op.redispatchBoxed(c10::DispatchKeySet(cpu), stack);
    }
    int64_t ns = now_ns() - begin;
    if (C10_UNLIKELY(traced_begin != 0))
        trace_range(name, traced_begin, trace()->now(), ANYNPU_HOST_FALLBACK);
    run.write_back();
    for (size_t i = stack->size() - (size_t)facts->returns; i < stack->size(); i++)
        run.result((*stack)[i]);
    add_use(name, run.bytes, ns);
    log_run(run, ns);
}

// The composite runs as it is: the operators it is made of are dispatched to the NPU one by one.
static bool is_composite(const c10::OperatorHandle &op)
{
    return op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd) &&
           !op.hasKernelForDispatchKey(c10::DispatchKey::CPU);
}

static void check_allowed(const std::string &name)
{
    static const bool disabled = variable_on(VARIABLE_TORCH_NPU_FALLBACK_CPU_DISABLE);
    TORCH_CHECK_NOT_IMPLEMENTED(
        !disabled, "The operator '", name,
        "' would execute its main computation on CPU through dispatcher backend "
        "fallback because no kernel is registered for the NPU PrivateUse1 backend, but CPU fallback is disabled by "
        "TORCH_NPU_FALLBACK_CPU_DISABLE=1. (",
        name, " is not implemented for NPU)", error_suffix(Module::OPS, Kind::NOT_SUPPORT));
    if (captures_active() && current_stream_capturing()) {
        std::string place = python_place ? python_place() : "";
        TORCH_CHECK_NOT_IMPLEMENTED(false, "The operator '", name,
                                    "' has no NPU kernel and would run on the CPU, which an NPU graph cannot capture",
                                    place.empty() ? "" : ": called at " + place, ". (", name,
                                    " is not implemented for NPU)", error_suffix(Module::GRAPH, Kind::NOT_SUPPORT));
    }
}

void fallback(const c10::OperatorHandle &op, c10::DispatchKeySet, Stack *stack)
{
    std::string name = full_name(op);
    c10::OperatorHandle kernel = op;
    bool special = special_kernel(name, stack, &kernel);
    if (!special && is_composite(op))
        return op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
    check_allowed(name);
    if (!special && !op.hasComputedKernelForDispatchKey(c10::DispatchKey::CPU))
        unsupported(name, "PyTorch has no CPU kernel for it either; ");
    count(name);
    run_on_cpu(kernel, stack, name, c10::DispatchKey::CPU);
}

template <c10::DispatchKey cpu> void fallback_compound(const c10::OperatorHandle &op, c10::DispatchKeySet, Stack *stack)
{
    std::string name = full_name(op);
    check_allowed(name);
    if (!op.hasComputedKernelForDispatchKey(cpu))
        unsupported(name, "PyTorch has no CPU kernel for it either; ");
    count(name);
    run_on_cpu(op, stack, name, cpu);
}
template void fallback_compound<c10::DispatchKey::SparseCPU>(const c10::OperatorHandle &, c10::DispatchKeySet, Stack *);
template void fallback_compound<c10::DispatchKey::SparseCsrCPU>(const c10::OperatorHandle &, c10::DispatchKeySet,
                                                                Stack *);
template void fallback_compound<c10::DispatchKey::NestedTensorCPU>(const c10::OperatorHandle &, c10::DispatchKeySet,
                                                                   Stack *);

static void refuse(const c10::OperatorHandle &op, c10::DispatchKeySet, Stack *)
{
    unsupported(full_name(op), "quantized tensors are ");
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m)
{
    m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>());
}
TORCH_LIBRARY_IMPL(_, QuantizedPrivateUse1, m)
{
    m.fallback(torch::CppFunction::makeFromBoxedFunction<&refuse>());
}

} // namespace npu
