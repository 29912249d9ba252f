// Workers: the processes that a custom command starts (spawner custom). Each is the helper of one
// rank. Nobody knows beforehand where they run, so they call the launcher by themselves:
//
//   launcher                    command of GASNET_CSPAWN_CMD            worker, once for each rank
//   listens on a port
//   starts the command -------> starts `gasnetrun --worker=...` -------> calls the launcher, proves
//                                                                        the key, tells where it is
//   all are here: numbers them
//   JOB --------------------------------------------------------------> goes on as any helper
//
// The key reaches a worker in its environment (AQ_WORKER_KEY), or in the words of the command.
#ifndef AQ_WORKERS_H
#define AQ_WORKERS_H

#include "node.h"

#define AQ_WORKER_OPTION "--worker="
#define AQ_WORKER_KEY "GASNET_SPAWN_KEY"
#define AQ_WORKER_WORD (AQ_REMOTE_TEXT + 64) // longest word that tells a worker whom to call

// Listens for all children of the node, which are workers from now on. *port is where. False:
// logged.
bool aq_workers_open(aq_node_t *node, uint16_t *port);

// Writes the option that tells a worker whom to call; with_key: and the key.
void aq_workers_option(const aq_node_t *node, uint16_t port, bool with_key,
                       char word[AQ_WORKER_WORD]);
// The key of the node as text, for AQ_WORKER_KEY.
void aq_workers_key(const aq_node_t *node, char text[2 * AQ_KEY_BYTES + 1]);

// A worker tells about itself. False: it did so before.
bool aq_workers_take(aq_node_t *node, aq_child_t *child, const aq_frame_t *frame);

// How many have told about themselves.
uint32_t aq_workers_here(const aq_node_t *node);

// All are here: numbers them, by GASNET_WORKER_RANK or else side by side on each machine, and sends
// each its job. Not while children of the node are in use. False: logged.
bool aq_workers_number(aq_node_t *node);

// ---- the side of a worker ----

// What the option says: whom to call. Texts point into word, which is cut.
typedef struct aq_worker_way {
    bool has_key; // it was where the word says that it is
    uint8_t key[AQ_KEY_BYTES];
    uint16_t port;
    char *addresses; // commas between
} aq_worker_way_t;

// Reads the word behind AQ_WORKER_OPTION, and the key. False: the word is not the launcher's;
// logged.
bool aq_worker_read(char *word, aq_worker_way_t *out);

// What a worker tells about itself. Texts are static.
void aq_worker_introduce(aq_worker_t *out);

#endif
