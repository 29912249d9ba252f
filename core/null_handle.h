// A sentence for null handles where there is no job. Put, get and messages check no handle: without
// a job they read through a null pointer, and the process dies of SIGSEGV. A handler of that signal
// says why. It is there from the loading of the library to gex_Client_Init, and again after an init
// that failed, unless the client has a handler of its own; a job that runs never has it.
#ifndef AQ_NULL_HANDLE_H
#define AQ_NULL_HANDLE_H

// Installs the handler where SIGSEGV has none. Called by the thread that is in gex_Client_Init.
void aq_null_handle_catch(void);

// Takes it away again, if it is still there. Likewise.
void aq_null_handle_leave(void);

#endif
