// SPDX-License-Identifier: BSD-3-Clause
// gasnet_top: shows what the ranks of a running job do, without disturbing them.
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../base/clock.h"
#include "../../base/system/open_files.h"
#include "../../base/system/own_file.h"
#include "../../base/system/standard_streams.h"
#include "../../observe/top/diagnose.h"
#include "../../observe/top/job_watch.h"
#include "../../observe/top/stack_ask.h"
#include "../../observe/top/top_screen.h"
#include "../../observe/top/top_write.h"

enum {
    EXIT_WRONG = 1, // there is no such job, or --diagnose has found something
    EXIT_USAGE = 2,
    FIRST_MS = 200, // between the two readings of --once and --diagnose
    WHY = 4096,
};

typedef struct request {
    bool once, json, diagnose, no_stack;
    const char *prometheus; // file; NULL: none
    const char *job;        // NULL: the only one
    long stack;             // rank whose stack is asked for; -1: none
    int delay;              // ms
} request_t;

static const char usage[] =
    "Usage: gasnet_top [options] [PROCESS|PROGRAM]\n"
    "Shows what the ranks of a running job do, on all hosts.\n"
    "The job is that of a process: its launcher, or a rank; or of a program; without either, the\n"
    "only job of this user. Without options a screen shows the ranks again and again; its key h\n"
    "lists the keys.\n"
    "  --once             print the ranks once, and end\n"
    "  --json             with --once: as JSON\n"
    "  --prometheus FILE  write counters into FILE, in the text exposition format, at each delay\n"
    "                     until the job ends, or with --once once\n"
    "  --diagnose         say who waits for whom, and why; exit code 1 if something is wrong\n"
    "  --stack RANK       ask a rank for its stack, by a signal, and print it\n"
    "  --no-stack         with --diagnose: do not ask ranks for their stacks, by a signal\n"
    "  -d SECONDS         delay between two readings (1)\n"
    "  -h, --help         this text\n"
    "  --version          version\n"
    "Exit code 0: done; 1: there is no such job, a file cannot be written, or\n"
    "--diagnose has found something; 2: the options are not legal.\n";

static void complain(const char *sentence)
{
    fprintf(stderr, "gasnet_top: %s\n", sentence);
}

static void pause_ms(int ms)
{
    aq_clock_sleep_ns((uint64_t)ms * 1000000);
}

// ---- the file for Prometheus ----

// Takes fd. Returns 0 or errno.
static int file_fill(const aq_watched_job_t *job, int fd)
{
    FILE *file = fdopen(fd, "w");
    if (!file) {
        close(fd);
        return ENOMEM;
    }
    const bool written = aq_top_write_prometheus(job, file);
    const bool fine = fclose(file) == 0 && written;
    return fine ? 0 : errno ? errno : EIO;
}

// Returns 0 or errno. Readers see the file whole: it gets its name when it is complete.
static int file_write(const aq_watched_job_t *job, const char *path)
{
    char *temporary;
    const int fd = aq_own_file_make(path, &temporary);
    if (fd < 0)
        return errno;
    const int error = file_fill(job, fd), placed = aq_own_file_place(temporary, path, !error);
    return error ? error : placed;
}

static bool prometheus_write(const aq_watched_job_t *job, const char *path)
{
    const int error = file_write(job, path);
    if (error)
        fprintf(stderr,
                "gasnet_top: --prometheus %s: cannot write this file: %s; name a file in a folder "
                "to which this user may write\n",
                path, aq_own_file_error(error));
    return !error;
}

static int prometheus_run(const request_t *request, aq_watched_job_t *job)
{
    for (;;) {
        if (!prometheus_write(job, request->prometheus))
            return EXIT_WRONG;
        if (request->once || !aq_top_goes_on(job))
            return 0;
        pause_ms(request->delay);
        aq_watched_read(job, true);
    }
}

// ---- the job ----

static int diagnose_run(const request_t *request, aq_watched_job_t *job)
{
    const int found =
        aq_diagnose(job, aq_clock_ns(), request->no_stack ? NULL : aq_stack_ask, stdout);
    if (found < 0)
        complain("out of memory for the graph of the ranks");
    return found ? EXIT_WRONG : 0;
}

static int stack_run(const request_t *request, const aq_watched_job_t *job)
{
    aq_seen_stack_t stack;
    const aq_watched_rank_t *rank = aq_watched_find(job, (uint32_t)request->stack);
    if (!rank) {
        fprintf(stderr,
                "gasnet_top: --stack %ld: this rank is not shown; gasnet_top --once lists those "
                "that are\n",
                request->stack);
        return EXIT_WRONG;
    }
    const aq_stack_result_t result = aq_stack_ask(job, rank, &stack);
    if (result != AQ_STACK_GIVEN) {
        fprintf(stderr, "gasnet_top: rank %ld: %s\n", request->stack, aq_stack_excuse(result));
        return EXIT_WRONG;
    }
    printf("rank %ld on %s, process %d, thread %d", request->stack, rank->seen.host_name,
           (int)rank->seen.pid, (int)stack.tid);
    if (stack.handler >= 0)
        printf(", in handler %d", stack.handler);
    puts("");
    for (uint32_t i = 0; i < stack.frames; i++)
        printf("    %s\n", stack.frame[i]);
    return 0;
}

static int complain_output(void)
{
    complain("the output cannot be written: its reader has ended, or a disk is full");
    return EXIT_WRONG;
}

