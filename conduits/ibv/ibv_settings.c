#include "ibv_settings.h"

#include <stdio.h>

#include "../../other/log.h"
#include "../../other/settings.h"

static void warn_of_old(aq_setting_id_t id)
{
    if (aq_settings_given(id))
        aq_log_warn("%s has no meaning any more; unset it, and name devices and ports in "
                    "GASNET_IBV_PORTS",
                    aq_settings[id].name);
}

aq_status_t aq_ibv_settings_check(char *why, size_t why_size)
{
    if (aq_log_is_first()) {
        warn_of_old(AQ_SET_HCA_ID);
        warn_of_old(AQ_SET_PORT_NUM);
    }
    if (aq_settings_bool(AQ_SET_CONNECT_STATIC) || aq_settings_bool(AQ_SET_CONNECT_DYNAMIC))
        return AQ_OK;
    snprintf(why, why_size,
             "GASNET_CONNECT_DYNAMIC is no, and GASNET_CONNECT_STATIC is not yes, so that no "
             "process would ever be connected; unset the one, or set the other to 1");
    return AQ_ERR_CONFIG;
}
