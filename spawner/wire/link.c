// SPDX-License-Identifier: BSD-3-Clause
// One connection of the tree.
#include "link.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../other/base/clock.h"
#include "../../other/base/system/await.h"
#include "../../other/base/minmax.h"
#include "../../other/base/settings/settings.h"
#include "../shell/net_address.h"

#define CHUNK ((size_t)64 * 1024)
#define KEEP_IDLE 3 // seconds; all peers of a lost host detect the loss at about the same time

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
    set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEP_IDLE);
    set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 1);
    aq_link_bear(link, AQ_LINK_SILENCE_MS);
}

// With a user time-out, the kernel does not count the probes of an idle connection.
void aq_link_bear(const aq_link_t *link, uint32_t silence_ms)
{
    const uint32_t most = INT_MAX / 2;
    set_option(link->fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 2 * (int)aq_min(silence_ms, most));
}

uint32_t aq_link_chosen_silence(void)
{
    const double ms = aq_settings_real(AQ_SET_HOST_TIMEOUT) * 1000;
    return ms > 0 && ms < AQ_LINK_FOREVER ? (uint32_t)ms : AQ_LINK_FOREVER;
}

void aq_link_close(aq_link_t *link)
{
    if (link->fd >= 0)
        (void)close(link->fd);
    link->fd = -1;
    aq_bytes_free(&link->in);
    aq_bytes_free(&link->out);
    aq_bytes_free(&link->wire_in);
    aq_bytes_free(&link->wire_out);
    aq_seal_free(link->seal);
    link->seal = NULL;
    link->taken = link->sent = link->wire_sent = 0;
}

void aq_link_reason(const aq_link_t *link, int error, char *text, size_t size)
{
    char address[AQ_ADDRESS_TEXT];
    aq_net_peer(link->fd, address);
    if (error == EBADMSG)
        snprintf(text, size,
                 "bytes from %s were changed, inserted, replayed or dropped on the way, by an "
                 "attacker on the network without the key of the job",
                 address[0] != '\0' ? address : "there");
    else
        snprintf(text, size, "%s", strerror(error));
}

// ---- out ----

size_t aq_link_waiting(const aq_link_t *link)
{
    return link->out.used - link->sent + link->wire_out.used - link->wire_sent;
}

// Sends a buffer from offset *sent on. Returns errno, or 0, also if the kernel accepts no more for
// now.
static int link_send(const aq_link_t *link, const aq_bytes_t *bytes, size_t *sent)
{
    while (*sent < bytes->used) {
        ssize_t n =
            send(link->fd, bytes->data + *sent, bytes->used - *sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : errno;
        *sent += (size_t)n;
    }
    return 0;
}

static void link_seal_next(aq_link_t *link)
{
    size_t length = link->out.used - link->sent;
    if (length > AQ_SEAL_PLAIN_MAX)
        length = AQ_SEAL_PLAIN_MAX;
    aq_seal_record(link->seal, link->out.data + link->sent, length, &link->wire_out);
    link->sent += length;
}

// Seals one record at a time, so that the sealed copy stays small no matter how much waits in out.
static int link_flush_sealed(aq_link_t *link)
{
    int error;
    while ((error = link_send(link, &link->wire_out, &link->wire_sent)) == 0 &&
           link->wire_sent == link->wire_out.used) {
        link->wire_out.used = link->wire_sent = 0;
        if (link->sent == link->out.used)
            break;
        link_seal_next(link);
        if (link->wire_out.failed)
            return ENOMEM;
    }
    return error;
}

int aq_link_flush(aq_link_t *link)
{
    if (link->out.failed || link->wire_out.failed)
        return ENOMEM;
    int error =
        link->seal != NULL ? link_flush_sealed(link) : link_send(link, &link->out, &link->sent);
    if (error == 0 && link->sent == link->out.used)
        link->out.used = link->sent = 0;
    return error;
}

// ---- in ----

static void drop_front(aq_bytes_t *bytes, size_t length)
{
    if (length == 0)
        return;
    memmove(bytes->data, bytes->data + length, bytes->used - length);
    bytes->used -= length;
}

static int link_open_records(aq_link_t *link)
{
    size_t used;
    bool genuine =
        aq_seal_open(link->seal, link->wire_in.data, link->wire_in.used, &used, &link->in);
    drop_front(&link->wire_in, used);
    if (!genuine)
        return EBADMSG;
    return link->in.failed || link->wire_in.failed ? ENOMEM : 0;
}

// Bytes that arrived after the last clear frame are already sealed.
int aq_link_seal(aq_link_t *link, const aq_auth_t *auth, const uint8_t key[AQ_KEY_BYTES],
                 bool is_caller)
{
    link->seal = aq_seal_new(auth, key, is_caller);
    if (link->seal == NULL)
        return ENOMEM;
    link->wire_out = link->out;
    link->wire_sent = link->sent;
    link->out = (aq_bytes_t){0};
    link->sent = 0;
    drop_front(&link->in, link->taken);
    link->taken = 0;
    link->wire_in = link->in;
    link->in = (aq_bytes_t){0};
    return link_open_records(link);
}

int aq_link_receive(aq_link_t *link)
{
    static uint8_t chunk[CHUNK];
    ssize_t n;
    drop_front(&link->in, link->taken);
    link->taken = 0;
    bool limited = link->seal == NULL && !link->trusted;
    if (limited && link->in.used >= AQ_LINK_CLEAR_MAX)
        return EMSGSIZE;
    do
        n = recv(link->fd, chunk, limited ? AQ_LINK_CLEAR_MAX - link->in.used : sizeof chunk,
                 MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n == 0)
        return ENOTCONN;
    if (n < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : errno;
    aq_put_raw(link->seal != NULL ? &link->wire_in : &link->in, chunk, (size_t)n);
    if (link->seal != NULL)
        return link_open_records(link);
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

bool aq_link_await(aq_link_t *link, size_t most, uint64_t deadline, aq_frame_t *out)
{
    aq_framing_t framing;
    if (aq_link_flush(link) != 0)
        return false;
    while ((framing = aq_link_next(link, most, out)) == AQ_FRAME_PART) {
        const uint64_t now = aq_clock_ns();
        if (now > deadline)
            return false;
        const int ms = deadline == UINT64_MAX ? -1 : (int)((deadline - now) / 1000000) + 1;
        if (!aq_await(link->fd, POLLIN, ms) || aq_link_receive(link) != 0)
            return false;
    }
    return framing == AQ_FRAME_WHOLE;
}

bool aq_link_read_first(int fd, size_t most, int timeout_ms, aq_bytes_t *bytes, aq_frame_t *out)
{
    aq_framing_t framing;
    while ((framing = aq_frame_read(bytes->data, bytes->used, most, out)) == AQ_FRAME_PART) {
        uint8_t byte;
        if (!aq_await(fd, POLLIN, timeout_ms) || TEMP_FAILURE_RETRY(read(fd, &byte, 1)) != 1)
            return false;
        aq_put_u8(bytes, byte);
    }
    return framing == AQ_FRAME_WHOLE;
}
