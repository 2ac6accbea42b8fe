/* SPDX-License-Identifier: BSD-3-Clause */
/* Making, failing and ending communicators; see comm.h. Locks: list (all communicators), map_lock and fail_lock of one;
 * none is held while another is taken, nor while waiting. */
#define _GNU_SOURCE
#include "comm.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "acl/acl_rt.h"
#include "base/options.h"
#include "board.h"
#include "error.h"
#include "meet.h"
#include "net.h"
#include "settings.h"
#include "window.h"

enum { VERSION = 1 };

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct comm *all_comms;

static uint64_t hash_text(uint64_t h, const char *text)
{
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return h;
}

/* Who can share memory: processes of one user with the same boot, pid namespace (descriptors are named by pid) and
 * network (another network namespace is what tests take for another computer). */
static void describe_host(struct rank_info *info)
{
    char boot[64] = "", ns[2][64] = {"", ""}, user[16];
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (f) {
        if (!fgets(boot, sizeof boot, f))
            *boot = 0;
        fclose(f);
    }
    if (readlink("/proc/self/ns/pid", ns[0], sizeof ns[0] - 1) < 0 || readlink("/proc/self/ns/net", ns[1], 63) < 0)
        ns[0][0] = 0;
    snprintf(user, sizeof user, "%u", (unsigned)geteuid());
    const char *parts[] = {boot, ns[0], ns[1], user, option_text(OPTION_HCCL_HOST)};
    info->host[0] = UINT64_C(0xcbf29ce484222325);
    info->host[1] = UINT64_C(0x9ae16a3b2f90404f);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        info->host[0] = hash_text(info->host[0], parts[i]);
        info->host[1] = hash_text(info->host[1], parts[i]) ^ info->host[0] >> 7;
    }
    if (gethostname(info->host_name, sizeof info->host_name - 1))
        *info->host_name = 0;
}

static int physical_device(int32_t device)
{
    int32_t id = device;
    const char *visible = option_text(OPTION_VISIBLE_DEVICES);
    for (int32_t i = 0; *visible && i <= device; i++) {
        id = atoi(visible);
        visible += strcspn(visible, ",");
        visible += *visible == ',';
    }
    return id;
}

/* Groups ranks by computer, in order of ranks. */
static bool find_hosts(struct comm *c)
{
    c->host_of = calloc(c->size, sizeof *c->host_of);
    c->local_of = calloc(c->size, sizeof *c->local_of);
    c->local_rank = calloc(c->size, sizeof *c->local_rank);
    if (!c->host_of || !c->local_of || !c->local_rank)
        return false;
    uint32_t *first = c->local_rank; /* of each host, for now */
    for (uint32_t r = 0; r < c->size; r++) {
        uint32_t h = 0;
        while (h < c->hosts && memcmp(c->ranks[first[h]].host, c->ranks[r].host, sizeof c->ranks[r].host) != 0)
            h++;
        if (h == c->hosts)
            first[c->hosts++] = r;
        c->host_of[r] = h;
        for (uint32_t q = 0; q < r; q++)
            c->local_of[r] += c->host_of[q] == h;
    }
    c->host = c->host_of[c->rank];
    c->me = c->local_of[c->rank];
    c->one_process = true;
    for (uint32_t r = 0; r < c->size; r++)
        if (c->host_of[r] == c->host) {
            c->one_process &= c->ranks[r].pid == (int32_t)getpid();
            c->local_rank[c->local++] = r;
        }
    c->host_size = calloc(c->hosts, sizeof *c->host_size);
    for (uint32_t r = 0; c->host_size && r < c->size; r++)
        c->host_size[c->host_of[r]]++;
    c->rails = c->size;
    for (uint32_t h = 0; c->host_size && h < c->hosts; h++)
        c->rails = c->host_size[h] < c->rails ? c->host_size[h] : c->rails;
    c->rank_at = calloc((size_t)c->hosts * c->rails, sizeof *c->rank_at);
    if (!c->host_size || !c->rank_at)
        return false;
    for (uint32_t r = 0; r < c->size; r++)
        if (c->local_of[r] < c->rails)
            c->rank_at[c->host_of[r] * c->rails + c->local_of[r]] = r;
    cpu_set_t cpus;
    uint32_t n = sched_getaffinity(0, sizeof cpus, &cpus) ? 1 : (uint32_t)CPU_COUNT(&cpus);
    c->crowded = c->local > n;
    c->serial = 2 * c->local > n;
    return true;
}

