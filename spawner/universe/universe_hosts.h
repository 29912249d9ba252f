// SPDX-License-Identifier: BSD-3-Clause
// What gasnet_recon and gasnet_wipe do in a universe.
#pragma once

#include "../hosts/hosts.h"

// Prints the hosts of the universe. Returns the exit code of gasnet_recon: 1 if some are lost.
int aq_universe_print(void);
// Lists the hosts of the universe. Returns -1, or the exit code after logging the fault.
int aq_universe_list(aq_hosts_t *hosts);
