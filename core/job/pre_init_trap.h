// SPDX-License-Identifier: BSD-3-Clause
// Logs an explanation if a client uses a null handle without a job. Puts, gets and messages do not
// check their handles: without a job they read through a null pointer, and SIGSEGV ends the
// process. A handler of that signal logs the reason. The handler is installed when the library is
// loaded, removed by gex_Client_Init and installed again after a failed init, so it is never
// installed while a job runs. A handler of the client is never replaced.
#pragma once

// Installs the handler if SIGSEGV has none. Called by the thread that is in gex_Client_Init.
void aq_pre_init_trap_catch(void);

// Removes the handler if it is still installed. Called by the same thread.
void aq_pre_init_trap_leave(void);
