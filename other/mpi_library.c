#include "mpi_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "modules.h"

typedef struct known {
    const char *module;
    const char *says; // how its version begins
} known_t;

static const known_t known[] = {
    {"openmpi", "Open MPI"},
    {"mpich", "MPICH"},
};

// For spawner pmi: the part of a table that a start needs, without MPI.
static const known_t pmix = {"pmix", "PMIx"};

#define KNOWN (sizeof known / sizeof known[0])

bool aq_mpi_one_thread;

_Thread_local volatile bool aq_mpi_inside __attribute__((tls_model("initial-exec")));

// ---- who started this process ----

static uint32_t number_in(const char *name)
{
    const char *text = getenv(name);
    long value = text ? strtol(text, NULL, 10) : 0;
    return value > 0 && value <= INT32_MAX ? (uint32_t)value : 0;
}

aq_mpi_launch_t aq_mpi_launched(void)
{
    if (getenv("OMPI_COMM_WORLD_SIZE") && getenv("PMIX_RANK"))
        return (aq_mpi_launch_t){"mpirun of Open MPI", "openmpi",
                                 number_in("OMPI_COMM_WORLD_SIZE")};
    if (getenv("PMI_RANK") && getenv("PMI_SIZE"))
        return (aq_mpi_launch_t){getenv("HYDI_CONTROL_FD") ? "mpirun of MPICH" : "a PMI launcher",
                                 "mpich", number_in("PMI_SIZE")};
    if (getenv("PMIX_RANK") && getenv("PMIX_NAMESPACE"))
        return (aq_mpi_launch_t){"a PMIx launcher", "openmpi", 0};
    return (aq_mpi_launch_t){NULL, NULL, 0};
}

// ---- which library ----

// The MPI that the client brought, by the one call that is alike in all of them.
static const known_t *in_process(char *text, size_t room)
{
    int (*version)(char *, int *);
    void *found = dlsym(RTLD_DEFAULT, "MPI_Get_library_version");
    char whole[8192] = ""; // the longest is 8,000 bytes
    int len = 0;
    *text = '\0';
    if (!found)
        return NULL;
    memcpy(&version, &found, sizeof version);
    version(whole, &len);
    snprintf(text, room, "%.*s", (int)strcspn(whole, "\n,"), whole);
    for (unsigned i = 0; i < KNOWN; i++)
        if (strncmp(whole, known[i].says, strlen(known[i].says)) == 0)
            return &known[i];
    return NULL;
}

static bool find_module(const known_t *which, char *path, size_t room)
{
    char file[64];
    snprintf(file, sizeof file, "aq_mpi_%s.so", which->module);
    return aq_module_find(file, path, room);
}

bool aq_mpi_is_there(void)
{
    char path[1024];
    unsigned i = 0;
    while (i < KNOWN && !find_module(&known[i], path, sizeof path))
        i++;
    return i < KNOWN;
}

bool aq_pmi_is_there(void)
{
    char path[1024];
    return find_module(&pmix, path, sizeof path);
}

static const aq_mpi_table_t *load(const known_t *which, char *why, size_t room)
{
    char path[1024];
    if (!find_module(which, path, sizeof path)) {
        snprintf(why, room,
                 "this installation has no module for %s (aq_mpi_%s.so in %s); configure it again "
                 "where its headers are",
                 which->says, which->module, aq_module_folder());
        return NULL;
    }
    const aq_mpi_table_t *table = aq_module_open(path, AQ_MPI_MODULE_SYMBOL, why, room);
    if (table && table->abi == AQ_MPI_ABI)
        return table;
    if (!*why)
        snprintf(why, room,
                 "%s is of another version: install the one that belongs to this library", path);
    return NULL;
}

static const known_t *by_name(const char *module)
{
    for (unsigned i = 0; i < KNOWN; i++)
        if (module && strcmp(known[i].module, module) == 0)
            return &known[i];
    return NULL;
}

// Without mpirun, the first there is: MPI then makes a job of one process.
static const aq_mpi_table_t *load_first(char *why, size_t room)
{
    for (unsigned i = 0; i < KNOWN; i++) {
        const aq_mpi_table_t *table = load(&known[i], why, room);
        if (table)
            return table;
    }
    return NULL;
}

const aq_mpi_table_t *aq_mpi_find(char *why, size_t room)
{
    static const aq_mpi_table_t *table;
    char text[128];
    if (table)
        return table;
    const known_t *which = in_process(text, sizeof text);
    if (!which && *text) {
        snprintf(why, room,
                 "the program is linked with an MPI that is not known here ('%s'); link it with "
                 "Open MPI or MPICH",
                 text);
        return NULL;
    }
    if (!which)
        which = by_name(aq_mpi_launched().module);
    table = which ? load(which, why, room) : load_first(why, room);
    return table;
}

const aq_mpi_table_t *aq_pmi_find(char *why, size_t room)
{
    return load(&pmix, why, room);
}

bool aq_mpi_each(unsigned *at, const char **name, bool *usable, char *text, size_t room)
{
    char path[1024];
    while (*at <= KNOWN) {
        const known_t *which = *at < KNOWN ? &known[*at] : &pmix;
        (*at)++;
        if (!find_module(which, path, sizeof path))
            continue;
        const aq_mpi_table_t *table = load(which, text, room);
        *name = which->says;
        *usable = table != NULL;
        if (table)
            table->version(text, room);
        return true;
    }
    return false;
}
