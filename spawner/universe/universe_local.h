// SPDX-License-Identifier: BSD-3-Clause
// The way from a program of the user to the daemon of a universe on the same host: a socket in the
// file system, in a folder that only this user can enter. Both sides check the user of the other.
//
// GASNET_UNIVERSE names one of several universes of a user; the socket is <folder>/<name>@<host>.
// The folder is the first of these that another user has not taken: /tmp/gasnet-<uid>,
// $XDG_RUNTIME_DIR/gasnet (/run/user/<uid>/gasnet if that variable is not set), $HOME/.gasnet.
// Programs look in all three. A name with a slash is a path: <path>@<host>.
#pragma once

#include "../wire/link.h"
#include "universe_table.h"

#define AQ_UNIVERSE_NONE "none" // value of GASNET_UNIVERSE: ignore universes
#define AQ_UNIVERSE_TEXT 512

// A connection to the daemon on this host, for programs. The settings must be loaded.
typedef struct aq_universe {
    aq_link_t link;
    uint8_t key[AQ_KEY_BYTES];
    aq_table_t table;
    uint32_t self; // number of that daemon
} aq_universe_t;

// Whether a daemon of the universe that GASNET_UNIVERSE names is here, even one that is stopped.
// Does not block.
bool aq_universe_exists(void);
// Connects, and reads key and table. Blocks until the coordinator has answered, for at most 20 s.
// False: errbuf has one sentence.
bool aq_universe_open(aq_universe_t *universe, char *errbuf, size_t errbuf_size);
// Reads the next table. Blocks for at most that time; negative: without limit. False: no table
// came, or the daemon has ended.
bool aq_universe_next(aq_universe_t *universe, int timeout_ms);
// Sends SEE or HALT, or SHRINK with a number. False: the daemon has ended.
bool aq_universe_ask(aq_universe_t *universe, aq_message_t type, uint32_t number);
// Erases the key.
void aq_universe_close(aq_universe_t *universe);

// For the daemon: makes the socket. Returns a descriptor, or -1 with one sentence in errbuf.
int aq_universe_listen(const char *name, char *errbuf, size_t errbuf_size);
// Accepts a program. -1: none waits, or it belongs to another user.
int aq_universe_accept(int listener);
// Removes the socket that this process has made from the file system.
void aq_universe_unlink(void);
