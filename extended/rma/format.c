// SPDX-License-Identifier: BSD-3-Clause
// The names of token, type and operation bits, and the sides of non-contiguous transfers, as text:
// the calls of gasnet_format.h, and names for messages of this library.
#include "format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const ti_names[] = {"GEX_TI_SRCRANK", "GEX_TI_ENTRY", "GEX_TI_IS_REQ",
                                       "GEX_TI_IS_LONG", "GEX_TI_EP"};
static const char *const dt_names[] = {"GEX_DT_I32", "GEX_DT_U32", "GEX_DT_I64", "GEX_DT_U64",
                                       "GEX_DT_FLT", "GEX_DT_DBL", "GEX_DT_USER"};
static const char *const op_names[] = {
    "GEX_OP_AND",   "GEX_OP_OR",     "GEX_OP_XOR",  "GEX_OP_ADD",  "GEX_OP_SUB",
    "GEX_OP_MULT",  "GEX_OP_MIN",    "GEX_OP_MAX",  "GEX_OP_INC",  "GEX_OP_DEC",
    "GEX_OP_SET",   "GEX_OP_CAS",    NULL,          NULL,          NULL,
    "GEX_OP_FAND",  "GEX_OP_FOR",    "GEX_OP_FXOR", "GEX_OP_FADD", "GEX_OP_FSUB",
    "GEX_OP_FMULT", "GEX_OP_FMIN",   "GEX_OP_FMAX", "GEX_OP_FINC", "GEX_OP_FDEC",
    "GEX_OP_SWAP",  "GEX_OP_FCAS",   "GEX_OP_GET",  NULL,          NULL,
    "GEX_OP_USER",  "GEX_OP_USER_NC"};
enum {
    TIS = sizeof ti_names / sizeof ti_names[0],
    DTS = sizeof dt_names / sizeof dt_names[0],
    OPS = sizeof op_names / sizeof op_names[0],
};

// Text that grows in a sufficiently large buffer. If the buffer is NULL, only the length is
// counted.
typedef struct text {
    char *buf;
    size_t used;
} text_t;

static void add_text(text_t *t, const char *word)
{
    if (t->buf)
        strcpy(t->buf + t->used, word);
    t->used += strlen(word);
}

static size_t format_bits(char *buf, uint32_t bits, const char *const names[], unsigned n)
{
    text_t t = {buf, 0};
    char rest[16];
    for (unsigned i = 0; i < n; i++) {
        if (!(bits & 1u << i) || !names[i])
            continue;
        add_text(&t, t.used ? "|" : "");
        add_text(&t, names[i]);
        bits &= ~(1u << i);
    }
    if (bits || !t.used) {
        snprintf(rest, sizeof rest, "%s%#" PRIx32, t.used ? "|" : "", bits);
        add_text(&t, rest);
    }
    return t.used + 1;
}

size_t gasnett_format_ti(char *buf, gex_TI_t mask)
{
    return format_bits(buf, mask, ti_names, TIS);
}

size_t gasnett_format_dt(char *buf, gex_DT_t types)
{
    return format_bits(buf, types, dt_names, DTS);
}

size_t gasnett_format_op(char *buf, gex_OP_t ops)
{
    return format_bits(buf, ops, op_names, OPS);
}

const char *aq_op_names(gex_OP_t ops, char text[AQ_OP_NAMES_BYTES])
{
    gasnett_format_op(text, ops);
    return text;
}

const char *aq_dt_name(gex_DT_t dt)
{
    for (unsigned i = 0; i < DTS; i++)
        if (dt == 1u << i)
            return dt_names[i];
    return "no data type";
}

// ---- sides of non-contiguous transfers ----

enum {
    NUMBER_BYTES = 20,
    PIECE_BYTES = 2 * NUMBER_BYTES + 4,
    LEVEL_BYTES = 3 * (NUMBER_BYTES + 2)
};

size_t gasnett_format_memveclist_bufsz(size_t count)
{
    return (count + 1) * PIECE_BYTES;
}

char *gasnett_format_memveclist(char *buf, size_t count, const gex_Memvec_t *list)
{
    char *at = buf + sprintf(buf, "%zu pieces:", count);
    for (size_t i = 0; i < count; i++)
        at += sprintf(at, " %p+%zu", list[i].gex_addr, list[i].gex_len);
    return buf;
}

size_t gasnett_format_addrlist_bufsz(size_t count)
{
    return (count + 2) * PIECE_BYTES;
}

char *gasnett_format_addrlist(char *buf, size_t count, void *const *list, size_t len)
{
    char *at = buf + sprintf(buf, "%zu pieces of %zu bytes:", count, len);
    for (size_t i = 0; i < count; i++)
        at += sprintf(at, " %p", list[i]);
    return buf;
}

static char *add_side(char *at, const char *name, const void *base, const ptrdiff_t strides[],
                      size_t levels)
{
    at += sprintf(at, "%s %p strides", name, base);
    for (size_t i = 0; i < levels; i++)
        at += sprintf(at, " %td", strides[i]);
    return at;
}

size_t gasnett_format_putsgets_bufsz(size_t stridelevels)
{
    return 256 + stridelevels * LEVEL_BYTES;
}

char *gasnett_format_putsgets(char *buf, void *reserved, gex_TM_t tm, gex_Rank_t rank,
                              const void *dst, const ptrdiff_t dststrides[], const void *src,
                              const ptrdiff_t srcstrides[], size_t elemsz, const size_t count[],
                              size_t stridelevels)
{
    (void)reserved;
    char *at = buf + sprintf(buf, "rank %u of %u, elements of %zu bytes, counts", rank,
                             gex_TM_QuerySize(tm), elemsz);
    for (size_t i = 0; i < stridelevels; i++)
        at += sprintf(at, " %zu", count[i]);
    at = add_side(at, ", destination", dst, dststrides, stridelevels);
    add_side(at, ", source", src, srcstrides, stridelevels);
    return buf;
}
