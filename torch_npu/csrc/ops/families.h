/* SPDX-License-Identifier: BSD-3-Clause */
/* All families of ATen operators; generated from the ATEN_FAMILY(…) lines of this folder by tools/callers.py. */
#ifndef TORCH_NPU_OPS_FAMILIES_H
#define TORCH_NPU_OPS_FAMILIES_H

#include "op.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct aten_family *const aten_families[];
extern const size_t aten_family_count;

#ifdef __cplusplus
}
#endif
#endif
