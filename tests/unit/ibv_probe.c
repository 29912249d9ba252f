// What conduit ibv sees of the devices of a host, without a job. For tests in a virtual machine.
//
//   ibv_probe list            the lines of gasnet_info; exit code 0 when a port can be used
//   ibv_probe memory DEVICE   what comes of registering memory of several kinds
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "../../conduits/ibv/ibv_memory.h"
#include "../../conduits/ibv/ibv_ports.h"
#include "../../other/settings.h"

static void print_line(void *arg, const char *label, const char *text)
{
    (void)arg;
    printf("%-18s  %s\n", label, text);
}

static int list(void)
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
    aq_status_t status =
        aq_ibv_memory_register(memory, what, start, MIB, access, &region, why, sizeof why);
    printf("%s: %s %s\n", what, aq_status_name(status), why);
    if (status == AQ_OK)
        aq_ibv_memory_release(memory, region);
}

static void try_segment(aq_ibv_memory_t *memory, void *start)
{
    char why[512] = "";
    aq_ibv_segment_t segment;
    aq_status_t status = aq_ibv_segment_register(memory, start, MIB, &segment, why, sizeof why);
    printf("segment: %s, %u pieces %s\n", aq_status_name(status), segment.count, why);
    if (status == AQ_OK)
        aq_ibv_segment_release(memory, &segment);
}

static void try_pool(aq_ibv_memory_t *memory, void *start)
{
    char why[512] = "";
    struct ibv_mr *region;
    size_t count = aq_ibv_memory_register_pool(memory, "pool", start, 4096, MIB / 4096, 1, &region,
                                               why, sizeof why);
    printf("pool: %zu buffers %s\n", count, why);
    if (count > 0)
        aq_ibv_memory_release(memory, region);
}

static void *map(int protection)
{
    void *start = mmap(NULL, MIB, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED)
        perror("mmap");
    return start;
}

static void try_all(aq_ibv_memory_t *memory)
{
    char why[512] = "";
    void *both = map(PROT_READ | PROT_WRITE), *read_only = map(PROT_READ), *gone = map(PROT_NONE);
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

static int memory(const char *device)
{
    struct ibv_device_attr told;
    struct ibv_context *context = aq_ibv_ports_open(device);
    struct ibv_pd *pd = context != NULL ? ibv_alloc_pd(context) : NULL;
    if (pd == NULL || ibv_query_device(context, &told) != 0) {
        printf("%s cannot be used: %s\n", device, strerror(errno));
        return 1;
    }
    aq_ibv_memory_t memory = {.calls = &aq_ibv_calls,
                              .pd = pd,
                              .device = device,
                              .region_bytes = told.max_mr_size,
                              .piece_bytes = aq_ibv_memory_piece_bytes(told.max_mr_size),
                              .most = 16 * MIB};
    try_all(&memory);
    ibv_dealloc_pd(pd);
    ibv_close_device(context);
    return 0;
}

int main(int argc, char **argv)
{
    char err[512];
    if (aq_settings_load(err, sizeof err) != AQ_OK) {
        fprintf(stderr, "%s\n", err);
        return 2;
    }
    if (argc == 2 && strcmp(argv[1], "list") == 0)
        return list();
    if (argc == 3 && strcmp(argv[1], "memory") == 0)
        return memory(argv[2]);
    fprintf(stderr, "usage: ibv_probe list, or ibv_probe memory DEVICE\n");
    return 2;
}
