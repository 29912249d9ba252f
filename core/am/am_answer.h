// SPDX-License-Identifier: BSD-3-Clause
// Replies of the library's own handlers, with a header if the request had one. They count as
// no messages of the client.
#pragma once

#include "am.h"

// As aq_am_reply: a Short, or a Medium, whose payload may change when the call returns.
void aq_am_answer(gex_Token_t token, gex_AM_Index_t handler, unsigned nargs, const int32_t *args);
void aq_am_answer_medium(gex_Token_t token, gex_AM_Index_t handler, const void *src, size_t nbytes,
                         unsigned nargs, const int32_t *args);
