// SPDX-License-Identifier: BSD-3-Clause
// The processors of the ranks.
#pragma once

#include "supervisor_job.h"

// Chooses the processors of the ranks, if these are bound, and prints them (-v).
void aq_supervised_bind(aq_supervised_t *job);

// Tells the ranks on the page that they were bound without being asked.
void aq_supervised_note_bound(const aq_supervised_t *job);
