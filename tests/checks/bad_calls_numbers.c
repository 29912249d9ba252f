// SPDX-License-Identifier: BSD-3-Clause
// Ranks, lengths, counts and products that no correct call has, and that every build refuses. The
// other tables have more of them.
#include <aqueduct_coll.h>
#include <aqueduct_msg.h>
#include <aqueduct_stream.h>
#include <gasnet.h>
#include <gasnet_coll.h>
#include <gasnet_ratomic.h>
#include <gasnet_vis.h>

#include "bad_calls.h"

#define MOST ((size_t)1 << 47) // bytes that a process can have

static char buffer[4096];
static volatile size_t nine = 9, most = SIZE_MAX; // which no compiler sees

// ---- put and get ----

static void put_most(void)
{
    gex_RMA_PutBlocking(bad_tm, 1, bad_segment, buffer, most, 0);
}

static void put_nb_more(void)
{
    gex_RMA_PutNB(bad_tm, 1, bad_segment, buffer, most - 99, GEX_EVENT_NOW, 0);
}

static void get_nbi_most(void)
{
    gex_RMA_GetNBI(bad_tm, buffer, 1, bad_segment, most - 4095, 0);
}

static void put_pair_rank(void)
{
    gex_RMA_PutNBI(gex_TM_Pair(bad_ep, 0), 7, bad_segment, buffer, 8, GEX_EVENT_NOW, 0);
}

static void put_value(void)
{
    gex_RMA_PutNBVal(bad_tm, 1, bad_segment, 1, nine, 0);
}

static void get_value(void)
{
    (void)gex_RMA_GetBlockingVal(bad_tm, 1, bad_segment, nine - 9, 0);
}

static void memset_most(void)
{
    gasnet_memset(1, buffer, 1, most);
}

static void memset_node(void)
{
    gasnet_memset_nbi(7, bad_segment, 1, 8);
}

static void translate_endpoint(void)
{
    (void)gex_TM_TranslateRankToEP(bad_tm, 2, 0);
}

// ---- non-contiguous ----

static void strided(void)
{
    static const size_t counts[] = {(size_t)1 << 40, (size_t)1 << 40};
    static const ptrdiff_t strides[] = {16, 16};
    gex_VIS_StridedPutBlocking(bad_tm, 1, bad_segment, strides, buffer, strides, 8, counts, 2, 0);
}

static void indexed(void)
{
    void *here[] = {buffer, buffer}, *there[] = {bad_segment, bad_segment};
    gex_VIS_IndexedGetNB(bad_tm, 2, here, (size_t)1 << 63, 1, 2, there, (size_t)1 << 63, 0);
}

static void vector(void)
{
    gex_Memvec_t here[] = {{buffer, SIZE_MAX}, {buffer, 9}}, there = {bad_segment, 8};
    gex_VIS_VectorPutNBI(bad_tm, 1, 1, &there, 2, here, 0);
}

static const ptrdiff_t strides[] = {16, 16};
static const size_t none[] = {2, 0};

// Dimensions that no array has; the second one ends a walk that does not look at their number.
static void dimensions(void)
{
    gex_VIS_StridedPutBlocking(bad_tm, 1, bad_segment, strides, buffer, strides, 8, none, SIZE_MAX,
                               0);
}

static void pieces(void)
{
    void *here[] = {buffer, buffer}, *there[] = {bad_segment, bad_segment};
    gex_VIS_IndexedPutBlocking(bad_tm, 1, ((size_t)1 << 61) + 1, there, 0, 2, here, 0, 0);
}

// A put without bytes ignores its rank, unless it has a notice.
static void notice_rank(void)
{
    gex_VIS_SetPeerCompletionHandler(BAD_H_MEDIUM_REPLY, buffer, 8, 0);
    gex_VIS_StridedPutBlocking(bad_tm, 7, bad_segment, strides, buffer, strides, 8, none, 2, 0);
}

// ---- events ----

static void events(void)
{
    gex_Event_t event = GEX_EVENT_INVALID;
    gex_Event_WaitAll(&event, SIZE_MAX, 0);
}

// ---- atomics ----

static gex_AD_t domain(void)
{
    gex_AD_t ad;
    gex_AD_Create(&ad, bad_tm, GEX_DT_I64, GEX_OP_ADD, 0);
    return ad;
}

static void atomic_rank(void)
{
    gex_AD_OpNBI_I64(domain(), NULL, 7, bad_segment, GEX_OP_ADD, 1, 0, 0);
}

