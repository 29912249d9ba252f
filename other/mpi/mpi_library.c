// SPDX-License-Identifier: BSD-3-Clause
// Finds and loads the module, once in a process. spawner/join/spawn_mpi.c asks for it at the start
// of a rank, and conduit mpi when it opens.
#include "mpi_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/modules/modules.h"
#include "pmi1_client.h"

typedef struct known {
    const char *module; // NULL: none is needed
    const char *says;   // its name, for messages
    const char *symbol; // of an MPI: what its header makes programs refer to, and no other MPI has
    const aq_mpilib_table_t *here; // instead of a module
} known_t;

// The standard ABI has no such symbol and is detected by MPI_Abi_get_version. One module serves all
// MPIs that have it.
static const known_t known[] = {
    {"openmpi", "Open MPI", "ompi_mpi_comm_world", NULL},
    {"mpich", "MPICH", "MPI_UNWEIGHTED", NULL},
    {"abi", "the standard ABI of MPI", NULL, NULL},
};

static const known_t *const standard = &known[2];

enum { ABI_MAJOR = 1 }; // of the standard ABI, as in the name of libmpi_abi.so.1

// For spawner pmi: tables with only what the start of a job needs, without MPI. The first that the
// launcher answers is used (pmi_at).
static const known_t pmis[] = {
    {"pmix", "PMIx", NULL, NULL},
    {NULL, "PMI-1", NULL, &aq_pmi1_table},
    {"pmi2", "PMI-2", NULL, NULL},
};

#define KNOWN (sizeof known / sizeof known[0])
#define PMIS (sizeof pmis / sizeof pmis[0])

bool aq_mpilib_one_thread;
const aq_mpilib_turns_t *aq_mpilib_turns;

_Thread_local volatile bool aq_mpilib_inside __attribute__((tls_model("initial-exec")));

// ---- the launcher of this process ----

static uint32_t number_in(const char *name)
{
    const char *text = getenv(name);
    long value = text ? strtol(text, NULL, 10) : 0;
    return value > 0 && value <= INT32_MAX ? (uint32_t)value : 0;
}

static bool by_pmix(void)
{
    return getenv("PMIX_RANK") && getenv("PMIX_NAMESPACE");
}

static const char *slurm_or(const char *other)
{
    return getenv("SLURM_STEP_NUM_TASKS") ? "srun" : other;
}

aq_mpilib_launch_t aq_mpilib_launched(void)
{
    if (getenv("OMPI_COMM_WORLD_SIZE") && getenv("PMIX_RANK"))
        return (aq_mpilib_launch_t){"mpirun of Open MPI", "openmpi", true,
                                    number_in("OMPI_COMM_WORLD_SIZE")};
    if (getenv("PMI_RANK") && getenv("PMI_SIZE")) {
        bool own = getenv("HYDI_CONTROL_FD") != NULL;
        return (aq_mpilib_launch_t){own ? "mpirun of MPICH" : slurm_or("a PMI launcher"), "mpich",
                                    own, number_in("PMI_SIZE")};
    }
    if (by_pmix())
        return (aq_mpilib_launch_t){slurm_or("a PMIx launcher"), "openmpi", false,
                                    number_in("SLURM_STEP_NUM_TASKS")};
    return (aq_mpilib_launch_t){NULL, NULL, false, 0};
}

// ---- which library ----

// The version of the standard ABI that the program is linked for; 0: none. The library of an MPI's
// own interface may have this call too, and returns -1 there.
static int abi_in_process(void)
{
    int (*version)(int *, int *);
    int major = 0, minor;
    void *found = dlsym(RTLD_DEFAULT, "MPI_Abi_get_version");
    if (!found)
        return 0;
    memcpy(&version, &found, sizeof version);
    return version(&major, &minor) == 0 && major > 0 ? major : 0;
}

// The MPI that the program is linked with; NULL: none, or none that is known.
static const known_t *in_process(void)
{
    const int abi = abi_in_process();
    if (abi)
        return abi == ABI_MAJOR ? standard : NULL;
    for (unsigned i = 0; i < KNOWN; i++)
        if (known[i].symbol && dlsym(RTLD_DEFAULT, known[i].symbol))
            return &known[i];
    return NULL;
}

// The first line of the text by which the MPI of the program names itself.
static void name_in_process(char *text, size_t size)
{
    int (*version)(char *, int *);
    void *found = dlsym(RTLD_DEFAULT, "MPI_Get_library_version");
    char whole[8192] = ""; // the longest text has 8,000 bytes
    int len = 0;
    if (found) {
        memcpy(&version, &found, sizeof version);
        version(whole, &len);
    }
    snprintf(text, size, "%.*s", (int)strcspn(whole, "\n,"), whole);
}

static bool find_module(const known_t *which, char *path, size_t size)
{
    char file[64];
    snprintf(file, sizeof file, "aq_mpi_%s.so", which->module);
    return aq_module_find(file, path, size);
}

static bool has_module(const known_t *which)
{
    char path[1024];
    return find_module(which, path, sizeof path);
}

bool aq_mpilib_in_process(void)
{
    return dlsym(RTLD_DEFAULT, "MPI_Get_library_version") != NULL;
}

bool aq_mpilib_has_mpi(void)
{
    unsigned i = 0;
    while (i < KNOWN && !has_module(&known[i]))
        i++;
    return i < KNOWN;
}

