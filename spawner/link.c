// One connection of the tree.
#include "link.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHUNK ((size_t)64 * 1024)

static void set_option(int fd, int level, int name, int value)
{
    (void)setsockopt(fd, level, name, &value, sizeof value);
}

void aq_link_open(aq_link_t *link, int fd)
{
    *link = (aq_link_t){.fd = fd};
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, AQ_LINK_SILENCE / 2);
    set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 1);
    set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, AQ_LINK_SILENCE / 2);
    set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, AQ_LINK_SILENCE * 1000);
}

void aq_link_close(aq_link_t *link)
{
    if (link->fd >= 0)
        (void)close(link->fd);
    link->fd = -1;
    aq_bytes_free(&link->in);
    aq_bytes_free(&link->out);
    link->taken = link->sent = 0;
}

size_t aq_link_waiting(const aq_link_t *link)
{
    return link->out.used - link->sent;
}

int aq_link_flush(aq_link_t *link)
{
    if (link->out.failed)
        return ENOMEM;
    while (aq_link_waiting(link) > 0) {
        ssize_t n = send(link->fd, link->out.data + link->sent, aq_link_waiting(link),
                         MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : errno;
        link->sent += (size_t)n;
        link->total += (uint64_t)n;
    }
    link->out.used = link->sent = 0;
    return 0;
}

static void drop_taken(aq_link_t *link)
{
    if (link->taken == 0)
        return;
    memmove(link->in.data, link->in.data + link->taken, link->in.used - link->taken);
    link->in.used -= link->taken;
    link->taken = 0;
}

int aq_link_receive(aq_link_t *link)
{
    static uint8_t chunk[CHUNK];
    ssize_t n;
    drop_taken(link);
    do
        n = recv(link->fd, chunk, sizeof chunk, MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n == 0)
        return ENOTCONN;
    if (n < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : errno;
    aq_put_raw(&link->in, chunk, (size_t)n);
    return link->in.failed ? ENOMEM : 0;
}

aq_framing_t aq_link_next(aq_link_t *link, size_t most, aq_frame_t *out)
{
    const uint8_t *from = link->in.data + link->taken;
    aq_framing_t framing = link->in.used > link->taken
                               ? aq_frame_read(from, link->in.used - link->taken, most, out)
                               : AQ_FRAME_PART;
    if (framing == AQ_FRAME_WHOLE)
        link->taken += out->bytes;
    return framing;
}
