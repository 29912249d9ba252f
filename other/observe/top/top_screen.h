// SPDX-License-Identifier: BSD-3-Clause
// The screen of gasnet_top.
#pragma once

#include "job_watch.h"

// Shows a job, read again after each delay (milliseconds), until a key ends it or the job ends.
// Returns false if the terminal cannot show it, with a sentence in errbuf.
bool aq_top_screen(aq_watched_job_t *job, int delay, char *errbuf, size_t errbuf_size);

// Whether a rank of the job is there.
bool aq_top_goes_on(const aq_watched_job_t *job);
