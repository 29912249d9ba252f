// SPDX-License-Identifier: BSD-3-Clause
// Spawn modules: the ways in which the launcher can start a job. Each module is one const table in
// a file of its own (start_*.c), or is loaded at run time (aqueduct_spawn.h, start_loaded.c);
// spawn_module.c chooses one and runs it.
#pragma once

#include "../join/spawn_load.h"
#include "../supervise/supervise.h"

// The launcher's exit code when its options, the hosts or a variable are not legal.
#define AQ_EXIT_USAGE 2

// A job as the user asked for it. It lives from before the module is chosen to the end of the job.
typedef struct aq_start {
    aq_supervise_options_t run; // of the whole job
    const char *conduit;
    const char *host_list; // -H; NULL: not given
    int64_t host_count;    // -N; 0: not given
    const char *bind;      // --bind; NULL: not given
    uint32_t spare;        // --spare: hosts that are started beyond those of -N
    bool cyclic;           // place ranks round-robin over the hosts instead of block-wise
    bool verbose;
    bool more_verbose; // also print which choices were not taken, and why
    struct aq_ssh_job
        *ssh; // start_ssh.h; empty at first, for modules that start processes on hosts
} aq_start_t;

// The launcher, which has one thread, calls the operations in this order, each once. Only the
// chosen module gets calls after `init`. The module logs its faults, except for `errbuf`. Where it
// has nothing to do, the operation is NULL; init, parse_options and start are always there.
typedef struct aq_spawn_module {
    const char *name;
    bool has_spares;  // takes the option --spare
    bool joins;       // this process is one of a job that something else started: -n may be missing
    bool has_reserve; // can start ranks later (--reserve)

    // Whether this module can start the job here. True: *priority is set, and the module with the
    // highest priority wins. False: errbuf holds one sentence without a full stop. Does not block.
    bool (*init)(const aq_start_t *start, int *priority, char *errbuf, size_t errbuf_size);
    // Checks that the options are legal for this module.
    aq_status_t (*parse_options)(const aq_start_t *start);
    // Finds the hosts and places the ranks on them. May read files.
    aq_status_t (*allocate_hosts)(const aq_start_t *start);
    // Checks that the job can run on these hosts, as far as that is known without contacting them.
    aq_status_t (*verify_hosts)(const aq_start_t *start);
    // Prints on standard output what start would do (-v, -t), beyond hosts and ranks.
    void (*describe)(const aq_start_t *start);
    // Makes what start needs: key, descriptors.
    aq_status_t (*prepare)(const aq_start_t *start);
    // Starts the ranks and blocks until all are gone. *code is the exit code of the job, also when
    // nothing could be started.
    void (*start)(const aq_start_t *start, int *code);
    // Release what allocate_hosts and prepare have made.
    void (*deallocate_hosts)(const aq_start_t *start);
    void (*finalize)(const aq_start_t *start);
} aq_spawn_module_t;

extern const aq_spawn_module_t aq_module_fork;       // start_fork.c
extern const aq_spawn_module_t aq_module_ssh;        // start_ssh.c
extern const aq_spawn_module_t aq_module_universe;   // start_universe.c
extern const aq_spawn_module_t aq_module_custom;     // start_custom.c
extern const aq_spawn_module_t aq_module_rendezvous; // start_rendezvous.c
extern const aq_spawn_module_t aq_module_mpi;        // start_mpi.c
extern const aq_spawn_module_t aq_module_pmi;        // start_mpi.c

// Operation init of a module that is loaded.
bool aq_loaded_init(const aq_loaded_t *loaded, const aq_start_t *start, int *priority, char *errbuf,
                    size_t errbuf_size);
// Returns the table by which the launcher runs the job with this module, which is not refused.
// Once.
const aq_spawn_module_t *aq_loaded_take(const aq_loaded_t *loaded);

// Returns the module that the option -spawner (name; NULL: not given), GASNET_<CONDUIT>_SPAWNER or
// GASNET_SPAWNER asks for, in this order; else the usable module with the highest priority, which
// GASNET_SPAWN_PRIORITY can change. NULL: there is none (logged). With start->more_verbose prints
// for every other module why it was not chosen.
const aq_spawn_module_t *aq_spawn_choose(const aq_start_t *start, const char *name);

// Runs all operations of the module after init, in order. dry: stops after describe. Returns the
// exit code of the job.
int aq_spawn_run(const aq_spawn_module_t *module, const aq_start_t *start, bool dry);
