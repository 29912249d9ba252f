// SPDX-License-Identifier: BSD-3-Clause
// Sends datagrams through the kernel for udp_send.c, receives them for udp_receive.c, and waits for
// them and wakes waiting threads for udp_conduit.c.
#include "udp_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <unistd.h>

#include "../../../other/base/clock.h"
#include "../../../other/base/minmax.h"
#include "../../../other/base/log/log.h"
#include "../../../other/base/settings/settings.h"
#include "../../../other/base/settings/settings_lists.h"
#include "../../../other/base/system/open_files.h"
#include "udp_faults.h"
#include "../profile/udp_profile.h"

enum {
    SENDS = 32,          // messages in one system call
    SEGMENTS = 64,       // datagrams into which the kernel splits one message, at most
    PIECES = 512,        // pieces of such messages in one system call
    LONGEST_RUN = 65000, // bytes of such a message: with headers a packet of at most 64 KiB
    ATTEMPTS = 8,        // receives after errors of earlier sends
};

typedef struct udp_control {
    _Alignas(struct cmsghdr) char bytes[CMSG_SPACE(sizeof(int))];
} udp_control_t;

// The content of a slot: datagrams of `each` bytes, of which the last may be shorter.
typedef struct udp_slot_contents {
    size_t length, each, at; // at: offset of the next datagram to return
} udp_slot_contents_t;

// Arguments of system calls, and the slots.
struct udp_socket_io {
    struct mmsghdr out[SENDS];
    unsigned covers[SENDS]; // datagrams in that message
    udp_control_t control[SENDS];
    struct iovec pieces[PIECES];
    unsigned pieces_used;

    struct mmsghdr in[UDP_SLOTS];
    udp_control_t reported[UDP_SLOTS];
    udp_slot_contents_t held[UDP_SLOTS];
    unsigned first, filled; // slots whose datagrams were not returned yet
    unsigned expected;      // slots to pass to the next receive call
    struct iovec slot[UDP_SLOTS];
    udp_sockaddr_t from[UDP_SLOTS];
};

// ---- opening ----

udp_socket_setup_t udp_socket_settings(bool local, uint32_t rank)
{
    aq_ports_t ports = {0};
    (void)aq_settings_read_ports(aq_setting_text(aq_udp_setting(UDP_SET_PORTS)), &ports);
    return (udp_socket_setup_t){
        .interface = {.local = local,
                      .worker = aq_setting_text(aq_udp_setting(UDP_SET_WORKERIP)),
                      .master = aq_settings_text(AQ_SET_MASTERIP)},
        .port_low = ports.low,
        .port_high = ports.high,
        .receive_bytes = aq_setting_bytes(aq_udp_setting(UDP_SET_RCVBUF)),
        .send_bytes = aq_setting_bytes(aq_udp_setting(UDP_SET_SNDBUF)),
        .mtu = (size_t)aq_setting_int(aq_udp_setting(UDP_SET_MTU)),
        .spread = rank,
    };
}

static void reset_slot(struct udp_socket_io *io, unsigned i)
{
    io->in[i].msg_hdr = (struct msghdr){.msg_name = &io->from[i].any,
                                        .msg_namelen = sizeof io->from[i].v6,
                                        .msg_iov = &io->slot[i],
                                        .msg_iovlen = 1,
                                        .msg_control = &io->reported[i],
                                        .msg_controllen = sizeof io->reported[i]};
}

// Gives memory to the first `wanted` slots, or to fewer if memory is out; returns their number.
static unsigned slots_make(udp_socket_t *socket, unsigned wanted)
{
    struct udp_socket_io *io = socket->io;
    unsigned made = atomic_load_explicit(&socket->slots, memory_order_relaxed);
    for (; made < wanted; made++) {
        io->slot[made] = (struct iovec){aligned_alloc(64, UDP_SLOT_BYTES), UDP_SLOT_BYTES};
        if (!io->slot[made].iov_base)
            break;
        reset_slot(io, made);
    }
    atomic_store_explicit(&socket->slots, made, memory_order_relaxed);
    return aq_min(wanted, made);
}

