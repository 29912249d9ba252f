// GASNet-EX core API: objects, active messages, events, locks, progress, exit.
//
// Include <gasnetex.h>, not this file. Section names in comments are those of the GASNet-EX
// specification. Unless a comment says otherwise: calls do not block, may be made from any thread
// in GASNET_PAR and GASNET_PARSYNC mode, may not be made in a handler or with a handler-safe lock
// held, and in a debug build (configure --enable-debug) wrong arguments end the job with a message.
#ifndef GASNETEX_CORE_H
#define GASNETEX_CORE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "gasnet_config.h"
#include "gasnet_fwd.h"

#if (defined(GASNET_SEQ) + defined(GASNET_PAR) + defined(GASNET_PARSYNC)) > 1
#error                                                                                             \
    "define one of GASNET_SEQ, GASNET_PAR and GASNET_PARSYNC before including gasnetex.h, not several"
#endif
// A client without the options of a makefile fragment names no thread mode. It gets the code of
// GASNET_PAR, which is right in each of them, and the mode of the library that it is linked with.
#if !defined(GASNET_SEQ) && !defined(GASNET_PAR) && !defined(GASNET_PARSYNC)
#define GASNET_PAR 1
#define AQ_API_MODE ""
#endif
#if !defined(GASNET_SEGMENT_FAST) && !defined(GASNET_SEGMENT_LARGE) &&                             \
    !defined(GASNET_SEGMENT_EVERYTHING)
#define GASNET_SEGMENT_FAST 1
#endif

#include "gasnetex_build.h"

