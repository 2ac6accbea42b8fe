/* SPDX-License-Identifier: BSD-3-Clause */
/* Notifies and values in memory as signals between streams. A notify is one word: a record sets it, a wait takes it; a
 * counting notify is a number that records change and waits compare. The word lies in a record that other processes map
 * once the notify is exported, so it is in a record from the start. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/futex.h"
#include "context.h"
#include "error.h"
#include "memory.h"
#include "share.h"
#include "stream.h"

enum { NOTIFIES = 65536 };

struct notify {
    struct handle handle;
    bool counting;
    struct record *record; /* words[0]: the value, words[1]: threads that sleep on it */
    int fd;                /* -1: another process's */
    _Atomic uint32_t references;
};

static struct handle_table notify_table = HANDLE_TABLE(struct notify, "notify", NOTIFIES);

static struct notify *notify_get(void *handle, bool counting)
{
    if (entry_check())
        return NULL;
    struct notify *n = handle_valid(&notify_table, handle) ? handle : NULL;
    if (n && n->counting == counting)
        return n;
    fail(handle ? ACL_ERROR_RT_INVALID_HANDLE : ACL_ERROR_INVALID_PARAM,
         "%s %p does not exist (destroyed, or never created)", counting ? "counting notify" : "notify", handle);
    return NULL;
}

static void unref(struct notify *n)
{
    if (atomic_fetch_sub(&n->references, 1) != 1)
        return;
    if (n->record)
        record_free(n->record, n->fd);
    handle_free(&notify_table, n);
}

static int make(void **out, uint64_t flag, bool counting)
{
    if (flag & ~(uint64_t)ACL_NOTIFY_DEVICE_USE_ONLY)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "notify flag 0x%llx is unknown", (unsigned long long)flag);
    if (!context_current())
        return fail_code();
    struct notify *n = handle_new(&notify_table);
    if (!n)
        return fail(ACL_ERROR_RT_NO_NOTIFY_RESOURCE, "no notify left: %d exist", NOTIFIES);
    n->counting = counting;
    n->fd = -1;
    atomic_store(&n->references, 1);
    n->record = record_new(SHARE_NOTIFY, &n->fd);
    if (!n->record) {
        unref(n);
        return fail_code();
    }
    *out = n;
    return ACL_SUCCESS;
}

static int destroy(void *handle, bool counting)
{
    TRY(entry_check());
    struct notify *n = notify_get(handle, counting);
    if (!n || !handle_retire(n))
        return n ? ACL_ERROR_RT_INVALID_HANDLE : fail_code();
    unref(n);
    return ACL_SUCCESS;
}

aclError aclrtCreateNotify(aclrtNotify *notify, uint64_t flag)
{
    CHECK_ARG(notify);
    return make(notify, flag, false);
}

aclError aclrtDestroyNotify(aclrtNotify notify)
{
    return destroy(notify, false);
}

aclError aclrtCntNotifyCreate(aclrtCntNotify *cntNotify, uint64_t flag)
{
    CHECK_ARG(cntNotify);
    return make(cntNotify, flag, true);
}

aclError aclrtCntNotifyDestroy(aclrtCntNotify cntNotify)
{
    return destroy(cntNotify, true);
}

static int get_id(void *handle, bool counting, uint32_t *id)
{
    CHECK_ARG(id);
    struct notify *n = notify_get(handle, counting);
    if (!n)
        return fail_code();
    *id = n->handle.id;
    return ACL_SUCCESS;
}

aclError aclrtGetNotifyId(aclrtNotify notify, uint32_t *notifyId)
{
    return get_id(notify, false, notifyId);
}

aclError aclrtCntNotifyGetId(aclrtCntNotify cntNotify, uint32_t *notifyId)
{
    return get_id(cntNotify, true, notifyId);
}

/* One task on a notify, or (value set) on a value in device memory. */
struct signal {
    struct notify *notify;
    char *memory; /* 8 bytes, aligned */
    int mode;     /* of record or wait */
    uint64_t value;
    bool clear;
    int64_t limit; /* ns, 0: none */
};

static void free_signal(void *arg)
{
    struct signal *g = arg;
    if (g->notify)
        unref(g->notify);
    free(g);
}

static int push(const struct signal *signal, int (*run)(void *), aclrtStream stream, bool waits, const char *name)
{
    struct stream *s = NULL;
    TRY(stream_get(stream, &s));
    struct signal *g = malloc(sizeof *g);
    if (!g)
        return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "the host is out of memory");
    *g = *signal;
    if (g->notify)
        atomic_fetch_add(&g->notify->references, 1);
    static const struct task_detail detail = {.task_class = ANYNPU_TASK_EVENT};
    struct task task = {run, free_signal, g, 0, {name, NULL, &detail}};
    return waits ? stream_push(s, &task) : stream_enqueue(stream, &task);
}

