// SPDX-License-Identifier: BSD-3-Clause
// GASNet-1, the older API, as a thin layer over GASNet-EX: each call works on the primordial team.
//
// Specification: GASNet-1 1.8.1; GASNet-EX, "Hybrid/transitional client support". A program starts
// with gasnet_init and gasnet_attach, or with gex_Client_Init and GEX_FLAG_USES_GASNET1; calls of
// both APIs may be mixed. Unless a comment says otherwise, a call is not allowed in a handler. In
// every build a node that does not exist and a length that is too large end the job with a message;
// in a debug build all illegal arguments do, and so do puts, gets, memsets and requests before the
// program has started as above. Puts, gets and waits may block, and then run
// handlers. Addresses need no alignment; sizes are in bytes.
#ifndef GASNET_H
#define GASNET_H
#define _INCLUDED_GASNET_H 1 // tells clients that this header is included

#include "gasnetex.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- types and constants ----

#define GASNET_VERSION GASNET_SPEC_VERSION_MAJOR // for old programs

typedef gex_Rank_t gasnet_node_t;
typedef gex_Token_t gasnet_token_t;
typedef gex_AM_Index_t gasnet_handler_t;
typedef gex_AM_Arg_t gasnet_handlerarg_t;
typedef gex_RMA_Value_t gasnet_register_value_t;
#define SIZEOF_GASNET_REGISTER_VALUE_T SIZEOF_GEX_RMA_VALUE_T

// A started operation. This is an event, so any thread may wait for it.
typedef gex_Event_t gasnet_handle_t;
#define GASNET_INVALID_HANDLE GEX_EVENT_INVALID

typedef struct {
    gasnet_handler_t index; // 128 to 255, or 0: chosen by gasnet_attach, which writes it here
    void (*fnptr)();
} gasnet_handlerentry_t;

typedef struct {
    gasnet_node_t host;      // hosts are numbered in the order of their first nodes
    gasnet_node_t supernode; // neighbourhoods are numbered in the same way
    // Bytes to add to an address in the segment of that node to reach it from this process; 0 for
    // nodes of other neighbourhoods.
    intptr_t offset;
} gasnet_nodeinfo_t;

// ---- job ("Job Control Interface") ----

AQ_API int aq_api_gasnet1_init(int *argc, char ***argv, const aq_api_build_t *build);

// Joins the job as gex_Client_Init does. Collective; blocks. argc and argv may be NULL at all
// nodes. Returns GASNET_OK, GASNET_ERR_RESOURCE, or GASNET_ERR_NOT_INIT if the process has joined
// before. Before gasnet_attach the program may only call gasnet_mynode, gasnet_nodes,
// gasnet_getMaxLocalSegmentSize, gasnet_getMaxGlobalSegmentSize, gasnet_getenv,
// gasnet_QueryGexObjects and gasnet_exit.
AQ_API_INLINE_START int gasnet_init(int *argc, char ***argv)
{
    const aq_api_build_t build = aq_api_this_build();
    return aq_api_gasnet1_init(argc, argv, &build);
}

// Registers the handlers in table (NULL if there are none) and allocates this node's segment of
// segsize bytes, a multiple of GASNET_PAGESIZE up to gasnet_getMaxLocalSegmentSize(). A segsize of
// 0 means one page, (uintptr_t)-1 the largest segment. minheapoffset is ignored. Handlers with
// index 0 get the highest indices that are free, in the order of the table, and the call writes
// these indices into the table. The caller may free the table afterwards. Collective, once, after
// gasnet_init; blocks. Returns GASNET_OK; GASNET_ERR_NOT_INIT (not after gasnet_init, or called
// twice) or GASNET_ERR_BAD_ARG, both with a message and without any effect; or GASNET_ERR_RESOURCE.
// In a program that is compiled with GASNET_ALIGNED_SEGMENTS=1 the segments of all nodes begin at
// the same address; if that is not possible, the call returns GASNET_ERR_RESOURCE with a message.
#if GASNET_ALIGNED_SEGMENTS
AQ_API int gasnet_attach(gasnet_handlerentry_t *table, int numentries, uintptr_t segsize,
                         uintptr_t minheapoffset) __asm__("aq_api_attach_aligned");
