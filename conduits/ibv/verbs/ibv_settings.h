// SPDX-License-Identifier: BSD-3-Clause
// Checks of settings that the settings table cannot do by itself: variables of older versions,
// variables that exclude each other, and values that exceed what a device supports.
#pragma once

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../../other/base/log/status.h"

// The first rank warns of variables that are set and no longer have a meaning. AQ_ERR_CONFIG: two
// variables contradict each other; errbuf has the message, and nothing is logged.
aq_status_t aq_ibv_settings_check(char *errbuf, size_t errbuf_size);

// AQ_ERR_CONFIG: a variable that is set asks for more than this device supports, with so many peers
// (1 or more); errbuf has the message, and nothing is logged.
aq_status_t aq_ibv_settings_fit(const char *device, const struct ibv_device_attr *can,
                                uint64_t peers, char *errbuf, size_t errbuf_size);

// Whether links are to share queue pairs (ibv_xrc.h) if the device can: GASNET_USE_XRC, with
// connections by datagrams.
bool aq_ibv_xrc_wanted(void);

// How many ports a process may use: GASNET_NUM_QPS; unless that is set, two, or all that
// GASNET_IBV_PORTS names.
size_t aq_ibv_ports_wanted(void);

// How many queue pairs a link has, given how many ports the process uses: GASNET_NUM_QPS, or one
// for each port.
unsigned aq_ibv_queue_pairs_wanted(unsigned ports);
