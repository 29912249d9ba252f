/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The raw limits of a libfabric provider on this machine, without GASNet: a round trip of a
 * message, puts and gets of 8 bytes, and a stream of large puts, between two processes. This is a
 * separate program because gasnet_perf is compiled without libfabric. The script `compare` starts
 * it and adds its lines to those of gasnet_perf.
 *
 * What is always true: both processes spin on their completion queues, as few providers work
 * without calls from their user. The child answers messages until the parent ends it. A put is
 * complete when the peer has the bytes: a provider may complete a plain write when it is sent. All
 * memory has been written to: pages that are only read are one page of zeros, which stays in the
 * cache, and puts from there are up to 1.7 times as fast as any program's.
 */
#include <errno.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char usage[] =
    "usage: raw_ofi PROVIDER [BYTES [SECONDS]] [OPTION...]\n"
    "\n"
    "PROVIDER is as in FI_PROVIDER, such as \"tcp;ofi_rxm\". BYTES is the size of a large put\n"
    "(1048576), SECONDS the time of a measurement (0.2). Prints one JSON object per line, like\n"
    "gasnet_perf --json. Set the options that make the provider fastest:\n"
    "\n"
    "  --node ADDRESS  the address of this host to use (127.0.0.1; none for shm)\n"
    "  --auto          the progress that the provider prefers, instead of FI_PROGRESS_MANUAL: a\n"
    "                  thread of the provider may compete with both processes for the processors\n"
    "  --multi-recv    large buffers with FI_MULTI_RECV instead of a receive for each message\n"
    "  --wait-fd       a completion queue with FI_WAIT_FD instead of FI_WAIT_NONE\n"
    "  --each          of 64 pipelined puts, each waits for its delivery, not only the last\n"
    "  --yield N       empty reads of the completion queue before the process yields (1000)\n";

enum {
    SMALL = 8,
    RECEIVES = 64,
    MULTI_BYTES = 1 << 16,
    IN_FLIGHT = 16,
    RATE_WINDOW = 64,
    BATCHES = 15,
    MOST_BATCHES = 255,
    ENTRIES = 16,
    NAME_BYTES = 256
};

static struct {
    const char *provider, *node;
    size_t bytes;
    double seconds;
    bool automatic, multi, wait_fd, each;
    unsigned long yield;
} options = {.node = "127.0.0.1", .bytes = 1 << 20, .seconds = 0.2, .yield = 1000};

/* What each process tells the other. */
typedef struct {
    char name[NAME_BYTES];
    uint64_t key, base;
} peer_t;

static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_av *av;
static struct fid_cq *cq;
static struct fid_ep *ep;
static struct fid_mr *mr;
static void *desc;      /* of the memory below */
static char *memory;    /* the receives, then the target and source of puts and gets */
static char *payload;   /* the part of memory after the receives */
static peer_t peer;     /* of the other process */
static fi_addr_t there; /* the other process, in av */
static int sending;     /* the op_context of all operations but receives */
static unsigned long completed, received;
static volatile sig_atomic_t ended; /* in the child: the parent has measured */

static void die(const char *what, int code)
{
    fprintf(stderr, "raw_ofi: %s: cannot %s: %s\n", options.provider, what, fi_strerror(code));
    exit(1);
}

