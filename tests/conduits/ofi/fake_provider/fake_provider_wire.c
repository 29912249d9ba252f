// SPDX-License-Identifier: BSD-3-Clause
// How the fake provider moves bytes: datagrams between sockets of the abstract name space.
//
// An endpoint has one socket, whose name follows from its id. The kernel keeps the datagrams of one
// sender to one receiver in order and loses none. Where it takes no more, the rest waits in a queue
// for the peer until the next progress. A datagram to a process that ended is refused: that is
// how the provider notices that a peer is gone, with pings while operations wait for it.
#include "fake_provider.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MAGIC = 0xfa4e0f1,
    DATAGRAMS_MAX = 64, // that one progress takes
    PING_EVERY = 256,   // calls of progress
    ENDPOINTS_OF_PROCESS = 512,
    SOCKET_BUFFER = 4 << 20,
};

// ---- names ----

static socklen_t name_make(uint32_t id, struct sockaddr_un *name)
{
    memset(name, 0, sizeof *name);
    name->sun_family = AF_UNIX;
    const int length = snprintf(name->sun_path + 1, sizeof name->sun_path - 1,
                                "aqueduct-fake-provider-%08x", (unsigned)id);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

// An id that no other endpoint of the host has: the process and a count.
static int name_bind(fake_endpoint_t *endpoint)
{
    struct sockaddr_un name;
    for (unsigned i = 0; i < ENDPOINTS_OF_PROCESS; i++) {
        endpoint->id = (uint32_t)getpid() << 9 | i;
        const socklen_t length = name_make(endpoint->id, &name);
        if (bind(endpoint->socket, (struct sockaddr *)&name, length) == 0)
            return 0;
        if (errno != EADDRINUSE)
            return -errno;
    }
    return -FI_EADDRINUSE;
}

int fake_socket_open(fake_endpoint_t *endpoint)
{
    const int buffer = SOCKET_BUFFER;
    endpoint->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (endpoint->socket < 0)
        return -errno;
    setsockopt(endpoint->socket, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
    const int error = name_bind(endpoint);
    if (error)
        close(endpoint->socket);
    return error;
}

// ---- peers ----

fake_peer_t *fake_peer_find(fake_endpoint_t *endpoint, uint32_t id)
{
    for (fake_peer_t *peer = endpoint->peers; peer; peer = peer->next)
        if (peer->id == id)
            return peer;
    fake_peer_t *peer = fake_alloc(sizeof *peer);
    peer->id = id;
    peer->tail = &peer->head;
    peer->next = endpoint->peers;
    endpoint->peers = peer;
    return peer;
}

static void out_remove_first(fake_peer_t *peer)
{
    fake_out_t *out = peer->head;
    peer->head = out->next;
    if (!peer->head)
        peer->tail = &peer->head;
    free(out->owned);
    free(out);
}

static void peer_lose(fake_endpoint_t *endpoint, fake_peer_t *peer)
{
    peer->gone = true;
    while (peer->head)
        out_remove_first(peer);
    fake_operations_fail(endpoint, peer->id, FI_ECONNRESET);
}

// ---- sending ----

// The part of source that starts at offset, at most most bytes. Returns how many entries it has.
static size_t iov_part(const struct iovec *source, size_t count, size_t offset, size_t most,
                       struct iovec *out)
{
    size_t used = 0;
    for (size_t i = 0; i < count && most; i++) {
        if (offset >= source[i].iov_len) {
            offset -= source[i].iov_len;
            continue;
        }
        const size_t left = source[i].iov_len - offset, bytes = left < most ? left : most;
        out[used++] = (struct iovec){(char *)source[i].iov_base + offset, bytes};
        most -= bytes;
        offset = 0;
    }
    return used;
}

static size_t chunk_bytes(const fake_out_t *out)
{
    const uint64_t left = out->head.total - out->head.offset;
    return left < FAKE_CHUNK ? left : FAKE_CHUNK;
}

static ssize_t chunk_send(fake_endpoint_t *endpoint, const fake_peer_t *peer, fake_out_t *out)
{
    struct sockaddr_un name;
    struct iovec iov[1 + FAKE_IOV_MAX] = {{&out->head, sizeof out->head}};
    const struct iovec owned = {out->owned, out->owned ? out->head.total : 0};
    const fake_operation_t *operation = out->operation;
    const size_t parts =
        iov_part(operation ? operation->source : &owned, operation ? operation->source_count : 1,
                 out->head.offset, chunk_bytes(out), iov + 1);
    struct msghdr message = {.msg_name = &name,
                             .msg_namelen = name_make(peer->id, &name),
                             .msg_iov = iov,
                             .msg_iovlen = 1 + parts};
    return sendmsg(endpoint->socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void out_finish(fake_endpoint_t *endpoint, fake_peer_t *peer)
{
    fake_operation_t *operation = peer->head->operation;
    out_remove_first(peer);
    if (operation && operation->kind == FAKE_SEND && !operation->delivery)
        fake_operation_end(endpoint, operation, 0);
}

// Whether the kernel may take more for this peer.
static bool peer_send_one(fake_endpoint_t *endpoint, fake_peer_t *peer)
{
    fake_out_t *out = peer->head;
    const size_t bytes = chunk_bytes(out);
    if (chunk_send(endpoint, peer, out) < 0) {
        if (errno == ECONNREFUSED || errno == ENOENT || errno == EPIPE)
            peer_lose(endpoint, peer);
        else if (errno != EAGAIN && errno != ENOBUFS && errno != EINTR)
            fake_die("sendmsg to %08x: %s", (unsigned)peer->id, strerror(errno));
        return false;
    }
    out->head.offset += bytes;
    if (out->head.offset >= out->head.total)
        out_finish(endpoint, peer);
    return true;
}

void fake_out_flush(fake_endpoint_t *endpoint)
{
    for (fake_peer_t *peer = endpoint->peers; peer; peer = peer->next)
        while (peer->head && peer_send_one(endpoint, peer))
            ;
}

bool fake_out_pending(const fake_endpoint_t *endpoint)
{
    for (const fake_peer_t *peer = endpoint->peers; peer; peer = peer->next)
        if (peer->head)
            return true;
    return false;
}

void fake_out_queue(fake_endpoint_t *endpoint, fake_peer_t *peer, fake_out_t *out)
{
    out->head.magic = MAGIC;
    out->head.source = endpoint->id;
    out->next = NULL;
    *peer->tail = out;
    peer->tail = &out->next;
}

// ---- receiving ----

static void iov_write(const struct iovec *iov, size_t count, uint64_t offset, const char *bytes,
                      size_t length)
{
    struct iovec parts[FAKE_IOV_MAX];
    const size_t used = iov_part(iov, count, offset, length, parts);
    for (size_t i = 0; i < used; i++) {
        memcpy(parts[i].iov_base, bytes, parts[i].iov_len);
        bytes += parts[i].iov_len;
    }
}

// A part of a result. The parts come in order, and the last one ends the operation.
static void result_take(fake_endpoint_t *endpoint, const fake_head_t *head, const char *bytes,
                        size_t length)
{
    fake_operation_t *operation = fake_operation_find(endpoint, head->number);
    if (!operation || !operation->has_result || head->source != operation->target)
        return;
    if (head->total != operation->result_bytes || head->offset + length > head->total)
        fake_die("a result of %llu bytes came for %zu bytes", (unsigned long long)head->total,
                 operation->result_bytes);
    iov_write(operation->result, operation->result_count, head->offset, bytes, length);
    if (head->offset + length == head->total)
        fake_operation_end(endpoint, operation, 0);
}

static void ack_take(fake_endpoint_t *endpoint, const fake_head_t *head)
{
    fake_operation_t *operation = fake_operation_find(endpoint, head->number);
    if (operation && head->source == operation->target)
        fake_operation_end(endpoint, operation, (int)head->status);
}

static fake_arrival_t **partial_find(fake_endpoint_t *endpoint, const fake_head_t *head)
{
    fake_arrival_t **at = &endpoint->partial;
    while (*at && ((*at)->head.source != head->source || (*at)->head.number != head->number))
        at = &(*at)->next;
    return at;
}

static fake_arrival_t *arrival_new(const fake_head_t *head)
{
    fake_arrival_t *arrival = fake_alloc(sizeof *arrival);
    arrival->head = *head;
    arrival->bytes = fake_alloc(head->total);
    return arrival;
}

static void arrival_append(fake_endpoint_t *endpoint, fake_arrival_t *arrival)
{
    fake_arrival_t **at = &endpoint->arrived;
    while (*at)
        at = &(*at)->next;
    arrival->next = NULL;
    *at = arrival;
}

static void request_take(fake_endpoint_t *endpoint, const fake_head_t *head, const char *bytes,
                         size_t length)
{
    fake_arrival_t **at = partial_find(endpoint, head);
    if (!*at)
        *at = arrival_new(head);
    fake_arrival_t *arrival = *at;
    if (head->offset != arrival->got || head->total != arrival->head.total ||
        length > head->total - head->offset)
        fake_die("a part of a message from %08x does not follow the one before",
                 (unsigned)head->source);
    memcpy(arrival->bytes + arrival->got, bytes, length);
    arrival->got += length;
    if (arrival->got < head->total)
        return;
    *at = arrival->next;
    fake_arrival_accept(endpoint, arrival);
    arrival_append(endpoint, arrival);
}

static void datagram_take(fake_endpoint_t *endpoint, const fake_head_t *head, const char *bytes,
                          size_t length)
{
    if (head->magic != MAGIC || head->kind >= FAKE_KINDS || head->offset > head->total)
        fake_die("a datagram of %zu bytes is not from the fake provider", length);
    if (head->kind < FAKE_REQUESTS)
        request_take(endpoint, head, bytes, length);
    else if (head->kind == FAKE_ACK)
        ack_take(endpoint, head);
    else if (head->kind == FAKE_DATA)
        result_take(endpoint, head, bytes, length);
}

static bool datagram_receive(fake_endpoint_t *endpoint)
{
    static char bytes[FAKE_CHUNK + 1]; // under fake_lock
    fake_head_t head;
    struct iovec iov[2] = {{&head, sizeof head}, {bytes, sizeof bytes}};
    struct msghdr message = {.msg_iov = iov, .msg_iovlen = 2};
    const ssize_t got = recvmsg(endpoint->socket, &message, MSG_DONTWAIT);
    if (got >= (ssize_t)sizeof head)
        datagram_take(endpoint, &head, bytes, (size_t)got - sizeof head);
    return got >= 0;
}

static void peers_ping(fake_endpoint_t *endpoint)
{
    for (const fake_operation_t *operation = endpoint->operations; operation;
         operation = operation->next) {
        fake_peer_t *peer = fake_peer_find(endpoint, operation->target);
        if (peer->head)
            continue;
        fake_out_t *out = fake_alloc(sizeof *out);
        out->head.kind = FAKE_PING;
        fake_out_queue(endpoint, peer, out);
    }
}

void fake_progress(fake_endpoint_t *endpoint)
{
    if (!endpoint->enabled)
        return;
    for (int i = 0; i < DATAGRAMS_MAX && datagram_receive(endpoint); i++)
        ;
    fake_arrivals_run(endpoint);
    if (++endpoint->progress_count % PING_EVERY == 0)
        peers_ping(endpoint);
    fake_out_flush(endpoint);
}

// ---- the end ----

static void arrivals_free(fake_arrival_t *arrival)
{
    while (arrival) {
        fake_arrival_t *next = arrival->next;
        free(arrival->bytes);
        free(arrival);
        arrival = next;
    }
}

void fake_wire_close(fake_endpoint_t *endpoint)
{
    fake_out_flush(endpoint);
    while (endpoint->peers) {
        fake_peer_t *peer = endpoint->peers;
        endpoint->peers = peer->next;
        while (peer->head)
            out_remove_first(peer);
        free(peer);
    }
    arrivals_free(endpoint->partial);
    arrivals_free(endpoint->arrived);
    arrivals_free(endpoint->unexpected);
    close(endpoint->socket);
}
