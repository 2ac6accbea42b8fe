/* SPDX-License-Identifier: BSD-3-Clause */
/* AscendCL basics in one include. */
#ifndef ACL_ACL_BASE_H
#define ACL_ACL_BASE_H

#include "acl/acl_base_mdl.h"
#include "acl/acl_base_rt.h"

#endif
