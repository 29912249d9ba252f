// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "smp_state.h"

// See open_window in core/conduit.h. A link of a window is an aq_mail_link_t.
aq_status_t smp_window_open(aq_conduit_t *conduit, uint16_t endpoint, aq_conduit_t **out);
