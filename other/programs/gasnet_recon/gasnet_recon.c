// SPDX-License-Identifier: BSD-3-Clause
// gasnet_recon: can every host of a list run processes of a job, and if not, why?
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/log/log.h"
#include "../../base/system/standard_streams.h"
#include "../../../spawner/start/host_probe.h"
#include "../../../spawner/universe/universe_hosts.h"
#include "../../../spawner/universe/universe_local.h"

// Larger differences are reported. The answer itself takes part of a second.
#define CLOCK_MS 2000

static const char usage[] =
    "usage: gasnet_recon [-H <host,host...>]\n"
    "\n"
    "Asks all hosts at the same time whether a job can be started there, and prints a table.\n"
    "\n"
    "  -H <host,host...>  the hosts; without it, those that gasnetrun would take. In a universe\n"
    "                     (gasnet_boot) these are its daemons, which are listed with their jobs.\n"
    "  -h, --help         this text\n"
    "  --version          version\n"
    "\n"
    "Exit code 0: every host is ready; 1: some are not; 2: the list of hosts is not legal.\n";

typedef struct answer {
    char version[32], verbs[32];
    uint64_t clock_ms, free_kb;
    int64_t locked_kb;
    unsigned mtu; // 0: unknown
} answer_t;

// Another version may tell no MTU.
static bool read_answer(const aq_probe_host_t *host, answer_t *out)
{
    out->mtu = 0;
    return sscanf(host->answer, "%31s %" SCNu64 " %" SCNu64 " %" SCNd64 " %31s %u", out->version,
                  &out->clock_ms, &out->free_kb, &out->locked_kb, out->verbs, &out->mtu) >= 5;
}

static double seconds_off(const aq_probe_host_t *host, const answer_t *answer)
{
    return ((double)answer->clock_ms - (double)host->clock_ms) / 1000;
}

// NULL: the host is ready and there is nothing to report.
static const char *fault_of(const aq_probe_host_t *host, const answer_t *answer)
{
    double off = seconds_off(host, answer);
    if (strcmp(answer->version, PACKAGE_VERSION) != 0)
        return "another version of Aqueduct is installed there: install the same one";
    if (off * 1000 > CLOCK_MS || off * 1000 < -CLOCK_MS)
        return "its clock is wrong: have both hosts take their time from a server (NTP)";
    if (strcmp(answer->verbs, "none") != 0 && answer->locked_kb >= 0)
        return "processes may not lock memory for the verbs device: raise the limit (ulimit -l)";
    return NULL;
}

static void print_size(int64_t kb)
{
    if (kb < 0)
        printf("%10s", "no limit");
    else if (kb < 10240)
        printf("%6" PRId64 " KiB", kb);
    else if (kb < 10 * 1024 * 1024)
        printf("%6" PRId64 " MiB", kb / 1024);
    else
        printf("%6" PRId64 " GiB", kb / 1024 / 1024);
}

// Returns whether the host is ready.
static bool print_row(const aq_probe_host_t *host)
{
    answer_t answer;
    if (!host->answered || !read_answer(host, &answer)) {
        const char *why = host->answered ? "its answer is not that of this version" : host->why;
        printf("%-20s fails  %s; %s\n", host->row->name, why, aq_probe_remedy(why));
        return false;
    }
    const char *fault = fault_of(host, &answer);
    printf("%-20s %-6s %-10s %+7.1f s ", host->row->name, fault == NULL ? "ready" : "fails",
           answer.version, seconds_off(host, &answer));
    print_size((int64_t)answer.free_kb);
    printf("  ");
    print_size(answer.locked_kb);
    printf("  %-8s %5u", answer.verbs, answer.mtu);
    printf("%s%s\n", fault != NULL ? "  " : "", fault != NULL ? fault : "");
    return fault == NULL;
}

// Hosts with different MTUs can work together, if nothing between them drops long packets.
static void compare_mtus(const aq_probe_host_t *table, size_t count)
{
    unsigned least = UINT_MAX, most = 0;
    answer_t answer;
    for (size_t i = 0; i < count; i++)
        if (table[i].answered && read_answer(&table[i], &answer) && answer.mtu > 0) {
            least = answer.mtu < least ? answer.mtu : least;
            most = answer.mtu > most ? answer.mtu : most;
        }
    if (least < most)
        printf("the MTU of the hosts differs, from %u to %u: give their interfaces the same one, "
               "or set GASNET_UDP_MTU=%u for conduit udp\n",
               least, most, least);
}

int main(int argc, char **argv)
{
    aq_hosts_t hosts = {0};
    size_t ready = 0;
    aq_standard_streams_open();
    aq_log_program("gasnet_recon");
    const char *list;
    int code = aq_probe_options(argc, argv, usage, &list, NULL);
    if (code < 0 && list == NULL && aq_universe_exists())
        return aq_log_end(aq_universe_print());
    if (code < 0)
        code = aq_probe_find(&hosts, list);
    const aq_probe_task_t task = {.word = "--recon"};
    aq_probe_host_t *table = code < 0 ? aq_probe_hosts(&hosts, &task) : NULL;
    if (table != NULL) {
        printf("%-20s %-6s %-10s %9s %10s  %10s  %-8s %5s\n", "host", "state", "version", "clock",
               "free mem.", "lockable", "verbs", "MTU");
        for (size_t i = 0; i < hosts.count; i++)
            ready += print_row(&table[i]);
        compare_mtus(table, hosts.count);
        printf("%zu of %zu hosts are ready\n", ready, hosts.count);
        code = ready < hosts.count;
    }
    free(table);
    aq_hosts_free(&hosts);
    return aq_log_end(code < 0 ? 1 : code);
}
