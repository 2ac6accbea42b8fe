/* SPDX-License-Identifier: BSD-3-Clause */
/* Elements as numbers; see number.h. */
#include "number.h"

#include "dtype.h"

double number_at(const void *array, aclDataType dtype, size_t i)
{
    switch ((int)dtype) {
    case ACL_FLOAT:
        return (double)((const float *)array)[i];
    case ACL_DOUBLE:
        return ((const double *)array)[i];
    case ACL_FLOAT16:
        return (double)f16_to_float(((const uint16_t *)array)[i]);
    case ACL_BF16:
        return (double)bf16_to_float(((const uint16_t *)array)[i]);
    case ACL_INT8:
        return ((const int8_t *)array)[i];
    case ACL_INT16:
        return ((const int16_t *)array)[i];
    case ACL_INT32:
        return ((const int32_t *)array)[i];
    case ACL_INT64:
        return (double)((const int64_t *)array)[i];
    case ACL_UINT16:
        return ((const uint16_t *)array)[i];
    case ACL_UINT32:
        return ((const uint32_t *)array)[i];
    case ACL_UINT64:
        return (double)((const uint64_t *)array)[i];
    case ACL_UINT8:
    case ACL_BOOL:
        return ((const uint8_t *)array)[i];
    default:
        return 0;
    }
}
