/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * conform_exit: ends in the way that its arguments name, for the tests of launchers. It prints
 * nothing but the texts below.
 *   code N        all ranks call gasnet_exit(N)
 *   one R N       rank R calls gasnet_exit(N), the others wait in a barrier
 *   return N      main returns N after a barrier
 *   compute R N   rank R calls gasnet_exit(N), the others compute for up to 20 s without polling
 *   signal R SIG  rank R raises SIG, the others wait in a barrier
 *   quit R SIG N  as signal, but ranks that get SIGQUIT because of it call gasnet_exit(N)
 *   abort R       rank R aborts, the others wait in a barrier
 *   _exit R N     rank R calls _exit(N), the others wait in a barrier
 *   libc N        all ranks call exit(N), and an atexit function prints "RANK at exit"
 *   away R N S    rank R calls exit(N), the others sleep S seconds, print "RANK stayed" and exit
 *   children N    rank 0 forks children that end by exit(N), gasnet_exit(N), signals and wrong
 *                 addresses, then "RANK goes on"
 *   deep R WHERE  rank R calls a function without end, in its main thread (main) or another one,
 * and the others wait in a barrier command C     rank 0 runs the command C in a shell, and the job
 * ends with its code echo          rank 0 copies its standard input to its standard output late K
 * each rank prints K lines, which are still in the buffer of stdio when it exits lines K       each
 * rank prints K lines "RANK NUMBER CCC...", each in several writes sleep S       sleeps S seconds
 *   ready S       as sleep, but each rank first prints "RANK ready", once all have started
 *   signals S     as ready, and each rank prints "RANK USR1" for each SIGUSR1 that it gets, and so
 *                 with other signals
 *   saves S       as signals, and 3 s after SIGTERM each rank prints "RANK saved" and exits with 7
 *   pid           each rank prints "RANK PID"
 *   cpus          each rank prints "RANK PROCESSORS", as a list: those that it may use
 *   env NAME      each rank prints "RANK VALUE", or "RANK" where the variable is not set
 *   args ...      rank 0 prints its arguments, one per line
 */
#include <gasnetex.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COMPUTE_SECONDS 20
#define LINE_FILL 200

static gex_TM_t team;
static gex_Rank_t me;

static void wait_barrier(void)
{
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
}

static void exit_by_gasnet(int code)
{
    fflush(stdout);
    gasnet_exit(code);
}

static _Noreturn void exit_with_usage(void)
{
    if (me == 0)
        fprintf(
            stderr,
            "conform_exit: unknown mode or too few arguments; the source file lists the modes\n");
    gasnet_exit(64);
    abort();
}

static void do_code(char **arg)
{
    exit_by_gasnet(atoi(arg[0]));
}

static void do_one(char **arg)
{
    wait_barrier();
    if (me == (gex_Rank_t)atoi(arg[0]))
        exit_by_gasnet(atoi(arg[1]));
    wait_barrier();
}

static void compute_seconds(int seconds)
{
    const time_t end = time(NULL) + seconds;
    volatile unsigned long x = 1;

    while (time(NULL) < end) {
        for (int i = 0; i < 1000000; i++)
            x = x * 6364136223846793005ul + 1;
    }
}

static void do_compute(char **arg)
{
    wait_barrier();
    if (me == (gex_Rank_t)atoi(arg[0]))
        exit_by_gasnet(atoi(arg[1]));
    compute_seconds(COMPUTE_SECONDS);
}

static void do_signal(char **arg)
{
    wait_barrier();
    if (me == (gex_Rank_t)atoi(arg[0]))
        raise(atoi(arg[1]));
    wait_barrier();
}

static int quit_code;

static void on_quit(int number)
{
    (void)number;
    gasnet_exit(quit_code);
}

static void do_quit(char **arg)
{
    quit_code = atoi(arg[2]);
    signal(SIGQUIT, on_quit);
    do_signal(arg);
}

static void do_abort(char **arg)
{
    wait_barrier();
    if (me == (gex_Rank_t)atoi(arg[0]))
        abort();
    wait_barrier();
}

static void do_silent(char **arg)
{
    wait_barrier();
    if (me == (gex_Rank_t)atoi(arg[0]))
        _exit(atoi(arg[1]));
    wait_barrier();
}

static void at_exit(void)
{
    printf("%u at exit\n", (unsigned)me);
}

static void do_libc(char **arg)
{
    atexit(at_exit);
    wait_barrier();
    exit(atoi(arg[0]));
}

