// SPDX-License-Identifier: BSD-3-Clause
// Sends the replies of the library's own handlers (am_answer.h).
#include "am_answer.h"

#include "am_send.h"

void aq_am_answer(gex_Token_t token, gex_AM_Index_t handler, unsigned nargs, const int32_t *args)
{
    aq_am_t am = {.args = args,
                  .category = AQ_AM_SHORT,
                  .handler = handler,
                  .nargs = (uint8_t)nargs,
                  .reply = true};
    (void)aq_am_send(aq_am_to_sender(token), &am, 0);
}

void aq_am_answer_medium(gex_Token_t token, gex_AM_Index_t handler, const void *src, size_t nbytes,
                         unsigned nargs, const int32_t *args)
{
    aq_am_t am = {.args = args,
                  .payload = src,
                  .nbytes = nbytes,
                  .category = AQ_AM_MEDIUM,
                  .handler = handler,
                  .nargs = (uint8_t)nargs,
                  .reply = true};
    (void)aq_am_send(aq_am_to_sender(token), &am, 0);
}
