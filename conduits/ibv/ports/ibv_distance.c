// SPDX-License-Identifier: BSD-3-Clause
// The only calls of hwloc; in a build without it, stubs that report nothing. ibv_affinity.c asks
// for bindings and distances.
#include "ibv_distance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool aq_ibv_distances_device(const char *device, char *processors, size_t size)
{
    char path[256];
    snprintf(path, sizeof path, "/sys/class/infiniband/%s/device/local_cpulist", device);
    FILE *file = fopen(path, "re");
    bool known = file && fgets(processors, (int)size, file);
    if (file)
        fclose(file);
    if (known)
        processors[strcspn(processors, "\n")] = '\0';
    return known && *processors;
}

#ifdef AQ_HAVE_HWLOC
#include <hwloc.h>

struct aq_ibv_distances {
    hwloc_topology_t topology;
};

aq_ibv_distances_t *aq_ibv_distances_open(const char *synthetic, char *errbuf, size_t errbuf_size)
{
    aq_ibv_distances_t *distances = calloc(1, sizeof *distances);
    if (distances && hwloc_topology_init(&distances->topology) != 0) {
        free(distances);
        distances = NULL;
    }
    if (distances &&
        (!synthetic || hwloc_topology_set_synthetic(distances->topology, synthetic) == 0) &&
        hwloc_topology_load(distances->topology) == 0)
        return distances;
    aq_ibv_distances_close(distances);
    snprintf(errbuf, errbuf_size,
             "hwloc cannot read the layout of this host; check that /sys and /proc are mounted");
    return NULL;
}

void aq_ibv_distances_close(aq_ibv_distances_t *distances)
{
    if (distances)
        hwloc_topology_destroy(distances->topology);
    free(distances);
}

void aq_ibv_distances_binding(const aq_ibv_distances_t *distances, bool whole_process,
                              aq_ibv_binding_t *binding)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    hwloc_membind_policy_t policy;
    const int which = whole_process ? HWLOC_CPUBIND_PROCESS : HWLOC_CPUBIND_THREAD;
    *binding = (aq_ibv_binding_t){0};
    if (!set || hwloc_get_cpubind(distances->topology, set, which) != 0 || hwloc_bitmap_iszero(set))
        hwloc_bitmap_list_snprintf(binding->processors, sizeof binding->processors,
                                   hwloc_topology_get_topology_cpuset(distances->topology));
    else
        hwloc_bitmap_list_snprintf(binding->processors, sizeof binding->processors, set);
    if (set &&
        hwloc_get_membind(distances->topology, set, &policy,
                          HWLOC_MEMBIND_BYNODESET | HWLOC_MEMBIND_THREAD) == 0 &&
        policy == HWLOC_MEMBIND_BIND)
        hwloc_bitmap_list_snprintf(binding->memory, sizeof binding->memory, set);
    hwloc_bitmap_free(set);
}

void aq_ibv_distances_block(const aq_ibv_distances_t *distances, size_t index, size_t count,
                            aq_ibv_binding_t *binding)
{
    const size_t all = (size_t)hwloc_get_nbobjs_by_type(distances->topology, HWLOC_OBJ_PU);
    const size_t from = index * all / count, to = (index + 1) * all / count;
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    *binding = (aq_ibv_binding_t){0};
    for (size_t i = from; set && i < (to > from ? to : from + 1); i++)
        hwloc_bitmap_or(
            set, set,
            hwloc_get_obj_by_type(distances->topology, HWLOC_OBJ_PU, (unsigned)i)->cpuset);
    if (set)
        hwloc_bitmap_list_snprintf(binding->processors, sizeof binding->processors, set);
    hwloc_bitmap_free(set);
}

// Levels from the smallest object around `beside` up to the first that includes `wanted`.
static unsigned levels_between(const aq_ibv_distances_t *distances, hwloc_const_bitmap_t beside,
                               hwloc_const_bitmap_t wanted)
{
    unsigned levels = 0;
    hwloc_obj_t object = hwloc_get_obj_covering_cpuset(distances->topology, beside);
    for (; object && object->parent && !hwloc_bitmap_isincluded(wanted, object->cpuset);
         object = object->parent)
        levels++;
    return levels;
}

