// SPDX-License-Identifier: BSD-3-Clause
// The registry: finds the conduits that are built in, and refuses unknown names with a reason.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../unit/unit_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../core/job/registry.h"
#include "../../../other/base/settings/settings.h"

// All conduits of the source tree.
#define NAME(conduit) #conduit,
static const char *const known[] = {AQ_EACH_PROFILE(NAME)};
enum { KNOWN = sizeof known / sizeof known[0] };

static char folder[] = "/tmp/aq-registry-XXXXXX";
static const char *const broken_module = "aq_conduit_broken.so";

static int load_settings(void)
{
    char err[512];
    return aq_settings_load(err, sizeof err) == AQ_OK ? 0 : -1;
}

// Makes a folder with a file that has the name of a module but is not one.
static int make_folder(void **state)
{
    (void)state;
    char path[256], list[256];
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/%s", folder, broken_module);
    FILE *file = fopen(path, "w");
    if (!file || fputs("no shared object\n", file) < 0 || fclose(file) != 0)
        return -1;
    snprintf(list, sizeof list, ":%s/absent:%s:%s:", folder, folder, folder);
    setenv("GASNET_MODULE_PATH", list, 1);
    return load_settings();
}

static int remove_folder(void **state)
{
    (void)state;
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, broken_module);
    unlink(path);
    return rmdir(folder);
}

static void test_smp(void **state)
{
    (void)state;
    char why[256] = "";
    const aq_conduit_ops_t *smp = aq_registry_find("smp", why, sizeof why);
    assert_non_null(smp);
    assert_string_equal(smp->name, "smp");
    assert_int_equal(smp->abi, AQ_CONDUIT_ABI);
    assert_true(smp->usable(why, sizeof why));
    assert_string_equal(why, "");
    assert_ptr_equal(aq_registry_find("smp", why, sizeof why), smp);
}

static void test_unknown(void **state)
{
    (void)state;
    static const char *const names[] = {"nowhere", "", "SMP", "smpx", "sm", "../broken"};
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        char why[256] = "", named[64];
        assert_null(aq_registry_find(names[i], why, sizeof why));
        snprintf(named, sizeof named, "no conduit '%s'", names[i]);
        assert_non_null(strstr(why, named));
        assert_non_null(strstr(why, "built in: smp"));
    }
}

static void test_broken_module(void **state)
{
    (void)state;
    char why[256] = "";
    assert_null(aq_registry_find("broken", why, sizeof why));
    assert_non_null(strstr(why, "its module cannot be loaded: "));
    assert_non_null(strstr(why, broken_module));
}

// A reason that is longer than its buffer is cut, and no byte behind the buffer changes.
static void test_short_buffer(void **state)
{
    (void)state;
    char why[32];
    memset(why, 'x', sizeof why);
    assert_null(aq_registry_find("nowhere", why, 16));
    assert_string_equal(why, "this installati");
    assert_int_equal(why[16], 'x');
}

static void test_report(void **state)
{
    (void)state;
    aq_conduit_report_t reports[2 * KNOWN];
    assert_int_equal(aq_registry_report(reports, 2 * KNOWN), KNOWN + 1);
    for (unsigned i = 0; i < KNOWN; i++) {
        char why[sizeof reports[i].why] = "";
        assert_string_equal(reports[i].name, known[i]);
        const aq_conduit_ops_t *ops = aq_registry_find(known[i], why, sizeof why);
        assert_int_equal(reports[i].usable, ops && ops->usable(why, sizeof why));
        assert_string_equal(reports[i].why, why);
        assert_true(reports[i].usable || *why); // a usable conduit may name its device there
    }
    assert_true(reports[0].usable);
    assert_string_equal(reports[0].why, "");
    assert_string_equal(reports[KNOWN].name, "broken"); // found in GASNET_MODULE_PATH
    assert_null(reports[KNOWN].ops);
    assert_non_null(strstr(reports[KNOWN].why, "its module cannot be loaded: "));
}

static void test_report_in_part(void **state)
{
    (void)state;
    aq_conduit_report_t reports[2] = {{.name = "none"}, {.name = "none"}};
    assert_int_equal(aq_registry_report(NULL, 0), KNOWN + 1);
    assert_int_equal(aq_registry_report(reports, 1), KNOWN + 1);
    assert_string_equal(reports[0].name, known[0]);
    assert_string_equal(reports[1].name, "none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_smp),           cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_broken_module), cmocka_unit_test(test_short_buffer),
        cmocka_unit_test(test_report),        cmocka_unit_test(test_report_in_part),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
