// GASNet-1, the older API, as a thin layer over GASNet-EX: each call works on the primordial team.
//
// Specification: GASNet-1 1.8.1; GASNet-EX, "Hybrid/transitional client support". A program starts
// with gasnet_init and gasnet_attach, or with gex_Client_Init and GEX_FLAG_USES_GASNET1; calls of
// both APIs may be mixed. What gasnetex.h says of calls holds here too: unless a comment says
// otherwise they may not be made in a handler; wrong arguments end the job in a debug build, and so
// do puts, gets, memsets and requests without that start. Puts, gets and waits may block and then
// run handlers. Addresses need no alignment.
#ifndef GASNET_H
#define GASNET_H
#define _INCLUDED_GASNET_H 1 // by which clients see that this header is included

#include "gasnetex.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- types and constants ----

#define GASNET_VERSION GASNET_SPEC_VERSION_MAJOR // of old programs

typedef gex_Rank_t gasnet_node_t;
typedef gex_Token_t gasnet_token_t;
typedef gex_AM_Index_t gasnet_handler_t;
typedef gex_AM_Arg_t gasnet_handlerarg_t;
typedef gex_RMA_Value_t gasnet_register_value_t;
#define SIZEOF_GASNET_REGISTER_VALUE_T SIZEOF_GEX_RMA_VALUE_T

// An operation that was started; the same as an event, so that any thread may wait for it.
typedef gex_Event_t gasnet_handle_t;
#define GASNET_INVALID_HANDLE GEX_EVENT_INVALID

typedef struct {
    gasnet_handler_t index; // 128 to 255, or 0: chosen by gasnet_attach, which writes it here
    void (*fnptr)();
} gasnet_handlerentry_t;

typedef struct {
    gasnet_node_t host;      // number of the host, counted by first appearance
    gasnet_node_t supernode; // number of the neighbourhood, counted in the same way
    intptr_t offset;         // from an address in the segment of that node to where it is mapped
                             // here; 0 in other neighbourhoods
} gasnet_nodeinfo_t;

// ---- job ("Job Control Interface") ----

AQ_API int aq_api_gasnet1_init(int *argc, char ***argv, const aq_api_build_t *build);

// Joins the job; what gex_Client_Init says holds here. Collective; blocks. argc and argv may be
// NULL at all nodes. Returns GASNET_OK, GASNET_ERR_RESOURCE, or GASNET_ERR_NOT_INIT when the
// process has joined before. Until gasnet_attach, only gasnet_mynode, gasnet_nodes,
// gasnet_getMaxLocalSegmentSize, gasnet_getMaxGlobalSegmentSize, gasnet_getenv,
// gasnet_QueryGexObjects and gasnet_exit may follow.
AQ_API_INLINE int gasnet_init(int *argc, char ***argv)
{
    const aq_api_build_t build = aq_api_this_build();
    return aq_api_gasnet1_init(argc, argv, &build);
}

// Registers the handlers of table (NULL when there are none) and gives this node a segment of
// segsize bytes, a multiple of GASNET_PAGESIZE up to gasnet_getMaxLocalSegmentSize(). 0 counts as
// one page, (uintptr_t)-1 as the most there may be. minheapoffset is ignored. Fixed indices come
// first; the others get the highest that are free, in the order of the table, which is the caller's
// again afterwards. Collective, once, after gasnet_init; blocks. Returns GASNET_OK; with a message
// and nothing done GASNET_ERR_NOT_INIT (not after gasnet_init, or a second time) or
// GASNET_ERR_BAD_ARG; GASNET_ERR_RESOURCE.
AQ_API int gasnet_attach(gasnet_handlerentry_t *table, int numentries, uintptr_t segsize,
                         uintptr_t minheapoffset);

// The objects behind the calls of this header; each output may be NULL. The segment is
// GEX_SEGMENT_INVALID before one is attached. Allowed in handlers.
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
// In no specification: variables of GASNet that clients read.
#define gasneti_mynode gasnet_mynode()
#define gasneti_nodes gasnet_nodes()

// Fills in the entries of the nodes below numentries; further ones stay as they are. Returns
// GASNET_OK, GASNET_ERR_BAD_ARG for a negative number, GASNET_ERR_NOT_INIT before gasnet_init,
// GASNET_ERR_RESOURCE when memory is out. gasnet_getSegmentInfo is in gasnetex_core.h.
AQ_API int gasnet_getNodeInfo(gasnet_nodeinfo_t *nodeinfo_table, int numentries);

// ---- threads and atomicity ----

// Handlers run in polls only, so that there is nothing to hold.
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

// With a debug build the library checks that the call may be made and that there is such a node.
AQ_API_INLINE gex_TM_t aq_api_gasnet1(const char *call, gasnet_node_t node)
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

// nb: returns a handle to wait for, perhaps GASNET_INVALID_HANDLE: complete. nbi: waited for by the
// syncnbi calls of this thread, or by its access region. The source of a put may be overwritten
// when the call returns; with _bulk only when the put is synchronized.
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

// True when it could be done here.
AQ_API_INLINE int aq_api_memset_mapped(gex_TM_t tm, gasnet_node_t node, void *dest, int val,
                                       size_t nbytes)
{
    intptr_t shift;
    if (!aq_api_mapped(tm, node, &shift))
        return 0;
    memset((char *)dest + shift, val, nbytes);
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

// ---- values: the nbytes (1 to 8) low-order bytes of an integer ("Register-memory operations")
// ----

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

// A get of a value; opaque. Each one has to be given to gasnet_wait_syncnb_valget, once.
typedef struct {
    struct aq_api_valget *pending; // NULL: the value is here
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

// Success ends the life of a handle; in arrays it becomes GASNET_INVALID_HANDLE, which all calls
// skip. try: polls once, then returns GASNET_OK or GASNET_ERR_NOT_READY. some: at least one, or
// there is none.
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

// The implicit operations of this thread outside of access regions: its gets, its puts and memsets,
// or all.
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

// Implicit operations between these calls belong to the handle that the second one returns.
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

// The node that sent the message; only in the handler that got the token. Returns GASNET_OK.
AQ_API_INLINE int gasnet_AMGetMsgSource(gasnet_token_t token, gasnet_node_t *srcindex)
{
    gex_Token_Info_t info;
    gex_Token_Info(token, &info, GEX_TI_SRCRANK);
    *srcindex = info.gex_srcrank;
    return GASNET_OK;
}

// All calls with N arguments; P, ARRAY and ARGS are as in gasnetex_am.h. They return GASNET_OK. The
// payload may be overwritten when the call returns, with LongAsync too. Requests may block and run
// handlers; replies, which only a request's handler may send and once, run handlers of replies.
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
