// GASNET_RCV_THREAD for ranks that share memory: a thread of the library that sleeps until one of
// these ranks sends, and runs handlers while the client computes. Conduit ibv has its own thread
// for messages of the network.
//
//      +--> poll until nothing is left, and wake threads of the client that wait for it
//      |    announce the sleep, look once more
//      +--- sleep until a sender rings, for 10 ms at most
#ifndef AQ_ATTENDANT_H
#define AQ_ATTENDANT_H

#include "../other/base/status.h"
#include "conduit.h"

// Starts the thread if the setting asks for it and several threads may use the library. conduit is
// the open conduit of ranks that share memory, the first one of the job; it has the operations arm,
// sleep and disarm. The thread serves its windows, too: their senders wake the sleepers of conduit.
// The thread calls wake after handlers have run, for threads that wait for their effect. Returns
// AQ_ERR_RESOURCE if the thread cannot be started (logged).
aq_status_t aq_attendant_start(aq_conduit_t *conduit, void (*wake)(void));

// Ends the thread; call before the conduits are closed. Blocks until the thread has ended, which is
// after the handlers that it runs. Returns at once if there is no thread (also in a child of fork),
// or if a handler in that thread calls.
void aq_attendant_stop(void);

#endif