#else
AQ_API int gasnet_attach(gasnet_handlerentry_t *table, int numentries, uintptr_t segsize,
                         uintptr_t minheapoffset);
#endif

// Returns the GASNet-EX objects that the calls of this header use. Each output may be NULL. The
// segment is GEX_SEGMENT_INVALID before gasnet_attach. Allowed in handlers.
AQ_API void gasnet_QueryGexObjects(gex_Client_t *client_p, gex_EP_t *endpoint_p, gex_TM_t *tm_p,
                                   gex_Segment_t *segment_p);

// Allowed in handlers.
AQ_API_INLINE gasnet_node_t gasnet_mynode(void)
{
    return gex_System_QueryJobRank();
}
AQ_API_INLINE gasnet_node_t gasnet_nodes(void)
{
    return gex_System_QueryJobSize();
}
// Not in the specification: names of variables that clients read.
#define gasneti_mynode gasnet_mynode()
#define gasneti_nodes gasnet_nodes()

// Fills in one entry for each node below numentries; entries beyond the size of the job stay
// unchanged. Returns GASNET_OK, GASNET_ERR_BAD_ARG if numentries is negative, GASNET_ERR_NOT_INIT
// before gasnet_init, or GASNET_ERR_RESOURCE if memory is exhausted. gasnetex_core.h declares
// gasnet_getSegmentInfo.
AQ_API int gasnet_getNodeInfo(gasnet_nodeinfo_t *nodeinfo_table, int numentries);

// ---- threads and atomicity ----

// These do nothing: handlers run only while a thread polls, so there are no interrupts.
AQ_API_INLINE void gasnet_hold_interrupts(void) {}
AQ_API_INLINE void gasnet_resume_interrupts(void) {}

// Handler-safe locks; see gex_HSL_Lock. Allowed in handlers.
typedef gex_HSL_t gasnet_hsl_t;
#define GASNET_HSL_INITIALIZER GEX_HSL_INITIALIZER
AQ_API_INLINE void gasnet_hsl_init(gasnet_hsl_t *hsl)
{
    gex_HSL_Init(hsl);
}
AQ_API_INLINE void gasnet_hsl_destroy(gasnet_hsl_t *hsl)
{
    gex_HSL_Destroy(hsl);
}
AQ_API_INLINE void gasnet_hsl_lock(gasnet_hsl_t *hsl)
{
    gex_HSL_Lock(hsl);
}
AQ_API_INLINE void gasnet_hsl_unlock(gasnet_hsl_t *hsl)
{
    gex_HSL_Unlock(hsl);
}
AQ_API_INLINE int gasnet_hsl_trylock(gasnet_hsl_t *hsl)
{
    return gex_HSL_Trylock(hsl);
}

// ---- the team that the calls below use ----

AQ_API gex_TM_t aq_api_gasnet1_check(const char *call, gasnet_node_t node);

// In a debug build the library checks that the call is allowed and that node exists.
static inline gex_TM_t aq_api_gasnet1(const char *call, gasnet_node_t node)
{
#ifdef GASNET_DEBUG
    return aq_api_gasnet1_check(call, node);
#else
    (void)call, (void)node;
    return aq_api_gasnet1_team;
#endif
}

// ---- put and get ("Memory-to-memory Data Transfer Functions") ----

AQ_API_INLINE void gasnet_get(void *dest, gasnet_node_t node, void *src, size_t nbytes)
{
    gex_RMA_GetBlocking(aq_api_gasnet1("gasnet_get", node), dest, node, src, nbytes, 0);
}
AQ_API_INLINE void gasnet_get_bulk(void *dest, gasnet_node_t node, void *src, size_t nbytes)
{
    gex_RMA_GetBlocking(aq_api_gasnet1("gasnet_get_bulk", node), dest, node, src, nbytes, 0);
}
AQ_API_INLINE void gasnet_put(gasnet_node_t node, void *dest, const void *src, size_t nbytes)
{
    gex_RMA_PutBlocking(aq_api_gasnet1("gasnet_put", node), node, dest, src, nbytes, 0);
}
AQ_API_INLINE void gasnet_put_bulk(gasnet_node_t node, void *dest, const void *src, size_t nbytes)
{
    gex_RMA_PutBlocking(aq_api_gasnet1("gasnet_put_bulk", node), node, dest, src, nbytes, 0);
}