static void do_away(char **arg)
{
    struct timespec left = {.tv_sec = atoi(arg[2])};

    wait_barrier();
    if (me == (gex_Rank_t)atoi(arg[0]))
        exit(atoi(arg[1]));
    while (nanosleep(&left, &left) != 0)
        ;
    printf("%u stayed\n", (unsigned)me);
    exit(0);
}

/* ---- children of a rank: each ends in its own way, and the job goes on ---- */

static int child_code;

static void child_exit(void)
{
    exit(child_code);
}

static void child_gasnet_exit(void)
{
    gasnet_exit(child_code);
}

static void child_term(void)
{
    raise(SIGTERM);
}

static void child_usr2(void)
{
    raise(SIGUSR2);
    _exit(child_code);
}

static void child_segv(void)
{
    static volatile int *volatile nowhere = NULL;

    *nowhere = 1;
}

static const struct {
    void (*end)(void);
    int signal; /* 0: by the code */
} children[] = {{child_exit, 0},
                {child_gasnet_exit, 0},
                {child_usr2, 0},
                {child_term, SIGTERM},
                {child_segv, SIGSEGV}};

static void check_child(size_t which)
{
    int status = 0;
    const pid_t child = fork();

    if (child == 0) {
        children[which].end();
        _exit(99);
    }
    waitpid(child, &status, 0);
    if (children[which].signal ? !WIFSIGNALED(status) || WTERMSIG(status) != children[which].signal
                               : !WIFEXITED(status) || WEXITSTATUS(status) != child_code) {
        printf("child %d ends with status %d\n", (int)which, status);
        exit_by_gasnet(98);
    }
}

static void do_children(char **arg)
{
    child_code = atoi(arg[0]);
    wait_barrier();
    for (size_t i = 0; me == 0 && i < sizeof children / sizeof children[0]; i++)
        check_child(i);
    wait_barrier();
    printf("%u goes on\n", (unsigned)me);
    fflush(stdout);
    wait_barrier();
}

static volatile int deepest = -1;

static int call_deeper(int depth)
{
    volatile char frame[4096];

    if (depth == deepest)
        return 0;
    frame[0] = (char)depth;
    return call_deeper(depth + 1) + frame[0];
}

static void *start_deep(void *unused)
{
    gex_NBI_Wait(GEX_EC_ALL, 0);
    (void)call_deeper(0);
    return unused;
}

static void do_deep(char **arg)
{
    pthread_t thread;

    wait_barrier();
    if (me == (gex_Rank_t)atoi(arg[0])) {
        if (strcmp(arg[1], "main") == 0)
            start_deep(NULL);
        if (pthread_create(&thread, NULL, start_deep, NULL) == 0)
            pthread_join(thread, NULL);
    }
    wait_barrier();
}

static void do_command(char **arg)
{
    int code = 0;

    wait_barrier();
    if (me == 0)
        code = WEXITSTATUS(system(arg[0]));
    if (code != 0)
        exit_by_gasnet(code);
    wait_barrier();
}

static void do_echo(char **arg)
{
    char buf[4096];
    size_t n;

    (void)arg;
    while (me == 0 && (n = fread(buf, 1, sizeof(buf), stdin)) > 0)
        fwrite(buf, 1, n, stdout);
    fflush(stdout);
    wait_barrier();
}

static void do_late(char **arg)
{
    static char buffer[1 << 20];
    const int count = atoi(arg[0]);

    setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
    for (int i = 0; i < count; i++)
        printf("%u %d and some more text, so that the line is of a usual length\n", (unsigned)me,
               i);
    wait_barrier();
}

/* Each line takes several small writes: a launcher may interleave lines, but not parts of lines. */
static void do_lines(char **arg)
{
    const int count = atoi(arg[0]);

    setvbuf(stdout, NULL, _IONBF, 0);
    for (int i = 0; i < count; i++) {
        char fill[LINE_FILL / 4 + 1];

        memset(fill, 'a' + (int)(((unsigned)i + me) % 26), sizeof(fill) - 1);
        fill[sizeof(fill) - 1] = '\0';
        printf("%u ", (unsigned)me);
        printf("%d ", i);
        for (int part = 0; part < 4; part++)
            fputs(fill, stdout);
        putchar('\n');
    }
    wait_barrier();
}

static void do_ready(char **arg)
{
    wait_barrier();
    printf("%u ready\n", (unsigned)me);
    fflush(stdout);
    sleep((unsigned)atoi(arg[0]));
}

static void do_sleep(char **arg)
{
    struct timespec left = {.tv_sec = atoi(arg[0])};

    while (nanosleep(&left, &left) != 0)
        ;
    wait_barrier();
}

