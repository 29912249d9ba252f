#include "pending.h"

#include "../core/am.h"
#include "../core/fatal.h"
#include "../core/lock.h"
#include "../core/segment.h"

static aq_cookies_t table;
static aq_lock_t lock; // guards the table

const char *aq_pending_name(aq_pending_kind_t kind)
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
    aq_lock_take(&lock);
    const aq_cookie_t cookie = aq_cookies_add(&table, &op);
    aq_lock_drop(&lock);
    if (__builtin_expect(!cookie, 0))
        aq_fatal("out of memory for %s to rank %u", aq_pending_name(kind), rank);
    return cookie;
}

static bool take_pending(aq_cookie_t cookie, uint32_t rank, aq_pending_op_t *op)
{
    aq_lock_take(&lock);
    const bool found = aq_cookies_take(&table, cookie, rank, op);
    aq_lock_drop(&lock);
    return found;
}

void aq_pending_cancel(aq_cookie_t cookie, uint32_t rank)
{
    aq_pending_op_t op;
    (void)take_pending(cookie, rank, &op);
}

aq_pending_op_t aq_pending_end(aq_pending_kind_t kind, gex_Token_t token, aq_cookie_t cookie)
{
    const uint32_t rank = token->arrival->source;
    aq_pending_op_t op;
    if (__builtin_expect(!take_pending(cookie, rank, &op) || op.extra != kind, 0))
        aq_fatal("rank %u has answered %s for which no operation waits (cookie 0x%llx)", rank,
                 aq_pending_name(kind), (unsigned long long)cookie);
    return op;
}

aq_pending_op_t aq_pending_end_sized(aq_pending_kind_t kind, gex_Token_t token, aq_cookie_t cookie,
                                     size_t nbytes)
{
    const aq_pending_op_t op = aq_pending_end(kind, token, cookie);
    if (__builtin_expect(op.nbytes != nbytes, 0))
        aq_fatal("the answer of rank %u to %s of %zu bytes has %zu bytes", token->arrival->source,
                 aq_pending_name(kind), op.nbytes, nbytes);
    return op;
}

void aq_pending_check_target(aq_pending_kind_t kind, gex_Token_t token, const void *addr,
                             size_t nbytes)
{
    if (__builtin_expect(!aq_segment_holds(addr, nbytes), 0))
        aq_fatal("%s of rank %u (%zu bytes at %p) is not inside a segment of this process",
                 aq_pending_name(kind), token->arrival->source, nbytes, addr);
}
