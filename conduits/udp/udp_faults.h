// Faults on request, for tests: what the network might do to a datagram, done before the kernel
// gets it. In every build; without the settings GASNET_UDP_FAULT_... there is no such layer.
//
// What is always true:
// - What happens to a datagram is decided by one sequence of random numbers, which follows from
//   GASNET_UDP_FAULT_SEED and the rank, and from nothing else: the n-th datagram of a process
//   always has the same fate.
// - A datagram that is held back leaves when so many others have passed, or its time is over: it is
//   late, but never lost.
// - Any thread; one lock.
//
//      datagram -> udp_faults_decide -> dropped
//                                    -> 1 or 2 copies -> cut short, a bit flipped -> now
//                                                                                 -> held, then
#ifndef AQ_UDP_FAULTS_H
#define AQ_UDP_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../other/base/status.h"
#include "udp_address.h"

typedef struct udp_faults udp_faults_t;

// Percent of datagrams.
typedef struct udp_faults_rates {
    double drop, duplicate, reorder, delay, truncate, flip, forge;
    uint64_t delay_ns; // of those that are delayed, at most
} udp_faults_rates_t;

// What is to happen to one datagram.
typedef struct udp_faults_plan {
    bool drop;
    unsigned copies;   // 1 or 2
    unsigned overtake; // by so many later ones; 0: in order
    uint64_t delay_ns;
    size_t length; // what is left of it; at least 1 byte less if it is cut
    size_t flip;   // a bit to turn over, counted from the first; SIZE_MAX: none
} udp_faults_plan_t;

enum { UDP_FAULTS_OVERTAKE = 8 }; // a datagram out of order is overtaken by so many at most

// Decides the fate of a datagram of that many bytes. Pure: nothing but *random changes.
udp_faults_plan_t udp_faults_decide(const udp_faults_rates_t *rates, uint64_t *random,
                                    size_t length);

typedef struct udp_faults_counts {
    uint64_t offered, dropped, duplicated, reordered, delayed, truncated, flipped, forged;
} udp_faults_counts_t;

// Hands a datagram to the kernel; what it does not take is lost.
typedef void udp_faults_emit_t(void *context, const udp_sockaddr_t *to, const void *bytes,
                               size_t length);

// Reads the settings. *out is NULL when none of them asks for a fault. The caller owns it. Logs.
aq_status_t udp_faults_start(uint32_t rank, udp_faults_t **out);
// The same with rates of the caller.
aq_status_t udp_faults_make(const udp_faults_rates_t *rates, uint64_t seed, udp_faults_t **out);
void udp_faults_stop(udp_faults_t *faults); // NULL is fine

// Turns a bit over in some of the datagrams before they are sealed or signed, as a process with the
// key of the job could. bytes: what stands behind the proof, but for what is sent from its place.
void udp_faults_forge(udp_faults_t *faults, uint8_t *bytes, size_t length);

// A datagram on its way out, copied if it has to wait. Emits it, or others, or nothing.
void udp_faults_offer(udp_faults_t *faults, const udp_outgoing_t *datagram, uint64_t now,
                      udp_faults_emit_t *emit, void *context);
// Emits what was held back and is due.
void udp_faults_due(udp_faults_t *faults, uint64_t now, udp_faults_emit_t *emit, void *context);
// When udp_faults_due has to be called at the latest; UINT64_MAX: nothing is held.
uint64_t udp_faults_deadline(udp_faults_t *faults);

udp_faults_counts_t udp_faults_count(udp_faults_t *faults);

#endif