// The processors of a list that this host has; NULL: none, or no memory. The caller frees it.
static hwloc_bitmap_t set_of(const aq_ibv_distances_t *distances, const char *list)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    if (set && hwloc_bitmap_list_sscanf(set, list) == 0)
        hwloc_bitmap_and(set, set, hwloc_topology_get_topology_cpuset(distances->topology));
    if (!set || !hwloc_bitmap_iszero(set))
        return set;
    hwloc_bitmap_free(set);
    return NULL;
}

// The processors beside NUMA nodes.
static hwloc_bitmap_t set_of_memory(const aq_ibv_distances_t *distances, const char *nodes)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc(), list = hwloc_bitmap_alloc();
    if (!set || !list || hwloc_bitmap_list_sscanf(list, nodes) != 0 ||
        hwloc_cpuset_from_nodeset(distances->topology, set, list) != 0 ||
        hwloc_bitmap_iszero(set)) {
        hwloc_bitmap_free(set);
        set = NULL;
    }
    hwloc_bitmap_free(list);
    return set;
}

unsigned aq_ibv_distances_of(const aq_ibv_distances_t *distances, const char *beside,
                             const aq_ibv_binding_t *binding)
{
    unsigned distance = 0;
    hwloc_bitmap_t device = *beside ? set_of(distances, beside) : NULL;
    hwloc_bitmap_t processors = set_of(distances, binding->processors);
    hwloc_bitmap_t memory = *binding->memory ? set_of_memory(distances, binding->memory) : NULL;
    if (device && processors)
        distance += levels_between(distances, device, processors);
    if (device && memory)
        distance += levels_between(distances, device, memory);
    hwloc_bitmap_free(device);
    hwloc_bitmap_free(processors);
    hwloc_bitmap_free(memory);
    return distance;
}

size_t aq_ibv_distances_numbers(const aq_ibv_distances_t *distances, const char *kind,
                                const aq_ibv_binding_t *binding, uint32_t *numbers, size_t most)
{
    hwloc_obj_type_t type;
    size_t count = 0;
    hwloc_bitmap_t processors = set_of(distances, binding->processors);
    hwloc_obj_t object = NULL;
    if (processors && hwloc_type_sscanf(kind, &type, NULL, 0) == 0)
        while (count < most &&
               (object = hwloc_get_next_obj_by_type(distances->topology, type, object)) != NULL)
            if (object->cpuset && hwloc_bitmap_intersects(object->cpuset, processors))
                numbers[count++] = object->logical_index;
    hwloc_bitmap_free(processors);
    return count;
}
#else
aq_ibv_distances_t *aq_ibv_distances_open(const char *synthetic, char *errbuf, size_t errbuf_size)
{
    (void)synthetic;
    snprintf(errbuf, errbuf_size,
             "this version was built without hwloc; install libhwloc-dev and build again");
    return NULL;
}

void aq_ibv_distances_close(aq_ibv_distances_t *distances)
{
    (void)distances;
}

void aq_ibv_distances_binding(const aq_ibv_distances_t *distances, bool whole_process,
                              aq_ibv_binding_t *binding)
{
    (void)distances, (void)whole_process;
    *binding = (aq_ibv_binding_t){0};
}

void aq_ibv_distances_block(const aq_ibv_distances_t *distances, size_t index, size_t count,
                            aq_ibv_binding_t *binding)
{
    (void)distances, (void)index, (void)count;
    *binding = (aq_ibv_binding_t){0};
}

unsigned aq_ibv_distances_of(const aq_ibv_distances_t *distances, const char *beside,
                             const aq_ibv_binding_t *binding)
{
    (void)distances, (void)beside, (void)binding;
    return 0;
}

size_t aq_ibv_distances_numbers(const aq_ibv_distances_t *distances, const char *kind,
                                const aq_ibv_binding_t *binding, uint32_t *numbers, size_t most)
{
    (void)distances, (void)kind, (void)binding, (void)numbers, (void)most;
    return 0;
}
#endif
