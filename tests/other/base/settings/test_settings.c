// SPDX-License-Identifier: BSD-3-Clause
// The settings table: every row is valid, every type is parsed, and a value that is not legal is
// reported and changes nothing.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../../unit/unit_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../../other/base/settings/settings.h"
#include "../../../../other/base/settings/settings_family.h"
#include "../../../../other/base/settings/settings_lists.h"
#include "../../../../conduits/ibv/verbs/ibv_profile.h"
#include "../../../unit/default_settings.h"
#include "../../../unit/assert_between.h"

#define RANDOM_INPUTS 20000

// Runs before each test: an environment without our variables, and default values.
static int clear_environment(void **state)
{
    (void)state;
    return default_settings();
}

static void set_variable_of_row(const aq_setting_t *row, const char *value)
{
    assert_int_equal(setenv(row->name, value, 1), 0);
}

static void set_variable(aq_setting_id_t id, const char *value)
{
    set_variable_of_row(&aq_settings[id], value);
}

static void load_row(const aq_setting_t *row, const char *value)
{
    char err[512] = "";
    set_variable_of_row(row, value);
    assert_int_equal(aq_settings_load(err, sizeof err), AQ_OK);
    assert_string_equal(err, "");
}

static void load_with(aq_setting_id_t id, const char *value)
{
    load_row(&aq_settings[id], value);
}

// Checks that the value is refused with a message that contains the name, the value and `words`.
static void refuse_row(const aq_setting_t *row, const char *value, const char *words)
{
    char err[512] = "", checked[512] = "", start[256];
    set_variable_of_row(row, value);
    assert_int_equal(aq_settings_load(err, sizeof err), AQ_ERR_CONFIG);
    snprintf(start, sizeof start, "%s: '%s' is not ", row->name, value);
    assert_memory_equal(err, start, strlen(start));
    assert_non_null(strstr(err, words));
    assert_non_null(strstr(err, "unset it"));
    assert_int_equal(aq_settings_check(row, checked, sizeof checked), AQ_ERR_CONFIG);
    assert_string_equal(checked, err);
    unsetenv(row->name);
}

static void refuse_with(aq_setting_id_t id, const char *value, const char *words)
{
    refuse_row(&aq_settings[id], value, words);
}

// The mpi conduit of GASNet defines these names; they lack the prefix GASNET_.
static bool has_mpi_name(const char *name)
{
    return strcmp(name, "MPIRUN_CMD") == 0 || strcmp(name, "PMIRUN_CMD") == 0 ||
           strncmp(name, "AMMPI_", 6) == 0;
}

static void test_rows_are_sound(void **state)
{
    (void)state;
    for (size_t i = 0; i < aq_settings_count(); i++) {
        const aq_setting_t *row = aq_settings_at(i);
        assert_non_null(row->name);
        if (!has_mpi_name(row->name))
            assert_memory_equal(row->name, "GASNET_", 7);
        assert_between(strlen(row->name), 8, 64); // NAME_MAX_BYTES of settings.c
        assert_non_null(row->fallback);
        assert_non_null(row->help);
        assert_true(strlen(row->help) > 10);
        assert_null(strchr(row->help, '\n'));
        assert_true(row->low <= row->high);
        assert_true(row->choices || row->type != AQ_TYPE_CHOICE);
        assert_true(!row->choices || row->type == AQ_TYPE_CHOICE || row->type == AQ_TYPE_SIGNALS ||
                    row->type == AQ_TYPE_LIMIT);
        // Only text types may have an empty default.
        assert_true(row->type >= AQ_TYPE_SIGNALS || *row->fallback);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(row->name, aq_settings_at(j)->name);
    }
}

// Must run first and without clear_environment, so that no settings have been loaded.
static void test_defaults_before_load(void **state)
{
    (void)state;
    setenv("GASNET_PSHM_NODES", "7", 1);
    assert_int_equal(aq_settings_int(AQ_SET_PSHM_NODES), 1);
    assert_true(aq_settings_bool(AQ_SET_CATCH_EXIT));
    assert_string_equal(aq_settings_text(AQ_SET_WAITMODE), "auto");
    assert_string_equal(aq_settings_text(AQ_SET_CONDUIT), "");
    assert_false(aq_settings_given(AQ_SET_PSHM_NODES));
}

