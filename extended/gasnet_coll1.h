// SPDX-License-Identifier: BSD-3-Clause
// The collectives of GASNet-1 that GASNet-EX still has; gasnet_coll.h includes this header.
//
// No specification describes these calls; the names are those of GASNet-EX 2025.8, and GASNet-1
// explains them in its file docs/collective_notes.txt. Each process has one image, whose number is
// the rank. The calls are collective over the team: all ranks make the same calls, in the same
// order, with the same root, nbytes and flags. They are not allowed in a handler. nbytes is the
// size of one block in bytes. Buffers may be anywhere and have any alignment; the library uses them
// until the handle is synchronized. In a debug build (configure --enable-debug) illegal arguments,
// and arguments that differ between ranks, end the job with a message.
#ifndef GASNET_COLL1_H
#define GASNET_COLL1_H

#include "gasnetex.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef uint32_t gasnet_image_t;

// A team. GASNET_TEAM_ALL is the primordial team, or NULL before gasnet_init or gex_Client_Init.
typedef gex_TM_t gasnet_team_handle_t;
#define GASNET_TEAM_ALL aq_api_gasnet1_team

// A started operation. This is an event, so any thread may wait for it.
typedef gex_Event_t gasnet_coll_handle_t;
#define GASNET_COLL_INVALID_HANDLE GEX_EVENT_INVALID

// Flags. Each call has one of IN, one of OUT, and LOCAL.
// When the library may read and write a rank's buffers. NOSYNC: at once (treated as MYSYNC).
// MYSYNC: after that rank has made the call. ALLSYNC: after all ranks have made the call.
#define GASNET_COLL_IN_NOSYNC 0x1
#define GASNET_COLL_IN_MYSYNC 0x2
#define GASNET_COLL_IN_ALLSYNC 0x4
// When a rank's handle is complete. NOSYNC: at any time, but at the last rank only after all data
// has arrived (treated as MYSYNC). MYSYNC: when this rank's output has arrived and its input may be
// reused. ALLSYNC: when this is true for all ranks.
#define GASNET_COLL_OUT_NOSYNC 0x8
#define GASNET_COLL_OUT_MYSYNC 0x10
#define GASNET_COLL_OUT_ALLSYNC 0x20
// Each rank gives its own addresses; addresses that a rank does not need are ignored.
#define GASNET_COLL_LOCAL 0x80
// Promises that dst, or src, lies in the segment of its rank. They have no effect.
#define GASNET_COLL_DST_IN_SEGMENT 0x400
#define GASNET_COLL_SRC_IN_SEGMENT 0x800
// For several images in a process. They have no effect.
#define GASNET_COLL_FIXED_THREADS_PER_NODE 0x200
#define GASNET_COLL_NO_IMAGES 0x80000

// ---- data movement ----

// Calls with _nb start the operation and return a handle; GASNET_COLL_INVALID_HANDLE means that the
// operation is complete. Calls without _nb block until the operation is synchronized.

// Copies nbytes from src of rank srcimage to dst of all ranks.
AQ_API gasnet_coll_handle_t gasnet_coll_broadcast_nb(gasnet_team_handle_t team, void *dst,
                                                     gasnet_image_t srcimage, const void *src,
                                                     size_t nbytes, int flags);
// Copies block r at src of rank srcimage to dst of rank r.
AQ_API gasnet_coll_handle_t gasnet_coll_scatter_nb(gasnet_team_handle_t team, void *dst,
                                                   gasnet_image_t srcimage, const void *src,
                                                   size_t nbytes, int flags);
// Copies nbytes from src of rank r to block r at dst of rank dstimage.
AQ_API gasnet_coll_handle_t gasnet_coll_gather_nb(gasnet_team_handle_t team,
                                                  gasnet_image_t dstimage, void *dst,
                                                  const void *src, size_t nbytes, int flags);
// Copies nbytes from src of rank r to block r at dst of all ranks.
AQ_API gasnet_coll_handle_t gasnet_coll_gather_all_nb(gasnet_team_handle_t team, void *dst,
                                                      const void *src, size_t nbytes, int flags);
// Copies block r at src of rank s to block s at dst of rank r. src and dst may not overlap. (In the
// calls above, the block that a rank copies to itself may already be in place.)
AQ_API gasnet_coll_handle_t gasnet_coll_exchange_nb(gasnet_team_handle_t team, void *dst,
                                                    const void *src, size_t nbytes, int flags);

