// SPDX-License-Identifier: BSD-3-Clause
// The launcher's watch on two ranks that an mpirun started, which this test plays: the code of the
// job, after the reports and the ends of the ranks in a known order.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../unit/unit_test.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../other/base/settings/settings.h"
#include "../../../spawner/join/rank_report.h"
#include "../../../spawner/join/rank_watch.h"

#define RANKS 2
enum { OTHER_USER = 65534 };

// How a rank ends: first what it reports, then the signal by which it dies, or its exit code.
typedef struct rank_end {
    bool reports;
    aq_report_kind_t kind;
    int code, sig;
    int ends_with; // a second report: that the job ends with this code; 0: none
    bool other_user;
} rank_end_t;

static const rank_end_t killed = {.sig = SIGKILL}, aborted = {.sig = SIGABRT},
                        silent = {.code = 143},
                        ends = {.reports = true, .kind = AQ_REPORT_ENDS, .code = 7},
                        follows = {.reports = true, .kind = AQ_REPORT_FOLLOWS, .code = 143},
                        fails = {.reports = true, .kind = AQ_REPORT_LEAVES, .code = 3},
                        leaves = {.reports = true, .kind = AQ_REPORT_LEAVES},
                        stopped = {.reports = true,
                                   .kind = AQ_REPORT_LEAVES,
                                   .code = 3,
                                   .sig = SIGTERM,
                                   .ends_with = 128 + SIGTERM},
                        stranger = {.sig = SIGABRT, .other_user = true};

// The launcher hangs up on other users, perhaps before they have sent anything.
static void send_report(int line, aq_report_kind_t kind, uint32_t rank, int code)
{
    const aq_report_t report = {AQ_REPORT_MAGIC, (uint32_t)kind, rank, code};
    if (send(line, &report, sizeof report, MSG_NOSIGNAL) != (ssize_t)sizeof report &&
        errno != EPIPE)
        _exit(99);
}

// Waits for the answer without reading it, as a rank does whose launcher answers too late.
static int join(uint32_t rank)
{
    struct sockaddr_un at;
    const socklen_t length = aq_report_address(getenv("GASNET_SPAWN_REPORTS"), &at);
    struct pollfd line = {.fd = socket(AF_UNIX, SOCK_SEQPACKET, 0), .events = POLLIN};
    if (connect(line.fd, (const struct sockaddr *)&at, length) != 0)
        _exit(99);
    send_report(line.fd, AQ_REPORT_JOINED, rank, RANKS);
    (void)poll(&line, 1, -1);
    return line.fd;
}

// A byte from the other end of a pipe.
static void wait_for(int fd)
{
    char byte;
    while (read(fd, &byte, 1) != 1)
        continue;
}

static void rank_run(uint32_t rank, const rank_end_t *end, int joined, int go)
{
    if (end->other_user && setuid(OTHER_USER) != 0)
        _exit(99);
    const int line = join(rank);
    (void)!write(joined, "", 1);
    wait_for(go);
    if (end->reports)
        send_report(line, end->kind, rank, end->code);
    if (end->ends_with)
        send_report(line, AQ_REPORT_ENDS, rank, end->ends_with);
    signal(end->sig, SIG_DFL); // cmocka catches it
    if (end->sig)
        raise(end->sig);
    _exit(end->code);
}

// Until the launcher has taken all events so far, which is when it sleeps.
static void wait_for_sleep(pid_t launcher)
{
    char path[32], state = 0;
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)launcher);
    while (state != 'S') {
        FILE *file = fopen(path, "re");
        if (!file || fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
            _exit(99);
        fclose(file);
    }
}

