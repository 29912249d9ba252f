// How the job ends: gasnet_exit here, or the news that another rank called it.
#ifndef AQ_EXIT_H
#define AQ_EXIT_H

// Registers with the job how this process leaves when another rank has ended it (aq_job_exit_t).
// Before the job starts.
void aq_exit_start(void);

// The client returns from main, or calls exit(); see leave in aq_boot_t.
void aq_exit_returning(int code);

// SIGINT, SIGTERM and SIGHUP, where the client has left them alone, raise SIGQUIT in a client that
// catches it, and do what they always do to others (GASNet-1 specification, gasnet_exit). Before
// aq_debug_start, which leaves alone again what GASNET_NO_CATCH_SIGNAL names.
void aq_exit_catch_signals(void);

#endif