// nb: returns a handle to synchronize; GASNET_INVALID_HANDLE means that the operation is complete.
// nbi: the syncnbi calls of this thread, or its access region, synchronize the operation. The
// caller may overwrite the source of a put when the call returns, with _bulk when the put is
// synchronized.
AQ_API_INLINE gasnet_handle_t gasnet_get_nb(void *dest, gasnet_node_t node, void *src,
                                            size_t nbytes)
{
    return gex_RMA_GetNB(aq_api_gasnet1("gasnet_get_nb", node), dest, node, src, nbytes, 0);
}
AQ_API_INLINE gasnet_handle_t gasnet_get_nb_bulk(void *dest, gasnet_node_t node, void *src,
                                                 size_t nbytes)
{
    return gex_RMA_GetNB(aq_api_gasnet1("gasnet_get_nb_bulk", node), dest, node, src, nbytes, 0);
}
AQ_API_INLINE gasnet_handle_t gasnet_put_nb(gasnet_node_t node, void *dest, const void *src,
                                            size_t nbytes)
{
    return gex_RMA_PutNB(aq_api_gasnet1("gasnet_put_nb", node), node, dest, src, nbytes,
                         GEX_EVENT_NOW, 0);
}
AQ_API_INLINE gasnet_handle_t gasnet_put_nb_bulk(gasnet_node_t node, void *dest, const void *src,
                                                 size_t nbytes)
{
    return gex_RMA_PutNB(aq_api_gasnet1("gasnet_put_nb_bulk", node), node, dest, src, nbytes,
                         GEX_EVENT_DEFER, 0);
}
AQ_API_INLINE void gasnet_get_nbi(void *dest, gasnet_node_t node, void *src, size_t nbytes)
{
    gex_RMA_GetNBI(aq_api_gasnet1("gasnet_get_nbi", node), dest, node, src, nbytes, 0);
}
AQ_API_INLINE void gasnet_get_nbi_bulk(void *dest, gasnet_node_t node, void *src, size_t nbytes)
{
    gex_RMA_GetNBI(aq_api_gasnet1("gasnet_get_nbi_bulk", node), dest, node, src, nbytes, 0);
}
AQ_API_INLINE void gasnet_put_nbi(gasnet_node_t node, void *dest, const void *src, size_t nbytes)
{
    gex_RMA_PutNBI(aq_api_gasnet1("gasnet_put_nbi", node), node, dest, src, nbytes, GEX_EVENT_NOW,
                   0);
}
AQ_API_INLINE void gasnet_put_nbi_bulk(gasnet_node_t node, void *dest, const void *src,
                                       size_t nbytes)
{
    gex_RMA_PutNBI(aq_api_gasnet1("gasnet_put_nbi_bulk", node), node, dest, src, nbytes,
                   GEX_EVENT_DEFER, 0);
}

// ---- memset: as if the node called memset(dest, val, nbytes); synchronized like a put ----

AQ_API gasnet_handle_t aq_api_memset_nb(gex_TM_t tm, gasnet_node_t node, void *dest, int val,
                                        size_t nbytes);
AQ_API void aq_api_memset_nbi(gex_TM_t tm, gasnet_node_t node, void *dest, int val, size_t nbytes);

// Does the memset if the memory of node is mapped in this process; returns whether it did.
static inline int aq_api_memset_mapped(gex_TM_t tm, gasnet_node_t node, void *dest, int val,
                                       size_t nbytes)
{
    intptr_t shift;
    if (!aq_api_mapped(tm, node, &shift) || __builtin_expect((ptrdiff_t)nbytes < 0, 0))
        return 0;
    memset(aq_api_shifted(dest, shift), val, nbytes);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    return 1;
}