static void test_defaults(void **state)
{
    (void)state;
    assert_int_equal(aq_settings_int(AQ_SET_PSHM_NODES), 1);
    assert_int_equal(aq_settings_int(AQ_SET_PSHM_NETWORK_DEPTH), 8);
    assert_int_equal(aq_settings_int(AQ_SET_SUPERNODE_MAXSIZE), 0);
    assert_int_equal(aq_settings_int(AQ_SET_MAX_THREADS), 1024);
    assert_int_equal(aq_settings_int(AQ_SET_SPIN_US), 500);
    assert_true(aq_settings_real(AQ_SET_EXITTIMEOUT) == 0);
    assert_true(aq_settings_real(AQ_SET_EXITTIMEOUT_MIN) == 2);
    assert_true(aq_settings_real(AQ_SET_EXITTIMEOUT_MAX) == 30);
    assert_true(aq_settings_real(AQ_SET_EXITTIMEOUT_FACTOR) == 0.05);
    assert_true(aq_settings_limit(AQ_SET_MAX_SEGSIZE)->fraction == 0.85);
    assert_true(aq_settings_limit(AQ_SET_MAX_SEGSIZE)->per_host);
    assert_true(aq_settings_bool(AQ_SET_CATCH_EXIT));
    assert_false(aq_settings_bool(AQ_SET_FREEZE));
    assert_string_equal(aq_settings_text(AQ_SET_SPAWNER), "auto");
    for (int id = 0; id < AQ_SET_COUNT; id++)
        assert_false(aq_settings_given((aq_setting_id_t)id));
}

