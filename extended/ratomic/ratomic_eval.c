// SPDX-License-Identifier: BSD-3-Clause
// The arithmetic of the operations.
#include <stdbool.h>
#include <string.h>

#include "ratomic_eval.h"

// Computing a sum, difference or product of two floats as double and rounding it gives the same as
// float arithmetic: a double has more than twice the digits.
static double real_of(gex_DT_t dt, uint64_t bits)
{
    if (dt == GEX_DT_DBL) {
        double value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    uint32_t narrow = (uint32_t)bits;
    float value;
    memcpy(&value, &narrow, sizeof value);
    return (double)value;
}

static uint64_t bits_of(gex_DT_t dt, double value)
{
    float narrow = (float)value;
    return dt == GEX_DT_DBL ? aq_api_bits(&value, sizeof value)
                            : aq_api_bits(&narrow, sizeof narrow);
}

static uint64_t eval_real(gex_DT_t dt, gex_OP_t op, uint64_t old, uint64_t operand)
{
    double x = real_of(dt, old), y = real_of(dt, operand);
    switch (op) {
    case GEX_OP_ADD:
        return bits_of(dt, x + y);
    case GEX_OP_SUB:
        return bits_of(dt, x - y);
    case GEX_OP_MULT:
        return bits_of(dt, x * y);
    case GEX_OP_INC:
        return bits_of(dt, x + 1);
    case GEX_OP_DEC:
        return bits_of(dt, x - 1);
    case GEX_OP_MIN:
        return x < y ? old : operand;
    default: // GEX_OP_MAX
        return x > y ? old : operand;
    }
}

static bool is_less(gex_DT_t dt, uint64_t a, uint64_t b)
{
    if (dt == GEX_DT_I32)
        return (int32_t)(uint32_t)a < (int32_t)(uint32_t)b;
    if (dt == GEX_DT_I64)
        return (int64_t)a < (int64_t)b;
    return a < b;
}

uint64_t aq_ratomic_eval(gex_DT_t dt, gex_OP_t op, uint64_t old, uint64_t operand)
{
    if (dt & AQ_API_DT_REAL)
        return eval_real(dt, op, old, operand);
    if (op == GEX_OP_MULT)
        return dt & AQ_API_DT_64 ? old * operand : (uint32_t)(old * operand);
    bool keep = op == GEX_OP_MIN ? is_less(dt, old, operand) : is_less(dt, operand, old);
    return keep ? old : operand;
}

uint64_t aq_ratomic_apply(void *at, gex_DT_t dt, gex_OP_t op, uint64_t operand1, uint64_t operand2,
                          gex_Flags_t flags)
{
    if (aq_api_atomic_is_direct(dt, op))
        return aq_api_atomic_direct(at, dt, op, operand1, operand2, flags);
    const int wide = (dt & AQ_API_DT_64) != 0;
    gex_OP_t plain = op & AQ_API_OP_FETCHING ? GEX_OP_TO_NONFETCHING(op) : op;
    uint64_t old = aq_api_atomic_get(at, wide, 0);
    for (;;) {
        uint64_t made = aq_ratomic_eval(dt, plain, old, operand1);
        uint64_t seen = aq_api_atomic_cas(at, wide, old, made, flags);
        if (seen == old)
            return old;
        old = seen;
    }
}
