// SPDX-License-Identifier: BSD-3-Clause
// Bootstrap: jobs of one and of many ranks; exchange, broadcast, barrier; the end of a job; invalid
// control texts; merging of output.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../unit/unit_test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../other/base/clock.h"
#include "../../../other/base/settings/settings.h"
#include "../../../spawner/boot/boot_page.h"
#include "../../../spawner/supervise/spawn_fork.h"
#include "../../../spawner/join/spawner_list.h"
#include "../../../spawner/supervise/supervise.h"
#include "../../../spawner/boot/boot.h"
#include "../../../spawner/supervise/supervisor_job.h"
#include "../../../spawner/supervise/supervisor_output.h"
#include "../../unit/assert_between.h"
#include "../../../spawner/supervise/supervisor.h"

typedef int rank_body_t(aq_boot_t *boot);

static void load_settings(void)
{
    char fault[512];
    assert_int_equal(aq_settings_load(fault, sizeof fault), AQ_OK);
}

static void silence_output(void)
{
    int null = open("/dev/null", O_RDWR);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    close(null);
}

// Runs `body` in each rank of a job that starts as a bare executable. Returns the wait status of
// the job.
static int run_job(uint32_t size, rank_body_t *body)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        aq_boot_t *boot;
        int code = 99;
        aq_supervise_options_t options = {.size = size};
        silence_output();
        if (aq_supervise(&options, &boot, &code))
            _exit(boot->size == size ? body(boot) : 98);
        _exit(97); // not reached: in the parent of the ranks, aq_supervise does not return
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void assert_job_code(uint32_t size, rank_body_t *body, int code)
{
    int status = run_job(size, body);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), code);
}

// ---- bodies of ranks ----

static unsigned char pattern(uint32_t rank, size_t len, size_t i)
{
    return (unsigned char)(rank * 31 + len * 7 + i * 3);
}

static bool exchange_works(aq_boot_t *boot, size_t len)
{
    unsigned char *mine = malloc(len + 1);
    unsigned char *all = malloc(len * boot->size + 1);
    bool good = mine != NULL && all != NULL;
    for (size_t i = 0; good && i < len; i++)
        mine[i] = pattern(boot->rank, len, i);
    if (good)
        all[len * boot->size] = 0x5a;
    good = good && boot->ops->exchange(boot, mine, len, all) == AQ_OK;
    for (size_t i = 0; good && i < len * boot->size; i++)
        good = all[i] == pattern((uint32_t)(i / len), len, i % len);
    good = good && all[len * boot->size] == 0x5a;
    free(mine);
    free(all);
    return good;
}

static bool broadcast_works(aq_boot_t *boot, size_t len, uint32_t root)
{
    unsigned char *buf = malloc(len + 1);
    bool good = buf != NULL;
    for (size_t i = 0; good && i < len; i++)
        buf[i] = boot->rank == root ? pattern(root, len, i) : 0;
    good = good && boot->ops->broadcast(boot, buf, len, root) == AQ_OK;
    for (size_t i = 0; good && i < len; i++)
        good = buf[i] == pattern(root, len, i);
    free(buf);
    return good;
}

// Exchanges tables that are kept, until they do not fit into shared memory any more: the rank that
// writes it, and all others, see the same, and those that are shared stay as they are.
static bool kept_works(aq_boot_t *boot)
{
    enum { TABLES = 5, LENGTH = 12 };
    const unsigned char *all[TABLES];
    bool good = true;
    for (size_t t = 0; good && t < TABLES; t++) {
        unsigned char mine[LENGTH];
        const void *table;
        for (size_t i = 0; i < LENGTH; i++)
            mine[i] = pattern(boot->rank, t, i);
        const unsigned char *shared = boot->kept;
        bool fits = (LENGTH * boot->size + 7) / 8 * 8 <= boot->kept_left;
        good = aq_boot_exchange_kept(boot, mine, LENGTH, &table) == AQ_OK &&
               fits == (table == shared) && fits == (t < 2);
        all[t] = table;
    }
    for (size_t i = 0; good && i < TABLES * LENGTH * boot->size; i++)
        good = all[i / (LENGTH * boot->size)][i % (LENGTH * boot->size)] ==
               pattern((uint32_t)(i / LENGTH % boot->size), i / (LENGTH * boot->size), i % LENGTH);
    for (size_t t = 2; good && t < TABLES; t++)
        free((void *)(uintptr_t)all[t]);
    return good;
}