static void atomic_jobrank(void)
{
    gex_AD_OpNBI_I64(domain(), NULL, 7, bad_segment, GEX_OP_ADD, 1, 0, GEX_FLAG_RANK_IS_JOBRANK);
}

// ---- collectives ----

static void broadcast(void)
{
    gex_Coll_BroadcastNB(bad_tm, 0, buffer, buffer, MOST + 1, 0);
}

// Memory could hold as much, but no number of 32 bits counts the parts.
static void broadcast_parts(void)
{
    gex_Event_Wait(gex_Coll_BroadcastNB(bad_tm, 0, buffer, buffer, (size_t)1 << 46, 0));
}

static void reduce(void)
{
    gex_Coll_ReduceToAllNB(bad_tm, buffer, buffer, GEX_DT_I64, 8, SIZE_MAX / 8 + 1, GEX_OP_ADD,
                           NULL, NULL, 0);
}

static void scan(void)
{
    gasnetx_Coll_ScanNB(bad_tm, buffer, buffer, GEX_DT_I32, 4, SIZE_MAX / 4 + 1, GEX_OP_ADD, NULL,
                        NULL, 0);
}

static void alltoall(void)
{
    gasnetx_Coll_AlltoallNB(bad_tm, buffer, buffer + 1, SIZE_MAX / 2, 0);
}

static void scatter(void)
{
    gasnetx_Coll_ScatterNB(bad_tm, 0, buffer, buffer, SIZE_MAX, 0);
}

static void scatter_root(void)
{
    gasnetx_Coll_ScatterNB(bad_tm, 7, buffer, buffer, 8, 0);
}

enum { FLAGS = GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC | GASNET_COLL_LOCAL };

static void gather1_image(void)
{
    gasnet_coll_gather(bad_tm, 7, buffer, buffer, 8, FLAGS);
}

static void exchange1(void)
{
    gasnet_coll_exchange(bad_tm, buffer, buffer + 1, SIZE_MAX / 2, FLAGS);
}

static void create_team(void)
{
    gex_EP_Location_t place = {0, 0};
    gex_TM_t tm;
    gex_TM_Create(&tm, 1, bad_tm, &place, SIZE_MAX / 2, NULL, 0, 0);
}

static void create_teams(void)
{
    gex_EP_Location_t place = {0, 0};
    gex_TM_t tm[2];
    gex_TM_Create(tm, (size_t)1 << 31, bad_tm, &place, 1, NULL, 0, 0);
}

// ---- messages: these calls return an error ----

static void prepare_long_rank(void)
{
    gex_AM_PrepareRequestLong(bad_tm, 7, NULL, 64, 64, NULL, NULL, 0, 0);
}

static void send_rank(void)
{
    bad_returned(gasnetx_Msg_Send(bad_tm, 7, 1, buffer, 8), GASNET_ERR_BAD_ARG);
}

static void receive_rank(void)
{
    gasnetx_Request_t request;
    bad_returned(gasnetx_Msg_RecvNB(GEX_TM_INVALID, 7, 1, buffer, 8, &request), GASNET_ERR_BAD_ARG);
}

static void send_most(void)
{
    gasnetx_Request_t request;
    bad_returned(gasnetx_Msg_SendNB(bad_tm, bad_other, 1, buffer, SIZE_MAX, &request),
                 GASNET_ERR_BAD_ARG);
    bad_returned(gasnetx_Msg_SendInit(bad_tm, bad_other, 1, buffer, MOST + 1, &request),
                 GASNET_ERR_BAD_ARG);
}

static void large_most(void)
{
    bad_returned(gasnetx_Large_Send(bad_tm, bad_other, 1, buffer, SIZE_MAX, NULL),
                 GASNET_ERR_BAD_ARG);
}

static void large_table(void)
{
    const gasnetx_large_entry_t entry = {0};
    bad_returned(gasnetx_Large_Register(&entry, SIZE_MAX / 2), GASNET_ERR_BAD_ARG);
}

static void alloc_most(void)
{
    void *memory;
    bad_returned(gasnetx_Msg_Alloc(SIZE_MAX, &memory), GASNET_ERR_RESOURCE);
    bad_returned(gasnetx_Msg_Alloc(SIZE_MAX - 62, &memory), GASNET_ERR_RESOURCE);
}

