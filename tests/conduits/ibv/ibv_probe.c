// SPDX-License-Identifier: BSD-3-Clause
// Shows how conduit ibv sees the devices of a host, without a job. Tests run this program in a
// virtual machine.
//
//   ibv_probe list            prints the lines of gasnet_info; exit code 0 if a port can be used
//   ibv_probe memory DEVICE   registers several kinds of memory and prints the results
//   ibv_probe thread DEVICE   checks that completions wake a receive thread
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../../conduits/ibv/verbs/ibv_memory.h"
#include "../../../conduits/ibv/ports/ibv_ports.h"
#include "../../../conduits/ibv/receive/ibv_thread.h"
#include "../../../other/base/settings/settings.h"

static void print_line(void *arg, const char *label, const char *text)
{
    (void)arg;
    printf("%-18s  %s\n", label, text);
}

static int list_devices(void)
{
    char why[512];
    aq_ibv_report(print_line, NULL);
    bool usable = aq_ibv_usable(why, sizeof why);
    printf("%s: %s\n", usable ? "usable" : "not usable", why);
    return usable ? 0 : 1;
}

// ---- memory ----

enum { MIB = 1 << 20 };

static void try_region(aq_ibv_memory_t *memory, const char *what, const void *start,
                       aq_ibv_access_t access)
{
    char why[512] = "";
    struct ibv_mr *region;
    const aq_ibv_area_t area = {what, start, MIB, access};
    aq_status_t status = aq_ibv_memory_register(memory, &area, &region, why, sizeof why);
    printf("%s: %s %s\n", what, aq_status_name(status), why);
    if (status == AQ_OK)
        aq_ibv_memory_release(memory, region, access);
}

static void try_segment(aq_ibv_memory_t *memory, void *start)
{
    char why[512] = "";
    aq_ibv_segment_t segment = {
        .start = (uintptr_t)start, .bytes = MIB, .cut = aq_ibv_segment_cut(memory, MIB)};
    aq_status_t status = aq_ibv_segment_register(memory, &segment, why, sizeof why);
    printf("segment: %s, %u pieces %s\n", aq_status_name(status), segment.count, why);
    if (status == AQ_OK)
        aq_ibv_segment_release(memory, &segment);
}

static void try_pool(aq_ibv_memory_t *memory, void *start)
{
    char why[512] = "";
    struct ibv_mr *region;
    const aq_ibv_pool_area_t pool = {"pool", start, 4096, MIB / 4096, 1};
    size_t count = aq_ibv_memory_register_pool(memory, &pool, &region, why, sizeof why);
    printf("pool: %zu buffers %s\n", count, why);
    if (count > 0)
        aq_ibv_memory_release(memory, region, AQ_IBV_BUFFER);
}

static void *map_pages(int protection)
{
    void *start = mmap(NULL, MIB, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED)
        perror("mmap");
    return start;
}

static void try_all(aq_ibv_memory_t *memory)
{
    char why[512] = "";
    void *both = map_pages(PROT_READ | PROT_WRITE), *read_only = map_pages(PROT_READ),
         *gone = map_pages(PROT_NONE);
    munmap(gone, MIB);
    aq_status_t safe = aq_ibv_memory_fork_safe(&aq_ibv_calls, why, sizeof why);
    printf("fork: %s, %d\n", aq_status_name(safe), (int)ibv_is_fork_initialized());
    try_region(memory, "plain", both, AQ_IBV_WRITE);
    try_region(memory, "read-only for writing", read_only, AQ_IBV_WRITE);
    try_region(memory, "read-only for reading", read_only, AQ_IBV_READ);
    try_region(memory, "nothing", gone, AQ_IBV_WRITE);
    try_segment(memory, both);
    try_pool(memory, both);
    printf("probe: %llu\n", (unsigned long long)aq_ibv_memory_probe(memory));
    printf("left: %u regions\n", memory->regions);
}

static int use_memory(struct ibv_context *context, struct ibv_pd *pd)
{
    struct ibv_device_attr attributes;
    if (ibv_query_device(context, &attributes) != 0)
        return 1;
    aq_ibv_memory_t memory = {.calls = &aq_ibv_calls,
                              .pd = pd,
                              .device = ibv_get_device_name(context->device),
                              .region_bytes = attributes.max_mr_size,
                              .piece_bytes = aq_ibv_memory_piece_bytes(attributes.max_mr_size),
                              .most = 16 * MIB};
    try_all(&memory);
    return 0;
}

// ---- a receive thread ----

enum { ROUNDS = 3, RECEIVES = 5 };

typedef struct queue {
    aq_ibv_source_t source;
    struct ibv_qp *qp;
    atomic_int handled, rearms;
} queue_t;