AQ_API_INLINE gasnet_handle_t gasnet_memset_nb(gasnet_node_t node, void *dest, int val,
                                               size_t nbytes)
{
    gex_TM_t tm = aq_api_gasnet1("gasnet_memset_nb", node);
    return aq_api_memset_mapped(tm, node, dest, val, nbytes)
               ? GASNET_INVALID_HANDLE
               : aq_api_memset_nb(tm, node, dest, val, nbytes);
}
AQ_API_INLINE void gasnet_memset_nbi(gasnet_node_t node, void *dest, int val, size_t nbytes)
{
    gex_TM_t tm = aq_api_gasnet1("gasnet_memset_nbi", node);
    if (!aq_api_memset_mapped(tm, node, dest, val, nbytes))
        aq_api_memset_nbi(tm, node, dest, val, nbytes);
}
AQ_API_INLINE void gasnet_memset(gasnet_node_t node, void *dest, int val, size_t nbytes)
{
    gex_TM_t tm = aq_api_gasnet1("gasnet_memset", node);
    if (!aq_api_memset_mapped(tm, node, dest, val, nbytes))
        gex_Event_Wait(aq_api_memset_nb(tm, node, dest, val, nbytes));
}

// ---- values ("Register-memory operations"): the nbytes (1 to 8) low-order bytes ----

AQ_API_INLINE void gasnet_put_val(gasnet_node_t node, void *dest, gasnet_register_value_t value,
                                  size_t nbytes)
{
    gex_RMA_PutBlockingVal(aq_api_gasnet1("gasnet_put_val", node), node, dest, value, nbytes, 0);
}
AQ_API_INLINE gasnet_handle_t gasnet_put_nb_val(gasnet_node_t node, void *dest,
                                                gasnet_register_value_t value, size_t nbytes)
{
    return gex_RMA_PutNBVal(aq_api_gasnet1("gasnet_put_nb_val", node), node, dest, value, nbytes,
                            0);
}
AQ_API_INLINE void gasnet_put_nbi_val(gasnet_node_t node, void *dest, gasnet_register_value_t value,
                                      size_t nbytes)
{
    gex_RMA_PutNBIVal(aq_api_gasnet1("gasnet_put_nbi_val", node), node, dest, value, nbytes, 0);
}
AQ_API_INLINE gasnet_register_value_t gasnet_get_val(gasnet_node_t node, void *src, size_t nbytes)
{
    return gex_RMA_GetBlockingVal(aq_api_gasnet1("gasnet_get_val", node), node, src, nbytes, 0);
}

// A get of a value; opaque. The caller passes each handle to gasnet_wait_syncnb_valget once.
typedef struct {
    struct aq_api_valget *pending; // NULL: the get is complete and value is set
    gasnet_register_value_t value;
} gasnet_valget_handle_t;

AQ_API struct aq_api_valget *aq_api_valget_start(gex_TM_t tm, gasnet_node_t node, void *src,
                                                 size_t nbytes);
AQ_API gasnet_register_value_t aq_api_valget_wait(struct aq_api_valget *pending);

AQ_API_INLINE gasnet_valget_handle_t gasnet_get_nb_val(gasnet_node_t node, void *src, size_t nbytes)
{
    gex_TM_t tm = aq_api_gasnet1("gasnet_get_nb_val", node);
    gasnet_valget_handle_t handle = {NULL, 0};
    intptr_t shift;
    if (aq_api_mapped(tm, node, &shift))
        handle.value = gex_RMA_GetBlockingVal(tm, node, src, nbytes, 0);
    else
        handle.pending = aq_api_valget_start(tm, node, src, nbytes);
    return handle;
}
AQ_API_INLINE gasnet_register_value_t gasnet_wait_syncnb_valget(gasnet_valget_handle_t handle)
{
    return handle.pending ? aq_api_valget_wait(handle.pending) : handle.value;
}

// ---- synchronization ----

