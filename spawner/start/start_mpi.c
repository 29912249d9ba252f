// SPDX-License-Identifier: BSD-3-Clause
// Modules mpi and pmi, for the launcher: they run the command of MPIRUN_CMD, which knows where
// ranks may run.
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../other/base/log/log.h"
#include "../../other/base/settings/settings.h"
#include "../join/launch_environment.h"
#include "../join/rank_watch.h"
#include "../shell/shell_words.h"
#include "spawn_module.h"
#include "../supervise/supervisor_signal.h"

#define PRIORITY 5 // mpirun is used on request, and for conduit mpi
#define PATH_ROOM 4096

static char **words; // of the command; NULL-terminated

// The variable that holds the command of a job.
static aq_setting_id_t source = AQ_SET_MPIRUN_CMD;

static const char *source_name(void)
{
    return aq_settings[source].name;
}

// ---- availability ----

static bool in_path(const char *program)
{
    char path[PATH_ROOM];
    const char *folders = getenv("PATH");
    if (strchr(program, '/'))
        return access(program, X_OK) == 0;
    while (folders && *folders) {
        size_t length = strcspn(folders, ":");
        snprintf(path, sizeof path, "%.*s/%s", (int)length, folders, program);
        if (access(path, X_OK) == 0)
            return true;
        folders += length + (folders[length] == ':');
    }
    return false;
}

static bool find_command(int *priority, char *errbuf, size_t errbuf_size)
{
    *priority = PRIORITY;
    char **command = aq_shell_split(aq_settings_text(source));
    bool found = false;
    if (!command)
        snprintf(errbuf, errbuf_size, "a quote is not closed in %s", source_name());
    else if (!command[0])
        snprintf(errbuf, errbuf_size, "%s is blank", source_name());
    else if (!in_path(command[0]))
        snprintf(errbuf, errbuf_size,
                 "the program '%.100s' (%s) is not in PATH: install the package openmpi-bin or "
                 "mpich, or name another mpirun in %s",
                 command[0], source_name(), source_name());
    else
        found = true;
    if (command)
        aq_shell_free_words(command);
    return found;
}

static bool mpi_init(const aq_start_t *start, int *priority, char *errbuf, size_t errbuf_size)
{
    (void)start;
    source = AQ_SET_MPIRUN_CMD;
    return find_command(priority, errbuf, errbuf_size);
}

static bool pmi_init(const aq_start_t *start, int *priority, char *errbuf, size_t errbuf_size)
{
    (void)start;
    source = *aq_settings_text(AQ_SET_PMIRUN_CMD) ? AQ_SET_PMIRUN_CMD : AQ_SET_MPIRUN_CMD;
    return find_command(priority, errbuf, errbuf_size);
}

static aq_status_t refuse_option(const char *option, const char *what)
{
    aq_log_error(
        "option %s: this spawner leaves %s to mpirun; put mpirun's own option for that into %s",
        option, what, source_name());
    return AQ_ERR_CONFIG;
}

static aq_status_t mpi_parse_options(const aq_start_t *start)
{
    if (start->host_list)
        return refuse_option("-H", "the choice of hosts");
    if (start->host_count > 1)
        return refuse_option("-N", "the choice of hosts");
    if (start->cyclic)
        return refuse_option("-cyclic", "the order of the ranks");
    if (start->run.cpus_per_rank)
        return refuse_option("-c", "the binding to processors");
    if (start->bind)
        return refuse_option("--bind", "the binding to processors");
    if (start->run.label_lines)
        return refuse_option("-l", "the output");
    if (start->run.environment)
        return refuse_option("-E", "the environment of the ranks");
    return AQ_OK;
}

// ---- the command ----

// The words of the command so far, NULL-terminated.
typedef struct list {
    char **words;
    size_t count;
    bool short_of_memory;
} list_t;

static void list_add(list_t *list, const char *word)
{
    char **grown = realloc(list->words, (list->count + 2) * sizeof *grown);
    char *copy = strdup(word);
    if (grown)
        list->words = grown;
    if (!grown || !copy) {
        free(copy);
        list->short_of_memory = true;
        return;
    }
    list->words[list->count++] = copy;
    list->words[list->count] = NULL;
}

static void list_add_all(list_t *list, char *const *more)
{
    for (; *more; more++)
        list_add(list, *more);
}

// Returns the replacement of a letter inside of a word; NULL: the letter has none.
static const char *letter_meaning(const aq_start_t *start, char letter, char number[24])
{
    switch (letter) {
    case 'N':
        snprintf(number, 24, "%" PRIu32, start->run.size);
        return number;
    case 'P':
        return start->run.argv[0];
    case 'H':
        return aq_settings_given(AQ_SET_NODEFILE) ? aq_settings_text(AQ_SET_NODEFILE) : NULL;
    case '%':
        return "%";
    default:
        return NULL;
    }
}

static aq_status_t refuse_letter(char letter)
{
    if (letter == 'H')
        aq_log_error("%s: %%H stands for GASNET_NODEFILE, which is not set; set it to the file "
                     "that names the hosts, or take %%H out",
                     source_name());
    else
        aq_log_error("%s: %%%c has no meaning here; write %%N, %%P, %%A, %%C or %%H (%%A and %%C "
                     "as words of their own), or %%%% for a percent sign",
                     source_name(), letter ? letter : ' ');
    return AQ_ERR_CONFIG;
}

