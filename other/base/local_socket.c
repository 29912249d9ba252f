// SPDX-License-Identifier: BSD-3-Clause
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // struct ucred
#endif
#include "local_socket.h"

#include <errno.h>
#include <stdint.h>
#include <sys/time.h>
#include <unistd.h>

#include "clock.h"

// A connect to a full queue waits for as long as a send may.
static void limit_wait(int fd, int ms)
{
    const struct timeval limit = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000L};
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

int aq_local_connect(const struct sockaddr_un *at, socklen_t length, int type, int wait_ms)
{
    const uint64_t deadline = aq_clock_ns() + (uint64_t)wait_ms * 1000000;
    const int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    int error = fd < 0 ? errno : EINTR;
    if (fd >= 0)
        limit_wait(fd, wait_ms > 0 ? wait_ms : 1);
    while (error == EINTR) {
        error = connect(fd, (const struct sockaddr *)at, length) == 0 ? 0 : errno;
        if (error == EINTR && aq_clock_ns() >= deadline)
            error = EAGAIN;
    }
    if (error == 0) {
        limit_wait(fd, 0);
        return fd;
    }
    if (fd >= 0)
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