static int body_collectives(aq_boot_t *boot)
{
    static const size_t lengths[] = {0, 1, 3, 255, 256, 257, 1023, 1024, 1025, 2048, 5001};
    bool good = kept_works(boot);
    for (size_t i = 0; good && i < sizeof lengths / sizeof lengths[0]; i++) {
        good = exchange_works(boot, lengths[i]) &&
               broadcast_works(boot, lengths[i] * 3, (uint32_t)i % boot->size) &&
               boot->ops->barrier(boot) == AQ_OK;
        for (uint32_t r = 0; r < boot->size; r++)
            good = good && boot->host_of_rank[r] == 0;
    }
    if (!good)
        return 50;
    boot->ops->barrier(boot);
    boot->ops->finalize(boot);
    return boot->ops->announce_exit(boot, 0);
}

static int wait_for_end(aq_boot_t *boot)
{
    while (!aq_boot_ended(boot))
        usleep(200);
    return *boot->exit_word - 1;
}

static int body_one_announces(aq_boot_t *boot)
{
    boot->ops->barrier(boot);
    if (boot->rank == boot->size - 1)
        return boot->ops->announce_exit(boot, 0x100 + 21); // only the low byte is used
    return wait_for_end(boot);
}

// The first announcement wins over later ones.
static int body_first_wins(aq_boot_t *boot)
{
    if (boot->rank == 0) {
        int first = boot->ops->announce_exit(boot, 33);
        int second = boot->ops->announce_exit(boot, 44);
        return first == 33 && second == 33 ? 33 : 51;
    }
    wait_for_end(boot);
    return boot->ops->announce_exit(boot, 45);
}

// A barrier that can no longer complete wakes the ranks that sleep in it.
static int body_barrier_broken(aq_boot_t *boot)
{
    if (boot->rank == 0) {
        usleep(20000); // lets the others sleep
        return boot->ops->announce_exit(boot, 12);
    }
    return boot->ops->barrier(boot) == AQ_ERR_PEER ? 12 : 52;
}

// Never returns on its own: another rank must cause the end of this one.
static int wait_to_be_ended(void)
{
    while (pause() < 0)
        ;
    return 55;
}

static int body_abort(aq_boot_t *boot)
{
    boot->ops->barrier(boot);
    if (boot->rank == 1)
        boot->ops->abort(boot, 77);
    return wait_to_be_ended();
}

static int body_killed(aq_boot_t *boot)
{
    boot->ops->barrier(boot);
    if (boot->rank == 1)
        raise(SIGKILL);
    return wait_to_be_ended();
}

static int body_silent_exit(aq_boot_t *boot)
{
    boot->ops->barrier(boot);
    if (boot->rank == 0)
        return 5;
    return wait_to_be_ended();
}

// All ranks share one key, which is not all zero.
static int body_key(aq_boot_t *boot)
{
    uint8_t keys[8 * AQ_KEY_BYTES];
    static const uint8_t zero[AQ_KEY_BYTES];
    if (boot->ops->exchange(boot, boot->key, AQ_KEY_BYTES, keys) != AQ_OK)
        return 53;
    bool good = memcmp(boot->key, zero, AQ_KEY_BYTES) != 0;
    for (uint32_t r = 0; r < boot->size; r++)
        good = good && memcmp(keys + r * AQ_KEY_BYTES, boot->key, AQ_KEY_BYTES) == 0;
    boot->ops->barrier(boot);
    return boot->ops->announce_exit(boot, good ? 0 : 54);
}

