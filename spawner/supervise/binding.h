// SPDX-License-Identifier: BSD-3-Clause
// Binding ranks to processors: each rank of a host gets cores of its own. Otherwise the kernel may
// put two ranks on one core while another core is idle, and each message then waits for a time
// slice.
//
// The rule (binding_share.c) works on a list of cores; binding_layout.c reads that list from
// /sys; binding_others.c looks for other programs there; binding.c decides whether ranks are bound,
// and claims the cores.
//
// A claim is a lock (flock) on the folder of a processor in /sys. It keeps two jobs of a host from
// binding ranks to the same core, and ends with the process that holds it, however that ends.
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define AQ_CPU_FOLDER "/sys/devices/system/cpu"

// Cores in an order in which near ones follow each other: those of a package, and in there those of
// a cache, are together. core[i]: the processors (hardware threads) of a core, as far as they may
// be used.
typedef struct aq_cores {
    uint32_t count;
    cpu_set_t *core;
} aq_cores_t;

// Reads the cores of the processors `allowed` from that folder. False: the folder does not describe
// them, or there is no memory. The caller frees *out.
bool aq_cores_read(const char *folder, const cpu_set_t *allowed, aq_cores_t *out);
void aq_cores_free(aq_cores_t *cores);

// Whether each of so many ranks can have processors of its own.
bool aq_cores_suffice(const aq_cores_t *cores, uint32_t ranks);
// The processors of rank number `rank` of `ranks`, for which the cores suffice. No more ranks than
// cores: as many whole cores for each rank, which follow each other. More ranks than cores: the
// ranks are spread evenly over the cores, and those of a core divide its hardware threads.
void aq_cores_share(const aq_cores_t *cores, uint32_t ranks, uint32_t rank, cpu_set_t *out);

// Writes a set as a list ("0-3,8"), as far as it fits.
void aq_cpus_print(const cpu_set_t *cpus, char *text, size_t size);
// Reads such a list, up to the end of a line. False: it is none, or names no processor.
bool aq_cpus_parse(const char *text, cpu_set_t *out);

// A process that runs at the moment, bound to some of the processors that are wanted, but not to
// all that are usable; 0: there is none, as far as this process can see others.
pid_t aq_binding_find_other(const cpu_set_t *wanted, const cpu_set_t *usable);

// The ranks of a host that a supervisor is about to start.
typedef struct aq_binding_setup {
    bool force;              // GASNET_BIND=core: bind despite others, see aq_binding_make
    uint32_t ranks;          // of the host, also those of other supervisors of this job
    uint32_t count;          // of this supervisor
    const uint32_t *numbers; // of these among the ranks of the host, ascending
} aq_binding_setup_t;

// The processors of the ranks of a supervisor.
typedef struct aq_binding {
    cpu_set_t *of; // of each rank, in the order of the setup; NULL: ranks are not bound
    int *claims;   // descriptors, which are closed at exec
    uint32_t claimed;
} aq_binding_t;

// Chooses the processors of the ranks and claims their cores. Unless forced, ranks are bound only
// if nothing has restricted the processors of this process, apart from a cpuset (of a container),
// no other job has claimed one of the cores, and no other program is bound to them and runs. Writes
// into `errbuf`, as a clause, why ranks are not bound. The caller frees *out.
void aq_binding_make(const aq_binding_setup_t *setup, aq_binding_t *out, char *errbuf,
                     size_t errbuf_size);
// Binds each of `count` ranks to `each` of the processors `allowed`, from the lowest on; `allowed`
// must have enough. False: no memory.
bool aq_binding_count(const cpu_set_t *allowed, uint32_t each, uint32_t count, aq_binding_t *out);
// Closes the descriptors of the claims in a child that does not exec; the parent keeps the claims.
void aq_binding_leave(const aq_binding_t *binding);
void aq_binding_free(aq_binding_t *binding);
