// SPDX-License-Identifier: BSD-3-Clause
// A program without a launcher that a boot module joins to its job (aqueduct_spawn.h, `join`).
#include <string.h>

#include "../../other/base/log/log.h"
#include "../../other/base/settings/settings.h"
#include "../boot/boot.h"
#include "boot_origin.h"
#include "spawn_load.h"
#include "spawner_list.h"

static aq_status_t join_job(const aq_loaded_t *loaded, const char *conduit)
{
    const aqueduct_spawn_job_t job = {.conduit = conduit};
    char why[3072];
    int priority;
    if (!aq_loaded_usable(loaded, &job, &priority, why, sizeof why)) {
        aq_log_error("%s asks for the spawner '%s', but %s; gasnet_info lists the spawners",
                     aq_spawner_setting(conduit)->name, loaded->name, why);
        return AQ_ERR_CONFIG;
    }
    return aq_loaded_join(loaded, conduit, 0) ? aq_settings_load_logged() : AQ_ERR_CONFIG;
}

aq_status_t aq_boot_ask_module(const char *conduit)
{
    const char *name = aq_boot_spawner_setting(conduit);
    if (aq_settings_given(AQ_SET_SPAWN_CONTROL) || strcmp(name, "auto") == 0 ||
        aq_spawner_is_built_in(name))
        return AQ_OK;
    const aq_loaded_t *loaded = aq_loaded_find(name);
    if (loaded == NULL || (loaded->table != NULL && !aq_loaded_joins(loaded)))
        return AQ_OK; // later code refuses the name, or the module is for launchers
    return join_job(loaded, conduit);
}
