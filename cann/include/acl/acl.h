/* SPDX-License-Identifier: BSD-3-Clause */
/* AscendCL in one include. */
#ifndef ACL_ACL_H
#define ACL_ACL_H

#include "acl/acl_base.h"
#include "acl/acl_mdl.h"
#include "acl/acl_op.h"
#include "acl/acl_rt.h"

#endif
