// SPDX-License-Identifier: BSD-3-Clause
// The layers above the core: the indices of their handlers, and the functions by which they join a
// starting job. layer_table.c lists the layers.
#pragma once

// Indices of the library's own handlers, which are below those that clients may use. All ranks of a
// job have the same indices. The core has 50, 51, 54 and those from 57 on.
enum {
    AQ_HANDLER_PUT = 1, // rma_am.c
    AQ_HANDLER_PUT_DONE,
    AQ_HANDLER_GET,
    AQ_HANDLER_GET_DONE,
    AQ_HANDLER_BARRIER,    // barrier_am.c
    AQ_HANDLER_PUT_TAGGED, // rma_tagged.c
    AQ_HANDLER_GET_TAGGED,
    AQ_HANDLER_TAGGED_REFUSED,
    AQ_HANDLER_MSG_EXPOSE, // messages/two_sided/msg_device.c
    AQ_HANDLER_MSG_EXPOSED,
    AQ_HANDLER_MSG_PLACED,         // messages/two_sided/msg_rndv_get.c
    AQ_HANDLER_MSG_EAGER_JOB = 13, // messages/two_sided/msg_recv.c
    AQ_HANDLER_MSG_CANCEL,         // messages/two_sided/msg_cancel.c
    AQ_HANDLER_MSG_CANCELLED,
    AQ_HANDLER_VIS_PUT = 16, // vis_am.c
    AQ_HANDLER_VIS_GET,
    AQ_HANDLER_VIS_GET_DONE,
    AQ_HANDLER_VIS_NOTICE,   // vis_notice.c
    AQ_HANDLER_NOTICE_COUNT, // notice.c
    AQ_HANDLER_NOTICE_COUNT_PUT,
    AQ_HANDLER_NOTICE_RUN,
    AQ_HANDLER_NOTICE_RUN_PUT,
    AQ_HANDLER_RATOMIC_OP = 24, // ratomic_am.c
    AQ_HANDLER_RATOMIC_DONE,
    AQ_HANDLER_RATOMIC_FETCHED,
    AQ_HANDLER_STREAM_MESSAGE, // messages/stream/stream_receive.c
    AQ_HANDLER_STREAM_CONTROL,
    AQ_HANDLER_LARGE_PIECE,    // messages/large/large_forward.c
    AQ_HANDLER_LARGE_HEADER,   // messages/large/large_header.c
    AQ_HANDLER_COLL_PART = 32, // coll_mail.c
    AQ_HANDLER_COLL_READY,
    AQ_HANDLER_COLL_CALL,   // coll_check.c, in debug builds only
    AQ_HANDLER_MEMSET = 40, // gasnet1.c
    AQ_HANDLER_MEMSET_DONE,
    AQ_HANDLER_MSG_COOP_COPY = 43, // messages/two_sided/msg_coop_copy.c
    AQ_HANDLER_MSG_EAGER,          // messages/two_sided/msg_recv.c
    AQ_HANDLER_MSG_RTS,
    AQ_HANDLER_MSG_RNDV_GET, // messages/two_sided/msg_send.c
    AQ_HANDLER_MSG_DONE,
    AQ_HANDLER_MSG_PIECE,   // messages/two_sided/msg_rndv_get.c
    AQ_HANDLER_MSG_CREDITS, // messages/two_sided/msg_credits.c
    AQ_HANDLER_PROBE = 52,  // rma_probe.c
    AQ_HANDLER_PROBED,
    AQ_HANDLER_SEGMENT_TELL = 55, // grow_segment.c
    AQ_HANDLER_SEGMENT_TOLD,
};

// Register the handlers and tasks of a layer. Called once, at init, before the first message can
// arrive.
void aq_rma_am_register(void);
void aq_rma_probe_register(void);
void aq_rma_tagged_register(void);
void aq_vis_am_register(void);
void aq_vis_notice_register(void);
void aq_notice_register(void);
void aq_ratomic_am_register(void);
void aq_barrier_am_register(void);
void aq_coll_mail_register(void);
void aq_coll_check_register(void);
void aq_grow_segment_register(void);
void aq_msg_register(void);
void aq_msg_device_register(void);
void aq_msg_placed_register(void);
void aq_large_register(void);
void aq_stream_register(void);
// As above. These also prepare GASNet-1 calls, and the barriers and collectives of the primordial
// team.
void aq_gasnet1_start(void);
void aq_coll_team_start_job(void);
// Reads the tuning file at rank 0.
void aq_coll_tuning_start(void);
// In a process that joins a running job: makes the team of all ranks. Collective; blocks.
void aq_grow_start(void);
