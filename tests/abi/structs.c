/* SPDX-License-Identifier: BSD-3-Clause */
/* Structures of the published interface have the sizes and offsets that programs were compiled with (64-bit Linux). */
#include <stddef.h>
#include <stdio.h>

#include "acl/acl.h"
#include "acl/acl_op.h"
#include "acl/acl_op_compiler.h"
#include "hccl/hccl_types.h"
#include "toolchain/prof_api.h"

#define SIZE(type, bytes)          _Static_assert(sizeof(type) == (bytes), #type)
#define PLACE(type, member, bytes) _Static_assert(offsetof(type, member) == (bytes), #type "." #member)

SIZE(aclrtMallocAttribute, 12);
SIZE(aclrtMallocConfig, 16);
SIZE(aclrtStreamConfigHandle, 32);
PLACE(aclrtStreamConfigHandle, priority, 24);
SIZE(aclrtUtilizationInfo, 24);
SIZE(aclrtMemLocation, 8);
PLACE(aclrtMemLocation, type, 4);
SIZE(aclrtPtrAttributes, 28);
SIZE(aclrtMemUsageInfo, 112);
PLACE(aclrtMemUsageInfo, curMemSize, 32);
SIZE(aclrtPhysicalMemProp, 32);
PLACE(aclrtPhysicalMemProp, location, 12);
PLACE(aclrtPhysicalMemProp, reserve, 24);
SIZE(aclrtMemFabricHandle, 128);
SIZE(aclrtMemAccessDesc, 24);
PLACE(aclrtErrorInfo, errorType, 4);
PLACE(aclrtErrorInfo, detail, 8);
SIZE(aclrtMemcpyBatchAttr, 32);
SIZE(aclrtUuid, 16);
SIZE(aclrtCntNotifyRecordInfo, 8);
SIZE(aclrtCntNotifyWaitInfo, 16);
PLACE(aclrtCntNotifyWaitInfo, isClear, 12);
SIZE(aclCANNPackageVersion, 512);
PLACE(aclCANNPackageVersion, majorVersion, 128);
SIZE(aclrtBinaryLoadOption, 20);
SIZE(aclrtBinaryLoadOptions, 16);
SIZE(struct MsprofApi, 40);
PLACE(struct MsprofApi, beginTime, 16);

/* Enumerations travel as int. */
SIZE(aclDataType, 4);
SIZE(aclFormat, 4);
SIZE(aclMemType, 4);
SIZE(aclrtMemMallocPolicy, 4);
SIZE(aclrtMemcpyKind, 4);
SIZE(aclCompileOpt, 4);
SIZE(HcclResult, 4);
SIZE(HcclDataType, 4);
SIZE(HcclReduceOp, 4);
SIZE(bool, 1);

int main(void)
{
    puts("checked when compiled");
    return 0;
}
