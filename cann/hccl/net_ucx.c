/* SPDX-License-Identifier: BSD-3-Clause */
/* net.h by UCX's tagged messages. libucp is opened at run time, so that libhccl.so needs it only where ranks are on
 * several computers. UCX's transports through shared memory stay off: on one computer the board is faster, and their
 * segments would outlive killed processes. One UCX context a process, one worker a communicator, with a lock. */
#ifdef ANYNPU_UCX
#define _GNU_SOURCE
#include "net.h"

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#include "error.h"

/* The functions we use; UCX's own declarations are their types. */
#define FUNCTIONS(X)                                                                                                   \
    X(ucp_config_read)                                                                                                 \
    X(ucp_config_modify)                                                                                               \
    X(ucp_config_release)                                                                                              \
    X(ucp_init_version)                                                                                                \
    X(ucp_worker_create)                                                                                               \
    X(ucp_worker_destroy)                                                                                              \
    X(ucp_worker_get_address)                                                                                          \
    X(ucp_worker_release_address)                                                                                      \
    X(ucp_worker_progress)                                                                                             \
    X(ucp_worker_arm)                                                                                                  \
    X(ucp_worker_get_efd)                                                                                              \
    X(ucp_worker_flush_nbx)                                                                                            \
    X(ucp_ep_create)                                                                                                   \
    X(ucp_ep_close_nbx)                                                                                                \
    X(ucp_tag_send_nbx)                                                                                                \
    X(ucp_tag_recv_nbx)                                                                                                \
    X(ucp_request_check_status)                                                                                        \
    X(ucp_request_free)                                                                                                \
    X(ucp_request_cancel)
#define MEMBER(name) __typeof__(name) *name;
static struct {
    FUNCTIONS(MEMBER)
    __typeof__(ucs_status_string) *ucs_status_string;
} ucx;
static ucp_context_h context;
static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
static char fault[256];

struct net {
    pthread_mutex_t lock;
    ucp_worker_h worker;
    ucp_address_t *address;
    size_t address_bytes;
    int fd;
    uint32_t ranks;
    char *addresses;
    ucp_ep_h *ends;
    _Atomic uint8_t *broken;
};

/* Under start_lock, once. */
static void start(const char *interface)
{
    /* UCX reads its environment when it is loaded. A crash of the process is not UCX's to report, and what it has to
     * say of lost connections we say ourselves. */
    setenv("UCX_ERROR_SIGNALS", "", 0);
    setenv("UCX_LOG_LEVEL", "fatal", 0);
    setenv("UCX_WARN_UNUSED_ENV_VARS", "n", 0);
    setenv("UCX_TCP_TX_SEG_SIZE", "128k", 0);
    setenv("UCX_TCP_RX_SEG_SIZE", "256k", 0);
    void *lib = dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
        snprintf(fault, sizeof fault, "UCX cannot be loaded (%s); install it (Debian: libucx0)", dlerror());
        return;
    }
#define LOAD(name)                                                                                                     \
    *(void **)&ucx.name = dlsym(lib, #name);                                                                           \
    if (!ucx.name) {                                                                                                   \
        snprintf(fault, sizeof fault, "this UCX is too old: it lacks %s", #name);                                      \
        return;                                                                                                        \
    }
    FUNCTIONS(LOAD)
    LOAD(ucs_status_string)
    ucp_config_t *config = NULL;
    ucs_status_t status = ucx.ucp_config_read(NULL, NULL, &config);
    if (status == UCS_OK) {
        if (!getenv("UCX_TLS"))
            ucx.ucp_config_modify(config, "TLS", "^posix,sysv,xpmem,cma,knem");
        if (*interface && !getenv("UCX_NET_DEVICES") && access("/sys/class/infiniband", F_OK) != 0)
            ucx.ucp_config_modify(config, "NET_DEVICES", interface);
        ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_MT_WORKERS_SHARED,
                               .features = UCP_FEATURE_TAG | UCP_FEATURE_WAKEUP,
                               .mt_workers_shared = 1};
        status = ucx.ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &context);
        ucx.ucp_config_release(config);
    }
    if (status != UCS_OK)
        snprintf(fault, sizeof fault, "UCX cannot start: %s", ucx.ucs_status_string(status));
}

static struct net *refuse(struct net *n, const char *what)
{
    hccl_fail(HCCL_E_NETWORK, EI_LINK "the ranks are on several computers, which UCX is to join: %s.", what);
    if (n)
        net_free(n);
    return NULL;
}

