// SPDX-License-Identifier: BSD-3-Clause
// Chooses the module that starts the job: the one that the user names, else the usable one with the
// highest priority.
#include "spawn_module.h"

#include <stdio.h>
#include <string.h>

#include "../../other/base/log/log.h"
#include "../../other/base/settings/profile.h"
#include "../../other/base/settings/settings.h"
#include "spawn_priority.h"
#include "../join/spawner_list.h"

#define WHY_ROOM 3072

static const aq_spawn_module_t *const modules[] = {
    &aq_module_fork,       &aq_module_ssh, &aq_module_universe, &aq_module_custom,
    &aq_module_rendezvous, &aq_module_mpi, &aq_module_pmi,
};

#define MODULES (sizeof modules / sizeof modules[0])

// A module that can be chosen: built in, or loaded; both NULL: none.
typedef struct candidate {
    const aq_spawn_module_t *module;
    const aq_loaded_t *loaded;
} candidate_t;

// Number `index` of all: first the built-in modules.
static candidate_t candidate_at(size_t index)
{
    if (index < MODULES)
        return (candidate_t){.module = modules[index]};
    return (candidate_t){.loaded = aq_loaded_at(index - MODULES)};
}

static bool candidate_exists(const candidate_t *candidate)
{
    return candidate->module != NULL || candidate->loaded != NULL;
}

static const char *candidate_name(const candidate_t *candidate)
{
    return candidate->module != NULL ? candidate->module->name : candidate->loaded->name;
}

static bool candidate_init(const candidate_t *candidate, const aq_start_t *start, int *priority,
                           char *why)
{
    *priority = 0;
    bool usable = candidate->module != NULL
                      ? candidate->module->init(start, priority, why, WHY_ROOM)
                      : aq_loaded_init(candidate->loaded, start, priority, why, WHY_ROOM);
    *priority = aq_spawn_priority(candidate_name(candidate), *priority);
    return usable;
}

static const aq_spawn_module_t *candidate_take(const candidate_t *candidate)
{
    return candidate->loaded != NULL ? aq_loaded_take(candidate->loaded) : candidate->module;
}

// ---- the user's choice ----

// A spawner that the user asks for, and the option or variable that names it.
typedef struct choice {
    const char *name; // NULL: none
    const char *by;
} choice_t;

static bool take_setting(const aq_setting_t *row, choice_t *choice)
{
    if (!aq_setting_given(row) || strcmp(aq_setting_text(row), "auto") == 0)
        return false;
    *choice = (choice_t){aq_setting_text(row), row->name};
    return true;
}

// GASNet's letters, for conduit udp.
static void take_letter(choice_t *choice)
{
    const char *letter = aq_settings_text(AQ_SET_SPAWNFN);
    if (!aq_settings_given(AQ_SET_SPAWNFN))
        return;
    choice->by = "GASNET_SPAWNFN";
    choice->name = aq_spawner_of_letter(letter);
    if (choice->name == NULL)
        choice->name = letter;
}

static choice_t find_choice(const aq_start_t *start, const char *option)
{
    const aq_conduit_profile_t *conduit = aq_profile_find(start->conduit);
    choice_t choice = {option, "option -spawner"};
    if (option != NULL && strcmp(option, "auto") != 0)
        return choice;
    choice.name = NULL;
    if (take_setting(aq_spawner_setting(start->conduit), &choice))
        return choice;
    choice.name = option != NULL ? conduit->first_spawner : aq_spawner_default(start->conduit);
    if (choice.name != conduit->first_spawner)
        choice.by = "the default that configure set (GASNET_SPAWNER=auto undoes it)";
    else if (choice.name != NULL)
        choice.by = conduit->settings->owner;
    if (conduit->spawn_letters)
        take_letter(&choice);
    return choice;
}

