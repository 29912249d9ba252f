// GASNet-EX collectives: broadcast and reductions over a team. gex_Coll_BarrierNB is declared by
// gasnetex.h already.
//
// Specification: "Collectives". All calls are collective over the team: all its members make the
// same calls, in the same order, with the same values of the arguments called single-valued. They
// do not wait for the other members, but may send and run handlers. Any number may be outstanding,
// of several teams too; several threads may make these calls at the same time over different teams,
// but not over one. The event completes when this rank's output is there and its input may be
// reused; buffers belong to the library until then, and may lie anywhere. flags must be 0. Wrong
// arguments, and different ones at different ranks, end the job with a message in a debug build
// (configure --enable-debug). The collectives of GASNet-1 (gasnet_coll1.h) come with this header.
#ifndef GASNET_COLL_H
#define GASNET_COLL_H

#include "gasnet_coll1.h"
#include "gasnetex.h"

#ifdef __cplusplus
extern "C" {
#endif

// Copies nbytes (0 or more) at src of rank root to dst of every member; src of the others is
// ignored. At the root src may be equal to dst, but not overlap it otherwise. Single-valued: root,
// nbytes.
AQ_API gex_Event_t gex_Coll_BroadcastNB(gex_TM_t tm, gex_Rank_t root, void *dst, const void *src,
                                        size_t nbytes, gex_Flags_t flags);

// A client's own operator: arg2_and_out[i] = arg1[i] (+) arg2_and_out[i] for count elements, which
// is any positive number. It may make no call but those allowed while a handler-safe lock is held,
// and is run by any thread that is in the library.
typedef void (*gex_Coll_ReduceFn_t)(const void *arg1, void *arg2_and_out, size_t count,
                                    const void *cdata);

// Reduce dt_cnt (at least 1) elements of type dt, dt_sz bytes each, of all members, element by
// element, to dst of rank root or of all ranks. The order in which the operator is applied depends
// on the team, the root and the sizes only; with GEX_OP_USER_NC it is that of the ranks. dt_sz of
// GEX_DT_USER has no limit but memory. src may be equal to dst (ReduceToAll: at all ranks or at
// none). op: GEX_OP_ADD, MULT, MIN, MAX; AND, OR, XOR for integers; USER and USER_NC with any type,
// which then call user_op with user_cdata. Another op for the type ends the job in every build.
// Single-valued: all but dst, src, user_op, user_cdata.
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
