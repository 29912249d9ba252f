// SPDX-License-Identifier: BSD-3-Clause
// The client of PMI-1 against launchers that this test plays: answers as several launchers give
// them, and answers that no launcher should give.
#include "../../unit/unit_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../other/mpi/pmi1_client.h"

static const aq_mpilib_table_t *const pmi = &aq_pmi1_table;

#define INIT "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1\n"
#define MAXES "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=1024\n"
#define NAME "cmd=my_kvsname rc=0 kvsname=kvs_1\n"

// A launcher answers each request with the next text, until there are none.
static void play_launcher(int fd, const char *const *answers)
{
    char request[1024];
    for (; *answers && recv(fd, request, sizeof request, 0) > 0; answers++)
        (void)send(fd, *answers, strlen(*answers), MSG_NOSIGNAL);
    _exit(0);
}

static void set_number(const char *name, int value)
{
    char text[16];
    snprintf(text, sizeof text, "%d", value);
    setenv(name, text, 1);
}

// Starts PMI-1 with a launcher that gives these answers, and checks what explain says about it; "":
// the start succeeds.
static void expect_start(const char *const *answers, const char *wanted)
{
    int ends[2];
    char why[256] = "";
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        play_launcher(ends[1], answers);
    }
    close(ends[1]);
    set_number("PMI_FD", ends[0]);
    const int error = pmi->start(AQ_MPILIB_SINGLE);
    if (error)
        pmi->explain(error, why, sizeof why);
    assert_string_equal(why, wanted);
    assert_int_equal(pmi->started(), !error);
    if (!error)
        assert_int_equal(pmi->finish(), 0);
    else
        close(ends[0]);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

#define START(wanted, ...) expect_start((const char *const[]){__VA_ARGS__, NULL}, wanted)

static const char bad[] = "the launcher gives an answer that is not of PMI-1";
static const char gone[] = "the launcher may be gone";
static const char refused[] = "the launcher refuses a request";

static int set_place(void **state)
{
    (void)state;
    set_number("PMI_RANK", 1);
    set_number("PMI_SIZE", 2);
    return 0;
}

static void each_order_of_keys_is_understood(void **state)
{
    (void)state;
    START("", INIT, MAXES, NAME, "cmd=finalize_ack rc=0\n");
}

static void a_result_may_be_missing(void **state)
{
    (void)state;
    START("", "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n",
          "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n",
          "cmd=my_kvsname kvsname=kvs_1\n", "cmd=finalize_ack\n");
}

static void another_version_is_refused(void **state)
{
    (void)state;
    START(refused, "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=-1\n");
}

static void a_launcher_that_ends_is_noticed(void **state)
{
    (void)state;
    START(gone, INIT, MAXES);
}

static void an_answer_to_another_request_is_refused(void **state)
{
    (void)state;
    START(bad, "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=1024\n");
    START(bad, "cmd=\n");
    START(bad, "rc=0 cmd=response_to_init\n");
}

static void a_malformed_answer_is_refused(void **state)
{
    (void)state;
    START(bad, INIT, "cmd=maxes keylen_max=64 vallen_max=1024 vallen_max=512\n");
    START(bad, INIT, "cmd=maxes keylen_max=64 vallen_max=99999999999\n");
    START(bad, INIT, "cmd=maxes keylen_max=64 vallen_max= 12\n");
    START(bad, INIT, "cmd=maxes keylen_max=64\tvallen_max=1024\n");
    START(bad, INIT, MAXES, "cmd=my_kvsname kvsname=\n");
    START(bad, INIT, MAXES, NAME NAME);
}

static void a_line_without_end_is_refused(void **state)
{
    (void)state;
    static char endless[5000];
    memset(endless, 'a', sizeof endless - 1);
    START(bad, endless);
}

static void short_values_are_refused(void **state)
{
    (void)state;
    START("the launcher keeps too short values", INIT,
          "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=64\n", NAME);
}

static void a_place_outside_of_the_job_is_refused(void **state)
{
    (void)state;
    set_number("PMI_RANK", 2);
    START("the launcher does not report rank and number of ranks (PMI_RANK, PMI_SIZE)", INIT);
}

static void no_descriptor_but_a_socket_is_used(void **state)
{
    (void)state;
    static const char *const texts[] = {"0x1", "-1", "99999", "", "1 ", "zero"};
    char why[256];
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    for (size_t i = 0; i <= sizeof texts / sizeof texts[0]; i++) {
        if (i < sizeof texts / sizeof texts[0])
            setenv("PMI_FD", texts[i], 1);
        else
            set_number("PMI_FD", ends[1]);
        pmi->explain(pmi->start(AQ_MPILIB_SINGLE), why, sizeof why);
        assert_string_equal(why, "no launcher answers");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(another_version_is_refused, set_place),
        cmocka_unit_test_setup(a_launcher_that_ends_is_noticed, set_place),
        cmocka_unit_test_setup(an_answer_to_another_request_is_refused, set_place),
        cmocka_unit_test_setup(a_malformed_answer_is_refused, set_place),
        cmocka_unit_test_setup(a_line_without_end_is_refused, set_place),
        cmocka_unit_test_setup(short_values_are_refused, set_place),
        cmocka_unit_test_setup(a_place_outside_of_the_job_is_refused, set_place),
        cmocka_unit_test_setup(no_descriptor_but_a_socket_is_used, set_place),
        cmocka_unit_test_setup(each_order_of_keys_is_understood, set_place),
        cmocka_unit_test_setup(a_result_may_be_missing, set_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
