// SPDX-License-Identifier: BSD-3-Clause
// The variables that only conduit ibv reads.
#pragma once

#include "../../../other/base/settings/profile.h"

typedef enum aq_ibv_setting_id {
    IBV_SET_SPAWNER,
    IBV_SET_PORTS,
    IBV_SET_PORTS_TYPE,
    IBV_SET_HWLOC_QUERY,
    IBV_SET_HCA_ID,
    IBV_SET_PORT_NUM,
    IBV_SET_NUM_QPS,
    IBV_SET_PUT_STRIPE_SZ,
    IBV_SET_GET_STRIPE_SZ,
    IBV_SET_USE_FENCED_PUTS,
    IBV_SET_QP_TIMEOUT,
    IBV_SET_QP_RETRY_COUNT,
    IBV_SET_QP_RD_ATOM,
    IBV_SET_PKEY,
    IBV_SET_MAX_MTU,
    IBV_SET_SERVICE_LEVEL,
    IBV_SET_TRAFFIC_CLASS,
    IBV_SET_GID_INDEX,
    IBV_SET_ATOMICS,
    IBV_SET_IWARP,
    IBV_SET_CONNECT,
    IBV_SET_CONNECT_STATIC,
    IBV_SET_CONNECT_DYNAMIC,
    IBV_SET_CONNECT_CALLS,
    IBV_SET_CONNECTFILE_IN,
    IBV_SET_CONNECTFILE_OUT,
    IBV_SET_CONNECTFILE_BASE,
    IBV_SET_RCV_THREAD_RATE,
    IBV_SET_SND_THREAD_RATE,
    IBV_SET_INLINESEND_LIMIT,
    IBV_SET_PACKEDLONG_LIMIT,
    IBV_SET_NONBULKPUT_BOUNCE_LIMIT,
    IBV_SET_NETWORKDEPTH_PP,
    IBV_SET_NETWORKDEPTH_TOTAL,
    IBV_SET_AM_CREDITS_PP,
    IBV_SET_AM_CREDITS_TOTAL,
    IBV_SET_AM_CREDITS_SLACK,
    IBV_SET_BBUF_COUNT,
    IBV_SET_PIN_MAXSZ,
    IBV_SET_AMRDMA_LIMIT,
    IBV_SET_AMRDMA_DEPTH,
    IBV_SET_AMRDMA_MAX_PEERS,
    IBV_SET_AMRDMA_CYCLE,
    IBV_SET_USE_XRC,
    IBV_SET_USE_ODP,
    IBV_SET_ODP_VERBOSE,
    IBV_SET_PHYSMEM_PROBE,
    IBV_SET_PHYSMEM_NOPROBE,
    IBV_SET_COUNT
} aq_ibv_setting_id_t;

// In the order of the ids.
extern const aq_setting_t aq_ibv_rows[IBV_SET_COUNT];

extern const aq_setting_group_t aq_ibv_settings;
extern const aq_conduit_profile_t aq_ibv_profile;

static inline const aq_setting_t *aq_ibv_setting(aq_ibv_setting_id_t id)
{
    return &aq_ibv_rows[id];
}
