// SPDX-License-Identifier: BSD-3-Clause
// Registers every row of every family for the NPU, with one boxed kernel: check the arguments' devices, run the
// adapter, put its results on the stack. What the schema says of an operator is worked out once, at registration.
#include "boxed.h"

#include <ATen/core/List.h>
#include <c10/core/UndefinedTensorImpl.h>
#include <torch/library.h>

#include <cstring>
#include <unordered_map>
#include <vector>

#include "../ops/families.h"
#include "error.h"
#include "metadata.h"

namespace npu
{

using c10::IValue;

// ---- facts ----
static bool writes(const c10::AliasInfo *alias)
{
    if (!alias)
        return false;
    if (alias->isWrite())
        return true;
    for (const auto &inner : alias->containedTypes())
        if (writes(&inner))
            return true;
    return false;
}

static uint8_t kind_of(const c10::TypePtr &type)
{
    if (type->kind() == c10::TypeKind::TensorType)
        return ARG_TENSOR;
    if (type->kind() == c10::TypeKind::GeneratorType)
        return ARG_GENERATOR;
    if (type->kind() == c10::TypeKind::DeviceObjType)
        return ARG_DEVICE;
    if (type->kind() == c10::TypeKind::OptionalType)
        return kind_of(type->expect<c10::OptionalType>()->getElementType());
    if (type->kind() == c10::TypeKind::ListType) {
        uint8_t inner = kind_of(type->expect<c10::ListType>()->getElementType());
        return inner == ARG_TENSOR ? ARG_TENSORS : ARG_OTHER;
    }
    return ARG_OTHER;
}

static bool is_list(const c10::TypePtr &type)
{
    return type->kind() == c10::TypeKind::ListType;
}

static bool one_of(const std::string &name, std::initializer_list<const char *> list)
{
    for (const char *entry : list)
        if (name == entry)
            return true;
    return false;
}

const schema_fact *make_facts(const c10::FunctionSchema &schema)
{
    const auto &arguments = schema.arguments();
    const auto &returns = schema.returns();
    auto *fact = new schema_fact{};
    auto *kind = new uint8_t[arguments.size() + 1];
    auto *written = new bool[arguments.size() + 1];
    std::vector<result_fact> results;
    for (size_t i = 0; i < arguments.size(); i++) {
        kind[i] = kind_of(arguments[i].type());
        written[i] = writes(arguments[i].alias_info());
    }
    auto given = [&](size_t i) {
        return result_fact{(uint8_t)(arguments[i].kwarg_only() ? RESULT_OUT : RESULT_INPLACE),
                           is_list(arguments[i].type()), (int8_t)i};
    };
    for (const auto &r : returns) {
        result_fact made{(uint8_t)(kind_of(r.type()) == ARG_OTHER ? RESULT_OTHER : RESULT_NEW), is_list(r.type()), -1};
        if (writes(r.alias_info()))
            for (size_t i = 0; i < arguments.size(); i++)
                if (written[i] && arguments[i].alias_info()->beforeSets() == r.alias_info()->beforeSets())
                    made = given(i);
        results.push_back(made);
    }
    if (returns.empty())
        for (size_t i = 0; i < arguments.size(); i++)
            if (written[i])
                results.push_back(given(i));
    std::string full = schema.name() + (schema.overload_name().empty() ? "" : "." + schema.overload_name());
    fact->name = strdup(full.c_str());
    fact->args = (int)arguments.size();
    fact->results = (int)results.size();
    fact->returns = (int)returns.size();
    fact->kind = kind;
    fact->written = written;
    auto *kept = new result_fact[results.size() + 1];
    std::copy(results.begin(), results.end(), kept);
    fact->result = kept;
    std::string base = schema.name().substr(schema.name().find(':') + 2);
    fact->cpu_index =
        one_of(base, {"index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index", "_unsafe_index_put"});
    fact->overlap_ok = one_of(base, {"fill_", "zero_"});
    fact->composite = base.rfind("_foreach_", 0) == 0;
    return fact;
}

// ---- devices of the arguments ----
void raise_mixed_devices(const char *op)
{
    TORCH_CHECK(
        false, op,
        ": Expected all tensors to be on the same device. Expected NPU tensor, please check whether the input tensor "
        "device is correct.",
        error_suffix(Module::OPS, Kind::TYPE));
}

void raise_two_devices(const char *op, int first, int second)
{
    TORCH_CHECK(false, op,
                ": Expected all tensors to be on the same device, but found at least two devices, npu:", first,
                " and npu:", second, "!", error_suffix(Module::OPS, Kind::TYPE));
}

void scan_foreign(Scan &scan, const c10::TensorImpl *impl, const schema_fact *facts)
{
    if (impl->device_type() == c10::DeviceType::CPU && impl->dim() == 0 && impl->has_storage())
        return;
    if (facts->cpu_index && impl->device_type() == c10::DeviceType::CPU)
        scan.cpu_index = true;
    else if (facts->composite)
        scan.fall_back = true; // the composite of single operators takes any mixture
    else
        raise_mixed_devices(facts->name);
}

static Scan scan_arguments(const IValue *args, const schema_fact *facts)
{
    Scan scan;
    for (int i = 0; i < facts->args; i++) {
        const IValue &v = args[i];
        if (facts->kind[i] == ARG_TENSOR) {
            if (v.isTensor())
                scan_tensor(scan, v.unsafeToTensorImpl(), facts);
        } else if (facts->kind[i] == ARG_TENSORS && v.isList()) {
            for (const IValue &each : v.toListRef())
                if (each.isTensor())
                    scan_tensor(scan, each.unsafeToTensorImpl(), facts);
        }
    }
    if (scan.device < 0)
        scan.device = current_device();
    return scan;
}

// index(cuda_tensor, cpu_index) is allowed: the index tensors of the list are moved.
static void move_indices(IValue *args, const schema_fact *facts, int device)
{
    for (int i = 0; i < facts->args; i++) {
        if (facts->kind[i] != ARG_TENSORS || !args[i].isList())
            continue;
        c10::List<std::optional<at::Tensor>> moved;
        for (const IValue &each : args[i].toListRef()) {
            std::optional<at::Tensor> t;
            if (each.isTensor() && each.toTensor().defined())
                t = each.toTensor();
            if (t && t->is_cpu()) {
                at::Tensor on = make_tensor(device, t->sizes(), {}, t->dtype());
                t = copy_(on, *t, false);
            }
            moved.push_back(t);
        }
        args[i] = std::move(moved);
    }
}

// Conjugates and negates in memory what is only marked; a marked result is the CPU's affair.
static void resolve_bits(IValue *args, Scan *scan, const schema_fact *facts)
{
    for (int i = 0; i < facts->args; i++) {
        if (!args[i].isTensor() || !args[i].unsafeToTensorImpl()->key_set().has_any(lazy_keys))
            continue;
        if (facts->written[i])
            scan->fall_back = true;
        else
            args[i] = args[i].toTensor().resolve_conj().resolve_neg();
    }
}

// ---- the kernel ----
static IValue result_value(call *c, const IValue *args, int k)
{
    const schema_fact *facts = c->schema;
    const result_fact &fact = facts->result[k];
    result_slot *slot = &c->result[k];
    if (fact.how == RESULT_OUT || fact.how == RESULT_INPLACE)
        return args[fact.arg];
    if (slot->self)
        return args[slot->self - 1];
    if (fact.list) {
        c10::List<at::Tensor> list;
        list.reserve(slot->n);
        for (size_t j = 0; j < slot->n; j++) {
            auto *impl = static_cast<c10::TensorImpl *>(slot->item[j].made);
            slot->item[j].made = nullptr;
            list.push_back(impl ? at::Tensor(c10::intrusive_ptr<c10::TensorImpl>::reclaim(impl)) : at::Tensor());
        }
        return list;
    }
    if (slot->is_bool)
        return slot->value != 0;
    if (slot->is_int)
        return slot->value;
    TORCH_CHECK(fact.how == RESULT_NEW, facts->name, ": a result that is no tensor",
                error_suffix(Module::OPS, Kind::INTERNAL));
    return take_result(c, k);
}

struct Boxed final : c10::OperatorKernel {
    Boxed(const aten_row *row, const schema_fact *facts) : row(row), facts(facts)
    {
    }

