// SPDX-License-Identifier: BSD-3-Clause
// gasnetrun: starts the ranks of a job. One program for all conduits: its name selects the conduit
// (gasnetrun_smp, gasnetrun_udp; clients of conduit udp call amudprun).
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/log/log.h"
#include "../../base/modules/modules.h"
#include "../../base/settings/profile.h"
#include "../../base/settings/settings.h"
#include "../../base/size.h"
#include "../../base/system/standard_streams.h"
#include "../../../spawner/launch/helper.h"
#include "../../../spawner/hosts/hosts.h"
#include "../../../spawner/join/launch_environment.h"
#include "../../../spawner/shell/shell_words.h"
#include "../../../spawner/start/spawn_module.h"
#include "../../../spawner/start/start_ssh.h"
#include "../../../spawner/join/spawner_list.h"
#include "../../../spawner/start/host_probe.h"
#include "../../../spawner/universe/universe_daemon.h"
#include "../../../spawner/tree/workers.h"

#define EXIT_USAGE AQ_EXIT_USAGE
#define DEPTH_MAX 4096 // the maximum of GASNET_NETWORKDEPTH

// The conduits of this build, as listed by configure.
#define NAME(conduit) #conduit,
#define WORD(conduit) " " #conduit
static const char *const conduits[] = {AQ_EACH_NAME(NAME)};

typedef struct run_options {
    aq_start_t start;    // conduit is NULL while it is unknown
    const char *program; // the name of this program, without folder
    const char *spawner; // NULL: the option is not given
    bool dry, keep;
    bool by_name;       // this program's name chose the conduit, not the user
    bool help, version; // print that and exit
} run_options_t;

// Whether this program was called by the name that clients of GASNet's udp-conduit use; its options
// differ.
static bool is_amudprun(const run_options_t *run)
{
    return strcmp(run->program, "amudprun") == 0;
}

// ---- help ----

static const char common_usage[] =
    "  -H <host,host...>  start the ranks on these hosts: [user@]name[:slots]\n"
    "  -cyclic            place ranks round-robin over the hosts instead of in blocks\n"
    "  -c <processors>    bind each rank to that many processors; 0: as --bind none\n"
    "  --bind <how>       bind each rank to cores of its own: auto, unless something else has; "
    "core,\n"
    "                     always; none\n"
    "  -E <VAR1,VAR2>     pass only these variables, PATH, HOME, LD_LIBRARY_PATH and GASNET_*\n"
    "  -l                 begin each line of output with the rank\n"
    "  -v                 print each step; -v -v also prints why other spawners are not taken\n"
    "  -t                 print the steps without running them\n"
    "  -k                 keep temporary files (there are none); also -v\n";

static const char amudprun_usage[] =
    "  -np <ranks>        start that many ranks (also -n and -N)\n"
    "  -spawn <letter>    how to start the ranks: L on this host, S by ssh, C by the command of\n"
    "                     GASNET_CSPAWN_CMD\n"
    "  -depth <requests>  the same as GASNET_NETWORKDEPTH=<requests>, which conduit udp ignores\n";

static const char gasnetrun_usage[] =
    "  -n <ranks>         start that many ranks (also -np)\n"
    "  -N <hosts>         spread the ranks evenly over that many hosts, the first of the list\n"
    "  --spare <hosts>    start that many hosts more than -N, and leave out those that fail\n"
    "  --reserve <ranks>  the program may start that many ranks more (gasnetx_Job_Grow)\n";

static const char last_usage[] =
    "  -h, --help         this text\n"
    "  --version          version\n"
    "\n"
    "Standard input goes to rank 0. The exit code is that of the first rank that ended the job.\n";

static void print_help(const run_options_t *run)
{
    printf("usage: %s -n <ranks> [options] [--] program [arguments]\n\n%s%s", run->program,
           is_amudprun(run) ? amudprun_usage : gasnetrun_usage, common_usage);
    printf("  -spawner=<name>    how to start the ranks: %s\n"
           "                     or a boot module that gasnet_info lists\n",
           aq_spawner_names(run->start.conduit));
    if (run->start.conduit == NULL)
        printf("  -conduit=<name>    the conduit:%s\n", AQ_EACH_NAME(WORD));
    fputs(last_usage, stdout);
}