/* What the first rank of each computer tells the others of it. */
struct board_piece {
    int32_t fd;
    int32_t ready;
    char why[248];
};

/* Gathers whether all ranks are well; the first that is not says why. */
static HcclResult agree(struct comm *c, uint64_t step, HcclResult mine, int32_t fd, struct board_piece *all)
{
    struct board_piece piece = {.fd = fd, .ready = mine == HCCL_SUCCESS};
    if (mine)
        snprintf(piece.why, sizeof piece.why, "result %d: %s", (int)mine, HcclGetErrorString(mine));
    HcclResult result = meet_gather(c->meet, c->salt * 8 + step, c->size, c->rank, &piece, sizeof piece, all);
    if (mine || result)
        return mine ? mine : result;
    for (uint32_t r = 0; r < c->size; r++)
        if (!all[r].ready)
            return hccl_fail(HCCL_E_REMOTE, EI_MEETING "rank %u cannot join: %s.", r, all[r].why);
    return HCCL_SUCCESS;
}

/* Board and other ties to the ranks of this computer. */
static HcclResult tie(struct comm *c)
{
    struct board_piece *all = calloc(c->size, sizeof *all);
    if (!all)
        return hccl_fail(HCCL_E_MEMORY, EI_RESOURCE "the host is out of memory");
    if (c->me == 0)
        c->board = board_new(c->local);
    HcclResult result =
        agree(c, 1, c->me == 0 && !c->board ? HCCL_E_MEMORY : HCCL_SUCCESS, c->board ? c->board->fd : -1, all);
    uint32_t first = c->local_rank[0];
    if (!result && c->me != 0)
        c->board = board_open(c->local, c->ranks[first].pid, all[first].fd);
    for (uint32_t i = 0; !result && i < c->local; i++) {
        int32_t pid = c->ranks[c->local_rank[i]].pid;
        c->pidfds[i] = pid == (int32_t)getpid() ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);
    }
    if (!result)
        result = agree(c, 2, c->board ? HCCL_SUCCESS : HCCL_E_MEMORY, -1, all);
    if (c->me == 0 && c->board)
        board_seal(c->board);
    free(all);
    return result;
}

/* The first rank of each computer reaches the next one's, and is reached. */
static HcclResult greet(struct comm *c)
{
    if (c->me != 0)
        return HCCL_SUCCESS;
    uint32_t next = c->rank_at[(c->host + 1) % c->hosts * c->rails],
             before = c->rank_at[(c->host + c->hosts - 1) % c->hosts * c->rails];
    const uint64_t tag = UINT64_C(0xf) << 60;
    uint32_t mine = c->rank, theirs = c->size;
    struct net_request sent, got;
    net_receive(c->net, tag | before, &theirs, sizeof theirs, &got);
    net_send(c->net, next, tag | c->rank, &mine, sizeof mine, &sent);
    int64_t deadline = clock_ns() + settings_connect_ns();
    while ((atomic_load(&sent.state) == 0 || atomic_load(&got.state) == 0) && atomic_load(&sent.state) >= 0 &&
           atomic_load(&got.state) >= 0 && clock_ns() < deadline)
        if (!net_progress(c->net))
            net_sleep(c->net, 1000000);
    bool ok = atomic_load(&sent.state) == 1 && atomic_load(&got.state) == 1;
    const char *why = *sent.why ? sent.why : *got.why ? got.why : "no answer";
    uint32_t who = atomic_load(&sent.state) == 1 ? before : next;
    if (!ok)
        hccl_fail(HCCL_E_TIMEOUT,
                  EI_LINK
                  "Getting socket times out. Reason: rank %u (%s, %s) has no connection to rank %u (%s, %s): %s "
                  "(HCCL_CONNECT_TIMEOUT is %lld s).",
                  c->rank, c->ranks[c->rank].host_name, c->ranks[c->rank].ip, who, c->ranks[who].host_name,
                  c->ranks[who].ip, why, (long long)(settings_connect_ns() / 1000000000));
    net_cancel(c->net, &got);
    net_cancel(c->net, &sent);
    return ok ? HCCL_SUCCESS : HCCL_E_TIMEOUT;
}

