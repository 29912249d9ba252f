/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Active messages whose number of arguments is known only at run time.
 *
 * The API has one name for each number of arguments; these functions choose among them, so that a
 * test can loop over 0..16. `cat` is the category of the message; `a` holds n values.
 */
#ifndef CONFORM_ARGN_H
#define CONFORM_ARGN_H

#include "conform.h"

#define ARGN_MAX 16

typedef enum { ARGN_SHORT, ARGN_MEDIUM, ARGN_LONG } argn_cat_t;

typedef struct {
    gex_AM_Index_t handler;
    unsigned n;
    const gex_AM_Arg_t *a;
    void *src;
    size_t nbytes;
    void *dest; /* of a Long */
    gex_Event_t *lc;
    gex_Flags_t flags;
} argn_msg_t;

int argn_request(argn_cat_t cat, gex_Rank_t rank, const argn_msg_t *m);
int argn_reply(argn_cat_t cat, gex_Token_t token, const argn_msg_t *m);
/* Commit a prepared message: handler, arguments, nbytes and dest come from m; with _v2, so do the
 * flags. */
void argn_commit_request(argn_cat_t cat, gex_AM_SrcDesc_t sd, const argn_msg_t *m);
void argn_commit_reply(argn_cat_t cat, gex_AM_SrcDesc_t sd, const argn_msg_t *m);
int argn_commit_request_v2(argn_cat_t cat, gex_AM_SrcDesc_t sd, const argn_msg_t *m);
int argn_commit_reply_v2(argn_cat_t cat, gex_AM_SrcDesc_t sd, const argn_msg_t *m);

/*
 * The echo: a request with n arguments and a payload, computed from the sender and n. The
 * target checks all of it and sends a reply of the same category, which the sender checks.
 */
typedef enum { ARGN_FIXED, ARGN_OWN_BUFFER, ARGN_LIBRARY_BUFFER, ARGN_WAYS } argn_way_t;

/* Sends every number of arguments in every category to every rank; waits for all the replies. */
void argn_echo_all(argn_way_t way, int v2);

#endif