static int run_record(void *arg)
{
    struct signal *g = arg;
    _Atomic uint32_t *word = g->notify->record->words;
    uint32_t v = (uint32_t)g->value;
    switch (g->notify->counting ? g->mode : ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE) {
    case ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE:
        atomic_fetch_add(word, v);
        break;
    case ACL_RT_CNT_NOTIFY_RECORD_BIT_OR_MODE:
        atomic_fetch_or(word, v);
        break;
    case ACL_RT_CNT_NOTIFY_RECORD_BIT_AND_MODE:
        atomic_fetch_and(word, v);
        break;
    default:
        atomic_store(word, v);
    }
    if (atomic_load(&word[1]))
        futex_wake(word, INT32_MAX, true);
    return ACL_SUCCESS;
}

aclError aclrtRecordNotify(aclrtNotify notify, aclrtStream stream)
{
    struct notify *n = notify_get(notify, false);
    return n ? push(&(struct signal){.notify = n, .value = 1}, run_record, stream, false, "NotifyRecord") : fail_code();
}

aclError aclrtCntNotifyRecord(aclrtCntNotify cntNotify, aclrtStream stream, aclrtCntNotifyRecordInfo *info)
{
    CHECK_ARG(info);
    struct notify *n = notify_get(cntNotify, true);
    if (!n)
        return fail_code();
    int mode = (int)info->mode;
    if (mode < 0 || mode > ACL_RT_CNT_NOTIFY_RECORD_BIT_AND_MODE || mode == 3)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "record mode %d is unknown", mode);
    return push(&(struct signal){.notify = n, .mode = mode, .value = info->value}, run_record, stream, false,
                "CntNotifyRecord");
}

static bool met(int mode, uint32_t now, uint32_t value)
{
    switch (mode) {
    case ACL_RT_CNT_NOTIFY_WAIT_LESS_MODE:
        return now < value;
    case ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE:
        return now == value;
    case ACL_RT_CNT_NOTIFY_WAIT_BIGGER_MODE:
        return now > value;
    case ACL_RT_CNT_NOTIFY_WAIT_BIGGER_OR_EQUAL_MODE:
        return now >= value;
    default:
        return (now & value) == value;
    }
}

static int timed_out(const struct stream *s, int64_t limit)
{
    return fail(ACL_ERROR_RT_TASK_TIMEOUT, "stream %u waited longer than %lld ms for a signal", s->handle.id,
                (long long)(limit / 1000000));
}

static int run_wait(void *arg)
{
    struct signal *g = arg;
    struct stream *s = stream_running();
    _Atomic uint32_t *word = g->notify->record->words;
    int64_t end = g->limit ? clock_ns() + g->limit : INT64_MAX;
    int status = ACL_SUCCESS;
    atomic_fetch_add(&word[1], 1);
    for (;;) {
        uint32_t now = atomic_load(word);
        if (met(g->mode, now, (uint32_t)g->value)) {
            if (!g->clear || atomic_compare_exchange_strong(word, &now, 0))
                break;
            continue;
        }
        if (clock_ns() >= end) {
            status = timed_out(s, g->limit);
            break;
        }
        if (!stream_pause(s, word, now, true))
            break;
    }
    atomic_fetch_sub(&word[1], 1);
    return status;
}

aclError aclrtWaitAndResetNotify(aclrtNotify notify, aclrtStream stream, uint32_t timeout)
{
    struct notify *n = notify_get(notify, false);
    struct signal signal = {.notify = n,
                            .mode = ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE,
                            .value = 1,
                            .clear = true,
                            .limit = (int64_t)timeout * 1000000000};
    return n ? push(&signal, run_wait, stream, true, "NotifyWait") : fail_code();
}

aclError aclrtCntNotifyWaitWithTimeout(aclrtCntNotify cntNotify, aclrtStream stream, aclrtCntNotifyWaitInfo *info)
{
    CHECK_ARG(info);
    struct notify *n = notify_get(cntNotify, true);
    if (!n)
        return fail_code();
    if ((int)info->mode < 0 || info->mode > ACL_RT_CNT_NOTIFY_WAIT_EQUAL_WITH_BITMASK_MODE)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "wait mode %d is unknown", (int)info->mode);
    struct signal signal = {.notify = n,
                            .mode = (int)info->mode,
                            .value = info->value,
                            .clear = info->isClear,
                            .limit = (int64_t)info->timeout * 1000000000};
    return push(&signal, run_wait, stream, true, "CntNotifyWait");
}

aclError aclrtCntNotifyReset(aclrtCntNotify cntNotify, aclrtStream stream)
{
    struct notify *n = notify_get(cntNotify, true);
    return n ? push(&(struct signal){.notify = n}, run_record, stream, false, "CntNotifyReset") : fail_code();
}