static void test_collectives(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {1, 2, 3, 7, 64};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        assert_job_code(sizes[i], body_collectives, 0);
}

static void test_ends(void **state)
{
    (void)state;
    assert_job_code(4, body_one_announces, 21);
    assert_job_code(3, body_first_wins, 33);
    assert_job_code(5, body_barrier_broken, 12);
    assert_job_code(3, body_abort, 77);
    assert_job_code(3, body_killed, 128 + SIGKILL);
    assert_job_code(3, body_silent_exit, 5);
}

static void test_key(void **state)
{
    (void)state;
    assert_job_code(4, body_key, 0);
}

static void test_singleton(void **state)
{
    (void)state;
    aq_boot_t *boot;
    unsetenv("GASNET_PSHM_NODES");
    load_settings();
    assert_int_equal(aq_boot_start("smp", 0, &boot), AQ_OK);
    assert_int_equal(boot->rank, 0);
    assert_int_equal(boot->size, 1);
    assert_int_equal(boot->host_of_rank[0], 0);
    assert_int_equal(*boot->exit_word, AQ_BOOT_RUNNING);
    assert_true(exchange_works(boot, 5000));
    assert_true(broadcast_works(boot, 5000, 0));
    assert_int_equal(boot->ops->barrier(boot), AQ_OK);
    assert_int_equal(boot->ops->announce_exit(boot, 7), 7);
    assert_int_equal(boot->ops->announce_exit(boot, 8), 7);
    assert_int_equal(*boot->exit_word, 1 + 7);
    boot->ops->finalize(boot);
    assert_int_equal(*boot->exit_word, 1 + 7);
}

static void test_sizes_refused(void **state)
{
    (void)state;
    assert_job_code(0, body_collectives, 1);
    assert_job_code(AQ_RANKS_MAX + 1, body_collectives, 1);
}

// Joins a job with this control text in a child process, and returns the status.
static int join_status(const char *control)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        aq_boot_t *boot;
        silence_output();
        _exit((int)aq_boot_fork_join(control, &boot));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_control(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "fork",
        "fork:",
        "ssh:3:0:1",
        "fork:3:0",
        "fork:3:0:",
        "fork:3::1",
        "fork:-1:0:1",
        "fork: 3:0:1",
        "fork:3:0:1x",
        "fork:3:1024:1",
        "fork:2147483648:0:1",
        "fork:1:0:1",
        "fork:999:0:1",
        "fork:3:0:18446744073709551616",
        "fork:3:0:1:",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(join_status(bad[i]), AQ_ERR_CONFIG);
}

// A file of the right size and inode that is not a boot page is refused. Once the file is a boot
// page, each rank number can join once.
static void test_control_page(void **state)
{
    (void)state;
    char control[96];
    size_t bytes = aq_page_bytes(2);
    int fd = memfd_create("test", 0);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    snprintf(control, sizeof control, "fork:%d:1:%llu", fd, (unsigned long long)st.st_ino);
    assert_int_equal(join_status(control), AQ_ERR_CONFIG);
    aq_boot_page_t *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    assert_int_equal(aq_page_init(page, 2), AQ_OK);
    assert_int_equal(join_status(control), AQ_OK);
    assert_int_equal(atomic_load(&page->state[1]), AQ_RANK_RUNNING);
    assert_int_equal(join_status(control), AQ_ERR_PEER);
    munmap(page, bytes);
    close(fd);
}

static void test_report(void **state)
{
    (void)state;
    static aq_spawner_report_t report[40];
    size_t count = aq_spawner_report(report, 40); // boot modules that are installed are among them
    assert_true(count >= 6 && count <= 40);
    assert_string_equal(report[0].name, "fork");
    assert_true(report[0].usable);

    for (size_t i = 0; i < count; i++)
        assert_true(strlen(report[i].why) > 0);
    assert_int_equal(aq_spawner_report(report, 1), count);
    assert_int_equal(aq_spawner_report(NULL, 0), count);
}

