// SPDX-License-Identifier: BSD-3-Clause
// Limits, pipes, fork and exec of the ranks.
#pragma once

#include "supervisor_job.h"

// Whether a program of that name exists, in PATH unless the name has a slash.
bool aq_supervised_has_program(const char *name);

// Whether ranks get the variable "NAME=value". list: see aq_supervise_options_t.
bool aq_supervised_passes(const char *entry, const char *list);

// Checks limits and memory and finds the program. False: a fault, logged; sets *code.
bool aq_supervised_check(aq_supervised_t *job, int *code);
// Starts the ranks up to place `last` that were not started yet. Returns true in a forked child,
// which goes on as *rank (a place). Returns false in the caller; *code != 0 after a fault (logged;
// job has what was started).
bool aq_supervised_start_ranks(aq_supervised_t *job, uint32_t last, uint32_t *rank, int *code);