// The ranks end one after the other, while the launcher is stopped: it learns of all at once.
static void mpirun_run(const rank_end_t plan[RANKS], int code)
{
    int joined[2], go[RANKS][2];
    pid_t rank[RANKS];
    siginfo_t info;
    (void)!pipe(joined);
    for (uint32_t r = 0; r < RANKS; r++) {
        (void)!pipe(go[r]);
        if ((rank[r] = fork()) == 0)
            rank_run(r, &plan[r], joined[1], go[r][0]);
        wait_for(joined[0]);
    }
    wait_for_sleep(getppid());
    kill(getppid(), SIGSTOP);
    for (unsigned r = 0; r < RANKS; r++) {
        (void)!write(go[r][1], "", 1);
        waitid(P_PID, (id_t)rank[r], &info, WEXITED | WNOWAIT);
    }
    kill(getppid(), SIGCONT);
    wait_for_sleep(getppid()); // it has looked at the ranks, while they are zombies here
    _exit(code);
}

// Takes over the ranks from mpirun as zombies, should it look for their fates late.
static void launcher_run(const rank_end_t plan[RANKS], int code)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (!aq_rank_watch_open())
        _exit(99);
    const pid_t mpirun = fork();
    if (mpirun == 0)
        mpirun_run(plan, code);
    aq_rank_watch_run(mpirun, NULL);
    _exit(aq_rank_watch_code(code, 0));
}

static int code_of_job(rank_end_t first, rank_end_t second, int code)
{
    const rank_end_t plan[RANKS] = {first, second};
    int status;
    const pid_t launcher = fork();
    if (launcher == 0)
        launcher_run(plan, code);
    assert_int_equal(waitpid(launcher, &status, 0), launcher);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_first_death_decides(void **state)
{
    (void)state;
    assert_int_equal(code_of_job(killed, silent, 0), 143); // the kill may be by mpirun
    assert_int_equal(code_of_job(killed, aborted, 9), 134);
    assert_int_equal(code_of_job(aborted, killed, 9), 134);
    assert_int_equal(code_of_job(killed, killed, 0), 137);
}

static void test_those_who_follow_do_not_decide(void **state)
{
    (void)state;
    assert_int_equal(code_of_job(killed, follows, 0), 137);
    assert_int_equal(code_of_job(killed, ends, 0), 137);
    assert_int_equal(code_of_job(aborted, follows, 9), 134);
}

static void test_report_decides(void **state)
{
    (void)state;
    assert_int_equal(code_of_job(ends, killed, 9), 7);
    assert_int_equal(code_of_job(leaves, ends, 0), 7);
    assert_int_equal(code_of_job(leaves, leaves, 9), 0);
}

static void test_first_leaver_decides(void **state)
{
    (void)state;
    assert_int_equal(code_of_job(fails, killed, 0), 3);
    assert_int_equal(code_of_job(fails, ends, 0), 3);
    assert_int_equal(code_of_job(ends, fails, 0), 7);
    assert_int_equal(code_of_job(aborted, fails, 0), 134);
    assert_int_equal(code_of_job(stopped, fails, 143), 3);
    assert_int_equal(code_of_job(fails, stopped, 0), 3);
}

static void test_no_cause_is_known(void **state)
{
    (void)state;
    assert_int_equal(code_of_job(follows, follows, 5), 5);
    assert_int_equal(code_of_job(follows, leaves, 0), 1);
}

// Not without privileges, nor in a namespace that has one user only.
static bool other_user_is_there(void)
{
    int status = -1;
    const pid_t pid = fork();
    if (pid == 0)
        _exit(setuid(OTHER_USER) != 0);
    waitpid(pid, &status, 0);
    return status == 0;
}

static void test_other_users_are_not_watched(void **state)
{
    (void)state;
    if (!other_user_is_there())
        skip();
    assert_int_equal(code_of_job(leaves, stranger, 0), 0);
    assert_int_equal(code_of_job(stranger, fails, 9), 3);
}

int main(void)
{
    char fault[256];
    if (aq_settings_load(fault, sizeof fault) != AQ_OK)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_death_decides),
        cmocka_unit_test(test_those_who_follow_do_not_decide),
        cmocka_unit_test(test_report_decides),
        cmocka_unit_test(test_first_leaver_decides),
        cmocka_unit_test(test_no_cause_is_known),
        cmocka_unit_test(test_other_users_are_not_watched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
