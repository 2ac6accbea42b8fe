// SPDX-License-Identifier: BSD-3-Clause
// Results and temporaries of a call (op.h), its beginning and end.
//
// A new result is a contiguous tensor of our own making. A given one (out=, in-place) is checked as PyTorch does: cast,
// shape (out is resized with PyTorch's warning), overlap; where the adapter cannot write it directly it gets a
// temporary, copied back when the adapter has returned.
#include <ATen/MemoryOverlap.h>
#include <ATen/native/Resize.h>
#include <c10/core/UndefinedTensorImpl.h>

#include <cstdlib>
#include <cstring>
#include <exception>

#include "boxed.h"
#include "error.h"
#include "graph.h"
#include "metadata.h"
#include "variables.h"

namespace npu
{

void record_exception(call *c) noexcept;

static npu_tensor spare; // what a failed helper answers: harmless to look at, refused by launch()

static c10::IntArrayRef dims(int32_t rank, const int64_t *size)
{
    return {size, (size_t)rank};
}

static bool stores_alike(const npu_tensor &a, const npu_tensor &b)
{
    return a.data == b.data && a.data != nullptr;
}

static at::TensorBase borrow(const void *impl)
{
    return at::TensorBase(
        c10::intrusive_ptr<c10::TensorImpl>::reclaim_copy(static_cast<c10::TensorImpl *>(const_cast<void *>(impl))));
}

// Does any tensor argument share memory with the target (other than being the target itself, where the row allows
// that)?
static bool touches_input(call *c, const npu_tensor &target, const c10::TensorImpl *impl)
{
    const schema_fact *facts = c->schema;
    for (int i = 0; i < facts->args; i++) {
        if (facts->kind[i] == ARG_TENSOR) {
            const npu_tensor *t = arg_tensor(c, i);
            if (!t->defined || t->device < 0 || !stores_alike(*t, target))
                continue;
            if (t->impl == impl) {
                if (!c->row->alias_ok && !facts->written[i])
                    return true;
                continue;
            }
            if (!c->row->alias_ok)
                return true;
            at::assert_no_partial_overlap(borrow(impl), borrow(t->impl));
        } else if (facts->kind[i] == ARG_TENSORS && !facts->written[i]) {
            const npu_tensor *list;
            size_t n = arg_tensors(c, i, &list);
            for (size_t k = 0; k < n; k++)
                if (list[k].defined && stores_alike(list[k], target))
                    return true;
        }
    }
    return false;
}

// A new tensor for the adapter; strides nullptr: contiguous.
static npu_tensor *fresh(call *c, result_item *item, aclDataType dtype, int32_t rank, const int64_t *size,
                         const int64_t *stride)
{
    at::Tensor made = make_tensor(c->device, dims(rank, size), stride ? dims(rank, stride) : c10::IntArrayRef(),
                                  c10::scalarTypeToTypeMeta(from_acl(dtype)));
    describe(&item->t, made.unsafeGetTensorImpl());
    item->made = made.unsafeReleaseTensorImpl();
    return &item->t;
}

static void resize_out(c10::TensorImpl *impl, int32_t rank, const int64_t *size, const int64_t *stride)
{
    at::Tensor out(c10::intrusive_ptr<c10::TensorImpl>::reclaim_copy(impl));
    if (at::native::resize_output(out, dims(rank, size)) && stride)
        impl->set_sizes_and_strides(dims(rank, size), dims(rank, stride));
}

static npu_tensor *given(call *c, result_item *item, const result_fact &fact, c10::TensorImpl *impl, aclDataType dtype,
                         int32_t rank, const int64_t *size, const int64_t *stride)
{
    if (impl == c10::UndefinedTensorImpl::singleton())
        return fresh(c, item, dtype, rank, size, stride);
    aclDataType own = to_acl(c10::typeMetaToScalarType(impl->dtype()));
    if (own != dtype)
        TORCH_CHECK(can_cast(dtype, own), "result type ", dtype_name(dtype),
                    " can't be cast to the desired output type ", dtype_name(own));
    if (impl->sizes() != dims(rank, size)) {
        TORCH_CHECK(fact.how == RESULT_OUT, "output with shape ", impl->sizes(), " doesn't match the broadcast shape ",
                    dims(rank, size));
        resize_out(impl, rank, size, stride);
        if (c->values)
            c->tensor[fact.arg] = nullptr; // described anew when asked
        else
            describe(const_cast<npu_tensor *>(c->tensor[fact.arg]), impl);
    }
    if (!c->schema->overlap_ok)
        at::assert_no_internal_overlap(impl);
    describe(&item->target, impl);
    if (own == dtype && !touches_input(c, item->target, impl)) {
        item->t = item->target;
        return &item->t;
    }
    item->copy_back = true;
    item->t = *temp(c, dtype, rank, size);
    return &item->t;
}

static c10::TensorImpl *argument_impl(call *c, int i)
{
    if (c->values)
        return static_cast<c10::IValue *>(c->values)[i].isTensor()
                   ? static_cast<c10::IValue *>(c->values)[i].unsafeToTensorImpl()
                   : c10::UndefinedTensorImpl::singleton();
    return static_cast<c10::TensorImpl *>(c->tensor[i]->impl);
}

// Is result k written to a given tensor that has this shape already? Then nobody asks for a layout.
static bool fits_given(call *c, int k, int32_t rank, const int64_t *size)
{
    const result_fact &fact = c->schema->result[k];
    return (fact.how == RESULT_OUT || fact.how == RESULT_INPLACE) &&
           argument_impl(c, fact.arg)->sizes() == dims(rank, size);
}

static npu_tensor *make_result(call *c, int k, aclDataType dtype, int32_t rank, const int64_t *size,
                               const int64_t *stride)
{
    result_slot *slot = &c->result[k];
    if (c->status != CALL_OK)
        return &spare;
    try {
        TORCH_CHECK(dtype != ACL_DT_UNDEFINED, "Promotion for uint16, uint32, uint64 types is not supported");
        const result_fact &fact = c->schema->result[k];
        slot->asked = true;
        if (fact.how == RESULT_NEW || fact.how == RESULT_OTHER)
            return fresh(c, &slot->one, dtype, rank, size, stride);
        return given(c, &slot->one, fact, argument_impl(c, fact.arg), dtype, rank, size, stride);
    } catch (...) {
        record_exception(c);
        return &spare;
    }
}

void call_begin(call *c, const aten_row *row, const schema_fact *schema, int device)
{
    c->row = row;
    c->schema = schema;
    c->values = nullptr;
    c->held = nullptr;
    c->chunks = nullptr;
    c->message = nullptr;
    c->exception = nullptr;
    c->used = 0;
    c->status = CALL_OK;
    c->device = (int16_t)device;
    c->launched = false;
    c->stream = current_stream(device);
    int args = schema->args, results = schema->results;
    c->tensor = args <= CALL_SLOTS ? c->tensor_slots
                                   : static_cast<const npu_tensor **>(call_take(c, sizeof(void *) * (size_t)args));
    c->scalar = args <= CALL_SLOTS ? c->scalar_slots
                                   : static_cast<const npu_scalar **>(call_take(c, sizeof(void *) * (size_t)args));
    c->result = results <= RESULT_SLOTS
                    ? c->result_slots
                    : static_cast<result_slot *>(call_take(c, sizeof(result_slot) * (size_t)results));
    memset(c->tensor, 0, sizeof(void *) * (size_t)args);
    memset(c->scalar, 0, sizeof(void *) * (size_t)args);
    for (int k = 0; k < results; k++) {
        result_slot *slot = &c->result[k];
        slot->one.made = nullptr;
        slot->one.copy_back = false;
        slot->item = nullptr;
        slot->n = 0;
        slot->self = 0;
        slot->undefined = slot->asked = slot->is_bool = slot->is_int = false;
    }
}

static void copy_back(call *c, result_item *item)
{
    if (item->copy_back)
        copy_tensor(c, &item->target, &item->t);
}

void call_free(call *c) noexcept
{
    for (held *h = c->held; h; h = h->next)
        memory_give(static_cast<Block *>(h->block));
    for (int k = 0; k < c->schema->results; k++) {
        result_slot *slot = &c->result[k];
        if (slot->one.made)
            c10::intrusive_ptr<c10::TensorImpl>::reclaim(static_cast<c10::TensorImpl *>(slot->one.made));
        for (size_t j = 0; j < slot->n; j++)
            if (slot->item[j].made)
                c10::intrusive_ptr<c10::TensorImpl>::reclaim(static_cast<c10::TensorImpl *>(slot->item[j].made));
    }
    delete static_cast<std::exception_ptr *>(c->exception);
    call_drop(c);
}

[[noreturn]] static void raise(call *c)
{
    if (c->exception)
        std::rethrow_exception(*static_cast<std::exception_ptr *>(c->exception));
    c10::SourceLocation where{c->schema->name, __FILE__, static_cast<uint32_t>(__LINE__)};
    std::string text = c->message ? c->message : "out of memory while reporting an error";
    switch (c->kind) {
    case CALL_INDEX_ERROR:
        throw c10::IndexError(where, text + error_suffix(Module::OPS, Kind::VALUE));
    case CALL_VALUE_ERROR:
        throw c10::ValueError(where, text + error_suffix(Module::OPS, Kind::VALUE));
    case CALL_TYPE_ERROR:
        throw c10::TypeError(where, text + error_suffix(Module::OPS, Kind::TYPE));
    case CALL_NOT_IMPLEMENTED:
        throw c10::NotImplementedError(where, text + error_suffix(Module::OPS, Kind::NOT_SUPPORT));
    case CALL_RUNTIME_ERROR:
        throw c10::Error(where, text + error_suffix(Module::OPS, Kind::PARAM));
    default:
        throw c10::Error(where, text);
    }
}

void call_finish(call *c, int status)
{
    if (status == CALL_OK && c->status == CALL_OK)
        for (int k = 0; k < c->schema->results; k++) {
            result_slot *slot = &c->result[k];
            if (slot->asked)
                copy_back(c, &slot->one);
            for (size_t j = 0; j < slot->n; j++)
                copy_back(c, &slot->item[j]);
        }
    if (C10_UNLIKELY(c->status != CALL_OK))
        raise(c);
    TORCH_CHECK(status == CALL_OK, c->schema->name, ": the operator failed without saying why",
                error_suffix(Module::OPS, Kind::INTERNAL));
}

at::Tensor take_result(call *c, int k)
{
    result_slot *slot = &c->result[k];
    if (!slot->one.made)
        return {};
    auto *impl = static_cast<c10::TensorImpl *>(slot->one.made);
    slot->one.made = nullptr;
    return at::Tensor(c10::intrusive_ptr<c10::TensorImpl>::reclaim(impl));
}

} // namespace npu