static aq_status_t make_batch(udp_socket_t *socket, unsigned slots)
{
    socket->io = calloc(1, sizeof *socket->io);
    if (!socket->io || slots_make(socket, slots) < slots) {
        aq_log_error("out of memory for the buffers of conduit udp (%zu bytes)",
                     sizeof *socket->io + (size_t)slots * UDP_SLOT_BYTES);
        return AQ_ERR_RESOURCE;
    }
    socket->io->expected = 1;
    return AQ_OK;
}

static void set_port(udp_sockaddr_t *address, uint16_t port)
{
    if (address->any.sa_family == AF_INET)
        address->v4.sin_port = htons(port);
    else
        address->v6.sin6_port = htons(port);
}

static aq_status_t log_bind_fault(const udp_socket_t *socket, const udp_socket_setup_t *setup,
                                  int error)
{
    char text[UDP_ADDRESS_TEXT];
    unsigned ports = setup->port_high - setup->port_low + 1u;
    if (error == EADDRINUSE && setup->port_low)
        aq_log_error("GASNET_UDP_PORTS: every port from %u to %u is taken on interface %s; give a "
                     "wider range (these are %u; each process of a host takes one, and another "
                     "for each further endpoint with messages)",
                     setup->port_low, setup->port_high, socket->interface, ports);
    else if (error == EACCES && setup->port_low)
        aq_log_error("GASNET_UDP_PORTS: the ports from %u to %u are not open to this user (%s); "
                     "give ports above 1023",
                     setup->port_low, setup->port_high, strerror(error));
    else
        aq_log_error("a UDP socket cannot be bound to %s on interface %s: %s; choose another "
                     "interface with GASNET_WORKERIP",
                     udp_address_text(&socket->here, text), socket->interface, strerror(error));
    return AQ_ERR_RESOURCE;
}

// Binds to the first free port of the range, starting at the offset of this rank.
static aq_status_t bind_port(udp_socket_t *socket, const udp_socket_setup_t *setup)
{
    unsigned ports = setup->port_high - setup->port_low + 1u, tried = 0;
    int code;
    do {
        if (setup->port_low)
            set_port(&socket->here, (uint16_t)(setup->port_low + (setup->spread + tried) % ports));
        code = bind(socket->fd, &socket->here.any, socket->here.length);
    } while (code != 0 && errno == EADDRINUSE && ++tried < ports);
    if (code != 0)
        return log_bind_fault(socket, setup, errno);
    if (getsockname(socket->fd, &socket->here.any, &socket->here.length) == 0)
        return AQ_OK;
    return log_bind_fault(socket, setup, errno);
}

// Uses SO_SNDBUFFORCE and SO_RCVBUFFORCE if privileged, which ignore the system's limits. Returns
// the size that the kernel granted: it doubles the request to make room for its own data.
static size_t set_buffer(int fd, int option, int forced, uint64_t bytes)
{
    int wanted = (int)bytes, given = 0;
    if (setsockopt(fd, SOL_SOCKET, forced, &wanted, sizeof wanted) != 0)
        (void)setsockopt(fd, SOL_SOCKET, option, &wanted, sizeof wanted);
    (void)getsockopt(fd, SOL_SOCKET, option, &given, &(socklen_t){sizeof given});
    return (size_t)given;
}

// Finds out whether the kernel splits long messages into datagrams. If so, it can also coalesce
// them at the receiver. On loopback, where datagrams are as long as possible, that has no use.
static void use_segments(udp_socket_t *socket)
{
    int bytes, join = 1;
    socket->segments =
        getsockopt(socket->fd, SOL_UDP, UDP_SEGMENT, &bytes, &(socklen_t){sizeof bytes}) == 0;
    socket->joins =
        !socket->loopback && setsockopt(socket->fd, SOL_UDP, UDP_GRO, &join, sizeof join) == 0;
}

// Lets this host fragment datagrams that are too long for the path, and forbids fragmentation by
// routers, which report the MTU instead.
static void discover_path_mtu(int fd, sa_family_t family)
{
    int want4 = IP_PMTUDISC_WANT, want6 = IPV6_PMTUDISC_WANT;
    if (family == AF_INET)
        (void)setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &want4, sizeof want4);
    else
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &want6, sizeof want6);
}

