// SPDX-License-Identifier: BSD-3-Clause
// Waiting for requests and file descriptors together.
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "../../core/aqueduct.h"
#include "../../core/progress/progress.h"
#include "../../other/base/clock.h"
#include "../../other/base/minmax.h"
#include "request.h"
#include "msg_check.h"

enum {
    BRIEF_POLLS = 64, // before a sleep: some microseconds
    BRIEF_LOOKS = 16, // polls for each check of the descriptors, which is a call of the kernel
};

typedef struct fds_wait {
    const gasnetx_Request_t *requests;
    size_t count, first; // first: the complete one, or count
    struct pollfd *fds;
    nfds_t nfds;
    int ready;           // descriptors with events; negative: poll has failed
    struct pollfd *both; // fds, and the descriptor of the library
    uint64_t until;      // UINT64_MAX: no limit
} fds_wait_t;

static bool request_is_waited_for(gasnetx_Request_t request)
{
    return request && request->begun;
}

static bool wait_finds_request(fds_wait_t *wait)
{
    size_t i = 0;
    while (i < wait->count &&
           !(request_is_waited_for(wait->requests[i]) && aq_request_is_complete(wait->requests[i])))
        i++;
    wait->first = i;
    return i < wait->count;
}

// Whether a descriptor has an event. Also true if the kernel refuses the descriptors.
static bool wait_finds_fd(fds_wait_t *wait)
{
    wait->ready = wait->nfds ? poll(wait->fds, wait->nfds, 0) : 0;
    if (wait->ready < 0 && errno == EINTR)
        wait->ready = 0;
    return wait->ready != 0;
}

// Whether the wait is over. Checks the descriptors, too, when a request is complete, so that the
// caller sees both.
static bool wait_finds(fds_wait_t *wait)
{
    const bool fd = wait_finds_fd(wait);
    return wait_finds_request(wait) || fd;
}

static bool wait_polls(fds_wait_t *wait)
{
    for (unsigned i = 0; i < BRIEF_POLLS; i++) {
        if (i % BRIEF_LOOKS ? wait_finds_request(wait) && wait_finds(wait) : wait_finds(wait))
            return true;
        if (aq_progress_poll())
            i = 0;
    }
    return wait_finds(wait);
}

static int ms_until(uint64_t until)
{
    const uint64_t now = aq_clock_ns();
    if (until == UINT64_MAX)
        return -1;
    return now < until ? (int)aq_min((until - now + 999999) / 1000000, (uint64_t)INT_MAX) : 0;
}

// Sleeps once. Returns an error of gasnetx_Wait_Arm.
static int wait_sleeps(fds_wait_t *wait)
{
    const int armed = gasnetx_Wait_Arm();
    if (armed != GASNET_OK)
        return armed == GASNET_ERR_NOT_READY ? GASNET_OK : armed;
    if (!wait_finds_request(wait))
        (void)poll(wait->both, wait->nfds + 1, ms_until(wait->until));
    return gasnetx_Wait_Disarm();
}

static int wait_turns(fds_wait_t *wait)
{
    for (int result = GASNET_OK; result == GASNET_OK; result = wait_sleeps(wait)) {
        if (wait_polls(wait))
            return GASNET_OK;
        if (wait->until != UINT64_MAX && aq_clock_ns() >= wait->until)
            return GASNET_ERR_NOT_READY;
    }
    return GASNET_ERR_RESOURCE;
}

// Prepares the array for poll. False: there is no memory or no descriptor.
static bool wait_prepare(fds_wait_t *wait)
{
    int fd;
    wait->both = malloc((wait->nfds + 1) * sizeof *wait->both);
    if (!wait->both || gasnetx_Wait_Descriptor(&fd) != GASNET_OK)
        return false;
    if (wait->nfds)
        memcpy(wait->both, wait->fds, wait->nfds * sizeof *wait->both);
    wait->both[wait->nfds] = (struct pollfd){.fd = fd, .events = POLLIN};
    return true;
}

static bool wait_may_end(const fds_wait_t *wait)
{
    size_t i = 0;
    while (i < wait->count && !request_is_waited_for(wait->requests[i]))
        i++;
    return i < wait->count || wait->nfds || wait->until != UINT64_MAX;
}

int gasnetx_Request_WaitFds(const gasnetx_Request_t *requests, size_t count, struct pollfd *fds,
                            nfds_t nfds, int timeout_ms, size_t *first, size_t *ready)
{
    static const char call[] = "gasnetx_Request_WaitFds";
    aq_job_need(call);
    fds_wait_t wait = {
        .requests = requests, .count = count, .first = count, .fds = fds, .nfds = nfds};
    wait.until = timeout_ms < 0 ? UINT64_MAX : aq_clock_ns() + (uint64_t)timeout_ms * 1000000;
    if (nfds > INT_MAX)
        return aq_msg_refuse(call, "poll(2) takes no such number of descriptors");
    if (aq_msg_check_requests(call, count) != GASNET_OK)
        return GASNET_ERR_BAD_ARG;
    if (!wait_may_end(&wait))
        return aq_msg_refuse(call, "no request has begun, and there is no descriptor or time-out");
    const int result = wait_prepare(&wait) ? wait_turns(&wait) : GASNET_ERR_RESOURCE;
    free(wait.both);
    if (result == GASNET_OK && wait.ready < 0)
        return aq_msg_refuse(call, "poll(2) refuses the descriptors");
    if (first)
        *first = wait.first;
    if (ready)
        *ready = wait.ready > 0 ? (size_t)wait.ready : 0;
    return result;
}
