// SPDX-License-Identifier: BSD-3-Clause
// The head of a Long that travels in pieces, in the message behind them; see
// core/am/long_fragment.c. Tests send it themselves, so it stands here once more: a change there
// that is not made here fails.
#ifndef AQ_CHECK_PUSHED_LONG_H
#define AQ_CHECK_PUSHED_LONG_H

#include <stdint.h>

typedef struct pushed {
    void *dest;
    uint64_t nbytes;
    uint64_t number;
    uint16_t from, to;
    uint8_t handler, nargs, reply, zero;
    int32_t args[16];
} pushed_t;

#endif