using namespace npu;

extern "C" {

npu_tensor *result(call *c, int k, aclDataType dtype, int32_t rank, const int64_t *size)
{
    return make_result(c, k, dtype, rank, size, nullptr);
}

npu_tensor *result_strided(call *c, int k, aclDataType dtype, int32_t rank, const int64_t *size, const int64_t *stride)
{
    return make_result(c, k, dtype, rank, size, stride);
}

npu_tensor *result_pointwise(call *c, int k, aclDataType dtype, int32_t rank, const int64_t *size,
                             const npu_tensor *const *inputs, int n)
{
    int64_t stride[64];
    bool laid = !fits_given(c, k, rank, size) && pointwise_strides(inputs, n, rank, size, stride);
    return make_result(c, k, dtype, rank, size, laid ? stride : nullptr);
}

void result_undefined(call *c, int k)
{
    c->result[k].undefined = true;
}

void result_bool(call *c, int k, bool value)
{
    c->result[k].is_bool = true;
    c->result[k].value = value;
}

void result_int(call *c, int k, int64_t value)
{
    c->result[k].is_int = true;
    c->result[k].value = value;
}

void result_self(call *c, int k, int arg)
{
    c->result[k].self = (int16_t)(arg + 1);
}

void result_list(call *c, int k, size_t n)
{
    result_slot *slot = &c->result[k];
    slot->item = static_cast<result_item *>(call_alloc(c, sizeof(result_item) * (n + 1)));
    slot->n = n;
}

npu_tensor *result_list_at(call *c, int k, size_t j, aclDataType dtype, int32_t rank, const int64_t *size,
                           const int64_t *stride)
{
    result_slot *slot = &c->result[k];
    if (c->status != CALL_OK || j >= slot->n)
        return &spare;
    try {
        const result_fact &fact = c->schema->result[k];
        if (fact.how == RESULT_NEW || fact.how == RESULT_OTHER)
            return fresh(c, &slot->item[j], dtype, rank, size, stride);
        const npu_tensor *list;
        size_t n = arg_tensors(c, fact.arg, &list);
        TORCH_CHECK(j < n, "the list of outputs has ", n, " tensors, ", slot->n, " were expected");
        return given(c, &slot->item[j], fact, static_cast<c10::TensorImpl *>(list[j].impl), dtype, rank, size, stride);
    } catch (...) {
        record_exception(c);
        return &spare;
    }
}

const char *call_exception_text(call *c)
{
    std::string text;
    try {
        std::rethrow_exception(*static_cast<std::exception_ptr *>(c->exception));
    } catch (const c10::Error &e) {
        text = e.what_without_backtrace();
    } catch (const std::exception &e) {
        text = e.what();
    } catch (...) {
    }
    char *copy = static_cast<char *>(call_take(c, text.size() + 1));
    memcpy(copy, text.c_str(), text.size() + 1);
    return copy;
}

void call_exception_drop(call *c)
{
    delete static_cast<std::exception_ptr *>(c->exception);
    c->exception = nullptr;
}

int call_take_device(call *c, size_t bytes, void **data)
{
    try {
        held *h = static_cast<held *>(call_take(c, sizeof(held)));
        Block *block = memory_take(c->device, bytes);
        h->block = block;
        h->next = c->held;
        c->held = h;
        *data = block->ptr;
        return CALL_OK;
    } catch (...) {
        record_exception(c);
        return CALL_ERROR;
    }
}

int call_wait(call *c)
{
    try {
        await_result(c->device, current_stream_index(c->device));
        return CALL_OK;
    } catch (...) {
        record_exception(c);
        return CALL_ERROR;
    }
}

bool call_captured(call *c)
{
    return captures_active() && stream_capture(c->stream);
}

int call_read(call *c, const void *device, size_t bytes, void *host)
{
    if (call_wait(c))
        return CALL_ERROR;
    if (const void *view = host_view(device, bytes)) {
        memcpy(host, view, bytes);
        return CALL_OK;
    }
    aclError status = cann.aclrtMemcpy(host, bytes, device, bytes, MEMCPY_D2H);
    return status ? call_acl_error(c, status, "aclrtMemcpy", __func__, __FILE__, __LINE__) : CALL_OK;
}

void *call_text(aclError code, const char *what, const char *function, const char *file, int line)
{
    std::string call = !strncmp(what, "aclnn", 5) ? std::string("call ") + what + " failed" : what;
    return strdup(acl_text(code, call.c_str(), function, file, line).c_str());
}

bool call_blocking = variable_on(VARIABLE_ASCEND_LAUNCH_BLOCKING);

} // extern "C"