static void test_int(void **state)
{
    (void)state;
    load_with(AQ_SET_PSHM_NODES, "4096");
    assert_int_equal(aq_settings_int(AQ_SET_PSHM_NODES), 4096);
    assert_true(aq_settings_given(AQ_SET_PSHM_NODES));
    load_with(AQ_SET_PSHM_NODES, " 0x10 ");
    assert_int_equal(aq_settings_int(AQ_SET_PSHM_NODES), 16);
    const char *const bad[] = {"x", "0", "4097", "-1", "1.5", " ", "9223372036854775808", "4 4"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        refuse_with(AQ_SET_PSHM_NODES, bad[i], "a whole number from 1 to 4096");
    refuse_with(AQ_SET_PSHM_NETWORK_DEPTH, "3", "from 4 to 1024");
    refuse_with(AQ_SET_MAX_THREADS, "65536", "from 1 to 65535");
    refuse_with(AQ_SET_SPIN_US, "1000001", "from 0 to 1000000");
}

static void test_fault_sentence(void **state)
{
    (void)state;
    char err[512];
    set_variable(AQ_SET_PSHM_NODES, "x");
    assert_int_equal(aq_settings_load(err, sizeof err), AQ_ERR_CONFIG);
    assert_string_equal(err,
                        "GASNET_PSHM_NODES: 'x' is not a whole number from 1 to 4096; unset it "
                        "or give one, for example GASNET_PSHM_NODES=1");
}

static void test_real(void **state)
{
    (void)state;
    load_with(AQ_SET_EXITTIMEOUT_FACTOR, "0.125");
    assert_true(aq_settings_real(AQ_SET_EXITTIMEOUT_FACTOR) == 0.125);
    load_with(AQ_SET_EXITTIMEOUT, "1e3");
    assert_true(aq_settings_real(AQ_SET_EXITTIMEOUT) == 1000);
    refuse_with(AQ_SET_EXITTIMEOUT, "-1", "a number from 0 to 1000000000");
    refuse_with(AQ_SET_EXITTIMEOUT, "soon", "a number from 0 to 1000000000");
    refuse_with(AQ_SET_EXITTIMEOUT, "nan", "a number from 0 to 1000000000");
}

static void test_bool(void **state)
{
    (void)state;
    load_with(AQ_SET_FREEZE, "YES");
    assert_true(aq_settings_bool(AQ_SET_FREEZE));
    load_with(AQ_SET_CATCH_EXIT, "n");
    assert_false(aq_settings_bool(AQ_SET_CATCH_EXIT));
    refuse_with(AQ_SET_FREEZE, "maybe", "yes (1 y yes true on) or no (0 n no false off)");
    refuse_with(AQ_SET_FREEZE, "2", "for example GASNET_FREEZE=0");
}

static void test_power(void **state)
{
    (void)state;
    assert_int_equal(aq_setting_bytes(aq_ibv_setting(IBV_SET_AMRDMA_DEPTH)), 16);
    load_row(aq_ibv_setting(IBV_SET_AMRDMA_DEPTH), "32");
    assert_int_equal(aq_setting_bytes(aq_ibv_setting(IBV_SET_AMRDMA_DEPTH)), 32);
    load_row(aq_ibv_setting(IBV_SET_PIN_MAXSZ), "256K");
    assert_int_equal(aq_setting_bytes(aq_ibv_setting(IBV_SET_PIN_MAXSZ)), 256 << 10);
    load_row(aq_ibv_setting(IBV_SET_AMRDMA_CYCLE), "0");
    assert_int_equal(aq_setting_bytes(aq_ibv_setting(IBV_SET_AMRDMA_CYCLE)), 0);
    refuse_row(aq_ibv_setting(IBV_SET_AMRDMA_DEPTH), "0", "a power of 2 from 1 to 32");
    refuse_row(aq_ibv_setting(IBV_SET_AMRDMA_DEPTH), "64", "a power of 2 from 1 to 32");
    refuse_row(aq_ibv_setting(IBV_SET_AMRDMA_DEPTH), "24", "a power of 2 from 1 to 32");
    refuse_row(aq_ibv_setting(IBV_SET_AMRDMA_CYCLE), "1000",
               "0 or a power of 2 from 0 to 1073741824");
    refuse_row(aq_ibv_setting(IBV_SET_PIN_MAXSZ), "3K", "0 or a power of 2");
    refuse_row(aq_ibv_setting(IBV_SET_PIN_MAXSZ), "x", "0 or a power of 2");
}

static void test_limit(void **state)
{
    (void)state;
    load_with(AQ_SET_MAX_SEGSIZE, "4GB/P");
    assert_true(aq_settings_limit(AQ_SET_MAX_SEGSIZE)->bytes == UINT64_C(4) << 30);
    assert_true(aq_settings_limit(AQ_SET_MAX_SEGSIZE)->fraction == 0);
    assert_false(aq_settings_limit(AQ_SET_MAX_SEGSIZE)->per_host);
    refuse_with(AQ_SET_MAX_SEGSIZE, "4GB/Q", "a memory limit such as 4GB");
    refuse_with(AQ_SET_MAX_SEGSIZE, "1.5/H", "for example GASNET_MAX_SEGSIZE=0.85/H");
}

static void test_choice(void **state)
{
    (void)state;
    load_with(AQ_SET_WAITMODE, "spin");
    assert_string_equal(aq_settings_text(AQ_SET_WAITMODE), "spin");
    load_with(AQ_SET_WAITMODE, " SpinBlock\t");
    assert_string_equal(aq_settings_text(AQ_SET_WAITMODE), "spinblock");
    refuse_with(AQ_SET_WAITMODE, "spi", "one of auto, spin, block, spinblock");
    refuse_with(AQ_SET_WAITMODE, "auto spin", "one of auto");
    refuse_with(AQ_SET_WAITMODE, " ", "one of auto");
    refuse_with(AQ_SET_SPAWN_ALGORITHM, "carrier-pigeon",
                "one of tree, window, linear, threads; unset");
}

static void test_lists(void **state)
{
    (void)state;
    static const char *const signals[] = {"SIGSEGV", "segv", "11", "SIGSEGV,fpe,11", "USR1,"};
    static const char *const no_signals[] = {"x", "SIG", ",", "SEGV,,FPE", "SEGV FPE", "0", "*,11"};
    static const char *const ranks[] = {"0", "0,2-4", "*", "4-2", "7,7"};
    static const char *const no_ranks[] = {"x", ",", "1,", "1-", "-1", "1--2", "1 2", "*,1"};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        load_with(AQ_SET_BACKTRACE_SIGNAL, signals[i]);
    for (size_t i = 0; i < sizeof no_signals / sizeof no_signals[0]; i++)
        refuse_with(AQ_SET_NO_CATCH_SIGNAL, no_signals[i], "is not a list of signals such as");
    refuse_with(AQ_SET_BACKTRACE_SIGNAL, "*", "unset it or correct it");
    for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; i++)
        load_with(AQ_SET_BACKTRACE_NODES, ranks[i]);
    for (size_t i = 0; i < sizeof no_ranks / sizeof no_ranks[0]; i++)
        refuse_with(AQ_SET_BACKTRACE_NODES, no_ranks[i], "is not a list of ranks such as");
    assert_int_equal(aq_settings_has_rank("0,2-4", 3), 1);
    assert_int_equal(aq_settings_has_rank("0,2-4", 1), 0);
    assert_int_equal(aq_settings_has_rank("", 5), 1);
}