static candidate_t refuse_choice(const choice_t *choice, const char *why)
{
    aq_log_error("%s asks for the spawner '%s', but %s; gasnet_info lists the spawners", choice->by,
                 choice->name, why);
    return (candidate_t){NULL, NULL};
}

// Loads no module but that of this name.
static candidate_t find_chosen(const choice_t *choice)
{
    for (size_t i = 0; i < MODULES; i++)
        if (strcmp(modules[i]->name, choice->name) == 0)
            return (candidate_t){.module = modules[i]};
    return (candidate_t){.loaded = aq_loaded_find(choice->name)};
}

static candidate_t take_choice(const aq_start_t *start, const choice_t *choice)
{
    char why[WHY_ROOM];
    int priority;
    const candidate_t candidate = find_chosen(choice);
    if (candidate_exists(&candidate))
        return candidate_init(&candidate, start, &priority, why) ? candidate
                                                                 : refuse_choice(choice, why);
    if (strcmp(choice->name, "R") == 0)
        return refuse_choice(choice, "GASNet dropped rexec, and Aqueduct does not have it: set it "
                                     "to L, S or C");
    return refuse_choice(choice, "there is no spawner of this name");
}

// ---- without a choice ----

static candidate_t take_best(const aq_start_t *start)
{
    candidate_t best = {NULL, NULL}, candidate;
    int most = -1, priority;
    char why[WHY_ROOM];
    for (size_t i = 0; candidate = candidate_at(i), candidate_exists(&candidate); i++)
        if (candidate_init(&candidate, start, &priority, why) && priority > most) {
            best = candidate;
            most = priority;
        }
    if (!candidate_exists(&best)) // fork is always usable
        aq_log_error("GASNET_SPAWN_PRIORITY excludes all spawners that are usable here; raise one "
                     "of them to 0, or name one with -spawner");
    return best;
}

static void print_others(const aq_start_t *start, const char *taken, const choice_t *choice)
{
    char why[WHY_ROOM];
    int priority;
    candidate_t other;
    for (size_t i = 0; other = candidate_at(i), candidate_exists(&other); i++) {
        if (strcmp(candidate_name(&other), taken) == 0)
            continue;
        if (candidate_init(&other, start, &priority, why)) {
            if (choice->name != NULL)
                snprintf(why, sizeof why, "%s asks for %s", choice->by, choice->name);
            else
                snprintf(why, sizeof why, "%s has a higher priority", taken);
        }
        printf("gasnetrun: spawner %s is not taken: %s\n", candidate_name(&other), why);
    }
    (void)fflush(stdout);
}

const aq_spawn_module_t *aq_spawn_choose(const aq_start_t *start, const char *name)
{
    choice_t choice = find_choice(start, name);
    if (!aq_spawn_check_priorities())
        return NULL;
    const candidate_t chosen = choice.name != NULL ? take_choice(start, &choice) : take_best(start);
    if (!candidate_exists(&chosen))
        return NULL;
    if (start->more_verbose)
        print_others(start, candidate_name(&chosen), &choice);
    return candidate_take(&chosen);
}

static bool step_succeeds(aq_status_t (*step)(const aq_start_t *start), const aq_start_t *start)
{
    return step == NULL || step(start) == AQ_OK;
}

static void step_take(void (*step)(const aq_start_t *start), const aq_start_t *start)
{
    if (step != NULL)
        step(start);
}

int aq_spawn_run(const aq_spawn_module_t *module, const aq_start_t *start, bool dry)
{
    int code = AQ_EXIT_USAGE;
    if (module->parse_options(start) != AQ_OK)
        return code;
    if (step_succeeds(module->allocate_hosts, start) &&
        step_succeeds(module->verify_hosts, start)) {
        if (start->verbose)
            step_take(module->describe, start);
        if (dry) {
            code = 0;
        } else {
            code = 1;
            if (step_succeeds(module->prepare, start))
                module->start(start, &code);
            step_take(module->finalize, start);
        }
    }
    step_take(module->deallocate_hosts, start);
    return code;
}