static const struct {
    int number;
    const char *name;
} signals[] = {{SIGUSR1, "USR1"}, {SIGUSR2, "USR2"}, {SIGXCPU, "XCPU"},
               {SIGALRM, "ALRM"}, {SIGXFSZ, "XFSZ"}, {SIGPROF, "PROF"}};
enum { SIGNALS = sizeof signals / sizeof signals[0] };
static char signal_lines[SIGNALS][32];

static void hear_signal(int sig)
{
    for (size_t i = 0; i < SIGNALS; i++)
        if (signals[i].number == sig &&
            write(STDOUT_FILENO, signal_lines[i], strlen(signal_lines[i])) < 0)
            _exit(1);
}

static volatile sig_atomic_t asked_to_save;

static void ask_to_save(int sig)
{
    (void)sig;
    asked_to_save = 1;
}

static void save(void)
{
    struct timespec left = {.tv_sec = 3};

    while (nanosleep(&left, &left) != 0)
        ;
    printf("%u saved\n", (unsigned)me);
    fflush(stdout);
    wait_barrier();
    exit_by_gasnet(7);
}

static void do_signals(char **arg)
{
    struct timespec left = {.tv_sec = atoi(arg[0])};

    for (size_t i = 0; i < SIGNALS; i++) {
        snprintf(signal_lines[i], sizeof signal_lines[i], "%u %s\n", (unsigned)me, signals[i].name);
        signal(signals[i].number, hear_signal);
    }
    wait_barrier();
    printf("%u ready\n", (unsigned)me);
    fflush(stdout);
    while (nanosleep(&left, &left) != 0)
        if (asked_to_save)
            save();
}

static void do_saves(char **arg)
{
    signal(SIGTERM, ask_to_save);
    do_signals(arg);
}

static void do_pid(char **arg)
{
    (void)arg;
    printf("%u %ld\n", (unsigned)me, (long)getpid());
    fflush(stdout);
    wait_barrier();
}

static void do_cpus(char **arg)
{
    char line[8192] = "";
    FILE *status = fopen("/proc/self/status", "r");
    (void)arg;
    wait_barrier();
    while (status != NULL && fgets(line, sizeof line, status) != NULL &&
           strncmp(line, "Cpus_allowed_list:", 18) != 0)
        ;
    printf("%u %s", (unsigned)me, line[0] != '\0' ? line + 19 : "\n");
    fflush(stdout);
    wait_barrier();
    if (status != NULL)
        fclose(status);
}

static void do_env(char **arg)
{
    const char *value = gasnet_getenv(arg[0]);

    if (value != NULL)
        printf("%u %s\n", (unsigned)me, value);
    else
        printf("%u\n", (unsigned)me);
    fflush(stdout);
    wait_barrier();
}

static void do_args(char **arg)
{
    for (int i = 0; me == 0 && arg[i] != NULL; i++)
        printf("%s\n", arg[i]);
    fflush(stdout);
    wait_barrier();
}

static const struct {
    const char *name;
    int arguments;
    void (*run)(char **arg);
} modes[] = {{"code", 1, do_code},         {"one", 2, do_one},         {"compute", 2, do_compute},
             {"signal", 2, do_signal},     {"quit", 3, do_quit},       {"abort", 1, do_abort},
             {"_exit", 2, do_silent},      {"libc", 1, do_libc},       {"away", 3, do_away},
             {"echo", 0, do_echo},         {"lines", 1, do_lines},     {"late", 1, do_late},
             {"ready", 1, do_ready},       {"sleep", 1, do_sleep},     {"pid", 0, do_pid},
             {"env", 1, do_env},           {"signals", 1, do_signals}, {"saves", 1, do_saves},
             {"children", 1, do_children}, {"command", 1, do_command}, {"deep", 2, do_deep},
             {"cpus", 0, do_cpus}};

static void run_mode(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (strcmp(argv[1], modes[i].name) != 0)
            continue;
        if (argc - 2 < modes[i].arguments)
            exit_with_usage();
        modes[i].run(argv + 2);
        exit_by_gasnet(0);
    }
    exit_with_usage();
}

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t ep;

    if (gex_Client_Init(&client, &ep, &team, "CONFORM_EXIT", &argc, &argv, 0) != GASNET_OK)
        return 65;
    me = gex_TM_QueryRank(team);
    if (argc < 2)
        exit_with_usage();
    if (strcmp(argv[1], "args") == 0) {
        do_args(argv);
        exit_by_gasnet(0);
    }
    if (strcmp(argv[1], "return") == 0 && argc > 2) {
        wait_barrier();
        return atoi(argv[2]);
    }
    run_mode(argc, argv);
    return 0;
}
