// Chooses the module that starts the job: the one that the user names, else the usable one with the
// highest priority.
#include "spawn_module.h"

#include <stdio.h>
#include <string.h>

#include "../other/base/log.h"
#include "../other/base/profile.h"
#include "../other/base/settings.h"
#include "spawner_list.h"

#define WHY_ROOM 256

static const aq_spawn_module_t *const modules[] = {
    &aq_module_fork,       &aq_module_ssh, &aq_module_custom,
    &aq_module_rendezvous, &aq_module_mpi, &aq_module_pmi,
};

#define MODULES (sizeof modules / sizeof modules[0])

static bool init_module(const aq_spawn_module_t *module, const aq_start_t *start, int *priority,
                        char *why)
{
    *priority = 0;
    return module->init(start, priority, why, WHY_ROOM);
}

// ---- the user's wish ----

// A spawner that the user asks for, and the option or variable that says so.
typedef struct wish {
    const char *name; // NULL: none
    const char *by;
} wish_t;

static bool take_setting(const aq_setting_t *row, wish_t *wish)
{
    if (!aq_setting_given(row) || strcmp(aq_setting_text(row), "auto") == 0)
        return false;
    *wish = (wish_t){aq_setting_text(row), row->name};
    return true;
}

// GASNet's letters, for conduit udp.
static void take_letter(wish_t *wish)
{
    const char *letter = aq_settings_text(AQ_SET_SPAWNFN);
    if (!aq_settings_given(AQ_SET_SPAWNFN))
        return;
    wish->by = "GASNET_SPAWNFN";
    wish->name = aq_spawner_of_letter(letter);
    if (wish->name == NULL)
        wish->name = letter;
}

static wish_t find_wish(const aq_start_t *start, const char *option)
{
    const aq_conduit_profile_t *conduit = aq_profile_find(start->conduit);
    wish_t wish = {option, "option -spawner"};
    if (option != NULL && strcmp(option, "auto") != 0)
        return wish;
    wish.name = NULL;
    if (take_setting(aq_spawner_setting(start->conduit), &wish))
        return wish;
    if (conduit->first_spawner != NULL)
        wish = (wish_t){conduit->first_spawner, conduit->settings->owner};
    if (conduit->spawn_letters)
        take_letter(&wish);
    return wish;
}

static const aq_spawn_module_t *refuse_wish(const wish_t *wish, const char *why)
{
    aq_log_error("%s asks for the spawner '%s', but %s; gasnet_info lists the spawners", wish->by,
                 wish->name, why);
    return NULL;
}

static const aq_spawn_module_t *take_wish(const aq_start_t *start, const wish_t *wish)
{
    char why[WHY_ROOM];
    int priority;
    for (size_t i = 0; i < MODULES; i++) {
        if (strcmp(modules[i]->name, wish->name) != 0)
            continue;
        if (init_module(modules[i], start, &priority, why))
            return modules[i];
        return refuse_wish(wish, why);
    }
    if (strcmp(wish->name, "R") == 0)
        return refuse_wish(wish, "GASNet dropped rexec, and Aqueduct does not have it: set it to "
                                 "L, S or C");
    return refuse_wish(wish, "there is no spawner of this name");
}

// ---- without a wish ----

static const aq_spawn_module_t *take_best(const aq_start_t *start)
{
    const aq_spawn_module_t *best = NULL;
    int most = -1, priority;
    char why[WHY_ROOM];
    for (size_t i = 0; i < MODULES; i++)
        if (init_module(modules[i], start, &priority, why) && priority > most) {
            best = modules[i];
            most = priority;
        }
    return best; // fork is always usable
}

static void print_others(const aq_start_t *start, const aq_spawn_module_t *taken,
                         const wish_t *wish)
{
    char why[WHY_ROOM];
    int priority;
    for (size_t i = 0; i < MODULES; i++) {
        if (modules[i] == taken)
            continue;
        if (init_module(modules[i], start, &priority, why)) {
            if (wish->name != NULL)
                snprintf(why, sizeof why, "%s asks for %s", wish->by, wish->name);
            else
                snprintf(why, sizeof why, "%s has a higher priority", taken->name);
        }
        printf("gasnetrun: spawner %s is not taken: %s\n", modules[i]->name, why);
    }
    (void)fflush(stdout);
}

const aq_spawn_module_t *aq_spawn_choose(const aq_start_t *start, const char *name)
{
    wish_t wish = find_wish(start, name);
    const aq_spawn_module_t *taken = wish.name != NULL ? take_wish(start, &wish) : take_best(start);
    if (taken != NULL && start->more_verbose)
        print_others(start, taken, &wish);
    return taken;
}

int aq_spawn_run(const aq_spawn_module_t *module, const aq_start_t *start, bool dry)
{
    int code = AQ_EXIT_USAGE;
    if (module->parse_options(start) != AQ_OK)
        return code;
    if (module->allocate_hosts(start) == AQ_OK && module->verify_hosts(start) == AQ_OK) {
        if (start->verbose)
            module->describe(start);
        if (dry) {
            code = 0;
        } else {
            code = 1;
            if (module->prepare(start) == AQ_OK)
                module->start(start, &code);
            module->finalize();
        }
    }
    module->deallocate_hosts();
    return code;
}
