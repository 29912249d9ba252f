// SPDX-License-Identifier: BSD-3-Clause
// The cores of this host, in the order of their nearness, from /sys. Reading three small files for
// each core takes less time than loading a library that knows all about the host (hwloc), and needs
// no library, so that programs that fork their ranks can do it too.
#include <stdio.h>
#include <stdlib.h>

#include "../../other/base/text_file.h"
#include "binding.h"

#define LIST_ROOM 8192 // more than a list of 1024 processors has

// A core, and the lowest processors of what it is part of.
typedef struct core_place {
    int package, cache, first;
    cpu_set_t cpus;
} core_place_t;

// The processors that share a package or a cache with the core that was looked at last.
typedef struct group {
    const char *file;
    cpu_set_t cpus;
    int first;
} group_t;

static int lowest(const cpu_set_t *cpus)
{
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, cpus))
            return cpu;
    return CPU_SETSIZE;
}

// Reads a list of processors that has to name this one.
static bool read_list(const char *folder, int cpu, const char *file, cpu_set_t *out)
{
    char path[256], text[LIST_ROOM];
    snprintf(path, sizeof path, "%s/cpu%d/%s", folder, cpu, file);
    return aq_text_file_start(path, text, sizeof text) > 0 && aq_cpus_parse(text, out) &&
           CPU_ISSET(cpu, out);
}

// The lowest processor of the group of this one; 0 if the host does not tell.
static int group_find(group_t *group, const char *folder, int cpu)
{
    if (CPU_ISSET(cpu, &group->cpus))
        return group->first;
    if (!read_list(folder, cpu, group->file, &group->cpus))
        CPU_ZERO(&group->cpus);
    group->first = CPU_COUNT(&group->cpus) > 0 ? lowest(&group->cpus) : 0;
    return group->first;
}

static int compare_places(const void *a, const void *b)
{
    const core_place_t *left = a, *right = b;
    if (left->package != right->package)
        return left->package - right->package;
    return left->cache != right->cache ? left->cache - right->cache : left->first - right->first;
}

// Finds the cores. Returns their number; 0: the folder does not describe one of them.
static uint32_t find_cores(const char *folder, const cpu_set_t *allowed, core_place_t *places)
{
    group_t package = {.file = "topology/core_siblings_list"};
    group_t cache = {.file = "cache/index3/shared_cpu_list"};
    cpu_set_t left = *allowed;
    uint32_t count = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        core_place_t *place = &places[count];
        if (!CPU_ISSET(cpu, &left))
            continue;
        if (!read_list(folder, cpu, "topology/thread_siblings_list", &place->cpus))
            return 0;
        place->first = lowest(&place->cpus);
        CPU_AND(&place->cpus, &place->cpus, &left);
        CPU_XOR(&left, &left, &place->cpus);
        place->package = group_find(&package, folder, cpu);
        place->cache = group_find(&cache, folder, cpu);
        count++;
    }
    return count;
}

bool aq_cores_read(const char *folder, const cpu_set_t *allowed, aq_cores_t *out)
{
    const size_t most = (size_t)CPU_COUNT(allowed) + 1;
    core_place_t *places = calloc(most, sizeof *places);
    *out = (aq_cores_t){.core = calloc(most, sizeof *out->core)};
    if (places != NULL && out->core != NULL)
        out->count = find_cores(folder, allowed, places);
    if (out->count > 0)
        qsort(places, out->count, sizeof *places, compare_places);
    for (uint32_t i = 0; i < out->count; i++)
        out->core[i] = places[i].cpus;
    free(places);
    return out->count > 0;
}

void aq_cores_free(aq_cores_t *cores)
{
    free(cores->core);
    *cores = (aq_cores_t){0};
}