// ---- options ----

static bool refuse_option(const char *option)
{
    aq_log_error("unknown option '%s'; the option -h lists all options", option);
    return false;
}

// Returns the value of an option: the rest of the same word ("-n4"), or the next word.
static const char *option_value(char **argv, int *at, size_t name)
{
    const char *word = argv[*at];
    if (word[name] != '\0')
        return word + name + (word[name] == '=');
    if (argv[*at + 1] == NULL) {
        aq_log_error("option %s has no value; the option -h shows what it takes", word);
        return NULL;
    }
    return argv[++*at];
}

static bool number_option(char **argv, int *at, size_t name, int64_t least, int64_t most,
                          int64_t *out)
{
    int length = (int)name;
    const char *option = argv[*at];
    const char *text = option_value(argv, at, name);
    int64_t value;
    if (text == NULL)
        return false;
    if (aq_size_parse_int(text, &value) && value >= least && value <= most) {
        *out = value;
        return true;
    }
    aq_log_error("option %.*s: '%s' is not a whole number from %" PRId64 " to %" PRId64
                 "; give such a number",
                 length, option, text, least, most);
    return false;
}

static bool number32_option(char **argv, int *at, size_t name, int64_t least, int64_t most,
                            uint32_t *out)
{
    int64_t value;
    if (!number_option(argv, at, name, least, most, &value))
        return false;
    *out = (uint32_t)value;
    return true;
}

// Returns the value of -name=value, with one or two dashes; NULL: it is another option.
static const char *named_value(const char *word, const char *name)
{
    word += word[1] == '-' ? 2 : 1;
    size_t len = strlen(name);
    return strncmp(word, name, len) == 0 && word[len] == '=' ? word + len + 1 : NULL;
}

static bool take_long(run_options_t *run, const char *word)
{
    if (named_value(word, "spawner") != NULL)
        run->spawner = named_value(word, "spawner");
    else if (named_value(word, "conduit") != NULL)
        run->start.conduit = named_value(word, "conduit");
    else
        return refuse_option(word);
    return true;
}

static bool take_flag(run_options_t *run, const char *word)
{
    if (strcmp(word, "-v") == 0) {
        run->start.more_verbose = run->start.verbose;
        run->start.verbose = true;
    } else if (strcmp(word, "-t") == 0)
        run->dry = run->start.verbose = true;
    else if (strcmp(word, "-k") == 0)
        run->keep = run->start.verbose = true;
    else if (strcmp(word, "-cyclic") == 0)
        run->start.cyclic = true;
    else if (strcmp(word, "-l") == 0)
        run->start.run.label_lines = true;
    else if (strcmp(word, "-h") == 0 || strcmp(word, "-help") == 0 || strcmp(word, "--help") == 0)
        run->help = true;
    else if (strcmp(word, "--version") == 0 || strcmp(word, "-version") == 0)
        run->version = true;
    else
        return take_long(run, word);
    return true;
}

static bool take_ranks(run_options_t *run, char **argv, int *at, size_t name)
{
    return number32_option(argv, at, name, 1, AQ_JOB_RANKS_MAX, &run->start.run.size);
}

static bool take_bind(run_options_t *run, char **argv, int *at)
{
    const char *how = option_value(argv, at, strlen("--bind"));
    if (how == NULL)
        return false;
    run->start.bind = how;
    if (strcmp(how, "auto") == 0 || strcmp(how, "core") == 0 || strcmp(how, "none") == 0)
        return aq_launch_export("GASNET_BIND", how); // the supervisor of each host reads it
    aq_log_error("option --bind: '%s' is not one of auto, core, none; give one of these", how);
    return false;
}

static bool take_processors(run_options_t *run, char **argv, int *at)
{
    uint32_t *each = &run->start.run.cpus_per_rank;
    return number32_option(argv, at, 2, 0, AQ_RANKS_MAX, each) &&
           (*each > 0 || aq_launch_export("GASNET_BIND", "none"));
}