static void test_text(void **state)
{
    (void)state;
    load_with(AQ_SET_NO_CATCH_SIGNAL, "*");
    assert_string_equal(aq_settings_text(AQ_SET_NO_CATCH_SIGNAL), "*");
    load_with(AQ_SET_MODULE_PATH, " /a b:/c ");
    assert_string_equal(aq_settings_text(AQ_SET_MODULE_PATH), " /a b:/c ");
    // The table keeps a copy of its own.
    unsetenv("GASNET_MODULE_PATH");
    assert_string_equal(aq_settings_text(AQ_SET_MODULE_PATH), " /a b:/c ");
}

static void test_empty_is_not_given(void **state)
{
    (void)state;
    for (int id = 0; id < AQ_SET_COUNT; id++)
        load_with((aq_setting_id_t)id, "");
    for (int id = 0; id < AQ_SET_COUNT; id++)
        assert_false(aq_settings_given((aq_setting_id_t)id));
    assert_int_equal(aq_settings_int(AQ_SET_PSHM_NODES), 1);
}

static void test_fault_changes_nothing(void **state)
{
    (void)state;
    char err[512];
    load_with(AQ_SET_PSHM_NODES, "5");
    load_with(AQ_SET_CONDUIT, "smp");
    set_variable(AQ_SET_PSHM_NODES, "6");
    set_variable(AQ_SET_CONDUIT, "other");
    set_variable(AQ_SET_QUIET, "perhaps");
    assert_int_equal(aq_settings_load(err, sizeof err), AQ_ERR_CONFIG);
    assert_int_equal(aq_settings_int(AQ_SET_PSHM_NODES), 5);
    assert_string_equal(aq_settings_text(AQ_SET_CONDUIT), "smp");
    assert_false(aq_settings_given(AQ_SET_QUIET));
}

static void test_check_changes_nothing(void **state)
{
    (void)state;
    char err[512] = "untouched";
    set_variable(AQ_SET_PSHM_NODES, "6");
    set_variable(AQ_SET_CONDUIT, "smp");
    assert_int_equal(aq_settings_check(&aq_settings[AQ_SET_PSHM_NODES], err, sizeof err), AQ_OK);
    assert_int_equal(aq_settings_check(&aq_settings[AQ_SET_CONDUIT], err, sizeof err), AQ_OK);
    assert_string_equal(err, "untouched");
    assert_int_equal(aq_settings_int(AQ_SET_PSHM_NODES), 1);
    assert_string_equal(aq_settings_text(AQ_SET_CONDUIT), "");
}

// The message about a long or unprintable value is complete and printable; a small buffer is not
// overrun.
static void test_fault_of_odd_value(void **state)
{
    (void)state;
    char err[512], value[5000], small[16];
    set_variable(AQ_SET_SPIN_US, "a\nb\x1b[1m");
    assert_int_equal(aq_settings_load(err, sizeof err), AQ_ERR_CONFIG);
    assert_non_null(strstr(err, "'a?b?[1m'"));
    memset(value, '7', sizeof value - 1);
    value[sizeof value - 1] = '\0';
    set_variable(AQ_SET_SPIN_US, value);
    assert_int_equal(aq_settings_load(err, sizeof err), AQ_ERR_CONFIG);
    assert_non_null(strstr(err, "777...' is not"));
    assert_non_null(strstr(err, "for example GASNET_SPIN_US=500"));
    memset(small, '#', sizeof small);
    assert_int_equal(aq_settings_load(small, sizeof small - 1), AQ_ERR_CONFIG);
    assert_string_equal(small, "GASNET_SPIN_US"); // 14 letters and the end
    assert_int_equal(small[15], '#');
}

static void test_megabytes(void **state)
{
    (void)state;
    char err[512];
    assert_int_equal(aq_settings_bytes(AQ_SET_FIREHOSE_MAXREGION_SIZE), 128 << 10);
    set_variable(AQ_SET_FIREHOSE_M, "100");
    set_variable(AQ_SET_FIREHOSE_MAXVICTIM_M, "64KB");
    assert_int_equal(aq_settings_load(err, sizeof err), AQ_OK);
    assert_int_equal(aq_settings_bytes(AQ_SET_FIREHOSE_M), 100 << 20);
    assert_int_equal(aq_settings_bytes(AQ_SET_FIREHOSE_MAXVICTIM_M), 64 << 10);
    refuse_with(AQ_SET_FIREHOSE_M, "-1", "a size such as 64KB, 1.5GB or 4096 (MB)");
    refuse_with(AQ_SET_FIREHOSE_M, "9223372036854775807", "GASNET_FIREHOSE_M");
}