static const aq_mpilib_table_t *module_load(const known_t *which, char *errbuf, size_t errbuf_size)
{
    char path[1024];
    if (which->here)
        return which->here;
    if (!find_module(which, path, sizeof path)) {
        snprintf(errbuf, errbuf_size,
                 "this installation has no module for %s (aq_mpi_%s.so in %s); configure it again "
                 "where its headers are",
                 which->says, which->module, aq_module_folder());
        return NULL;
    }
    const aq_mpilib_table_t *table =
        aq_module_open(path, AQ_MPILIB_MODULE_SYMBOL, errbuf, errbuf_size);
    if (table && table->abi == AQ_MPILIB_ABI)
        return table;
    if (!*errbuf)
        snprintf(errbuf, errbuf_size,
                 "%s is of another version: install the one that belongs to this library", path);
    return NULL;
}

// The file of the library in which a function of MPI was found.
static const char *file_of(void *function)
{
    Dl_info info;
    return function && dladdr(function, &info) ? info.dli_fname : "another file";
}

// A module calls the MPI that the program is linked with, whichever that is. So this must be the
// one that the module was linked with: another has other handles.
static bool module_fits(const known_t *which, char *errbuf, size_t errbuf_size)
{
    char path[1024];
    void *program = dlsym(RTLD_DEFAULT, "PMPI_Init");
    void *module =
        find_module(which, path, sizeof path) ? dlopen(path, RTLD_NOLOAD | RTLD_LAZY) : NULL;
    void *linked = module ? dlsym(module, "PMPI_Init") : NULL;
    if (!program || !linked || program == linked)
        return true;
    snprintf(errbuf, errbuf_size,
             "the program is linked with %s, but %s with %s; link the program with the latter, or "
             "configure this library again where the headers of the former are",
             file_of(program), path, file_of(linked));
    return false;
}

// The MPI whose mpirun started this process. If only the module for the standard ABI is installed,
// it is taken, since the MPI may offer that ABI too.
static const known_t *by_launcher(void)
{
    const char *module = aq_mpilib_launched().module;
    unsigned i = 0;
    while (module && i < KNOWN && strcmp(known[i].module, module) != 0)
        i++;
    if (!module || i == KNOWN)
        return NULL;
    return !has_module(&known[i]) && has_module(standard) ? standard : &known[i];
}

// Loads the first MPI that is available: without mpirun it starts a job of one process.
static const aq_mpilib_table_t *load_first(char *errbuf, size_t errbuf_size)
{
    for (unsigned i = 0; i < KNOWN; i++) {
        const aq_mpilib_table_t *table = module_load(&known[i], errbuf, errbuf_size);
        if (table)
            return table;
    }
    return NULL;
}

static void explain_unknown(char *errbuf, size_t errbuf_size)
{
    char text[128];
    name_in_process(text, sizeof text);
    if (abi_in_process())
        snprintf(
            errbuf, errbuf_size,
            "the program is linked with version %d of the standard ABI of MPI ('%s'), and this "
            "library knows version %d; link the program with Open MPI or MPICH themselves",
            abi_in_process(), text, ABI_MAJOR);
    else
        snprintf(errbuf, errbuf_size,
                 "the program is linked with an MPI that is not known here ('%s'); link it with "
                 "Open MPI, MPICH or the standard ABI of MPI",
                 text);
}

const aq_mpilib_table_t *aq_mpilib_find_mpi(char *errbuf, size_t errbuf_size)
{
    static const aq_mpilib_table_t *table;
    if (table)
        return table;
    const known_t *which = in_process();
    if (!which && aq_mpilib_in_process()) {
        explain_unknown(errbuf, errbuf_size);
        return NULL;
    }
    if (!which)
        which = by_launcher();
    const aq_mpilib_table_t *found =
        which ? module_load(which, errbuf, errbuf_size) : load_first(errbuf, errbuf_size);
    if (found && (!which || module_fits(which, errbuf, errbuf_size)))
        table = found;
    return table;
}

// A launcher that has PMI-1 and PMI-2 serves only the first of the two that asks it. The library of
// PMI-2 is Slurm's: it does not understand mpirun of each MPICH.
static const known_t *pmi_at(unsigned i)
{
    const bool by_srun = getenv("SLURM_STEP_NUM_TASKS") && !aq_mpilib_launched().own;
    return &pmis[by_srun && i > 0 ? PMIS - i : i];
}

const aq_mpilib_table_t *aq_mpilib_start_pmi(char *errbuf, size_t errbuf_size)
{
    size_t used = 0;
    *errbuf = '\0';
    for (unsigned i = 0; i < PMIS && used < errbuf_size; i++) {
        char reason[512] = "";
        const known_t *which = pmi_at(i);
        const aq_mpilib_table_t *table = module_load(which, reason, sizeof reason);
        int error = table && !table->started() ? table->start(AQ_MPILIB_SINGLE) : 0;
        if (table && !error)
            return table;
        if (error)
            table->explain(error, reason, sizeof reason);
        used += (size_t)snprintf(errbuf + used, errbuf_size - used, "%s%s: %s", used ? "; " : "",
                                 which->says, reason);
    }
    return NULL;
}

bool aq_mpilib_each(unsigned *at, const char **name, bool *usable, char *text, size_t size)
{
    char path[1024];
    if (*at >= KNOWN + PMIS)
        return false;
    const known_t *which = *at < KNOWN ? &known[*at] : &pmis[*at - KNOWN];
    (*at)++;
    *name = which->says;
    *usable = false;
    if (which->module && !find_module(which, path, sizeof path)) {
        snprintf(text, size, "this installation has no module for it (aq_mpi_%s.so)",
                 which->module);
        return true;
    }
    const aq_mpilib_table_t *table = module_load(which, text, size);
    *usable = table != NULL;
    if (table)
        table->version(text, size);
    return true;
}