    void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys, torch::jit::Stack *stack)
    {
        IValue *args = stack->data() + (stack->size() - (size_t)facts->args);
        Scan scan = scan_arguments(args, facts);
        if (C10_UNLIKELY(scan.cpu_index))
            move_indices(args, facts, scan.device);
        if (C10_UNLIKELY(scan.lazy))
            resolve_bits(args, &scan, facts);
        if (C10_LIKELY(!scan.fall_back) && !run(args, scan.device, stack))
            return;
        if (facts->composite) // PyTorch's own, made of operators that run here
            op.redispatchBoxed(c10::DispatchKeySet(), stack);
        else
            fallback(op, keys, stack);
    }

  private:
    // True when the operator has to fall back: also when this CANN lacks an operator that only the software one has.
    bool run(IValue *args, int device, torch::jit::Stack *stack)
    {
        if (row->aclnn && row->aclnn->name[1] == 'n' && !aclnn_exists(row->aclnn))
            return true;
        call c;
        call_begin(&c, row, facts, device);
        FreeCall free{&c};
        c.values = args;
        int status = row->run(&c, row);
        if (C10_UNLIKELY(status == CALL_FALLBACK) && c.status == CALL_OK && !c.launched)
            return true;
        call_finish(&c, status);
        if (C10_LIKELY(facts->returns == 1)) {
            IValue value = result_value(&c, args, 0);
            torch::jit::drop(*stack, (size_t)facts->args);
            stack->push_back(std::move(value));
            return false;
        }
        std::vector<IValue> values((size_t)facts->returns);
        for (int k = 0; k < facts->returns; k++)
            values[(size_t)k] = result_value(&c, args, k);
        torch::jit::drop(*stack, (size_t)facts->args);
        for (auto &value : values)
            stack->push_back(std::move(value));
        return false;
    }