static void test_zero_limit(void **state)
{
    (void)state;
    char err[512];
    assert_true(aq_settings_limit(AQ_SET_PHYSMEM_MAX)->fraction == 2.0 / 3.0);
    set_variable(AQ_SET_PHYSMEM_MAX, "0");
    assert_int_equal(aq_settings_load(err, sizeof err), AQ_OK);
    assert_true(aq_settings_limit(AQ_SET_PHYSMEM_MAX)->fraction == 0);
    assert_int_equal(aq_settings_limit(AQ_SET_PHYSMEM_MAX)->bytes, 0);
    refuse_with(AQ_SET_MAX_SEGSIZE, "0", "GASNET_MAX_SEGSIZE");
}

static void test_describe(void **state)
{
    (void)state;
    const aq_setting_t any = {"GASNET_X", AQ_TYPE_BYTES, "0", 0, 0, NULL, ""};
    char text[256], small[8];
    aq_settings_describe(&aq_settings[AQ_SET_PSHM_NODES], text, sizeof text);
    assert_string_equal(text, "a whole number from 1 to 4096");
    aq_settings_describe(&aq_settings[AQ_SET_WAITMODE], text, sizeof text);
    assert_string_equal(text, "one of auto, spin, block, spinblock");
    aq_settings_describe(&aq_settings[AQ_SET_CONDUIT], text, sizeof text);
    assert_string_equal(text, "text");
    aq_settings_describe(&any, text, sizeof text);
    assert_string_equal(text, "a size such as 4096, 64KB or 1.5GB");
    aq_settings_describe(&aq_settings[AQ_SET_WAITMODE], small, sizeof small);
    assert_string_equal(small, "one of ");
}

// Returns the text that `print` writes. The caller frees it.
static char *output_of(void (*print)(FILE *))
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    print(out);
    fclose(out);
    return text;
}

// Replaces each run of blanks and line breaks by one blank.
static void unwrap_text(char *text)
{
    char *to = text;
    for (char *from = text; *from; from++) {
        bool blank = *from == ' ' || *from == '\n';
        if (!blank)
            *to++ = *from;
        else if (to > text && to[-1] != ' ')
            *to++ = ' ';
    }
    *to = '\0';
}

static void test_print_table(void **state)
{
    (void)state;
    char *text = output_of(aq_settings_print_table);
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
        size_t length = strcspn(line, "\n");
        assert_between(length, 1, 100);
        assert_int_not_equal(line[length - 1], ' ');
    }
    unwrap_text(text);
    const char *at = text;
    for (size_t i = 0; i < aq_settings_count(); i++) {
        char expected[2048], legal[256];
        const aq_setting_t *row = aq_settings_at(i);
        aq_settings_describe(row, legal, sizeof legal);
        snprintf(expected, sizeof expected, "%s %s; default: %s %s ", row->name, legal,
                 *row->fallback ? row->fallback : "not set", row->help);
        assert_memory_equal(at, expected, strlen(expected));
        at += strlen(expected);
    }
    assert_string_equal(at, "");
    free(text);
}

static void test_print_given(void **state)
{
    (void)state;
    char *text = output_of(aq_settings_print_given);
    assert_string_equal(text, "");
    free(text);
    load_with(AQ_SET_PSHM_NODES, "4");
    load_with(AQ_SET_MAX_SEGSIZE, "0.5/H");
    load_with(AQ_SET_WAITMODE, "BLOCK");
    load_with(AQ_SET_EXITTIMEOUT, "2.5");
    load_with(AQ_SET_MODULE_PATH, "a\nb");
    load_with(AQ_SET_NO_CATCH_SIGNAL, "segv,11");
    load_with(AQ_SET_SPAWN_CONTROL, "of the launcher");
    load_with(AQ_SET_SPAWN_CONDUIT, "udp:gasnetrun_udp");
    load_with(AQ_SET_SPAWN_REPORTS, "gasnet-0");
    load_with(AQ_SET_SPAWN_BEFORE, "GASNET_CONDUIT;");
    load_with(AQ_SET_VERBOSEENV, "y");
    text = output_of(aq_settings_print_given);
    assert_string_equal(text, "GASNET_PSHM_NODES = 4\n"
                              "GASNET_MODULE_PATH = a?b\n"
                              "GASNET_MAX_SEGSIZE = 0.5 of the memory for each host\n"
                              "GASNET_WAITMODE = block\n"
                              "GASNET_EXITTIMEOUT = 2.5\n"
                              "GASNET_NO_CATCH_SIGNAL = segv,11\n"
                              "GASNET_VERBOSEENV = yes\n");
    free(text);
    load_with(AQ_SET_MAX_SEGSIZE, "1M");
    text = output_of(aq_settings_print_given);
    assert_non_null(strstr(text, "GASNET_MAX_SEGSIZE = 1048576 bytes for each process\n"));
    free(text);
}

