// SPDX-License-Identifier: BSD-3-Clause
// What the programs for a universe have in common: their words, and the connection.
#pragma once

#include "../hosts/hosts.h"
#include "universe_local.h"

// Parses -h, --help, --version and hosts as words ([user@]name[:slots]), of which there must be at
// least one, or none if hosts is NULL; loads the settings, and opens the universe of this host.
// Returns -1, or the exit code with which the program must end now.
int aq_universe_options(int argc, char **argv, const char *usage, aq_hosts_t *hosts,
                        aq_universe_t *universe);
// Opens the universe of this host. Returns -1, or the exit code as above, after logging the fault.
int aq_universe_meet(aq_universe_t *universe);
