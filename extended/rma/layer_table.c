// SPDX-License-Identifier: BSD-3-Clause
// The table of all layers above the core: the function that starts each, and its handler indices.
// core/job/client.c starts them in this order.
#include "layer_table.h"

#include "../../core/job/exit_broadcast.h"
#include "../../core/job/layers.h"
#include "../../core/am/long_fragment.h"

_Static_assert(AQ_HANDLER_STREAM_CONTROL < (int)AQ_HANDLER_LONG_PIECE,
               "the handlers of the layers stand below those of the core");

const aq_layer_t aq_layer_table[] = {
    {"put and get", aq_rma_am_register, AQ_HANDLER_PUT, AQ_HANDLER_GET_DONE},
    {"probes of memory", aq_rma_probe_register, AQ_HANDLER_PROBE, AQ_HANDLER_PROBED},
    {"tagged put and get", aq_rma_tagged_register, AQ_HANDLER_PUT_TAGGED,
     AQ_HANDLER_TAGGED_REFUSED},
    {"VIS", aq_vis_am_register, AQ_HANDLER_VIS_PUT, AQ_HANDLER_VIS_GET_DONE},
    {"VIS notice", aq_vis_notice_register, AQ_HANDLER_VIS_NOTICE, AQ_HANDLER_VIS_NOTICE},
    {"notices", aq_notice_register, AQ_HANDLER_NOTICE_COUNT, AQ_HANDLER_NOTICE_RUN_PUT},
    {"atomics", aq_ratomic_am_register, AQ_HANDLER_RATOMIC_OP, AQ_HANDLER_RATOMIC_FETCHED},
    {"barriers", aq_barrier_am_register, AQ_HANDLER_BARRIER, AQ_HANDLER_BARRIER},
    {"collectives", aq_coll_mail_register, AQ_HANDLER_COLL_PART, AQ_HANDLER_COLL_READY},
    {"checks of collectives", aq_coll_check_register, AQ_HANDLER_COLL_CALL, AQ_HANDLER_COLL_CALL},
    {"segments after growth", aq_grow_segment_register, AQ_HANDLER_SEGMENT_TELL,
     AQ_HANDLER_SEGMENT_TOLD},
    {"GASNet-1", aq_gasnet1_start, AQ_HANDLER_MEMSET, AQ_HANDLER_MEMSET_DONE},
    {"messages", aq_msg_register, AQ_HANDLER_MSG_COOP_COPY, AQ_HANDLER_MSG_CREDITS},
    {"messages by device", aq_msg_device_register, AQ_HANDLER_MSG_EXPOSE, AQ_HANDLER_MSG_EXPOSED},
    {"messages in place", aq_msg_placed_register, AQ_HANDLER_MSG_PLACED, AQ_HANDLER_MSG_PLACED},
    {"large messages", aq_large_register, AQ_HANDLER_LARGE_PIECE, AQ_HANDLER_LARGE_HEADER},
    {"streams", aq_stream_register, AQ_HANDLER_STREAM_MESSAGE, AQ_HANDLER_STREAM_CONTROL},
    {"limits of collectives", aq_coll_tuning_start, 0, 0},
    {"primordial team", aq_coll_team_start_job, 0, 0},
    {"team of all after growth", aq_grow_start, 0, 0},
    {0},
};

// The link names (other/packaging/shim.c) of earlier builds refer to this symbol. Nothing reads it.
extern void (*const aq_api_whole[])(void);
__attribute__((visibility("default"))) void (*const aq_api_whole[])(void) = {aq_rma_am_register};
