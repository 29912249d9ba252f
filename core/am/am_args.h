// SPDX-License-Identifier: BSD-3-Clause
// Reads the arguments of a message one after the other, in the handlers of the library that have
// the token as their only parameter (aq_endpoint_internal_bare). The delivery has compared their
// number with that of the registration.
#pragma once

#include "../ground/arg64.h"
#include "am.h"

typedef struct aq_args {
    const int32_t *next;
} aq_args_t;

static inline aq_args_t aq_args_of(gex_Token_t token)
{
    return (aq_args_t){token->arrival->args};
}

static inline int32_t aq_args_32(aq_args_t *args)
{
    return *args->next++;
}

// A value that two arguments have, the upper half first.
static inline uint64_t aq_args_64(aq_args_t *args)
{
    const int32_t high = aq_args_32(args);
    return aq_join(high, aq_args_32(args));
}