// The number does not wrap, and all of it still counts.
static void request_add(void)
{
    gasnetx_Request_t request;
    gasnetx_Request_Make(UINT32_MAX, &request);
    bad_returned(gasnetx_Request_Add(request), GASNET_ERR_BAD_ARG);
    bad_returned(gasnetx_Request_Complete(request), GASNET_OK);
    bad_returned(gasnetx_Request_Add(request), GASNET_OK);
    bad_returned(gasnetx_Request_Add(request), GASNET_ERR_BAD_ARG);
    bad_returned(gasnetx_Request_Test(&request, NULL), GASNET_ERR_NOT_READY);
}

static void requests(void)
{
    gasnetx_Request_t request = GASNETX_REQUEST_NULL;
    bad_returned(gasnetx_Request_WaitAll(&request, SIZE_MAX, NULL), GASNET_ERR_BAD_ARG);
    bad_returned(gasnetx_Request_WaitFds(&request, SIZE_MAX, NULL, 0, 0, NULL, NULL),
                 GASNET_ERR_BAD_ARG);
}

static void wait_fds(void)
{
    bad_returned(gasnetx_Request_WaitFds(NULL, 0, NULL, (nfds_t)-1, 0, NULL, NULL),
                 GASNET_ERR_BAD_ARG);
}

static void tree_parent(void)
{
    (void)gasnetx_Stream_TreeParent(0, 0, 0, 2);
}

static void stream_table(void)
{
    const gasnetx_stream_entry_t entry = {0};
    const gasnetx_stream_spec_t spec = {
        .parent = bad_me ? 0 : GASNETX_STREAM_ROOT, .entries = &entry, .entry_count = SIZE_MAX / 2};
    gasnetx_Stream_t stream;
    bad_returned(gasnetx_Stream_Create(bad_tm, &spec, &stream), GASNET_ERR_BAD_ARG);
}

// More elements than bytes, and as many that the product wraps to the number of bytes.
static void stream_count(void)
{
    const gasnetx_stream_spec_t spec = {.parent = bad_me ? 0 : GASNETX_STREAM_ROOT,
                                        .flags = GASNETX_STREAM_ORDERED};
    gasnetx_stream_group_t group = {.id = GASNETX_STREAM_ALLREDUCE,
                                    .src = buffer,
                                    .nbytes = 8,
                                    .dest = buffer,
                                    .capacity = sizeof buffer,
                                    .dt = GEX_DT_I64,
                                    .op = GEX_OP_ADD,
                                    .count = ((size_t)1 << 61) + 1};
    gasnetx_Stream_t stream;
    if (gasnetx_Stream_Create(bad_tm, &spec, &stream) != GASNET_OK)
        bad_abort("a stream cannot be made");
    bad_returned(gasnetx_Stream_SendRecv(stream, &group, NULL, 0, NULL), GASNET_ERR_BAD_ARG);
    group.nbytes = SIZE_MAX;
    bad_returned(gasnetx_Stream_SendRecv(stream, &group, NULL, 0, NULL), GASNET_ERR_BAD_ARG);
    gasnetx_Stream_Free(&stream);
}

// ---- segments and handlers: the same ----

static void segment_refused(char *address, uintptr_t length)
{
    gex_Segment_t segment;
    bad_returned(
        gex_Segment_Create(&segment, gex_TM_QueryClient(bad_tm), address, length, GEX_MK_HOST, 0),
        GASNET_ERR_BAD_ARG);
}

static void segment_most(void)
{
    segment_refused(NULL, UINTPTR_MAX);
    segment_refused(NULL, UINTPTR_MAX - 4095);
    segment_refused(NULL, UINTPTR_MAX / 2);
    segment_refused(buffer, UINTPTR_MAX);
}

static void segment_across(void)
{
    segment_refused((char *)(UINTPTR_MAX - 4095), 8192);
}

static void register_many(void)
{
    gex_AM_Entry_t entry = {0};
    bad_returned(gex_EP_RegisterHandlers(bad_ep, &entry, SIZE_MAX), GASNET_ERR_BAD_ARG);
}

#define BEYOND "18446744073709551615 bytes at 0x[0-9a-f]+ are not inside the segment of rank 1"
#define LENGTH "a put or get of [0-9]+ bytes is more than memory can hold"
#define HOLDS "are more than memory can hold \\(140737488355328 bytes\\)"

