// SPDX-License-Identifier: BSD-3-Clause
// Wrong calls of GASNet-1. A mode whose name begins with "legacy" has been started by gasnet_init,
// and unless "attach" or "early" is in its name by gasnet_attach.
#include "bad_calls.h"

#include <gasnet.h>

void bad_legacy_start(int *argc, char ***argv, int attach)
{
    if (gasnet_init(argc, argv) != GASNET_OK || gasnet_nodes() != 2)
        bad_abort("the job cannot be joined by 2 ranks");
    gasnet_QueryGexObjects(NULL, &bad_ep, &bad_tm, NULL);
    bad_me = gasnet_mynode();
    bad_other = 1 - bad_me;
    if (attach && gasnet_attach(NULL, 0, BAD_SEGMENT, 0) != GASNET_OK)
        bad_abort("the segment cannot be attached");
}

static void on_request(gasnet_token_t token)
{
    (void)token;
}

// ---- calls that need the start of GASNet-1, or more of it ----

static char word[8];

static void put(void)
{
    gasnet_put(1, word, word, sizeof word);
}

static void get_nbi(void)
{
    gasnet_get_nbi(word, 1, word, sizeof word);
}

static void set(void)
{
    gasnet_memset(1, word, 0, sizeof word);
}

static void request(void)
{
    gasnet_AMRequestShort1(1, 200, 5);
}

static void put_node(void)
{
    gasnet_put(2, word, word, sizeof word);
}

static void request_node(void)
{
    gasnet_AMRequestMedium0(2, 200, word, sizeof word);
}

static void set_outside(void)
{
    gasnet_memset(1, word, 0, sizeof word);
}

static void value_size(void)
{
    gasnet_get_nb_val(1, word, 9);
}

// ---- the order of the start ----

static void init_twice(void)
{
    bad_returned(gasnet_init(NULL, NULL), GASNET_ERR_NOT_INIT);
}

static void attach_unstarted(void)
{
    bad_returned(gasnet_attach(NULL, 0, BAD_SEGMENT, 0), GASNET_ERR_NOT_INIT);
}

static void attach_twice(void)
{
    if (gasnet_attach(NULL, 0, BAD_SEGMENT, 0) != GASNET_OK)
        bad_abort("the segment cannot be attached");
    attach_unstarted();
}

static void early_segments(void)
{
    gasnet_seginfo_t info[2];
    bad_returned(gasnet_getSegmentInfo(info, 2), GASNET_ERR_NOT_INIT);
}

static void negative_segments(void)
{
    bad_returned(gasnet_getSegmentInfo(NULL, -1), GASNET_ERR_BAD_ARG);
}

static void negative_nodes(void)
{
    bad_returned(gasnet_getNodeInfo(NULL, -1), GASNET_ERR_BAD_ARG);
}

// ---- arguments of gasnet_attach; what was refused can be put right ----

static void refused(gasnet_handlerentry_t *table, int count, uintptr_t size)
{
    bad_returned(gasnet_attach(table, count, size, 0), GASNET_ERR_BAD_ARG);
    gasnet_handlerentry_t good = {200, (void (*)())on_request};
    bad_returned(gasnet_attach(&good, 1, BAD_SEGMENT, 0), GASNET_OK);
}

static void attach_odd(void)
{
    refused(NULL, 0, GASNET_PAGESIZE + 1);
}

static void attach_large(void)
{
    uintptr_t limit = gasnet_getMaxLocalSegmentSize();
    bad_expect("a segment of %zu bytes is larger than this rank may have (%zu)",
               (size_t)limit + GASNET_PAGESIZE, (size_t)limit);
    refused(NULL, 0, limit + GASNET_PAGESIZE);
}

static void attach_two(gasnet_handler_t first, gasnet_handler_t second)
{
    gasnet_handlerentry_t table[] = {{first, (void (*)())on_request},
                                     {second, (void (*)())on_request}};
    refused(table, 2, BAD_SEGMENT);
    if (table[0].index != first)
        bad_abort("a table that was refused has changed");
}

static void attach_low(void)
{
    attach_two(0, 127);
}

static void attach_same(void)
{
    attach_two(200, 200);
}

static void attach_null(void)
{
    gasnet_handlerentry_t none = {0, NULL};
    refused(&none, 1, BAD_SEGMENT);
}

static void attach_many(void)
{
    gasnet_handlerentry_t table[129];
    for (int i = 0; i < 129; i++)
        table[i] = (gasnet_handlerentry_t){0, (void (*)())on_request};
    refused(table, 129, BAD_SEGMENT);
}