/* Ends the program unless `code`, a result of libfabric, is 0. */
static void need(int code, const char *what)
{
    if (code)
        die(what, code < 0 ? -code : code);
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void receive_post(size_t i)
{
    size_t bytes = options.multi ? MULTI_BYTES : SMALL;
    struct iovec part = {.iov_base = memory + i * bytes, .iov_len = bytes};
    struct fi_msg message = {.msg_iov = &part,
                             .desc = &desc,
                             .iov_count = 1,
                             .addr = FI_ADDR_UNSPEC,
                             .context = memory + i};
    ssize_t code = fi_recvmsg(ep, &message, options.multi ? FI_MULTI_RECV : FI_COMPLETION);

    need((int)code, "post a receive");
}

static size_t receive_count(void)
{
    return options.multi ? 2 : RECEIVES;
}

static void queue_die(void)
{
    struct fi_cq_err_entry error = {.err = FI_EOTHER};

    fi_cq_readerr(cq, &error, 0);
    die("complete an operation", abs(error.err));
}

static void entry_take(const struct fi_cq_msg_entry *entry)
{
    if (entry->op_context == &sending) {
        completed++;
        return;
    }
    if (entry->flags & FI_RECV)
        received++;
    if (!options.multi || entry->flags & FI_MULTI_RECV)
        receive_post((size_t)((char *)entry->op_context - memory));
}

/* Reads the completion queue. Lets threads of the provider run when it has been empty for long. */
static void progress(void)
{
    static unsigned long empty;
    struct fi_cq_msg_entry entries[ENTRIES];
    ssize_t count = fi_cq_read(cq, entries, ENTRIES);

    if (count == -FI_EAVAIL)
        queue_die();
    if (count < 0 && count != -FI_EAGAIN)
        die("read the completion queue", (int)-count);
    for (ssize_t i = 0; i < count; i++)
        entry_take(&entries[i]);
    if (count > 0) {
        empty = 0;
    } else if (++empty >= options.yield) {
        empty = 0;
        sched_yield();
    }
}

/* Says whether to try again to post an operation, after it returned `code`. */
static bool refused(ssize_t code)
{
    if (code == -FI_EAGAIN)
        progress();
    else
        need((int)code, "post an operation");
    return code != 0;
}

static void message_send(void)
{
    while (refused(fi_inject(ep, payload, SMALL, there)))
        ;
}

static void put_post(size_t bytes, uint64_t flags)
{
    struct iovec part = {.iov_base = payload, .iov_len = bytes};
    struct fi_rma_iov target = {.addr = peer.base, .len = bytes, .key = peer.key};
    struct fi_msg_rma message = {.msg_iov = &part,
                                 .desc = &desc,
                                 .iov_count = 1,
                                 .addr = there,
                                 .rma_iov = &target,
                                 .rma_iov_count = 1,
                                 .context = &sending};

    while (refused(fi_writemsg(ep, &message, flags | FI_COMPLETION)))
        ;
}

static void completions_wait(unsigned long goal)
{
    while (completed < goal)
        progress();
}

static void run_pings(unsigned long n)
{
    for (unsigned long i = 0; i < n; i++) {
        unsigned long goal = received + 1;
        message_send();
        while (received < goal)
            progress();
    }
}

static void run_puts(unsigned long n)
{
    for (unsigned long i = 0; i < n; i++) {
        unsigned long goal = completed + 1;
        put_post(SMALL, FI_DELIVERY_COMPLETE);
        completions_wait(goal);
    }
}

/* Puts RATE_WINDOW at a time. Waits for each of them where the provider may reorder puts. */
static void run_put_windows(unsigned long n)
{
    bool each = options.each || info->ep_attr->max_order_waw_size < SMALL;

    for (unsigned long i = 0; i < n; i++) {
        unsigned long goal = completed + RATE_WINDOW;
        for (int w = 1; w <= RATE_WINDOW; w++)
            put_post(SMALL, each || w == RATE_WINDOW ? FI_DELIVERY_COMPLETE : 0);
        completions_wait(goal);
    }
}

static void run_gets(unsigned long n)
{
    for (unsigned long i = 0; i < n; i++) {
        unsigned long goal = completed + 1;
        while (refused(fi_read(ep, payload, SMALL, desc, there, peer.base, peer.key, &sending)))
            ;
        completions_wait(goal);
    }
}

/* Keeps IN_FLIGHT large puts pending. */
static void run_stream(unsigned long n)
{
    unsigned long first = completed;

    for (unsigned long i = 0; i < n; i++) {
        if (i >= IN_FLIGHT)
            completions_wait(first + i - IN_FLIGHT + 1);
        put_post(options.bytes, FI_DELIVERY_COMPLETE);
    }
    completions_wait(first + n);
}

static double batch_time(void (*work)(unsigned long), unsigned long n)
{
    double start = now();

    work(n);
    return now() - start;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Returns the seconds of one operation, as the median of the batches. */
static double measure_median(void (*work)(unsigned long))
{
    double took[MOST_BATCHES], total = 0, goal = options.seconds / BATCHES;
    unsigned long n = 1;
    size_t count = 0;

    while (batch_time(work, n) < goal || batch_time(work, n) < goal)
        n *= 2;
    while (count < MOST_BATCHES && (count < BATCHES || total < options.seconds)) {
        took[count] = batch_time(work, n);
        total += took[count++];
    }
    qsort(took, count, sizeof *took, by_value);
    return took[count / 2] / (double)n;
}

static void report_json(const char *test, size_t bytes, double value, const char *unit)
{
    printf("{\"conduit\":\"none\",\"ranks\":2,\"test\":\"%s\",\"bytes\":%zu,\"value\":%.6g,"
           "\"unit\":\"%s\"}\n",
           test, bytes, value, unit);
    fflush(stdout);
}

static void measure_all(void)
{
    double bytes = (double)options.bytes;

    report_json("raw-ofi", SMALL, 1e6 * measure_median(run_pings), "us");
    report_json("raw-ofi-put", SMALL, 1e6 * measure_median(run_puts), "us");
    report_json("raw-ofi-put-rate", SMALL, 1e-6 * RATE_WINDOW / measure_median(run_put_windows),
                "M/s");
    report_json("raw-ofi-get", SMALL, 1e6 * measure_median(run_gets), "us");
    report_json("raw-ofi-bw", options.bytes, 1e-6 * bytes / measure_median(run_stream), "MB/s");
}

static void answer_pings(void)
{
    for (unsigned long answered = 0; !ended; progress())
        for (; answered < received; answered++)
            message_send();
}

static struct fi_info *hints_make(void)
{
    struct fi_info *hints = fi_allocinfo();

    if (!hints)
        die("allocate memory", ENOMEM);
    hints->ep_attr->type = FI_EP_RDM;
    hints->caps = FI_MSG | FI_RMA | (options.multi ? FI_MULTI_RECV : 0);
    hints->domain_attr->mr_mode =
        FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
    if (!options.automatic)
        hints->domain_attr->control_progress = hints->domain_attr->data_progress =
            FI_PROGRESS_MANUAL;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->fabric_attr->prov_name = strdup(options.provider);
    return hints;
}

static void domain_open(void)
{
    struct fi_info *hints = hints_make();
    const char *node = *options.node && strcmp(options.provider, "shm") != 0 ? options.node : NULL;

    need(fi_getinfo(FI_VERSION(1, 5), node, NULL, node ? FI_SOURCE : 0, hints, &info),
         "find the provider with messages and RMA on this address");
    fi_freeinfo(hints);
    need(fi_fabric(info->fabric_attr, &fabric, NULL), "open the fabric");
    need(fi_domain(fabric, info, &domain, NULL), "open the domain");
}

static void endpoint_open(void)
{
    struct fi_av_attr av_attr = {.type = FI_AV_TABLE, .count = 1};
    struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_MSG,
                                 .wait_obj = options.wait_fd ? FI_WAIT_FD : FI_WAIT_NONE};
    size_t least = SMALL;

    need(fi_av_open(domain, &av_attr, &av, NULL), "open an address vector");
    need(fi_cq_open(domain, &cq_attr, &cq, NULL), "open a completion queue");
    need(fi_endpoint(domain, info, &ep, NULL), "open an endpoint");
    need(fi_ep_bind(ep, &av->fid, 0), "bind the address vector");
    need(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), "bind the completion queue");
    need(fi_enable(ep), "enable the endpoint");
    if (options.multi) // after fi_enable, because shm crashes otherwise
        need(fi_setopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof least),
             "set the least room of a receive");
}