// ---- output ----

typedef struct pipes {
    int in[2], out[2];
    aq_sink_t sink;
    aq_stream_t stream;
} pipes_t;

static void pipes_open(pipes_t *p)
{
    assert_int_equal(pipe(p->in), 0);
    assert_int_equal(pipe(p->out), 0);
    aq_sink_open(&p->sink, p->out[1]);
    p->stream = (aq_stream_t){.fd = p->in[0], .rank = 12, .sink = &p->sink};
}

static void pipes_close(pipes_t *p)
{
    if (p->sink.fd != p->out[1])
        close(p->sink.fd);
    close(p->out[0]);
    close(p->out[1]);
    free(p->sink.bytes);
}

static void pipes_feed(pipes_t *p, const char *text, bool label)
{
    p->stream.label = label;
    assert_int_equal(write(p->in[1], text, strlen(text)), strlen(text));
    assert_true(aq_stream_read(&p->stream));
    assert_true(aq_sink_flush(&p->sink));
}

static void pipes_end_feed(pipes_t *p, bool label)
{
    p->stream.label = label;
    close(p->in[1]);
    assert_false(aq_stream_read(&p->stream));
    assert_true(aq_sink_flush(&p->sink));
}

static void assert_output(pipes_t *p, const char *wanted)
{
    char got[256] = "";
    fcntl(p->out[0], F_SETFL, O_NONBLOCK);
    ssize_t n = read(p->out[0], got, sizeof got - 1);
    got[n > 0 ? n : 0] = '\0';
    assert_string_equal(got, wanted);
}

static void test_lines(void **state)
{
    (void)state;
    pipes_t p;
    pipes_open(&p);
    pipes_feed(&p, "one\ntw", false);
    assert_output(&p, "one\n");
    pipes_feed(&p, "o", false);
    assert_output(&p, "");
    pipes_feed(&p, "\nthree\nrest", false);
    assert_output(&p, "two\nthree\n");
    pipes_end_feed(&p, false);
    assert_output(&p, "rest");
    pipes_close(&p);
}

static void test_labels(void **state)
{
    (void)state;
    pipes_t p;
    pipes_open(&p);
    pipes_feed(&p, "one\n\nthree", true);
    assert_output(&p, "[12] one\n[12] \n");
    pipes_end_feed(&p, true);
    assert_output(&p, "[12] three");
    // The next label starts a new line.
    assert_int_equal(pipe(p.in), 0);
    p.stream = (aq_stream_t){.fd = p.in[0], .rank = 3, .sink = &p.sink};
    pipes_feed(&p, "x\n", true);
    assert_output(&p, "\n[3] x\n");
    pipes_end_feed(&p, true);
    pipes_close(&p);
}

