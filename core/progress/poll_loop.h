// SPDX-License-Identifier: BSD-3-Clause
// Polls that call the conduit only if its watches (conduit.h) show that something has arrived: in
// loops of the client (gasnet_AMPoll) and of the library that wait, and after sends.
#pragma once

// After the conduits are open.
void aq_poll_loop_start(void);

// From now on loops count their turns, which gasnet_top shows (aq_wait_loops). Otherwise loops of a
// process with one thread and a processor of its own do not count. Async-signal-safe.
void aq_poll_loop_count(void);

// As aq_progress_poll, for a loop that waits. A poll that can find nothing, as far as the watches
// of the conduit show (conduit.h), does not ask the conduit. Yields the processor after several
// fruitless polls if ranks or threads outnumber the processors. Runs handlers; any thread.
void aq_poll_in_loop(void);

// As aq_progress_poll_sending, for a send that does not wait. A poll that can find nothing, as far
// as the watches show, does not ask the conduit.
void aq_poll_sending(void);