struct net *net_new(const char *interface)
{
    pthread_mutex_lock(&start_lock);
    if (!context && !*fault)
        start(interface);
    pthread_mutex_unlock(&start_lock);
    if (*fault)
        return refuse(NULL, fault);
    struct net *n = calloc(1, sizeof *n);
    if (!n)
        return refuse(NULL, "the host is out of memory");
    pthread_mutex_init(&n->lock, NULL);
    ucp_worker_params_t params = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                  .thread_mode = UCS_THREAD_MODE_SERIALIZED};
    ucs_status_t status = ucx.ucp_worker_create(context, &params, &n->worker);
    if (status == UCS_OK)
        status = ucx.ucp_worker_get_address(n->worker, &n->address, &n->address_bytes);
    if (status == UCS_OK)
        status = ucx.ucp_worker_get_efd(n->worker, &n->fd);
    if (status != UCS_OK || n->address_bytes > NET_ADDRESS - sizeof(uint32_t))
        return refuse(n, status != UCS_OK ? ucx.ucs_status_string(status) : "its address is too long");
    return n;
}

void net_free(struct net *n)
{
    for (uint32_t r = 0; n->ends && r < n->ranks; r++) {
        if (!n->ends[r])
            continue;
        ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
                                     .flags = n->broken[r] ? UCP_EP_CLOSE_FLAG_FORCE : 0};
        ucs_status_ptr_t request = ucx.ucp_ep_close_nbx(n->ends[r], &param);
        for (int i = 0; UCS_PTR_IS_PTR(request) && i < 2000; i++) {
            if (ucx.ucp_request_check_status(request) != UCS_INPROGRESS)
                break;
            if (!ucx.ucp_worker_progress(n->worker))
                usleep(100);
        }
        if (UCS_PTR_IS_PTR(request))
            ucx.ucp_request_free(request);
    }
    if (n->address)
        ucx.ucp_worker_release_address(n->worker, n->address);
    if (n->worker)
        ucx.ucp_worker_destroy(n->worker);
    pthread_mutex_destroy(&n->lock);
    free(n->addresses);
    free(n->ends);
    free((void *)n->broken);
    free(n);
}

bool net_address(const struct net *n, char *out)
{
    uint32_t bytes = (uint32_t)n->address_bytes;
    memset(out, 0, NET_ADDRESS);
    memcpy(out, &bytes, sizeof bytes);
    memcpy(out + sizeof bytes, n->address, bytes);
    return true;
}

bool net_connect(struct net *n, uint32_t ranks, const char *addresses)
{
    n->ends = calloc(ranks, sizeof *n->ends);
    n->broken = calloc(ranks, sizeof *n->broken);
    n->addresses = malloc((size_t)ranks * NET_ADDRESS);
    n->ranks = ranks;
    if (!n->ends || !n->broken || !n->addresses)
        return false;
    memcpy(n->addresses, addresses, (size_t)ranks * NET_ADDRESS);
    return true;
}

static void on_failure(void *arg, ucp_ep_h end, ucs_status_t status)
{
    struct net *n = arg;
    (void)status;
    for (uint32_t r = 0; r < n->ranks; r++)
        if (n->ends[r] == end)
            atomic_store(&n->broken[r], 1);
}

/* Under the lock. The endpoint of a rank, made at its first message. */
static ucs_status_t end_of(struct net *n, uint32_t rank, ucp_ep_h *end)
{
    ucs_status_t status = UCS_OK;
    if (!n->ends[rank]) {
        ucp_ep_params_t params = {
            .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                          UCP_EP_PARAM_FIELD_ERR_HANDLER,
            .address = (const ucp_address_t *)(n->addresses + (size_t)rank * NET_ADDRESS + sizeof(uint32_t)),
            .err_mode = UCP_ERR_HANDLING_MODE_PEER,
            .err_handler = {.cb = on_failure, .arg = n}};
        status = ucx.ucp_ep_create(n->worker, &params, &n->ends[rank]);
    }
    *end = n->ends[rank];
    return status;
}

static void finish(struct net_request *r, ucs_status_t status)
{
    if (status != UCS_OK)
        snprintf(r->why, sizeof r->why, "%s", ucx.ucs_status_string(status));
    atomic_store_explicit(&r->state, status == UCS_OK ? 1 : -1, memory_order_release);
}

static void on_sent(void *request, ucs_status_t status, void *arg)
{
    ((struct net_request *)arg)->handle = NULL;
    ucx.ucp_request_free(request);
    finish(arg, status);
}

