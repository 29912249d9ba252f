// SPDX-License-Identifier: BSD-3-Clause
// The helper as a program, and the steps of a process that is one for a while.
#pragma once

#include "helper_state.h"

// Runs the helper: gasnetrun --helper, started by a remote shell. Returns the exit code.
int aq_helper_main(void);
// Runs a worker: gasnetrun started by a custom command. word: the text after AQ_WORKER_OPTION,
// which is modified. Returns the exit code.
int aq_worker_main(char *word);

// Runs the helper of a job in a universe, in a process that a daemon has just forked: from the
// sealed link to the helper's parent, which has the JOB next. Returns the exit code.
int aq_helper_serve(const aq_link_t *parent, const uint8_t key[AQ_KEY_BYTES], int lifeline);

// Must be called first.
void aq_helper_init(aq_helper_t *helper);

// The steps of a process that calls the launcher by itself. Each blocks; none logs its result.
//
// Authenticates both sides; everything after that is sealed. AQ_AGAIN: the other side did not
// answer; AQ_ERR_PEER: it does not have the key.
aq_status_t aq_helper_authenticate(aq_helper_t *helper, const aq_intro_t *intro);
// Reads the job that the launcher has sent. False: the frame is not legal.
bool aq_helper_take_job(aq_helper_t *helper, const aq_frame_t *frame);
// Runs the loop until the job or the parent is gone. Returns the exit code of the job.
int aq_helper_run(aq_helper_t *helper);
