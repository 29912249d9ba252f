/* SPDX-License-Identifier: BSD-3-Clause */
/* The output of gasnet_perf: a table, or one JSON object per line. */
#include "perf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the conduit that this program was compiled for. */
static const char *compiled_conduit(void)
{
#if defined(GASNET_CONDUIT_UDP)
    return "udp";
#elif defined(GASNET_CONDUIT_IBV)
    return "ibv";
#elif defined(GASNET_CONDUIT_MPI)
    return "mpi";
#elif defined(GASNET_CONDUIT_OFI)
    return "ofi";
#else
    return "smp";
#endif
}

/* A GASNet with one library for all conduits gets the conduit at launch, from GASNET_CONDUIT. */
const char *aq_perf_conduit(void)
{
    const char *given = gasnet_getenv("GASNET_CONDUIT");
    bool printable = given && *given && !strpbrk(given, "\"\\\n");
    return printable ? given : compiled_conduit();
}

void aq_perf_report_title(void)
{
    if (aq_perf_options.json)
        return;
    printf("gasnet_perf: conduit %s, ranks %u", aq_perf_conduit(), (unsigned)aq_perf_job.size);
    if (aq_perf_options.threads)
        printf(", threads %u, endpoints %s", aq_perf_options.threads, aq_perf_endpoints());
    putchar('\n');
    printf("%-20s %10s %14s  %s\n", "test", "bytes", "value", "unit");
    fflush(stdout);
}

/* Prints counts in full, and measured values with their significant digits only. */
static void format_value(double value, char text[32])
{
    bool whole = value < 1e15 && value == (double)(long long)value;

    if (whole || (value >= 1000 && !aq_perf_options.json))
        snprintf(text, 32, "%.0f", value);
    else
        snprintf(text, 32, aq_perf_options.json ? "%.6g" : "%.4f", value);
}

static void report_json(const char *test, size_t bytes, const char *value, const char *unit)
{
    printf("{\"conduit\":\"%s\",\"ranks\":%u,\"test\":\"%s\",\"bytes\":%zu,\"value\":%s,"
           "\"unit\":\"%s\"",
           aq_perf_conduit(), (unsigned)aq_perf_job.size, test, bytes, value, unit);
    if (aq_perf_options.threads)
        printf(",\"threads\":%u,\"endpoints\":\"%s\"", aq_perf_options.threads,
               aq_perf_endpoints());
    puts("}");
}

void aq_perf_report(const char *test, size_t bytes, double value, const char *unit)
{
    char text[32];

    format_value(value, text);
    if (aq_perf_options.json)
        report_json(test, bytes, text, unit);
    else
        printf("%-20s %10zu %14s  %s\n", test, bytes, text, unit);
    fflush(stdout);
}

/* Returns a field of /proc/self/status in KB, or -1 if there is none. */
static double status_field(const char *field)
{
    FILE *status = fopen("/proc/self/status", "r");
    size_t length = strlen(field);
    char line[256];
    double value = -1;

    if (!status)
        return value;
    while (fgets(line, sizeof line, status))
        if (strncmp(line, field, length) == 0 && line[length] == ':')
            value = strtod(line + length + 1, NULL);
    fclose(status);
    return value;
}

static void report_status(const char *test, const char *field)
{
    double value = status_field(field);

    if (value < 0)
        fprintf(stderr, "gasnet_perf: %s left out because /proc/self/status has no %s\n", test,
                field);
    else
        aq_perf_report(test, 0, value, "KB");
}

#ifdef GASNETX_COUNTERS
void aq_perf_report_frames(const char *test, size_t bytes)
{
    static uint64_t last_frames, last_packets;
    const volatile gasnetx_counters_t *counters;
    uint64_t frames, packets;
    char name[64];

    if (!aq_perf_options.frames)
        return;
    counters = gasnetx_Counters(GEX_EP_INVALID);
    if (!counters)
        return;
    gasnetx_Counters_Update();
    frames = gasnetx_counter(&counters->frames_sent);
    packets = gasnetx_counter(&counters->packets_sent);
    if (test && packets > last_packets) {
        snprintf(name, sizeof name, "%s-frames", test);
        aq_perf_report(name, bytes,
                       (double)(frames - last_frames) / (double)(packets - last_packets),
                       "a packet");
    }
    last_frames = frames;
    last_packets = packets;
}
#else
void aq_perf_report_frames(const char *test, size_t bytes)
{
    (void)test, (void)bytes;
}
#endif

void aq_perf_report_peers(void)
{
#ifdef GASNETX_PEER_COSTS
    size_t unspoken, connected, connections, buffers;
    gasnetx_peer_costs(&unspoken, &connected, &connections, &buffers);
    if (!buffers)
        return; /* the network has no connections */
    aq_perf_report("memory-unspoken-peer", 0, (double)unspoken, "B/rank");
    aq_perf_report("memory-connected-peer", 0, (double)connected, "B/peer");
    aq_perf_report("memory-connections", 0, (double)connections, "peers");
    aq_perf_report("memory-receive-buffers", 0, (double)buffers, "buffers");
#endif
}

void aq_perf_report_memory(void)
{
    report_status("memory-resident", "VmRSS");
    report_status("memory-shared", "RssShmem");
    report_status("memory-page-tables", "VmPTE");
#ifdef GASNETX_MEMORY
    size_t peer_table_bytes_per_rank, ring_bytes, bound_peers;
    gasnetx_memory(&peer_table_bytes_per_rank, &ring_bytes, &bound_peers);
    aq_perf_report("memory-peer-row", 0, (double)peer_table_bytes_per_rank, "B/rank");
    aq_perf_report("memory-rings", 0, (double)ring_bytes, "B");
    aq_perf_report("memory-bound-peers", 0, (double)bound_peers, "peers");
#endif
    aq_perf_report_peers();
}