AQ_API_INLINE void gasnet_coll_broadcast(gasnet_team_handle_t team, void *dst,
                                         gasnet_image_t srcimage, const void *src, size_t nbytes,
                                         int flags)
{
    gex_Event_Wait(gasnet_coll_broadcast_nb(team, dst, srcimage, src, nbytes, flags));
}
AQ_API_INLINE void gasnet_coll_scatter(gasnet_team_handle_t team, void *dst,
                                       gasnet_image_t srcimage, const void *src, size_t nbytes,
                                       int flags)
{
    gex_Event_Wait(gasnet_coll_scatter_nb(team, dst, srcimage, src, nbytes, flags));
}
AQ_API_INLINE void gasnet_coll_gather(gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst,
                                      const void *src, size_t nbytes, int flags)
{
    gex_Event_Wait(gasnet_coll_gather_nb(team, dstimage, dst, src, nbytes, flags));
}
AQ_API_INLINE void gasnet_coll_gather_all(gasnet_team_handle_t team, void *dst, const void *src,
                                          size_t nbytes, int flags)
{
    gex_Event_Wait(gasnet_coll_gather_all_nb(team, dst, src, nbytes, flags));
}
AQ_API_INLINE void gasnet_coll_exchange(gasnet_team_handle_t team, void *dst, const void *src,
                                        size_t nbytes, int flags)
{
    gex_Event_Wait(gasnet_coll_exchange_nb(team, dst, src, nbytes, flags));
}

// ---- synchronization: not collective, in any order ----

// A synchronized handle is no longer valid; in arrays it becomes GASNET_COLL_INVALID_HANDLE, which
// all calls ignore. try polls once and returns GASNET_OK or GASNET_ERR_NOT_READY; wait blocks. some
// needs one complete handle, or none left in the array; all needs all handles complete.
AQ_API_INLINE void gasnet_coll_wait_sync(gasnet_coll_handle_t handle)
{
    gex_Event_Wait(handle);
}
AQ_API_INLINE int gasnet_coll_try_sync(gasnet_coll_handle_t handle)
{
    gasnet_AMPoll();
    return gex_Event_Test(handle);
}
AQ_API_INLINE void gasnet_coll_wait_sync_all(gasnet_coll_handle_t *handles, size_t numhandles)
{
    gex_Event_WaitAll(handles, numhandles, 0);
}
AQ_API_INLINE int gasnet_coll_try_sync_all(gasnet_coll_handle_t *handles, size_t numhandles)
{
    gasnet_AMPoll();
    return gex_Event_TestAll(handles, numhandles, 0);
}
AQ_API_INLINE void gasnet_coll_wait_sync_some(gasnet_coll_handle_t *handles, size_t numhandles)
{
    gex_Event_WaitSome(handles, numhandles, 0);
}
AQ_API_INLINE int gasnet_coll_try_sync_some(gasnet_coll_handle_t *handles, size_t numhandles)
{
    gasnet_AMPoll();
    return gex_Event_TestSome(handles, numhandles, 0);
}

// ---- barriers ----

// Aliases of gasnet_barrier_notify and the other calls of that barrier. team must be
// GASNET_TEAM_ALL; another team ends the job with a message.
AQ_API void gasnet_coll_barrier_notify(gasnet_team_handle_t team, int id, int flags);
AQ_API int gasnet_coll_barrier_wait(gasnet_team_handle_t team, int id, int flags);
AQ_API int gasnet_coll_barrier_try(gasnet_team_handle_t team, int id, int flags);
AQ_API int gasnet_coll_barrier(gasnet_team_handle_t team, int id, int flags);
AQ_API int gasnet_coll_barrier_result(gasnet_team_handle_t team, int *id);

// ---- tuning: there is nothing to tune, so these calls do nothing ----

AQ_API_INLINE void gasnet_coll_dumpTuningState(const char *filename, gasnet_team_handle_t team)
{
    (void)filename, (void)team;
}
AQ_API_INLINE void gasnet_coll_loadTuningState(const char *filename, gasnet_team_handle_t team)
{
    (void)filename, (void)team;
}
AQ_API_INLINE void gasnet_coll_dumpProfile(const char *filename, gasnet_team_handle_t team)
{
    (void)filename, (void)team;
}

#ifdef __cplusplus
}
#endif

#endif