// A line of which the beginning was passed on belongs to its stream.
static void test_partial_lines(void **state)
{
    (void)state;
    pipes_t p;
    uint64_t due = 0;
    aq_sink_t none = {0};
    pipes_open(&p);
    aq_sink_t sinks[2] = {p.sink, none};
    aq_stream_t streams[3] = {{.fd = -1, .rank = 0, .sink = &sinks[0]},
                              {.fd = -1, .rank = 1, .sink = &sinks[0]},
                              {.fd = -1, .rank = 2, .sink = &sinks[0]}};
    for (int i = 0; i < 3; i++) {
        aq_stream_feed(&streams[i], "N = ", 4);
        aq_stream_note_due(&streams[i], &due);
    }
    assert_int_equal(sinks[0].used, 0);
    assert_int_equal(due, streams[0].since + 200000000);
    for (int i = 0; i < 3; i++)
        streams[i].since = 1; // the time is over
    due = 1;
    aq_streams_pass_due(streams, 3, sinks, &due);
    assert_true(aq_sink_flush(&sinks[0]));
    assert_output(&p, "N = "); // and no other partial line behind it
    assert_int_equal(due, 0);
    aq_stream_feed(&streams[1], "42\nM", 4);
    aq_stream_note_due(&streams[1], &due);
    assert_true(aq_sink_flush(&sinks[0]));
    assert_output(&p, "");
    aq_stream_feed(&streams[0], "3\n", 2);
    streams[1].since = streams[2].since = aq_clock_ns() + 1000000000;
    aq_streams_pass_due(streams, 3, sinks, &due);
    assert_true(aq_sink_flush(&sinks[0]));
    assert_output(&p, "3\nN = 42\n");
    // A line that stays incomplete does not keep those of others for ever.
    streams[2].since = due = 1;
    aq_streams_pass_due(streams, 3, sinks, &due);
    aq_stream_feed(&streams[0], "done\n", 5);
    streams[0].since = due = 1;
    aq_streams_pass_due(streams, 3, sinks, &due);
    assert_true(aq_sink_flush(&sinks[0]));
    assert_output(&p, "N = \ndone\n");
    for (int i = 0; i < 3; i++)
        aq_stream_end(&streams[i]);
    assert_true(aq_sink_flush(&sinks[0]));
    assert_output(&p, "M");
    free(sinks[0].bytes);
    sinks[0].bytes = NULL;
    close(p.in[0]);
    close(p.in[1]);
    pipes_close(&p);
}

// A terminal gets the partial line of the only rank that writes at once.
static void test_terminal_line(void **state)
{
    (void)state;
    pipes_t p;
    pipes_open(&p);
    p.sink.terminal = true;
    pipes_feed(&p, "N = ", false);
    assert_output(&p, "N = ");
    aq_stream_t other = {.fd = -1, .rank = 1, .sink = &p.sink};
    aq_stream_feed(&other, "line\n", 5);
    assert_output(&p, "");
    pipes_feed(&p, "3\nM = ", false);
    assert_output(&p, "3\n");
    pipes_end_feed(&p, false);
    aq_stream_end(&other);
    assert_true(aq_sink_flush(&p.sink));
    assert_output(&p, "M = \nline\n");
    pipes_close(&p);
}

// When the reader does not read, the sink reports that, keeps every byte, and continues later.
static void test_slow_reader(void **state)
{
    (void)state;
    pipes_t p;
    size_t total = 1 << 20, seen = 0;
    char *bytes = malloc(total);
    pipes_open(&p);
    for (size_t i = 0; i < total; i++)
        bytes[i] = (char)(i * 13 + i / 4096);
    aq_sink_put(&p.sink, bytes, total);
    assert_false(aq_sink_flush(&p.sink));
    assert_int_equal(p.sink.fault, 0);
    while (seen < total) {
        char got[5000];
        ssize_t n = read(p.out[0], got, sizeof got);
        assert_true(n > 0);
        assert_memory_equal(got, bytes + seen, (size_t)n);
        seen += (size_t)n;
        (void)aq_sink_flush(&p.sink);
    }
    assert_int_equal(p.sink.used, 0);
    free(bytes);
    close(p.in[0]);
    close(p.in[1]);
    pipes_close(&p);
}

static void drain(pipes_t *p)
{
    char got[5000];
    fcntl(p->out[0], F_SETFL, O_NONBLOCK);
    while (!aq_sink_flush(&p->sink))
        while (read(p->out[0], got, sizeof got) > 0)
            ;
    while (read(p->out[0], got, sizeof got) > 0)
        ;
}

