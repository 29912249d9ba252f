// SPDX-License-Identifier: BSD-3-Clause
// The public calls of gasnet_coll1.h: they check the arguments and translate the request for the
// engine.
#include "coll_engine.h"
#include "coll_check.h"
#include "../gasnet_coll1.h"

#include "../../core/ground/bounds.h"
#include "../../core/ground/fatal.h"
#include "../../core/memory/segment_table.h"

enum {
    IN_SYNC = GASNET_COLL_IN_NOSYNC | GASNET_COLL_IN_MYSYNC | GASNET_COLL_IN_ALLSYNC,
    OUT_SYNC = GASNET_COLL_OUT_NOSYNC | GASNET_COLL_OUT_MYSYNC | GASNET_COLL_OUT_ALLSYNC,
    OTHERS = GASNET_COLL_LOCAL | GASNET_COLL_DST_IN_SEGMENT | GASNET_COLL_SRC_IN_SEGMENT |
             GASNET_COLL_FIXED_THREADS_PER_NODE | GASNET_COLL_NO_IMAGES,
};

// ---- checks of a debug build ----

static bool is_one(int flags)
{
    return flags && !(flags & (flags - 1));
}

static void check_flags(const char *name, int flags)
{
    AQ_CHECK(!(flags & ~(IN_SYNC | OUT_SYNC | OTHERS)),
             "%s: flags %#x have the bits %#x, which mean nothing", name, flags,
             flags & ~(IN_SYNC | OUT_SYNC | OTHERS));
    AQ_CHECK(is_one(flags & IN_SYNC),
             "%s: flags are %#x; pass one of GASNET_COLL_IN_NOSYNC, _IN_MYSYNC, _IN_ALLSYNC", name,
             flags);
    AQ_CHECK(is_one(flags & OUT_SYNC),
             "%s: flags are %#x; pass one of GASNET_COLL_OUT_NOSYNC, _OUT_MYSYNC, _OUT_ALLSYNC",
             name, flags);
    AQ_CHECK(flags & GASNET_COLL_LOCAL,
             "%s: flags are %#x; pass GASNET_COLL_LOCAL, the only kind of addresses there is", name,
             flags);
}

// Checks that addr is not NULL, and that the memory is in this rank's segment if a flag promises
// that.
static void check_bytes(const char *name, const char *what, const void *addr, size_t nbytes,
                        int promise)
{
    AQ_CHECK(addr || !nbytes, "%s: %s is NULL", name, what);
    AQ_CHECK(!promise || aq_segment_holds(addr, nbytes),
             "%s: flags promise that %s is in the segment of this rank (%#x), but %zu bytes at %p "
             "are not",
             name, what, promise, nbytes, addr);
}

static void check_buffers(const char *name, const aq_coll_call_t *call, const struct gex_tm *tm,
                          int flags)
{
    const bool is_root = tm->rank == call->root, scatter = call->kind == AQ_COLL_SCATTER;
    const size_t all = call->count * tm->size;
    size_t in = call->count, out = all;
    if (call->kind == AQ_COLL_BROADCAST || scatter) {
        in = !is_root ? 0 : scatter ? all : call->count;
        out = call->count;
    } else if (call->kind == AQ_COLL_EXCHANGE) {
        in = all;
    } else if (call->kind == AQ_COLL_GATHER && !is_root) {
        out = 0;
    }
    if (in)
        check_bytes(name, "src", call->src, in, flags & GASNET_COLL_SRC_IN_SEGMENT);
    if (out)
        check_bytes(name, "dst", call->dst, out, flags & GASNET_COLL_DST_IN_SEGMENT);
}

static void check_call(const char *name, gex_TM_t tm, const aq_coll_call_t *call, int flags)
{
    aq_thread_check_call(name);
    AQ_CHECK(!aq_team_of(tm)->pair, "%s over a handle of gex_TM_Pair: it takes a team", name);
    check_flags(name, flags);
    check_buffers(name, call, tm, flags);
    aq_coll_check_same(aq_coll_of(aq_team_of(tm)),
                       &(aq_coll_words_t){.call = call->kind == AQ_COLL_BROADCAST
                                                      ? (int)AQ_COLL_CALL_BROADCAST1
                                                      : (int)call->kind,
                                          .root = call->root,
                                          .op = (uint32_t)flags,
                                          .unit = 1,
                                          .count = call->count});
}

// ---- data movement ----

