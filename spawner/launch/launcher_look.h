// SPDX-License-Identifier: BSD-3-Clause
// Readers who look at the ranks of the job.
#pragma once

#include "launcher_job.h"

// Listens for readers, before the loop; without them if that fails.
void aq_launcher_look_start(aq_launcher_t *launcher);
// Adds the readers to the next wait.
void aq_launcher_look_watch(aq_launcher_t *launcher);
// Starts the look of a reader at a helper.
void aq_launcher_look_query(aq_launcher_t *launcher, const aq_frame_t *frame);
// Hands the answer of a host to the reader who has asked.
void aq_launcher_look_answer(aq_launcher_t *launcher, const aq_frame_t *frame);
