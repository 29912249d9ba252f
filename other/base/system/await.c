// SPDX-License-Identifier: BSD-3-Clause
// A loop around poll(2) that counts down the rest of the time after each signal.
#include "await.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>

#include "../clock.h"

bool aq_await(int fd, short events, int timeout_ms)
{
    const uint64_t end = aq_clock_ns() + (uint64_t)(uint32_t)timeout_ms * 1000000;
    struct pollfd ready = {.fd = fd, .events = events};
    int count;
    while ((count = poll(&ready, 1, timeout_ms)) < 0 && errno == EINTR) {
        const uint64_t now = aq_clock_ns();
        if (timeout_ms >= 0)
            timeout_ms = now < end ? (int)((end - now) / 1000000) + 1 : 0;
    }
    return count > 0;
}
