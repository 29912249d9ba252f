// The UDP socket of a process: opening, sending and receiving of many datagrams in one call,
// waiting. It knows nothing of the protocol.
//
// What is always true:
// - The socket never blocks. It is bound to one address: that of the interface that reaches
//   the peers.
// - A datagram may get lost at any place, in here too: what the kernel refuses for good (a peer
//   that is gone, a network that cannot be reached) counts as sent, and is counted. Only a full
//   buffer is told to the caller, who sends the rest later.
// - Nothing here tells one peer from another: a datagram is believed for what is in it.
// - One thread receives at a time, and one sends many at once or by a door. Single datagrams
//   without a connected_fd, waiting and waking: any thread.
// - Received bytes lie in slots of the socket, UDP_SLOTS of them, until the next receive.
// - Datagrams whose lengths are multiples of UDP_ALIGNMENT travel joined where the kernel can do
//   that; they are received one by one all the same.
//
//      udp_socket_send --> udp_faults (only if asked for) --> sendmmsg, UDP_SEGMENT
//      udp_socket_receive <---------------------------------- recvmmsg, UDP_GRO
//      udp_socket_wait <------------------------------------- ppoll, also woken by udp_socket_wake
#ifndef AQ_UDP_SOCKET_H
#define AQ_UDP_SOCKET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "../../core/lock.h"
#include "../../other/base/status.h"
#include "udp_address.h"
#include "udp_interface.h"

enum {
    UDP_SLOTS = 32, // messages that the kernel gives in one call at most
    UDP_SLOT_BYTES = 1 << 16,
};

typedef struct udp_socket_counts {
    _Atomic uint64_t sent, send_calls; // datagrams that the kernel took, system calls for them
    uint64_t received, receive_calls;
    _Atomic uint64_t full;        // sends that found the kernel's buffer full
    _Atomic uint64_t no_buffers;  // ENOBUFS: the queue of the interface is full
    _Atomic uint64_t refused;     // ECONNREFUSED: a peer is gone
    _Atomic uint64_t unreachable; // no way to the peer, or a firewall forbids it
    _Atomic uint64_t too_long;    // EMSGSIZE: longer than the path allows
    uint64_t truncated;           // arrived longer than a slot
    uint64_t receive_errors;      // that went away by themselves
} udp_socket_counts_t;

typedef struct udp_socket_setup {
    udp_interface_wish_t interface;
    uint16_t port_low, port_high;       // 0: the kernel chooses
    uint64_t receive_bytes, send_bytes; // wanted of the kernel
    uint32_t spread;                    // where in the range of ports to begin: the rank
} udp_socket_setup_t;

// Wakings of threads that wait. Under the lock:
// - A thread is `late` if it was waiting at the last waking and has not returned since. As long as
//   there is one, wake_fd stays readable, so that each of them returns.
typedef struct udp_wakings {
    aq_lock_t lock;
    _Atomic uint32_t count; // even, grows by 2 with each
    unsigned waiting, late; // threads
} udp_wakings_t;

struct udp_faults;
struct udp_socket_io;

typedef struct udp_socket {
    int fd, wake_fd;
    udp_wakings_t wakings;
    bool loopback;
    size_t datagram_bytes; // the longest that is sensible on this interface, a multiple of
                           // UDP_ALIGNMENT
    size_t receive_bytes, send_bytes; // what the kernel gave
    udp_sockaddr_t here;
    char interface[16];
    bool fixed_ports;           // nothing leaves by other ports than those that were given
    unsigned names;             // datagrams of which the sender is asked for yet; it costs time
    bool joins;                 // the kernel may join datagrams in a slot (UDP_GRO)
    bool segments;              // the kernel cuts a long buffer into datagrams (UDP_SEGMENT)
    atomic_bool left;           // datagrams have arrived that the last receive did not hand out
    atomic_int broken;          // the errno with which it became useless; 0: it is fine
    struct udp_faults *faults;  // NULL: none asked for
    struct udp_socket_io *io;   // owned: slots and headers of messages
    udp_socket_counts_t counts; // of sends by the sender, of receives by the receiver
} udp_socket_t;

