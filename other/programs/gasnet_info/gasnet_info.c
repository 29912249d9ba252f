// SPDX-License-Identifier: BSD-3-Clause
// gasnet_info: prints what this host supports for jobs, and the environment variables of the
// library.
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef AQ_HAVE_HWLOC
#include <hwloc.h>
#endif

#include "../../base/log/log.h"
#include "../../base/memory/memfile.h"
#include "../../base/modules/modules.h"
#include "../../mpi/mpi_library.h"
#include "../../base/settings/settings.h"
#include "../../base/size.h"
#include "../../base/system/trust.h"
#include "../../../spawner/join/spawner_list.h"
#include "../../../core/job/registry.h"
#include "../gasnet_variables/settings_manual.h"

#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "of unknown version (built without configure)"
#endif

#define LABEL_COLUMNS 18
#define REPORT_MAX 32

static void print_label(const char *label)
{
    printf("    %-*s  ", LABEL_COLUMNS, label);
}

static void print_fact(const char *label, const char *text)
{
    print_label(label);
    puts(text);
}

// why: how to use the conduit or spawner, or why it cannot be used; may be "".
static void print_usable(const char *name, bool usable, const char *why)
{
    print_label(name);
    printf("%s%s%s\n", usable ? "yes" : "no", *why ? ": " : "", why);
}

static void print_line(void *arg, const char *label, const char *text)
{
    (void)arg;
    print_fact(label, text);
}

static void print_conduits(void)
{
    static aq_conduit_report_t reports[REPORT_MAX];
    size_t count = aq_registry_report(reports, REPORT_MAX);
    if (count > REPORT_MAX)
        count = REPORT_MAX;
    puts("\nConduits that can run here");
    for (size_t i = 0; i < count; i++)
        print_usable(reports[i].name, reports[i].usable, reports[i].why);
    for (size_t i = 0; i < count; i++)
        if (reports[i].ops && reports[i].ops->report.print_info) {
            printf("\nConduit %s\n", reports[i].name);
            reports[i].ops->report.print_info(print_line, NULL);
        }
}

// What configure made the defaults, which is nothing unless it was told.
static void print_default_spawners(void)
{
    char label[LABEL_COLUMNS + 1];
    for (size_t i = 0; i < aq_profile_count(); i++) {
        const aq_conduit_profile_t *profile = aq_profile_at(i);
        if (aq_spawner_configured(profile) == NULL)
            continue;
        snprintf(label, sizeof label, "default of %s", profile->name);
        print_label(label);
        printf("%s: by configure --with-%s-spawner\n", aq_spawner_configured(profile),
               profile->name);
    }
}

static void print_spawners(void)
{
    aq_spawner_report_t reports[REPORT_MAX];
    size_t count = aq_spawner_report(reports, REPORT_MAX);
    if (count > REPORT_MAX)
        count = REPORT_MAX;
    puts("\nSpawners that can run here");
    for (size_t i = 0; i < count; i++)
        print_usable(reports[i].name, reports[i].usable, reports[i].why);
    print_default_spawners();
}

static void print_mpis(void)
{
    unsigned at = 0;
    const char *name;
    bool usable;
    char text[512];
    puts("\nMPI and PMI");
    while (aq_mpilib_each(&at, &name, &usable, text, sizeof text))
        print_usable(name, usable, text);
    print_label("protection");
    puts("none of ours: the messages of conduit mpi, and the job's key where spawner mpi or pmi "
         "hands it out, are as safe as the network of that MPI or PMI");
}

static void print_memory(const char *label, uint64_t bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    double value = (double)bytes;
    for (; value >= 1024 && unit + 1 < sizeof units / sizeof units[0]; unit++)
        value /= 1024;
    print_label(label);
    printf("%.4g %s\n", value, units[unit]);
}

#ifdef AQ_HAVE_HWLOC
static void print_count(hwloc_topology_t topology, const char *label, hwloc_obj_type_t type)
{
    int count = hwloc_get_nbobjs_by_type(topology, type);
    if (count <= 0)
        return;
    print_label(label);
    printf("%d\n", count);
}

static void print_cache(hwloc_topology_t topology, const char *label, hwloc_obj_type_t type)
{
    int count = hwloc_get_nbobjs_by_type(topology, type);
    if (count <= 0)
        return;
    hwloc_obj_t first = hwloc_get_obj_by_type(topology, type, 0);
    print_label(label);
    printf("%d of %llu KiB\n", count, (unsigned long long)(first->attr->cache.size / 1024));
}

