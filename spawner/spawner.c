// Which back end joins this process to its job.
#include "spawner.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../other/base/log.h"
#include "../other/mpi/mpi_library.h"
#include "../other/base/settings.h"
#include "hosts.h"
#include "spawn_fork.h"
#include "spawn_modules.h"
#include "spawn_mpi.h"

typedef struct spawner_row {
    const char *name;
    bool usable;
    const char *why;
} spawner_row_t;

static const spawner_row_t rows[] = {
    {"fork", true,
     "all ranks on this host: gasnetrun_smp -n N program, or GASNET_PSHM_NODES=N program"},
    {"ssh", true, "ranks on several hosts: gasnetrun_udp -n N -H host,host... program"},
    {"custom", true,
     "ranks where a command of yours starts them: GASNET_CSPAWN_CMD='srun -n %N %C' gasnetrun_udp "
     "-spawner=custom -n N program"},
    {"mpi", true,
     "ranks where mpirun starts them: mpirun -np N program, or gasnetrun_mpi -n N program"},
    {"pmi", true,
     "the same without MPI, by PMIx or PMI-2: srun --mpi=pmix -n N program (or --mpi=pmi2), or "
     "GASNET_SPAWNER=pmi mpirun -np N program"},
};

#define ROWS (sizeof rows / sizeof rows[0])

// What some spawners need is found out here, where it is asked for.
static void look(aq_spawner_report_t *row)
{
    if (strcmp(row->name, "ssh") == 0 && !aq_ssh_is_there()) {
        row->usable = false;
        snprintf(row->why, sizeof row->why,
                 "the remote shell (GASNET_SSH_CMD, ssh) is not in PATH: install the package "
                 "openssh-client");
    }
    if (strcmp(row->name, "pmi") == 0 && !aq_pmi_is_there()) {
        row->usable = false;
        snprintf(row->why, sizeof row->why,
                 "this installation has no module for PMIx or PMI-2: install the package "
                 "libpmix-dev or libpmi2-0-dev, and configure it again");
    }
    if (strcmp(row->name, "mpi") == 0 && !aq_mpi_is_there()) {
        row->usable = false;
        snprintf(row->why, sizeof row->why,
                 "this installation has no module for an MPI: install the package libopenmpi-dev "
                 "or libmpich-dev, and configure it again");
    }
}

size_t aq_boot_report(aq_spawner_report_t *out, size_t max)
{
    for (size_t i = 0; i < ROWS && i < max; i++) {
        out[i].name = rows[i].name;
        out[i].usable = rows[i].usable;
        snprintf(out[i].why, sizeof out[i].why, "%s", rows[i].why);
        look(&out[i]);
    }
    return ROWS;
}

static aq_status_t check_choice(aq_setting_id_t id)
{
    if (!aq_settings_given(id))
        return AQ_OK;
    const char *name = aq_settings_text(id);
    if (strcmp(name, "auto") == 0)
        return AQ_OK;
    for (size_t i = 0; i < ROWS; i++)
        if (strcmp(name, rows[i].name) == 0 && rows[i].usable)
            return AQ_OK;
    aq_log_error("%s=%s: this build has no spawner '%s'; unset the variable or set it to fork",
                 aq_settings[id].name, name, name);
    return AQ_ERR_ABSENT;
}

// What the user wishes for a conduit: the variable of its own goes first.
static const char *wished(const char *conduit)
{
    static const struct {
        const char *conduit;
        aq_setting_id_t id;
    } own[] = {{"smp", AQ_SET_SMP_SPAWNER},
               {"udp", AQ_SET_UDP_SPAWNER},
               {"ibv", AQ_SET_IBV_SPAWNER},
               {"mpi", AQ_SET_MPI_SPAWNER}};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (strcmp(own[i].conduit, conduit) == 0 && aq_settings_given(own[i].id) &&
            strcmp(aq_settings_text(own[i].id), "auto") != 0)
            return aq_settings_text(own[i].id);
    return aq_settings_text(AQ_SET_SPAWNER);
}