// Allows or forbids that datagrams are fragmented. By IPv6 only hosts fragment packets, here to the
// length that every path carries.
static void allow_fragments(const udp_socket_t *socket, bool so)
{
    int v4 = so ? IP_PMTUDISC_DONT : IP_PMTUDISC_WANT, v6 = so ? UDP_SAFE_MTU : 0;
    if (socket->here.any.sa_family == AF_INET)
        (void)setsockopt(socket->fd, IPPROTO_IP, IP_MTU_DISCOVER, &v4, sizeof v4);
    else
        (void)setsockopt(socket->fd, IPPROTO_IPV6, IPV6_MTU, &v6, sizeof v6);
}

static int new_socket(const udp_socket_t *out)
{
    return socket(out->here.any.sa_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

// Moves a descriptor behind those that select() can name; keeps it if that is not allowed.
static int move_up(int fd)
{
    const int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, FD_SETSIZE);
    if (high >= 0)
        close(fd);
    return high >= 0 ? high : fd;
}

// The socket of a window. A process may have more windows than its limit of open files, which is
// usually 1,024 and may be raised up to a second limit. It is raised for this call only: the limit
// concerns the numbers of new descriptors, and a client that uses select() must not get larger ones
// than it allows. As our sockets have large numbers, the client has as many small ones as before.
static int new_window_socket(const udp_socket_t *out)
{
    struct rlimit before;
    (void)aq_open_files_raise(RLIM_INFINITY, &before);
    const int fd = move_up(new_socket(out));
    aq_open_files_restore(&before);
    return fd;
}

static aq_status_t make_socket(udp_socket_t *out, bool wakes)
{
    int only = 1;
    out->fd = wakes ? new_socket(out) : new_window_socket(out);
    if (wakes)
        out->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (out->fd < 0 || (wakes && out->wake_fd < 0)) {
        aq_log_error("a UDP socket cannot be opened: %s; allow the process more open files "
                     "(ulimit -n, and ulimit -Hn for windows), and sockets",
                     strerror(errno));
        return AQ_ERR_RESOURCE;
    }
    discover_path_mtu(out->fd, out->here.any.sa_family);
    if (out->here.any.sa_family == AF_INET6)
        (void)setsockopt(out->fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof only);
    return AQ_OK;
}

static void use_interface_of(udp_socket_t *socket, const udp_socket_t *beside)
{
    socket->here = beside->here;
    set_port(&socket->here, 0);
    socket->loopback = beside->loopback;
    socket->datagram_bytes = beside->datagram_bytes;
    memcpy(socket->interface, beside->interface, sizeof socket->interface);
}

static aq_status_t use_interface(udp_socket_t *socket, const udp_socket_setup_t *setup)
{
    udp_interface_t interface;
    size_t mtu;
    if (setup->beside) {
        use_interface_of(socket, setup->beside);
        return AQ_OK;
    }
    aq_status_t status = udp_interface_choose(&setup->interface, &interface);
    if (status == AQ_OK)
        status = udp_interface_mtu(&interface, &mtu);
    if (status != AQ_OK)
        return status;
    if (setup->mtu)
        mtu = aq_min(mtu, aq_max(setup->mtu, UDP_MTU_MIN));
    socket->here = interface.address;
    socket->loopback = interface.loopback;
    socket->datagram_bytes = udp_interface_datagram(mtu, interface.address.any.sa_family);
    snprintf(socket->interface, sizeof socket->interface, "%s", interface.name);
    return AQ_OK;
}

static void log_opened(const udp_socket_t *socket, const udp_socket_setup_t *setup)
{
    char text[UDP_ADDRESS_TEXT];
    aq_log_info("udp socket %s on interface %s, datagrams of at most %zu bytes; buffers of the "
                "kernel: %zu bytes to receive (%llu wanted) and %zu to send (%llu wanted)",
                udp_address_text(&socket->here, text), socket->interface, socket->datagram_bytes,
                socket->receive_bytes, (unsigned long long)(2 * setup->receive_bytes),
                socket->send_bytes, (unsigned long long)(2 * setup->send_bytes));
}

aq_status_t udp_socket_open(udp_socket_t *socket, const udp_socket_setup_t *setup,
                            struct udp_faults *faults)
{
    *socket = (udp_socket_t){.fd = -1,
                             .wake_fd = -1,
                             .wakings.lock = PTHREAD_MUTEX_INITIALIZER,
                             .faults = faults,
                             .fixed_ports = setup->port_low != 0};
    aq_status_t status = use_interface(socket, setup);
    if (status == AQ_OK)
        status = make_socket(socket, !setup->beside);
    if (status == AQ_OK)
        status = bind_port(socket, setup);
    if (status == AQ_OK)
        status = make_batch(socket, setup->beside ? 1 : UDP_SLOTS);
    if (status != AQ_OK) {
        udp_socket_close(socket);
        return status;
    }
    socket->receive_bytes = set_buffer(socket->fd, SO_RCVBUF, SO_RCVBUFFORCE, setup->receive_bytes);
    socket->send_bytes = set_buffer(socket->fd, SO_SNDBUF, SO_SNDBUFFORCE, setup->send_bytes);
    use_segments(socket);
    log_opened(socket, setup);
    return AQ_OK;
}

void udp_socket_close(udp_socket_t *socket)
{
    if (socket->fd >= 0)
        close(socket->fd);
    if (socket->wake_fd >= 0)
        close(socket->wake_fd);
    for (unsigned i = 0; socket->io && i < UDP_SLOTS; i++)
        free(socket->io->slot[i].iov_base);
    free(socket->io);
    *socket = (udp_socket_t){.fd = -1, .wake_fd = -1};
}

size_t udp_socket_reach(const udp_socket_t *from, const udp_sockaddr_t *peer)
{
    int mtu = 0;
    bool v4 = peer->any.sa_family == AF_INET, known;
    int fd = socket(peer->any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return from->datagram_bytes;
    known = connect(fd, &peer->any, peer->length) == 0 &&
            getsockopt(fd, v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_MTU : IPV6_MTU, &mtu,
                       &(socklen_t){sizeof mtu}) == 0;
    close(fd);
    if (!known)
        return from->datagram_bytes;
    return aq_min(udp_interface_datagram(aq_max((uint64_t)mtu, UDP_MTU_MIN), peer->any.sa_family),
                  from->datagram_bytes);
}

// ---- sending ----

static inline void count_one(_Atomic uint64_t *counter)
{
    if (aq_threads)
        atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
    else
        atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1,
                              memory_order_relaxed);
}

typedef enum udp_refusal { REFUSED_NOW, REFUSED_ONE, REFUSED_ALL } udp_refusal_t;

// Whether an error means that the descriptor is no longer our socket: the program has closed it, or
// opened something else in its place.
static bool is_lasting(int error)
{
    return error == EBADF || error == ENOTSOCK || error == EPIPE || error == ENOTCONN ||
           error == EDESTADDRREQ || error == EAFNOSUPPORT;
}

static void socket_break(udp_socket_t *socket, int error)
{
    int none = 0;
    atomic_compare_exchange_strong(&socket->broken, &none, error);
}

// Classifies an error of a send: retry later, this datagram is lost, or the socket is unusable.
// ICMP messages also cause errors, and any host on the path can send those, so only errors that no
// network can cause make the socket unusable.
static udp_refusal_t classify_send_error(udp_socket_t *socket, int error)
{
    udp_socket_counts_t *counts = &socket->counts;
    if (is_lasting(error)) {
        socket_break(socket, error);
        return REFUSED_ALL;
    }
    switch (error) {
    case EAGAIN:
        count_one(&counts->full);
        return REFUSED_NOW;
    case ENOBUFS:
    case ENOMEM:
        count_one(&counts->no_buffers);
        return REFUSED_NOW;
    case ECONNREFUSED:
        count_one(&counts->refused);
        return REFUSED_ONE;
    case EMSGSIZE:
        count_one(&counts->too_long);
        return REFUSED_ONE;
    default:
        count_one(&counts->unreachable);
        return REFUSED_ONE;
    }
}

static bool same_peer(const udp_sockaddr_t *a, const udp_sockaddr_t *b)
{
    return a == b || (a->length == b->length && memcmp(&a->any, &b->any, a->length) == 0);
}

// How many datagrams at the start of the list the kernel can split from one long message: they go
// to the same peer and have the same length; only the last may be shorter. The receiver gets them
// in one buffer and needs each of them aligned.
static unsigned run_length(const struct udp_socket_io *io, const udp_outgoing_t *list,
                           unsigned count)
{
    size_t each = udp_outgoing_bytes(list), bytes = each, last = each;
    if (each % UDP_ALIGNMENT)
        return 1;
    unsigned pieces = io->pieces_used + list->count, run = 1;
    for (; run < count && run < SEGMENTS && last == each; run++) {
        last = udp_outgoing_bytes(&list[run]);
        pieces += list[run].count;
        bytes += last;
        if (last > each || !last || bytes > LONGEST_RUN || pieces > PIECES ||
            !same_peer(list->to, list[run].to))
            break;
    }
    return run;
}

static void cut_into(struct msghdr *message, udp_control_t *control, size_t bytes)
{
    uint16_t each = (uint16_t)bytes;
    message->msg_control = control;
    message->msg_controllen = sizeof *control;
    struct cmsghdr *header = CMSG_FIRSTHDR(message);
    *header = (struct cmsghdr){
        .cmsg_level = SOL_UDP, .cmsg_type = UDP_SEGMENT, .cmsg_len = CMSG_LEN(sizeof each)};
    memcpy(CMSG_DATA(header), &each, sizeof each);
}

// Makes message i from the first `run` datagrams of a list; returns run.
static unsigned make_message(struct udp_socket_io *io, unsigned i, const udp_outgoing_t *list,
                             unsigned run)
{
    struct msghdr *message = &io->out[i].msg_hdr;
    *message = (struct msghdr){.msg_name = (void *)(uintptr_t)&list->to->any,
                               .msg_namelen = list->to->length,
                               .msg_iov = (struct iovec *)(uintptr_t)list->pieces,
                               .msg_iovlen = list->count};
    io->covers[i] = run;
    if (run == 1)
        return run;
    message->msg_iov = &io->pieces[io->pieces_used];
    message->msg_iovlen = 0;
    for (unsigned d = 0; d < run; d++) {
        memcpy(&message->msg_iov[message->msg_iovlen], list[d].pieces,
               list[d].count * sizeof *list[d].pieces);
        message->msg_iovlen += list[d].count;
    }
    io->pieces_used += (unsigned)message->msg_iovlen;
    cut_into(message, &io->control[i], udp_outgoing_bytes(list));
    return run;
}

// Makes messages from the first datagrams of a list; returns the number of messages.
static unsigned make_messages(udp_socket_t *socket, const udp_outgoing_t *list, unsigned count)
{
    unsigned made = 0, at = 0;
    socket->io->pieces_used = 0;
    for (; made < SENDS && at < count; made++) {
        unsigned run = socket->segments ? run_length(socket->io, list + at, count - at) : 1;
        at += make_message(socket->io, made, list + at, run);
    }
    return made;
}

// Handles the kernel's refusal of the first message: *taken grows if its datagrams are lost.
static aq_status_t handle_refusal(udp_socket_t *socket, unsigned *taken)
{
    unsigned run = socket->io->covers[0];
    bool cut = errno == EIO || errno == EINVAL || errno == EMSGSIZE || errno == EOPNOTSUPP;
    if (errno == EINTR)
        return AQ_OK;
    if (run > 1 && cut) { // this interface or path does not support segmentation
        socket->segments = false;
        return AQ_OK;
    }
    if (errno == EFAULT)
        return AQ_ERR_ARG;
    udp_refusal_t refusal = classify_send_error(socket, errno);
    if (refusal == REFUSED_ONE)
        *taken += run;
    return refusal == REFUSED_ALL ? AQ_ERR_RESOURCE : refusal == REFUSED_NOW ? AQ_AGAIN : AQ_OK;
}

// Datagrams of injected faults are sent one by one; one that the kernel rejects is lost.
static void fault_emit(void *context, const udp_sockaddr_t *to, const void *bytes, size_t length)
{
    udp_socket_t *socket = context;
    count_one(&socket->counts.send_calls);
    if (sendto(socket->fd, bytes, length, 0, &to->any, to->length) >= 0)
        count_one(&socket->counts.sent);
    else if (errno != EINTR)
        (void)classify_send_error(socket, errno);
}

static aq_status_t send_with_faults(udp_socket_t *socket, const udp_outgoing_t *list,
                                    unsigned count, unsigned *taken)
{
    for (; *taken < count; ++*taken)
        udp_faults_offer(socket->faults, &list[*taken], aq_clock_ns(), fault_emit, socket);
    return AQ_OK;
}

// For a single message sendmsg is cheaper than sendmmsg.
static int messages_transmit(udp_socket_t *socket, unsigned made)
{
    if (made > 1)
        return sendmmsg(socket->fd, socket->io->out, made, 0);
    return sendmsg(socket->fd, &socket->io->out[0].msg_hdr, 0) < 0 ? -1 : 1;
}

int udp_socket_connect(const udp_socket_t *from, const udp_sockaddr_t *peer)
{
    if (from->fixed_ports)
        return -1;
    int fd = socket(peer->any.sa_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    discover_path_mtu(fd, peer->any.sa_family);
    if (connect(fd, &peer->any, peer->length) == 0)
        return fd;
    close(fd);
    return -1;
}

static ssize_t send_pieces(int fd, const udp_outgoing_t *datagram, bool connected)
{
    if (connected && datagram->count == 1) // the cheapest system call
        return send(fd, datagram->pieces->iov_base, datagram->pieces->iov_len, 0);
    const struct msghdr message = {.msg_name =
                                       connected ? NULL : (void *)(uintptr_t)&datagram->to->any,
                                   .msg_namelen = connected ? 0 : datagram->to->length,
                                   .msg_iov = (struct iovec *)(uintptr_t)datagram->pieces,
                                   .msg_iovlen = datagram->count};
    return sendmsg(fd, &message, 0);
}

aq_status_t udp_socket_send_one(udp_socket_t *socket, int connected_fd,
                                const udp_outgoing_t *datagram)
{
    if (socket->faults) {
        udp_faults_offer(socket->faults, datagram, aq_clock_ns(), fault_emit, socket);
        return AQ_OK;
    }
    count_one(&socket->counts.send_calls);
    if (send_pieces(connected_fd >= 0 ? connected_fd : socket->fd, datagram, connected_fd >= 0) >=
        0) {
        count_one(&socket->counts.sent);
        return AQ_OK;
    }
    if (errno == EFAULT)
        return AQ_ERR_ARG;
    udp_refusal_t refusal = errno == EINTR ? REFUSED_ONE : classify_send_error(socket, errno);
    return refusal == REFUSED_ALL ? AQ_ERR_RESOURCE : AQ_OK;
}

// Datagrams that other threads send meanwhile may be fragmented as well, or this one may not, which
// the caller cannot tell from a loss.
aq_status_t udp_socket_send_cut(udp_socket_t *socket, const udp_outgoing_t *datagram)
{
    allow_fragments(socket, true);
    const aq_status_t status = udp_socket_send_one(socket, -1, datagram);
    allow_fragments(socket, false);
    return status;
}

aq_status_t udp_socket_send(udp_socket_t *socket, const udp_outgoing_t *list, unsigned count,
                            unsigned *taken)
{
    aq_status_t status = AQ_OK;
    *taken = 0;
    if (socket->faults)
        return send_with_faults(socket, list, count, taken);
    while (*taken < count && status == AQ_OK) {
        unsigned made = make_messages(socket, list + *taken, count - *taken);
        int gone = messages_transmit(socket, made);
        count_one(&socket->counts.send_calls);
        if (gone < 0)
            status = handle_refusal(socket, taken);
        for (int i = 0; i < gone; i++) {
            *taken += socket->io->covers[i];
            socket->counts.sent += socket->io->covers[i];
        }
    }
    return status;
}

// ---- receiving ----

// The length of the datagrams that the kernel coalesced (UDP_GRO), except for the last; 0: there is
// only one.
static size_t joined_length(struct msghdr *message)
{
    int each = 0;
    struct cmsghdr *header = CMSG_FIRSTHDR(message);
    for (; header; header = CMSG_NXTHDR(message, header))
        if (header->cmsg_level == SOL_UDP && header->cmsg_type == UDP_GRO)
            memcpy(&each, CMSG_DATA(header), sizeof each);
    return each > 0 ? (size_t)each : 0;
}

// Records what the kernel reported for a slot, and resets the slot's header for the next receive. A
// truncated datagram, or one that would be unaligned, does not come from a peer and is skipped.
static void slot_inspect(udp_socket_t *socket, unsigned i)
{
    struct udp_socket_io *io = socket->io;
    struct msghdr *message = &io->in[i].msg_hdr;
    size_t each = joined_length(message), length = io->in[i].msg_len;
    bool odd = each % UDP_ALIGNMENT && each < length;
    io->held[i] = (udp_slot_contents_t){length, each ? each : length, 0};
    io->from[i].length = message->msg_namelen;
    if (message->msg_flags & MSG_TRUNC || odd) {
        socket->counts.truncated++;
        io->held[i].at = length + 1;
    }
    reset_slot(io, i);
}

// Receives one datagram by the cheapest system call, which reports nothing but its bytes. It cannot
// be truncated: a slot is longer than any datagram.
static int receive_plain(udp_socket_t *socket)
{
    struct udp_socket_io *io = socket->io;
    ssize_t length = recv(socket->fd, io->slot[0].iov_base, UDP_SLOT_BYTES, 0);
    if (length < 0)
        return -1;
    io->held[0] = (udp_slot_contents_t){(size_t)length, (size_t)length, 0};
    io->from[0].length = 0;
    return 1;
}

static int receive_one(int fd, struct mmsghdr *in)
{
    ssize_t length = recvmsg(fd, &in->msg_hdr, MSG_DONTWAIT);
    if (length < 0)
        return -1;
    in->msg_len = (unsigned)length;
    return 1;
}

// For a single message recvmsg is cheaper than recvmmsg.
static int receive_with_source(udp_socket_t *socket, unsigned slots)
{
    struct mmsghdr *in = socket->io->in;
    int count = slots > 1 ? recvmmsg(socket->fd, in, slots, MSG_DONTWAIT, NULL)
                          : receive_one(socket->fd, in);
    for (int i = 0; i < count; i++)
        slot_inspect(socket, (unsigned)i);
    if (count > 0)
        socket->names -= aq_min((unsigned)count, socket->names);
    return count;
}

// Returns how many slots were filled; -1: the socket is unusable. Any other error may come from a
// datagram that was sent earlier, so the next call tries again, or from a lack of memory, which the
// next poll may not find.
static int slots_receive(udp_socket_t *socket, unsigned slots, unsigned looks)
{
    const bool plain = slots == 1 && !socket->joins && !socket->names;
    for (unsigned errors = 0; errors < ATTEMPTS;) {
        int count = plain ? receive_plain(socket) : receive_with_source(socket, slots);
        socket->counts.receive_calls++;
        if (count >= 0)
            return count;
        if (__builtin_expect(errno != EAGAIN, 0) && errno != EINTR) {
            if (is_lasting(errno)) {
                socket_break(socket, errno);
                return -1;
            }
            socket->counts.receive_errors++;
            errors++;
        } else if (--looks == 0) {
            return 0;
        }
    }
    return 0;
}

// Fills slots. Offers one more slot than the last receive filled, and many more if it filled all.
static aq_status_t slots_fill(udp_socket_t *socket, unsigned most, unsigned looks)
{
    struct udp_socket_io *io = socket->io;
    unsigned slots = aq_min(io->expected, most);
    int filled = slots_receive(socket, slots, looks);
    if (filled < 0)
        return AQ_ERR_RESOURCE;
    io->first = 0;
    io->filled = (unsigned)filled;
    if (!filled && slots == 1) // the usual case of a poll
        return AQ_OK;
    io->expected = aq_min(io->filled == slots ? 4 * slots : io->filled + 1, UDP_SLOTS);
    if (io->expected > atomic_load_explicit(&socket->slots, memory_order_relaxed))
        io->expected = slots_make(socket, io->expected);
    return AQ_OK;
}

// Returns the next datagram of a slot; false: there is none.
static bool take_from(udp_socket_t *socket, unsigned i, udp_incoming_t *out)
{
    struct udp_socket_io *io = socket->io;
    udp_slot_contents_t *held = &io->held[i];
    if (held->at > held->length || (held->at == held->length && held->at))
        return false;
    size_t rest = held->length - held->at;
    const size_t length = aq_min(rest, held->each);
    *out = (udp_incoming_t){(uint8_t *)io->slot[i].iov_base + held->at, length, length,
                            &io->from[i], i};
    held->at += out->length ? out->length : 1;
    socket->counts.received++;
    return true;
}

aq_status_t udp_socket_receive(udp_socket_t *socket, udp_incoming_t *out, unsigned most,
                               unsigned looks, unsigned *count)
{
    struct udp_socket_io *io = socket->io;
    aq_status_t status = AQ_OK;
    *count = 0;
    if (socket->faults)
        udp_faults_due(socket->faults, aq_clock_ns(), fault_emit, socket);
    if (io->first == io->filled && most)
        status = slots_fill(socket, most, looks);
    while (*count < most && io->first < io->filled)
        if (take_from(socket, io->first, &out[*count]))
            ++*count;
        else
            io->first++;
    atomic_store_explicit(&socket->left, io->first < io->filled, memory_order_relaxed);
    return status;
}

uint8_t *udp_socket_keep(udp_socket_t *socket, const udp_incoming_t *in, uint8_t *fresh)
{
    struct iovec *slot = &socket->io->slot[in->slot];
    if (in->bytes != slot->iov_base || in->length != socket->io->held[in->slot].length)
        return memcpy(fresh, in->bytes, in->length);
    slot->iov_base = fresh;
    return in->bytes;
}

ssize_t udp_socket_peek(udp_socket_t *socket, void *head, size_t bytes)
{
    if (socket->faults)
        udp_faults_due(socket->faults, aq_clock_ns(), fault_emit, socket);
    socket->counts.receive_calls++;
    ssize_t length = recv(socket->fd, head, bytes, MSG_PEEK | MSG_TRUNC);
    if (length < 0 && is_lasting(errno))
        socket_break(socket, errno);
    return length;
}

bool udp_socket_take(udp_socket_t *socket, const struct iovec *pieces, unsigned count)
{
    struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)pieces, .msg_iovlen = count};
    socket->counts.receive_calls++;
    if (recvmsg(socket->fd, &message, 0) < 0)
        return false;
    socket->counts.received++;
    return true;
}

