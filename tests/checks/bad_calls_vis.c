// SPDX-License-Identifier: BSD-3-Clause
// Wrong calls of non-contiguous put and get.
#include <gasnet_vis.h>

#include "bad_calls.h"

static char buffer[4096];
static const size_t eight[] = {8};
static const ptrdiff_t strides[] = {16}, narrow[] = {4}, backwards[] = {-16};

static void put_rank(void)
{
    gex_VIS_StridedPutNB(bad_tm, 2, bad_segment, strides, buffer, strides, 8, eight, 1, 0);
}

static void get_rank(void)
{
    gex_Memvec_t here = {buffer, 8}, there = {bad_segment, 8};
    gex_VIS_VectorGetBlocking(bad_tm, 1, &here, 2, 1, &there, 0);
}

static void put_overlap(void)
{
    bad_expect("8 bytes at %p and 8 bytes at %p", (void *)bad_segment, (void *)(bad_segment + 4));
    gex_VIS_StridedPutBlocking(bad_tm, 1, bad_segment, narrow, buffer, strides, 8, eight, 1, 0);
}

static void get_overlap(void)
{
    void *here[] = {buffer + 100, buffer, buffer + 101}, *there[] = {bad_segment};
    bad_expect("2 bytes at %p and 2 bytes at %p", here[0], here[2]);
    gex_VIS_IndexedGetNBI(bad_tm, 3, here, 2, 1, 1, there, 6, 0);
}

static void put_outside(void)
{
    char *last = bad_segment + BAD_SEGMENT - 7 * 16 - 4;
    bad_expect("8 bytes at %p", (void *)(last + 7 * 16));
    gex_VIS_StridedPutNB(bad_tm, 1, last, strides, buffer, strides, 8, eight, 1, 0);
}

static void get_before(void)
{
    bad_expect("8 bytes at %p", (void *)(bad_segment - 16));
    gex_VIS_StridedGetNB(bad_tm, buffer, strides, 1, bad_segment, backwards, 8, eight, 1, 0);
}

static void vector_sizes(void)
{
    gex_Memvec_t here = {buffer, 24}, there[] = {{bad_segment, 8}, {bad_segment + 8, 8}};
    gex_VIS_VectorPutNBI(bad_tm, 1, 2, there, 1, &here, 0);
}

static void indexed_sizes(void)
{
    void *here[] = {buffer, buffer + 64}, *there[] = {bad_segment};
    gex_VIS_IndexedGetBlocking(bad_tm, 2, here, 8, 1, 1, there, 8, 0);
}

static void peer_get(void)
{
    gex_Memvec_t here = {buffer, 8}, there = {bad_segment, 8};
    gex_VIS_SetPeerCompletionHandler(BAD_H_MEDIUM_REPLY, NULL, 0, 0);
    gex_VIS_VectorGetNB(bad_tm, 1, &here, 1, 1, &there, 0);
}

static void peer_immediate(void)
{
    gex_Memvec_t here = {buffer, 8}, there = {bad_segment, 8};
    gex_VIS_SetPeerCompletionHandler(BAD_H_MEDIUM_REPLY, NULL, 0, 0);
    gex_VIS_VectorPutNB(bad_tm, 1, 1, &there, 1, &here, GEX_FLAG_IMMEDIATE);
}

static void peer_bytes(void)
{
    gex_VIS_SetPeerCompletionHandler(BAD_H_MEDIUM_REPLY, buffer, 257, 0);
}

static void peer_index(void)
{
    gex_VIS_SetPeerCompletionHandler(63, NULL, 0, 0);
}

static void put_handler(gex_Token_t token)
{
    (void)token;
    gex_VIS_StridedPutNB(bad_tm, 0, bad_segment, strides, buffer, strides, 8, eight, 1, 0);
}

const bad_call_t bad_vis_calls[] = {
    {"vis-put-rank", BAD_FATAL_ALWAYS, 0,
     "gex_VIS_StridedPutNB: rank 2 is not below the team's size 2", put_rank, NULL, NULL},
    {"vis-get-rank", BAD_FATAL_ALWAYS, 0,
     "gex_VIS_VectorGetBlocking: rank 2 is not below the team's size 2", get_rank, NULL, NULL},
    {"vis-put-overlap", BAD_FATAL, 0,
     "gex_VIS_StridedPutBlocking: the destination overlaps itself: 8 bytes at 0x", put_overlap,
     NULL, NULL},
    {"vis-get-overlap", BAD_FATAL, 0,
     "gex_VIS_IndexedGetNBI: the destination overlaps itself: 2 bytes at 0x", get_overlap, NULL,
     NULL},
    {"vis-put-outside", BAD_FATAL, 0,
     "gex_VIS_StridedPutNB: 8 bytes at 0x[0-9a-f]+ are not inside the segment of rank 1",
     put_outside, NULL, NULL},
    {"vis-get-before", BAD_FATAL, 0,
     "gex_VIS_StridedGetNB: 8 bytes at 0x[0-9a-f]+ are not inside the segment of rank 1",
     get_before, NULL, NULL},
    {"vis-vector-sizes", BAD_FATAL_ALWAYS, 0,
     "gex_VIS_VectorPutNBI: the remote side \\(rank 1\\) has 16 bytes, the local one 24",
     vector_sizes, NULL, NULL},
    {"vis-indexed-sizes", BAD_FATAL_ALWAYS, 0,
     "gex_VIS_IndexedGetBlocking: the remote side \\(rank 1\\) has 8 bytes, the local one 16",
     indexed_sizes, NULL, NULL},
    {"vis-peer-get", BAD_FATAL, 0,
     "gex_VIS_VectorGetNB: gex_VIS_SetPeerCompletionHandler was called \\(handler 103\\)", peer_get,
     NULL, NULL},
    {"vis-peer-immediate", BAD_FATAL, 0,
     "gex_VIS_VectorPutNB: GEX_FLAG_IMMEDIATE does not go with gex_VIS_SetPeerCompletionHandler",
     peer_immediate, NULL, NULL},
    {"vis-peer-bytes", BAD_FATAL_ALWAYS, 0,
     "gex_VIS_SetPeerCompletionHandler: a payload of 257 bytes is more than the limit of 256",
     peer_bytes, NULL, NULL},
    {"vis-peer-index", BAD_FATAL, 0,
     "gex_VIS_SetPeerCompletionHandler: handler index 63 is below GEX_AM_INDEX_BASE \\(64\\)",
     peer_index, NULL, NULL},
    {"vis-handler", BAD_FATAL, 1, "gex_VIS_StridedPutNB is not allowed in a handler", NULL,
     put_handler, NULL},
    {NULL, BAD_FATAL, 0, NULL, NULL, NULL, NULL}};
