// SPDX-License-Identifier: BSD-3-Clause
// The built-in operators. They add and multiply integers as unsigned, which wraps and gives the
// same bits.
#include <string.h>

#include "coll_operators.h"

// right[i] = expr, of a = left[i] and b = right[i].
#define OPERATOR(name, type, expr)                                                                 \
    static void name(const void *left, void *right, size_t count, const void *cdata)               \
    {                                                                                              \
        const type *restrict l = left;                                                             \
        type *restrict r = right;                                                                  \
        (void)cdata;                                                                               \
        for (size_t i = 0; i < count; i++) {                                                       \
            const type a = l[i], b = r[i];                                                         \
            r[i] = expr;                                                                           \
        }                                                                                          \
    }

OPERATOR(add_32, uint32_t, a + b)
OPERATOR(add_64, uint64_t, a + b)
OPERATOR(add_flt, float, a + b)
OPERATOR(add_dbl, double, a + b)
OPERATOR(mult_32, uint32_t, a *b)
OPERATOR(mult_64, uint64_t, a *b)
OPERATOR(mult_flt, float, a *b)
OPERATOR(mult_dbl, double, a *b)
OPERATOR(min_i32, int32_t, a < b ? a : b)
OPERATOR(min_u32, uint32_t, a < b ? a : b)
OPERATOR(min_i64, int64_t, a < b ? a : b)
OPERATOR(min_u64, uint64_t, a < b ? a : b)
OPERATOR(min_flt, float, a < b ? a : b)
OPERATOR(min_dbl, double, a < b ? a : b)
OPERATOR(max_i32, int32_t, a > b ? a : b)
OPERATOR(max_u32, uint32_t, a > b ? a : b)
OPERATOR(max_i64, int64_t, a > b ? a : b)
OPERATOR(max_u64, uint64_t, a > b ? a : b)
OPERATOR(max_flt, float, a > b ? a : b)
OPERATOR(max_dbl, double, a > b ? a : b)
OPERATOR(and_32, uint32_t, a &b)
OPERATOR(and_64, uint64_t, a &b)
OPERATOR(or_32, uint32_t, a | b)
OPERATOR(or_64, uint64_t, a | b)
OPERATOR(xor_32, uint32_t, a ^ b)
OPERATOR(xor_64, uint64_t, a ^ b)
OPERATOR(or_8, uint8_t, (uint8_t)(a | b))

enum { TYPES = 6 };

static const struct {
    gex_DT_t dt;
    size_t size;
} types[TYPES] = {
    {GEX_DT_I32, 4}, {GEX_DT_U32, 4}, {GEX_DT_I64, 8},
    {GEX_DT_U64, 8}, {GEX_DT_FLT, 4}, {GEX_DT_DBL, 8},
};

static const struct {
    gex_OP_t op;
    gex_Coll_ReduceFn_t fn[TYPES]; // as the types above
} operators[] = {
    {GEX_OP_ADD, {add_32, add_32, add_64, add_64, add_flt, add_dbl}},
    {GEX_OP_MULT, {mult_32, mult_32, mult_64, mult_64, mult_flt, mult_dbl}},
    {GEX_OP_MIN, {min_i32, min_u32, min_i64, min_u64, min_flt, min_dbl}},
    {GEX_OP_MAX, {max_i32, max_u32, max_i64, max_u64, max_flt, max_dbl}},
    {GEX_OP_AND, {and_32, and_32, and_64, and_64, NULL, NULL}},
    {GEX_OP_OR, {or_32, or_32, or_64, or_64, NULL, NULL}},
    {GEX_OP_XOR, {xor_32, xor_32, xor_64, xor_64, NULL, NULL}},
};
enum { OPERATORS = sizeof operators / sizeof operators[0] };

static unsigned type_index(gex_DT_t dt)
{
    unsigned t = 0;
    while (t < TYPES && types[t].dt != dt)
        t++;
    return t;
}

static unsigned operator_index(gex_OP_t op)
{
    unsigned o = 0;
    while (o < OPERATORS && operators[o].op != op)
        o++;
    return o;
}

gex_Coll_ReduceFn_t aq_coll_operator(gex_DT_t dt, gex_OP_t op)
{
    unsigned t = type_index(dt), o = operator_index(op);
    return t < TYPES && o < OPERATORS ? operators[o].fn[t] : NULL;
}

size_t aq_coll_type_size(gex_DT_t dt)
{
    unsigned t = type_index(dt);
    return t < TYPES ? types[t].size : 0;
}

void aq_coll_or_bytes(const void *arg1, void *arg2_and_out, size_t count, const void *cdata)
{
    or_8(arg1, arg2_and_out, count, cdata);
}
