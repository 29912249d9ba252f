// SPDX-License-Identifier: BSD-3-Clause
// The file that GASNET_TRAFFIC names: a title, and lines of comma-separated numbers.
//
// - A line has what one rank counted for another one (for itself, too); pairs without traffic have
//   none. Lines of several ranks and snapshots stand in any order. A line is written whole.
// - Column "snapshot" is 0 in lines of the end of a job, and n in those of the rank's n-th signal.
//   Counts of snapshots begin at the start of the job, too.
// - Hosts are numbered by first appearance. Files of hosts that share none have other lines, and
//   may be concatenated with their titles.
#pragma once

typedef enum aq_traffic_column {
    AQ_TRAFFIC_FROM,
    AQ_TRAFFIC_TO,
    AQ_TRAFFIC_FROM_HOST,
    AQ_TRAFFIC_TO_HOST,
    AQ_TRAFFIC_REQUEST_SHORTS,
    AQ_TRAFFIC_REQUEST_MEDIUMS,
    AQ_TRAFFIC_REQUEST_LONGS,
    AQ_TRAFFIC_REQUEST_BYTES,
    AQ_TRAFFIC_REPLY_SHORTS,
    AQ_TRAFFIC_REPLY_MEDIUMS,
    AQ_TRAFFIC_REPLY_LONGS,
    AQ_TRAFFIC_REPLY_BYTES,
    AQ_TRAFFIC_PUTS,
    AQ_TRAFFIC_PUT_BYTES,
    AQ_TRAFFIC_GETS,
    AQ_TRAFFIC_GET_BYTES,
    AQ_TRAFFIC_ATOMICS,
    AQ_TRAFFIC_VIS_PUTS, // of vectors, indices and strides
    AQ_TRAFFIC_VIS_PUT_BYTES,
    AQ_TRAFFIC_VIS_GETS,
    AQ_TRAFFIC_VIS_GET_BYTES,
    AQ_TRAFFIC_SENDS, // messages with two sides, and large ones
    AQ_TRAFFIC_SEND_BYTES,
    AQ_TRAFFIC_STREAM_MESSAGES,
    AQ_TRAFFIC_STREAM_BYTES,
    AQ_TRAFFIC_COLL_MESSAGES, // of collectives: messages to column "to", and copies of its memory
    AQ_TRAFFIC_COLL_BYTES,
    AQ_TRAFFIC_ARRIVED_REQUESTS, // of messages that column "to" sent to column "from"
    AQ_TRAFFIC_ARRIVED_REQUEST_BYTES,
    AQ_TRAFFIC_ARRIVED_REPLIES,
    AQ_TRAFFIC_ARRIVED_REPLY_BYTES,
    AQ_TRAFFIC_ARRIVED_SENDS,
    AQ_TRAFFIC_ARRIVED_SEND_BYTES,
    AQ_TRAFFIC_ARRIVED_STREAM_MESSAGES,
    AQ_TRAFFIC_ARRIVED_STREAM_BYTES,
    AQ_TRAFFIC_NO_ROOM, // operations that found no room at first
    AQ_TRAFFIC_RESENT,  // packets that were sent again
    AQ_TRAFFIC_SNAPSHOT,
    AQ_TRAFFIC_COLUMNS
} aq_traffic_column_t;

// Without the end of the line. Files of earlier versions have some of these columns, in another
// order; what they lack is 0.
#define AQ_TRAFFIC_TITLE                                                                           \
    "from,to,from_host,to_host,request_shorts,request_mediums,request_longs,request_bytes,"        \
    "reply_shorts,reply_mediums,reply_longs,reply_bytes,puts,put_bytes,gets,get_bytes,atomics,"    \
    "vis_puts,vis_put_bytes,vis_gets,vis_get_bytes,sends,send_bytes,stream_messages,"              \
    "stream_bytes,coll_messages,coll_bytes,arrived_requests,arrived_request_bytes,"                \
    "arrived_replies,arrived_reply_bytes,arrived_sends,arrived_send_bytes,"                        \
    "arrived_stream_messages,arrived_stream_bytes,no_room,resent,snapshot"
