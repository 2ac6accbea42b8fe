/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators by rank table, by configuration, and as parts of others. */
#include "ranks.h"

static void check_sum(HcclComm comm, aclrtStream stream, float expected)
{
    float one[3] = {1, 1, 1}, sum[3] = {0};
    void *a = device_new(sizeof one);
    put(a, one, sizeof one);
    OK(HcclAllReduce(a, a, 3, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream));
    OK(aclrtSynchronizeStream(stream));
    get(sum, a, sizeof sum);
    CHECK(sum[2] == expected);
    OK(aclrtFree(a));
}

static void by_table(void)
{
    struct world w = world_begin();
    const char *path = getenv("TEST_TABLE");
    for (int again = 0; again < 3; again++) {
        OK(HcclCommInitClusterInfo(path, w.rank, &w.comm));
        check_sum(w.comm, w.stream, (float)w.size);
        OK(HcclCommDestroy(w.comm));
    }
}

/* The table in memory, with a configuration. */
static void by_text(void)
{
    struct world w = world_begin();
    HcclCommConfig config;
    HcclCommConfigInit(&config);
    strcpy(config.hcclCommName, "from text");
    OK(HcclCommInitClusterInfoMemConfig(getenv("TEST_TEXT"), w.rank, &config, &w.comm));
    char name[COMM_NAME_MAX_LENGTH];
    OK(HcclGetCommName(w.comm, name));
    CHECK(strcmp(name, "from text") == 0);
    check_sum(w.comm, w.stream, (float)w.size);
    OK(HcclCommDestroy(w.comm));
    CHECK_EQ(HcclCommInitClusterInfoMemConfig("{", w.rank, &config, &w.comm), HCCL_E_PARA);
    CHECK_TEXT(aclGetRecentErrMsg(), "the rank table is not JSON at character");
    CHECK_EQ(HcclCommInitClusterInfoMemConfig(NULL, w.rank, &config, &w.comm), HCCL_E_PTR);
}

static void wrong_table(void)
{
    HcclComm comm;
    OK(aclrtSetDevice(0));
    CHECK_EQ(HcclCommInitClusterInfo(getenv("TEST_TABLE"), 0, &comm), HCCL_E_PARA);
    CHECK_TEXT(aclGetRecentErrMsg(), getenv("TEST_TEXT"));
}

static void by_config(void)
{
    struct world w = world_begin();
    HcclCommConfig config;
    HcclCommConfigInit(&config);
    strcpy(config.hcclCommName, "my group");
    config.hcclExecTimeOut = 5;
    OK(HcclCommInitRootInfoConfig(w.size, &w.root, w.rank, &config, &w.comm));
    char name[COMM_NAME_MAX_LENGTH];
    OK(HcclGetCommName(w.comm, name));
    CHECK(strcmp(name, "my group") == 0);
    check_sum(w.comm, w.stream, (float)w.size);
    CHECK_EQ(HcclGetCommConfigCapability() >> HCCL_COMM_CONFIG_COMM_NAME & 1, 1);

    /* parts: even and odd ranks, in reverse order, at the same time; then all again; then parts of a part */
    uint32_t ids[RANKS_MAX], n = 0, me = 0;
    for (uint32_t r = w.size; r-- > 0;)
        if (r % 2 == w.rank % 2) {
            me = r == w.rank ? n : me;
            ids[n++] = r;
        }
    HcclCommConfigInit(&config);
    HcclComm part = NULL, inner = NULL, nobody = &w;
    OK(HcclCreateSubCommConfig(&w.comm, n, ids, 3, me, &config, &part));
    uint32_t size = 0, rank = 99;
    OK(HcclGetRankSize(part, &size));
    OK(HcclGetRankId(part, &rank));
    CHECK_EQ(size, n);
    CHECK_EQ(rank, me);
    check_sum(part, w.stream, (float)n);
    check_sum(w.comm, w.stream, (float)w.size);
    uint32_t first[2] = {1, 0};
    if (me < 2) {
        OK(HcclCreateSubCommConfig(&part, 2, first, 4, 1 - me, &config, &inner));
        check_sum(inner, w.stream, 2);
    }
    OK(HcclCreateSubCommConfig(&w.comm, 0, NULL, 5, 0, NULL, &nobody));
    CHECK(nobody == NULL);
    CHECK_EQ(HcclCreateSubCommConfig(&w.comm, 2, (uint32_t[]){0, 0}, 6, 0, NULL, &nobody), HCCL_E_PARA);
    CHECK_EQ(HcclCreateSubCommConfig(&w.comm, 2, (uint32_t[]){0, 77}, 6, 0, NULL, &nobody), HCCL_E_PARA);
    CHECK_EQ(HcclCreateSubCommConfig(&w.comm, 1, (uint32_t[]){(w.rank + 1) % w.size}, 6, 0, NULL, &nobody),
             HCCL_E_PARA);
    /* the parent may go first */
    OK(HcclCommDestroy(w.comm));
    check_sum(part, w.stream, (float)n);
    OK(HcclCommDestroy(part));
    if (inner) {
        check_sum(inner, w.stream, 2);
        OK(HcclCommDestroy(inner));
    }
    HcclConfigValue value = {.value = 1};
    OK(HcclSetConfig(HCCL_DETERMINISTIC, value));
    value.value = 0;
    OK(HcclGetConfig(HCCL_DETERMINISTIC, &value));
    CHECK_EQ(value.value, 1);
}

