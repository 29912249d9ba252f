// SPDX-License-Identifier: BSD-3-Clause
// Starting the daemons of a universe by the user's remote shell, for gasnet_boot and gasnet_grow.
#pragma once

#include "../hosts/hosts.h"
#include "universe_table.h"

// Starts a daemon on each host, up to 32 at a time, and blocks until all have joined or failed.
// config: what all of them have in common, with the number of the first one. Logs each failure
// with its remedy. Returns how many have failed. Ignores SIGPIPE from here on.
size_t aq_universe_start(const aq_hosts_t *hosts, const aq_join_config_t *config);

// The config of a daemon that joins the universe with that key and table.
aq_join_config_t aq_universe_join_config(const uint8_t key[AQ_KEY_BYTES], const aq_table_t *table);