static void memory_register(void)
{
    uint64_t access = FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
    size_t before = 2 * MULTI_BYTES, all = before + options.bytes + SMALL;

    memory = malloc(all);
    if (!memory)
        die("allocate memory", ENOMEM);
    memset(memory, 1, all);
    payload = memory + before;
    need(fi_mr_reg(domain, memory, all, access, 0, 1, 0, &mr, NULL), "register memory");
    if (info->domain_attr->mr_mode & FI_MR_ENDPOINT) {
        need(fi_mr_bind(mr, &ep->fid, 0), "bind the memory");
        need(fi_mr_enable(mr), "enable the memory");
    }
    desc = fi_mr_desc(mr);
}

/* Tells the other process, over `fd`, where this one is, and learns the same. */
static void peer_exchange(int fd)
{
    size_t length = NAME_BYTES;
    peer_t own = {.key = fi_mr_key(mr), .base = (uint64_t)(payload - memory)};

    if (info->domain_attr->mr_mode & FI_MR_VIRT_ADDR)
        own.base = (uintptr_t)payload;
    need(fi_getname(&ep->fid, own.name, &length), "get the address of the endpoint");
    if (write(fd, &own, sizeof own) != (ssize_t)sizeof own ||
        recv(fd, &peer, sizeof peer, MSG_WAITALL) != (ssize_t)sizeof peer)
        die("exchange addresses", ECONNRESET);
    if (fi_av_insert(av, peer.name, 1, &there, 0, NULL) != 1)
        die("insert the address of the peer", EINVAL);
}

