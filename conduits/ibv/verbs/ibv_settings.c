// SPDX-License-Identifier: BSD-3-Clause
// The checks of ibv_table.c before anything is opened, and those of ibv_device.c once it knows the
// device.
#include "ibv_settings.h"
#include "ibv_profile.h"

#include <stdio.h>
#include <string.h>

#include "../../../other/base/minmax.h"
#include "../../../other/base/log/log.h"
#include "../../../other/base/settings/settings.h"

static void warn_of_old(const aq_setting_t *row)
{
    if (aq_setting_given(row))
        aq_log_warn("%s no longer has a meaning; unset it, and name devices and ports in "
                    "GASNET_IBV_PORTS",
                    row->name);
}

enum { DEFAULT_PORTS = 2 };

size_t aq_ibv_ports_wanted(void)
{
    const int64_t pairs = aq_setting_int(aq_ibv_setting(IBV_SET_NUM_QPS));
    if (pairs)
        return (size_t)pairs;
    return *aq_setting_text(aq_ibv_setting(IBV_SET_PORTS)) ? SIZE_MAX : (size_t)DEFAULT_PORTS;
}

unsigned aq_ibv_queue_pairs_wanted(unsigned ports)
{
    const int64_t pairs = aq_setting_int(aq_ibv_setting(IBV_SET_NUM_QPS));
    return pairs ? (unsigned)pairs : ports;
}

bool aq_ibv_xrc_wanted(void)
{
    return aq_setting_bool(aq_ibv_setting(IBV_SET_USE_XRC)) &&
           strcmp(aq_setting_text(aq_ibv_setting(IBV_SET_CONNECT)), "ud") == 0;
}

static void warn_of_xrc(void)
{
    if (aq_setting_bool(aq_ibv_setting(IBV_SET_USE_XRC)) && !aq_ibv_xrc_wanted())
        aq_log_warn("GASNET_USE_XRC=1 has no effect: extended reliable connections need "
                    "connections by datagrams; set GASNET_IBV_CONNECT=ud, too, or unset the "
                    "variable");
}

aq_status_t aq_ibv_settings_check(char *errbuf, size_t errbuf_size)
{
    if (aq_log_is_first()) {
        warn_of_old(aq_ibv_setting(IBV_SET_HCA_ID));
        warn_of_old(aq_ibv_setting(IBV_SET_PORT_NUM));
        warn_of_xrc();
    }
    if (aq_setting_bool(aq_ibv_setting(IBV_SET_CONNECT_STATIC)) ||
        aq_setting_bool(aq_ibv_setting(IBV_SET_CONNECT_DYNAMIC)))
        return AQ_OK;
    snprintf(errbuf, errbuf_size,
             "GASNET_CONNECT_DYNAMIC is no, and GASNET_CONNECT_STATIC is not yes, so that no "
             "process would ever be connected; unset the one, or set the other to 1");
    return AQ_ERR_CONFIG;
}

// Variables that are not set, or 0, adapt to the device.
aq_status_t aq_ibv_settings_fit(const char *device, const struct ibv_device_attr *can,
                                uint64_t peers, char *errbuf, size_t errbuf_size)
{
    const uint64_t to_all =
        peers * (uint64_t)aq_setting_int(aq_ibv_setting(IBV_SET_NETWORKDEPTH_PP));
    const uint64_t credits =
        peers * (uint64_t)aq_setting_int(aq_ibv_setting(IBV_SET_AM_CREDITS_PP));
    const int reads = can->max_qp_rd_atom < can->max_qp_init_rd_atom ? can->max_qp_rd_atom
                                                                     : can->max_qp_init_rd_atom;
    const int pairs = (uint64_t)can->max_qp > peers ? (int)((uint64_t)can->max_qp / peers) : 1;
    const struct {
        aq_ibv_setting_id_t id;
        uint64_t used; // more than this has no effect
        int most;
        const char *of;
    } limits[] = {
        {IBV_SET_NETWORKDEPTH_PP, UINT64_MAX, can->max_qp_wr, "entries in a send queue"},
        {IBV_SET_NETWORKDEPTH_TOTAL, to_all, can->max_cqe, "entries in a completion queue"},
        {IBV_SET_AM_CREDITS_TOTAL, aq_min(credits, to_all), can->max_srq_wr,
         "buffers in a shared receive queue"},
        {IBV_SET_NUM_QPS, UINT64_MAX, pairs, "queue pairs for each peer"},
        {IBV_SET_QP_RD_ATOM, UINT64_MAX, reads, "RDMA reads under way on a connection"},
    };
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        const aq_setting_t *row = aq_ibv_setting(limits[i].id);
        const int64_t value = aq_setting_int(row);
        if (!aq_setting_given(row) ||
            aq_min((uint64_t)value, limits[i].used) <= (uint64_t)limits[i].most)
            continue;
        snprintf(errbuf, errbuf_size,
                 "%s=%lld is more than verbs device %s can do: it has at most %d %s; set it to "
                 "that or less",
                 row->name, (long long)value, device, limits[i].most, limits[i].of);
        return AQ_ERR_CONFIG;
    }
    return AQ_OK;
}
