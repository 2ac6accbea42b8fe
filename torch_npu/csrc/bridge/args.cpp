// SPDX-License-Identifier: BSD-3-Clause
// Arguments of a call, converted from the IValue stack at the first question and kept for the next (op.h).
#include <ATen/core/Generator.h>
#include <ATen/core/ivalue.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/UndefinedTensorImpl.h>

#include <exception>

#include "boxed.h"
#include "generator.h"

namespace npu
{

static const c10::IValue &value(call *c, int i)
{
    return static_cast<const c10::IValue *>(c->values)[i];
}

static const npu_tensor undefined_tensor = {};

void record_exception(call *c) noexcept
{
    if (c->status != CALL_OK)
        return;
    c->exception = new std::exception_ptr(std::current_exception());
    c->status = CALL_ERROR;
}

static void describe_value(npu_tensor *t, const c10::IValue &v)
{
    *t = undefined_tensor;
    if (v.isTensor() && v.unsafeToTensorImpl() != c10::UndefinedTensorImpl::singleton())
        describe(t, v.unsafeToTensorImpl());
}

static int64_t as_int(const c10::IValue &v)
{
    if (v.isInt())
        return v.toInt();
    if (v.isBool())
        return v.toBool();
    if (v.isDouble())
        return (int64_t)v.toDouble();
    if (v.isSymInt())
        return v.toSymInt().guard_int(__FILE__, __LINE__);
    return v.toScalar().to<int64_t>();
}

static double as_double(const c10::IValue &v)
{
    if (v.isDouble())
        return v.toDouble();
    if (v.isSymFloat())
        return v.toSymFloat().guard_float(__FILE__, __LINE__);
    return v.isInt() ? (double)v.toInt() : v.isBool() ? (double)v.toBool() : v.toScalar().toDouble();
}

void describe_scalar(npu_scalar *s, const c10::Scalar &v)
{
    *s = npu_scalar{};
    if (v.isBoolean()) {
        s->kind = SCALAR_BOOL;
        s->i = v.toBool();
        s->d[0] = (double)s->i;
    } else if (v.isComplex()) {
        s->kind = SCALAR_COMPLEX;
        auto z = v.toComplexDouble();
        s->d[0] = z.real();
        s->d[1] = z.imag();
        s->i = (int64_t)z.real();
    } else if (v.isFloatingPoint()) {
        s->kind = SCALAR_FLOAT;
        s->d[0] = v.toDouble();
        s->i = s->d[0] >= -9.2e18 && s->d[0] <= 9.2e18 ? (int64_t)s->d[0] : 0;
    } else {
        s->kind = SCALAR_INT;
        s->i = v.type() == c10::ScalarType::UInt64 ? (int64_t)v.toUInt64() : v.toLong();
        s->d[0] = (double)s->i;
    }
}

template <class T, class Convert> static size_t list_of(call *c, int i, const T **list, Convert convert)
{
    *list = nullptr;
    const c10::IValue &v = value(c, i);
    if (v.isNone())
        return 0;
    if (!v.isList()) {
        T *one = static_cast<T *>(call_take(c, sizeof(T)));
        *one = convert(v);
        *list = one;
        return 1;
    }
    auto all = v.toListRef();
    T *made = static_cast<T *>(call_take(c, sizeof(T) * (all.size() + 1)));
    for (size_t k = 0; k < all.size(); k++)
        made[k] = convert(all[k]);
    *list = made;
    return all.size();
}

// Runs a conversion; an exception becomes the call's error and the answer `otherwise`.
template <class T, class F> static T guarded(call *c, T otherwise, F f)
{
    try {
        return f();
    } catch (...) {
        record_exception(c);
        return otherwise;
    }
}

} // namespace npu

using namespace npu;