static int once_run(const request_t *request, aq_watched_job_t *job)
{
    const bool fine =
        request->json ? aq_top_write_json(job, stdout) : aq_top_write_text(job, stdout);
    return fine ? 0 : complain_output();
}

static int end_output(int code)
{
    const bool written = fflush(stdout) == 0 && !ferror(stdout);
    return code == 0 && !written ? complain_output() : code;
}

static int job_run(const request_t *request, aq_watched_job_t *job)
{
    char why[WHY];
    if (request->stack >= 0)
        return stack_run(request, job);
    aq_watched_read(job, true);
    if (request->prometheus)
        return prometheus_run(request, job);
    if (request->once || request->diagnose) {
        pause_ms(FIRST_MS);
        aq_watched_read(job, true);
        return request->diagnose ? diagnose_run(request, job) : once_run(request, job);
    }
    if (!aq_top_screen(job, request->delay, why, sizeof why)) {
        complain(why);
        return EXIT_WRONG;
    }
    if (!aq_top_goes_on(job))
        puts("the job has ended");
    return 0;
}

static void complain_part(rlim_t files)
{
    fprintf(stderr,
            "gasnet_top: with %llu open files it sees only a part of the ranks of this host: raise "
            "ulimit -n\n",
            (unsigned long long)files);
}

static int run(const request_t *request)
{
    struct rlimit files; // a file of each rank of this host stays open
    (void)aq_open_files_raise(RLIM_INFINITY, &files);
    char why[WHY];
    aq_watch_t watch;
    aq_watched_job_t *job = NULL;
    if (aq_watch_find(&watch))
        job = aq_watch_choose(&watch, request->job, why, sizeof why);
    else
        snprintf(why, sizeof why, "out of memory for the jobs of this host");
    if (watch.is_part)
        complain_part(files.rlim_max);
    if (!job)
        complain(why);
    const int code = job ? job_run(request, job) : EXIT_WRONG;
    aq_watch_free(&watch);
    return code;
}

// ---- options ----

static bool parse_delay(const char *text, int *delay)
{
    char *end;
    const double seconds = strtod(text, &end);
    if (end == text || *end || !isfinite(seconds) || seconds < 0.1 || seconds > 3600)
        return false;
    *delay = (int)(seconds * 1000);
    return true;
}

static bool parse_rank(const char *text, long *rank)
{
    char *end;
    errno = 0;
    *rank = strtol(text, &end, 10);
    return end != text && !*end && !errno && *rank >= 0 && *rank < AQ_SEEN_RANKS_MAX;
}

enum {
    OPTION_ONCE = 256,
    OPTION_JSON,
    OPTION_PROMETHEUS,
    OPTION_DIAGNOSE,
    OPTION_NO_STACK,
    OPTION_STACK,
    OPTION_VERSION
};

// Returns the exit code, or -1: go on.
static int take_option(request_t *request, int option)
{
    request->once |= option == OPTION_ONCE;
    request->json |= option == OPTION_JSON;
    request->diagnose |= option == OPTION_DIAGNOSE;
    request->no_stack |= option == OPTION_NO_STACK;
    if (option == OPTION_PROMETHEUS)
        request->prometheus = optarg;
    if (option == 'd' && !parse_delay(optarg, &request->delay)) {
        fprintf(stderr, "gasnet_top: -d %s: give seconds, from 0.1 to 3600\n", optarg);
        return EXIT_USAGE;
    }
    if (option == OPTION_STACK && !parse_rank(optarg, &request->stack)) {
        fprintf(stderr, "gasnet_top: --stack %s: give the number of a rank\n", optarg);
        return EXIT_USAGE;
    }
    if (option == 'h')
        fputs(usage, stdout);
    if (option == OPTION_VERSION)
        puts("gasnet_top (Aqueduct) " PACKAGE_VERSION);
    if (option == '?')
        fputs("gasnet_top: gasnet_top --help lists the options\n", stderr);
    return option == 'h' || option == OPTION_VERSION ? 0 : option == '?' ? EXIT_USAGE : -1;
}

static int check_request(const request_t *request, int rest)
{
    const char *fault = NULL;
    if (rest > 1)
        fault = "name one process or one program";
    else if (request->json && (!request->once || request->diagnose || request->prometheus))
        fault = "--json goes with --once alone";
    else if (request->diagnose && request->prometheus)
        fault = "use either --diagnose or --prometheus";
    else if (request->no_stack && !request->diagnose)
        fault = "--no-stack goes with --diagnose";
    else if (request->stack >= 0 && (request->once || request->diagnose || request->prometheus))
        fault = "--stack goes with no other option";
    if (fault)
        complain(fault);
    return fault ? EXIT_USAGE : -1;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"once", no_argument, NULL, OPTION_ONCE},
        {"json", no_argument, NULL, OPTION_JSON},
        {"prometheus", required_argument, NULL, OPTION_PROMETHEUS},
        {"diagnose", no_argument, NULL, OPTION_DIAGNOSE},
        {"stack", required_argument, NULL, OPTION_STACK},
        {"no-stack", no_argument, NULL, OPTION_NO_STACK},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, OPTION_VERSION},
        {NULL, 0, NULL, 0},
    };
    request_t request = {.delay = 1000, .stack = -1};
    aq_standard_streams_open();
    int code = -1;
    for (int option; code < 0 && (option = getopt_long(argc, argv, "d:h", options, NULL)) >= 0;)
        code = take_option(&request, option);
    if (code < 0)
        code = check_request(&request, argc - optind);
    if (code >= 0)
        return end_output(code);
    request.job = optind < argc ? argv[optind] : NULL;
    return end_output(run(&request));
}