// The streams of a blocked sink are not read, so nobody knows yet how a line goes on.
static void test_line_behind_slow_reader(void **state)
{
    (void)state;
    static char bytes[1 << 20];
    pipes_t p;
    uint64_t due;
    pipes_open(&p);
    aq_sink_t sinks[2] = {p.sink, {0}};
    aq_stream_t stream = {.fd = -1, .rank = 1, .sink = &sinks[0]};
    aq_sink_put(&sinks[0], bytes, sizeof bytes);
    assert_false(aq_sink_flush(&sinks[0]));
    aq_stream_feed(&stream, "begin ", 6);
    stream.since = due = 1; // the time is over
    aq_streams_pass_due(&stream, 1, sinks, &due);
    assert_int_equal(stream.used, 6);
    assert_true(due > 1);
    p.sink = sinks[0];
    drain(&p);
    sinks[0] = p.sink;
    assert_int_equal(aq_stream_due(&stream), sinks[0].behind_until + 200000000);
    aq_stream_feed(&stream, "end\n", 4);
    assert_true(aq_sink_flush(&sinks[0]));
    assert_output(&p, "begin end\n");
    aq_stream_end(&stream);
    p.sink = sinks[0];
    close(p.in[0]);
    close(p.in[1]);
    pipes_close(&p);
}

static void test_gone_reader(void **state)
{
    (void)state;
    pipes_t p;
    pipes_open(&p);
    signal(SIGPIPE, SIG_IGN);
    close(p.out[0]);
    aq_sink_put(&p.sink, "x\n", 2);
    assert_true(aq_sink_flush(&p.sink));
    assert_int_equal(p.sink.fault, EPIPE);
    aq_sink_put(&p.sink, "y\n", 2);
    assert_int_equal(p.sink.used, 0);
    p.out[0] = open("/dev/null", O_RDONLY);
    close(p.in[0]);
    close(p.in[1]);
    pipes_close(&p);
}

// A line that is too long to keep is forwarded completely, in pieces.
static void test_long_line(void **state)
{
    (void)state;
    pipes_t p;
    static char piece[1000];
    size_t fed = 0;
    pipes_open(&p);
    memset(piece, 'x', sizeof piece - 1);
    while (p.sink.used == 0 && fed < 2 * AQ_LINE_MAX) {
        assert_int_equal(write(p.in[1], piece, sizeof piece - 1), sizeof piece - 1);
        assert_true(aq_stream_read(&p.stream));
        fed += sizeof piece - 1;
    }
    assert_between(fed, AQ_LINE_MAX, AQ_LINE_MAX + sizeof piece);
    assert_int_equal(p.sink.used, fed);
    aq_stream_end(&p.stream);
    close(p.in[1]);
    pipes_close(&p);
}

// Whether a process that is to pause stops, with SIGCONT pending or without.
static bool stops(bool continued)
{
    int status;
    const pid_t pid = fork();
    if (pid == 0) {
        sigset_t all;
        sigfillset(&all);
        (void)sigprocmask(SIG_SETMASK, &all, NULL);
        if (continued)
            (void)kill(getpid(), SIGCONT);
        aq_supervised_pause();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    const bool stopped = WIFSTOPPED(status);
    if (stopped && kill(pid, SIGCONT) == 0)
        assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return stopped;
}

// The user's SIGCONT is not lost if it comes while SIGTSTP is handled.
static void test_pause(void **state)
{
    (void)state;
    assert_false(stops(true));
    assert_true(stops(false));
}

int main(void)
{
    load_settings();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_collectives),   cmocka_unit_test(test_ends),
        cmocka_unit_test(test_key),           cmocka_unit_test(test_singleton),
        cmocka_unit_test(test_sizes_refused), cmocka_unit_test(test_control),
        cmocka_unit_test(test_control_page),  cmocka_unit_test(test_report),
        cmocka_unit_test(test_lines),         cmocka_unit_test(test_labels),
        cmocka_unit_test(test_partial_lines), cmocka_unit_test(test_terminal_line),
        cmocka_unit_test(test_slow_reader),   cmocka_unit_test(test_line_behind_slow_reader),
        cmocka_unit_test(test_gone_reader),   cmocka_unit_test(test_long_line),
        cmocka_unit_test(test_pause),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