// Whether mpirun, or what works like it, started this process for a job that is not another
// spawner's; and whether it is joined by PMIx or PMI-2, without MPI: where it is no MPI's own
// launcher, and nobody needs MPI.
static bool by_mpirun(const char *conduit, bool *pmi)
{
    const char *wish = wished(conduit);
    const aq_mpi_launch_t launch = aq_mpi_launched();
    *pmi = strcmp(wish, "pmi") == 0;
    if (*pmi || strcmp(wish, "mpi") == 0)
        return true;
    if (strcmp(wish, "auto") != 0 || launch.by == NULL)
        return false;
    bool needed = strcmp(conduit, "mpi") == 0 || aq_mpi_in_process();
    *pmi = aq_pmi_is_there() && !needed && (!launch.own || !aq_mpi_is_there());
    return true;
}

// ---- a program of conduit udp that starts its job itself ----

// The spawner that a program without a launcher takes; "fork": its own children.
static const char *own_spawner(const char *conduit)
{
    const char *wish = wished(conduit), *source = aq_hosts_source(NULL);
    const char *letter = aq_settings_text(AQ_SET_SPAWNFN);
    if (strcmp(wish, "auto") != 0)
        return wish;
    if (aq_settings_given(AQ_SET_SPAWNFN))
        return aq_spawn_of_letter(letter);
    return source != NULL && strstr(source, "SSH_SERVERS") != NULL ? "ssh" : "fork";
}

static bool check_letter(const char *conduit)
{
    if (own_spawner(conduit) != NULL)
        return true;
    aq_log_error("GASNET_SPAWNFN=%s: GASNet has given rexec up, and it is not here either; set it "
                 "to L (ranks on this host), S (by ssh) or C (by the command of GASNET_CSPAWN_CMD)",
                 aq_settings_text(AQ_SET_SPAWNFN));
    return false;
}

// The launcher lies beside the library, in the folder for programs or in that of a build.
static void exec_beside(char **words)
{
    static const char *const places[] = {"../bin", "..", "."};
    char path[4096];
    Dl_info library;
    if (dladdr((void *)(uintptr_t)aq_boot_take_ranks, &library) == 0 || library.dli_fname == NULL)
        return;
    const char *slash = strrchr(library.dli_fname, '/');
    int folder = slash != NULL ? (int)(slash - library.dli_fname) : 0;
    for (size_t i = 0; folder > 0 && i < sizeof places / sizeof places[0]; i++) {
        snprintf(path, sizeof path, "%.*s/%s/%s", folder, library.dli_fname, places[i], words[0]);
        (void)execv(path, words);
    }
}

// Becomes the launcher. Returns when that cannot be: logged.
static void become_launcher(int argc, char **argv, uint32_t ranks)
{
    char number[16];
    char **words = calloc((size_t)argc + 8, sizeof *words);
    size_t count = 0;
    snprintf(number, sizeof number, "%" PRIu32, ranks);
    if (words != NULL) {
        words[count++] = (char *)(uintptr_t) "gasnetrun_udp";
        words[count++] = (char *)(uintptr_t) "-n";
        words[count++] = number;
        words[count++] = (char *)(uintptr_t) "--";
        words[count++] = argv[0];
        memcpy(words + count, argv + 2, (size_t)(argc - 2) * sizeof *words);
        (void)fflush(NULL);
        exec_beside(words);
        (void)execvp(words[0], words);
    }
    aq_log_error("the launcher gasnetrun_udp, which GASNET_SPAWNFN needs for anything but L, "
                 "cannot be started: %s; put its folder into PATH",
                 strerror(errno));
    free(words);
}

// srun without PMI starts processes that do not know of each other.
static bool check_step(const char *conduit)
{
    const char *tasks = getenv("SLURM_STEP_NUM_TASKS");
    if (strcmp(wished(conduit), "auto") != 0 || !tasks || !getenv("SLURM_PROCID") ||
        strtol(tasks, NULL, 10) <= 1)
        return true;
    aq_log_error("srun started %s tasks, but gave them nothing to find each other by; give it the "
                 "option --mpi=pmix or --mpi=pmi2 (srun --mpi=list tells which it has), or set "
                 "GASNET_SPAWNER=fork, if each task is to be a job of its own",
                 tasks);
    return false;
}

// ---- program N arguments ----

