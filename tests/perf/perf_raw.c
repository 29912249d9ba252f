/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The raw limits of the machine, without GASNet: a cache line that travels from one processor to
 * another and back, a context switch, a copy. Rank 0 measures with a child process, while all other
 * ranks sleep.
 */
#include "perf.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINE = 128, COPY_BYTES = 1 << 20 }; /* LINE: processors fetch cache lines in pairs */

static const unsigned stop = ~0u;

typedef struct lines {
    _Alignas(LINE) _Atomic unsigned there; /* the parent writes, the child reads */
    _Alignas(LINE) _Atomic unsigned back;  /* the child writes, the parent reads */
} lines_t;

static lines_t *lines;
static bool one_core; /* both processes share a processor, so they yield instead of spinning */
static char *copy_from, *copy_to;

void aq_perf_raw_die(const char *what)
{
    fprintf(stderr, "gasnet_perf: raw: cannot %s: %s\n", what, strerror(errno));
    gasnet_exit(1);
}

static void spin_pause(void)
{
    if (one_core)
        sched_yield();
#if defined(__x86_64__) || defined(__i386__)
    else
        __builtin_ia32_pause();
#elif defined(__aarch64__)
    else
        __asm__ __volatile__("yield");
#endif
}

static void await_line(_Atomic unsigned *line, unsigned value)
{
    while (atomic_load_explicit(line, memory_order_acquire) != value)
        spin_pause();
}

static void child_loop(void)
{
    for (unsigned last = 0;;) {
        unsigned now = atomic_load_explicit(&lines->there, memory_order_acquire);
        if (now == stop)
            _exit(0);
        if (now != last)
            atomic_store_explicit(&lines->back, last = now, memory_order_release);
        else
            spin_pause();
    }
}

static void pin_process(int processor)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    sched_setaffinity(0, sizeof set, &set); /* continues unpinned if this is not permitted */
}

/* Returns the nth processor that this process may use, or the first one if there are fewer. */
static int processor_at(const cpu_set_t *allowed, int nth)
{
    int first = -1;

    for (int c = 0; c < CPU_SETSIZE; c++) {
        if (!CPU_ISSET(c, allowed))
            continue;
        if (first < 0)
            first = c;
        if (nth-- == 0)
            return c;
    }
    return first;
}

/* The child is no part of the job: it resets signal handlers, skips exit handlers and ends with
 * rank 0. */
static pid_t start_child(int processor, void (*loop)(void))
{
    pid_t parent = getpid();
    pid_t child = fork();

    if (child < 0)
        aq_perf_raw_die("start a process");
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
        for (int s = 1; s < 32; s++)
            signal(s, SIG_DFL);
        pin_process(processor);
        loop();
    }
    return child;
}

/* The kernel tells them when they are asked for. */
void aq_perf_processors(cpu_set_t *out)
{
    cpu_set_t now, all;

    if (sched_getaffinity(0, sizeof now, &now) != 0)
        aq_perf_raw_die("ask which processors are allowed");
    memset(&all, 0xff, sizeof all);
    *out = now;
    if (sched_setaffinity(0, sizeof all, &all) == 0)
        sched_getaffinity(0, sizeof *out, out);
    sched_setaffinity(0, sizeof now, &now);
}

aq_perf_child_t aq_perf_raw_child(void (*loop)(void), bool same_core)
{
    aq_perf_child_t child;
    cpu_set_t all;

    if (sched_getaffinity(0, sizeof child.allowed, &child.allowed) != 0)
        aq_perf_raw_die("ask which processors are allowed");
    aq_perf_processors(&all);
    one_core = same_core || CPU_COUNT(&all) < 2;
    sched_setaffinity(0, sizeof all, &all); /* the child can begin beside this process */
    child.pid = start_child(processor_at(&all, one_core ? 0 : 1), loop);
    pin_process(processor_at(&all, 0));
    return child;
}

/* If a runtime that waits for any child has already reaped this one, waitpid fails, and that is all
 * right. */
void aq_perf_raw_child_end(aq_perf_child_t child)
{
    while (waitpid(child.pid, NULL, 0) < 0 && errno == EINTR)
        ;
    sched_setaffinity(0, sizeof child.allowed, &child.allowed);
}

static double pingpong_batch(size_t bytes, unsigned long n)
{
    unsigned turn = atomic_load(&lines->there);
    double start = aq_perf_now();

    (void)bytes;
    for (unsigned long i = 0; i < n; i++) {
        turn = turn + 1 == stop ? 1 : turn + 1;
        atomic_store_explicit(&lines->there, turn, memory_order_release);
        await_line(&lines->back, turn);
    }
    return aq_perf_now() - start;
}

/* Returns the seconds of a round trip, between two processors if there are two, else on one. */
static double measure_pingpong(bool same_core)
{
    lines = mmap(NULL, sizeof *lines, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (lines == MAP_FAILED)
        aq_perf_raw_die("map memory");
    aq_perf_child_t child = aq_perf_raw_child(child_loop, same_core);
    double took = aq_perf_measure(pingpong_batch, 0);
    atomic_store(&lines->there, stop);
    aq_perf_raw_child_end(child);
    munmap(lines, sizeof *lines);
    return took;
}

/* A round trip on one processor takes two context switches. */
double aq_perf_raw_switch(void)
{
    return measure_pingpong(true) / 2;
}

static double copy_batch(size_t bytes, unsigned long n)
{
    double start = aq_perf_now();

    for (unsigned long i = 0; i < n; i++) {
        memcpy(copy_to, copy_from, bytes);
        __asm__ __volatile__("" ::: "memory"); /* else the compiler may drop all copies but one */
    }
    return aq_perf_now() - start;
}

static double copy_bandwidth(void)
{
    copy_from = malloc(COPY_BYTES);
    copy_to = malloc(COPY_BYTES);
    if (!copy_from || !copy_to)
        aq_perf_raw_die("allocate two buffers");
    memset(copy_from, 1, COPY_BYTES);
    memset(copy_to, 2, COPY_BYTES);
    double took = aq_perf_measure(copy_batch, COPY_BYTES);
    free(copy_from);
    free(copy_to);
    return 1e-6 * COPY_BYTES / took;
}

void aq_perf_raw(size_t bytes)
{
    (void)bytes;
    aq_perf_report("raw", 0, 1e6 * measure_pingpong(false), "us");
    aq_perf_report("raw-switch", 0, 1e6 * aq_perf_raw_switch(), "us");
    aq_perf_report("raw-memcpy", COPY_BYTES, copy_bandwidth(), "MB/s");
}