static bool take_valued(run_options_t *run, char **argv, int *at)
{
    aq_supervise_options_t *job = &run->start.run;
    switch (argv[*at][1]) {
    case 'n':
        return take_ranks(run, argv, at, argv[*at][2] == 'p' ? 3 : 2);
    case 'N':
        return number_option(argv, at, 2, 1, INT32_MAX, &run->start.host_count);
    case 'H':
        return (run->start.host_list = option_value(argv, at, 2)) != NULL;
    case 'c':
        return take_processors(run, argv, at);
    case 'E':
        return (job->environment = option_value(argv, at, 2)) != NULL;
    default:
        return take_flag(run, argv[*at]);
    }
}

// Whether a word is the option of that name, alone or with =value.
static bool is_option(const char *word, const char *name)
{
    size_t length = strlen(name);
    return strncmp(word, name, length) == 0 && (word[length] == '\0' || word[length] == '=');
}

// Reads amudprun's letter for a spawner.
static bool take_letter(run_options_t *run, char **argv, int *at)
{
    const char *letter = option_value(argv, at, strlen("-spawn"));
    if (letter == NULL)
        return false;
    run->spawner = aq_spawner_of_letter(letter);
    if (run->spawner == NULL)
        aq_log_error("option -spawn: '%s' is not one of L (on this host), S (by ssh) and C (by the "
                     "command of GASNET_CSPAWN_CMD); give one of these",
                     letter);
    return run->spawner != NULL;
}

static bool take_depth(char **argv, int *at)
{
    char text[24];
    int64_t depth;
    if (!number_option(argv, at, strlen("-depth"), 1, DEPTH_MAX, &depth))
        return false;
    snprintf(text, sizeof text, "%" PRId64, depth);
    return aq_launch_export("GASNET_NETWORKDEPTH", text);
}

static bool take_option(run_options_t *run, char **argv, int *at)
{
    const char *word = argv[*at];
    if (is_amudprun(run) && word[1] == 'N')
        return take_ranks(run, argv, at, 2);
    if (is_amudprun(run) && is_option(word, "-spawn"))
        return take_letter(run, argv, at);
    if (is_amudprun(run) && is_option(word, "-depth"))
        return take_depth(argv, at);
    if (!is_amudprun(run) && is_option(word, "--spare"))
        return number32_option(argv, at, strlen("--spare"), 0, AQ_HOSTS_MAX, &run->start.spare);
    if (is_option(word, "--bind"))
        return take_bind(run, argv, at);
    if (is_option(word, "--reserve"))
        return number32_option(argv, at, strlen("--reserve"), 0, AQ_JOB_RANKS_MAX,
                               &run->start.run.reserve);
    if (strncmp(word, "-conduit", 8) == 0 || strcmp(word, "-cyclic") == 0)
        return take_flag(run, word);
    return take_valued(run, argv, at);
}

// Options end at the first non-option argument, or after "--".
static bool take_options(run_options_t *run, char **argv)
{
    int at = 1;
    for (; argv[at] != NULL && argv[at][0] == '-'; at++) {
        if (strcmp(argv[at], "--") == 0) {
            at++;
            break;
        }
        if (!take_option(run, argv, &at))
            return false;
        if (run->help || run->version)
            return true;
    }
    run->start.run.argv = argv + at;
    return true;
}

// ---- checks ----

// In GASNet, amudprun starts the programs of the conduit whose spawner is chosen by a letter.
static const char *conduit_of_amudprun(void)
{
    for (size_t i = 0; i < aq_profile_count(); i++)
        if (aq_profile_at(i)->spawn_letters)
            return aq_profile_at(i)->name;
    return NULL;
}

// The conduit in the name of this program: the text after "gasnetrun_"; NULL: there is none.
static const char *conduit_of_name(const char *program)
{
    if (strcmp(program, "amudprun") == 0)
        return conduit_of_amudprun();
    const char *suffix = strstr(program, "gasnetrun_");
    return suffix != NULL && suffix[10] != '\0' ? suffix + 10 : NULL;
}

// Whether ranks can have this conduit: built in, or as a module, which they open, and of which they
// report faults.
static bool conduit_exists(const char *conduit)
{
    char path[1024];
    for (size_t i = 0; i < sizeof conduits / sizeof conduits[0]; i++)
        if (strcmp(conduit, conduits[i]) == 0)
            return true;
    return aq_module_find_conduit(conduit, path, sizeof path);
}

