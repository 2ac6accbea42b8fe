/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators that only other programs call, through the C interface: divergences, permutations with a new shape, rows at
 * tuples of indices, affine grids. Good calls, strided tensors, nothing, and what is refused with which text. (Null,
 * freed and senseless arguments of all rows: rows.c.) */
#include "acl/acl.h"
#include "aclnnop/aclnn_affine_grid.h"
#include "aclnnop/aclnn_confusion_transpose.h"
#include "aclnnop/aclnn_kl_div.h"
#include "aclnnop/aclnn_kl_div_backward.h"
#include "aclnnop/aclnn_kl_div_target_backward.h"
#include "aclnnop/aclnn_scatter_nd_update.h"
#include "check.h"

#include <math.h>

static aclrtStream stream;
static char *device, *workspace;
enum { SLOT = 1024, WORKSPACE = 1 << 20 };

/* A tensor in the given slot; strides NULL: dense. */
static aclTensor *tensor(int slot, aclDataType type, const void *values, size_t bytes, uint64_t rank,
                         const int64_t *dim, const int64_t *stride)
{
    char *at = device + slot * SLOT;
    int64_t room = SLOT / (int64_t)aclDataTypeSize(type);
    if (values)
        CHECK_EQ(aclrtMemcpy(at, SLOT, values, bytes, ACL_MEMCPY_HOST_TO_DEVICE), 0);
    return aclCreateTensor(dim, rank, type, stride, 0, ACL_FORMAT_ND, &room, 1, at);
}

static void finish(aclnnStatus first, const uint64_t *size, aclOpExecutor *const *executor,
                   aclnnStatus (*run)(void *, uint64_t, aclOpExecutor *, aclrtStream))
{
    CHECK_EQ(first, 0);
    CHECK(*size <= WORKSPACE);
    CHECK_EQ(run(workspace, *size, *executor, stream), 0);
    CHECK_EQ(aclrtSynchronizeStream(stream), 0);
}

static void refused(aclnnStatus got, const char *text)
{
    CHECK_EQ(got, ACLNN_ERR_PARAM_INVALID);
    const char *said = aclGetRecentErrMsg();
    CHECK(said && strstr(said, text));
    if (said && !strstr(said, text))
        fprintf(stderr, "  said: %s\n", said);
}

