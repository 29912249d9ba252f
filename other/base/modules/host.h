// SPDX-License-Identifier: BSD-3-Clause
// What the library does for a module: messages, settings, and the end of the job after a fault. A
// module has no copy of their state; it calls the same functions as the library (aq_log_error,
// aq_setting_int, aq_fatal ...), which a module takes from module_host.c and
// core/ground/module_fatal.c. The library sets the module's pointer when it loads the module.
#pragma once

#include "../log/log.h"
#include "observed.h"
#include "../settings/settings.h"

typedef struct aq_host {
    void (*log)(aq_log_kind_t kind, const char *fmt, va_list args);
    bool (*log_is_first)(void);
    const char *(*log_host)(void);
    const aq_setting_t *(*settings_row)(aq_setting_id_t id);
    bool (*setting_given)(const aq_setting_t *row);
    bool (*setting_bool)(const aq_setting_t *row);
    int64_t (*setting_int)(const aq_setting_t *row);
    double (*setting_real)(const aq_setting_t *row);
    uint64_t (*setting_bytes)(const aq_setting_t *row);
    const aq_size_limit_t *(*setting_limit)(const aq_setting_t *row);
    const char *(*setting_text)(const aq_setting_t *row);
    void (*settings_quote)(const char *value, char *buf, size_t size);
    void (*fatal)(const char *fmt, va_list args) __attribute__((noreturn));
    void (*observed)(aq_observed_t what, uint32_t peer, uint64_t bytes);
} aq_host_t;

// The library's services, which core/job/registry.c hands to each module.
extern const aq_host_t aq_host;

// A module's pointer to them, which it exports under this name.
__attribute__((visibility("default"))) extern const aq_host_t *aq_module_host;
#define AQ_MODULE_HOST_SYMBOL "aq_module_host"
