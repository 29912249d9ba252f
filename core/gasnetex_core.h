// SPDX-License-Identifier: BSD-3-Clause
// GASNet-EX core API: objects, active messages, events, locks, progress, exit.
//
// Include <gasnetex.h>, not this file. Section names in comments are those of the GASNet-EX
// specification. Unless a comment says otherwise, a call does not block, is allowed in any thread
// in GASNET_PAR and GASNET_PARSYNC mode, and is not allowed in a handler or while a handler-safe
// lock is held. In every build a rank that is not in its team, and a length, count or product that
// is too large, end the job with a message, or are GASNET_ERR_BAD_ARG where a call returns that; in
// a debug build (configure --enable-debug) all illegal arguments do. Sizes are in bytes.
#ifndef GASNETEX_CORE_H
#define GASNETEX_CORE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "gasnet_config.h"
#include "gasnet_fwd.h"

#if (defined(GASNET_SEQ) + defined(GASNET_PAR) + defined(GASNET_PARSYNC)) > 1
#error "define only one of GASNET_SEQ, GASNET_PAR and GASNET_PARSYNC before including gasnetex.h"
#endif
// A client that is compiled without the options of a makefile fragment may define no thread mode.
// Such a client gets the code of GASNET_PAR, which is correct in every mode, and runs in the mode
// of the library that the client is linked with.
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
extern "C" {
#endif
// Declares a public variable.
#define AQ_API_VARIABLE extern __attribute__((visibility("default")))
// Declares a public function. Calls go straight through the table of addresses, without a stub of
// the PLT, which is a jump more; where the library is linked statically, the linker makes them
// direct calls. Addresses are looked up when the program starts.
#ifdef __has_attribute
#if __has_attribute(noplt)
#define AQ_API AQ_API_VARIABLE __attribute__((noplt))
#endif
#endif
#ifndef AQ_API
#define AQ_API AQ_API_VARIABLE
#endif

// ---- constants ----

#define GASNET_PAGESIZE 4096
// The API's limit. The launchers of this library start 1,048,576 ranks at most, 4,096 on a host.
#define GASNET_MAXNODES 0x7fffffffu
#define GASNET_MAXEPS 1024
// 1: gasnet_attach provides segments at the same address at all ranks, or fails. One library serves
// all programs, so the program chooses, with -DGASNET_ALIGNED_SEGMENTS=1.
#ifndef GASNET_ALIGNED_SEGMENTS
#define GASNET_ALIGNED_SEGMENTS 0
#endif
// 1: threads of GASNET_RCV_THREAD may run handlers beside the client.
#ifdef GASNET_SEQ
#define GASNET_HIDDEN_AM_CONCURRENCY_LEVEL 0
#else
#define GASNET_HIDDEN_AM_CONCURRENCY_LEVEL 1
#endif
#define SIZEOF_GEX_RMA_VALUE_T 8

#define GASNET_OK 0
#define GASNET_ERR_NOT_INIT 10001
#define GASNET_ERR_RESOURCE 10002
#define GASNET_ERR_BAD_ARG 10003
#define GASNET_ERR_NOT_READY 10004
#define GASNET_ERR_BARRIER_MISMATCH 10005

// The name and a one-line description of an error code: static text. Allowed in handlers.
AQ_API const char *gasnet_ErrorName(int errval);
AQ_API const char *gasnet_ErrorDesc(int errval);

// ---- objects: opaque handles ("Basic types") ----

typedef struct gex_client *gex_Client_t;
typedef struct gex_ep *gex_EP_t;
typedef struct gex_segment *gex_Segment_t;

// The public part of a team; clients only read it. gex_TM_t does not point to const because C++
// clients cast the handle to void * with reinterpret_cast. The layout changes only together with
// AQ_API_ABI. Inline puts and gets to mapped peers use peer_shift: an address of rank r plus
// peer_shift[r] is the address of the same byte in this process. An odd value means that the memory
// of r is not mapped in this process; 0 is the value of this process itself.
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
typedef struct { // the GASNet-1 type, with the layout of gex_Memvec_t
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

// What a client was compiled with; gex_Client_Init checks it.
typedef struct aq_api_build {
    uint32_t abi;
    uint32_t tm_head_bytes;
    const char *mode;
    const char *segment;
    const char *link;     // the library that the client is linked with: "<conduit> <mode>"
    const char *identity; // for tools that read the executable
} aq_api_build_t;

// Defined by the library that the client is linked with: -lgasnet-<conduit>-<mode>.
extern const char aq_api_link[];

static inline aq_api_build_t aq_api_this_build(void)
{
    const aq_api_build_t build = {AQ_API_ABI,  (uint32_t)sizeof(struct gex_tm),
                                  AQ_API_MODE, AQ_API_SEGMENT,
                                  aq_api_link, AQ_API_IDENTITY};
    return build;
}

AQ_API int aq_api_client_init(gex_Client_t *client_p, gex_EP_t *ep_p, gex_TM_t *tm_p,
                              const char *name, int *argc, char ***argv, gex_Flags_t flags,
                              const aq_api_build_t *build);

// Joins the job. Collective; blocks until all ranks have joined. One thread makes this call, at
// most once in a process and before every other call. The library copies name, which may be any
// text (the specification requires [A-Z][A-Z0-9_]+, but clients pass other names, and the reference
// implementation accepts them); NULL is the empty name. argc and argv may be NULL at all ranks.
// Each output may be NULL. Returns GASNET_OK, GASNET_ERR_BAD_ARG, GASNET_ERR_RESOURCE (with a
// message) or GASNET_ERR_NOT_INIT if it is called twice. Before this call, and after a failed one,
// calls that need a job end the process with a message in every build.
//
// With GASNET_PSHM_NODES=N and no launcher this call forks the N ranks. A program that is linked
// for conduit udp and started without a launcher, as `program N arguments`, also forks: the call
// removes the required N from argc and argv.
AQ_API_INLINE_START int gex_Client_Init(gex_Client_t *client_p, gex_EP_t *ep_p, gex_TM_t *tm_p,
                                        const char *name, int *argc, char ***argv,
                                        gex_Flags_t flags)
{
    const aq_api_build_t build = aq_api_this_build();
    return aq_api_client_init(client_p, ep_p, tm_p, name, argc, argv, flags, &build);
}

// Queries, and the one pointer (CData) that each object keeps for the client. Returned objects and
// text belong to the library; the text stays valid. gex_EP_QuerySegment returns GEX_SEGMENT_INVALID
// if no segment is bound. gex_TM_TranslateJobrankToRank returns GEX_RANK_INVALID if jobrank is no
// member of tm. Allowed in handlers.
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
AQ_API gex_Rank_t gex_TM_TranslateJobrankToRank(gex_TM_t tm, gex_Rank_t jobrank);
AQ_API gex_EP_Location_t gex_TM_TranslateRankToEP(gex_TM_t tm, gex_Rank_t rank, gex_Flags_t flags);

// Returns a handle for point-to-point calls between an endpoint of this process and endpoint
// remote_ep_index of the process that the rank argument of those calls names by its job rank. The
// handle need not be freed. Allowed in handlers.
AQ_API gex_TM_t gex_TM_Pair(gex_EP_t local_ep, gex_EP_Index_t remote_ep_index);

// Create and destroy teams ("Split a Team", "Create zero or more new disjoint Teams", "Destroy a
// team"). Collective over parent_tm, or over tm; block. Several threads may make these calls at the
// same time with different parent_tm or tm: two collective calls over one team must not overlap.
// While a team is being destroyed, no other call may use that team.
//
// gex_TM_Split: the members of a new team are the callers with the same color (0 or more) and a
// new_tm_p other than NULL, ordered by key and then by rank in the parent; each comes with its
// endpoint in the parent. gex_TM_Create: the members are the endpoints in args, in that order, at
// most one of each process. new_tms[0] becomes GEX_TM_INVALID at all members, each of which says
// why, if an endpoint does not exist, two are of one process, the lists differ, a listed process
// does not ask for a team, or members have different identities (gasnetx_EP_Create). A rank that is
// no member of the parent, a member that is listed twice, and a list without the caller end the
// job.
//
// Messages, puts, gets and atomics over a team use the endpoints of its members. Barriers and
// collectives travel between the receive sides of the primordial endpoints.
//
// The library needs no scratch space; gex_TM_Destroy returns the scratch space that the client
// gave. With GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED or _MIN nothing is created, and the call returns
// the size in bytes to give: one page, which is the smallest size that the arguments can describe.
// Otherwise the call returns 0. Scratch space belongs to the library until gex_TM_Destroy.
AQ_API size_t gex_TM_Split(gex_TM_t *new_tm_p, gex_TM_t parent_tm, int color, int key,
                           void *scratch_addr, size_t scratch_size, gex_Flags_t flags);
AQ_API size_t gex_TM_Create(gex_TM_t *new_tms, size_t num_new_tms, gex_TM_t parent_tm,
                            gex_EP_Location_t *args, size_t numargs, gex_Addr_t *scratch_addrs,
                            size_t scratch_size, gex_Flags_t flags);
// Returns 1 and sets *scratch_p (scratch_p may be NULL) if the client gave scratch space, otherwise
// 0.
AQ_API int gex_TM_Destroy(gex_TM_t tm, gex_Memvec_t *scratch_p, gex_Flags_t flags);

// ---- further endpoints (API: "Memory Kinds", chapter 3) ----

// Creates an endpoint of this process. Indices count from 1 in the order of the calls. Peers name
// the endpoint with gex_TM_Pair: its bound memory by RMA and VIS, and its handlers by active
// messages. Teams of endpoints have collectives and atomics, whatever the capabilities. Returns
// GASNET_OK; GASNET_ERR_BAD_ARG if capabilities is 0 or has other bits; GASNET_ERR_RESOURCE if
// GASNET_MAXEPS endpoints exist or memory is out (with AM an endpoint takes 17 KB). An endpoint
// lives until gasnetx_EP_Destroy, or as long as the process. Local.
//
// A message to an endpoint that its process has not created, or has created without AM, is dropped,
// and that process logs it. A Long to a further endpoint that does not fit into one message, and
// whose segment is not mapped here (gex_EP_PublishBoundSegment), travels in pieces: a request
// blocks until the target has acknowledged them, also with IMMEDIATE; a reply is copied.
AQ_API int gex_EP_Create(gex_EP_t *ep_p, gex_Client_t client, gex_EP_Capabilities_t capabilities,
                         gex_Flags_t flags);
// Binds a segment to an endpoint that has none. The primordial endpoint has none before
// gex_Segment_Attach, or without it, and cannot get one in the mode GASNET_SEGMENT_EVERYTHING.
// Returns GASNET_OK or GASNET_ERR_BAD_ARG. Local.
AQ_API int gex_EP_BindSegment(gex_EP_t ep, gex_Segment_t segment, gex_Flags_t flags);
// Makes the segments of these endpoints known to the members of tm. Collective over tm; blocks.
// Other threads may publish other endpoints over other teams at the same time. Endpoints without a
// segment are ignored. Returns GASNET_OK or GASNET_ERR_RESOURCE.
//
// A process of the same neighbourhood maps the segment of a further endpoint if gex_Segment_Create
// has allocated its memory: gex_EP_QueryBoundSegmentNB then gives its address there, and puts and
// gets with gex_TM_Pair are inline. Other segments are accessed by messages: memory of the client,
// that of an endpoint with an identity, and what is more than 8,192 segments in one process, or
// more than half of the files that the owner may open.
AQ_API int gex_EP_PublishBoundSegment(gex_TM_t tm, gex_EP_t *eps, size_t num_eps,
                                      gex_Flags_t flags);

// ---- job, hosts, neighbourhoods ("Neighborhood and Host"); allowed in handlers ----

AQ_API gex_Rank_t gex_System_QueryJobRank(void);
AQ_API gex_Rank_t gex_System_QueryJobSize(void);
// The arrays belong to the library and are sorted by job rank. Each output may be NULL.
AQ_API void gex_System_QueryNbrhdInfo(gex_RankInfo_t **info_p, gex_Rank_t *info_count_p,
                                      gex_Rank_t *my_info_index_p);
AQ_API void gex_System_QueryHostInfo(gex_RankInfo_t **info_p, gex_Rank_t *info_count_p,
                                     gex_Rank_t *my_info_index_p);
AQ_API void gex_System_QueryMyPosition(gex_Rank_t *nbrhd_set_size_p, gex_Rank_t *nbrhd_set_rank_p,
                                       gex_Rank_t *host_set_size_p, gex_Rank_t *host_set_rank_p);
AQ_API int gex_System_GetVerboseErrors(void);
AQ_API void gex_System_SetVerboseErrors(int enable);
// How many threads of this process may be in the library at once. GASNETT_MAX_THREADS is the
// largest value that this query can return, for the sizes of clients' tables. GASNETI_MAX_THREADS,
// which no specification has but clients use, is the value if GASNET_MAX_THREADS is not set.
AQ_API uint64_t gex_System_QueryMaxThreads(void);
#ifdef GASNET_SEQ
#define GASNETT_MAX_THREADS 1
#define GASNETI_MAX_THREADS 1
#else
#define GASNETT_MAX_THREADS 65535
#define GASNETI_MAX_THREADS 1024
#endif
// Whether this job has such threads, also if the client runs them and has not begun. Does not count
// those that the client asks for later (gasnetx_Progress_Level). Allowed in handlers.
AQ_API int gex_System_QueryHiddenAMConcurrencyLevel(void);

// Threads of the library that make progress while the client computes ("Conduit-internal progress
// threads"). 1 if a job of this conduit and thread mode may have a receive thread or a send thread,
// which GASNET_RCV_THREAD and GASNET_SND_THREAD ask for; else undefined.
#ifndef GASNET_SEQ
#define GASNET_RCV_THREAD 1
#ifdef GASNET_IBV_CONDUIT
#define GASNET_SND_THREAD 1
#endif
#endif

// Progress threads that the client runs itself, because it passed GEX_FLAG_DEFER_THREADS to
// gex_Client_Init ("Query deferred progress threads"): one for each conduit with something to do,
// none in mode seq or if neither variable is set. The client calls gex_progress_fn of each entry
// once, in a thread that can be joined and that belongs to the library from then on: the function
// blocks its signals, never returns, and ends the thread with the job. Until all run, the client's
// calls make progress, as without these threads, and the job may end. gex_device_list names the
// devices over ibv (mlx5_0,mlx5_1), else the conduit. The entries stay valid until the job ends.
// Returns GASNET_OK; GASNET_ERR_RESOURCE if the client did not pass that flag, or has called this
// before; GASNET_ERR_BAD_ARG if an output is NULL or flags is not 0. Does not block; not in a
// handler.
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

// The largest segment that this rank can attach (Local), and the smallest of these values over all
// ranks (Global), in bytes, a multiple of GASNET_PAGESIZE. GASNET_MAX_SEGSIZE and the memory of the
// host limit them; gasnet_attach accepts no larger segment.
AQ_API uintptr_t gasnet_getMaxLocalSegmentSize(void);
AQ_API uintptr_t gasnet_getMaxGlobalSegmentSize(void);

// Address and size of a segment: an entry of the table of gasnet_getSegmentInfo (GASNet-1).
typedef struct {
    void *addr;
    uintptr_t size; // in bytes
} gasnet_seginfo_t;
// Fills in one entry for each rank below numentries; entries beyond the size of the job stay
// unchanged. Returns GASNET_OK, GASNET_ERR_BAD_ARG if numentries is negative, or
// GASNET_ERR_NOT_INIT before gasnet_init or gasnet_attach. Clients of GASNet-EX use this GASNet-1
// call without gasnet.h.
AQ_API int gasnet_getSegmentInfo(gasnet_seginfo_t *seginfo_table, int numentries);

// Allocates this rank's segment of size bytes (a multiple of GASNET_PAGESIZE, not 0; may differ
// between ranks), filled with zeros, binds it to the endpoint of tm and maps the segments of the
// neighbourhood. Collective over the primordial team, at most once; blocks. Other threads may use
// other teams meanwhile. A size above gasnet_getMaxLocalSegmentSize() is accepted with one warning
// in the job, as in the reference implementation, though the specification forbids it. Returns
// GASNET_OK, GASNET_ERR_BAD_ARG or GASNET_ERR_RESOURCE (with a message).
// In a client compiled for GASNET_SEGMENT_EVERYTHING all memory of a process is its segment: the
// call ignores size, sets *segment_p to GEX_SEGMENT_INVALID and is a barrier.
AQ_API int gex_Segment_Attach(gex_Segment_t *segment_p, gex_TM_t tm, uintptr_t size);

// A function of the client, or NULL; the client sets it before it attaches. gex_Segment_Attach and
// gasnet_attach call this function once, in the calling thread, after the segment of this process
// (size bytes at addr) is mapped and before a network pins it. The client can touch the pages in
// several threads there, so that each page is placed near the thread that uses it. The function may
// not communicate and cannot return an error: on failure it calls gasnet_exit or
// gasnett_fatalerror. It is not called with GASNET_SEGMENT_EVERYTHING or for gex_Segment_Create.
// Not in the specification, but clients use it.
AQ_API_VARIABLE void (*gasnet_client_attach_hook)(void *addr, uintptr_t size);

// A kind of memory; see gasnet_mk.h.
typedef struct gex_mk *gex_MK_t;
#define GEX_MK_INVALID ((gex_MK_t)0)
#define GEX_MK_HOST ((gex_MK_t)(uintptr_t)1)

// Creates a segment for gex_EP_BindSegment ("Memory Kinds", section 4.2): length bytes at address.
// That memory belongs to the caller, who keeps it mapped until gex_Segment_Destroy. If address is
// NULL, the call allocates length bytes, rounded up to pages and filled with zeros. length is not
// 0, and the bytes are inside the address space. kind is GEX_MK_HOST. Local. Returns GASNET_OK,
// GASNET_ERR_BAD_ARG or GASNET_ERR_RESOURCE (with a message).
AQ_API int gex_Segment_Create(gex_Segment_t *segment_p, gex_Client_t client, gex_Addr_t address,
                              uintptr_t length, gex_MK_t kind, gex_Flags_t flags);
// Destroys a segment of gex_Segment_Create; endpoints that the segment was bound to have none
// afterwards. The segment of gex_Segment_Attach cannot be destroyed. Local.
AQ_API void gex_Segment_Destroy(gex_Segment_t segment, gex_Flags_t flags);
// Queries, allowed in handlers. The size is in bytes.
AQ_API gex_Client_t gex_Segment_QueryClient(gex_Segment_t seg);
AQ_API gex_Flags_t gex_Segment_QueryFlags(gex_Segment_t seg);
AQ_API void *gex_Segment_QueryAddr(gex_Segment_t seg);
AQ_API uintptr_t gex_Segment_QuerySize(gex_Segment_t seg);
AQ_API void gex_Segment_SetCData(gex_Segment_t seg, const void *val);
AQ_API void *gex_Segment_QueryCData(gex_Segment_t seg);

// Find the segment bound to an endpoint of any rank, if it was attached or published. Each output
// may be NULL. *localaddr_p is the address at which this process has mapped the segment, or NULL;
// *size_p is in bytes. If there is no such segment, gex_EP_QueryBoundSegmentNB sets *size_p to 0;
// gex_Segment_QueryBound returns non-zero and leaves the outputs unchanged.
AQ_API gex_Event_t gex_EP_QueryBoundSegmentNB(gex_TM_t tm, gex_Rank_t rank, void **owneraddr_p,
                                              void **localaddr_p, uintptr_t *size_p,
                                              gex_Flags_t flags);
AQ_API int gex_Segment_QueryBound(gex_TM_t tm, gex_Rank_t rank, void **owneraddr_p,
                                  void **localaddr_p, uintptr_t *size_p);

// ---- handlers ("AM handlers") ----

typedef struct aq_token *gex_Token_t;
typedef uint8_t gex_AM_Index_t;
typedef int32_t gex_AM_Arg_t;

// Not in the specification, but clients use these names to send pointers and 64-bit values as two
// arguments. The first two are macros because they take pointers and integers.
#define GASNETI_HIWORD(value) ((uint32_t)((uint64_t)(uintptr_t)(value) >> 32))
#define GASNETI_LOWORD(value) ((uint32_t)(uintptr_t)(value))
AQ_API_INLINE uint64_t GASNETI_MAKEWORD(uint32_t high, uint32_t low)
{
    return (uint64_t)high << 32 | low;
}
typedef void (*gex_AM_Fn_t)();
#define GEX_AM_INDEX_BASE 64

typedef struct {
    gex_AM_Index_t gex_index; // 0 (the library chooses, from 255 down) or GEX_AM_INDEX_BASE to 255
    gex_AM_Fn_t gex_fnptr;
    gex_Flags_t gex_flags; // one category and one of REQUEST, REPLY, REQREP
    unsigned int gex_nargs;
    const void *gex_cdata;
    const char *gex_name;
} gex_AM_Entry_t;

// Registers handlers and replaces each gex_index of 0 in the table by the index that was chosen.
// Not collective: the client makes sure that no rank sends before the handler is registered.
// Several threads may register at the same time; their order, and so their chosen indices, are then
// undefined. The caller may free the table afterwards. Returns GASNET_OK, or GASNET_ERR_BAD_ARG
// with a message.
AQ_API int gex_EP_RegisterHandlers(gex_EP_t ep, gex_AM_Entry_t *table, size_t numentries);

// ---- active messages: limits ("Active Message (AM) limit queries"); allowed in handlers ----

// The number of arguments, and the largest payload in bytes; LUB: over all ranks and flags.
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

// Fills in all fields, whatever mask is, and returns GEX_TI_ALL. Allowed only in the handler that
// received the token.
AQ_API gex_TI_t gex_Token_Info(gex_Token_t token, gex_Token_Info_t *info, gex_TI_t mask);

// ---- active messages: negotiated payload ("Negotiated-payload AM APIs") ----

typedef struct aq_srcdesc *gex_AM_SrcDesc_t;
#define GEX_AM_SRCDESC_NO_OP ((gex_AM_SrcDesc_t)0)
#define GASNET_SUPPORTS_AM_CANCEL 20240418L
#define GASNET_SUPPORTS_AM_COMMIT_V2 20240906L

// The buffer for the payload, and its size in bytes. Allowed until Commit or Cancel.
AQ_API void *gex_AM_SrcDescAddr(gex_AM_SrcDesc_t sd);
AQ_API size_t gex_AM_SrcDescSize(gex_AM_SrcDesc_t sd);

// Start a message whose payload (least_payload to most_payload bytes) the client assembles in
// place. A thread can have one such message at a time; from Prepare to Commit or Cancel the
// restrictions of a handler apply. If client_buf is NULL, the library provides the buffer, aligned
// to 16 bytes. Requests may block and run handlers. With GEX_FLAG_IMMEDIATE a call does not block,
// and returns GEX_AM_SRCDESC_NO_OP instead.
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
// End a message without sending it. Always return 0.
AQ_API int gex_AM_CancelRequestMedium(gex_AM_SrcDesc_t sd, gex_Flags_t flags);
AQ_API int gex_AM_CancelReplyMedium(gex_AM_SrcDesc_t sd, gex_Flags_t flags);
AQ_API int gex_AM_CancelRequestLong(gex_AM_SrcDesc_t sd, gex_Flags_t flags);
AQ_API int gex_AM_CancelReplyLong(gex_AM_SrcDesc_t sd, gex_Flags_t flags);

// ---- events ("Event test/wait operations") ----

// Test calls do not poll; they return 0 if the events are complete (Some: at least one of them is,
// or none is left), otherwise GASNET_ERR_NOT_READY. Wait calls block: they poll, run handlers and
// may sleep. Any thread may synchronize an event. Completed entries of an array become
// GEX_EVENT_INVALID. The calls of NBI operations concern those that the calling thread started.
AQ_API int gex_Event_Test(gex_Event_t event);
AQ_API void aq_api_event_wait(gex_Event_t event);
AQ_API_INLINE void gex_Event_Wait(gex_Event_t event)
{
#ifndef GASNET_DEBUG
    if (event == GEX_EVENT_INVALID) // the operation completed inline
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

// Copies between this process and memory that is mapped here.

// Ends the job with a message: nbytes is more than memory can hold.
AQ_API void aq_api_length_refuse(size_t nbytes) __attribute__((noreturn, cold));

// Copies nbytes. A copy of 2, 4 or 8 bytes is one move, which is atomic if both addresses are
// aligned; larger copies pay one comparison for this, and one for lengths that no memory has.
static inline void aq_api_copy(void *dest, const void *src, size_t nbytes)
{
    if (nbytes > 8) {
        if (__builtin_expect((ptrdiff_t)nbytes < 0, 0))
            aq_api_length_refuse(nbytes);
        memcpy(dest, src, nbytes);
    } else if (nbytes == 8)
        memcpy(dest, src, 8);
    else if (nbytes == 4)
        memcpy(dest, src, 4);
    else if (nbytes == 2)
        memcpy(dest, src, 2);
    else
        memcpy(dest, src, nbytes);
}

// The address in this process of memory of a rank. No arithmetic of pointers, which has no result
// for NULL, a legal address of no bytes.
static inline char *aq_api_shifted(const void *address, intptr_t shift)
{
    return (char *)((uintptr_t)address + (uintptr_t)shift);
}

static inline void aq_api_copy_out(void *dest, const void *src, size_t nbytes, intptr_t shift)
{
    aq_api_copy(aq_api_shifted(dest, shift), src, nbytes);
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

static inline void aq_api_copy_in(void *dest, const void *src, size_t nbytes, intptr_t shift)
{
    aq_api_copy(dest, aq_api_shifted(src, shift), nbytes);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
}

// Sets the caller's event, if lc_opt points to one, to complete.
static inline void aq_api_lc_done(gex_Event_t *lc_opt)
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
AQ_API int gex_HSL_Trylock(gex_HSL_t *hsl); // GASNET_OK, or GASNET_ERR_NOT_READY if held

// ---- progress ----

// GASNet-1 calls that identify the thread. They do nothing: the library keeps its state of a thread
// in a thread-local variable.
typedef void *gasnet_threadinfo_t;
#define GASNET_GET_THREADINFO() ((gasnet_threadinfo_t)0)
#define GASNET_POST_THREADINFO(info) ((void)(info))
#define GASNET_BEGIN_FUNCTION() GASNET_POST_THREADINFO(GASNET_GET_THREADINFO())

// Runs the handlers of messages that have arrived, up to a limit. Does not block, but yields the
// processor now and then if nothing arrives and the host has fewer processors than ranks. Returns
// GASNET_OK.
AQ_API int gasnet_AMPoll(void);

// How calls that block wait: SPIN keeps the processor busy, BLOCK sleeps at once, SPINBLOCK spins
// before it sleeps.
#define GASNET_WAIT_SPIN 0
#define GASNET_WAIT_BLOCK 1
#define GASNET_WAIT_SPINBLOCK 2
AQ_API int gasnet_set_waitmode(int wait_mode); // GASNET_OK or GASNET_ERR_BAD_ARG

// The state of one wait; all fields are 0 when the wait begins.
typedef struct aq_api_wait {
    uint64_t since;
    uint32_t turns;
    uint32_t armed;
    uint32_t naps;
} aq_api_wait_t;
AQ_API void aq_api_wait_turn(aq_api_wait_t *wait);
AQ_API void aq_api_wait_end(aq_api_wait_t *wait);

// Blocks until cond is true: polls, and sleeps if nothing happens for a while. Handlers, other
// threads and remote puts may change cond.
#define GASNET_BLOCKUNTIL(cond)                                                                    \
    do {                                                                                           \
        aq_api_wait_t aq_api_wait_state = {0, 0, 0, 0};                                            \
        while (!(cond))                                                                            \
            aq_api_wait_turn(&aq_api_wait_state);                                                  \
        aq_api_wait_end(&aq_api_wait_state);                                                       \
    } while (0)

// ---- the rest ----

// Ends the whole job with this exit code. Only the low 8 bits count; if several ranks call, the
// first code counts. Allowed anywhere.
AQ_API void gasnet_exit(int exitcode) __attribute__((noreturn));
// Returns the value of an environment variable of the job, or NULL. The text belongs to the library
// and stays valid.
AQ_API char *gasnet_getenv(const char *name);

#ifdef __cplusplus
}
#endif

#endif