// ---- waiting ----

void udp_socket_wake(udp_socket_t *socket)
{
    udp_wakings_t *wakings = &socket->wakings;
    pthread_mutex_lock(&wakings->lock);
    atomic_fetch_add(&wakings->count, 2);
    if (wakings->waiting && !wakings->late)
        (void)eventfd_write(socket->wake_fd, 1);
    wakings->late = wakings->waiting;
    pthread_mutex_unlock(&wakings->lock);
}

// Begins a wait. False: there was a wake-up that the caller has not seen.
static bool wakings_begin_wait(udp_wakings_t *wakings, uint32_t known)
{
    pthread_mutex_lock(&wakings->lock);
    const bool begun = atomic_load(&wakings->count) == known;
    wakings->waiting += begun;
    pthread_mutex_unlock(&wakings->lock);
    return begun;
}

// Ends a wait. The last thread of a wake-up resets wake_fd for the next wake-up.
static void wakings_end_wait(udp_socket_t *socket, uint32_t known)
{
    udp_wakings_t *wakings = &socket->wakings;
    pthread_mutex_lock(&wakings->lock);
    wakings->waiting--;
    if (atomic_load(&wakings->count) != known && --wakings->late == 0)
        (void)eventfd_read(socket->wake_fd, &(eventfd_t){0});
    pthread_mutex_unlock(&wakings->lock);
}