/* Ties to other computers. */
static HcclResult span(struct comm *c)
{
    struct board_piece *well = calloc(c->size, sizeof *well);
    char *addresses = calloc(c->size, NET_ADDRESS), mine[NET_ADDRESS] = {0}, interface[64];
    HcclResult result = HCCL_SUCCESS;
    if (!well || !addresses)
        result = hccl_fail(HCCL_E_MEMORY, EI_RESOURCE "the host is out of memory");
    else if (!(c->net = net_new(settings_interface(c->ranks[c->rank].ip, interface, sizeof interface))))
        result = HCCL_E_NETWORK;
    result = well ? agree(c, 3, result, -1, well) : result;
    if (!result && net_address(c->net, mine))
        result = meet_gather(c->meet, c->salt * 8 + 4, c->size, c->rank, mine, sizeof mine, addresses);
    if (!result && !net_connect(c->net, c->size, addresses))
        result = hccl_fail(HCCL_E_MEMORY, EI_RESOURCE "the host is out of memory");
    if (!result)
        result = agree(c, 5, greet(c), -1, well);
    free(addresses);
    free(well);
    return result;
}

static void comm_free(struct comm *c)
{
    for (uint32_t i = 0; i < atomic_load(&c->map_count); i++)
        share_release(&c->maps[i].share);
    for (uint32_t i = 0; c->pidfds && i < c->local; i++)
        if (c->pidfds[i] >= 0)
            close(c->pidfds[i]);
    if (c->board) {
        atomic_store(&c->board->ranks[c->me].left, 1);
        board_ring_all(c->board, c->me);
        board_free(c->board);
    }
    if (c->net) {
        meet_tell_left(c->meet, c->salt, c->rank);
        net_free(c->net);
    }
    if (c->meet)
        meet_leave(c->meet);
    free(c->scratch[0]);
    free(c->scratch[1]);
    free(c->host_size);
    free(c->rank_at);
    pthread_mutex_destroy(&c->scratch_lock);
    free(c->ranks);
    free(c->local_rank);
    free(c->host_of);
    free(c->local_of);
    free(c->pidfds);
    free((void *)c->sent);
    free((void *)c->received);
    pthread_mutex_destroy(&c->map_lock);
    pthread_mutex_destroy(&c->fail_lock);
    free(c);
}

static HcclResult check_ranks(const struct comm *c)
{
    for (uint32_t r = 0; r < c->size; r++) {
        const struct rank_info *info = &c->ranks[r];
        if (info->version != VERSION)
            return hccl_fail(HCCL_E_PARA, EI_VERSION "rank %u runs version %u of this library, rank %u version %u.", r,
                             info->version, c->rank, (unsigned)VERSION);
        if (strncmp(info->name, c->ranks[0].name, sizeof info->name) != 0)
            return hccl_fail(HCCL_E_PARA, EI_DIFFERENT "parameter hcclCommName, rank 0 has \"%s\", rank %u has \"%s\".",
                             c->ranks[0].name, r, info->name);
    }
    return HCCL_SUCCESS;
}

HcclResult comm_describe(const struct comm_options *options, struct rank_info *info, int32_t *device)
{
    int status = aclrtGetDevice(device);
    if (status)
        return hccl_from(status);
    *info = (struct rank_info){.pid = (int32_t)getpid(), .version = VERSION, .place = options->rank};
    describe_host(info);
    info->device = physical_device(*device);
    memcpy(info->name, options->name, sizeof info->name);
    return settings_ip(info->ip, sizeof info->ip);
}

