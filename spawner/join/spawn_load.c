// SPDX-License-Identifier: BSD-3-Clause
// The table of loaded boot modules. The launcher chooses from it (start/spawn_module.c), a bare
// program joins by it (boot_module.c), and gasnet_info lists it.
#include "spawn_load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../other/base/log/log.h"
#include "../../other/base/settings/profile.h"

#define WHY_ROOM 1024
#define MODULES_MAX 32u

static aq_loaded_t modules[MODULES_MAX];
static size_t module_count;

static bool find_file(const char *name, char *path, size_t size)
{
    char file[AQ_MODULE_NAME_MAX + 16];
    snprintf(file, sizeof file, "aq_spawn_%s.so", name);
    return strlen(name) < AQ_MODULE_NAME_MAX && aq_module_find(file, path, size);
}

bool aq_loaded_exists(const char *name)
{
    char path[sizeof modules[0].path];
    return find_file(name, path, sizeof path);
}

// ---- what a module must have ----

static bool is_complete(const aqueduct_spawn_module_t *table, const char *name)
{
    const int ways = (table->start != NULL) + (table->start_host != NULL) + (table->join != NULL);
    return table->name != NULL && strcmp(table->name, name) == 0 && table->usage != NULL &&
           table->init != NULL && ways == 1;
}

static void check_table(aq_loaded_t *module, const char *path, const aqueduct_spawn_module_t *table)
{
    char name[AQ_MODULE_NAME_MAX];
    memcpy(name, module->name, sizeof name);
    if (table->version != AQUEDUCT_SPAWN_VERSION)
        snprintf(module->why, sizeof module->why,
                 "%s was built for version %u of aqueduct_spawn.h, and this launcher needs version "
                 "%u: install the module that belongs to this launcher, or build it again",
                 path, table->version, AQUEDUCT_SPAWN_VERSION);
    else if (!is_complete(table, name))
        snprintf(module->why, sizeof module->why,
                 "the table of %s needs the name %s, a usage, init, and one of start, start_host "
                 "and join (aqueduct_spawn.h): the module is to be mended",
                 path, name);
    else
        module->table = table;
}

static void load_module(aq_loaded_t *module, const char *path)
{
    char why[sizeof module->why];
    const aqueduct_spawn_module_t *table =
        aq_module_open(path, AQUEDUCT_SPAWN_SYMBOL, why, sizeof why);
    if (table != NULL)
        check_table(module, path, table);
    else if (*why != '\0')
        snprintf(module->why, sizeof module->why, "%s", why);
    else
        snprintf(module->why, sizeof module->why,
                 "%s is no boot module, because it does not export " AQUEDUCT_SPAWN_SYMBOL
                 ": build it with aqueduct_spawn.h, or remove it",
                 path);
}

// ---- the list ----

const aq_loaded_t *aq_loaded_find(const char *name)
{
    char path[sizeof modules[0].path];
    for (size_t i = 0; i < module_count; i++)
        if (strcmp(modules[i].name, name) == 0)
            return &modules[i];
    if (module_count == MODULES_MAX || !find_file(name, path, sizeof path))
        return NULL;
    aq_loaded_t *module = &modules[module_count++];
    snprintf(module->name, sizeof module->name, "%s", name);
    memcpy(module->path, path, sizeof path);
    load_module(module, path);
    return module;
}

static void find_each(void *arg, const char *name)
{
    (void)arg;
    (void)aq_loaded_find(name);
}

const aq_loaded_t *aq_loaded_at(size_t index)
{
    static bool all;
    if (!all)
        aq_module_each("spawn", find_each, NULL);
    all = true;
    return index < module_count ? &modules[index] : NULL;
}

// ---- calls ----

bool aq_loaded_usable(const aq_loaded_t *loaded, const aqueduct_spawn_job_t *job, int *priority,
                      char *errbuf, size_t errbuf_size)
{
    snprintf(errbuf, errbuf_size, "%s",
             loaded->table != NULL ? "its module gives no reason" : loaded->why);
    *priority = 0;
    return loaded->table != NULL && loaded->table->init(job, priority, errbuf, errbuf_size) == 0;
}

bool aq_loaded_joins(const aq_loaded_t *loaded)
{
    return loaded->table != NULL && loaded->table->join != NULL;
}

static void set_variable(void *to, const char *name, const char *value)
{
    bool *set = to;
    *set = setenv(name, value, 1) == 0 && *set;
}

bool aq_loaded_join(const aq_loaded_t *loaded, const char *conduit, uint32_t ranks)
{
    char why[WHY_ROOM] = "its module gives no reason";
    const aqueduct_spawn_job_t process = {.conduit = conduit, .ranks = ranks};
    const aq_setting_t *own = aq_profile_find(conduit)->spawner;
    bool set = unsetenv("GASNET_SPAWNER") == 0 && (own == NULL || unsetenv(own->name) == 0);
    if (loaded->table->join(&process, set_variable, &set, why, sizeof why) != 0)
        aq_log_error("spawner %s: %s", loaded->name, why);
    else if (!set)
        aq_log_error("no memory for the variables of spawner %s", loaded->name);
    else
        return true;
    return false;
}