static void print_topology(void)
{
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology) != 0) {
        print_fact("layout", "unknown: hwloc cannot start; free memory on this host");
        return;
    }
    if (hwloc_topology_load(topology) != 0) {
        print_fact("layout",
                   "unknown: hwloc cannot read it; check that /sys and /proc are mounted");
    } else {
        print_count(topology, "packages", HWLOC_OBJ_PACKAGE);
        print_count(topology, "cores", HWLOC_OBJ_CORE);
        print_count(topology, "processing units", HWLOC_OBJ_PU);
        print_count(topology, "NUMA nodes", HWLOC_OBJ_NUMANODE);
        print_cache(topology, "L1 data caches", HWLOC_OBJ_L1CACHE);
        print_cache(topology, "L2 caches", HWLOC_OBJ_L2CACHE);
        print_cache(topology, "L3 caches", HWLOC_OBJ_L3CACHE);
        print_memory("memory of nodes", hwloc_get_root_obj(topology)->total_memory);
    }
    hwloc_topology_destroy(topology);
}
#else
static void print_topology(void)
{
    print_fact("layout", "unknown: built without hwloc; install libhwloc-dev and build again");
}
#endif

static void print_machine(void)
{
    puts("\nProcessors and memory");
    print_topology();
    print_label("processors to use");
    printf("%u\n", aq_size_processors());
    print_memory("memory to use", aq_size_physical_memory());
}

static void print_limit_value(rlim_t value)
{
    if (value == RLIM_INFINITY)
        printf("no limit");
    else
        printf("%llu", (unsigned long long)value);
}

static void print_limit(const char *label, int resource, const char *remedy)
{
    struct rlimit limit;
    if (getrlimit((__rlimit_resource_t)resource, &limit) != 0)
        return;
    print_label(label);
    print_limit_value(limit.rlim_cur);
    if (limit.rlim_cur != RLIM_INFINITY) {
        printf(", at most ");
        print_limit_value(limit.rlim_max);
        printf(" (%s)", remedy);
    }
    putchar('\n');
}

static void print_limits(void)
{
    puts("\nLimits of a process");
    print_limit("locked bytes", RLIMIT_MEMLOCK, "ulimit -l, in KiB; matters to networks with RDMA");
    print_limit("open files", RLIMIT_NOFILE, "ulimit -n");
    print_limit("processes", RLIMIT_NPROC, "ulimit -u; counts all threads of the user");
    print_limit("address space", RLIMIT_AS, "ulimit -v, in KiB");
}

static bool has_futex(void)
{
    static uint32_t word;
    return syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0) >= 0;
}

