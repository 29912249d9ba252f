// SPDX-License-Identifier: BSD-3-Clause
// What requests from endpoints with an identity share at their target (rma_tagged.c).
#pragma once

#include "../../core/am/am.h"
#include "pending.h"

// For the handler of a request with a tag: whether its sender may access these bytes. If not,
// counts an identity that is wrong, and replies that the operation of this kind is refused.
bool aq_tagged_admits(gex_Token_t token, aq_pending_kind_t kind, const void *addr, size_t nbytes,
                      int32_t cookie_high, int32_t cookie_low);
