// SPDX-License-Identifier: BSD-3-Clause
// PyTorch's element types and CANN's.
#pragma once

#include <c10/core/ScalarType.h>

#include "cann.h"

namespace npu
{

// ACL_DT_UNDEFINED for types CANN does not have (quantised, bit types …).
inline aclDataType to_acl(c10::ScalarType type)
{
    switch (type) {
    case c10::ScalarType::Float:
        return ACL_FLOAT;
    case c10::ScalarType::Long:
        return ACL_INT64;
    case c10::ScalarType::Bool:
        return ACL_BOOL;
    case c10::ScalarType::Double:
        return ACL_DOUBLE;
    case c10::ScalarType::Half:
        return ACL_FLOAT16;
    case c10::ScalarType::BFloat16:
        return ACL_BF16;
    case c10::ScalarType::Int:
        return ACL_INT32;
    case c10::ScalarType::Byte:
        return ACL_UINT8;
    case c10::ScalarType::Char:
        return ACL_INT8;
    case c10::ScalarType::Short:
        return ACL_INT16;
    case c10::ScalarType::UInt16:
        return ACL_UINT16;
    case c10::ScalarType::UInt32:
        return ACL_UINT32;
    case c10::ScalarType::UInt64:
        return ACL_UINT64;
    case c10::ScalarType::ComplexHalf:
        return ACL_COMPLEX32;
    case c10::ScalarType::ComplexFloat:
        return ACL_COMPLEX64;
    case c10::ScalarType::ComplexDouble:
        return ACL_COMPLEX128;
    case c10::ScalarType::Float8_e5m2:
        return ACL_FLOAT8_E5M2;
    case c10::ScalarType::Float8_e4m3fn:
        return ACL_FLOAT8_E4M3FN;
    case c10::ScalarType::Float8_e8m0fnu:
        return ACL_FLOAT8_E8M0;
    default:
        return ACL_DT_UNDEFINED;
    }
}

inline c10::ScalarType from_acl(aclDataType type)
{
    switch (type) {
    case ACL_FLOAT:
        return c10::ScalarType::Float;
    case ACL_INT64:
        return c10::ScalarType::Long;
    case ACL_BOOL:
        return c10::ScalarType::Bool;
    case ACL_DOUBLE:
        return c10::ScalarType::Double;
    case ACL_FLOAT16:
        return c10::ScalarType::Half;
    case ACL_BF16:
        return c10::ScalarType::BFloat16;
    case ACL_INT32:
        return c10::ScalarType::Int;
    case ACL_UINT8:
        return c10::ScalarType::Byte;
    case ACL_INT8:
        return c10::ScalarType::Char;
    case ACL_INT16:
        return c10::ScalarType::Short;
    case ACL_UINT16:
        return c10::ScalarType::UInt16;
    case ACL_UINT32:
        return c10::ScalarType::UInt32;
    case ACL_UINT64:
        return c10::ScalarType::UInt64;
    case ACL_COMPLEX32:
        return c10::ScalarType::ComplexHalf;
    case ACL_COMPLEX64:
        return c10::ScalarType::ComplexFloat;
    case ACL_COMPLEX128:
        return c10::ScalarType::ComplexDouble;
    case ACL_FLOAT8_E5M2:
        return c10::ScalarType::Float8_e5m2;
    case ACL_FLOAT8_E4M3FN:
        return c10::ScalarType::Float8_e4m3fn;
    case ACL_FLOAT8_E8M0:
        return c10::ScalarType::Float8_e8m0fnu;
    default:
        return c10::ScalarType::Undefined;
    }
}

} // namespace npu
