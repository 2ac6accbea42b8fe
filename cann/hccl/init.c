/* SPDX-License-Identifier: BSD-3-Clause */
/* The public entries that make, ask and end communicators. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl_rt.h"
#include "comm.h"
#include "error.h"
#include "meet.h"
#include "settings.h"
#include "table.h"

#define CHECK_POINTER(p)                                                                                               \
    do {                                                                                                               \
        if (!(p))                                                                                                      \
            return hccl_fail(HCCL_E_PTR, EI_PARAMETER "value NULL of parameter %s of %s is invalid.", #p, __func__);   \
    } while (0)

_Static_assert(sizeof(struct meet_address) <= HCCL_ROOT_INFO_BYTES, "root info");

HcclResult HcclGetRootInfo(HcclRootInfo *rootInfo)
{
    CHECK_POINTER(rootInfo);
    if (entry_check())
        return HCCL_E_RUNTIME;
    HCCL_TRY(settings_check());
    char ip[HOST_IP];
    HCCL_TRY(settings_ip(ip, sizeof ip));
    struct meet_address address;
    HCCL_TRY(meet_open(ip, 0, NULL, &address));
    memset(rootInfo, 0, sizeof *rootInfo);
    memcpy(rootInfo->internal, &address, sizeof address);
    return HCCL_SUCCESS;
}

/* Reads a configuration, of this or an older version (shorter). */
static HcclResult read_config(const HcclCommConfig *config, struct comm_options *options)
{
    struct {
        size_t size;
        uint32_t magic, version;
        uint64_t reserved;
    } head;
    options->exec_seconds = -1;
    if (!config)
        return HCCL_SUCCESS;
    memcpy(&head, config->reserved, sizeof head);
    if (head.magic != HCCL_COMM_CONFIG_MAGIC_WORD || head.size < offsetof(HcclCommConfig, hcclCommName))
        return hccl_fail(HCCL_E_PARA, EI_PARAMETER "the HcclCommConfig was not prepared by HcclCommConfigInit.");
    HcclCommConfig c;
    HcclCommConfigInit(&c);
    size_t n = head.size < sizeof c ? head.size : sizeof c;
    memcpy((char *)&c + sizeof head, (const char *)config + sizeof head, n - sizeof head);
    if (!memchr(c.hcclCommName, 0, sizeof c.hcclCommName))
        return hccl_fail(HCCL_E_PARA, EI_PARAMETER "hcclCommName is longer than %d characters.",
                         COMM_NAME_MAX_LENGTH - 1);
    if (c.hcclBufferSize == 0)
        return hccl_fail(HCCL_E_PARA,
                         EI_PARAMETER "value 0 of hcclBufferSize is invalid. Expected value: 1 MB or more.");
    if (c.hcclDeterministic > 2 && c.hcclDeterministic != HCCL_COMM_DETERMINISTIC_CONFIG_NOT_SET)
        return hccl_fail(HCCL_E_PARA,
                         EI_PARAMETER "value %u of hcclDeterministic is invalid. Expected value: 0, 1 or 2.",
                         c.hcclDeterministic);
    memcpy(options->name, c.hcclCommName, sizeof options->name);
    if (c.hcclExecTimeOut < -1)
        return hccl_fail(HCCL_E_PARA, EI_PARAMETER "value %d of hcclExecTimeOut is invalid.", c.hcclExecTimeOut);
    options->exec_seconds = c.hcclExecTimeOut;
    return HCCL_SUCCESS;
}

static HcclResult join(const struct meet_address *address, struct comm_options *options, HcclComm *out)
{
    if (options->size == 0 || options->rank >= options->size)
        return hccl_fail(HCCL_E_PARA, EI_PARAMETER "rank %u is not in [0, %u).", options->rank, options->size);
    struct rank_info mine, *infos = calloc(options->size, sizeof *infos);
    int32_t device = 0;
    struct meet *meet = NULL;
    struct comm *comm = NULL;
    HcclResult result = infos ? comm_describe(options, &mine, &device)
                              : hccl_fail(HCCL_E_MEMORY, EI_RESOURCE "the host is out of memory");
    if (!result)
        result = meet_join(address, options->size, options->rank, &mine, sizeof mine, infos, &meet);
    if (!result)
        result = comm_new(meet, options, infos, device, &comm);
    free(infos);
    if (!result)
        *out = comm;
    return result;
}

