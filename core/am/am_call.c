// SPDX-License-Identifier: BSD-3-Clause
// Calls a handler with the arguments of the message. C has no call with a number of arguments known
// only at run time, so there is one case for each number.
#include "am.h"

#define A gex_AM_Arg_t

static void call_short(gex_AM_Fn_t fn, gex_Token_t token, const gex_AM_Arg_t *a, unsigned nargs)
{
    switch (nargs) {
    case 0:
        ((void (*)(gex_Token_t))fn)(token);
        break;
    case 1:
        ((void (*)(gex_Token_t, A))fn)(token, a[0]);
        break;
    case 2:
        ((void (*)(gex_Token_t, A, A))fn)(token, a[0], a[1]);
        break;
    case 3:
        ((void (*)(gex_Token_t, A, A, A))fn)(token, a[0], a[1], a[2]);
        break;
    case 4:
        ((void (*)(gex_Token_t, A, A, A, A))fn)(token, a[0], a[1], a[2], a[3]);
        break;
    case 5:
        ((void (*)(gex_Token_t, A, A, A, A, A))fn)(token, a[0], a[1], a[2], a[3], a[4]);
        break;
    case 6:
        ((void (*)(gex_Token_t, A, A, A, A, A, A))fn)(token, a[0], a[1], a[2], a[3], a[4], a[5]);
        break;
    case 7:
        ((void (*)(gex_Token_t, A, A, A, A, A, A, A))fn)(token, a[0], a[1], a[2], a[3], a[4], a[5],
                                                         a[6]);
        break;
    case 8:
        ((void (*)(gex_Token_t, A, A, A, A, A, A, A, A))fn)(token, a[0], a[1], a[2], a[3], a[4],
                                                            a[5], a[6], a[7]);
        break;
    case 9:
        ((void (*)(gex_Token_t, A, A, A, A, A, A, A, A, A))fn)(token, a[0], a[1], a[2], a[3], a[4],
                                                               a[5], a[6], a[7], a[8]);
        break;
    case 10:
        ((void (*)(gex_Token_t, A, A, A, A, A, A, A, A, A, A))fn)(
            token, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9]);
        break;
    case 11:
        ((void (*)(gex_Token_t, A, A, A, A, A, A, A, A, A, A, A))fn)(
            token, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10]);
        break;
    case 12:
        ((void (*)(gex_Token_t, A, A, A, A, A, A, A, A, A, A, A, A))fn)(
            token, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11]);
        break;
    case 13:
        ((void (*)(gex_Token_t, A, A, A, A, A, A, A, A, A, A, A, A, A))fn)(
            token, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12]);
        break;
    case 14:
        ((void (*)(gex_Token_t, A, A, A, A, A, A, A, A, A, A, A, A, A, A))fn)(
            token, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12],
            a[13]);
        break;
    case 15:
        ((void (*)(gex_Token_t, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A))fn)(
            token, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12],
            a[13], a[14]);
        break;
    case 16:
        ((void (*)(gex_Token_t, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A))fn)(
            token, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12],
            a[13], a[14], a[15]);
        break;
    default:
        __builtin_unreachable(); // aq_am_deliver has checked the number
    }
}

static void call_payload(gex_AM_Fn_t fn, gex_Token_t token, void *p, size_t n,
                         const gex_AM_Arg_t *a, unsigned nargs)
{
    switch (nargs) {
    case 0:
        ((void (*)(gex_Token_t, void *, size_t))fn)(token, p, n);
        break;
    case 1:
        ((void (*)(gex_Token_t, void *, size_t, A))fn)(token, p, n, a[0]);
        break;
    case 2:
        ((void (*)(gex_Token_t, void *, size_t, A, A))fn)(token, p, n, a[0], a[1]);
        break;
    case 3:
        ((void (*)(gex_Token_t, void *, size_t, A, A, A))fn)(token, p, n, a[0], a[1], a[2]);
        break;
    case 4:
        ((void (*)(gex_Token_t, void *, size_t, A, A, A, A))fn)(token, p, n, a[0], a[1], a[2],
                                                                a[3]);
        break;
    case 5:
        ((void (*)(gex_Token_t, void *, size_t, A, A, A, A, A))fn)(token, p, n, a[0], a[1], a[2],
                                                                   a[3], a[4]);
        break;
    case 6:
        ((void (*)(gex_Token_t, void *, size_t, A, A, A, A, A, A))fn)(token, p, n, a[0], a[1], a[2],
                                                                      a[3], a[4], a[5]);
        break;
    case 7:
        ((void (*)(gex_Token_t, void *, size_t, A, A, A, A, A, A, A))fn)(
            token, p, n, a[0], a[1], a[2], a[3], a[4], a[5], a[6]);
        break;
    case 8:
        ((void (*)(gex_Token_t, void *, size_t, A, A, A, A, A, A, A, A))fn)(
            token, p, n, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]);
        break;
    case 9:
        ((void (*)(gex_Token_t, void *, size_t, A, A, A, A, A, A, A, A, A))fn)(
            token, p, n, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8]);
        break;
    case 10:
        ((void (*)(gex_Token_t, void *, size_t, A, A, A, A, A, A, A, A, A, A))fn)(
            token, p, n, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9]);
        break;
    case 11:
        ((void (*)(gex_Token_t, void *, size_t, A, A, A, A, A, A, A, A, A, A, A))fn)(
            token, p, n, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10]);
        break;
    case 12:
        ((void (*)(gex_Token_t, void *, size_t, A, A, A, A, A, A, A, A, A, A, A, A))fn)(
            token, p, n, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11]);
        break;
    case 13:
        ((void (*)(gex_Token_t, void *, size_t, A, A, A, A, A, A, A, A, A, A, A, A, A))fn)(
            token, p, n, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11],
            a[12]);
        break;
    case 14:
        ((void (*)(gex_Token_t, void *, size_t, A, A, A, A, A, A, A, A, A, A, A, A, A, A))fn)(
            token, p, n, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11],
            a[12], a[13]);
        break;
    case 15:
        ((void (*)(gex_Token_t, void *, size_t, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A))fn)(
            token, p, n, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11],
            a[12], a[13], a[14]);
        break;
    case 16:
        ((void (*)(gex_Token_t, void *, size_t, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A))fn)(
            token, p, n, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11],
            a[12], a[13], a[14], a[15]);
        break;
    default:
        __builtin_unreachable(); // aq_am_deliver has checked the number
    }
}

#undef A

void aq_am_call(gex_AM_Fn_t fn, gex_Token_t token, const aq_arrival_t *m)
{
    if (m->category == AQ_AM_SHORT)
        call_short(fn, token, m->args, m->nargs);
    else
        call_payload(fn, token, m->payload, m->nbytes, m->args, m->nargs);
}
