// SPDX-License-Identifier: BSD-3-Clause
// The memory files of the ranks.
#pragma once

#include "supervisor_job.h"

// Makes the memory file of the rank at a place (other/observe/format/rank_file.h), and puts it on
// the page. A rank that gets none makes its own, so no fault is logged.
void aq_supervised_make_file(aq_supervised_t *job, uint32_t place);