HcclResult HcclCommInitRootInfoConfig(uint32_t nRanks, const HcclRootInfo *rootInfo, uint32_t rank,
                                      const HcclCommConfig *config, HcclComm *comm)
{
    CHECK_POINTER(rootInfo);
    CHECK_POINTER(comm);
    if (entry_check())
        return HCCL_E_RUNTIME;
    HCCL_TRY(settings_check());
    struct comm_options options = {.size = nRanks, .rank = rank};
    HCCL_TRY(read_config(config, &options));
    struct meet_address address;
    memcpy(&address, rootInfo->internal, sizeof address);
    return join(&address, &options, comm);
}

HcclResult HcclCommInitRootInfo(uint32_t nRanks, const HcclRootInfo *rootInfo, uint32_t rank, HcclComm *comm)
{
    return HcclCommInitRootInfoConfig(nRanks, rootInfo, rank, NULL, comm);
}

/* name: how errors call the table. */
static HcclResult join_by_table(const struct table *table, const char *name, uint32_t rank,
                                const HcclCommConfig *config, HcclComm *comm)
{
    struct comm_options options = {.size = table->ranks, .rank = rank};
    HCCL_TRY(read_config(config, &options));
    struct rank_info mine;
    int32_t device = 0;
    HCCL_TRY(comm_describe(&options, &mine, &device));
    if (mine.device != table->device)
        return hccl_fail(HCCL_E_PARA, EI_CLUSTER "rank %u is on device %d in %s, the current device is %d.", rank,
                         table->device, name, mine.device);
    struct meet_address address;
    uint16_t port = settings_table_port();
    meet_describe(table->root_ip, port, table->secret, &address);
    if (rank == 0)
        HCCL_TRY(meet_open(table->root_ip, port, table->secret, &address));
    return join(&address, &options, comm);
}

HcclResult HcclCommInitClusterInfoConfig(const char *clusterInfo, uint32_t rank, HcclCommConfig *config, HcclComm *comm)
{
    CHECK_POINTER(clusterInfo);
    CHECK_POINTER(comm);
    if (entry_check())
        return HCCL_E_RUNTIME;
    HCCL_TRY(settings_check());
    struct table table;
    HCCL_TRY(table_read(clusterInfo, rank, &table));
    return join_by_table(&table, clusterInfo, rank, config, comm);
}

HcclResult HcclCommInitClusterInfoMemConfig(const char *rankTableString, uint32_t rank, HcclCommConfig *config,
                                            HcclComm *comm)
{
    static const char name[] = "the rank table";
    CHECK_POINTER(rankTableString);
    CHECK_POINTER(comm);
    if (entry_check())
        return HCCL_E_RUNTIME;
    HCCL_TRY(settings_check());
    struct table table;
    HCCL_TRY(table_parse(rankTableString, name, rank, &table));
    return join_by_table(&table, name, rank, config, comm);
}

HcclResult HcclCommInitClusterInfo(const char *clusterInfo, uint32_t rank, HcclComm *comm)
{
    return HcclCommInitClusterInfoConfig(clusterInfo, rank, NULL, comm);
}

struct joiner {
    pthread_t thread;
    HcclRootInfo *info;
    uint32_t n, rank;
    int32_t device;
    HcclComm comm;
    HcclResult result;
    char text[1024];
};

static void *join_one(void *arg)
{
    struct joiner *j = arg;
    int status = aclrtSetDevice(j->device);
    j->result = status ? hccl_from(status) : HcclCommInitRootInfo(j->n, j->info, j->rank, &j->comm);
    const char *text = j->result ? aclGetRecentErrMsg() : NULL;
    snprintf(j->text, sizeof j->text, "%s", text ? text : "");
    if (!status)
        aclrtResetDevice(j->device);
    return NULL;
}

