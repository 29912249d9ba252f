// Logs an explanation when a client uses a null handle without a job. Put, get and messages check
// no handle: without a job they read through a null pointer, and the process dies of SIGSEGV. A
// handler of that signal logs why. It is installed when the library is loaded and removed by
// gex_Client_Init, installed again after a failed init, and never while a job runs. A handler of
// the client is left alone.
#ifndef AQ_NULL_HANDLE_H
#define AQ_NULL_HANDLE_H

// Installs the handler if SIGSEGV has none. Called by the thread that is in gex_Client_Init.
void aq_null_handle_catch(void);

// Removes the handler if it is still installed. Called by the same thread.
void aq_null_handle_leave(void);

#endif