// Adds a word after replacing its letters.
static aq_status_t list_add_filled(list_t *list, const aq_start_t *start, const char *word)
{
    char text[PATH_ROOM] = "", number[24];
    size_t used = 0;
    for (; *word && used < sizeof text - 1; word++) {
        if (*word != '%') {
            text[used++] = *word;
            continue;
        }
        const char *means = letter_meaning(start, *++word, number);
        if (!means)
            return refuse_letter(*word);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s", means);
    }
    if (used >= sizeof text - 1) {
        aq_log_error("%s: one of its words is longer than %d characters; shorten it", source_name(),
                     PATH_ROOM - 2);
        return AQ_ERR_CONFIG;
    }
    text[used] = '\0';
    list_add(list, text);
    return AQ_OK;
}

static aq_status_t list_fill(list_t *list, const aq_start_t *start, char *const *command)
{
    aq_status_t status = AQ_OK;
    for (; status == AQ_OK && *command; command++) {
        if (strcmp(*command, "%C") == 0)
            list_add_all(list, start->run.argv);
        else if (strcmp(*command, "%A") == 0)
            list_add_all(list, start->run.argv + 1);
        else
            status = list_add_filled(list, start, *command);
    }
    return status;
}

static aq_status_t mpi_allocate_hosts(const aq_start_t *start)
{
    list_t list = {0};
    char **command = aq_shell_split(aq_settings_text(source));
    if (!command)
        return AQ_ERR_RESOURCE; // init read the same text without a fault
    aq_status_t status = list_fill(&list, start, command);
    aq_shell_free_words(command);
    words = list.words;
    if (status == AQ_OK && list.short_of_memory) {
        aq_log_error("no memory for the command of %s; give the program fewer arguments",
                     source_name());
        status = AQ_ERR_RESOURCE;
    }
    return status;
}

// The ranks must use the launcher's choice, no matter what the environment says.
static aq_status_t export_spawner(const char *spawner)
{
    if (aq_launch_export("GASNET_SPAWNER", spawner))
        return AQ_OK;
    aq_log_error("no memory for the environment of the ranks");
    return AQ_ERR_RESOURCE;
}

static aq_status_t mpi_prepare(const aq_start_t *start)
{
    (void)start;
    return export_spawner("mpi");
}

static aq_status_t pmi_prepare(const aq_start_t *start)
{
    (void)start;
    return export_spawner("pmi");
}

static void mpi_describe(const aq_start_t *start)
{
    (void)start;
    printf("gasnetrun: the command:");
    for (char **word = words; *word; word++) {
        putchar(' ');
        aq_shell_print(*word);
    }
    putchar('\n');
    (void)fflush(stdout);
}

// ---- the process ----

static volatile pid_t child;
static volatile sig_atomic_t stopped_by; // the last signal that asked to end the job; 0: none

// mpirun forwards signals to its children, which may be wrappers, or ends the job. So the ranks get
// those that they may handle from here, if all of them are on this host.
static void forward_signal(int number)
{
    if (aq_supervised_is_stop(number))
        stopped_by = number;
    const bool for_mpirun = aq_supervised_is_stop(number) && number != SIGTERM;
    if ((for_mpirun || !aq_rank_watch_signal(number)) && child > 0)
        (void)kill(child, number);
}

static void catch_signals(sigset_t *passed)
{
    static const int numbers[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGUSR1,
                                  SIGUSR2, SIGXCPU, SIGALRM, SIGXFSZ, SIGPROF};
    struct sigaction action = {.sa_handler = forward_signal};
    sigemptyset(passed);
    for (unsigned i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        (void)sigaction(numbers[i], &action, NULL);
        sigaddset(passed, numbers[i]);
    }
}

static void watch_ranks(const sigset_t *passed)
{
    sigset_t old;
    (void)sigprocmask(SIG_BLOCK, passed, &old);
    aq_rank_watch_run(child, &old);
    (void)sigprocmask(SIG_SETMASK, &old, NULL);
}

// In a process group of its own, mpirun would lose the terminal. In ours it gets signals of the
// terminal twice, which does no harm.
static void run_command(pid_t parent)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(1);
    (void)execvp(words[0], words);
    aq_log_error("'%s' (%s) cannot be started: %s; name another mpirun there", words[0],
                 source_name(), strerror(errno));
    _exit(127);
}

static int wait_for_child(void)
{
    int state = 0;
    while (waitpid(child, &state, 0) < 0)
        if (errno != EINTR)
            return 1;
    return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
}

static void mpi_start(const aq_start_t *start, int *code)
{
    (void)start;
    sigset_t passed;
    const pid_t parent = getpid();
    const bool watches = aq_rank_watch_open();
    const pid_t forked = fork();
    if (forked == 0)
        run_command(parent);
    if (forked < 0) {
        aq_log_error("mpirun cannot be started: %s; end other processes", strerror(errno));
        *code = 1;
        return;
    }
    child = forked;
    catch_signals(&passed);
    if (watches)
        watch_ranks(&passed);
    *code = wait_for_child();
    if (watches)
        *code = aq_rank_watch_code(*code, stopped_by);
}

static void mpi_deallocate(const aq_start_t *start)
{
    (void)start;
    if (words)
        aq_shell_free_words(words);
    words = NULL;
}

const aq_spawn_module_t aq_module_mpi = {
    .name = "mpi",
    .init = mpi_init,
    .parse_options = mpi_parse_options,
    .allocate_hosts = mpi_allocate_hosts,
    .describe = mpi_describe,
    .prepare = mpi_prepare,
    .start = mpi_start,
    .deallocate_hosts = mpi_deallocate,
};

const aq_spawn_module_t aq_module_pmi = {
    .name = "pmi",
    .init = pmi_init,
    .parse_options = mpi_parse_options,
    .allocate_hosts = mpi_allocate_hosts,
    .describe = mpi_describe,
    .prepare = pmi_prepare,
    .start = mpi_start,
    .deallocate_hosts = mpi_deallocate,
};