aclError aclrtNotifyBatchReset(aclrtNotify *notifies, size_t num)
{
    CHECK_ARG(notifies);
    for (size_t i = 0; i < num; i++)
        if (!notify_get(notifies[i], false))
            return fail_code();
    for (size_t i = 0; i < num; i++)
        atomic_store(((struct notify *)notifies[i])->record->words, 0);
    return ACL_SUCCESS;
}

aclError aclrtNotifyGetExportKey(aclrtNotify notify, char *key, size_t len, uint64_t flags)
{
    CHECK_ARG(key);
    struct notify *n = notify_get(notify, false);
    if (!n)
        return fail_code();
    if (len < SHARE_KEY)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "a key needs %d bytes, len is %zu", SHARE_KEY, len);
    if (n->fd < 0)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "notify %u was imported, only its maker exports it", n->handle.id);
    if (flags & ~(uint64_t)ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "export flags 0x%llx are unknown", (unsigned long long)flags);
    if (flags)
        atomic_store(&n->record->anyone, 1);
    record_key(key, SHARE_NOTIFY, n->record->pid, n->fd);
    return ACL_SUCCESS;
}

aclError aclrtNotifySetImportPid(aclrtNotify notify, int32_t *pid, size_t num)
{
    struct notify *n = notify_get(notify, false);
    return n ? record_allow(n->record, pid, num) : fail_code();
}

aclError aclrtNotifyImportByKey(aclrtNotify *notify, const char *key, uint64_t flags)
{
    CHECK_ARG(notify);
    CHECK_ARG(key);
    TRY(device_use());
    if (flags & ~(uint64_t)ACL_RT_NOTIFY_IMPORT_FLAG_ENABLE_PEER_ACCESS)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "import flags 0x%llx are unknown", (unsigned long long)flags);
    int32_t pid = 0, fd = 0;
    if (!record_parse(key, SHARE_NOTIFY, &pid, &fd))
        return ACL_ERROR_RT_PARAM_INVALID;
    struct record *r = record_open(SHARE_NOTIFY, pid, fd);
    if (!r)
        return fail_code();
    struct notify *n = handle_new(&notify_table);
    if (!n) {
        record_free(r, -1);
        return fail(ACL_ERROR_RT_NO_NOTIFY_RESOURCE, "no notify left: %d exist", NOTIFIES);
    }
    n->record = r;
    n->fd = -1;
    atomic_store(&n->references, 1);
    *notify = n;
    return ACL_SUCCESS;
}

static int run_value_write(void *arg)
{
    struct signal *g = arg;
    atomic_store((_Atomic uint64_t *)memory_usable(g->memory), g->value);
    return ACL_SUCCESS;
}

static bool value_met(uint64_t now, uint64_t value, int mode)
{
    switch (mode) {
    case ACL_STREAM_WAIT_VALUE_GEQ:
        return (int64_t)(now - value) >= 0;
    case ACL_STREAM_WAIT_VALUE_EQ:
        return now == value;
    case ACL_STREAM_WAIT_VALUE_AND:
        return (now & value) != 0;
    default:
        return ~(now | value) != 0;
    }
}

/* Memory wakes nobody: looks again after short sleeps, first at once. */
static int run_value_wait(void *arg)
{
    struct signal *g = arg;
    struct stream *s = stream_running();
    _Atomic uint64_t *memory = memory_usable(g->memory);
    for (int turn = 0; !value_met(atomic_load(memory), g->value, g->mode); turn++) {
        if (turn < 1000) {
            cpu_relax();
            continue;
        }
        if (stream_aborted(s))
            break;
        nanosleep(&(struct timespec){0, turn < 2000 ? 20000 : 500000}, NULL);
    }
    return ACL_SUCCESS;
}

static int check_value(void *devAddr, uint32_t flag, uint32_t last)
{
    CHECK_ARG(devAddr);
    if (flag > last)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "flag %u is unknown", flag);
    if ((uintptr_t)devAddr % 8)
        return fail(ACL_ERROR_RT_ADDR_UNALIGNED, "address %p is not a multiple of 8", devAddr);
    if (!memory_is_device(devAddr, 8))
        return fail(ACL_ERROR_RT_PARAM_INVALID, "8 bytes at %p are not device memory", devAddr);
    return ACL_SUCCESS;
}

aclError aclrtValueWrite(void *devAddr, uint64_t value, uint32_t flag, aclrtStream stream)
{
    TRY(check_value(devAddr, flag, 0));
    return push(&(struct signal){.memory = devAddr, .value = value}, run_value_write, stream, false, "ValueWrite");
}

aclError aclrtValueWait(void *devAddr, uint64_t value, uint32_t flag, aclrtStream stream)
{
    TRY(check_value(devAddr, flag, ACL_STREAM_WAIT_VALUE_NOR));
    return push(&(struct signal){.memory = devAddr, .value = value, .mode = (int)flag}, run_value_wait, stream, true,
                "ValueWait");
}
