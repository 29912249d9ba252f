// SPDX-License-Identifier: BSD-3-Clause
// How this process leaves a job that this rank or another rank ends.
#pragma once

// Registers with the job how this process leaves when another rank has ended it (aq_job_exit_t).
// Before the job starts.
void aq_exit_start(void);

// Called when the client returns from main or calls exit(); see leave in aq_boot_t.
void aq_exit_returning(int code);

// Handles SIGINT, SIGTERM and SIGHUP unless the client has done so: they raise SIGQUIT in a client
// that catches SIGQUIT, then have their usual effect (GASNet-1 specification, gasnet_exit). Call
// before aq_debug_start, which restores the default for the signals in GASNET_NO_CATCH_SIGNAL.
void aq_exit_catch_signals(void);