static bool has_membarrier(void)
{
    long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    return commands > 0 && (commands & MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}

// Whether a child of this process can open the file through /proc, as the ranks of a host do.
static bool child_can_open(int fd)
{
    aq_memfile_ticket_t ticket;
    if (aq_memfile_ticket(fd, &ticket) != AQ_OK)
        return false;
    fflush(stdout); // otherwise the child would also print the buffered output
    pid_t child = fork();
    if (child < 0)
        return false;
    if (child == 0) {
        int other;
        _exit(aq_memfile_open(&ticket, &other) == AQ_OK ? 0 : 1);
    }
    int status;
    return waitpid(child, &status, 0) == child && status == 0;
}

static void print_feature(const char *name, bool there, const char *why_not)
{
    print_usable(name, there, there ? "" : why_not);
}

static bool has_probes(void)
{
#ifdef HAVE_SYS_SDT_H
    return true;
#else
    return false;
#endif
}

static void print_kernel(void)
{
    struct utsname name;
    puts("\nKernel");
    if (uname(&name) == 0) {
        print_label("release");
        printf("%s %s, %s\n", name.sysname, name.release, name.machine);
    }
    int fd;
    bool memfd = aq_memfile_create("gasnet_info", 4096, &fd) == AQ_OK;
    print_feature("memfd", memfd, "no shared memory; the reason is on standard error");
    print_feature(
        "/proc access", memfd && child_can_open(fd),
        "processes cannot open each other's shared memory; the reason is on standard error");
    if (memfd)
        close(fd);
    print_feature("futex", has_futex(), "a thread that waits cannot sleep; allow the call futex");
    print_feature("membarrier", has_membarrier(),
                  "it needs Linux 4.14 or newer, and a sandbox that allows the call membarrier");
    print_feature("probes", has_probes(),
                  "built without sys/sdt.h; install systemtap-sdt-dev and build again");
}

static int print_host(void)
{
    const int code = aq_settings_load_logged() == AQ_OK ? EXIT_SUCCESS : EXIT_FAILURE;
    printf("Aqueduct %s, on host %s\n", PACKAGE_VERSION, aq_log_host());
    print_conduits();
    print_spawners();
    print_mpis();
    print_machine();
    print_limits();
    print_kernel();
    return code;
}

static void warn_unknown(const char *name, const char *nearest, void *arg)
{
    (void)arg;
    if (nearest)
        aq_log_warn("%s is set but not known; did you mean %s?", name, nearest);
    else
        aq_log_warn("%s is set but not known to the runtime; unset it if it was meant for it",
                    name);
}

static int print_settings(void)
{
    int code = EXIT_SUCCESS;
    char why[512];
    if (aq_settings_load(why, sizeof why) == AQ_OK) // a fault is reported below
        aq_registry_open_modules();
    aq_settings_print_table(stdout);
    puts("\nVariables that GASNet and GASNet-EX describe and that have no effect here");
    aq_settings_print_ignored(stdout);
    fflush(stdout);
    for (size_t i = 0; i < aq_settings_count(); i++) {
        char fault[512];
        if (aq_settings_check(aq_settings_at(i), fault, sizeof fault) != AQ_OK) {
            aq_log_error("%s", fault);
            code = EXIT_FAILURE;
        }
    }
    aq_settings_warn_ignored();
    aq_settings_unknown(warn_unknown, NULL);
    return code;
}

static int print_manual(void)
{
    aq_settings_manual_print();
    return EXIT_SUCCESS;
}

static int print_help(void)
{
    puts(
        "Usage: gasnet_info [-e | --man | --help]\n"
        "Prints what this host supports for jobs: conduits, spawners, processors, memory, limits.\n"
        "\n"
        "  -e       list the environment variables of the library; warn of unknown GASNET_\n"
        "           variables and of illegal values\n"
        "  --man    print the same list as a section of a manual page\n"
        "  --missing FOLDER\n"
        "           list the names of GASNet that the C and C++ sources in FOLDER use and this\n"
        "           installation lacks, each with the place of its first use\n"
        "  --help   print this text");
    return EXIT_SUCCESS;
}

static int refuse_option(const char *word)
{
    aq_log_error("'%s' is not an option of this program; gasnet_info --help lists them", word);
    return 2;
}

static const char *sources; // the folder of --missing

// Does not return on success: the script becomes this process, prints the names, and exits with 0
// if none is missing.
static int print_missing(void)
{
    char fault[2 * PATH_MAX + 256], script[PATH_MAX], real[PATH_MAX];
    struct stat folder;
    errno = ENOTDIR;
    if (stat(sources, &folder) != 0 || !S_ISDIR(folder.st_mode) ||
        access(sources, R_OK | X_OK) != 0)
        aq_log_error("--missing: '%s' cannot be read (%s); name the folder of a client's sources",
                     sources, strerror(errno));
    else if (aq_settings_load(fault, sizeof fault) != AQ_OK)
        aq_log_error("%s", fault);
    else if (!aq_module_find("gasnet_missing", script, sizeof script))
        aq_log_error("--missing: there is no gasnet_missing in %s; install the files for "
                     "development (package libaqueduct-dev)",
                     aq_module_folder());
    else if (!aq_trust_file(script, real, fault, sizeof fault))
        aq_log_error("--missing: %s", fault);
    else if (execl(real, real, sources, (char *)NULL) != 0)
        aq_log_error("--missing: %s cannot be run: %s", script, strerror(errno));
    return 2;
}

static int run_options(int argc, char **argv)
{
    static const struct option longs[] = {{"man", no_argument, NULL, 'm'},
                                          {"missing", required_argument, NULL, 'l'},
                                          {"help", no_argument, NULL, 'h'},
                                          {0}};
    int (*print)(void) = print_host;
    opterr = 0;
    for (;;) {
        int at = optind;
        switch (getopt_long(argc, argv, ":eh", longs, NULL)) {
        case -1:
            return optind < argc ? refuse_option(argv[optind]) : print();
        case 'e':
            print = print_settings;
            break;
        case 'm':
            print = print_manual;
            break;
        case 'l':
            sources = optarg;
            print = print_missing;
            break;
        case 'h':
            return print_help();
        case ':':
            aq_log_error("--missing needs the folder of a client's sources");
            return 2;
        default:
            return refuse_option(argv[at]);
        }
    }
}

int main(int argc, char **argv)
{
    aq_log_program("gasnet_info");
    return aq_log_end(run_options(argc, argv));
}