extern "C" {

bool arg_none(call *c, int i)
{
    if (!c->values)
        return c->scalar[i] == nullptr && (!c->tensor[i] || !c->tensor[i]->defined);
    const c10::IValue &v = value(c, i);
    return v.isNone() || (v.isTensor() && v.unsafeToTensorImpl() == c10::UndefinedTensorImpl::singleton());
}

const npu_tensor *arg_tensor(call *c, int i)
{
    if (c->tensor[i])
        return c->tensor[i];
    npu_tensor *t = static_cast<npu_tensor *>(call_take(c, sizeof(npu_tensor)));
    *t = undefined_tensor;
    if (c->values)
        describe_value(t, value(c, i));
    return c->tensor[i] = t;
}

size_t arg_tensors(call *c, int i, const npu_tensor **list)
{
    return guarded(c, (size_t)0, [&] {
        return list_of<npu_tensor>(c, i, list, [](const c10::IValue &v) {
            npu_tensor t;
            describe_value(&t, v);
            return t;
        });
    });
}

int64_t arg_int(call *c, int i, int64_t if_none)
{
    if (!c->values)
        return c->scalar[i] ? c->scalar[i]->i : if_none;
    const c10::IValue &v = value(c, i);
    return v.isNone() ? if_none : guarded(c, if_none, [&] { return as_int(v); });
}

double arg_double(call *c, int i, double if_none)
{
    if (!c->values)
        return c->scalar[i] ? c->scalar[i]->d[0] : if_none;
    const c10::IValue &v = value(c, i);
    return v.isNone() ? if_none : guarded(c, if_none, [&] { return as_double(v); });
}

bool arg_bool(call *c, int i, bool if_none)
{
    return arg_int(c, i, if_none) != 0;
}

const char *arg_string(call *c, int i)
{
    const c10::IValue &v = value(c, i);
    return v.isString() ? v.toStringRef().c_str() : nullptr;
}

npu_scalar arg_scalar(call *c, int i)
{
    if (c->scalar[i])
        return *c->scalar[i];
    npu_scalar *s = static_cast<npu_scalar *>(call_take(c, sizeof(npu_scalar)));
    *s = npu_scalar{};
    const c10::IValue &v = value(c, i);
    if (!v.isNone())
        guarded(c, 0, [&] { return describe_scalar(s, v.toScalar()), 0; });
    c->scalar[i] = s;
    return *s;
}

size_t arg_scalars(call *c, int i, const npu_scalar **list)
{
    return guarded(c, (size_t)0, [&] {
        return list_of<npu_scalar>(c, i, list, [](const c10::IValue &v) {
            npu_scalar s;
            describe_scalar(&s, v.toScalar());
            return s;
        });
    });
}

size_t arg_ints(call *c, int i, const int64_t **list)
{
    return guarded(c, (size_t)0, [&] { return list_of<int64_t>(c, i, list, as_int); });
}

size_t arg_doubles(call *c, int i, const double **list)
{
    return guarded(c, (size_t)0, [&] { return list_of<double>(c, i, list, as_double); });
}

size_t arg_bools(call *c, int i, const bool **list)
{
    return guarded(c, (size_t)0,
                   [&] { return list_of<bool>(c, i, list, [](const c10::IValue &v) { return as_int(v) != 0; }); });
}

aclDataType arg_dtype(call *c, int i, aclDataType if_none)
{
    const c10::IValue &v = value(c, i);
    return v.isNone() ? if_none : to_acl(static_cast<c10::ScalarType>(v.toInt()));
}

aclDataType default_float(void)
{
    return to_acl(c10::get_default_dtype_as_scalartype());
}

int philox(call *c, int i, uint64_t count, struct philox_state *state)
{
    return guarded(c, (int)CALL_ERROR, [&] {
        std::optional<at::Generator> generator;
        if (i >= 0 && c->values && !value(c, i).isNone())
            generator = value(c, i).toGenerator();
        Philox taken = philox_take(generator ? &*generator : nullptr, c->device, count);
        *state = {taken.seed, taken.offset, nullptr, nullptr};
        if (taken.seeds) {
            auto *tensors = static_cast<npu_tensor *>(call_take(c, 2 * sizeof(npu_tensor)));
            describe(&tensors[0], taken.seeds->unsafeGetTensorImpl());
            describe(&tensors[1], taken.offsets->unsafeGetTensorImpl());
            state->seeds = &tensors[0];
            state->offsets = &tensors[1];
        }
        return (int)CALL_OK;
    });
}

} // extern "C"
