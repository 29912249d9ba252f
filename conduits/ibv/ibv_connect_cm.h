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
#ifndef AQ_IBV_CONNECT_CM_H
#define AQ_IBV_CONNECT_CM_H

#include "ibv_connect.h"

extern const aq_ibv_connect_ops_t aq_ibv_connect_cm;

#endif
