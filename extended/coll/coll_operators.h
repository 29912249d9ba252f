// SPDX-License-Identifier: BSD-3-Clause
// Built-in operators.
#pragma once

#include "coll_op.h"

// Returns the function of a built-in operator, or NULL if the operator is illegal for the type.
gex_Coll_ReduceFn_t aq_coll_operator(gex_DT_t dt, gex_OP_t op);
size_t aq_coll_type_size(gex_DT_t dt); // bytes; 0: no type, or GEX_DT_USER
// Computes the bitwise or of bytes; for the all-gather.
void aq_coll_or_bytes(const void *arg1, void *arg2_and_out, size_t count, const void *cdata);
