/* SPDX-License-Identifier: BSD-3-Clause */
/* What holds for every operator, whatever it computes: null and dead handles are named, types without bytes are
 * refused, empty tensors and senseless arguments neither crash nor write outside the outputs, and each allocation of a
 * call may fail. The operators come from the rows, so a new one is tested from its first day. `rows NAME` tries the
 * operators whose name contains NAME; `rows NAME n` many seeds. */
#include "aclnn/rows.h"

#include <signal.h>
#include <unistd.h>

#include "acl/acl.h"
#include "check.h"
#include "refuse.h"
#include "runtime/door.h"

enum { PARAMS_MAX = 64, REGION = 8192, GUARD = 1024, LIST = 3, WORKSPACE = 64 << 20 };

static aclrtStream stream;
static char *memory, *seen, *workspace; /* of the device: a region for every tensor, guard bytes between */
static uint64_t state;
static char where[256]; /* for the last words of a crash */

static void crashed(int number)
{
    static const char text[] = "crashed in ";
    if (write(2, text, sizeof text - 1) < 0 || write(2, where, strlen(where)) < 0 || write(2, "\n", 1) < 0)
        _exit(3);
    signal(number, SIG_DFL);
    raise(number);
}

static uint32_t chance(uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

static void check_status(bool good, const struct row_case *row, const char *what)
{
    check_count++;
    if (!good) {
        check_failures++;
        const char *text = aclGetRecentErrMsg();
        fprintf(stderr, "%s: %s; text: %s\n", row->name, what, text ? text : "(none)");
    }
}

/* ---- arguments ---- */

struct style {
    bool wild; /* else every tensor is a dense 2x3 of float */
    bool empty;
    aclDataType dtype;
    int rank;
    int64_t dim[5];
};

static const aclDataType dtypes[] = {ACL_FLOAT,  ACL_FLOAT16, ACL_BF16,   ACL_INT32,     ACL_INT64,
                                     ACL_BOOL,   ACL_UINT8,   ACL_INT8,   ACL_INT16,     ACL_DOUBLE,
                                     ACL_UINT16, ACL_UINT32,  ACL_UINT64, ACL_COMPLEX64, ACL_COMPLEX128};
enum { DTYPES = sizeof dtypes / sizeof dtypes[0] };

static void pick_style(struct style *s)
{
    s->wild = true;
    s->dtype = dtypes[chance(2) ? chance(6) : chance(DTYPES)];
    s->rank = (int)chance(5);
    for (int i = 0; i < 5; i++)
        s->dim[i] = chance(8) ? 1 + chance(4) : chance(3);
}

static aclTensor *make_tensor(const struct style *s, int slot)
{
    int64_t dim[5] = {2, 3}, stride[5], storage, step = 1, count = 1;
    int rank = 2;
    aclDataType dtype = ACL_FLOAT;
    if (s->wild) {
        rank = chance(4) ? s->rank : (int)chance(5);
        dtype = chance(6) ? s->dtype : dtypes[chance(DTYPES)];
        for (int i = 0; i < rank; i++)
            dim[i] = chance(6) ? s->dim[i] : chance(5);
    } else if (s->empty) {
        dim[0] = 0;
    }
    for (int i = rank; i-- > 0;) {
        stride[i] = s->wild && chance(12) == 0 ? 0 : s->wild && chance(12) == 0 ? step * 2 : step;
        step *= dim[i] ? dim[i] : 1;
        count += stride[i] * (dim[i] - (dim[i] > 0));
    }
    int64_t offset = s->wild && chance(4) == 0 ? chance(3) : 0;
    storage = count + offset + 1;
    if (storage * (int64_t)aclDataTypeSize(dtype) > REGION)
        return NULL;
    return aclCreateTensor(dim, (uint64_t)rank, dtype, stride, offset, ACL_FORMAT_ND, &storage, 1,
                           memory + slot * (REGION + GUARD) + GUARD);
}

static int64_t pick_int(const struct style *s)
{
    static const int64_t odd[] = {-1, 0, 1, 2, 3, -2, 5, 7, 27, 9, 12, 100, -100, INT64_MAX, INT64_MIN, INT32_MAX};
    return s->wild ? odd[chance(chance(4) ? 6 : sizeof odd / sizeof odd[0])] : 1;
}

static double pick_double(const struct style *s)
{
    static const double odd[] = {0.5, 0.0, 1.0, 1e-5, 2.0, -1.0, 1e300, -1e300, 0.0 / 0.0, 1.0 / 0.0};
    return s->wild ? odd[chance(chance(4) ? 4 : sizeof odd / sizeof odd[0])] : 1.0;
}

static aclScalar *make_scalar(const struct style *s)
{
    float f = (float)pick_double(s);
    int64_t i = pick_int(s);
    double d[2] = {pick_double(s), 1};
    bool b = i & 1;
    switch (s->wild ? chance(5) : 0) {
    case 0:
        return aclCreateScalar(&f, ACL_FLOAT);
    case 1:
        return aclCreateScalar(&i, ACL_INT64);
    case 2:
        return aclCreateScalar(d, ACL_DOUBLE);
    case 3:
        return aclCreateScalar(&b, ACL_BOOL);
    default:
        return aclCreateScalar(d, ACL_COMPLEX128);
    }
}

static union op_value make_arg(const struct op_param *param, const struct style *s, int slot)
{
    union op_value v = {.i = 0};
    aclTensor *tensors[LIST];
    aclScalar *scalars[LIST];
    int64_t ints[4];
    float floats[4];
    bool bools[4];
    uint64_t n = s->wild ? chance(5) : 2, listed = s->wild ? chance(LIST + 1) : 2;
    static const char *const words[] = {"mean", "sum", "none", "", "NCHW", "BSND", "gelu", "tanh"};
    for (int i = 0; i < 4; i++) {
        ints[i] = pick_int(s);
        floats[i] = (float)pick_double(s);
        bools[i] = ints[i] & 1;
    }
    switch (param->kind) {
    case 'T':
        v.tensor = make_tensor(s, slot);
        break;
    case 'S':
        v.scalar = make_scalar(s);
        break;
    case 'I':
        v.ints = aclCreateIntArray(ints, n);
        break;
    case 'F':
        v.floats = aclCreateFloatArray(floats, n);
        break;
    case 'B':
        v.bools = aclCreateBoolArray(bools, n);
        break;
    case 'L':
        for (uint64_t i = 0; i < listed; i++)
            tensors[i] = make_tensor(s, slot + (int)i);
        v.tensors = aclCreateTensorList((const aclTensor *const *)tensors, listed);
        break;
    case 'Q':
        for (uint64_t i = 0; i < listed; i++)
            scalars[i] = make_scalar(s);
        v.scalars = aclCreateScalarList((const aclScalar *const *)scalars, listed);
        break;
    case 'd':
        v.d = pick_double(s);
        break;
    case 's':
        v.s = words[s->wild ? chance(sizeof words / sizeof words[0]) : 0];
        break;
    default:
        v.i = pick_int(s);
        break;
    }
    return v;
}

static void free_arg(char kind, union op_value v)
{
    switch (kind) {
    case 'T':
        aclDestroyTensor(v.tensor);
        break;
    case 'S':
        aclDestroyScalar(v.scalar);
        break;
    case 'I':
        aclDestroyIntArray(v.ints);
        break;
    case 'F':
        aclDestroyFloatArray(v.floats);
        break;
    case 'B':
        aclDestroyBoolArray(v.bools);
        break;
    case 'L':
        aclDestroyTensorList(v.tensors);
        break;
    case 'Q':
        aclDestroyScalarList(v.scalars);
        break;
    default:
        break;
    }
}

static void make_args(const struct row_case *row, const struct style *s, union op_value *v)
{
    int slot = 0;
    for (int p = 0; p < row->params; p++) {
        v[p] = make_arg(&row->param[p], s, slot);
        slot += row->param[p].kind == 'L' ? LIST : row->param[p].kind == 'T';
    }
}

static void free_args(const struct row_case *row, union op_value *v)
{
    for (int p = 0; p < row->params; p++)
        free_arg(row->param[p].kind, v[p]);
}

static bool is_handle(const struct op_param *param)
{
    return strchr("TSIFBLQ", param->kind) != NULL;
}

/* ---- tests ---- */

static void check_nulls(const struct row_case *row)
{
    const struct style plain = {0};
    union op_value v[PARAMS_MAX];
    uint64_t size;
    aclOpExecutor *executor;
    make_args(row, &plain, v);
    check_status(row->prepare(v, NULL, &executor) == ACLNN_ERR_PARAM_NULLPTR, row,
                 "a null workspaceSize is not refused with 161001");
    check_status(row->prepare(v, &size, NULL) == ACLNN_ERR_PARAM_NULLPTR, row,
                 "a null executor is not refused with 161001");
    for (int p = 0; p < row->params; p++) {
        if (row->param[p].optional || strchr("id", row->param[p].kind))
            continue;
        union op_value keep = v[p];
        v[p].tensor = NULL;
        check_status(row->prepare(v, &size, &executor) == ACLNN_ERR_PARAM_NULLPTR, row,
                     "a null argument is not refused with 161001");
        CHECK_TEXT(aclGetRecentErrMsg(), row->param[p].name);
        v[p] = keep;
    }
    free_args(row, v);
    check_status(row->launch(NULL, 0, NULL, stream) == ACLNN_ERR_PARAM_NULLPTR, row,
                 "launching no executor is not refused with 161001");
}

static void check_dead_handles(const struct row_case *row)
{
    const struct style plain = {0};
    union op_value v[PARAMS_MAX];
    uint64_t size;
    aclOpExecutor *executor;
    make_args(row, &plain, v);
    for (int p = 0; p < row->params; p++) {
        if (!is_handle(&row->param[p]))
            continue;
        union op_value keep = v[p];
        v[p] = make_arg(&row->param[p], &plain, 0);
        free_arg(row->param[p].kind, v[p]);
        check_status(row->prepare(v, &size, &executor) == ACLNN_ERR_PARAM_INVALID, row,
                     "a destroyed handle is not refused with 161002");
        CHECK_TEXT(aclGetRecentErrMsg(), row->param[p].name);
        v[p] = keep;
    }
    free_args(row, v);
}

static void check_strange_types(const struct row_case *row)
{
    const struct style plain = {0};
    union op_value v[PARAMS_MAX];
    uint64_t size;
    aclOpExecutor *executor;
    int64_t dim[] = {2, 3};
    make_args(row, &plain, v);
    for (int p = 0; p < row->params; p++) {
        if (row->param[p].kind != 'T')
            continue;
        union op_value keep = v[p];
        v[p].tensor = aclCreateTensor(dim, 2, ACL_STRING, NULL, 0, ACL_FORMAT_ND, dim, 2, memory + GUARD);
        check_status(row->prepare(v, &size, &executor) == ACLNN_ERR_PARAM_INVALID, row,
                     "a tensor of strings is not refused with 161002");
        CHECK_TEXT(aclGetRecentErrMsg(), row->param[p].name);
        aclDestroyTensor(v[p].tensor);
        v[p] = keep;
    }
    free_args(row, v);
}

static void guards_fill(int slots)
{
    for (int i = 0; i <= slots; i++)
        memset(seen + i * (REGION + GUARD), 0x6b, GUARD);
}

static bool guards_whole(int slots)
{
    for (int i = 0; i <= slots; i++)
        for (int at = 0; at < GUARD; at++)
            if (seen[i * (REGION + GUARD) + at] != 0x6b)
                return false;
    return true;
}

static void renew_stream(void)
{
    aclrtDestroyStream(stream);
    CHECK_EQ(aclrtCreateStream(&stream), 0);
}

/* Any answer will do, but an error has a text, and nothing outside the tensors changes. */
static void check_anything(const struct row_case *row, const struct style *s)
{
    union op_value v[PARAMS_MAX];
    uint64_t size = 0;
    aclOpExecutor *executor = NULL;
    make_args(row, s, v);
    aclnnStatus status = row->prepare(v, &size, &executor);
    check_status(!status == (executor != NULL), row, "executor and status disagree");
    if (status)
        check_status(aclGetRecentErrMsg() != NULL, row, "an error without a text");
    else if (size > WORKSPACE)
        aclDestroyAclOpExecutor(executor);
    else
        status = row->launch(workspace, size, executor, stream);
    free_args(row, v); /* the plan has its own copies */
    if (aclrtSynchronizeStream(stream) || status)
        renew_stream();
    check_status(guards_whole(PARAMS_MAX * LIST), row, "wrote outside the tensors");
}

/* A call with arguments that were accepted, prepared and run; the status of both phases and of the device. */
static aclnnStatus call(const struct row_case *row, const union op_value *v, uint64_t *size)
{
    aclOpExecutor *executor = NULL;
    aclnnStatus status = row->prepare(v, size, &executor);
    if (!status && *size > WORKSPACE) {
        aclDestroyAclOpExecutor(executor);
        return ACLNN_SUCCESS;
    }
    if (!status)
        status = row->launch(workspace, *size, executor, stream);
    aclnnStatus ran = aclrtSynchronizeStream(stream);
    return status ? status : ran;
}

/* The host's allocator refuses the first, the second, … allocation of a call: it fails with a text or does without, and
 * afterwards the same call succeeds. */
static void check_no_memory(const struct row_case *row, const struct style *s)
{
    union op_value v[PARAMS_MAX];
    uint64_t size = 0;
    make_args(row, s, v);
    if (call(row, v, &size) || call(row, v, &size)) { /* twice: one may set the shape of its result */
        renew_stream();                               /* senseless arguments: nothing to compare with */
    } else {
        bool more = true;
        for (int turn = 0; more && turn < 200; turn++) {
            refuse_after(turn);
            aclnnStatus status = call(row, v, &size);
            refuse_no_more();
            more = fired;
            if (status) {
                check_status(aclGetRecentErrMsg() != NULL, row, "out of memory without a text");
                renew_stream();
            }
        }
        check_status(!more, row, "does not come to an end of allocations");
        check_status(call(row, v, &size) == 0, row, "fails after an allocation failed");
        check_status(guards_whole(PARAMS_MAX * LIST), row, "wrote outside the tensors when out of memory");
    }
    free_args(row, v);
}

int main(int argc, char **argv)
{
    const char *filter = argc > 1 ? argv[1] : "";
    uint32_t seeds = argc > 2 ? (uint32_t)atoi(argv[2]) : 24;
    size_t bytes = (size_t)(PARAMS_MAX * LIST + 1) * (REGION + GUARD);
    signal(SIGSEGV, crashed);
    signal(SIGFPE, crashed);
    signal(SIGABRT, crashed);
    signal(SIGBUS, crashed);
    if (aclInit(NULL) || aclrtSetDevice(0) || aclrtCreateStream(&stream) ||
        aclrtMalloc((void **)&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST) ||
        aclrtMalloc((void **)&workspace, WORKSPACE, ACL_MEM_MALLOC_HUGE_FIRST)) {
        fprintf(stderr, "no device: %s\n", aclGetRecentErrMsg());
        return 1;
    }
    seen = device_address(memory); /* guard mode: where the host may look */
    memset(seen, 0, bytes);
    guards_fill(PARAMS_MAX * LIST);
    for (int i = 0; i < row_case_count; i++) {
        const struct row_case *row = &row_cases[i];
        if (!strstr(row->name, filter))
            continue;
        snprintf(where, sizeof where, "%s", row->name);
        check_nulls(row);
        check_dead_handles(row);
        check_strange_types(row);
        snprintf(where, sizeof where, "%s (plain)", row->name);
        check_anything(row, &(struct style){.wild = false});
        snprintf(where, sizeof where, "%s (empty)", row->name);
        check_anything(row, &(struct style){.empty = true});
        snprintf(where, sizeof where, "%s (plain, without memory)", row->name);
        check_no_memory(row, &(struct style){.wild = false});
        for (uint32_t seed = 1; seed <= seeds; seed++) {
            struct style style = {0};
            snprintf(where, sizeof where, "%s (seed %u)", row->name, seed);
            state = seed * 1000003u;
            pick_style(&style);
            check_anything(row, &style);
            snprintf(where, sizeof where, "%s (seed %u, without memory)", row->name, seed);
            check_no_memory(row, &style);
            if (getenv("ROWS_VERBOSE"))
                puts(where);
        }
    }
    aclrtFree(memory);
    aclrtFree(workspace);
    aclrtDestroyStream(stream);
    aclFinalize();
    return check_done();
}