static void values_are(int slot, int n, const float *want)
{
    float got[64];
    CHECK_EQ(aclrtMemcpy(got, sizeof got, device + slot * SLOT, (size_t)n * 4, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    for (int i = 0; i < n; i++) {
        CHECK(fabsf(got[i] - want[i]) < 1e-5f);
        if (!(fabsf(got[i] - want[i]) < 1e-5f))
            fprintf(stderr, "  element %d is %g, not %g\n", i, (double)got[i], (double)want[i]);
    }
}

static void test_divergence(void)
{
    const float x[] = {-1, -2, -0.5f, -3}, y[] = {0.2f, 0, 0.5f, 0.3f};
    const int64_t dim[] = {2, 2}, turned[] = {1, 2};
    aclTensor *a = tensor(0, ACL_FLOAT, x, sizeof x, 2, dim, turned),
              *b = tensor(1, ACL_FLOAT, y, sizeof y, 2, dim, turned),
              *each = tensor(2, ACL_FLOAT, NULL, 0, 2, dim, turned), *sum = tensor(3, ACL_FLOAT, NULL, 0, 0, dim, NULL),
              *g = tensor(4, ACL_FLOAT, (float[]){2}, 4, 0, dim, NULL);
    uint64_t size;
    aclOpExecutor *e;
    float want[4], total = 0, slope[4], other[4];
    for (int i = 0; i < 4; i++) {
        total += want[i] = y[i] > 0 ? y[i] * (logf(y[i]) - x[i]) : 0;
        slope[i] = -y[i] * 2 / 4;
        other[i] = (expf(y[i]) * (y[i] + 1 - x[i])) * 2;
    }
    finish(aclnnKlDivGetWorkspaceSize(a, b, 0, false, each, &size, &e), &size, &e, aclnnKlDiv);
    values_are(2, 4, want);
    finish(aclnnKlDivGetWorkspaceSize(a, b, 2, false, sum, &size, &e), &size, &e, aclnnKlDiv);
    values_are(3, 1, (float[]){total});
    finish(aclnnKlDivBackwardGetWorkspaceSize(g, a, b, 1, false, each, &size, &e), &size, &e, aclnnKlDivBackward);
    values_are(2, 4, slope);
    finish(aclnnKlDivTargetBackwardGetWorkspaceSize(g, a, b, 2, true, each, &size, &e), &size, &e,
           aclnnKlDivTargetBackward);
    values_are(2, 4, other);
    refused(aclnnKlDivGetWorkspaceSize(a, b, 3, false, each, &size, &e), "must be 0, 1 or 2");
    refused(aclnnKlDivGetWorkspaceSize(a, b, 2, false, each, &size, &e), "to have size");
    aclTensor *all[] = {a, b, each, sum, g};
    for (int i = 0; i < 5; i++)
        aclDestroyTensor(all[i]);
}

static void test_turns(void)
{
    const float x[] = {0, 1, 2, 3, 4, 5};
    const int64_t dim[] = {2, 3}, turned[] = {3, 2}, flat[] = {6}, back[] = {1, 2};
    aclTensor *a = tensor(0, ACL_FLOAT, x, sizeof x, 2, dim, back),
              *line = tensor(1, ACL_FLOAT, NULL, 0, 1, flat, NULL),
              *out = tensor(2, ACL_FLOAT, NULL, 0, 2, turned, NULL);
    aclIntArray *perm = aclCreateIntArray((int64_t[]){1, 0}, 2), *one = aclCreateIntArray(flat, 1),
                *two = aclCreateIntArray(dim, 2), *wrong = aclCreateIntArray((int64_t[]){1, 1}, 2);
    uint64_t size;
    aclOpExecutor *e;
    finish(aclnnConfusionTransposeGetWorkspaceSize(a, perm, one, true, line, &size, &e), &size, &e,
           aclnnConfusionTranspose);
    values_are(1, 6, (float[]){0, 1, 2, 3, 4, 5}); /* a lies turned */
    finish(aclnnConfusionTransposeGetWorkspaceSize(line, perm, two, false, out, &size, &e), &size, &e,
           aclnnConfusionTranspose);
    values_are(2, 6, (float[]){0, 3, 1, 4, 2, 5});
    refused(aclnnConfusionTransposeGetWorkspaceSize(a, wrong, one, true, line, &size, &e), "each of 2 dimensions once");
    refused(aclnnConfusionTransposeGetWorkspaceSize(a, perm, perm, true, line, &size, &e),
            "cannot get the given shape");
    const int64_t rows[] = {2, 1}, updates_dim[] = {2, 2}, places[] = {2, 0};
    aclTensor *data = tensor(3, ACL_FLOAT, x, sizeof x, 2, turned, back + 0),
              *index = tensor(4, ACL_INT64, places, sizeof places, 2, rows, NULL),
              *updates = tensor(5, ACL_FLOAT, (float[]){7, 8, 9, 10}, 16, 2, updates_dim, NULL);
    (void)data;
    aclDestroyTensor(data);
    data = tensor(3, ACL_FLOAT, x, sizeof x, 2, turned, (int64_t[]){1, 3}); /* [3][2], its columns together */
    finish(aclnnScatterNdUpdateGetWorkspaceSize(data, index, updates, &size, &e), &size, &e, aclnnScatterNdUpdate);
    values_are(3, 6, (float[]){9, 1, 7, 10, 4, 8});
    const int64_t far[] = {3, 0};
    CHECK_EQ(aclrtMemcpy(device + 4 * SLOT, SLOT, far, sizeof far, ACL_MEMCPY_HOST_TO_DEVICE), 0);
    CHECK_EQ(aclnnScatterNdUpdateGetWorkspaceSize(data, index, updates, &size, &e), 0);
    int status = aclnnScatterNdUpdate(workspace, size, e, stream);
    CHECK(aclrtSynchronizeStream(stream) || status);
    refused(aclnnScatterNdUpdateGetWorkspaceSize(data, index, data, &size, &e), "to have size");
    aclTensor *all[] = {a, line, out, data, index, updates};
    for (int i = 0; i < 6; i++)
        aclDestroyTensor(all[i]);
    const aclIntArray *lists[] = {perm, one, two, wrong};
    for (int i = 0; i < 4; i++)
        aclDestroyIntArray(lists[i]);
}

static void test_affine_grid(void)
{
    const int64_t dim[] = {1, 2, 3}, out_dim[] = {1, 2, 2, 2};
    aclTensor *theta = tensor(0, ACL_FLOAT, (float[]){1, 0, 0.5f, 0, 2, 0}, 24, 3, dim, NULL),
              *out = tensor(1, ACL_FLOAT, NULL, 0, 4, out_dim, NULL);
    aclIntArray *shape = aclCreateIntArray((int64_t[]){1, 3, 2, 2}, 4);
    uint64_t size;
    aclOpExecutor *e;
    finish(aclnnAffineGridGetWorkspaceSize(theta, shape, true, out, &size, &e), &size, &e, aclnnAffineGrid);
    values_are(1, 8, (float[]){-0.5f, -2, 1.5f, -2, -0.5f, 2, 1.5f, 2});
    finish(aclnnAffineGridGetWorkspaceSize(theta, shape, false, out, &size, &e), &size, &e, aclnnAffineGrid);
    values_are(1, 8, (float[]){0, -1, 1, -1, 0, 1, 1, 1});
    aclDestroyIntArray(shape);
    aclDestroyTensor(theta);
    aclDestroyTensor(out);
}

int main(void)
{
    CHECK_EQ(aclInit(NULL), 0);
    CHECK_EQ(aclrtSetDevice(0), 0);
    CHECK_EQ(aclrtCreateStream(&stream), 0);
    CHECK_EQ(aclrtMalloc((void **)&device, 8 * SLOT, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    CHECK_EQ(aclrtMalloc((void **)&workspace, WORKSPACE, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    test_divergence();
    test_turns();
    test_affine_grid();
    aclrtFree(device);
    aclrtFree(workspace);
    aclrtDestroyStream(stream);
    aclFinalize();
    return check_done();
}