static void attach_negative(void)
{
    refused(NULL, -1, BAD_SEGMENT);
}

#define NEEDS " is a call of GASNet-1: start with gasnet_init, or pass GEX_FLAG_USES_GASNET1"
#define ONCE "gasnet_attach: it has to be called once, after gasnet_init"

const bad_call_t bad_gasnet1_calls[] = {
    {"gasnet1-put", BAD_FATAL, 0, "gasnet_put" NEEDS, put, NULL, NULL},
    {"gasnet1-get-nbi", BAD_FATAL, 0, "gasnet_get_nbi" NEEDS, get_nbi, NULL, NULL},
    {"gasnet1-memset", BAD_FATAL, 0, "gasnet_memset" NEEDS, set, NULL, NULL},
    {"gasnet1-request", BAD_FATAL, 0, "gasnet_AMRequestShort" NEEDS, request, NULL, NULL},
    {"gasnet1-attach", BAD_RETURNS, 0, ONCE, attach_unstarted, NULL, NULL},
    {"gasnet1-attach-first", BAD_RETURNS, -1, ONCE, attach_unstarted, NULL, NULL},
    {"gasnet1-init-twice", BAD_RETURNS, 0, "gasnet_init: this process has joined the job before",
     init_twice, NULL, NULL},
    {"legacy-init-twice", BAD_RETURNS, 0, "gasnet_init: this process has joined the job before",
     init_twice, NULL, NULL},
    {"legacy-attach-twice", BAD_RETURNS, 0, ONCE, attach_twice, NULL, NULL},
    {"legacy-early-put", BAD_FATAL, 0, "gasnet_put was called before gasnet_attach", put, NULL,
     NULL},
    {"legacy-early-request", BAD_FATAL, 0, "gasnet_AMRequestShort was called before gasnet_attach",
     request, NULL, NULL},
    {"legacy-early-segments", BAD_RETURNS, 0,
     "gasnet_getSegmentInfo was called before gasnet_attach", early_segments, NULL, NULL},
    {"legacy-segments-negative", BAD_RETURNS, 0, "gasnet_getSegmentInfo: a table of -1 entries",
     negative_segments, NULL, NULL},
    {"legacy-nodes-negative", BAD_RETURNS, 0, "gasnet_getNodeInfo: a table of -1 entries",
     negative_nodes, NULL, NULL},
    {"legacy-put-node", BAD_FATAL_ALWAYS, 0,
     "(gasnet_put: node|a put, get or atomic: rank) 2 is not below", put_node, NULL, NULL},
    {"legacy-request-node", BAD_FATAL_ALWAYS, 0,
     "(gasnet_AMRequestMedium: node|gex_AM_RequestMedium: rank) 2 is not below", request_node, NULL,
     NULL},
    {"legacy-memset-outside", BAD_FATAL, 0, "gasnet_memset: 8 bytes at .* are not inside",
     set_outside, NULL, NULL},
    {"legacy-value-size", BAD_FATAL_ALWAYS, 0,
     "(gasnet_get_nb_val|gex_RMA_GetBlockingVal): a value of 9 bytes", value_size, NULL, NULL},
    {"legacy-attach-odd", BAD_RETURNS, 0,
     "gasnet_attach: a size of 4097 bytes is no non-zero multiple of GASNET_PAGESIZE", attach_odd,
     NULL, NULL},
    {"legacy-attach-large", BAD_RETURNS, 0, "gasnet_attach: a segment of", attach_large, NULL,
     NULL},
    {"legacy-attach-low", BAD_RETURNS, 0,
     "gasnet_attach: entry 1, handler 127: indices of clients are 128 to 255", attach_low, NULL,
     NULL},
    {"legacy-attach-same", BAD_RETURNS, 0,
     "gasnet_attach: entry 1, handler 200: the index is registered already", attach_same, NULL,
     NULL},
    {"legacy-attach-null", BAD_RETURNS, 0, "gasnet_attach: entry 0, handler 0: fnptr is NULL",
     attach_null, NULL, NULL},
    {"legacy-attach-many", BAD_RETURNS, 0, "gasnet_attach: a table of 129 handlers", attach_many,
     NULL, NULL},
    {"legacy-attach-negative", BAD_RETURNS, 0, "gasnet_attach: a table of -1 handlers",
     attach_negative, NULL, NULL},
    {NULL, BAD_FATAL, 0, NULL, NULL, NULL, NULL}};
