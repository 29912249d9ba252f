// SPDX-License-Identifier: BSD-3-Clause
// The UDP socket of a process: it opens, sends and receives many datagrams in one system call, and
// waits. It knows nothing of the protocol.
//
// What is always true:
// - The socket never blocks. It is bound to one address, on the interface that reaches the peers.
// - Any datagram may be lost, here as well: a send that the kernel rejects for good (the peer is
//   gone, the network is unreachable) is counted and treated as sent. Only a full buffer is
//   reported to the caller, which sends the rest later.
// - The source address of a datagram is not trusted: its content identifies the peer.
// - One thread at a time receives, and one thread at a time sends batches or through a connected
//   socket. Any thread may send single datagrams without a connected socket, wait and wake.
// - Received datagrams stay in the UDP_SLOTS slots of the socket until the next receive.
// - Datagrams whose lengths are multiples of UDP_ALIGNMENT travel coalesced if the kernel supports
//   that (UDP_SEGMENT, UDP_GRO); the caller still receives them one by one.
//
//      udp_socket_send --> udp_faults (only if asked for) --> sendmmsg, UDP_SEGMENT
//      udp_socket_receive <---------------------------------- recvmmsg, UDP_GRO
//      udp_socket_wait <------------------------------------- ppoll, also woken by udp_socket_wake
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "../../../core/ground/lock.h"
#include "../../../other/base/log/status.h"
#include "udp_address.h"
#include "udp_interface.h"

enum {
    UDP_SLOTS = 32, // messages that one receive call returns at most
    UDP_SLOT_BYTES = 1 << 16,
};

typedef struct udp_socket_counts {
    // Datagrams that the kernel accepted, and system calls for them.
    _Atomic uint64_t sent, send_calls;
    uint64_t received, receive_calls;
    _Atomic uint64_t full;        // sends that found the kernel's buffer full
    _Atomic uint64_t no_buffers;  // ENOBUFS: the queue of the interface is full
    _Atomic uint64_t refused;     // ECONNREFUSED: a peer is gone
    _Atomic uint64_t unreachable; // no route to the peer, or a firewall rejects it
    _Atomic uint64_t too_long;    // EMSGSIZE: longer than the path allows
    uint64_t truncated;           // received datagrams that did not fit into a slot
    uint64_t receive_errors;      // transient errors of receives
} udp_socket_counts_t;

typedef struct udp_socket_setup {
    udp_interface_hints_t interface;
    // A socket of this process: the new one has a port of its own at the same address. It takes few
    // resources: its slots obtain memory when they are needed, and udp_socket_wake does not work.
    // NULL: `interface` decides.
    const struct udp_socket *beside;
    uint16_t port_low, port_high;       // 0: the kernel chooses
    uint64_t receive_bytes, send_bytes; // requested from the kernel
    size_t mtu;                         // the user's limit; 0: that of the interface
    uint32_t spread;                    // offset into the range of ports
} udp_socket_setup_t;

// Wake-ups of waiting threads. Under the lock, which is one of the C library, because a thread of
// the library may wait also where a client has one thread:
// - A thread is `late` if it waited at the last wake-up and has not returned since. While there is
//   a late thread, wake_fd stays readable, so that each of them returns.
typedef struct udp_wakings {
    pthread_mutex_t lock;
    _Atomic uint32_t count; // even; each wake-up adds 2
    unsigned waiting, late; // threads
} udp_wakings_t;

struct udp_faults;
struct udp_socket_io;

typedef struct udp_socket {
    int fd, wake_fd; // wake_fd -1: this socket has none
    udp_wakings_t wakings;
    bool loopback;
    // Longest datagram that is useful on this interface: a multiple of UDP_ALIGNMENT.
    size_t datagram_bytes;
    size_t receive_bytes, send_bytes; // granted by the kernel
    udp_sockaddr_t here;
    char interface[16];
    // All datagrams leave from the port of this socket, because the user chose the ports.
    bool fixed_ports;
    // Number of datagrams for which the source address is still requested, which costs time.
    unsigned names;
    bool joins;                // the kernel may coalesce received datagrams in a slot (UDP_GRO)
    bool segments;             // the kernel splits a long buffer into datagrams (UDP_SEGMENT)
    atomic_bool left;          // slots hold datagrams that the last receive did not return
    atomic_int broken;         // errno with which the socket became unusable; 0: it works
    struct udp_faults *faults; // NULL: no faults are injected
    atomic_uint slots;         // slots that have memory; the receiver's, which only adds
    struct udp_socket_io *io;  // owned: slots and message headers
    // Counters of sends belong to senders, those of receives to the receiver.
    udp_socket_counts_t counts;
} udp_socket_t;