const bad_call_t bad_number_calls[] = {
    {"number-put", BAD_FATAL_ALWAYS, 0, "(gex_RMA_PutBlocking: " BEYOND "|" LENGTH ")", put_most,
     NULL, NULL},
    {"number-put-nb", BAD_FATAL_ALWAYS, 0,
     "(gex_RMA_PutNB: 18446744073709551516 bytes at 0x|" LENGTH ")", put_nb_more, NULL, NULL},
    {"number-get-nbi", BAD_FATAL_ALWAYS, 0,
     "(gex_RMA_GetNBI: 18446744073709547520 bytes at 0x|" LENGTH ")", get_nbi_most, NULL, NULL},
    {"number-put-pair", BAD_FATAL_ALWAYS, 0, BAD_RANK("gex_RMA_PutNBI", "7"), put_pair_rank, NULL,
     NULL},
    {"number-put-value", BAD_FATAL_ALWAYS, 0,
     "gex_RMA_PutNBVal: a value of 9 bytes; it may have 1 to 8", put_value, NULL, NULL},
    {"number-get-value", BAD_FATAL_ALWAYS, 0,
     "gex_RMA_GetBlockingVal: a value of 0 bytes; it may have 1 to 8", get_value, NULL, NULL},
    {"number-legacy-memset", BAD_FATAL_ALWAYS, 0, "gasnet_memset: " BEYOND, memset_most, NULL,
     NULL},
    {"number-legacy-node", BAD_FATAL_ALWAYS, 0,
     "(gasnet_memset(_nbi)?: node|a put, get or atomic: rank) 7 is not below", memset_node, NULL,
     NULL},
    {"number-translate", BAD_FATAL_ALWAYS, 0,
     "gex_TM_TranslateRankToEP: rank 2 is not below the team's size 2", translate_endpoint, NULL,
     NULL},
    {"number-strided", BAD_FATAL_ALWAYS, 0,
     "gex_VIS_StridedPutBlocking: the pieces have more bytes than memory can hold", strided, NULL,
     NULL},
    {"number-indexed", BAD_FATAL_ALWAYS, 0,
     "gex_VIS_IndexedGetNB: the pieces have more bytes than memory can hold", indexed, NULL, NULL},
    {"number-vector", BAD_FATAL_ALWAYS, 0,
     "gex_VIS_VectorPutNBI: the remote side \\(rank 1\\) has 8 bytes, the local one "
     "18446744073709551615",
     vector, NULL, NULL},
    {"number-dimensions", BAD_FATAL_ALWAYS, 0,
     "gex_VIS_StridedPutBlocking: 18446744073709551615 dimensions of 8 bytes " HOLDS, dimensions,
     NULL, NULL},
    {"number-pieces", BAD_FATAL_ALWAYS, 0,
     "gex_VIS_IndexedPutBlocking: 2305843009213693953 pieces of 8 bytes " HOLDS, pieces, NULL,
     NULL},
    {"number-notice-rank", BAD_FATAL_ALWAYS, 0, BAD_RANK("gex_VIS_StridedPutBlocking", "7"),
     notice_rank, NULL, NULL},
    {"number-events", BAD_FATAL_ALWAYS, 0,
     "gex_Event_WaitAll: 18446744073709551615 events of 8 bytes " HOLDS, events, NULL, NULL},
    {"number-atomic", BAD_FATAL_ALWAYS, 0, BAD_RANK("gex_AD_OpNBI_I64", "7"), atomic_rank, NULL,
     NULL},
    {"number-atomic-jobrank", BAD_FATAL_ALWAYS, 0,
     "gex_AD_OpNBI_I64: job rank 7 is not in the domain's team of 2", atomic_jobrank, NULL, NULL},
    {"number-broadcast", BAD_FATAL_ALWAYS, 0,
     "gex_Coll_BroadcastNB: 1 block of 140737488355329 bytes " HOLDS, broadcast, NULL, NULL},
    {"number-broadcast-parts", BAD_FATAL_ALWAYS, 0,
     "a collective of 70368744177664 bytes for each rank is more than the library can divide",
     broadcast_parts, NULL, NULL},
    {"number-reduce", BAD_FATAL_ALWAYS, 0,
     "gex_Coll_ReduceToAllNB: 2305843009213693952 elements of 8 bytes " HOLDS, reduce, NULL, NULL},
    {"number-scan", BAD_FATAL_ALWAYS, 0,
     "gasnetx_Coll_ScanNB: 4611686018427387904 elements of 4 bytes " HOLDS, scan, NULL, NULL},
    {"number-alltoall", BAD_FATAL_ALWAYS, 0,
     "gasnetx_Coll_AlltoallNB: 2 blocks of 9223372036854775807 bytes " HOLDS, alltoall, NULL, NULL},
    {"number-scatter", BAD_FATAL_ALWAYS, 0,
     "gasnetx_Coll_ScatterNB: 2 blocks of 18446744073709551615 bytes " HOLDS, scatter, NULL, NULL},
    {"number-scatter-root", BAD_FATAL_ALWAYS, 0,
     "gasnetx_Coll_ScatterNB: root 7 is not below the team's size 2", scatter_root, NULL, NULL},
    {"number-coll1-image", BAD_FATAL_ALWAYS, 0,
     "gasnet_coll_gather: root 7 is not below the team's size 2", gather1_image, NULL, NULL},
    {"number-coll1-exchange", BAD_FATAL_ALWAYS, 0,
     "gasnet_coll_exchange: 2 blocks of 9223372036854775807 bytes " HOLDS, exchange1, NULL, NULL},
    {"number-create", BAD_FATAL_ALWAYS, 0,
     "gex_TM_Create: a list of 9223372036854775807 members is more than the endpoints", create_team,
     NULL, NULL},
    {"number-create-teams", BAD_FATAL_ALWAYS, 0,
     "gex_TM_Create: an array for 2147483648 teams is for more than the endpoints", create_teams,
     NULL, NULL},
    {"number-prepare-long", BAD_FATAL_ALWAYS, 0,
     "gex_AM_PrepareRequestLong: rank 7 is not below the team's size 2", prepare_long_rank, NULL,
     NULL},
    {"number-tree", BAD_FATAL_ALWAYS, 0,
     "gasnetx_Stream_TreeParent: rank 0 is not below the team's size 0", tree_parent, NULL, NULL},
    {"number-send-rank", BAD_RETURNS, 0, "gasnetx_Msg_Send: rank 7 is not below the team's size 2",
     send_rank, NULL, NULL},
    {"number-receive-rank", BAD_RETURNS, 0,
     "gasnetx_Msg_RecvNB: rank 7 is not below the job's size 2", receive_rank, NULL, NULL},
    {"number-send", BAD_RETURNS, 0,
     "gasnetx_Msg_SendNB: a message of 18446744073709551615 bytes is more than memory can hold",
     send_most, NULL, NULL},
    {"number-large", BAD_RETURNS, 0,
     "gasnetx_Large_Send: a message of 18446744073709551615 bytes is more than memory can hold",
     large_most, NULL, NULL},
    {"number-large-table", BAD_RETURNS, 0,
     "gasnetx_Large_Register: memory cannot hold a table of this size", large_table, NULL, NULL},
    {"number-stream-table", BAD_RETURNS, 0,
     "gasnetx_Stream_Create: memory cannot hold a table of so many handlers", stream_table, NULL,
     NULL},
    {"number-alloc", BAD_RETURNS, 0,
     "gasnetx_Msg_Alloc: there is no room for 18446744073709551615 bytes", alloc_most, NULL, NULL},
    {"number-request", BAD_RETURNS, 0,
     "gasnetx_Request_Add: the request has 4294967295 operations, and takes no more", request_add,
     NULL, NULL},
    {"number-requests", BAD_RETURNS, 0,
     "gasnetx_Request_WaitAll: memory cannot hold an array of so many requests", requests, NULL,
     NULL},
    {"number-fds", BAD_RETURNS, 0, "gasnetx_Request_WaitFds: poll\\(2\\) takes no such number",
     wait_fds, NULL, NULL},
    {"number-stream", BAD_RETURNS, 0,
     "gasnetx_Stream_SendRecv: the operator, the type, the count and the bytes do not fit",
     stream_count, NULL, NULL},
    {"number-segment", BAD_RETURNS, 0,
     "gex_Segment_Create: 18446744073709551615 bytes at \\(nil\\) are more than the address space",
     segment_most, NULL, NULL},
    {"number-segment-across", BAD_RETURNS, 0,
     "gex_Segment_Create: 8192 bytes at 0xfffffffffffff000 are more than the address space",
     segment_across, NULL, NULL},
    {"number-register", BAD_RETURNS, 0, "gex_EP_RegisterHandlers: a table of more than 192 entries",
     register_many, NULL, NULL},
    {NULL, BAD_FATAL, 0, NULL, NULL, NULL, NULL}};
