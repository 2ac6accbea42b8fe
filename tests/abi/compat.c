/* SPDX-License-Identifier: BSD-3-Clause */
/* The names that programs for a chip are linked with: tensor descriptions, attributes, compile options, operators by
 * name, the order of calls of dumps, report hooks. What a software device cannot do is refused with the operator's name
 * in the text. */
#include <stdint.h>

#include "acl/acl.h"
#include "acl/acl_mdl.h"
#include "acl/acl_op.h"
#include "acl/acl_op_compiler.h"
#include "check.h"
#include "hccl/hccl.h"
#include "toolchain/prof_api.h"

static void test_tensor_desc(void)
{
    const int64_t dims[] = {2, -1, 4}, nchw[] = {2, 3, 4, 5}, unknown[] = {-2}, bad[] = {2, -3};
    int64_t range[3][2] = {{2, 2}, {1, 8}, {4, 4}}, dim, pair[2];
    aclTensorDesc *d = aclCreateTensorDesc(ACL_FLOAT16, 3, dims, ACL_FORMAT_ND), *t = NULL;
    CHECK_EQ(aclGetTensorDescType(d), ACL_FLOAT16);
    CHECK_EQ(aclGetTensorDescFormat(d), ACL_FORMAT_ND);
    CHECK_EQ(aclGetTensorDescNumDims(d), 3);
    CHECK_EQ(aclGetTensorDescElementCount(d), 0);
    CHECK_EQ(aclSetTensorShapeRange(d, 3, range), 0);
    CHECK_EQ(aclGetTensorDescElementCount(d), 64);
    CHECK_EQ(aclGetTensorDescSize(d), 128);
    CHECK(!aclGetTensorDescDimV2(d, 2, &dim) && dim == 4);
    CHECK_EQ(aclGetTensorDescDimV2(d, 3, &dim), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(aclGetTensorDescDim(d, 1), -1);
    CHECK(!aclGetTensorDescDimRange(d, 1, 2, pair) && pair[0] == 1 && pair[1] == 8);
    CHECK_EQ(strcmp(aclGetTensorDescName(d), ""), 0);
    aclSetTensorDescName(d, "x");
    CHECK_EQ(strcmp(aclGetTensorDescName(d), "x"), 0);
    CHECK(!aclSetTensorFormat(d, ACL_FORMAT_FRACTAL_NZ) && !aclSetTensorShape(d, 3, dims) &&
          !aclSetTensorOriginShape(d, 0, NULL));
    CHECK(!aclSetTensorPlaceMent(d, ACL_MEMTYPE_HOST) && aclSetTensorPlaceMent(d, (aclMemType)9));
    CHECK(!aclSetTensorConst(d, pair, sizeof pair) && !memcmp(aclGetTensorDescAddress(d), pair, sizeof pair));
    CHECK(aclGetTensorDescByIndex(d, 0) == d && !aclGetTensorDescByIndex(d, 1));
    CHECK_EQ(aclTransTensorDescFormat(d, ACL_FORMAT_NHWC, &t), ACL_ERROR_API_NOT_SUPPORT);
    aclDestroyTensorDesc(d);
    d = aclCreateTensorDesc(ACL_FLOAT, 4, nchw, ACL_FORMAT_NCHW);
    CHECK_EQ(aclTransTensorDescFormat(d, ACL_FORMAT_NHWC, &t), 0);
    CHECK(aclGetTensorDescDim(t, 1) == 4 && aclGetTensorDescDim(t, 3) == 3);
    aclDestroyTensorDesc(d);
    aclDestroyTensorDesc(t);
    d = aclCreateTensorDesc(ACL_FLOAT, 1, unknown, ACL_FORMAT_ND);
    CHECK(aclGetTensorDescNumDims(d) == ACL_UNKNOWN_RANK);
    aclDestroyTensorDesc(d);
    CHECK(!aclCreateTensorDesc(ACL_FLOAT, 2, bad, ACL_FORMAT_ND) &&
          !aclCreateTensorDesc(ACL_FLOAT, -1, dims, ACL_FORMAT_ND));
    CHECK(!aclCreateTensorDesc(ACL_FLOAT, 2, NULL, ACL_FORMAT_ND));
    CHECK_EQ(aclSetTensorFormat(NULL, ACL_FORMAT_ND), ACL_ERROR_INVALID_PARAM);
    aclDestroyTensorDesc(NULL);
}

static void test_attributes(void)
{
    aclopAttr *a = aclopCreateAttr();
    const int counts[] = {2, 0, 1};
    const int64_t first[] = {1, 2}, last[] = {3}, *const lists[] = {first, NULL, last};
    CHECK(!aclopSetAttrBool(a, "b", 1) && !aclopSetAttrInt(a, "i", 5) && !aclopSetAttrInt(a, "i", 6) &&
          !aclopSetAttrFloat(a, "f", 1));
    CHECK(!aclopSetAttrString(a, "s", "text") && !aclopSetAttrDataType(a, "t", ACL_FLOAT));
    CHECK(!aclopSetAttrListInt(a, "l", 2, first) && !aclopSetAttrListBool(a, "lb", 0, NULL));
    CHECK(!aclopSetAttrListFloat(a, "lf", 1, (const float[]){1}) &&
          !aclopSetAttrListDataType(a, "lt", 1, (const aclDataType[]){ACL_INT8}));
    CHECK(!aclopSetAttrListString(a, "ls", 2, (const char *[]){"a", "bc"}) &&
          !aclopSetAttrListListInt(a, "ll", 3, counts, lists));
    CHECK_EQ(aclopSetAttrListInt(a, "l", 2, NULL), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(aclopSetAttrListInt(a, "l", -1, first), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(aclopSetAttrInt(a, NULL, 1), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(aclopSetAttrInt(NULL, "i", 1), ACL_ERROR_INVALID_PARAM);
    aclopDestroyAttr(a);
    aclopDestroyAttr(NULL);
}

static void test_options(void)
{
    char value[64];
    CHECK(!aclGetCompileopt(ACL_OP_JIT_COMPILE, value, sizeof value) && !strcmp(value, "disable"));
    CHECK_EQ(aclSetCompileopt(ACL_ALLOW_HF32, "10"), 0);
    CHECK_EQ(aclGetCompileoptSize(ACL_ALLOW_HF32), 3);
    CHECK(!aclGetCompileopt(ACL_ALLOW_HF32, value, 3) && !strcmp(value, "10"));
    CHECK_EQ(aclGetCompileopt(ACL_ALLOW_HF32, value, 2), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(aclSetCompileopt(ACL_ALLOW_HF32, NULL), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(aclSetCompileopt((aclCompileOpt)99, "1"), ACL_ERROR_INVALID_PARAM);
    CHECK_TEXT(aclGetRecentErrMsg(), "99");
    CHECK_EQ(aclGetCompileoptSize((aclCompileOpt)-1), 0);
    CHECK(!aclopSetCompileFlag(ACL_OP_COMPILE_FUZZ) && aclopSetCompileFlag((aclOpCompileFlag)7));
}

static void test_by_name(void)
{
    const int64_t dims[] = {2, 3};
    const aclTensorDesc *d = aclCreateTensorDesc(ACL_FLOAT, 2, dims, ACL_FORMAT_ND);
    CHECK_EQ(
        aclopCompileAndExecute("Cast", 1, &d, NULL, 1, &d, NULL, NULL, ACL_ENGINE_SYS, ACL_COMPILE_SYS, NULL, NULL),
        ACL_ERROR_OP_NOT_FOUND);
    CHECK_TEXT(aclGetRecentErrMsg(), "operator Cast (DT_FLOAT[2,3] -> DT_FLOAT[2,3]) cannot be called by name on this "
                                     "device; call aclnnCast instead");
    CHECK_EQ(aclopCompile("NoSuchThing", 0, NULL, 0, NULL, NULL, ACL_ENGINE_SYS, ACL_COMPILE_SYS, NULL),
             ACL_ERROR_OP_NOT_FOUND);
    CHECK_TEXT(aclGetRecentErrMsg(), "there is no aclnnNoSuchThing either");
    CHECK_EQ(aclopCompile(NULL, 0, NULL, 0, NULL, NULL, ACL_ENGINE_SYS, ACL_COMPILE_SYS, NULL),
             ACL_ERROR_INVALID_PARAM);
    aclDestroyTensorDesc(d);
}

static int32_t called_back(uint32_t type, void *data, uint32_t length)
{
    (void)type, (void)data, (void)length;
    return 0;
}

static void test_others(void)
{
    struct MsprofApi api = {.level = 1};
    uint64_t start = MsprofSysCycleTime();
    CHECK_EQ(aclmdlSetDump("x.json"), ACL_ERROR_DUMP_NOT_RUN);
    CHECK_TEXT(aclGetRecentErrMsg(), "call aclmdlInitDump first");
    CHECK_EQ(aclmdlFinalizeDump(), ACL_ERROR_DUMP_NOT_RUN);
    CHECK_EQ(aclmdlInitDump(), 0);
    CHECK_EQ(aclmdlInitDump(), ACL_ERROR_DUMP_ALREADY_RUN);
    CHECK_EQ(aclmdlSetDump(NULL), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(aclmdlSetDump("/nonexistent/acl.json"), ACL_ERROR_INVALID_FILE);
    CHECK_EQ(aclmdlFinalizeDump(), 0);
    CHECK_EQ(strcmp(HcclGetErrorString(HCCL_E_TIMEOUT), "timeout"), 0);
    CHECK_EQ(strcmp(HcclGetErrorString((HcclResult)1000), "unknown error"), 0);
    CHECK(MsprofGetHashId("aclnnAdd", 8) == MsprofGetHashId("aclnnAdd", 8) &&
          MsprofGetHashId("aclnnAdd", 8) != MsprofGetHashId("aclnnSub", 8));
    CHECK(MsprofSysCycleTime() >= start && start);
    CHECK(!MsprofRegisterCallback(3, called_back) && MsprofRegisterCallback(3, NULL));
    CHECK(!MsprofReportApi(0, &api) && MsprofReportApi(0, NULL) && MsprofReportCompactInfo(0, NULL, 0) &&
          MsprofReportAdditionalInfo(0, NULL, 0));
}

int main(void)
{
    test_tensor_desc();
    test_attributes();
    test_options();
    test_by_name();
    test_others();
    return check_done();
}