// Appends one report of aq_settings_unknown to the text `arg`: "name>nearest;".
static void append_unknown(const char *name, const char *nearest, void *arg)
{
    char *text = arg;
    sprintf(text + strlen(text), "%s>%s;", name, nearest ? nearest : "none");
}

static void expect_nearest(const char *name, const char *nearest)
{
    char text[4096] = "", expected[4096];
    assert_int_equal(setenv(name, "1", 1), 0);
    aq_settings_unknown(append_unknown, text);
    snprintf(expected, sizeof expected, "%s>%s;", name, nearest);
    assert_string_equal(text, expected);
    unsetenv(name);
}

static void test_unknown(void **state)
{
    (void)state;
    char text[4096] = "";
    set_variable(AQ_SET_PSHM_NODES, "2");
    setenv("OTHER_GASNET_X", "1", 1);
    setenv("gasnet_x", "1", 1);
    aq_settings_unknown(append_unknown, text);
    assert_string_equal(text, "");
    expect_nearest("GASNET_PSHM_NODE", "GASNET_PSHM_NODES");   // one letter lost
    expect_nearest("GASNET_PSHM_NODESS", "GASNET_PSHM_NODES"); // one letter too many
    expect_nearest("GASNET_PSHN_NODES", "GASNET_PSHM_NODES");  // one letter wrong
    expect_nearest("GASNET_PHSM_NODES", "GASNET_PSHM_NODES");  // two letters exchanged: two edits
    expect_nearest("GASNET_PSHMNODE", "GASNET_PSHM_NODES");    // two letters lost
    expect_nearest("GASNET_PSHMNOD", "none");                  // three letters lost
    // GASNET_SPAWNER is farther away.
    expect_nearest("GASNET_SMPSPAWNER", "GASNET_SMP_SPAWNER");
    expect_nearest("GASNET_SOMETHING_ELSE", "none");
    expect_nearest("GASNET_", "none");
}

// GASNet's manuals name these variables under more than one name.
static void test_other_names(void **state)
{
    (void)state;
    char err[512];
    setenv("AMUDP_SPAWN_VERBOSE", "1", 1);
    setenv("AMMPI_MPI_THREAD", "FUNNELED", 1);
    setenv("SSH_CMD", "rsh", 1);
    setenv("AMUDP_SSH_CMD", "lsh", 1);
    assert_int_equal(aq_settings_load(err, sizeof err), AQ_OK);
    assert_true(aq_settings_bool(AQ_SET_SPAWN_VERBOSE));
    assert_string_equal(aq_settings_text(AQ_SET_MPI_THREAD), "FUNNELED");
    assert_string_equal(aq_settings_text(AQ_SET_SSH_CMD), "lsh");
    set_variable(AQ_SET_MPI_THREAD, "SINGLE");
    assert_int_equal(aq_settings_load(err, sizeof err), AQ_OK);
    assert_string_equal(aq_settings_text(AQ_SET_MPI_THREAD), "SINGLE");
    unsetenv("AMUDP_SPAWN_VERBOSE");
    unsetenv("AMMPI_MPI_THREAD");
    unsetenv("SSH_CMD");
    unsetenv("AMUDP_SSH_CMD");
}

// GASNET_IBV_PORTS_TYPE makes GASNET_IBV_PORTS_0 and so on variables.
static void test_family(void **state)
{
    (void)state;
    char text[4096] = "";
    static const char ports[] = "GASNET_IBV_PORTS", spin[] = "GASNET_SPIN_US";
    assert_false(aq_setting_has_members(ports));
    setenv("GASNET_IBV_PORTS_0_1", "", 1);
    setenv("GASNET_IBV_PORTS_TWO", "mlx5_0", 1);
    assert_false(aq_setting_has_members(ports));
    setenv("GASNET_IBV_PORTS_2", "mlx5_2", 1);
    assert_true(aq_setting_has_members(ports));
    assert_false(aq_setting_has_members(spin));
    assert_string_equal(aq_setting_member(ports, "2"), "mlx5_2");
    assert_null(aq_setting_member(ports, "0_1"));
    assert_null(aq_setting_member(ports, "1"));
    setenv("GASNET_SPIN_US_1", "3", 1);
    aq_settings_unknown(append_unknown, text);
    assert_non_null(strstr(text, "GASNET_IBV_PORTS_TWO>"));
    assert_non_null(strstr(text, "GASNET_SPIN_US_1>"));
    assert_null(strstr(text, "GASNET_IBV_PORTS_2>"));
    unsetenv("GASNET_IBV_PORTS_TWO");
    char *given = output_of(aq_settings_print_given); // GASNET_VERBOSEENV
    assert_string_equal(given, "GASNET_IBV_PORTS_2 = mlx5_2\n");
    free(given);
    unsetenv("GASNET_IBV_PORTS_0_1");
    unsetenv("GASNET_IBV_PORTS_2");
    unsetenv("GASNET_SPIN_US_1");
}

