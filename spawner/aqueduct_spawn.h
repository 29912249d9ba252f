// SPDX-License-Identifier: BSD-3-Clause
// Boot modules: ways to start the processes of a job that the launcher loads at run time. A module
// is a shared object aq_spawn_NAME.so in a folder of GASNET_MODULE_PATH or in the folder of the
// installed modules, and exports one table under the name AQUEDUCT_SPAWN_SYMBOL:
//
//   const aqueduct_spawn_module_t aqueduct_spawn_module = {
//       .version = AQUEDUCT_SPAWN_VERSION, .name = "NAME", .init = ..., .start_host = ...};
//
//   gasnetrun (one thread)                 its child "gasnet-starter"        hosts
//   init of all modules; chooses one
//   parse_options, allocate_hosts,
//   verify_hosts, describe, prepare
//   listens ---------------------------->  start, or start_host per host --> helper of the host
//   the helpers call, get the job <------------------------------------------ calls, authenticates
//   deallocate_hosts, finalize             waits for what `run` started
//
// A module brings one of three operations: start_host, start or join. A helper that start_host or
// start has started does everything else: it starts the ranks of its host, forwards their input,
// output, signals and ends, and leaves nothing behind.
//
// Operations return 0, or -1 with one sentence in errbuf (errbuf_size bytes) that says what is
// wrong and what to do; the launcher prints it. They may block. Operations that are NULL are left
// out. The module is never unloaded. Plain C; compiles as C++.
#ifndef AQUEDUCT_SPAWN_H
#define AQUEDUCT_SPAWN_H

#include <stddef.h>
#include <stdint.h>

#define AQUEDUCT_SPAWN_VERSION 1u
#define AQUEDUCT_SPAWN_SYMBOL "aqueduct_spawn_module"

// Flags of a module.
#define AQUEDUCT_SPAWN_THREADS 1u // several threads may call start_host at once

// A host that gets ranks. Texts are never NULL, "" if they were not given, and belong to the
// launcher.
typedef struct aqueduct_spawn_host {
    const char *name; // as in the list of hosts: letters, digits, and . _ - : %
    const char *user;
    const char *prefix; // folder of the installation there; "": the same as here
    uint32_t ranks;     // 1 or more
    // "key=value" words of the host file that the launcher does not know; ends with NULL
    const char *const *keys;
} aqueduct_spawn_host_t;

typedef struct aqueduct_spawn_job aqueduct_spawn_job_t;

// What the user asked for. It lives from init to finalize.
struct aqueduct_spawn_job {
    const char *conduit;
    int one_host;          // the conduit joins only ranks of one host
    const char *host_list; // option -H; NULL: not given
    uint32_t ranks;        // option -n; 0: not given, or not known in init of a bare program
    uint32_t host_limit;   // option -N; 0: not given
    int verbose;           // option -v
    // The hosts that get ranks, in the order of the ranks; none before verify_hosts.
    const aqueduct_spawn_host_t *hosts;
    uint32_t host_count;
    // For start and start_host: executes a program (searched in PATH) as a child of the starter,
    // with the starter's environment and without input, and does not wait for it. From any thread.
    // The starter waits for all of them; the first exit code other than 0 fails the job, unless all
    // helpers have called.
    int (*run)(const aqueduct_spawn_job_t *job, char *const argv[], char *errbuf,
               size_t errbuf_size);
};

// Sets a variable of the environment for join. Copies both texts.
typedef void aqueduct_spawn_set_t(void *to, const char *name, const char *value);

typedef struct aqueduct_spawn_module {
    uint32_t version; // AQUEDUCT_SPAWN_VERSION
    uint32_t flags;
    const char *name;  // as in the name of the file
    const char *usage; // one sentence for gasnet_info: what it starts, and how it is used

    // Whether the module can start jobs here; sets *priority, otherwise 0: only on request. The
    // usable module of highest priority wins; fork has 10, ssh 20 if hosts are named. Must be
    // there. Called in every launcher without -spawner, so it should be quick.
    int (*init)(const aqueduct_spawn_job_t *job, int *priority, char *errbuf, size_t errbuf_size);
    // Checks that the options are legal for this module.
    int (*parse_options)(const aqueduct_spawn_job_t *job, char *errbuf, size_t errbuf_size);
    // Finds hosts: *schema is text in the format of a host file, which belongs to the module. NULL:
    // the launcher finds hosts as for ssh (-H, variables, files, batch systems).
    int (*allocate_hosts)(const aqueduct_spawn_job_t *job, const char **schema, char *errbuf,
                          size_t errbuf_size);
    // Checks the hosts that get ranks, as far as that is possible without contacting them.
    int (*verify_hosts)(const aqueduct_spawn_job_t *job, char *errbuf, size_t errbuf_size);
    // Prints lines on standard output (-v, -t) that say how the job is started.
    void (*describe)(const aqueduct_spawn_job_t *job);
    // Makes what the start needs.
    int (*prepare)(const aqueduct_spawn_job_t *job, char *errbuf, size_t errbuf_size);

    // Starts the command on that host, and returns once it was started. Called in the starter for
    // one host after the other, or by GASNET_SPAWN_WINDOW threads at once with
    // GASNET_SPAWN_ALGORITHM=threads and flag AQUEDUCT_SPAWN_THREADS. The command needs the
    // variable GASNET_SPAWN_KEY of the starter's environment, unless GASNET_CSPAWN_KEY=command.
    int (*start_host)(const aqueduct_spawn_job_t *job, const aqueduct_spawn_host_t *host,
                      char *const argv[], char *errbuf, size_t errbuf_size);
    // Starts the same command once on each host. Replaces start_host. host_variable: the variable
    // in which the started command finds the name of its host, as in the list; NULL: the name of
    // its system.
    int (*start)(const aqueduct_spawn_job_t *job, char *const argv[], char *errbuf,
                 size_t errbuf_size);
    const char *host_variable;

    // Replaces both where something else starts all processes, of which this is one. Sets the
    // variables of spawner rendezvous (GASNET_MASTER, _RANK, _SIZE, _KEY_FILE or _KEY_FD), and the
    // launcher becomes the program. Called in bare programs too, with GASNET_SPAWNER=NAME.
    int (*join)(const aqueduct_spawn_job_t *job, aqueduct_spawn_set_t *set, void *to, char *errbuf,
                size_t errbuf_size);

    // Release what allocate_hosts and prepare have made.
    void (*deallocate_hosts)(void);
    void (*finalize)(void);
} aqueduct_spawn_module_t;

#ifdef __cplusplus
extern "C" {
#endif
// The table that a module defines. Exported, also with -fvisibility=hidden.
extern __attribute__((visibility("default"))) const aqueduct_spawn_module_t aqueduct_spawn_module;
#ifdef __cplusplus
}
#endif

#endif
