// SPDX-License-Identifier: BSD-3-Clause
// Headers that arrive.
#ifndef AQ_LARGE_ARRIVE_H
#define AQ_LARGE_ARRIVE_H

#include "large_state.h"

// Headers that waited while this rank had stopped receiving become work now.
void aq_large_headers_go_on(void);

#endif
