// Collectives of GASNet-1, as far as GASNet-EX still has them; gasnet_coll.h includes this header.
//
// Documents: docs/collective_notes.txt of GASNet-1; GASNet-EX 2025.8 has these names. There is one
// image in each process, and its number is the rank. Like the calls of gasnet_coll.h these are
// collective over the team: all ranks make the same calls, in the same order, with the same root,
// nbytes and flags. They may not be made in a handler. nbytes is the size of one block; buffers may
// lie anywhere and have any alignment, and belong to the library until the handle is synchronized.
// Wrong arguments, and different ones at different ranks, end the job with a message in a debug
// build (configure --enable-debug).
#ifndef GASNET_COLL1_H
#define GASNET_COLL1_H

#include "gasnetex.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef uint32_t gasnet_image_t;

// A team. GASNET_TEAM_ALL is the primordial one, NULL before gasnet_init or gex_Client_Init.
typedef gex_TM_t gasnet_team_handle_t;
#define GASNET_TEAM_ALL aq_api_gasnet1_team

// An operation that was started; the same as an event, so that any thread may wait for it.
typedef gex_Event_t gasnet_coll_handle_t;
#define GASNET_COLL_INVALID_HANDLE GEX_EVENT_INVALID

// Flags. Each call has one of IN, one of OUT, and LOCAL.
// When bytes may be read and written: at once (treated as MYSYNC); at each rank, when it has made
// the call; when all ranks have made it.
#define GASNET_COLL_IN_NOSYNC 0x1
#define GASNET_COLL_IN_MYSYNC 0x2
#define GASNET_COLL_IN_ALLSYNC 0x4
// When the handle is ready: at any time, but at the last rank only after all bytes are there
// (treated as MYSYNC); when this rank's bytes are there, and its input may be reused; when that
// holds for all ranks.
#define GASNET_COLL_OUT_NOSYNC 0x8
#define GASNET_COLL_OUT_MYSYNC 0x10
#define GASNET_COLL_OUT_ALLSYNC 0x20
// Each rank gives its own addresses; those that it does not need are ignored.
#define GASNET_COLL_LOCAL 0x80
// Promises: dst, or src, lies in the segment of its rank. Nothing is faster for them.
#define GASNET_COLL_DST_IN_SEGMENT 0x400
#define GASNET_COLL_SRC_IN_SEGMENT 0x800
// About several images in a process; without effect.
#define GASNET_COLL_FIXED_THREADS_PER_NODE 0x200
#define GASNET_COLL_NO_IMAGES 0x80000

// ---- data movement: _nb starts it and returns a handle, perhaps GASNET_COLL_INVALID_HANDLE:
// complete; without it the call blocks until the operation is synchronized ----

// nbytes at src of rank srcimage go to dst of all ranks.
AQ_API gasnet_coll_handle_t gasnet_coll_broadcast_nb(gasnet_team_handle_t team, void *dst,
                                                     gasnet_image_t srcimage, const void *src,
                                                     size_t nbytes, int flags);
// Block r at src of rank srcimage goes to dst of rank r.
AQ_API gasnet_coll_handle_t gasnet_coll_scatter_nb(gasnet_team_handle_t team, void *dst,
                                                   gasnet_image_t srcimage, const void *src,
                                                   size_t nbytes, int flags);
// nbytes at src of rank r become block r at dst of rank dstimage.
AQ_API gasnet_coll_handle_t gasnet_coll_gather_nb(gasnet_team_handle_t team,
                                                  gasnet_image_t dstimage, void *dst,
                                                  const void *src, size_t nbytes, int flags);
// nbytes at src of rank r become block r at dst of all ranks.
AQ_API gasnet_coll_handle_t gasnet_coll_gather_all_nb(gasnet_team_handle_t team, void *dst,
                                                      const void *src, size_t nbytes, int flags);
// Block r at src of rank s becomes block s at dst of rank r. src and dst do not overlap; of the
// others, the block that a rank keeps may lie where it goes to.
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

// Success ends the life of a handle; in arrays it becomes GASNET_COLL_INVALID_HANDLE, which all
// calls skip. try: polls once, then returns GASNET_OK or GASNET_ERR_NOT_READY. some: at least one,
// or there is none.
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

// gasnet_barrier_notify and its kin, by other names. team has to be GASNET_TEAM_ALL; another one
// ends the job with a message.
AQ_API void gasnet_coll_barrier_notify(gasnet_team_handle_t team, int id, int flags);
AQ_API int gasnet_coll_barrier_wait(gasnet_team_handle_t team, int id, int flags);
AQ_API int gasnet_coll_barrier_try(gasnet_team_handle_t team, int id, int flags);
AQ_API int gasnet_coll_barrier(gasnet_team_handle_t team, int id, int flags);
AQ_API int gasnet_coll_barrier_result(gasnet_team_handle_t team, int *id);

// ---- tuning: there is nothing to tune, so that these write and read no file ----

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
