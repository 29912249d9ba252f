// SPDX-License-Identifier: BSD-3-Clause
// How far devices are from processors and memory, by hwloc.
//
// The distance of a device is the number of levels of the tree of hwloc (core, cache, NUMA node,
// package, host) from the processors beside the device up to the first object that also has all
// processors of the process, and the same for the memory that the process is bound to. It is 0
// for all devices of which the system does not know the place: those in software, for example.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct aq_ibv_distances aq_ibv_distances_t;

// Where a process runs: processors as a list of hwloc ("0-3,8"); memory: the NUMA nodes to which it
// is bound, "" for no binding.
typedef struct aq_ibv_binding {
    char processors[512], memory[128];
} aq_ibv_binding_t;

// Reads the layout of this host, or that of a text for hwloc_topology_set_synthetic. Takes some
// milliseconds. NULL: this version was built without hwloc, or the layout cannot be read; errbuf
// says which. The caller closes it.
aq_ibv_distances_t *aq_ibv_distances_open(const char *synthetic, char *errbuf, size_t errbuf_size);
void aq_ibv_distances_close(aq_ibv_distances_t *distances); // NULL: nothing happens

// Where the calling thread runs, or its process as a whole (GASNET_HWLOC_QUERY). All of the host if
// the system does not say.
void aq_ibv_distances_binding(const aq_ibv_distances_t *distances, bool whole_process,
                              aq_ibv_binding_t *binding);

// The binding of process `index` of `count`, which the launcher binds to processors in blocks.
void aq_ibv_distances_block(const aq_ibv_distances_t *distances, size_t index, size_t count,
                            aq_ibv_binding_t *binding);

// Processors beside a verbs device as a list; false: unknown.
bool aq_ibv_distances_device(const char *device, char *processors, size_t size);

// The distance of processors beside a device from a binding; 0 if `beside` is "".
unsigned aq_ibv_distances_of(const aq_ibv_distances_t *distances, const char *beside,
                             const aq_ibv_binding_t *binding);

// The numbers of the objects of a kind that have processors of the binding. Returns how many, at
// most `most`; 0: hwloc knows no such kind, or the host has no such object.
size_t aq_ibv_distances_numbers(const aq_ibv_distances_t *distances, const char *kind,
                                const aq_ibv_binding_t *binding, uint32_t *numbers, size_t most);
