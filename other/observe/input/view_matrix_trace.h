// SPDX-License-Identifier: BSD-3-Clause
// The traffic matrix of a trace: what its sends, puts, gets and atomics say.
#pragma once

#include "view_matrix.h"
#include "view_trace.h"

// Fills an empty matrix. False: memory is out. A trace without such events leaves it empty.
bool aq_view_matrix_of_trace(aq_view_matrix_t *matrix, const aq_view_trace_t *trace);