HcclResult HcclCommInitAll(uint32_t ndev, int32_t *devices, HcclComm *comms)
{
    CHECK_POINTER(devices);
    CHECK_POINTER(comms);
    if (ndev == 0)
        return hccl_fail(HCCL_E_PARA, EI_PARAMETER "value 0 of parameter ndev of HcclCommInitAll is invalid.");
    for (uint32_t i = 0; i < ndev; i++)
        for (uint32_t k = 0; k < i; k++)
            if (devices[i] == devices[k])
                return hccl_fail(HCCL_E_PARA, EI_PARAMETER "device %d is in the list of HcclCommInitAll twice.",
                                 devices[i]);
    HcclRootInfo info;
    HCCL_TRY(HcclGetRootInfo(&info));
    struct joiner *all = calloc(ndev, sizeof *all);
    if (!all)
        return hccl_fail(HCCL_E_MEMORY, EI_RESOURCE "the host is out of memory");
    HcclResult result = HCCL_SUCCESS;
    uint32_t started = 0;
    for (; started < ndev; started++) {
        all[started] = (struct joiner){.info = &info, .n = ndev, .rank = started, .device = devices[started]};
        if (pthread_create(&all[started].thread, NULL, join_one, &all[started])) {
            result = hccl_fail(HCCL_E_SYSCALL, EI_RESOURCE "cannot start %u threads", ndev);
            break;
        }
    }
    for (uint32_t i = 0; i < started; i++) {
        pthread_join(all[i].thread, NULL);
        comms[i] = all[i].comm;
        if (all[i].result && !result)
            result = hccl_fail(all[i].result, EI_PARAMETER "rank %u (device %d) of HcclCommInitAll: %s", i, devices[i],
                               all[i].text);
    }
    for (uint32_t i = 0; result && i < started; i++)
        if (!all[i].result)
            comm_destroy(comms[i]);
    free(all);
    return result;
}

HcclResult HcclCreateSubCommConfig(HcclComm *comm, uint32_t rankNum, uint32_t *rankIds, uint64_t subCommId,
                                   uint32_t subCommRankId, HcclCommConfig *config, HcclComm *subComm)
{
    CHECK_POINTER(comm);
    CHECK_POINTER(subComm);
    if (!rankIds) { /* not a member */
        *subComm = NULL;
        return HCCL_SUCCESS;
    }
    struct comm_options options = {.size = rankNum, .rank = subCommRankId};
    HCCL_TRY(read_config(config, &options));
    struct comm *parent = comm_get(*comm, __func__), *made = NULL;
    if (!parent)
        return HCCL_E_PARA;
    struct rank_info *infos = calloc(rankNum ? rankNum : 1, sizeof *infos), *mine = NULL;
    HcclResult result = infos ? HCCL_SUCCESS : hccl_fail(HCCL_E_MEMORY, EI_RESOURCE "the host is out of memory");
    uint64_t salt = subCommId * UINT64_C(0x9e3779b97f4a7c15) + parent->salt * 31 + 1;
    for (uint32_t i = 0; !result && i < rankNum; i++) {
        for (uint32_t k = 0; k < i && !result; k++)
            if (rankIds[i] == rankIds[k])
                result =
                    hccl_fail(HCCL_E_PARA, EI_PARAMETER "rank %u is in rankIds of %s twice.", rankIds[i], __func__);
        if (!result && rankIds[i] >= parent->size)
            result = hccl_fail(HCCL_E_PARA, EI_PARAMETER "rank %u in rankIds of %s is not in [0, %u).", rankIds[i],
                               __func__, parent->size);
        salt = (salt ^ (rankIds[i] + 1)) * UINT64_C(0x100000001b3);
    }
    if (!result && (subCommRankId >= rankNum || rankIds[subCommRankId] != parent->rank))
        result = hccl_fail(HCCL_E_PARA,
                           EI_PARAMETER "value %u of parameter subCommRankId of %s is not this rank's place "
                                        "in rankIds.",
                           subCommRankId, __func__);
    if (!result) {
        options.salt = salt >> 4 ? salt >> 4 : 1; /* room for the gatherings' steps */
        mine = malloc(sizeof *mine);
        if (mine) {
            *mine = parent->ranks[parent->rank];
            memcpy(mine->name, options.name, sizeof mine->name);
            result = meet_gather(parent->meet, options.salt * 8, rankNum, subCommRankId, mine, sizeof *mine, infos);
        } else {
            result = hccl_fail(HCCL_E_MEMORY, EI_RESOURCE "the host is out of memory");
        }
    }
    if (!result) {
        meet_keep(parent->meet);
        result = comm_new(parent->meet, &options, infos, parent->device, &made);
    }
    free(mine);
    free(infos);
    comm_put(parent);
    if (!result)
        *subComm = made;
    return result;
}