#ifdef __cplusplus
#define AQ_API_INLINE static inline
extern "C" {
#else
#define AQ_API_INLINE static inline
#endif
#define AQ_API extern __attribute__((visibility("default")))

// ---- constants ----

#define GASNET_PAGESIZE 4096
#define GASNET_MAXNODES 0x7fffffffu
#define GASNET_MAXEPS 32
#define GASNET_ALIGNED_SEGMENTS 0
#define GASNET_HIDDEN_AM_CONCURRENCY_LEVEL 0
#define SIZEOF_GEX_RMA_VALUE_T 8

#define GASNET_OK 0
#define GASNET_ERR_NOT_INIT 10001
#define GASNET_ERR_RESOURCE 10002
#define GASNET_ERR_BAD_ARG 10003
#define GASNET_ERR_NOT_READY 10004
#define GASNET_ERR_BARRIER_MISMATCH 10005

// Name and one-line meaning of an error code; static text.
AQ_API const char *gasnet_ErrorName(int errval);
AQ_API const char *gasnet_ErrorDesc(int errval);

// ---- objects: opaque handles ("Basic types") ----

typedef struct gex_client *gex_Client_t;
typedef struct gex_ep *gex_EP_t;
typedef struct gex_segment *gex_Segment_t;

// The head that a team handle points to, which clients only read. The pointer is not to const,
// since clients in C++ cast it to void * with reinterpret_cast. Pinned: changes only with
// AQ_API_ABI. Put and get to a mapped peer use it in line. peer_shift[r] is what must be added to
// an address of rank r to reach the same byte from here; an odd value says that the memory of r is
// not mapped here. (0 is a legal shift: one's own.)
struct gex_tm {
    gex_Rank_t rank;
    gex_Rank_t size;
    const intptr_t *peer_shift;
};
typedef struct gex_tm *gex_TM_t;

#define GEX_CLIENT_INVALID ((gex_Client_t)0)
#define GEX_EP_INVALID ((gex_EP_t)0)
#define GEX_SEGMENT_INVALID ((gex_Segment_t)0)
#define GEX_TM_INVALID ((gex_TM_t)0)

typedef uint64_t gex_RMA_Value_t;
typedef struct {
    void *gex_addr;
    size_t gex_len;
} gex_Memvec_t;
typedef struct { // of GASNet-1, the same layout
    void *addr;
    size_t len;
} gasnet_memvec_t;
typedef struct {
    gex_Rank_t gex_rank;
    gex_EP_Index_t gex_ep_index;
} gex_EP_Location_t;
typedef const struct {
    gex_Rank_t gex_jobrank;
} gex_RankInfo_t;

// ---- start ("Operations on gex_Client_t") ----

// What a client was compiled with; checked at init.
typedef struct aq_api_build {
    uint32_t abi;
    uint32_t tm_head_bytes;
    const char *mode;
    const char *segment;
    const char *link;     // what it is linked with: "<conduit> <mode>"
    const char *identity; // for tools that read the executable
} aq_api_build_t;

// Defined by the library that the client names: -lgasnet-<conduit>-<mode>.
extern const char aq_api_link[];

AQ_API_INLINE aq_api_build_t aq_api_this_build(void)
{
    const aq_api_build_t build = {AQ_API_ABI,  (uint32_t)sizeof(struct gex_tm),
                                  AQ_API_MODE, AQ_API_SEGMENT,
                                  aq_api_link, AQ_API_IDENTITY};
    return build;
}

AQ_API int aq_api_client_init(gex_Client_t *client_p, gex_EP_t *ep_p, gex_TM_t *tm_p,
                              const char *name, int *argc, char ***argv, gex_Flags_t flags,
                              const aq_api_build_t *build);

// Joins the job. Collective; blocks until all ranks have joined; at most once in a process, by one
// thread and ahead of every other call. name may be any text, and is copied (the specification asks
// for [A-Z][A-Z0-9_]+, but clients have other names, and GASNet-EX takes them); NULL is the empty
// name. argc and argv may be NULL at all ranks. Each of the outputs may be NULL. Returns GASNET_OK,
// GASNET_ERR_BAD_ARG, GASNET_ERR_RESOURCE (a message was printed) or GASNET_ERR_NOT_INIT when
// called twice. Before it, and after one that failed, calls that need a job end the process with a
// message, in every build. With GASNET_PSHM_NODES=N and no launcher this call forks; so does a
// program that is linked for conduit udp and started without a launcher, as `program N arguments`:
// then the number of ranks is taken out of argc and argv, and has to be there.
AQ_API_INLINE int gex_Client_Init(gex_Client_t *client_p, gex_EP_t *ep_p, gex_TM_t *tm_p,
                                  const char *name, int *argc, char ***argv, gex_Flags_t flags)
{
    const aq_api_build_t build = aq_api_this_build();
    return aq_api_client_init(client_p, ep_p, tm_p, name, argc, argv, flags, &build);
}

// Queries and the one client-owned word of each object. Allowed in handlers.
AQ_API gex_Flags_t gex_Client_QueryFlags(gex_Client_t client);
AQ_API const char *gex_Client_QueryName(gex_Client_t client);
AQ_API void gex_Client_SetCData(gex_Client_t client, const void *val);
AQ_API void *gex_Client_QueryCData(gex_Client_t client);
AQ_API gex_Client_t gex_EP_QueryClient(gex_EP_t ep);
AQ_API gex_Flags_t gex_EP_QueryFlags(gex_EP_t ep);
AQ_API gex_Segment_t gex_EP_QuerySegment(gex_EP_t ep);
AQ_API gex_EP_Index_t gex_EP_QueryIndex(gex_EP_t ep);
AQ_API void gex_EP_SetCData(gex_EP_t ep, const void *val);
AQ_API void *gex_EP_QueryCData(gex_EP_t ep);
AQ_API gex_Client_t gex_TM_QueryClient(gex_TM_t tm);
AQ_API gex_EP_t gex_TM_QueryEP(gex_TM_t tm);
AQ_API gex_Flags_t gex_TM_QueryFlags(gex_TM_t tm);
AQ_API void gex_TM_SetCData(gex_TM_t tm, const void *val);
AQ_API void *gex_TM_QueryCData(gex_TM_t tm);
AQ_API_INLINE gex_Rank_t gex_TM_QueryRank(gex_TM_t tm)
{
    return tm->rank;
}
AQ_API_INLINE gex_Rank_t gex_TM_QuerySize(gex_TM_t tm)
{
    return tm->size;
}
AQ_API gex_Rank_t gex_TM_TranslateRankToJobrank(gex_TM_t tm, gex_Rank_t rank);
AQ_API gex_Rank_t gex_TM_TranslateJobrankToRank(gex_TM_t tm,
                                                gex_Rank_t jobrank); // GEX_RANK_INVALID: no member
AQ_API gex_EP_Location_t gex_TM_TranslateRankToEP(gex_TM_t tm, gex_Rank_t rank, gex_Flags_t flags);

// A handle for point-to-point calls between an endpoint of this process and endpoint number
// remote_ep_index of the processes named by job rank. Nothing to free. Allowed in handlers.
AQ_API gex_TM_t gex_TM_Pair(gex_EP_t local_ep, gex_EP_Index_t remote_ep_index);

// Teams of members of another one ("Split a Team", "Create zero or more new disjoint Teams",
// "Destroy a team"). Collective over parent_tm, or over tm; block. Several threads may make these
// calls at the same time, each with another parent_tm or tm: of two collective calls over one team
// one has to return first. While a team is destroyed, no other call may use it. Members of a new
// team are the callers of gex_TM_Split with the same color (0 or more) and a new_tm_p that is not
// NULL, in the order of key and then of the parent; or those that args names, in its order, which
// have to be primordial endpoints. The library needs no scratch space: what is given is handed back
// by Destroy. With GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED or _MIN nothing is created, and the size to
// give is returned (the least that an address and size can describe: one page). Memory for a team
// is the library's until Destroy.
AQ_API size_t gex_TM_Split(gex_TM_t *new_tm_p, gex_TM_t parent_tm, int color, int key,
                           void *scratch_addr, size_t scratch_size, gex_Flags_t flags);
AQ_API size_t gex_TM_Create(gex_TM_t *new_tms, size_t num_new_tms, gex_TM_t parent_tm,
                            gex_EP_Location_t *args, size_t numargs, gex_Addr_t *scratch_addrs,
                            size_t scratch_size, gex_Flags_t flags);
// Returns 1 and fills in *scratch_p (may be NULL) when the client gave scratch space, else 0.
AQ_API int gex_TM_Destroy(gex_TM_t tm, gex_Memvec_t *scratch_p, gex_Flags_t flags);

// ---- further endpoints (API: "Memory Kinds", chapter 3) ----

// Makes an endpoint of this process, with an index from 1 upwards in the order of the calls. Beyond
// the primordial one, endpoints have the capabilities RMA and VIS: memory bound to them is reached
// with gex_TM_Pair. Returns GASNET_OK; GASNET_ERR_BAD_ARG for no or another capability;
// GASNET_ERR_RESOURCE when GASNET_MAXEPS are there. Endpoints live as long as the process. Local.
AQ_API int gex_EP_Create(gex_EP_t *ep_p, gex_Client_t client, gex_EP_Capabilities_t capabilities,
                         gex_Flags_t flags);
// Makes a segment the bound one of an endpoint that has none; not of the primordial one, whose
// segment is that of gex_Segment_Attach. GASNET_OK or GASNET_ERR_BAD_ARG. Local.
AQ_API int gex_EP_BindSegment(gex_EP_t ep, gex_Segment_t segment, gex_Flags_t flags);
// Tells the members of tm where the segments of these endpoints are. Collective over tm; blocks.
// Other threads may publish other endpoints over other teams at the same time.
// eps may hold endpoints without a segment, which are left out. GASNET_OK or GASNET_ERR_RESOURCE.
AQ_API int gex_EP_PublishBoundSegment(gex_TM_t tm, gex_EP_t *eps, size_t num_eps,
                                      gex_Flags_t flags);

// ---- job, hosts, neighbourhoods ("Neighborhood and Host"); allowed in handlers ----

AQ_API gex_Rank_t gex_System_QueryJobRank(void);
AQ_API gex_Rank_t gex_System_QueryJobSize(void);
// Arrays are owned by the library and sorted by job rank. Each output may be NULL.
AQ_API void gex_System_QueryNbrhdInfo(gex_RankInfo_t **info_p, gex_Rank_t *info_count_p,
                                      gex_Rank_t *my_info_index_p);
AQ_API void gex_System_QueryHostInfo(gex_RankInfo_t **info_p, gex_Rank_t *info_count_p,
                                     gex_Rank_t *my_info_index_p);
AQ_API void gex_System_QueryMyPosition(gex_Rank_t *nbrhd_set_size_p, gex_Rank_t *nbrhd_set_rank_p,
                                       gex_Rank_t *host_set_size_p, gex_Rank_t *host_set_rank_p);
AQ_API int gex_System_GetVerboseErrors(void);
AQ_API void gex_System_SetVerboseErrors(int enable);
// How many threads of this process may be in the library at once; GASNETT_MAX_THREADS is what it
// can be at most, for the sizes of clients' tables. GASNETI_MAX_THREADS is in no specification, but
// clients limit their threads by it: how many there may be when GASNET_MAX_THREADS is not set.
AQ_API uint64_t gex_System_QueryMaxThreads(void);
#ifdef GASNET_SEQ
#define GASNETT_MAX_THREADS 1
#define GASNETI_MAX_THREADS 1
#else
#define GASNETT_MAX_THREADS 65535
#define GASNETI_MAX_THREADS 1024
#endif
AQ_API int gex_System_QueryHiddenAMConcurrencyLevel(void);

// Progress threads whose start the client put off with GEX_FLAG_DEFER_THREADS ("Query deferred
// progress threads"). This library starts none, so that *count_p becomes 0. Returns GASNET_OK,
// GASNET_ERR_RESOURCE without that flag, GASNET_ERR_BAD_ARG for a NULL output or flags other than
// 0.
typedef struct {
    const char *gex_device_list;
    unsigned int gex_thread_roles;
    void *(*gex_progress_fn)(void *);
    void *gex_progress_arg;
} gex_ProgressThreadInfo_t;
#define GEX_THREAD_ROLE_RCV 1u
#define GEX_THREAD_ROLE_SND 2u
AQ_API int gex_System_QueryProgressThreads(gex_Client_t client, unsigned int *count_p,
                                           const gex_ProgressThreadInfo_t **info_p,
                                           gex_Flags_t flags);

// ---- segments ("Operations on gex_Segment_t") ----

// The size of a segment that this rank has memory for by GASNET_MAX_SEGSIZE, in bytes, a multiple
// of GASNET_PAGESIZE: gasnet_attach accepts no larger one; Global: the smallest of these over all
// ranks.
AQ_API uintptr_t gasnet_getMaxLocalSegmentSize(void);
AQ_API uintptr_t gasnet_getMaxGlobalSegmentSize(void);

// Where a segment is, for tables of them (GASNet-1, gasnet_getSegmentInfo).
typedef struct {
    void *addr;
    uintptr_t size; // in bytes
} gasnet_seginfo_t;
// Fills in the entries of the ranks below numentries; further ones stay as they are. Returns
// GASNET_OK, GASNET_ERR_BAD_ARG for a negative number, GASNET_ERR_NOT_INIT before gasnet_init or
// gasnet_attach. A call of GASNet-1 that clients of GASNet-EX make without gasnet.h.
AQ_API int gasnet_getSegmentInfo(gasnet_seginfo_t *seginfo_table, int numentries);

// Allocates this rank's segment of size bytes (a multiple of GASNET_PAGESIZE, not 0; may differ
// between ranks), binds it to tm's endpoint and maps those of the neighbourhood. Collective over
// the primordial team, at most once; blocks, while other threads may use other teams. Contents are
// zero. A size above gasnet_getMaxLocalSegmentSize() is taken, as in GASNet-EX, though the
// specification forbids it; one rank warns. Returns GASNET_OK, GASNET_ERR_BAD_ARG or
// GASNET_ERR_RESOURCE (a message was printed).
// In a client compiled for GASNET_SEGMENT_EVERYTHING all memory of a process is its segment: there
// size is ignored, *segment_p becomes GEX_SEGMENT_INVALID, and the call is a barrier.
AQ_API int gex_Segment_Attach(gex_Segment_t *segment_p, gex_TM_t tm, uintptr_t size);

// In no specification, but clients use it: NULL, or a function of the client that
// gex_Segment_Attach and gasnet_attach call once, in the thread that attaches, when the segment of
// this process is mapped (size bytes at addr) and no network has pinned it yet. There the client
// touches the pages, with several threads, so that each page lies where it is used. The client sets
// it before it attaches. The function may not communicate. It cannot report an error: a client that
// fails in it calls gasnet_exit or gasnett_fatalerror. It is not called with
// GASNET_SEGMENT_EVERYTHING, nor for gex_Segment_Create.
AQ_API void (*gasnet_client_attach_hook)(void *addr, uintptr_t size);

// A kind of memory; see gasnet_mk.h.
typedef struct gex_mk *gex_MK_t;
#define GEX_MK_INVALID ((gex_MK_t)0)
#define GEX_MK_HOST ((gex_MK_t)(uintptr_t)1)

// A segment for gex_EP_BindSegment ("Memory Kinds", section 4.2): length bytes at address, which
// stay the caller's and stay mapped until Destroy; or, with address NULL, allocated here, rounded
// up to pages, zeroed. length is not 0. kind is GEX_MK_HOST. Local.
// Returns GASNET_OK, GASNET_ERR_BAD_ARG or GASNET_ERR_RESOURCE (a message was printed).
AQ_API int gex_Segment_Create(gex_Segment_t *segment_p, gex_Client_t client, gex_Addr_t address,
                              uintptr_t length, gex_MK_t kind, gex_Flags_t flags);
// Gives back what gex_Segment_Create made; endpoints that it was bound to have none after it. The
// segment of gex_Segment_Attach cannot be destroyed. Local.
AQ_API void gex_Segment_Destroy(gex_Segment_t segment, gex_Flags_t flags);
AQ_API gex_Client_t gex_Segment_QueryClient(gex_Segment_t seg);
AQ_API gex_Flags_t gex_Segment_QueryFlags(gex_Segment_t seg);
AQ_API void *gex_Segment_QueryAddr(gex_Segment_t seg);
AQ_API uintptr_t gex_Segment_QuerySize(gex_Segment_t seg);
AQ_API void gex_Segment_SetCData(gex_Segment_t seg, const void *val);
AQ_API void *gex_Segment_QueryCData(gex_Segment_t seg);

// The segment bound to an endpoint, remote or not, as far as it was attached or published. Outputs
// may be NULL. localaddr: where it is mapped in this process, or NULL. None: size 0 (NB), or
// non-zero return and untouched outputs (QueryBound).
AQ_API gex_Event_t gex_EP_QueryBoundSegmentNB(gex_TM_t tm, gex_Rank_t rank, void **owneraddr_p,
                                              void **localaddr_p, uintptr_t *size_p,
                                              gex_Flags_t flags);
AQ_API int gex_Segment_QueryBound(gex_TM_t tm, gex_Rank_t rank, void **owneraddr_p,
                                  void **localaddr_p, uintptr_t *size_p);

// ---- handlers ("AM handlers") ----

typedef struct aq_token *gex_Token_t;
typedef uint8_t gex_AM_Index_t;
typedef int32_t gex_AM_Arg_t;

// Undocumented, but clients send pointers and 64 bits as two arguments by these. The first two are
// macros because they take pointers and integers.
#define GASNETI_HIWORD(value) ((uint32_t)((uint64_t)(uintptr_t)(value) >> 32))
#define GASNETI_LOWORD(value) ((uint32_t)(uintptr_t)(value))
AQ_API_INLINE uint64_t GASNETI_MAKEWORD(uint32_t high, uint32_t low)
{
    return (uint64_t)high << 32 | low;
}
typedef void (*gex_AM_Fn_t)();
#define GEX_AM_INDEX_BASE 64

typedef struct {
    gex_AM_Index_t gex_index; // 0 (chosen from 255 downwards) or GEX_AM_INDEX_BASE to 255
    gex_AM_Fn_t gex_fnptr;
    gex_Flags_t gex_flags; // one category and one of REQUEST, REPLY, REQREP
    unsigned int gex_nargs;
    const void *gex_cdata;
    const char *gex_name;
} gex_AM_Entry_t;

// Registers handlers; not collective: the client makes sure that no rank sends too early. Several
// threads may register at the same time; which of them gets which free index is then open. Fills
// in indices that were 0. The table may be freed afterwards. GASNET_OK, or GASNET_ERR_BAD_ARG
// with a message.
AQ_API int gex_EP_RegisterHandlers(gex_EP_t ep, gex_AM_Entry_t *table, size_t numentries);

// ---- active messages: limits ("Active Message (AM) limit queries"); allowed in handlers ----

AQ_API unsigned int gex_AM_MaxArgs(void);
AQ_API size_t gex_AM_MaxRequestLong(gex_TM_t tm, gex_Rank_t other_rank, const gex_Event_t *lc_opt,
                                    gex_Flags_t flags, unsigned int numargs);
AQ_API size_t gex_AM_MaxReplyLong(gex_TM_t tm, gex_Rank_t other_rank, const gex_Event_t *lc_opt,
                                  gex_Flags_t flags, unsigned int numargs);
AQ_API size_t gex_AM_MaxRequestMedium(gex_TM_t tm, gex_Rank_t other_rank, const gex_Event_t *lc_opt,
                                      gex_Flags_t flags, unsigned int numargs);
AQ_API size_t gex_AM_MaxReplyMedium(gex_TM_t tm, gex_Rank_t other_rank, const gex_Event_t *lc_opt,
                                    gex_Flags_t flags, unsigned int numargs);
AQ_API size_t gex_Token_MaxReplyLong(gex_Token_t token, const gex_Event_t *lc_opt,
                                     gex_Flags_t flags, unsigned int numargs);
AQ_API size_t gex_Token_MaxReplyMedium(gex_Token_t token, const gex_Event_t *lc_opt,
                                       gex_Flags_t flags, unsigned int numargs);
AQ_API size_t gex_AM_LUBRequestLong(void);
AQ_API size_t gex_AM_LUBReplyLong(void);
AQ_API size_t gex_AM_LUBRequestMedium(void);
AQ_API size_t gex_AM_LUBReplyMedium(void);

// ---- tokens ("AM Token Info") ----

typedef struct {
    gex_Rank_t gex_srcrank;
    gex_EP_t gex_ep;
    const gex_AM_Entry_t *gex_entry;
    int gex_is_req;
    int gex_is_long;
} gex_Token_Info_t;

typedef unsigned int gex_TI_t;
#define GEX_TI_SRCRANK ((gex_TI_t)1)
#define GEX_TI_ENTRY ((gex_TI_t)2)
#define GEX_TI_IS_REQ ((gex_TI_t)4)
#define GEX_TI_IS_LONG ((gex_TI_t)8)
#define GEX_TI_EP ((gex_TI_t)16)
#define GEX_TI_ALL ((gex_TI_t)31)
#define GASNET_SUPPORTS_TI_SRCRANK 1
#define GASNET_SUPPORTS_TI_EP 1
#define GASNET_SUPPORTS_TI_ENTRY 1
#define GASNET_SUPPORTS_TI_IS_REQ 1
#define GASNET_SUPPORTS_TI_IS_LONG 1

// Fills in all fields; only in the handler that got the token. Returns GEX_TI_ALL.
AQ_API gex_TI_t gex_Token_Info(gex_Token_t token, gex_Token_Info_t *info, gex_TI_t mask);

// ---- active messages: negotiated payload ("Negotiated-payload AM APIs") ----

typedef struct aq_srcdesc *gex_AM_SrcDesc_t;
#define GEX_AM_SRCDESC_NO_OP ((gex_AM_SrcDesc_t)0)
#define GASNET_SUPPORTS_AM_CANCEL 20240418L
#define GASNET_SUPPORTS_AM_COMMIT_V2 20240906L

AQ_API void *gex_AM_SrcDescAddr(gex_AM_SrcDesc_t sd);
AQ_API size_t gex_AM_SrcDescSize(gex_AM_SrcDesc_t sd);

// First half of a message whose payload is assembled in place. One at a time for each thread;
// between Prepare and Commit or Cancel the restrictions of a handler apply. client_buf NULL: the
// library provides the buffer, aligned to 16 bytes. May block and run handlers (requests) unless
// flags has GEX_FLAG_IMMEDIATE.
AQ_API gex_AM_SrcDesc_t gex_AM_PrepareRequestMedium(gex_TM_t tm, gex_Rank_t rank,
                                                    const void *client_buf, size_t least_payload,
                                                    size_t most_payload, gex_Event_t *lc_opt,
                                                    gex_Flags_t flags, unsigned int numargs);
AQ_API gex_AM_SrcDesc_t gex_AM_PrepareReplyMedium(gex_Token_t token, const void *client_buf,
                                                  size_t least_payload, size_t most_payload,
                                                  gex_Event_t *lc_opt, gex_Flags_t flags,
                                                  unsigned int numargs);
AQ_API gex_AM_SrcDesc_t gex_AM_PrepareRequestLong(gex_TM_t tm, gex_Rank_t rank,
                                                  const void *client_buf, size_t least_payload,
                                                  size_t most_payload, void *dest_addr,
                                                  gex_Event_t *lc_opt, gex_Flags_t flags,
                                                  unsigned int numargs);
AQ_API gex_AM_SrcDesc_t gex_AM_PrepareReplyLong(gex_Token_t token, const void *client_buf,
                                                size_t least_payload, size_t most_payload,
                                                void *dest_addr, gex_Event_t *lc_opt,
                                                gex_Flags_t flags, unsigned int numargs);
AQ_API int gex_AM_CancelRequestMedium(gex_AM_SrcDesc_t sd, gex_Flags_t flags);
AQ_API int gex_AM_CancelReplyMedium(gex_AM_SrcDesc_t sd, gex_Flags_t flags);
AQ_API int gex_AM_CancelRequestLong(gex_AM_SrcDesc_t sd, gex_Flags_t flags);
AQ_API int gex_AM_CancelReplyLong(gex_AM_SrcDesc_t sd, gex_Flags_t flags);

// ---- events ("Event test/wait operations") ----

// Test does not poll and returns 0 when complete; Wait polls, runs handlers and may sleep. Events
// may be synchronized by any thread. Completed entries of an array become GEX_EVENT_INVALID.
AQ_API int gex_Event_Test(gex_Event_t event);
AQ_API void aq_api_event_wait(gex_Event_t event);
AQ_API_INLINE void gex_Event_Wait(gex_Event_t event)
{
#ifndef GASNET_DEBUG
    if (event == GEX_EVENT_INVALID) // what was done in line is waited for without a call
        return;
#endif
    aq_api_event_wait(event);
}
AQ_API int gex_Event_TestSome(gex_Event_t *pevent, size_t numevents, gex_Flags_t flags);
AQ_API void gex_Event_WaitSome(gex_Event_t *pevent, size_t numevents, gex_Flags_t flags);
AQ_API int gex_Event_TestAll(gex_Event_t *pevent, size_t numevents, gex_Flags_t flags);
AQ_API void gex_Event_WaitAll(gex_Event_t *pevent, size_t numevents, gex_Flags_t flags);
AQ_API gex_Event_t gex_Event_QueryLeaf(gex_Event_t root, gex_EC_t event_category);
AQ_API int gex_NBI_Test(gex_EC_t event_mask, gex_Flags_t flags);
AQ_API void gex_NBI_Wait(gex_EC_t event_mask, gex_Flags_t flags);
AQ_API void gex_NBI_BeginAccessRegion(gex_Flags_t flags);
AQ_API gex_Event_t gex_NBI_EndAccessRegion(gex_Flags_t flags);

// Reports local completion to a caller that gave a variable for it.
AQ_API_INLINE void aq_api_lc_done(gex_Event_t *lc_opt)
{
    if ((uintptr_t)lc_opt > (uintptr_t)GEX_EVENT_GROUP)
        *lc_opt = GEX_EVENT_INVALID;
}

// ---- handler-safe locks ("Handler-safe locks"); allowed in handlers ----

typedef struct {
    pthread_mutex_t aq_mutex;
    int aq_held; // checked in debug builds
} gex_HSL_t;
#define GEX_HSL_INITIALIZER                                                                        \
    {                                                                                              \
        PTHREAD_MUTEX_INITIALIZER, 0                                                               \
    }
AQ_API void gex_HSL_Init(gex_HSL_t *hsl);
AQ_API void gex_HSL_Destroy(gex_HSL_t *hsl);
AQ_API void gex_HSL_Lock(gex_HSL_t *hsl); // may block for another thread; does not poll
AQ_API void gex_HSL_Unlock(gex_HSL_t *hsl);
AQ_API int gex_HSL_Trylock(gex_HSL_t *hsl); // GASNET_OK, or GASNET_ERR_NOT_READY when it is held

// ---- progress ----

// Thread identification of GASNet-1. The library finds its state of a thread by a thread-local
// variable: there is nothing to pass on.
typedef void *gasnet_threadinfo_t;
#define GASNET_GET_THREADINFO() ((gasnet_threadinfo_t)0)
#define GASNET_POST_THREADINFO(info) ((void)(info))
#define GASNET_BEGIN_FUNCTION() GASNET_POST_THREADINFO(GASNET_GET_THREADINFO())

// Runs handlers of messages that have arrived, a bounded number; does not block, but yields now and
// then where nothing comes and there are fewer processors than ranks. Returns GASNET_OK.
AQ_API int gasnet_AMPoll(void);

// How waiting behaves: spin burns the processor, block gives it away at once, spinblock
// spins first.
#define GASNET_WAIT_SPIN 0
#define GASNET_WAIT_BLOCK 1
#define GASNET_WAIT_SPINBLOCK 2
AQ_API int gasnet_set_waitmode(int wait_mode); // GASNET_OK or GASNET_ERR_BAD_ARG

// State of one wait; zero at its start.
typedef struct aq_api_wait {
    uint64_t since;
    uint32_t turns;
    uint32_t armed;
    uint32_t naps;
} aq_api_wait_t;
AQ_API void aq_api_wait_turn(aq_api_wait_t *wait);
AQ_API void aq_api_wait_end(aq_api_wait_t *wait);

// Polls and, when nothing happens for a while, sleeps, until cond holds. cond may change by
// handlers, by other threads or by remote puts.
#define GASNET_BLOCKUNTIL(cond)                                                                    \
    do {                                                                                           \
        aq_api_wait_t aq_api_wait_state = {0, 0, 0, 0};                                            \
        while (!(cond))                                                                            \
            aq_api_wait_turn(&aq_api_wait_state);                                                  \
        aq_api_wait_end(&aq_api_wait_state);                                                       \
    } while (0)

// ---- the rest ----

// Ends the whole job with this code (low 8 bits count; the first code of the job wins).
// Allowed anywhere.
AQ_API void gasnet_exit(int exitcode) __attribute__((noreturn));
// An environment variable of the job, or NULL. The text stays valid.
AQ_API char *gasnet_getenv(const char *name);

// Extension: memory that the runtime holds, in bytes: a row of the peer table for a rank that was
// never spoken to, the message rings of this process, and the number of peers bound so far. Outputs
// may be NULL.
#define GASNETX_MEMORY 1
AQ_API void gasnetx_memory(size_t *peer_table_bytes_per_rank, size_t *ring_bytes,
                           size_t *bound_peers);

// Extension: what peers cost this process over a network of connections (ibv), beside the row of
// the peer table: bytes for each rank, spoken to or not; bytes more for each peer with a
// connection, without what is shared by all (and without a ring for its messages); connections; and
// receive buffers, for all peers together. Zeros where there are no connections. Outputs may be
// NULL.
#define GASNETX_PEER_COSTS 1
AQ_API void gasnetx_peer_costs(size_t *unspoken_bytes, size_t *connected_bytes, size_t *connections,
                               size_t *receive_buffers);

// Extension: what this process has sent over its network so far: messages, puts, gets and replies
// to them (frames), and the packets that they travelled in, each counted once. Zeros where nothing
// travels in packets. Outputs may be NULL.
#define GASNETX_TRAFFIC 1
AQ_API void gasnetx_traffic(uint64_t *frames, uint64_t *packets);

#ifdef __cplusplus
}
#endif

#endif
