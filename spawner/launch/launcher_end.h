// SPDX-License-Identifier: BSD-3-Clause
// How the launcher ends a job.
#pragma once

#include "launcher_job.h"

// The job ends with that code; the first one counts. now: without waiting for ranks to leave.
void aq_launcher_end_job(aq_launcher_t *launcher, int code, bool now);
// The job cannot start; the reason was logged.
void aq_launcher_fail_start(aq_launcher_t *launcher);
// Ranks have the time after this signal to leave.
void aq_launcher_let_leave(aq_launcher_t *launcher, int sig);