static void test_ignored(void **state)
{
    (void)state;
    char text[4096] = "";
    assert_null(aq_settings_ignored_find("GASNET_TRACE"));
    assert_null(aq_settings_ignored_find("GASNET_TRACEFLUSHES"));
    assert_non_null(aq_settings_ignored_find("GASNET_TRACEFLUSH"));
    assert_non_null(aq_settings_ignored_find("GASNET_OFI_DEVICE_0"));
    assert_true(aq_settings_ignored_find("GASNET_TEST_POLITE_SYNC")->quiet);
    for (size_t i = 0; i < aq_settings_count(); i++)
        assert_null(aq_settings_ignored_find(aq_settings_at(i)->name));
    setenv("GASNET_TRACEFLUSH", "a\nb", 1);
    setenv("GASNET_OFI_DEVICE_0", "", 1);
    aq_settings_unknown(append_unknown, text);
    assert_string_equal(text, "");
    char *given = output_of(aq_settings_print_given);
    assert_string_equal(given, "GASNET_TRACEFLUSH = a?b (no effect: a trace is written when the "
                               "job ends, whole lines at once)\n");
    free(given);
    unsetenv("GASNET_TRACEFLUSH");
    unsetenv("GASNET_OFI_DEVICE_0");
}

static void test_unknown_long_name(void **state)
{
    (void)state;
    char name[3000] = "GASNET_";
    memset(name + 7, 'A', sizeof name - 8);
    expect_nearest(name, "none");
}

static uint64_t next_random(void)
{
    static uint64_t x = UINT64_C(88172645463325252);
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return x;
}

// Each random value is either loaded, or refused with a message that starts with its variable.
static void test_random_values(void **state)
{
    (void)state;
    static const char letters[] = "0123456789.+-eKMGTB/HP yntrufalsopibck\t\n";
    int legal = 0;
    for (int i = 0; i < RANDOM_INPUTS; i++) {
        aq_setting_id_t id = (aq_setting_id_t)(next_random() % AQ_SET_COUNT);
        char value[12], err[512] = "";
        size_t length = 1 + next_random() % 4;
        for (size_t j = 0; j < length; j++)
            value[j] = letters[next_random() % (sizeof letters - 1)];
        value[length] = '\0';
        set_variable(id, value);
        aq_status_t status = aq_settings_load(err, sizeof err);
        unsetenv(aq_settings[id].name);
        assert_true(status == AQ_OK || status == AQ_ERR_CONFIG);
        assert_int_equal(status == AQ_OK, *err == '\0');
        if (status == AQ_OK)
            assert_true(aq_settings_given(id));
        else
            assert_memory_equal(err, aq_settings[id].name, strlen(aq_settings[id].name));
        legal += status == AQ_OK;
    }
    assert_between(legal, RANDOM_INPUTS / 20, RANDOM_INPUTS * 19 / 20);
}

#define CLEAN(test) cmocka_unit_test_setup(test, clear_environment)

// ---- rows of other owners ----

static void load_ok(void)
{
    char err[512] = "";
    assert_int_equal(aq_settings_load(err, sizeof err), AQ_OK);
}

static const aq_setting_t module_rows[] = {
    {"GASNET_UNIT_DEPTH", AQ_TYPE_INT, "7", 1, 9, NULL, "A number of the unit test."},
    {"GASNET_UNIT_WORD", AQ_TYPE_CHOICE, "one", 0, 0, "one two", "A word of the unit test."},
};
static const aq_setting_group_t module = {"module unit", module_rows, 2};

