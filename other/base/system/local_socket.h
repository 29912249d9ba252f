// SPDX-License-Identifier: BSD-3-Clause
// Connections to sockets of this host. Any user may take a name in /tmp, and any abstract name, so
// callers limit the wait for the listener, and check that it belongs to the same user.
#pragma once

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

// Connects a socket of that type (SOCK_STREAM, SOCK_SEQPACKET), which is closed on exec. Blocks for
// at most wait_ms while the queue of the listener is full; 0: not at all. Returns a descriptor, or
// -1 with errno; EAGAIN: the queue is still full. The caller must check the folder of a name in a
// file system before this call, and the user of the listener after it.
int aq_local_connect(const struct sockaddr_un *at, socklen_t length, int type, int wait_ms);

// Whether the process at the other end is of this user. Of a connection, that is the process that
// has called listen or connect. Any thread.
bool aq_local_is_own(int fd);
// The same, or of root.
bool aq_local_is_own_or_root(int fd);
// The process at the other end, as this one sees it; 0: it cannot be seen.
pid_t aq_local_process(int fd);