static bool choose_conduit(run_options_t *run, const char *program)
{
    const char *own = conduit_of_name(program), *given = aq_settings_text(AQ_SET_CONDUIT);
    run->by_name = run->start.conduit == NULL && own != NULL && strcmp(given, own) != 0;
    if (run->start.conduit == NULL)
        run->start.conduit = own;
    if (run->start.conduit == NULL && aq_settings_given(AQ_SET_CONDUIT))
        run->start.conduit = given;
    if (run->start.conduit == NULL) {
        aq_log_error("no conduit is named; call gasnetrun_<conduit>, or give -conduit=<conduit>; "
                     "it is one of:%s",
                     AQ_EACH_NAME(WORD));
        return false;
    }
    if (conduit_exists(run->start.conduit))
        return true;
    aq_log_error("this build has no conduit '%s'; it has:%s; link the program with "
                 "-lgasnet-<conduit>-<mode> and start it with gasnetrun_<conduit>",
                 run->start.conduit, AQ_EACH_NAME(WORD));
    return false;
}

static bool check_size(const run_options_t *run, const aq_spawn_module_t *module)
{
    if (run->start.run.size > 0 || module->joins)
        return true;
    aq_log_error("the number of ranks is missing; give it with -n");
    return false;
}

static bool check_program(const run_options_t *run)
{
    if (run->start.run.size + (uint64_t)run->start.run.reserve > AQ_JOB_RANKS_MAX) {
        aq_log_error("%" PRIu32 " ranks and a reserve of %" PRIu32 ": a job has at most %d ranks",
                     run->start.run.size, run->start.run.reserve, AQ_JOB_RANKS_MAX);
        return false;
    }
    if (run->start.run.argv[0] == NULL) {
        aq_log_error("the program is missing; name it after the options");
        return false;
    }
    return true;
}

// ---- settings and environment ----

static bool load_settings(run_options_t *run)
{
    // A rank may start a job of its own; the variables of the rank's launcher are not for that job.
    (void)unsetenv("GASNET_SPAWN_CONTROL");
    (void)unsetenv("GASNET_SPAWN_CONDUIT");
    (void)unsetenv("GASNET_SPAWN_REPORTS");
    (void)unsetenv(AQ_WORKER_KEY);
    if (aq_settings_load_logged() != AQ_OK)
        return false;
    if (aq_settings_bool(AQ_SET_SPAWN_VERBOSE))
        run->start.verbose = true;
    aq_log_quiet(aq_settings_bool(AQ_SET_QUIET));
    aq_log_verbose(run->start.verbose);
    return true;
}

static void warn_unknown(const char *name, const char *nearest, void *arg)
{
    (void)arg;
    if (nearest != NULL)
        aq_log_warn("%s is not a known variable and has no effect; did you mean %s?", name,
                    nearest);
    else
        aq_log_warn("%s is not a known variable and has no effect", name);
}

static void warn_unset(const char *list)
{
    while (list != NULL && *list != '\0') {
        size_t len = strcspn(list, ",");
        char *name = strndup(list, len);
        if (name != NULL && len > 0 && getenv(name) == NULL)
            aq_log_warn("option -E: variable %s is not set, so no rank gets it", name);
        free(name);
        list += len + (list[len] == ',');
    }
}

// ---- verbose output ----

static void print_job(const run_options_t *run, const aq_spawn_module_t *module)
{
    printf("gasnetrun: conduit %s, spawner %s, host %s", run->start.conduit, module->name,
           aq_log_host());
    if (run->start.run.size > 0)
        printf(", %" PRIu32 " ranks", run->start.run.size);
    putchar('\n');
    if (run->start.run.reserve > 0)
        printf("gasnetrun: room for %" PRIu32 " ranks that start later\n", run->start.run.reserve);
    if (run->start.run.cpus_per_rank > 0)
        printf("gasnetrun: %" PRIu32 " processors for each rank, of %u\n",
               run->start.run.cpus_per_rank, aq_size_processors());
    if (run->start.run.environment != NULL)
        printf("gasnetrun: variables passed: PATH,HOME,LD_LIBRARY_PATH,GASNET_*,%s\n",
               run->start.run.environment);
    if (run->keep)
        printf("gasnetrun: there are no temporary files to keep\n");
    printf("gasnetrun: each rank runs:");
    for (char *const *word = run->start.run.argv; *word != NULL; word++) {
        putchar(' ');
        aq_shell_print(*word);
    }
    putchar('\n');
    fflush(stdout);
}