HcclResult comm_new(struct meet *meet, const struct comm_options *options, const struct rank_info *infos,
                    int32_t device, struct comm **out)
{
    struct comm *c = calloc(1, sizeof *c);
    if (!c) {
        meet_leave(meet);
        return hccl_fail(HCCL_E_MEMORY, EI_RESOURCE "the host is out of memory");
    }
    c->meet = meet;
    c->size = options->size;
    c->rank = options->rank;
    c->salt = options->salt;
    c->device = device;
    c->exec_ns = options->exec_seconds >= 0 ? (int64_t)options->exec_seconds * 1000000000 : settings_exec_ns();
    pthread_mutex_init(&c->map_lock, NULL);
    pthread_mutex_init(&c->fail_lock, NULL);
    pthread_mutex_init(&c->scratch_lock, NULL);
    atomic_store(&c->refs, 1);
    c->ranks = malloc(c->size * sizeof *c->ranks);
    c->sent = calloc(BOARD_LANES * (size_t)c->size, sizeof *c->sent);
    c->received = calloc(BOARD_LANES * (size_t)c->size, sizeof *c->received);
    c->pidfds = malloc(c->size * sizeof *c->pidfds);
    HcclResult result = HCCL_SUCCESS;
    if (c->ranks)
        memcpy(c->ranks, infos, c->size * sizeof *c->ranks);
    if (!c->ranks || !c->sent || !c->received || !c->pidfds || !find_hosts(c))
        result = hccl_fail(HCCL_E_MEMORY, EI_RESOURCE "the host is out of memory");
    for (uint32_t i = 0; c->pidfds && i < c->local; i++)
        c->pidfds[i] = -1;
    if (!result && c->hosts > HOSTS_MAX)
        result = hccl_fail(HCCL_E_NOT_SUPPORT, EI_CLUSTER "ranks are on %u computers, %d can be.", c->hosts, HOSTS_MAX);
    if (!result && c->local > LOCAL_MAX)
        result =
            hccl_fail(HCCL_E_NOT_SUPPORT, EI_CLUSTER "%u ranks are on one computer, %d can be.", c->local, LOCAL_MAX);
    if (!result)
        result = check_ranks(c);
    if (!result)
        result = tie(c);
    if (!result && c->hosts > 1)
        result = span(c);
    if (result) {
        comm_free(c);
        return result;
    }
    const char *name = *c->ranks[0].name ? c->ranks[0].name : meet_name(meet);
    if (c->salt && !*c->ranks[0].name)
        snprintf(c->name, sizeof c->name, "%.90s_%016llx", name, (unsigned long long)c->salt);
    else
        snprintf(c->name, sizeof c->name, "%s", name);
    log_line(ACL_INFO, "HCCL", "communicator %s: rank %u of %u, device %d, %u of %u ranks on this computer", c->name,
             c->rank, c->size, c->device, c->local, c->size);
    pthread_mutex_lock(&list_lock);
    c->next = all_comms;
    all_comms = c;
    pthread_mutex_unlock(&list_lock);
    *out = c;
    return HCCL_SUCCESS;
}

struct comm *comm_get(HcclComm handle, const char *function)
{
    if (entry_check())
        return NULL;
    pthread_mutex_lock(&list_lock);
    struct comm *c = all_comms;
    while (c && c != handle)
        c = c->next;
    if (c)
        atomic_fetch_add(&c->refs, 1);
    pthread_mutex_unlock(&list_lock);
    if (!c)
        hccl_fail(HCCL_E_PARA,
                  EI_PARAMETER "value %p of parameter comm of %s is not a communicator (destroyed, or never "
                               "made).",
                  handle, function);
    return c;
}

void comm_put(struct comm *c)
{
    if (atomic_fetch_sub(&c->refs, 1) == 1)
        comm_free(c);
}

HcclResult comm_destroy(HcclComm handle)
{
    pthread_mutex_lock(&list_lock);
    struct comm **p = &all_comms;
    while (*p && *p != handle)
        p = &(*p)->next;
    struct comm *c = *p;
    if (c)
        *p = c->next;
    pthread_mutex_unlock(&list_lock);
    if (!c)
        return hccl_fail(HCCL_E_PARA,
                         EI_PARAMETER
                         "value %p of parameter comm of HcclCommDestroy is not a communicator (destroyed, or "
                         "never made).",
                         handle);
    atomic_store(&c->destroyed, true);
    window_forget(c);
    comm_put(c);
    return HCCL_SUCCESS;
}