static void provider_open(int fd)
{
    domain_open();
    endpoint_open();
    memory_register();
    for (size_t i = 0; i < receive_count(); i++)
        receive_post(i);
    peer_exchange(fd);
}

static void provider_close(void)
{
    struct fid *all[] = {&ep->fid, &mr->fid, &cq->fid, &av->fid, &domain->fid, &fabric->fid};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        fi_close(all[i]);
    fi_freeinfo(info);
    free(memory);
}

static void child_end(int number)
{
    ended = number;
}

static void child_run(int fd)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGTERM, child_end);
    provider_open(fd);
    answer_pings();
    provider_close();
    exit(0);
}

static bool usage_fail(void)
{
    fputs(usage, stderr);
    return false;
}

/* Takes an option without a value; says whether there is one with this name. */
static bool flag_take(const char *name)
{
    struct {
        const char *name;
        bool *value;
    } flags[] = {{"--auto", &options.automatic},
                 {"--multi-recv", &options.multi},
                 {"--wait-fd", &options.wait_fd},
                 {"--each", &options.each}};

    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (strcmp(name, flags[i].name) == 0)
            return *flags[i].value = true;
    return false;
}

static bool place_take(int place, const char *text)
{
    char *end = "";

    if (place == 0)
        options.provider = text;
    else if (place == 1)
        options.bytes = strtoul(text, &end, 10);
    else
        options.seconds = strtod(text, &end);
    return place < 3 && *text != '-' && !*end;
}

static bool options_parse(int argc, char **argv)
{
    int place = 0;

    for (int i = 1; i < argc; i++) {
        if (flag_take(argv[i]))
            continue;
        if (strcmp(argv[i], "--node") == 0 && i + 1 < argc)
            options.node = argv[++i];
        else if (strcmp(argv[i], "--yield") == 0 && i + 1 < argc)
            options.yield = strtoul(argv[++i], NULL, 10);
        else if (!place_take(place++, argv[i]))
            return usage_fail();
    }
    return (place > 0 && options.bytes >= SMALL && options.seconds > 0) || usage_fail();
}

int main(int argc, char **argv)
{
    int pair[2];
    pid_t child;

    if (!options_parse(argc, argv))
        return 2;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0 || (child = fork()) < 0)
        die("start a process", errno);
    close(pair[child != 0]);
    if (child == 0)
        child_run(pair[1]);
    provider_open(pair[0]);
    measure_all();
    kill(child, SIGTERM);
    waitpid(child, NULL, 0);
    provider_close();
    return 0;
}
