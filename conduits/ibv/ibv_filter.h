// GASNET_IBV_PORTS: which ports of which devices may be used.
//
//      filter  =  device [ "+" device ... ]            mlx5_0+mlx5_1:1,2
//      device  =  name [ ":" port [ "," port ... ] ]
//
// What is always true:
// - A device without ports stands for its first active port, one with ports for just these.
// - A port may be used if any of the entries has it: order and repetition mean nothing, and neither
//   do entries for what is not there.
// - Nothing at all is no filter: the first active port of every device.
//
// The text is the filter: nothing is kept, nothing is allocated, no device is looked at.
#ifndef AQ_IBV_FILTER_H
#define AQ_IBV_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum aq_ibv_filter_verdict {
    AQ_IBV_FILTER_OTHER_DEVICE, // the device is not named
    AQ_IBV_FILTER_OTHER_PORT,   // the device is, with other ports than this one
    AQ_IBV_FILTER_FIRST_ACTIVE, // if no port of the device with a lower number is active
    AQ_IBV_FILTER_NAMED,        // this very port is named
} aq_ibv_filter_verdict_t;

// True when the text is a filter. Else writes a sentence into err: where the fault is, what should
// stand there, and the remedy. Does not log.
bool aq_ibv_filter_check(const char *text, char *err, size_t err_size);

// What a filter says about a port, the most favourable of its entries. The text is one that
// aq_ibv_filter_check took.
aq_ibv_filter_verdict_t aq_ibv_filter_match(const char *text, const char *device, unsigned port);

#endif
