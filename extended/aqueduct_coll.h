// SPDX-License-Identifier: BSD-3-Clause
// Collectives that GASNet-EX does not have: gather, scatter, all-to-all and scans over a team.
//
// Include this header after gasnetex.h; aqueduct_coll(3) describes the calls. They obey the rules
// of gasnet_coll.h, with which they may be mixed: all members of the team make the same calls, in
// the same order, with the same single-valued arguments, and no call waits for the other members,
// but may send and run handlers. Any number of operations may be outstanding. Several threads may
// make these calls at the same time over different teams, but not over one team; not in a handler.
// The event completes when this rank's output is complete and its input may be reused;
// GEX_EVENT_INVALID means that both are true at return. The library uses the buffers until then.
// Buffers may be anywhere in memory and have any alignment. flags must be 0.
//
// nbytes is the size of one block, 0 or more; an array of blocks has one for each rank of the team,
// in the order of the ranks. In every build a root that is not in the team, and more bytes than
// memory can hold, end the job with a message; in a debug build (configure --enable-debug) all
// illegal arguments do, and single-valued arguments that differ between ranks.
#ifndef AQUEDUCT_COLL_H
#define AQUEDUCT_COLL_H

#include "gasnet_coll.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GASNETX_COLL 1

// Copies nbytes from src of rank r to block r at dst of rank root; dst of other ranks is ignored.
// At the root src may be block `root` at dst; the buffers may not overlap otherwise. Single-valued:
// root, nbytes.
AQ_API gex_Event_t gasnetx_Coll_GatherNB(gex_TM_t tm, gex_Rank_t root, void *dst, const void *src,
                                         size_t nbytes, gex_Flags_t flags);

// Copies nbytes from src of rank r to block r at dst of all ranks. At rank r src may be block r at
// dst; the buffers may not overlap otherwise. Single-valued: nbytes.
AQ_API gex_Event_t gasnetx_Coll_AllgatherNB(gex_TM_t tm, void *dst, const void *src, size_t nbytes,
                                            gex_Flags_t flags);

// Copies block r at src of rank root to dst of rank r; src of other ranks is ignored. At the root
// dst may be block `root` at src; the buffers may not overlap otherwise. Single-valued: root,
// nbytes.
AQ_API gex_Event_t gasnetx_Coll_ScatterNB(gex_TM_t tm, gex_Rank_t root, void *dst, const void *src,
                                          size_t nbytes, gex_Flags_t flags);

// Copies block r at src of rank s to block s at dst of rank r. src and dst may not overlap.
// Single-valued: nbytes.
AQ_API gex_Event_t gasnetx_Coll_AlltoallNB(gex_TM_t tm, void *dst, const void *src, size_t nbytes,
                                           gex_Flags_t flags);

// Combine the src arrays of the ranks 0 to r, element by element, to dst of rank r; the exclusive
// scan leaves out that of rank r itself, and does not touch dst of rank 0. Types, operators and
// their arguments are those of gex_Coll_ReduceToAllNB. The operator is always applied in the order
// of the ranks, so it need not commute; how it is parenthesized depends only on the size of the
// team. src and dst may be equal, but not overlap otherwise. Until it is complete, an operation
// holds memory of this rank for log2(size) arrays. Single-valued: all arguments except dst, src,
// user_op and user_cdata.
AQ_API gex_Event_t gasnetx_Coll_ScanNB(gex_TM_t tm, void *dst, const void *src, gex_DT_t dt,
                                       size_t dt_sz, size_t dt_cnt, gex_OP_t op,
                                       gex_Coll_ReduceFn_t user_op, void *user_cdata,
                                       gex_Flags_t flags);
AQ_API gex_Event_t gasnetx_Coll_ScanExclusiveNB(gex_TM_t tm, void *dst, const void *src,
                                                gex_DT_t dt, size_t dt_sz, size_t dt_cnt,
                                                gex_OP_t op, gex_Coll_ReduceFn_t user_op,
                                                void *user_cdata, gex_Flags_t flags);

// A limit by which the library chooses how collectives move their data; aqueduct_coll(3) lists all
// of them. Lengths are in bytes, sizes of teams in ranks.
#define GASNETX_COLL_LIMITS 1
typedef struct gasnetx_coll_limit {
    const char *name;   // as in a tuning file; owned by the library
    uint32_t low, high; // the legal range, inclusive
    uint32_t fallback;  // the default
    uint32_t value;     // now, the same at all ranks
} gasnetx_coll_limit_t;

// Describes a limit; they are numbered from 0 on. GASNET_ERR_BAD_ARG: there is no limit of that
// number. Any thread, also before init (value is then the default).
AQ_API int gasnetx_Coll_QueryLimit(unsigned index, gasnetx_coll_limit_t *limit);

// Sets a limit for all teams of the job. Collective over the job, with the same arguments at all
// ranks; blocks until all ranks have called, and first completes all operations that are
// outstanding, which all members of their teams must have initiated before. No other thread may be
// in a collective call. GASNET_ERR_BAD_ARG at all ranks, and nothing changes: there is no such
// limit, the value is outside of its range, or the arguments differ. GASNET_ERR_RESOURCE: the job
// may grow (gasnetrun --reserve). Not in a handler.
AQ_API int gasnetx_Coll_SetLimit(unsigned index, uint32_t value);

#ifdef __cplusplus
}
#endif

#endif