HcclResult HcclCommDestroy(HcclComm comm)
{
    CHECK_POINTER(comm);
    return comm_destroy(comm);
}

HcclResult HcclGetRankSize(HcclComm comm, uint32_t *rankSize)
{
    CHECK_POINTER(comm);
    CHECK_POINTER(rankSize);
    struct comm *c = comm_get(comm, __func__);
    if (!c)
        return HCCL_E_PARA;
    *rankSize = c->size;
    comm_put(c);
    return HCCL_SUCCESS;
}

HcclResult HcclGetRankId(HcclComm comm, uint32_t *rank)
{
    CHECK_POINTER(comm);
    CHECK_POINTER(rank);
    struct comm *c = comm_get(comm, __func__);
    if (!c)
        return HCCL_E_PARA;
    *rank = c->rank;
    comm_put(c);
    return HCCL_SUCCESS;
}

HcclResult HcclGetCommName(HcclComm comm, char *commName)
{
    CHECK_POINTER(comm);
    CHECK_POINTER(commName);
    struct comm *c = comm_get(comm, __func__);
    if (!c)
        return HCCL_E_PARA;
    memcpy(commName, c->name, COMM_NAME_MAX_LENGTH);
    comm_put(c);
    return HCCL_SUCCESS;
}

HcclResult HcclGetCommAsyncError(HcclComm comm, HcclResult *asyncError)
{
    CHECK_POINTER(comm);
    CHECK_POINTER(asyncError);
    struct comm *c = comm_get(comm, __func__);
    if (!c)
        return HCCL_E_PARA;
    *asyncError = comm_failure(c) ? c->result : HCCL_SUCCESS;
    comm_put(c);
    return HCCL_SUCCESS;
}

static _Atomic int deterministic;

HcclResult HcclSetConfig(HcclConfig config, HcclConfigValue configValue)
{
    if (config != HCCL_DETERMINISTIC || configValue.value < 0 || configValue.value > 2)
        return hccl_fail(HCCL_E_PARA, EI_PARAMETER "configuration %d with value %d is unknown.", (int)config,
                         configValue.value);
    atomic_store(&deterministic, configValue.value);
    return HCCL_SUCCESS;
}

HcclResult HcclGetConfig(HcclConfig config, HcclConfigValue *configValue)
{
    CHECK_POINTER(configValue);
    if (config != HCCL_DETERMINISTIC)
        return hccl_fail(HCCL_E_PARA, EI_PARAMETER "configuration %d is unknown.", (int)config);
    configValue->value = atomic_load(&deterministic);
    return HCCL_SUCCESS;
}

/* The fields that have an effect here, or whose wish (deterministic results, no staging copies in graphs) always holds.
 */
uint32_t HcclGetCommConfigCapability(void)
{
    return 1u << HCCL_COMM_CONFIG_BUFFER_SIZE | 1u << HCCL_COMM_CONFIG_DETERMINISTIC |
           1u << HCCL_COMM_CONFIG_COMM_NAME | 1u << HCCL_COMM_CONFIG_OP_EXPANSION_MODE |
           1u << HCCL_COMM_CONFIG_SUPPORT_INIT_BY_ENV | 1u << HCCL_COMM_CONFIG_WORLD_RANKID |
           1u << HCCL_COMM_CONFIG_JOBID | 1u << HCCL_COMM_CONFIG_ACLGRAPH_ZEROCOPY_ENABLE |
           1u << HCCL_COMM_CONFIG_EXEC_TIMEOUT | 1u << HCCL_COMM_CONFIG_ALGO | 1u << HCCL_COMM_CONFIG_RETRY |
           1u << HCCL_COMM_CONFIG_BUFFER_NAME;
}