// The settings of the user. rank spreads the processes of a host over the range of ports.
udp_socket_setup_t udp_socket_settings(bool local, uint32_t rank);

// Opens, binds and sizes the socket; faults may be NULL, is used and not owned. May block to look
// up a name. Logs faults: interface, ports. On AQ_OK the caller closes.
aq_status_t udp_socket_open(udp_socket_t *socket, const udp_socket_setup_t *setup,
                            struct udp_faults *faults);
void udp_socket_close(udp_socket_t *socket);

// The longest datagram that reaches a peer without being cut on the way, as far as the kernel knows
// now; at most datagram_bytes, and at least what an interface with UDP_LEAST_MTU carries: a route
// may have an MTU that leaves no room for payloads behind the headers, and there it is better to
// have each datagram cut by this host's kernel. Costs some system calls.
size_t udp_socket_reach(const udp_socket_t *socket, const udp_sockaddr_t *peer);

// Sends datagrams, in order, with as few system calls as it can; *taken of them are gone. AQ_OK:
// all; AQ_AGAIN: the kernel's buffer is full; AQ_ERR_ARG: a piece of the
// next ones is not in memory; else the socket is of no more use, and socket->broken says why.
aq_status_t udp_socket_send(udp_socket_t *socket, const udp_outgoing_t *list, unsigned count,
                            unsigned *taken);

// A socket of its own for what goes to one peer, which is cheaper; datagrams come from another port
// then, and peers do not care. -1: none is to be had, or wanted. The caller closes.
int udp_socket_connect(const udp_socket_t *socket, const udp_sockaddr_t *peer);

// Sends one datagram, by a door (or -1). What the kernel does not take is lost. AQ_ERR_ARG: a piece
// is not in memory; AQ_ERR_RESOURCE: the socket is of no more use (broken).
aq_status_t udp_socket_send_one(udp_socket_t *socket, int connected_fd,
                                const udp_outgoing_t *datagram);

// Bytes begin at a multiple of UDP_ALIGNMENT and may be changed.
typedef struct udp_incoming {
    uint8_t *bytes;
    size_t length;
    size_t at_hand;             // of these bytes; less than length only after udp_socket_peek
    const udp_sockaddr_t *from; // who seems to have sent it; length 0: not known
    unsigned slot;              // the socket's
} udp_incoming_t;

// Receives at most `most` datagrams, valid until the next receive. *count may be 0, after so many
// looks in vain (at least one). Any status but AQ_OK: the socket is of no more use (broken). Also
// sends what the faults hold back, when it is due.
aq_status_t udp_socket_receive(udp_socket_t *socket, udp_incoming_t *out, unsigned most,
                               unsigned looks, unsigned *count);

// Looks at the next datagram and leaves it there: copies its first bytes to head. Returns its
// length, which may be 0; -1: none is there, or the socket is broken. Only when no received ones
// are left.
ssize_t udp_socket_peek(udp_socket_t *socket, void *head, size_t bytes);

// Receives the datagram that udp_socket_peek saw into pieces of memory, which together are at least
// as long. False: it was not to be had, or not all of them are memory; it is lost.
bool udp_socket_take(udp_socket_t *socket, const struct iovec *pieces, unsigned count);

// Keeps what has arrived beyond the next receive: returns where its bytes are from now on. fresh is
// UDP_SLOT_BYTES of memory of the caller, from aligned_alloc; either it is the slot's afterwards,
// and the result is the caller's in its place, or it is the result.
uint8_t *udp_socket_keep(udp_socket_t *socket, const udp_incoming_t *in, uint8_t *fresh);

// How many wakings there were: an even number, to be asked for before a thread looks for the last
// time whether there is something to wait for.
static inline uint32_t udp_socket_wakings(const udp_socket_t *socket)
{
    return atomic_load(&socket->wakings.count);
}

// Sleeps until a datagram is there, there are other wakings than those that the caller knows, or
// the time is over. Returns whether a datagram is there. A waking ends the waits of all threads.
bool udp_socket_wait(udp_socket_t *socket, uint32_t wakings, uint64_t limit_ns);
void udp_socket_wake(udp_socket_t *socket);

#endif
