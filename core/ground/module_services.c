// SPDX-License-Identifier: BSD-3-Clause
// The functions of the library that a module may call, as one table (host.h). registry.c gives it
// to each module that it loads.
#include "../../other/base/modules/host.h"

#include "fatal.h"

const aq_host_t aq_host = {
    .log = aq_log_message,
    .log_is_first = aq_log_is_first,
    .log_host = aq_log_host,
    .settings_row = aq_settings_row,
    .setting_given = aq_setting_given,
    .setting_bool = aq_setting_bool,
    .setting_int = aq_setting_int,
    .setting_real = aq_setting_real,
    .setting_bytes = aq_setting_bytes,
    .setting_limit = aq_setting_limit,
    .setting_text = aq_setting_text,
    .settings_quote = aq_settings_quote,
    .fatal = aq_fatal_message,
    .observed = aq_observed,
};
