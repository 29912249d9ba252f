// SPDX-License-Identifier: BSD-3-Clause
// The tables of operations that wait for an answer. Initiators (rma_am.c, notice.c, ratomic_am.c,
// vis_am.c ...) add an operation and send its request; the handler of the answer removes the
// operation.
#include "pending.h"

#include <stdatomic.h>

#include "../../core/am/am_recorded.h"
#include "../../core/ground/fatal.h"
#include "../../core/ground/lock.h"
#include "../../core/memory/segment_table.h"

// Each thread has a table of its own, so that threads do not write to the same memory; more than
// TABLES threads share tables. The upper bits of a cookie's index are the number of its table,
// which is 0 while one thread at a time uses the library.
enum { TABLES = 64, INDEX_BITS = 26, APART = 128 };

typedef struct table {
    _Alignas(APART) aq_cookies_t cookies;
    aq_lock_t lock;
    uint32_t upper_bits; // of the cookies
} table_t;

static table_t tables[TABLES];

static table_t *own_table(void)
{
    static atomic_uint threads;
    static _Thread_local table_t *own __attribute__((tls_model("initial-exec")));
    if (__builtin_expect(!own, 0)) {
        const uint32_t number =
            atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) % TABLES;
        own = &tables[number];
        aq_lock_take(&own->lock);
        own->upper_bits = number << INDEX_BITS;
        aq_lock_drop(&own->lock);
    }
    return own;
}

// Returns 0 if memory is exhausted, or if the table has an operation for each of its indices.
static aq_cookie_t add_pending(const aq_pending_op_t *op)
{
    if (!aq_threads)
        return aq_cookies_add(&tables[0].cookies, op);
    table_t *own = own_table();
    aq_lock_take(&own->lock);
    const aq_cookie_t cookie = aq_cookies_add(&own->cookies, op);
    const uint32_t upper_bits = own->upper_bits;
    aq_lock_drop(&own->lock);
    if (__builtin_expect(!cookie || (uint32_t)cookie >> INDEX_BITS, 0))
        return 0;
    return cookie | upper_bits;
}

static bool take_pending(aq_cookie_t cookie, uint32_t rank, aq_pending_op_t *op)
{
    if (!aq_threads)
        return aq_cookies_take(&tables[0].cookies, cookie, rank, op);
    const uint32_t number = (uint32_t)cookie >> INDEX_BITS;
    table_t *table = &tables[number];
    aq_lock_take(&table->lock);
    const bool found = aq_cookies_take(&table->cookies, cookie ^ (number << INDEX_BITS), rank, op);
    aq_lock_drop(&table->lock);
    return found;
}

// "a get", with the article.
static const char *pending_name(aq_pending_kind_t kind)
{
    static const char *const names[] = {
        "a put",    "a get",  "an atomic", "a fetching atomic", "a non-contiguous get",
        "a memset", "a probe"};
    return names[kind];
}

aq_cookie_t aq_pending_add(aq_pending_kind_t kind, uint32_t rank, void *context, void *dest,
                           size_t nbytes)
{
    const aq_pending_op_t op = {context, dest, nbytes, kind, rank};
    const aq_cookie_t cookie = add_pending(&op);
    if (__builtin_expect(!cookie, 0))
        aq_fatal("out of memory for %s to rank %u", pending_name(kind), rank);
    return cookie;
}

// Removes an operation whose request was not sent.
static void pending_cancel(aq_cookie_t cookie, uint32_t rank)
{
    aq_pending_op_t op;
    (void)take_pending(cookie, rank, &op);
}

int aq_pending_request(aq_ep_pair_t pair, uint32_t jobrank, aq_am_t *am, gex_Flags_t flags,
                       aq_cookie_t cookie, gex_Event_t part)
{
    aq_event_begin(part);
    if (aq_am_send_recorded((aq_am_to_t){.jobrank = jobrank, .ep_pair = pair}, am,
                            flags & GEX_FLAG_IMMEDIATE) == 0)
        return 0;
    pending_cancel(cookie, jobrank);
    aq_event_end(part);
    return 1;
}

aq_pending_op_t aq_pending_end(aq_pending_kind_t kind, gex_Token_t token, aq_cookie_t cookie)
{
    const uint32_t rank = token->arrival->source;
    aq_pending_op_t op;
    if (__builtin_expect(!take_pending(cookie, rank, &op) || op.extra != kind, 0))
        aq_fatal("rank %u has answered %s for which no operation waits (cookie 0x%llx)", rank,
                 pending_name(kind), (unsigned long long)cookie);
    return op;
}

aq_pending_op_t aq_pending_end_sized(aq_pending_kind_t kind, gex_Token_t token, aq_cookie_t cookie,
                                     size_t nbytes)
{
    const aq_pending_op_t op = aq_pending_end(kind, token, cookie);
    if (__builtin_expect(op.nbytes != nbytes, 0))
        aq_fatal("the answer of rank %u to %s of %zu bytes has %zu bytes", token->arrival->source,
                 pending_name(kind), op.nbytes, nbytes);
    return op;
}

void aq_pending_check_target(aq_pending_kind_t kind, gex_Token_t token, const void *addr,
                             size_t nbytes)
{
    if (__builtin_expect(!aq_segment_holds(addr, nbytes), 0))
        aq_fatal("%s of rank %u (%zu bytes at %p) is not inside a segment of this process",
                 pending_name(kind), token->arrival->source, nbytes, addr);
}

void aq_pending_refuse_size(gex_Token_t token, size_t nbytes)
{
    aq_fatal("a get of rank %u asks for %zu bytes, and a message holds %zu", token->arrival->source,
             nbytes, aq_job.limits.medium);
}
