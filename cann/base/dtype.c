/* SPDX-License-Identifier: BSD-3-Clause */
/* Element types: one row a type. */
#include "dtype.h"

enum class { OTHER, INTEGER, FLOATING, COMPLEX };

static const struct {
    const char *name;
    uint8_t size, class;
} types[] = {
    [ACL_FLOAT] = {"DT_FLOAT", 4, FLOATING},
    [ACL_FLOAT16] = {"DT_FLOAT16", 2, FLOATING},
    [ACL_INT8] = {"DT_INT8", 1, INTEGER},
    [ACL_INT32] = {"DT_INT32", 4, INTEGER},
    [ACL_UINT8] = {"DT_UINT8", 1, INTEGER},
    [ACL_INT16] = {"DT_INT16", 2, INTEGER},
    [ACL_UINT16] = {"DT_UINT16", 2, INTEGER},
    [ACL_UINT32] = {"DT_UINT32", 4, INTEGER},
    [ACL_INT64] = {"DT_INT64", 8, INTEGER},
    [ACL_UINT64] = {"DT_UINT64", 8, INTEGER},
    [ACL_DOUBLE] = {"DT_DOUBLE", 8, FLOATING},
    [ACL_BOOL] = {"DT_BOOL", 1, OTHER},
    [ACL_STRING] = {"DT_STRING", 0, OTHER},
    [ACL_COMPLEX64] = {"DT_COMPLEX64", 8, COMPLEX},
    [ACL_COMPLEX128] = {"DT_COMPLEX128", 16, COMPLEX},
    [ACL_BF16] = {"DT_BFLOAT16", 2, FLOATING},
    [ACL_INT4] = {"DT_INT4", 0, OTHER},
    [ACL_UINT1] = {"DT_UINT1", 0, OTHER},
    [ACL_COMPLEX32] = {"DT_COMPLEX32", 4, COMPLEX},
    [ACL_HIFLOAT8] = {"DT_HIFLOAT8", 1, OTHER},
    [ACL_FLOAT8_E5M2] = {"DT_FLOAT8_E5M2", 1, OTHER},
    [ACL_FLOAT8_E4M3FN] = {"DT_FLOAT8_E4M3FN", 1, OTHER},
    [ACL_FLOAT8_E8M0] = {"DT_FLOAT8_E8M0", 1, OTHER},
    [ACL_FLOAT6_E3M2] = {"DT_FLOAT6_E3M2", 0, OTHER},
    [ACL_FLOAT6_E2M3] = {"DT_FLOAT6_E2M3", 0, OTHER},
    [ACL_FLOAT4_E2M1] = {"DT_FLOAT4_E2M1", 0, OTHER},
    [ACL_FLOAT4_E1M2] = {"DT_FLOAT4_E1M2", 0, OTHER},
};

static bool known(aclDataType dtype)
{
    return dtype >= 0 && (size_t)dtype < sizeof types / sizeof types[0] && types[dtype].name;
}

size_t dtype_size(aclDataType dtype)
{
    return known(dtype) ? types[dtype].size : 0;
}

const char *dtype_name(aclDataType dtype)
{
    return known(dtype) ? types[dtype].name : "DT_UNDEFINED";
}

bool dtype_is_float(aclDataType dtype)
{
    return known(dtype) && types[dtype].class == FLOATING;
}

bool dtype_is_int(aclDataType dtype)
{
    return known(dtype) && types[dtype].class == INTEGER;
}

bool dtype_is_complex(aclDataType dtype)
{
    return known(dtype) && types[dtype].class == COMPLEX;
}
