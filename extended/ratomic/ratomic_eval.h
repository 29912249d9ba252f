// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "ratomic_domain.h"

// Returns the result (as bits) of an arithmetic operation on `old`. op is a non-fetching operation;
// for integers, one without a processor instruction.
uint64_t aq_ratomic_eval(gex_DT_t dt, gex_OP_t op, uint64_t old, uint64_t operand);

// Performs any operation on memory of this process; returns the previous value.
uint64_t aq_ratomic_apply(void *at, gex_DT_t dt, gex_OP_t op, uint64_t operand1, uint64_t operand2,
                          gex_Flags_t flags);
