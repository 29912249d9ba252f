// SPDX-License-Identifier: BSD-3-Clause
// Which spawner the launcher takes: the one that the user names, else the one that configure made
// the default of the conduit, else the usable one of highest priority.
#include "../../unit/unit_test.h"

#include <string.h>

#include "../../../other/base/settings/profile.h"
#include "../../../spawner/join/boot_origin.h"
#include "../../../spawner/join/spawner_list.h"
#include "../../../spawner/start/spawn_module.h"
#include "../../unit/default_settings.h"

// As a conduit of a tree that was configured with --with-site-spawner=rendezvous.
static const aq_setting_t rows[] = {
    {"GASNET_SITE_SPAWNER", AQ_TYPE_CHOICE, "rendezvous", 0, 0, AQ_SPAWNER_CHOICES, "For a test."},
};
static const aq_setting_group_t group = {"conduit site", rows, 1};
static const aq_conduit_profile_t site = {.name = "site",
                                          .settings = &group,
                                          .spawner = &rows[0],
                                          .spawners = AQ_SPAWNERS,
                                          .spawn_letters = true};

// The spawner of a launcher with this option (NULL: none), and with a variable (NULL: none).
static const char *chosen(const char *option, const char *name, const char *value)
{
    char err[256];
    const aq_start_t start = {.conduit = "site"};
    assert_int_equal(default_settings(), 0);
    setenv("GASNET_SPAWN_PRIORITY", "fork=1000", 1);
    setenv("GASNET_SSH_SERVERS", "localhost", 1); // spawner ssh is usable
    if (name != NULL)
        setenv(name, value, 1);
    assert_int_equal(aq_settings_load(err, sizeof err), AQ_OK);
    const aq_spawn_module_t *module = aq_spawn_choose(&start, option);
    assert_non_null(module);
    return module->name;
}

static int start(void **state)
{
    char err[256];
    (void)state;
    return aq_profile_add(&site, err, sizeof err) == AQ_OK ? 0 : -1;
}

static void test_default(void **state)
{
    (void)state;
    assert_string_equal(chosen(NULL, NULL, NULL), "rendezvous");
}

// What the user says at run time comes first, also that there is to be no default.
static void test_user(void **state)
{
    (void)state;
    assert_string_equal(chosen("ssh", NULL, NULL), "ssh");
    assert_string_equal(chosen(NULL, "GASNET_SITE_SPAWNER", "ssh"), "ssh");
    assert_string_equal(chosen(NULL, "GASNET_SPAWNER", "ssh"), "ssh");
    assert_string_equal(chosen(NULL, "GASNET_SPAWNFN", "S"), "ssh");
    assert_string_equal(chosen(NULL, "GASNET_SITE_SPAWNER", "auto"), "fork");
    assert_string_equal(chosen(NULL, "GASNET_SPAWNER", "auto"), "fork");
}

// The default is that of launchers: a process without one still joins whatever started it.
static void test_bare(void **state)
{
    char err[256];
    (void)state;
    assert_int_equal(default_settings(), 0);
    assert_false(aq_boot_by_rendezvous("site"));
    setenv("GASNET_SITE_SPAWNER", "rendezvous", 1);
    assert_int_equal(aq_settings_load(err, sizeof err), AQ_OK);
    assert_true(aq_boot_by_rendezvous("site"));
}

static void test_conduits(void **state)
{
    (void)state;
    assert_int_equal(default_settings(), 0);
    assert_string_equal(aq_spawner_default("site"), "rendezvous");
    assert_string_equal(aq_spawner_default("mpi"), "mpi");
    assert_null(aq_spawner_default("none"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_default),
        cmocka_unit_test(test_user),
        cmocka_unit_test(test_bare),
        cmocka_unit_test(test_conduits),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
