// SPDX-License-Identifier: BSD-3-Clause
// GASNET_IBV_PORTS: which ports of which devices may be used.
//
//      filter  =  device [ "+" device ... ]            mlx5_0+mlx5_1:1,2
//      device  =  name [ ":" port [ "," port ... ] ]
//
// What is always true:
// - A device without ports stands for its first active port; a device with ports for these only.
// - A port may be used if any entry names it. Order and repetition do not matter, and entries for
//   devices and ports that do not exist have no effect.
// - An empty text is no filter: it stands for the first active port of every device.
//
// The functions read the text each time: they keep and allocate nothing, and look at no device.
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef enum aq_ibv_filter_verdict {
    AQ_IBV_FILTER_OTHER_DEVICE, // the device is not named
    AQ_IBV_FILTER_OTHER_PORT,   // the device is named, but with other ports
    AQ_IBV_FILTER_FIRST_ACTIVE, // if no port of the device with a lower number is active
    AQ_IBV_FILTER_NAMED,        // this port is named
} aq_ibv_filter_verdict_t;

// True: the text is a valid filter. Otherwise writes a message into err: where the fault is, what
// is expected there, and the remedy. Does not log.
bool aq_ibv_filter_check(const char *text, char *err, size_t err_size);

// What a filter says about a port, by the most favourable of its entries. aq_ibv_filter_check has
// accepted the text.
aq_ibv_filter_verdict_t aq_ibv_filter_match(const char *text, const char *device, unsigned port);
