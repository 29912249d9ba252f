// SPDX-License-Identifier: BSD-3-Clause
// Connections made by librdmacm, through the IP addresses of the ports.
//
//      caller                            connector                        peer's connector
//      aq_ibv_connect:
//      resolve address, waits
//                    address resolved:   resolve route
//                    route resolved:     queue pair, connect  -------->   request: queue pair,
//                                                                         accept
//      <-- READY --- established  <-----------------------------------    ... established: READY
//
// If two processes call each other at the same time, the request of the lower rank counts: its
// process refuses the other request, and the peer drops its own.
#pragma once

#include "ibv_connect.h"

extern const aq_ibv_connect_ops_t aq_ibv_connect_cm;

// What to do about a request from a process of the job.
typedef enum aq_ibv_verdict {
    AQ_IBV_ACCEPT_REQUEST,
    AQ_IBV_REFUSE_MINE_COUNTS, // this process's own call, or the connection, takes its place
    AQ_IBV_REFUSE_REPEATED,    // a request with this nonce was handled before
} aq_ibv_verdict_t;

// Decides about a request, and records its nonce. Requests may be repeated: the kernel repeats one
// whose refusal is lost or late, and an attacker may replay one. is_higher: the rank of this
// process is higher than that of the peer.
aq_ibv_verdict_t aq_ibv_request_judge(aq_ibv_connection_t *conn,
                                      const uint8_t nonce[AQ_IBV_NONCE_BYTES], bool is_higher);