static int print_about(run_options_t *run)
{
    if (run->start.conduit == NULL)
        run->start.conduit = conduit_of_name(run->program);
    if (run->help)
        print_help(run);
    else
        printf("gasnetrun (Aqueduct) %s\n", PACKAGE_VERSION);
    return fflush(stdout) == 0 ? 0 : 1;
}

// Tells the ranks which conduit to use. Only a rank knows for which conduit its program is linked,
// so the rank compares the two, unless the user chose the conduit.
static bool export_conduit(const run_options_t *run)
{
    char choice[256];
    snprintf(choice, sizeof choice, "%s:%s", run->start.conduit, run->program);
    return aq_launch_export("GASNET_CONDUIT", run->start.conduit) &&
           (!run->by_name || setenv("GASNET_SPAWN_CONDUIT", choice, 1) == 0);
}

static bool check_reserve(const run_options_t *run, const aq_spawn_module_t *module)
{
    if (run->start.run.reserve == 0 || module->has_reserve)
        return true;
    aq_log_error("option --reserve: spawner %s starts all ranks at once; use spawner fork or ssh, "
                 "or leave --reserve out",
                 module->name);
    return false;
}

static int run_job(run_options_t *run)
{
    aq_ssh_job_t ssh = {0};
    run->start.ssh = &ssh;
    const aq_spawn_module_t *module = aq_spawn_choose(&run->start, run->spawner);
    if (module == NULL || !check_size(run, module) || !check_reserve(run, module))
        return EXIT_USAGE;
    if (run->start.spare > 0 && !module->has_spares) {
        aq_log_error("option --spare: spawner %s starts no spare hosts, only spawner ssh does",
                     module->name);
        return EXIT_USAGE;
    }
    if (!export_conduit(run)) {
        aq_log_error("no memory for the environment of the ranks");
        return 1;
    }
    warn_unset(run->start.run.environment);
    run->start.run.one_layout = aq_profile_find(run->start.conduit)->one_layout;
    if (run->start.verbose) {
        aq_settings_unknown(warn_unknown, NULL);
        print_job(run, module);
    }
    return aq_spawn_run(module, &run->start, run->dry);
}

int main(int argc, char **argv)
{
    aq_standard_streams_open();
    if (argc == 2 && strcmp(argv[1], "--helper") == 0)
        return aq_helper_main(); // started by another launcher or helper, on its host
    if (argc == 2 && strncmp(argv[1], AQ_WORKER_OPTION, strlen(AQ_WORKER_OPTION)) == 0)
        return aq_worker_main(argv[1] + strlen(AQ_WORKER_OPTION)); // started by a custom command
    if (argc == 2 && strcmp(argv[1], AQ_DAEMON_OPTION) == 0)
        return aq_daemon_main(); // started by gasnet_boot or gasnet_grow
    if (argc == 2 && strcmp(argv[1], "--recon") == 0)
        return aq_recon_answer(); // started by gasnet_recon
    if (argc == 2 && strncmp(argv[1], "--wipe", 6) == 0)
        return aq_wipe_answer(strcmp(argv[1], "--wipe-all") == 0); // started by gasnet_wipe
    const char *slash = argv[0] != NULL ? strrchr(argv[0], '/') : NULL;
    const char *program = slash != NULL ? slash + 1 : argv[0] != NULL ? argv[0] : "gasnetrun";
    run_options_t run = {.program = program};
    aq_log_program(program);
    aq_launch_restore();
    if (!take_options(&run, argv))
        return EXIT_USAGE;
    if (run.help || run.version)
        return print_about(&run);
    if (!load_settings(&run) || !choose_conduit(&run, program) || !check_program(&run))
        return EXIT_USAGE;
    return run_job(&run);
}