static void test_rows_of_a_module(void **state)
{
    (void)state;
    char err[512] = "";
    size_t before = aq_settings_count();
    load_ok();
    setenv("GASNET_UNIT_DEPTH", "8", 1);
    assert_int_equal(aq_settings_add(&module, err, sizeof err), AQ_OK);
    assert_int_equal(aq_settings_count(), before + 2);
    assert_ptr_equal(aq_settings_at(before), module_rows);
    assert_int_equal(aq_setting_int(&module_rows[0]), 8);
    assert_true(aq_setting_given(&module_rows[0]));
    assert_string_equal(aq_setting_text(&module_rows[1]), "one");
    setenv("GASNET_UNIT_WORD", "TWO", 1);
    unsetenv("GASNET_UNIT_DEPTH");
    load_ok();
    assert_int_equal(aq_setting_int(&module_rows[0]), 7);
    assert_string_equal(aq_setting_text(&module_rows[1]), "two");
    unsetenv("GASNET_UNIT_WORD");
}

// An owner adds its rows a second time, as a module does when it is loaded after its rows are
// known.
static void test_owner_comes_again(void **state)
{
    (void)state;
    char err[512] = "";
    const aq_setting_t rows[] = {module_rows[0], module_rows[1]};
    const aq_setting_group_t again = {"module unit", rows, 2};
    size_t before = aq_settings_count();
    assert_int_equal(aq_settings_add(&again, err, sizeof err), AQ_OK);
    assert_int_equal(aq_settings_count(), before);
    assert_int_equal(aq_setting_int(&rows[0]), 7);
    assert_int_equal(aq_settings_add(&module, err, sizeof err), AQ_OK);
}

static void test_name_of_another_owner(void **state)
{
    (void)state;
    char err[512] = "";
    const aq_setting_group_t thief = {"module thief", &module_rows[1], 1};
    const aq_setting_group_t taker = {"module taker", &aq_settings[AQ_SET_SPIN_US], 1};
    size_t before = aq_settings_count();
    assert_int_equal(aq_settings_add(&thief, err, sizeof err), AQ_ERR_CONFIG);
    assert_string_equal(err, "module thief brings the setting GASNET_UNIT_WORD, which belongs to "
                             "module unit: give it another name");
    assert_int_equal(aq_settings_add(&taker, err, sizeof err), AQ_ERR_CONFIG);
    assert_string_equal(err, "module taker brings the setting GASNET_SPIN_US, which belongs to the "
                             "library: give it another name");
    assert_int_equal(aq_settings_count(), before);
}

static void test_wrong_value_of_a_module(void **state)
{
    (void)state;
    char err[512] = "";
    const aq_setting_t row = {"GASNET_UNIT_RATE", AQ_TYPE_INT, "1", 1, 9, NULL, "A rate."};
    const aq_setting_group_t group = {"module wrong", &row, 1};
    size_t before = aq_settings_count();
    load_ok();
    setenv("GASNET_UNIT_RATE", "10", 1);
    assert_int_equal(aq_settings_add(&group, err, sizeof err), AQ_ERR_CONFIG);
    assert_non_null(strstr(err, "GASNET_UNIT_RATE: '10' is not a whole number from 1 to 9"));
    assert_int_equal(aq_settings_count(), before);
    unsetenv("GASNET_UNIT_RATE");
}

int main(void)
{
    // Variables of the caller's own shell must not show up as unknown names.
    clearenv();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults_before_load),
        CLEAN(test_rows_are_sound),
        CLEAN(test_defaults),
        CLEAN(test_int),
        CLEAN(test_fault_sentence),
        CLEAN(test_real),
        CLEAN(test_bool),
        CLEAN(test_power),
        CLEAN(test_limit),
        CLEAN(test_choice),
        CLEAN(test_lists),
        CLEAN(test_text),
        CLEAN(test_empty_is_not_given),
        CLEAN(test_fault_changes_nothing),
        CLEAN(test_check_changes_nothing),
        CLEAN(test_fault_of_odd_value),
        CLEAN(test_describe),
        CLEAN(test_megabytes),
        CLEAN(test_zero_limit),
        CLEAN(test_print_table),
        CLEAN(test_print_given),
        CLEAN(test_unknown),
        CLEAN(test_unknown_long_name),
        CLEAN(test_other_names),
        CLEAN(test_ignored),
        CLEAN(test_family),
        CLEAN(test_random_values),
        CLEAN(test_rows_of_a_module),
        CLEAN(test_owner_comes_again),
        CLEAN(test_name_of_another_owner),
        CLEAN(test_wrong_value_of_a_module),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