// A synchronized handle is no longer valid; in arrays it becomes GASNET_INVALID_HANDLE, which all
// calls ignore. try polls once and returns GASNET_OK or GASNET_ERR_NOT_READY; wait blocks. some
// needs one complete handle, or none left in the array; all needs all handles complete.
AQ_API_INLINE void gasnet_wait_syncnb(gasnet_handle_t handle)
{
    gex_Event_Wait(handle);
}
AQ_API_INLINE int gasnet_try_syncnb(gasnet_handle_t handle)
{
    gasnet_AMPoll();
    return gex_Event_Test(handle);
}
AQ_API_INLINE void gasnet_wait_syncnb_all(gasnet_handle_t *handles, size_t numhandles)
{
    gex_Event_WaitAll(handles, numhandles, 0);
}
AQ_API_INLINE int gasnet_try_syncnb_all(gasnet_handle_t *handles, size_t numhandles)
{
    gasnet_AMPoll();
    return gex_Event_TestAll(handles, numhandles, 0);
}
AQ_API_INLINE void gasnet_wait_syncnb_some(gasnet_handle_t *handles, size_t numhandles)
{
    gex_Event_WaitSome(handles, numhandles, 0);
}
AQ_API_INLINE int gasnet_try_syncnb_some(gasnet_handle_t *handles, size_t numhandles)
{
    gasnet_AMPoll();
    return gex_Event_TestSome(handles, numhandles, 0);
}

// Synchronize this thread's implicit (nbi) operations outside of access regions: gets; puts and
// memsets; or all.
AQ_API_INLINE void gasnet_wait_syncnbi_gets(void)
{
    gex_NBI_Wait(GEX_EC_GET, 0);
}
AQ_API_INLINE void gasnet_wait_syncnbi_puts(void)
{
    gex_NBI_Wait(GEX_EC_PUT, 0);
}
AQ_API_INLINE void gasnet_wait_syncnbi_all(void)
{
    gex_NBI_Wait(GEX_EC_GET | GEX_EC_PUT, 0);
}
AQ_API_INLINE int gasnet_try_syncnbi_gets(void)
{
    gasnet_AMPoll();
    return gex_NBI_Test(GEX_EC_GET, 0);
}
AQ_API_INLINE int gasnet_try_syncnbi_puts(void)
{
    gasnet_AMPoll();
    return gex_NBI_Test(GEX_EC_PUT, 0);
}
AQ_API_INLINE int gasnet_try_syncnbi_all(void)
{
    gasnet_AMPoll();
    return gex_NBI_Test(GEX_EC_GET | GEX_EC_PUT, 0);
}

// The handle that gasnet_end_nbi_accessregion returns stands for all implicit operations since the
// begin call of this thread.
AQ_API_INLINE void gasnet_begin_nbi_accessregion(void)
{
    gex_NBI_BeginAccessRegion(0);
}
AQ_API_INLINE gasnet_handle_t gasnet_end_nbi_accessregion(void)
{
    return gex_NBI_EndAccessRegion(0);
}

// ---- active messages ("Active Messaging Interface") ----

// Limits: arguments, and bytes of payload. Allowed in handlers.
AQ_API_INLINE size_t gasnet_AMMaxArgs(void)
{
    return gex_AM_MaxArgs();
}
AQ_API_INLINE size_t gasnet_AMMaxMedium(void)
{
    size_t request = gex_AM_LUBRequestMedium(), reply = gex_AM_LUBReplyMedium();
    return request < reply ? request : reply;
}
AQ_API_INLINE size_t gasnet_AMMaxLongRequest(void)
{
    return gex_AM_LUBRequestLong();
}
AQ_API_INLINE size_t gasnet_AMMaxLongReply(void)
{
    return gex_AM_LUBReplyLong();
}

// Sets *srcindex to the node that sent the message. Allowed only in the handler that received the
// token. Returns GASNET_OK.
AQ_API_INLINE int gasnet_AMGetMsgSource(gasnet_token_t token, gasnet_node_t *srcindex)
{
    gex_Token_Info_t info;
    gex_Token_Info(token, &info, GEX_TI_SRCRANK);
    *srcindex = info.gex_srcrank;
    return GASNET_OK;
}

