// Limits of negotiated payload.
#ifndef AQ_AM_PREPARE_H
#define AQ_AM_PREPARE_H

#include <stddef.h>

// Most that Prepare gives for a Long without a buffer of the client.
#define AQ_PREPARE_LONG_ROOM ((size_t)64 << 10)

#endif
