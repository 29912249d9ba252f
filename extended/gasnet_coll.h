// SPDX-License-Identifier: BSD-3-Clause
// GASNet-EX collectives: broadcast and reductions over a team. gex_Coll_BarrierNB is declared by
// gasnetex.h already.
//
// Specification: "Collectives". All calls are collective over the team: all members make the same
// calls, in the same order, with the same values of the single-valued arguments. Calls do not wait
// for the other members, but may send and run handlers. Any number of operations may be
// outstanding. Several threads may make these calls at the same time over different teams, but not
// over one team. The event completes when this rank's output is complete and its input may be
// reused; the library uses the buffers until then. Buffers may be anywhere in memory. flags must be
// 0. In every build a root that is not in the team, and more bytes than memory can hold, end the
// job with a message; in a debug build (configure --enable-debug) all illegal arguments do, and
// single-valued arguments that differ between ranks. The collectives of GASNet-1
// (gasnet_coll1.h) come with this header.
#ifndef GASNET_COLL_H
#define GASNET_COLL_H

#include "gasnet_coll1.h"
#include "gasnetex.h"

#ifdef __cplusplus
extern "C" {
#endif

// Copies nbytes (0 or more) from src of rank root to dst of every member; src of the other members
// is ignored. At the root src and dst may be equal, but not overlap otherwise. Single-valued: root,
// nbytes.
AQ_API gex_Event_t gex_Coll_BroadcastNB(gex_TM_t tm, gex_Rank_t root, void *dst, const void *src,
                                        size_t nbytes, gex_Flags_t flags);

// A client's own operator: computes arg2_and_out[i] = arg1[i] (+) arg2_and_out[i] for count (at
// least 1) elements. The function may only make calls that are allowed while a handler-safe lock is
// held. Any thread that is in the library may run the function.
typedef void (*gex_Coll_ReduceFn_t)(const void *arg1, void *arg2_and_out, size_t count,
                                    const void *cdata);

// Reduce the src arrays of all members, element by element, to dst of rank root or of all members.
// An array has dt_cnt (at least 1) elements of type dt, of dt_sz bytes each; only memory limits
// dt_sz of GEX_DT_USER. src and dst may be equal (ReduceToAll: at all ranks or at none). op is
// GEX_OP_ADD, MULT, MIN or MAX; AND, OR or XOR for integers; or USER or USER_NC for any type, which
// call user_op with user_cdata. Another op ends the job with a message in every build. The order in
// which operators are applied depends only on the team, the root and the sizes; with GEX_OP_USER_NC
// it is the order of the ranks. Single-valued: all arguments except dst, src, user_op and
// user_cdata.
AQ_API gex_Event_t gex_Coll_ReduceToOneNB(gex_TM_t tm, gex_Rank_t root, void *dst, const void *src,
                                          gex_DT_t dt, size_t dt_sz, size_t dt_cnt, gex_OP_t op,
                                          gex_Coll_ReduceFn_t user_op, void *user_cdata,
                                          gex_Flags_t flags);
AQ_API gex_Event_t gex_Coll_ReduceToAllNB(gex_TM_t tm, void *dst, const void *src, gex_DT_t dt,
                                          size_t dt_sz, size_t dt_cnt, gex_OP_t op,
                                          gex_Coll_ReduceFn_t user_op, void *user_cdata,
                                          gex_Flags_t flags);

#ifdef __cplusplus
}
#endif

#endif