// All calls with N arguments; P, ARRAY and ARGS are as in gasnetex_am.h. They return GASNET_OK. The
// caller may overwrite the payload when the call returns, also with LongAsync. Requests may block,
// and then run handlers. A reply is allowed once, in the handler of a request; it may block, and
// then runs handlers of replies only.
#define AQ_API_GASNET1_AM_CALLS(N, P, ARRAY, ARGS)                                                 \
    AQ_API_INLINE int gasnet_AMRequestShort##N(gasnet_node_t dest, gasnet_handler_t h P)           \
    {                                                                                              \
        ARRAY return aq_api_request_short(aq_api_gasnet1("gasnet_AMRequestShort", dest), dest, h,  \
                                          0, N, ARGS);                                             \
    }                                                                                              \
    AQ_API_INLINE int gasnet_AMRequestMedium##N(gasnet_node_t dest, gasnet_handler_t h,            \
                                                const void *src, size_t nbytes P)                  \
    {                                                                                              \
        ARRAY return aq_api_request_medium(aq_api_gasnet1("gasnet_AMRequestMedium", dest), dest,   \
                                           h, src, nbytes, GEX_EVENT_NOW, 0, N, ARGS);             \
    }                                                                                              \
    AQ_API_INLINE int gasnet_AMRequestLong##N(gasnet_node_t dest, gasnet_handler_t h,              \
                                              const void *src, size_t nbytes, void *dest_addr P)   \
    {                                                                                              \
        ARRAY return aq_api_request_long(aq_api_gasnet1("gasnet_AMRequestLong", dest), dest, h,    \
                                         src, nbytes, dest_addr, GEX_EVENT_NOW, 0, N, ARGS);       \
    }                                                                                              \
    AQ_API_INLINE int gasnet_AMRequestLongAsync##N(                                                \
        gasnet_node_t dest, gasnet_handler_t h, const void *src, size_t nbytes, void *dest_addr P) \
    {                                                                                              \
        ARRAY return aq_api_request_long(aq_api_gasnet1("gasnet_AMRequestLongAsync", dest), dest,  \
                                         h, src, nbytes, dest_addr, GEX_EVENT_NOW, 0, N, ARGS);    \
    }                                                                                              \
    AQ_API_INLINE int gasnet_AMReplyShort##N(gasnet_token_t token, gasnet_handler_t h P)           \
    {                                                                                              \
        ARRAY return aq_api_reply_short(token, h, 0, N, ARGS);                                     \
    }                                                                                              \
    AQ_API_INLINE int gasnet_AMReplyMedium##N(gasnet_token_t token, gasnet_handler_t h,            \
                                              const void *src, size_t nbytes P)                    \
    {                                                                                              \
        ARRAY return aq_api_reply_medium(token, h, src, nbytes, GEX_EVENT_NOW, 0, N, ARGS);        \
    }                                                                                              \
    AQ_API_INLINE int gasnet_AMReplyLong##N(gasnet_token_t token, gasnet_handler_t h,              \
                                            const void *src, size_t nbytes, void *dest_addr P)     \
    {                                                                                              \
        ARRAY return aq_api_reply_long(token, h, src, nbytes, dest_addr, GEX_EVENT_NOW, 0, N,      \
                                       ARGS);                                                      \
    }

AQ_API_AM_EACH(AQ_API_GASNET1_AM_CALLS)

// The names without a number.
#define gasnet_AMRequestShort(...)                                                                 \
    AQ_API_PASTE2(gasnet_AMRequestShort, AQ_API_COUNT2(__VA_ARGS__))(__VA_ARGS__)
#define gasnet_AMRequestMedium(...)                                                                \
    AQ_API_PASTE2(gasnet_AMRequestMedium, AQ_API_COUNT4(__VA_ARGS__))(__VA_ARGS__)
#define gasnet_AMRequestLong(...)                                                                  \
    AQ_API_PASTE2(gasnet_AMRequestLong, AQ_API_COUNT5(__VA_ARGS__))(__VA_ARGS__)
#define gasnet_AMRequestLongAsync(...)                                                             \
    AQ_API_PASTE2(gasnet_AMRequestLongAsync, AQ_API_COUNT5(__VA_ARGS__))(__VA_ARGS__)
#define gasnet_AMReplyShort(...)                                                                   \
    AQ_API_PASTE2(gasnet_AMReplyShort, AQ_API_COUNT2(__VA_ARGS__))(__VA_ARGS__)
#define gasnet_AMReplyMedium(...)                                                                  \
    AQ_API_PASTE2(gasnet_AMReplyMedium, AQ_API_COUNT4(__VA_ARGS__))(__VA_ARGS__)
#define gasnet_AMReplyLong(...)                                                                    \
    AQ_API_PASTE2(gasnet_AMReplyLong, AQ_API_COUNT5(__VA_ARGS__))(__VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
