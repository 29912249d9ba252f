// SPDX-License-Identifier: BSD-3-Clause
// Rendezvous: something else starts the processes of a job (a batch script, a StatefulSet, a person
// in three terminals), and they find each other. Each has in its environment where rank 0 listens,
// its rank, the number of ranks, and where the key of the job is:
//
//   process of rank 0, "guard"                     process of rank 3, "guard"
//     |-- master: root of the tree (launcher.h) <---- calls until it answers, authenticates, tells
//     |                                              its rank and size, waits for the job
//     '-- helper -- supervisor -- rank 0             '-- helper -- supervisor -- rank 3
//                                                          |
//                                                          +<-- helper of rank 4, on the same host
//
// Rank 4 has called the master too, which told it to attach to rank 3: a host has one link to the
// master, and one boot page (members.h).
//
// A process is a worker (workers.h) that became one by itself, and whose rank is forked from it
// instead of executed: it goes on in its memory, with its arguments, environment and descriptors.
// The process that was started stays as the guard: signals to it reach the rank (those to rank 0
// all ranks), and its exit code is that of the job. The master ends with the job, or when rank 0 is
// gone before all have called.
//
// Always true: the master listens before rank 0 calls; the key of the ranks is random and new in
// each job, whatever the key file has.
#pragma once

#include "../launch/helper_state.h"

#define AQ_MASTER_HOST 256

// What the environment says.
typedef struct aq_rendezvous {
    char host[AQ_MASTER_HOST];
    uint16_t port;
    uint32_t rank, size;
    uint8_t key[AQ_KEY_BYTES];
} aq_rendezvous_t;

// Joins the job. Blocks until all processes are there, at most GASNET_CONNECT_TIMEOUT. Returns in
// the rank, which is a forked process, with *out set; or with a fault of the environment, logged.
// Otherwise the process ends with the code of the job. The settings must be loaded.
aq_status_t aq_rendezvous_join(aq_boot_t **out);

// ---- rendezvous_wait.c: the wait ----

// What becomes of a process that waits for its job.
typedef enum aq_awaited {
    AQ_AWAIT_JOB,     // its job is here
    AQ_AWAIT_ENDED,   // the job does not start; end_code is the exit code
    AQ_AWAIT_REFUSED, // the job does not need this process; errbuf has the reason
    AQ_AWAIT_LOST,    // the connection broke
} aq_awaited_t;

// Waits until the job starts or ends, however long it takes. On AQ_AWAIT_JOB the helper has its
// parent: the master, or with helper->attached the process that leads on this host.
aq_awaited_t aq_rendezvous_wait(aq_helper_t *helper, char *errbuf, size_t errbuf_size);

// ---- rendezvous_call.c: the environment ----

// Reads all of it, and closes the descriptor GASNET_KEY_FD. Blocks until that is read. The caller
// erases the key after use. AQ_ERR_CONFIG, AQ_ERR_RESOURCE: logged.
aq_status_t aq_rendezvous_read(aq_rendezvous_t *out);
// Splits host:port, [address]:port for IPv6. False: the text is not of that form.
bool aq_rendezvous_split(const char *text, char host[AQ_MASTER_HOST], uint16_t *port);
// Removes the variables, so that programs that the rank starts do not call.
void aq_rendezvous_clear(void);
