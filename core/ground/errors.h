// SPDX-License-Identifier: BSD-3-Clause
// Calls of the client with arguments that are not legal.
#pragma once

#include "../../other/base/log/log.h"

// Returns `error`. Logs the sentence, unless the client has turned that off
// (gex_System_SetVerboseErrors).
int aq_refuse(int error, const char *fmt, ...) AQ_PRINTF(2, 3) __attribute__((cold));
