/* SPDX-License-Identifier: BSD-3-Clause */
/* Elements of any type as one type of number, for what looks at a few of them (sizes, statistics), not for computing.
 */
#ifndef ANYNPU_BASE_NUMBER_H
#define ANYNPU_BASE_NUMBER_H

#include <stddef.h>

#include "acl/acl_base.h"

/* Element i of a dense array, converted (64-bit integers lose their low digits); false is 0, true 1. 0 for types that
 * are no real numbers. */
double number_at(const void *array, aclDataType dtype, size_t i);

#endif
