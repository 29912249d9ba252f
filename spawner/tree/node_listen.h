// SPDX-License-Identifier: BSD-3-Clause
// The ports at which helpers call the process that started them.
#pragma once

#include "node_state.h"

// Finds or opens the port at which the host that sent the greeting must call. False: errbuf holds
// one sentence.
bool aq_node_listen_for(aq_node_t *node, const aq_greeting_t *greeting, aq_listener_t **out,
                        char *errbuf, size_t errbuf_size);

// Listens for workers, which may call from any host: at master_address, or at all addresses of this
// host. Returns 0 or errno.
int aq_node_listen_all(aq_node_t *node, uint16_t *port);