/* One rank names the group differently. */
static void names_differ(void)
{
    struct world w = world_begin();
    HcclCommConfig config;
    HcclCommConfigInit(&config);
    strcpy(config.hcclCommName, w.rank ? "left" : "right");
    CHECK_EQ(HcclCommInitRootInfoConfig(w.size, &w.root, w.rank, &config, &w.comm), HCCL_E_PARA);
    CHECK_TEXT(aclGetRecentErrMsg(), "parameter hcclCommName, rank 0 has \"right\", rank 1 has \"left\"");
}

static const char *write_table(const char *text)
{
    static char path[64];
    snprintf(path, sizeof path, "/tmp/anynpu-table-%d.json", (int)getpid());
    FILE *f = fopen(path, "w");
    fputs(text, f);
    fclose(f);
    return path;
}

static void check_wrong(const char *table, const char *text)
{
    char env[512];
    snprintf(env, sizeof env, "TEST_TABLE=%s\nTEST_TEXT=%s", table ? write_table(table) : "/nowhere/table.json", text);
    CHECK_CHILD("wrong_table", env);
}

int main(int argc, char **argv)
{
    child_main(argc, argv,
               (struct part[]){{"by_table", by_table},
                               {"by_text", by_text},
                               {"wrong_table", wrong_table},
                               {"by_config", by_config},
                               {"names_differ", names_differ},
                               {NULL, NULL}});
    char env[512];
    static const char table[] =
        "{\"status\": \"completed\", \"version\": \"1.0\", \"server_count\": \"1\", \"server_list\": [{\"server_id\": "
        "\"node_0\", \"device\": [{\"device_id\": \"0\", \"device_ip\": \"192.168.1.8\", \"rank_id\": \"0\"}, "
        "{\"device_id\": \"1\", \"device_ip\": \"192.168.1.9\", \"rank_id\": 1}]}]}";
    snprintf(env, sizeof env, "TEST_TEXT=%s\nHCCL_IF_BASE_PORT=%d", table, 20000 + (int)getpid() % 20000);
    CHECK_EQ(ranks_run("by_text", 2, env), 0);
    const char *path = write_table(table);
    snprintf(env, sizeof env, "TEST_TABLE=%s\nHCCL_IF_BASE_PORT=%d", path, 20000 + (int)getpid() % 20000);
    CHECK_EQ(ranks_run("by_table", 2, env), 0);
    check_wrong(NULL, "(EI0004): path /nowhere/table.json is not a valid real path");
    check_wrong("{\"status\": ", "is not JSON at character");
    check_wrong("{\"status\": \"initializing\"}", "status is not \"completed\"");
    check_wrong("{\"server_list\": []}", "server_list is missing or empty");
    check_wrong("{\"server_list\": [{\"device\": [{\"rank_id\": 0}]}]}", "device_id of a device is missing");
    check_wrong("{\"server_list\": [{\"device\": [{\"rank_id\": 1, \"device_id\": 0}]}]}", "without gaps");
    check_wrong(
        "{\"server_list\": [{\"device\": [{\"rank_id\": 0, \"device_id\": 0}, {\"rank_id\": 0, \"device_id\": 0}]}]}",
        "a rank_id stands there twice");
    check_wrong("{\"server_list\": [{\"device\": [{\"rank_id\": 0, \"device_id\": 1}]}]}",
                "(EI0014): rank 0 is on device 1 in");
    unlink(path);
    CHECK_EQ(ranks_run("by_config", 4, ""), 0);
    CHECK_EQ(ranks_run("names_differ", 2, ""), 0);
    return check_done();
}
