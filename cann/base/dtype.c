/* SPDX-License-Identifier: BSD-3-Clause */
/* Element types: one row a type. */
#include "dtype.h"

const struct dtype_row dtype_rows[DTYPE_ROOM] = {
    [ACL_FLOAT] = {"DT_FLOAT", 4, DTYPE_FLOAT},
    [ACL_FLOAT16] = {"DT_FLOAT16", 2, DTYPE_FLOAT},
    [ACL_INT8] = {"DT_INT8", 1, DTYPE_INT},
    [ACL_INT32] = {"DT_INT32", 4, DTYPE_INT},
    [ACL_UINT8] = {"DT_UINT8", 1, DTYPE_INT},
    [ACL_INT16] = {"DT_INT16", 2, DTYPE_INT},
    [ACL_UINT16] = {"DT_UINT16", 2, DTYPE_INT},
    [ACL_UINT32] = {"DT_UINT32", 4, DTYPE_INT},
    [ACL_INT64] = {"DT_INT64", 8, DTYPE_INT},
    [ACL_UINT64] = {"DT_UINT64", 8, DTYPE_INT},
    [ACL_DOUBLE] = {"DT_DOUBLE", 8, DTYPE_FLOAT},
    [ACL_BOOL] = {"DT_BOOL", 1, DTYPE_OTHER},
    [ACL_STRING] = {"DT_STRING", 0, DTYPE_OTHER},
    [ACL_COMPLEX64] = {"DT_COMPLEX64", 8, DTYPE_COMPLEX},
    [ACL_COMPLEX128] = {"DT_COMPLEX128", 16, DTYPE_COMPLEX},
    [ACL_BF16] = {"DT_BFLOAT16", 2, DTYPE_FLOAT},
    [ACL_INT4] = {"DT_INT4", 0, DTYPE_OTHER},
    [ACL_UINT1] = {"DT_UINT1", 0, DTYPE_OTHER},
    [ACL_COMPLEX32] = {"DT_COMPLEX32", 4, DTYPE_COMPLEX},
    [ACL_HIFLOAT8] = {"DT_HIFLOAT8", 1, DTYPE_OTHER},
    [ACL_FLOAT8_E5M2] = {"DT_FLOAT8_E5M2", 1, DTYPE_OTHER},
    [ACL_FLOAT8_E4M3FN] = {"DT_FLOAT8_E4M3FN", 1, DTYPE_OTHER},
    [ACL_FLOAT8_E8M0] = {"DT_FLOAT8_E8M0", 1, DTYPE_OTHER},
    [ACL_FLOAT6_E3M2] = {"DT_FLOAT6_E3M2", 0, DTYPE_OTHER},
    [ACL_FLOAT6_E2M3] = {"DT_FLOAT6_E2M3", 0, DTYPE_OTHER},
    [ACL_FLOAT4_E2M1] = {"DT_FLOAT4_E2M1", 0, DTYPE_OTHER},
    [ACL_FLOAT4_E1M2] = {"DT_FLOAT4_E1M2", 0, DTYPE_OTHER},
};

_Static_assert(ACL_FLOAT4_E1M2 < DTYPE_ROOM - 1, "the last row is for unknown types");

const char *dtype_name(aclDataType dtype)
{
    const char *name = dtype_row(dtype)->name;
    return name ? name : "DT_UNDEFINED";
}