static void check_team(const char *name, gex_TM_t tm)
{
    if (__builtin_expect(!tm, 0))
        aq_fatal("%s: the team is NULL; call it after gasnet_init or gex_Client_Init, which make "
                 "GASNET_TEAM_ALL",
                 name);
}

static gasnet_coll_handle_t begin_call(const char *name, gex_TM_t tm, const aq_coll_call_t *call,
                                       int flags)
{
    check_team(name, tm);
    aq_bounds_rank(name, "root", call->root, tm->size);
    aq_bounds_blocks(name, "blocks", tm->size, call->count);
    if (AQ_CHECKS)
        check_call(name, tm, call, flags);
    const unsigned sync = (flags & GASNET_COLL_IN_ALLSYNC ? AQ_COLL_SYNC_BEFORE : 0) |
                          (flags & GASNET_COLL_OUT_ALLSYNC ? AQ_COLL_SYNC_AFTER : 0);
    return aq_coll_begin(aq_coll_of(aq_team_of(tm)), call, sync);
}

gasnet_coll_handle_t gasnet_coll_broadcast_nb(gasnet_team_handle_t team, void *dst,
                                              gasnet_image_t srcimage, const void *src,
                                              size_t nbytes, int flags)
{
    const aq_coll_call_t call = {
        AQ_COLL_BROADCAST, srcimage, dst, src, 1, nbytes, NULL, NULL, false};
    return begin_call("gasnet_coll_broadcast", team, &call, flags);
}

gasnet_coll_handle_t gasnet_coll_scatter_nb(gasnet_team_handle_t team, void *dst,
                                            gasnet_image_t srcimage, const void *src, size_t nbytes,
                                            int flags)
{
    const aq_coll_call_t call = {AQ_COLL_SCATTER, srcimage, dst, src, 1, nbytes, NULL, NULL, false};
    return begin_call("gasnet_coll_scatter", team, &call, flags);
}

gasnet_coll_handle_t gasnet_coll_gather_nb(gasnet_team_handle_t team, gasnet_image_t dstimage,
                                           void *dst, const void *src, size_t nbytes, int flags)
{
    const aq_coll_call_t call = {AQ_COLL_GATHER, dstimage, dst, src, 1, nbytes, NULL, NULL, false};
    return begin_call("gasnet_coll_gather", team, &call, flags);
}

gasnet_coll_handle_t gasnet_coll_gather_all_nb(gasnet_team_handle_t team, void *dst,
                                               const void *src, size_t nbytes, int flags)
{
    const aq_coll_call_t call = {AQ_COLL_GATHER_ALL, 0, dst, src, 1, nbytes, NULL, NULL, false};
    return begin_call("gasnet_coll_gather_all", team, &call, flags);
}

gasnet_coll_handle_t gasnet_coll_exchange_nb(gasnet_team_handle_t team, void *dst, const void *src,
                                             size_t nbytes, int flags)
{
    const aq_coll_call_t call = {AQ_COLL_EXCHANGE, 0, dst, src, 1, nbytes, NULL, NULL, false};
    return begin_call("gasnet_coll_exchange", team, &call, flags);
}

// ---- barriers ----

static void check_all(const char *name, gex_TM_t tm)
{
    check_team(name, tm);
    if (tm != GASNET_TEAM_ALL)
        aq_fatal("%s: the team is not GASNET_TEAM_ALL; use gex_Coll_BarrierNB for others", name);
}

void gasnet_coll_barrier_notify(gasnet_team_handle_t team, int id, int flags)
{
    check_all("gasnet_coll_barrier_notify", team);
    gasnet_barrier_notify(id, flags);
}

int gasnet_coll_barrier_wait(gasnet_team_handle_t team, int id, int flags)
{
    check_all("gasnet_coll_barrier_wait", team);
    return gasnet_barrier_wait(id, flags);
}

int gasnet_coll_barrier_try(gasnet_team_handle_t team, int id, int flags)
{
    check_all("gasnet_coll_barrier_try", team);
    return gasnet_barrier_try(id, flags);
}

int gasnet_coll_barrier(gasnet_team_handle_t team, int id, int flags)
{
    check_all("gasnet_coll_barrier", team);
    return gasnet_barrier(id, flags);
}

int gasnet_coll_barrier_result(gasnet_team_handle_t team, int *id)
{
    check_all("gasnet_coll_barrier_result", team);
    return gasnet_barrier_result(id);
}