static uint32_t read_ranks(const char *text, long most)
{
    char *end;
    long ranks = strtol(text, &end, 10);
    bool good = *text >= '0' && *text <= '9' && *end == '\0' && ranks >= 1 && ranks <= most;
    return good ? (uint32_t)ranks : 0;
}

aq_status_t aq_boot_take_ranks(const char *conduit, int *argc, char ***argv, uint32_t *ranks)
{
    bool pmi;
    *ranks = 0;
    if (strcmp(conduit, "udp") != 0 || aq_settings_given(AQ_SET_SPAWN_CONTROL) ||
        aq_settings_given(AQ_SET_PSHM_NODES) || by_mpirun(conduit, &pmi))
        return AQ_OK;
    if (!check_step(conduit) || !check_letter(conduit))
        return AQ_ERR_CONFIG;
    const char *first = argc && argv && *argc > 1 ? (*argv)[1] : NULL;
    bool here = strcmp(own_spawner(conduit), "fork") == 0;
    long most = here ? AQ_RANKS_MAX : AQ_JOB_RANKS_MAX;
    *ranks = first ? read_ranks(first, most) : 0;
    if (!*ranks) {
        aq_log_error("%s%s%s: a program of conduit udp that is started without a launcher takes "
                     "the number of ranks, 1 to %ld, as its first argument (program 4 ...); give "
                     "it, or use gasnetrun_udp -n 4 program ...",
                     first ? "'" : "", first ? first : "the number of ranks is missing",
                     first ? "' is no number of ranks" : "", most);
        return AQ_ERR_CONFIG;
    }
    if (!here) {
        become_launcher(*argc, *argv, *ranks);
        return AQ_ERR_CONFIG;
    }
    memmove(*argv + 1, *argv + 2, (size_t)(*argc - 2) * sizeof **argv);
    (*argv)[--*argc] = NULL;
    return AQ_OK;
}

// ---- joining ----

void aq_boot_begin_start(void)
{
    aq_fork_begin();
}

void aq_boot_end_start(void)
{
    aq_page_take_faults(NULL, 0);
}

aq_status_t aq_boot_start(const char *conduit, uint32_t ranks, aq_boot_t **out)
{
    if (aq_settings_given(AQ_SET_SPAWN_CONTROL))
        return aq_fork_join(aq_settings_text(AQ_SET_SPAWN_CONTROL), out);
    aq_status_t status = check_choice(AQ_SET_SPAWNER);
    if (status == AQ_OK)
        status = check_choice(AQ_SET_SMP_SPAWNER);
    if (status != AQ_OK)
        return status;
    bool pmi;
    if (by_mpirun(conduit, &pmi))
        return aq_mpi_join(pmi, out);
    if (!aq_settings_given(AQ_SET_PSHM_NODES) && !ranks && !check_step(conduit))
        return AQ_ERR_CONFIG;
    int64_t nodes =
        aq_settings_given(AQ_SET_PSHM_NODES) ? aq_settings_int(AQ_SET_PSHM_NODES) : ranks;
    if (nodes <= 1)
        return aq_fork_alone(out);
    if (nodes > AQ_RANKS_MAX) {
        aq_log_error("GASNET_PSHM_NODES=%" PRId64
                     ": one host carries at most %d ranks; give a smaller "
                     "number",
                     nodes, AQ_RANKS_MAX);
        return AQ_ERR_CONFIG;
    }
    int code = 1;
    aq_supervise_options_t options = {.size = (uint32_t)nodes};
    return aq_supervise(&options, out, &code) ? AQ_OK : AQ_ERR_RESOURCE;
}

uint64_t aq_boot_exit_timeout(uint32_t size)
{
    double seconds = aq_settings_real(AQ_SET_EXITTIMEOUT);
    if (seconds <= 0) { // not given, or 0: computed
        double most = aq_settings_real(AQ_SET_EXITTIMEOUT_MAX);
        seconds = aq_settings_real(AQ_SET_EXITTIMEOUT_MIN) +
                  size * aq_settings_real(AQ_SET_EXITTIMEOUT_FACTOR);
        seconds = seconds < most ? seconds : most;
    }
    if (seconds > 1e8) // three years: no overflow below
        seconds = 1e8;
    return (uint64_t)(seconds * 1e9);
}