static void rearm_queue(void *context)
{
    queue_t *queue = context;
    atomic_fetch_add(&queue->rearms, 1);
    aq_ibv_source_rearm(&queue->source);
}

static int poll_queue(void *context)
{
    queue_t *queue = context;
    struct ibv_wc wc[2];
    int count = ibv_poll_cq(queue->source.cq, 2, wc);
    atomic_fetch_add(&queue->handled, count);
    return count;
}

static bool make_queue(struct ibv_context *context, struct ibv_pd *pd, queue_t *queue)
{
    queue->source.channel = ibv_create_comp_channel(context);
    if (queue->source.channel == NULL)
        return false;
    queue->source.cq = ibv_create_cq(context, 64, NULL, queue->source.channel, 0);
    struct ibv_qp_init_attr wanted = {
        .send_cq = queue->source.cq,
        .recv_cq = queue->source.cq,
        .cap = {.max_send_wr = 1, .max_recv_wr = RECEIVES, .max_send_sge = 1, .max_recv_sge = 1},
        .qp_type = IBV_QPT_RC};
    queue->qp = queue->source.cq != NULL ? ibv_create_qp(pd, &wanted) : NULL;
    return queue->qp != NULL;
}

// Puts the queue pair into the error state, which completes its receives without a peer.
static bool fail_receives(struct ibv_qp *qp)
{
    struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET}, error = {.qp_state = IBV_QPS_ERR};
    struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = 1};
    struct ibv_recv_wr receive = {0}, *bad;
    if (ibv_modify_qp(qp, &reset, IBV_QP_STATE) != 0 ||
        ibv_modify_qp(qp, &init,
                      IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS) != 0)
        return false;
    for (int i = 0; i < RECEIVES; i++)
        if (ibv_post_recv(qp, &receive, &bad) != 0)
            return false;
    return ibv_modify_qp(qp, &error, IBV_QP_STATE) == 0;
}

static bool run_rounds(queue_t *queue)
{
    for (int round = 1; round <= ROUNDS; round++) {
        if (!fail_receives(queue->qp))
            return false;
        while (atomic_load(&queue->handled) < round * RECEIVES)
            usleep(1000); // a failure ends at the time limit of the test
    }
    return true;
}

static int use_thread(struct ibv_context *context, struct ibv_pd *pd)
{
    static queue_t queue;
    aq_ibv_thread_t *thread;
    aq_ibv_thread_setup_t setup = {.rearm = rearm_queue, .poll = poll_queue, .context = &queue};
    if (!make_queue(context, pd, &queue) || aq_ibv_source_open(&queue.source, &setup) != AQ_OK ||
        aq_ibv_thread_start(&setup, &thread) != AQ_OK || !run_rounds(&queue)) {
        printf("the queue cannot be used: %s\n", strerror(errno));
        return 1;
    }
    bool woke = atomic_load(&queue.rearms) > 1; // the first is before any sleep
    aq_ibv_thread_stop(thread);
    printf("thread: %d completions, it %s\n", atomic_load(&queue.handled),
           woke ? "woke up" : "did not sleep");
    aq_ibv_source_close(&queue.source);
    ibv_destroy_qp(queue.qp);
    ibv_destroy_cq(queue.source.cq);
    ibv_destroy_comp_channel(queue.source.channel);
    return 0;
}

static struct ibv_context *open_device(const char *name)
{
    struct ibv_context *context = NULL;
    struct ibv_device **devices = ibv_get_device_list(NULL);
    for (struct ibv_device **device = devices; devices && *device && !context; device++)
        if (strcmp(ibv_get_device_name(*device), name) == 0)
            context = ibv_open_device(*device);
    if (devices)
        ibv_free_device_list(devices);
    return context;
}

static int with_device(const char *device,
                       int (*use)(struct ibv_context *context, struct ibv_pd *pd))
{
    struct ibv_context *context = open_device(device);
    struct ibv_pd *pd = context != NULL ? ibv_alloc_pd(context) : NULL;
    if (pd == NULL) {
        printf("%s cannot be used: %s\n", device, strerror(errno));
        return 1;
    }
    int code = use(context, pd);
    ibv_dealloc_pd(pd);
    ibv_close_device(context);
    return code;
}

int main(int argc, char **argv)
{
    char err[512];
    if (aq_settings_load(err, sizeof err) != AQ_OK) {
        fprintf(stderr, "%s\n", err);
        return 2;
    }
    if (argc == 2 && strcmp(argv[1], "list") == 0)
        return list_devices();
    if (argc == 3 && strcmp(argv[1], "memory") == 0)
        return with_device(argv[2], use_memory);
    if (argc == 3 && strcmp(argv[1], "thread") == 0)
        return with_device(argv[2], use_thread);
    fprintf(stderr, "usage: ibv_probe list, or ibv_probe memory|thread DEVICE\n");
    return 2;
}
