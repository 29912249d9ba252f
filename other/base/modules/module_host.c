// SPDX-License-Identifier: BSD-3-Clause
// The library's services, as a module calls them: the functions of log.h and settings.h that a
// module may call. Linked into modules only, in place of log.c and settings.c.
#include "host.h"

const aq_host_t *aq_module_host; // set by the library before it calls the module

// ---- messages ----

void aq_log_message(aq_log_kind_t kind, const char *fmt, va_list args)
{
    aq_module_host->log(kind, fmt, args);
}

bool aq_log_is_first(void)
{
    return aq_module_host->log_is_first();
}

const char *aq_log_host(void)
{
    return aq_module_host->log_host();
}

// ---- settings ----

const aq_setting_t *aq_settings_row(aq_setting_id_t id)
{
    return aq_module_host->settings_row(id);
}

bool aq_setting_given(const aq_setting_t *row)
{
    return aq_module_host->setting_given(row);
}

bool aq_setting_bool(const aq_setting_t *row)
{
    return aq_module_host->setting_bool(row);
}

int64_t aq_setting_int(const aq_setting_t *row)
{
    return aq_module_host->setting_int(row);
}

double aq_setting_real(const aq_setting_t *row)
{
    return aq_module_host->setting_real(row);
}

uint64_t aq_setting_bytes(const aq_setting_t *row)
{
    return aq_module_host->setting_bytes(row);
}

const aq_size_limit_t *aq_setting_limit(const aq_setting_t *row)
{
    return aq_module_host->setting_limit(row);
}

const char *aq_setting_text(const aq_setting_t *row)
{
    return aq_module_host->setting_text(row);
}

void aq_settings_quote(const char *value, char *buf, size_t size)
{
    aq_module_host->settings_quote(value, buf, size);
}

void aq_observed(aq_observed_t what, uint32_t peer, uint64_t bytes)
{
    aq_module_host->observed(what, peer, bytes);
}