// Sleeps until a time, or until an injected fault is due.
static bool sleep_until(udp_socket_t *socket, uint64_t now, uint64_t end, struct pollfd fds[2])
{
    if (socket->faults)
        end = aq_min(end, udp_faults_deadline(socket->faults));
    uint64_t ns = end > now ? end - now : 0;
    struct timespec limit = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    return ppoll(fds, 2, &limit, NULL) > 0;
}

bool udp_socket_wait(udp_socket_t *socket, uint32_t wakings, uint64_t limit_ns)
{
    struct pollfd fds[2] = {{.fd = socket->fd, .events = POLLIN},
                            {.fd = socket->wake_fd, .events = POLLIN}};
    if (atomic_load_explicit(&socket->left, memory_order_relaxed))
        return true;
    if (!wakings_begin_wait(&socket->wakings, wakings))
        return false;
    uint64_t now = aq_clock_ns(), end = limit_ns < UINT64_MAX - now ? now + limit_ns : UINT64_MAX;
    for (bool ready = false; !ready; now = aq_clock_ns()) {
        ready = sleep_until(socket, now, end, fds) || aq_clock_ns() >= end;
        if (socket->faults)
            udp_faults_due(socket->faults, aq_clock_ns(), fault_emit, socket);
    }
    wakings_end_wait(socket, wakings);
    return fds[0].revents != 0;
}