static void on_received(void *request, ucs_status_t status, const ucp_tag_recv_info_t *info, void *arg)
{
    struct net_request *r = arg;
    r->length = info->length;
    r->handle = NULL;
    if (status == UCS_ERR_MESSAGE_TRUNCATED) { /* longer than expected: the length says it */
        r->length = info->length ? info->length : SIZE_MAX;
        status = UCS_OK;
    }
    ucx.ucp_request_free(request);
    finish(r, status);
}

static void begin(struct net_request *r, bool receive)
{
    r->receive = receive;
    r->handle = NULL;
    r->length = 0;
    *r->why = 0;
    atomic_store(&r->state, 0);
}

/* What a call answered: pending, done at once, or failed. */
static void keep(struct net_request *r, ucs_status_ptr_t got)
{
    if (UCS_PTR_IS_PTR(got))
        r->handle = atomic_load(&r->state) ? NULL : got;
    else
        finish(r, UCS_PTR_STATUS(got));
}

void net_send(struct net *n, uint32_t rank, uint64_t tag, const void *data, size_t bytes, struct net_request *r)
{
    begin(r, false);
    pthread_mutex_lock(&n->lock);
    ucp_ep_h end;
    ucs_status_t status = end_of(n, rank, &end);
    if (status == UCS_OK) {
        ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                                                     UCP_OP_ATTR_FIELD_MEMORY_TYPE,
                                     .cb.send = on_sent,
                                     .user_data = r,
                                     .memory_type = UCS_MEMORY_TYPE_HOST};
        keep(r, ucx.ucp_tag_send_nbx(end, data, bytes, tag, &param));
    } else {
        finish(r, status);
    }
    pthread_mutex_unlock(&n->lock);
}

void net_receive(struct net *n, uint64_t tag, void *data, size_t bytes, struct net_request *r)
{
    begin(r, true);
    pthread_mutex_lock(&n->lock);
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                                                 UCP_OP_ATTR_FIELD_MEMORY_TYPE | UCP_OP_ATTR_FLAG_NO_IMM_CMPL,
                                 .cb.recv = on_received,
                                 .user_data = r,
                                 .memory_type = UCS_MEMORY_TYPE_HOST};
    ucs_status_ptr_t got = ucx.ucp_tag_recv_nbx(n->worker, data, bytes, tag, UINT64_MAX, &param);
    keep(r, got); /* never done without the callback, which knows the length */
    pthread_mutex_unlock(&n->lock);
}

void net_flush(struct net *n, struct net_request *r)
{
    begin(r, false);
    pthread_mutex_lock(&n->lock);
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA, .cb.send = on_sent, .user_data = r};
    keep(r, ucx.ucp_worker_flush_nbx(n->worker, &param));
    pthread_mutex_unlock(&n->lock);
}

bool net_progress(struct net *n)
{
    if (pthread_mutex_trylock(&n->lock))
        return false;
    unsigned moved = 0, now;
    while ((now = ucx.ucp_worker_progress(n->worker)) != 0 && moved < 64)
        moved += now;
    pthread_mutex_unlock(&n->lock);
    return moved > 0;
}

void net_sleep(struct net *n, int64_t ns)
{
    pthread_mutex_lock(&n->lock);
    ucs_status_t status = ucx.ucp_worker_arm(n->worker);
    pthread_mutex_unlock(&n->lock);
    if (status != UCS_OK) /* something has come */
        return;
    struct pollfd p = {.fd = n->fd, .events = POLLIN};
    ppoll(&p, 1, &(struct timespec){ns / 1000000000, ns % 1000000000}, NULL);
}

bool net_cancel(struct net *n, struct net_request *r)
{
    if (atomic_load(&r->state) != 0)
        return true;
    pthread_mutex_lock(&n->lock);
    if (atomic_load(&r->state) == 0 && r->handle)
        ucx.ucp_request_cancel(n->worker, r->handle);
    for (uint32_t k = 0; !r->receive && atomic_load(&r->state) == 0 && k < n->ranks; k++)
        if (n->ends[k]) { /* a send ends with its endpoint */
            ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_EP_CLOSE_FLAG_FORCE};
            ucs_status_ptr_t got = ucx.ucp_ep_close_nbx(n->ends[k], &param);
            n->ends[k] = NULL;
            atomic_store(&n->broken[k], 1);
            if (UCS_PTR_IS_PTR(got))
                ucx.ucp_request_free(got);
        }
    for (int i = 0; i < 1000 && atomic_load(&r->state) == 0; i++)
        if (!ucx.ucp_worker_progress(n->worker))
            usleep(100);
    pthread_mutex_unlock(&n->lock);
    return atomic_load(&r->state) != 0;
}

bool net_broken(const struct net *n, uint32_t rank)
{
    return atomic_load(&n->broken[rank]);
}
#endif
