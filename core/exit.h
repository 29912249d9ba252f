// How the job ends: gasnet_exit here, or the news that another rank called it.
#ifndef AQ_EXIT_H
#define AQ_EXIT_H

// Called from polls once the job's exit word is set. Gives the client a moment to end by itself
// (it may be just about to call gasnet_exit like everybody else), then ends this process; returns
// until then.
void aq_exit_requested(void);

// Ends this process with the job's code if another rank has ended the job meanwhile, unless this
// thread is just about that; for a bootstrap call that failed, or a peer that does not answer.
void aq_exit_if_ended(void);

// The client returns from main, or calls exit(); see leave in aq_boot_t.
void aq_exit_returning(int code);

// SIGINT, SIGTERM and SIGHUP, where the client has left them alone, raise SIGQUIT in a client that
// catches it, and do what they always do to others (GASNet-1 specification, gasnet_exit). Before
// aq_debug_start, which leaves alone again what GASNET_NO_CATCH_SIGNAL names.
void aq_exit_catch_signals(void);

#endif