    const aten_row *row;
    const schema_fact *facts;
};

// ---- registration ----
static std::unordered_map<std::string, Row> &all_rows()
{
    static auto *const rows = new std::unordered_map<std::string, Row>;
    return *rows;
}

const Row *find_row(const char *name)
{
    auto found = all_rows().find(name);
    return found == all_rows().end() ? nullptr : &found->second;
}

static void register_row(torch::Library &library, const aten_row *row)
{
    std::string name = row->name, full = name.find("::") == std::string::npos ? "aten::" + name : name;
    size_t dot = full.find('.');
    auto op = c10::Dispatcher::singleton().findSchema(
        {full.substr(0, dot), dot == std::string::npos ? "" : full.substr(dot + 1)});
    if (!op && !newest_torch)
        return;
    if (!op || all_rows().count(name)) {
        TORCH_WARN(op ? "torch_npu: two rows for " : "torch_npu: this PyTorch has no operator ", full);
        return;
    }
    const schema_fact *facts = make_facts(op->schema());
    all_rows()[name] = {row, facts};
    if (HotRegister hot = find_hot(name))
        return hot(library, find_row(row->name));
    library.impl(full.c_str(), torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Boxed>(row, facts)));
}

void register_special(torch::Library &library); // special.cpp

static void register_rows(torch::Library &library, bool ours)
{
    for (size_t f = 0; f < aten_family_count; f++)
        for (size_t i = 0; i < aten_families[f]->rows; i++)
            if ((std::strncmp(aten_families[f]->row[i].name, "npu::", 5) == 0) == ours)
                register_row(library, &aten_families[f]->row[i]);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    register_rows(m, false);
    register_special(m);
}

// What custom operators (torch_npu/ops) are made of, beyond PyTorch's.
TORCH_LIBRARY_FRAGMENT(npu, m)
{
    m.def(
        "_fusion_attention(Tensor query, Tensor key, Tensor value, int head_num, str input_layout, Tensor? pse, "
        "Tensor? atten_mask, float scale, float keep_prob, int pre_tockens, int next_tockens, int[]? actual_seq_qlen, "
        "int[]? actual_seq_kvlen, int sparse_mode) -> (Tensor, Tensor, Tensor, Tensor)");
    m.def(
        "_fusion_attention_backward(Tensor query, Tensor key, Tensor value, int head_num, str input_layout, Tensor? "
        "pse, "
        "Tensor? atten_mask, float scale, float keep_prob, int pre_tockens, int next_tockens, int[]? actual_seq_qlen, "
        "int[]? actual_seq_kvlen, int sparse_mode, Tensor dy, Tensor attention, Tensor softmax_max, Tensor "
        "softmax_sum, "
        "Tensor drop_mask) -> (Tensor, Tensor, Tensor)");
}

TORCH_LIBRARY_IMPL(npu, PrivateUse1, m)
{
    register_rows(m, true);
}

// Operators that PyTorch makes of others have no autograd kernel of the NPU's: ours calls what they are made of.
TORCH_LIBRARY_IMPL(_, AutogradPrivateUse1, m)
{
    if (!autograd_passes)
        m.fallback(torch::CppFunction::makeFallthrough());
}

} // namespace npu
