// SPDX-License-Identifier: BSD-3-Clause
// Connects with a limit by SO_SNDTIMEO, and asks the kernel for the user of the other end. Callers
// are members of a rendezvous, universes, reports of ranks and gasnet_top.
#include "local_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/time.h>
#include <unistd.h>

#include "../clock.h"

// Limits a connect to a listener whose queue is full: it waits as long as a send may.
static void limit_wait(int fd, int ms)
{
    const struct timeval limit = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000L};
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

// Returns 0 or errno. A signal only ends a call that waits for a place in the queue.
static int connect_within(int fd, const struct sockaddr_un *at, socklen_t length, int wait_ms)
{
    const uint64_t deadline = aq_clock_ns() + (uint64_t)wait_ms * 1000000;
    while (connect(fd, (const struct sockaddr *)at, length) != 0) {
        if (errno != EINTR)
            return errno;
        if (aq_clock_ns() >= deadline)
            return EAGAIN;
    }
    return 0;
}

int aq_local_connect(const struct sockaddr_un *at, socklen_t length, int type, int wait_ms)
{
    const int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | (wait_ms > 0 ? 0 : SOCK_NONBLOCK), 0);
    if (fd < 0)
        return -1;
    limit_wait(fd, wait_ms);
    const int error = connect_within(fd, at, length, wait_ms);
    if (error == 0) {
        limit_wait(fd, 0);
        (void)fcntl(fd, F_SETFL, 0); // a socket has no other flag
        return fd;
    }
    (void)close(fd);
    errno = error;
    return -1;
}

static bool read_peer(int fd, struct ucred *peer)
{
    socklen_t length = sizeof *peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, peer, &length) == 0;
}

bool aq_local_is_own(int fd)
{
    struct ucred peer;
    return read_peer(fd, &peer) && peer.uid == geteuid();
}

bool aq_local_is_own_or_root(int fd)
{
    struct ucred peer;
    return read_peer(fd, &peer) && (peer.uid == geteuid() || peer.uid == 0);
}

pid_t aq_local_process(int fd)
{
    struct ucred peer;
    return read_peer(fd, &peer) ? peer.pid : 0;
}