// The user's settings. rank spreads the processes of a host over the range of ports.
udp_socket_setup_t udp_socket_settings(bool local, uint32_t rank);

// Opens, binds and sizes the socket. faults may be NULL; it is borrowed. May block to resolve a
// name. Logs faults of the interface and of the ports. After AQ_OK the caller closes the socket.
aq_status_t udp_socket_open(udp_socket_t *socket, const udp_socket_setup_t *setup,
                            struct udp_faults *faults);
void udp_socket_close(udp_socket_t *socket);

// The longest datagram that reaches a peer without fragmentation, as far as the kernel knows now.
// At most datagram_bytes, and at least what an interface with UDP_MTU_MIN carries: a route may
// have an MTU that leaves no room for payload behind the headers, and then it is better that this
// host's kernel fragments each datagram. Costs some system calls.
size_t udp_socket_reach(const udp_socket_t *socket, const udp_sockaddr_t *peer);

// Sends datagrams in order, with as few system calls as possible; *taken is the number that were
// sent. AQ_OK: all; AQ_AGAIN: the kernel's buffer is full; AQ_ERR_ARG: a piece of one of the next
// datagrams is not mapped; any other status: the socket is unusable, and socket->broken says why.
aq_status_t udp_socket_send(udp_socket_t *socket, const udp_outgoing_t *list, unsigned count,
                            unsigned *taken);

// A connected socket for one peer, which makes sends cheaper. Its datagrams have another source
// port, which peers ignore. -1: the kernel grants none, or the user fixed the ports. The caller
// closes it.
int udp_socket_connect(const udp_socket_t *socket, const udp_sockaddr_t *peer);

// Sends one datagram, through a connected socket unless connected_fd is -1. A datagram that the
// kernel does not accept is lost. AQ_ERR_ARG: a piece is not mapped; AQ_ERR_RESOURCE: the socket is
// unusable (see broken).
aq_status_t udp_socket_send_one(udp_socket_t *socket, int connected_fd,
                                const udp_outgoing_t *datagram);

// As udp_socket_send_one, without a connected socket; routers may fragment the datagram, and this
// host does so where the family of its addresses leaves that to hosts.
aq_status_t udp_socket_send_cut(udp_socket_t *socket, const udp_outgoing_t *datagram);

// A received datagram. Its bytes are aligned to UDP_ALIGNMENT and may be modified.
typedef struct udp_incoming {
    uint8_t *bytes;
    size_t length;
    size_t at_hand; // number of readable bytes; less than length only after udp_socket_peek
    const udp_sockaddr_t *from; // source address, not authenticated; length 0: unknown
    unsigned slot;              // index of the socket's slot
} udp_incoming_t;

// Receives at most `most` datagrams, which are valid until the next receive. *count may be 0, after
// `looks` attempts (at least one). A status other than AQ_OK means that the socket is unusable (see
// broken). Also sends delayed datagrams of injected faults when they are due.
aq_status_t udp_socket_receive(udp_socket_t *socket, udp_incoming_t *out, unsigned most,
                               unsigned looks, unsigned *count);

// Copies the first bytes of the next datagram to head without removing it. Returns its length,
// which may be 0; -1: there is none, or the socket is unusable. Call it only if udp_socket_receive
// has returned all received datagrams.
ssize_t udp_socket_peek(udp_socket_t *socket, void *head, size_t bytes);

// Receives the datagram that udp_socket_peek saw into pieces of memory, which together are at least
// as long. False: it was not available, or a piece is not mapped; then it is lost.
bool udp_socket_take(udp_socket_t *socket, const struct iovec *pieces, unsigned count);

// Keeps a received datagram beyond the next receive, and returns where its bytes are from now on.
// fresh is UDP_SLOT_BYTES of memory of the caller, from aligned_alloc. Either the slot takes over
// fresh and the caller owns the result in its place, or the result is fresh.
uint8_t *udp_socket_keep(udp_socket_t *socket, const udp_incoming_t *in, uint8_t *fresh);

// The number of wake-ups so far, an even number. A thread reads it before it checks for the last
// time whether it has to wait.
static inline uint32_t udp_socket_wakings(const udp_socket_t *socket)
{
    return atomic_load(&socket->wakings.count);
}

// Sleeps until a datagram is available, there are other wake-ups than those that the caller has
// seen, or the time is over. Returns whether a datagram is available. A wake-up ends the waits of
// all threads.
bool udp_socket_wait(udp_socket_t *socket, uint32_t wakings, uint64_t limit_ns);
void udp_socket_wake(udp_socket_t *socket);
