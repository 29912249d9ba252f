// GASNET_RCV_THREAD among ranks that share memory: a thread of the library that sleeps until one of
// them sends, and runs the handlers while the client computes. Conduit ibv has such a thread of its
// own for what comes by the network.
//
//      +--> poll until nothing is left, and wake threads of the client that wait for it
//      |    announce the sleep, look once more
//      +--- sleep until a sender rings, for 10 ms at most
#ifndef AQ_ATTENDANT_H
#define AQ_ATTENDANT_H

#include "../other/base/status.h"
#include "conduit.h"

// Starts the thread if the settings ask for it and several threads may be inside. conduit is the
// one by which ranks that share memory send, and is open; it has arm, sleep and disarm. wake is
// called after handlers have run, for threads that wait for what these did. AQ_ERR_RESOURCE: no
// thread can be had (logged).
aq_status_t aq_attendant_start(aq_conduit_t *conduit, void (*wake)(void));

// Before the conduits are closed. Returns when the thread is gone, which is after the handlers that
// it runs. Called by one of these, or in a child of fork, where there is no such thread, it returns
// at once. Nothing happens if there is no thread.
void aq_attendant_stop(void);

#endif
