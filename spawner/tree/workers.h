// SPDX-License-Identifier: BSD-3-Clause
// Workers: the processes that a custom command starts (spawner custom). Each worker is the helper
// of one rank; in a rendezvous it may have members (members.h). Their hosts are not known
// beforehand, so workers call the launcher:
//
//   launcher                    command of GASNET_CSPAWN_CMD            worker, one per rank
//   listens on a port
//   starts the command -------> starts `gasnetrun --worker=...` -------> calls the launcher,
//                                                                        authenticates, says where
//                                                                        it runs
//   all are here: numbers them
//   JOB --------------------------------------------------------------> goes on as any helper
//
// A boot module (starter.h) starts workers too, one per host, in place of helpers by ssh. Such a
// worker is the helper of a host that the launcher knows, and says which one it is: the last part
// of the option is + and the number of the host, @ and a variable that has its name, or =, for the
// name of the system.
//
// The key reaches a worker in its environment (AQ_WORKER_KEY), or in the words of the command.
#pragma once

#include "node_state.h"

#define AQ_WORKER_OPTION "--worker="
#define AQ_WORKER_KEY "GASNET_SPAWN_KEY"
#define AQ_WORKER_WORD (AQ_REMOTE_TEXT + 64) // longest word of the option

// Makes the tables of a job of so many workers. False: no memory, logged.
bool aq_workers_allocate(aq_spec_t *spec, uint32_t size);

// Listens for workers in place of all children of the node. *port: where. False: failed, logged.
bool aq_workers_open(aq_node_t *node, uint16_t *port);

// Writes the option that tells a worker the addresses to call and, with_key, the key.
void aq_workers_option(const aq_node_t *node, uint16_t port, bool with_key,
                       char word[AQ_WORKER_WORD]);
// Writes the key of the node as text, for AQ_WORKER_KEY.
void aq_workers_key(const aq_node_t *node, char text[2 * AQ_KEY_BYTES + 1]);

// Handles the worker's description of itself. In a rendezvous, a wrong version, size or rank is
// logged and makes the node unfit; and a process whose host has a process already, which leads
// there, is told to become its member (members.h). Handles also the leader's word that it has done
// so: what becomes of the member is told by the leader from then on, and its link is closed. False:
// the frame is not legal, or a second one.
bool aq_workers_take(aq_node_t *node, aq_child_t *child, const aq_frame_t *frame);

// The number of workers that have described themselves.
uint32_t aq_workers_arrived(const aq_node_t *node);
// Whether all have, and all members have attached.
bool aq_workers_complete(const aq_node_t *node);
// In a rendezvous that is not unfit: writes the ranks that have not arrived, "1-3, 7".
void aq_workers_name_absent(const aq_node_t *node, char *text, size_t size);

// Once all workers are here: numbers them, by their hosts, by GASNET_WORKER_RANK or else adjacently
// on each machine, and sends each its job. In a rendezvous, only processes that lead stay children.
// Must not be called while children of the node are in use. False: failed, logged.
bool aq_workers_number(aq_node_t *node);

// ---- the side of a worker ----

// The contents of the option: the addresses to call. Texts point into word, which is modified.
typedef struct aq_worker_way {
    bool has_key; // the key was where the option says
    uint8_t key[AQ_KEY_BYTES];
    uint16_t port;
    char *addresses; // separated by commas
    char *host;      // which host it is for a boot module; NULL: it has none
} aq_worker_way_t;

// Reads the text after AQ_WORKER_OPTION, and the key. False: the text is not from the launcher;
// logged.
bool aq_worker_read(char *word, aq_worker_way_t *out);

// Reads a rank: a number, or the name of a variable that holds one; AQ_NO_WORKER_RANK: "",
// AQ_BAD_WORKER_RANK: neither. The launcher reports what is wrong with it.
uint32_t aq_worker_rank(const char *setting);

// Fills in what a worker tells the launcher about itself. host: of its option. Texts are static, or
// belong to the option or the environment.
void aq_worker_introduce(const char *host, aq_worker_t *out);
