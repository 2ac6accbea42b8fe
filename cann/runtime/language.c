/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of texts; see language.h. What users meet is here; what only a wrong client library meets stays English. */
#include "language.h"

#include <stddef.h>
#include <string.h>

#include "base/options.h"

static const struct text {
    const char *english, *chinese;
} texts[] = {
    /* frame of the block */
    {"The argument is invalid.Reason: ", "参数无效。原因："},
    {"1.Check the input parameter range of the function. 2.Check the function invocation relationship.",
     "1.请检查接口入参的取值范围。2.请检查接口的调用顺序。"},
    {"Failed to allocate memory.Reason: ", "申请内存失败。原因："},
    {"Close applications not in use.", "请关闭不使用的应用程序。"},
    {"Ensure that there is sufficient memory available. You can stop unnecessary processes to free up memory.",
     "请确保有足够的可用内存，可以停止不需要的进程以释放内存。"},
    {"Stream synchronize timeout. ", "流同步超时。"},
    {"1. Check whether the timeout interval is properly set. 2. Check whether the network is normal.",
     "1. 请检查超时时间设置是否合理。2. 请检查网络是否正常。"},
    {"TraceBack (most recent call last):", "调用栈（最近一次调用在最后）："},
    {"error code is %d", "错误码为 %d"},
    {"Solution: ", "解决方法："},
    /* where it happened */
    {"\n        Operator: %s%s, stream %u, task %u", "\n        算子：%s%s，流 %u，任务 %u"},
    {"\n        Called at: %s", "\n        调用位置：%s"},
    {"\n        Reported when stream %u was waited for; its later tasks have run, and it can be used on.",
     "\n        在等待流 %u 时上报；其后的任务已执行，该流可以继续使用。"},
    /* devices, contexts, streams */
    {"Set device failed, invalid device, set drv device=%d, valid device range is [0, %d)",
     "设置设备失败，设备无效，设备号=%d，有效的设备范围是 [0, %d)"},
    {"invalid device, device=%lld, valid device range is [0, %d)", "设备无效，设备号=%lld，有效的设备范围是 [0, %d)"},
    {"device %d is not visible to this process", "设备 %d 对当前进程不可见"},
    {"device %d has not finished within %d ms", "设备 %d 在 %d 毫秒内没有执行完"},
    {"the calling thread has no current context: call aclrtSetDevice or aclrtSetCurrentContext first%s",
     "调用线程没有当前上下文：请先调用 aclrtSetDevice 或 aclrtSetCurrentContext%s"},
    {"stream %p does not exist (destroyed, or never created)", "流 %p 不存在（已销毁或从未创建）"},
    {"stream %u has not finished within %d ms", "流 %u 在 %d 毫秒内没有执行完"},
    {"stream %u belongs to another context (device %d) than the current one (device %d)",
     "流 %u 属于另一个上下文（设备 %d），不是当前上下文（设备 %d）"},
    {"event %u has not happened within %d ms", "事件 %u 在 %d 毫秒内没有发生"},
    {"event %u has not happened yet: synchronize it first", "事件 %u 尚未发生：请先同步该事件"},
    {"event %u was not recorded", "事件 %u 没有被记录"},
    {"no stream left", "没有可用的流"},
    {"Cannot re-initialize NPU in forked subprocess. To use NPU with multiprocessing, you must use the 'spawn' start "
     "method",
     "不能在 fork 出的子进程中重新初始化 NPU。多进程使用 NPU 时，启动方式必须为 'spawn'"},
    {"the tasks of the stream were aborted", "流上的任务已被终止"},
    {"a task failed", "任务执行失败"},
    {"fault injected into %s", "在 %s 中注入了故障"},
    {"%s ran for %.3f s, the limit is %.3f s", "%s 执行了 %.3f 秒，上限是 %.3f 秒"},
    /* memory */
    {"device %d is out of memory: %llu bytes wanted, %llu of %llu in use, no free piece is large enough",
     "设备 %d 内存不足：需要 %llu 字节，已使用 %llu / %llu，没有足够大的空闲块"},
    {"device %d is out of memory: %llu bytes wanted, but the machine (or its cgroup) has only %lld bytes available for "
     "it",
     "设备 %d 内存不足：需要 %llu 字节，但本机（或其 cgroup）只有 %lld 字节可用"},
    {"device %d: %zu bytes cannot be allocated", "设备 %d：无法申请 %zu 字节"},
    {"the host is out of memory", "主机内存不足"},
    {"the host cannot allocate %zu bytes", "主机无法申请 %zu 字节"},
    {"%p is not device memory of this process", "%p 不是本进程的设备内存"},
    {"%p is not the beginning of allocated memory of device %d (freed twice?)",
     "%p 不是设备 %d 上已申请内存的起始地址（重复释放？）"},
    {"%zu bytes at %p are not device memory", "有 %zu 字节（起始地址 %p）不是设备内存"},
    {"size must not be 0 in %s", "%s 的 size 不能为 0"},
    {"%s must not be NULL in %s", "%s 不能为空指针（%s）"},
    {"count %zu is greater than destMax %zu", "count %zu 大于 destMax %zu"},
    /* operators */
    {"Tensor %s not implemented for %s.", "张量 %s 不支持数据类型 %s。"},
    {"Expected a proper %s but got null for argument %s.", "需要有效的 %s，但参数 %s 为空。"},
    {"%s %s was destroyed or never created.", "%s %s 已销毁或从未创建。"},
    {"%s needs a workspace of %zu bytes, but got %lu.", "%s 需要 %zu 字节的工作空间，但只给了 %lu 字节。"},
    {"%s needs a workspace of %zu bytes, but got null.", "%s 需要 %zu 字节的工作空间，但给的是空指针。"},
    {"The current system or device (%s) does not support %s", "当前系统或设备（%s）不支持 %s"},
};

int language_row(int i, const char **english, const char **chinese)
{
    if (i < 0 || (size_t)i >= sizeof texts / sizeof *texts)
        return 0;
    *english = texts[i].english;
    *chinese = texts[i].chinese;
    return 1;
}

const char *in_language(const char *english)
{
    if (option_number(OPTION_LANGUAGE) != 1)
        return english;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(texts[i].english, english) == 0)
            return texts[i].chinese;
    return english;
}
