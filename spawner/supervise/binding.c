// SPDX-License-Identifier: BSD-3-Clause
// Whether ranks are bound to processors, and the claims on their cores.
//
// Always true: a supervisor has claims only while it lives and has bound ranks.
#include "binding.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define LIST_ROOM 128 // of a list of processors in a message

// ---- what this process may use ----

// Finds the processors that this process could have: all, or those of its cpuset. Only an affinity
// to all processors shows them, so this sets one, and restores the former affinity if that had
// fewer.
static bool reachable_cpus(const cpu_set_t *now, cpu_set_t *out)
{
    cpu_set_t all;
    memset(&all, 0xff, sizeof all);
    if (sched_setaffinity(0, sizeof all, &all) != 0)
        return false;
    const bool known = sched_getaffinity(0, sizeof *out, out) == 0;
    if (!known || !CPU_EQUAL(now, out))
        (void)sched_setaffinity(0, sizeof *now, now);
    return known;
}

// Finds the processors for the ranks.
static bool usable_cpus(const aq_binding_setup_t *setup, cpu_set_t *out, char *errbuf,
                        size_t errbuf_size)
{
    char list[LIST_ROOM];
    cpu_set_t reachable;
    if (sched_getaffinity(0, sizeof *out, out) != 0 || !reachable_cpus(out, &reachable)) {
        snprintf(errbuf, errbuf_size,
                 "the system does not let this process choose its processors (%s)",
                 strerror(errno));
        return false;
    }
    if (setup->force || CPU_EQUAL(out, &reachable))
        return true;
    aq_cpus_print(out, list, sizeof list);
    snprintf(errbuf, errbuf_size,
             "what started this process has bound it already, to processors %s", list);
    return false;
}

// ---- claims ----

// Claims the processor. False: another job has it; errno is EWOULDBLOCK, or says what else failed.
static bool claim_cpu(aq_binding_t *binding, int cpu)
{
    char path[64];
    snprintf(path, sizeof path, AQ_CPU_FOLDER "/cpu%d", cpu);
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return false;
    if (TEMP_FAILURE_RETRY(flock(fd, LOCK_EX | LOCK_NB)) != 0) {
        const int error = errno;
        (void)close(fd);
        errno = error;
        return false;
    }
    binding->claims[binding->claimed++] = fd;
    return true;
}

// Claims the processors of all ranks; if forced, those that are free.
static bool claim_cores(aq_binding_t *binding, const cpu_set_t *wanted, bool force, char *errbuf,
                        size_t errbuf_size)
{
    binding->claims = calloc((size_t)CPU_COUNT(wanted) + 1, sizeof *binding->claims);
    for (int cpu = 0; binding->claims != NULL && cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, wanted) || claim_cpu(binding, cpu) || force)
            continue;
        if (errno == EWOULDBLOCK)
            snprintf(errbuf, errbuf_size,
                     "another job has bound its ranks to processor %d and others", cpu);
        else
            snprintf(errbuf, errbuf_size, "processor %d cannot be claimed (%s)", cpu,
                     strerror(errno));
        return false;
    }
    return binding->claims != NULL;
}

// Whether the processors of all ranks are claimed, and not used by a program that does not claim
// what it is bound to.
static bool take_cores(aq_binding_t *binding, const aq_binding_setup_t *setup, char *errbuf,
                       size_t errbuf_size)
{
    cpu_set_t wanted, usable;
    CPU_ZERO(&wanted);
    for (uint32_t i = 0; i < setup->count; i++)
        CPU_OR(&wanted, &wanted, &binding->of[i]);
    if (!claim_cores(binding, &wanted, setup->force, errbuf, errbuf_size))
        return false;
    if (setup->force || sched_getaffinity(0, sizeof usable, &usable) != 0)
        return true;
    const pid_t other = aq_binding_find_other(&wanted, &usable);
    if (other == 0)
        return true;
    snprintf(errbuf, errbuf_size, "process %ld runs and is bound to some of the same processors",
             (long)other);
    return false;
}

// ---- the choice ----

// Finds the cores, and whether binding to them makes a difference.
static bool enough_cores(const aq_binding_setup_t *setup, aq_cores_t *cores, char *errbuf,
                         size_t errbuf_size)
{
    cpu_set_t cpus;
    if (!usable_cpus(setup, &cpus, errbuf, errbuf_size))
        return false;
    if (setup->ranks > (uint32_t)CPU_COUNT(&cpus)) {
        snprintf(errbuf, errbuf_size, "%" PRIu32 " ranks are more than the %d processors",
                 setup->ranks, CPU_COUNT(&cpus));
        return false;
    }
    if (setup->ranks == 1 && !setup->force) {
        snprintf(errbuf, errbuf_size, "the only rank of this host may use all %d processors",
                 CPU_COUNT(&cpus));
        return false;
    }
    if (!aq_cores_read(AQ_CPU_FOLDER, &cpus, cores)) {
        snprintf(errbuf, errbuf_size, "%s does not describe the processors of this host",
                 AQ_CPU_FOLDER);
        return false;
    }
    if (aq_cores_suffice(cores, setup->ranks) && (!setup->force || setup->ranks <= cores->count))
        return true;
    snprintf(errbuf, errbuf_size, "%" PRIu32 " ranks are more than the %" PRIu32 " cores",
             setup->ranks, cores->count);
    return false;
}

void aq_binding_make(const aq_binding_setup_t *setup, aq_binding_t *out, char *errbuf,
                     size_t errbuf_size)
{
    aq_cores_t cores = {0};
    *out = (aq_binding_t){0};
    snprintf(errbuf, errbuf_size, "there is no memory for it");
    bool bound = enough_cores(setup, &cores, errbuf, errbuf_size) &&
                 (out->of = calloc(setup->count, sizeof *out->of)) != NULL;
    for (uint32_t i = 0; bound && i < setup->count; i++)
        aq_cores_share(&cores, setup->ranks, setup->numbers[i], &out->of[i]);
    if (!bound || !take_cores(out, setup, errbuf, errbuf_size))
        aq_binding_free(out);
    aq_cores_free(&cores);
}

bool aq_binding_count(const cpu_set_t *allowed, uint32_t each, uint32_t count, aq_binding_t *out)
{
    uint32_t seen = 0;
    *out = (aq_binding_t){.of = calloc(count, sizeof *out->of)};
    for (int cpu = 0; out->of != NULL && cpu < CPU_SETSIZE && seen / each < count; cpu++)
        if (CPU_ISSET(cpu, allowed))
            CPU_SET(cpu, &out->of[seen++ / each]);
    return out->of != NULL;
}

void aq_binding_leave(const aq_binding_t *binding)
{
    for (uint32_t i = 0; i < binding->claimed; i++)
        (void)close(binding->claims[i]);
}

void aq_binding_free(aq_binding_t *binding)
{
    aq_binding_leave(binding);
    free(binding->claims);
    free(binding->of);
    *binding = (aq_binding_t){0};
}