/* Keeps the first failure; true when it is this one. */
static bool keep_failure(struct comm *c, HcclResult result, int code, const char *text, bool own)
{
    pthread_mutex_lock(&c->fail_lock);
    bool first = !atomic_load(&c->failed);
    if (first) {
        c->result = result;
        c->own = own;
        snprintf(c->text, sizeof c->text, "%s", text);
        atomic_store(&c->failed, code);
    }
    pthread_mutex_unlock(&c->fail_lock);
    return first;
}

int comm_fail(struct comm *c, HcclResult result, int code, const char *fmt, ...)
{
    char text[COMM_TEXT];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (!keep_failure(c, result, code, text, true))
        return atomic_load(&c->failed);
    struct board_head *head = c->board->head;
    uint32_t none = 0;
    if (atomic_compare_exchange_strong(&head->broken, &none, 1)) {
        head->result = result;
        memcpy(head->text, text, sizeof text);
        atomic_store(&head->broken, 2);
        board_ring_all(c->board, c->me);
    }
    if (c->hosts > 1)
        meet_tell(c->meet, c->salt, result, text);
    return code;
}

int comm_failure(struct comm *c)
{
    int code = atomic_load_explicit(&c->failed, memory_order_acquire);
    if (code)
        return code;
    struct board_head *head = c->board->head;
    int result = HCCL_SUCCESS;
    char text[COMM_TEXT];
    if (atomic_load_explicit(&head->broken, memory_order_acquire) == 2) {
        result = head->result;
        memcpy(text, head->text, sizeof text);
        text[sizeof text - 1] = 0;
    } else if (c->hosts == 1 || !meet_poll(c->meet, c->salt, &result, text, sizeof text)) {
        return 0;
    }
    keep_failure(c, (HcclResult)result,
                 result == HCCL_E_TIMEOUT ? ACL_ERROR_RT_FFTS_PLUS_TIMEOUT : ACL_ERROR_RT_FFTS_PLUS_EXCEPTION, text,
                 false);
    return atomic_load(&c->failed);
}

bool comm_lost(struct comm *c, uint32_t rank, const char **how)
{
    if (c->host_of[rank] != c->host) {
        *how = "has destroyed its communicator";
        if (meet_left(c->meet, c->salt, rank))
            return true;
        *how = "has ended";
        return meet_lost(c->meet, c->ranks[rank].place);
    }
    uint32_t i = c->local_of[rank];
    if (atomic_load(&c->board->ranks[i].left)) {
        *how = "has destroyed its communicator";
        return true;
    }
    struct pollfd p = {.fd = c->pidfds[i], .events = POLLIN};
    *how = "has ended";
    return p.fd >= 0 && poll(&p, 1, 0) > 0;
}

/* The maps are few: a rank's device memory is one file. Readers need no lock: entries only come. */
char *comm_map(struct comm *c, uint32_t local, const struct share *share)
{
    int32_t pid = c->ranks[c->local_rank[local]].pid;
    uint32_t n = atomic_load_explicit(&c->map_count, memory_order_acquire);
    for (uint32_t i = 0; i < n; i++)
        if (c->maps[i].share.pid == pid && c->maps[i].share.fd == share->fd)
            return c->maps[i].base + share->offset;
    char *found = NULL;
    pthread_mutex_lock(&c->map_lock);
    n = atomic_load(&c->map_count);
    for (uint32_t i = 0; i < n && !found; i++)
        if (c->maps[i].share.pid == pid && c->maps[i].share.fd == share->fd)
            found = c->maps[i].base + share->offset;
    if (!found && n < COMM_MAPS) {
        struct map *m = &c->maps[n];
        void *address = NULL;
        m->share = *share;
        m->share.pid = pid;
        if (share_import(&m->share, &address) == ACL_SUCCESS) {
            m->base = (char *)device_address(address) - share->offset;
            atomic_store_explicit(&c->map_count, n + 1, memory_order_release);
            found = m->base + share->offset;
        }
    }
    pthread_mutex_unlock(&c->map_lock);
    return found;
}
