// Segments in windows that MPI shares among the processes of a host: put, get, atomics and the
// payload of Longs are loads and stores there, without a call of MPI.
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "../../core/gasnetex_core.h"
#include "../../other/log.h"
#include "../../other/settings.h"
#include "mpi_conduit.h"

enum { PAGE = GASNET_PAGESIZE };

// Where the MPIs make the files behind such windows.
#define STORE "/dev/shm"

// The processes that share a window with this one.
typedef struct company {
    aq_mpi_comm_t *comm;
    uint32_t *ranks; // of the job, in the order of their memory
    uint32_t size;
} company_t;

static size_t round_up(size_t value)
{
    return (value + PAGE - 1) / PAGE * PAGE;
}

// MPI may begin the memory inside of a page: so everybody has one more than its segment takes.
static size_t bytes_of(uintptr_t size)
{
    return round_up(size) + PAGE;
}

static size_t bytes_of_all(const company_t *company, const uintptr_t *sizes)
{
    size_t total = 0;
    for (uint32_t i = 0; i < company->size; i++)
        total += bytes_of(sizes[company->ranks[i]]);
    return total;
}

static bool has(const company_t *company, uint32_t rank)
{
    uint32_t i = 0;
    while (i < company->size && company->ranks[i] != rank)
        i++;
    return i < company->size;
}

// An MPI for which there is no room fails in one process and waits in the others, or has the job
// killed later, where the memory is touched. So that is found out before.
static bool has_room(size_t bytes)
{
    struct statvfs store;
    return access(STORE, W_OK) == 0 && statvfs(STORE, &store) == 0 &&
           bytes + bytes / 16 <= (size_t)store.f_bavail * store.f_frsize;
}

// Whether a window can serve this process: neighbours have to be in it.
static bool will_do(const mpi_conduit_t *mpi, const company_t *company, const uintptr_t *sizes)
{
    const aq_conduit_env_t *env = mpi->base.env;
    for (uint32_t i = 0; i < env->nbrhd_size; i++)
        if (!has(company, env->nbrhd[i]))
            return false;
    return has_room(bytes_of_all(company, sizes));
}

static aq_status_t find_company(mpi_conduit_t *mpi, company_t *company)
{
    const uint64_t most = (uint64_t)aq_settings_int(AQ_SET_MPI_SHARED_MAXSIZE);
    company->ranks = malloc(mpi->base.env->size * sizeof *company->ranks);
    if (!company->ranks) {
        aq_log_error("out of memory for the shared windows of %u ranks", mpi->base.env->size);
        return AQ_ERR_RESOURCE;
    }
    int error = mpi->mpi->split(mpi->comm, most ? (uint32_t)most : UINT32_MAX, &company->comm,
                                company->ranks, &company->size);
    return error ? mpi_conduit_error(mpi, "MPI_Comm_split_type", error) : AQ_OK;
}

// A second view of the whole window: MPI_Finalize takes MPI's own away, and threads of the client,
// or its handlers of signals, may work on while the job ends.
static aq_status_t view(const company_t *company, const uintptr_t *sizes, void **parts, void **here)
{
    const uintptr_t first = (uintptr_t)parts[0] / PAGE * PAGE;
    char *base = mremap((void *)first, 0, bytes_of_all(company, sizes), MREMAP_MAYMOVE);
    if (base == MAP_FAILED) {
        aq_log_error("the shared window of MPI cannot be mapped a second time; raise the limit of "
                     "virtual memory (ulimit -v), or set GASNET_MPI_SHARED_MAXSIZE=1");
        return AQ_ERR_RESOURCE;
    }
    for (uint32_t i = 0; i < company->size; i++)
        here[company->ranks[i]] = base + round_up((uintptr_t)parts[i] - first);
    return AQ_OK;
}

static aq_status_t share(mpi_conduit_t *mpi, const company_t *company, const uintptr_t *sizes,
                         void **here)
{
    void **parts = malloc(company->size * sizeof *parts);
    if (!parts) {
        aq_log_error("out of memory for a shared window of %u ranks", company->size);
        return AQ_ERR_RESOURCE;
    }
    int error =
        mpi->mpi->share(company->comm, bytes_of(sizes[mpi->base.env->rank]), parts, &mpi->shared);
    aq_status_t status = error ? mpi_conduit_error(mpi, "MPI_Win_allocate_shared", error)
                               : view(company, sizes, parts, here);
    free(parts);
    return status;
}

// MPI makes nothing shared for a process that is alone, and would take its memory away too.
static aq_status_t stay_alone(uint32_t rank, const uintptr_t *sizes, void **here)
{
    void *own = mmap(NULL, round_up(sizes[rank]), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (own == MAP_FAILED) {
        aq_log_error("no memory for a segment of %zu bytes; ask for less", (size_t)sizes[rank]);
        return AQ_ERR_RESOURCE;
    }
    here[rank] = own;
    return AQ_OK;
}

static void look_for_strangers(mpi_conduit_t *mpi, void *const *here)
{
    const aq_conduit_env_t *env = mpi->base.env;
    uint32_t rank = 0, i = 0;
    for (; rank < env->size; rank++) {
        if (i < env->nbrhd_size && env->nbrhd[i] == rank)
            i++;
        else if (!here[rank])
            break;
    }
    mpi->stranger = rank;
}

aq_status_t mpi_share_segments(aq_conduit_t *conduit, const uintptr_t *sizes, void **here)
{
    mpi_conduit_t *mpi = mpi_of(conduit);
    company_t company = {0};
    bool all = false;
    aq_status_t status = AQ_OK;
    if (strcmp(aq_settings_text(AQ_SET_MPI_RMA), "0") != 0 &&
        aq_settings_int(AQ_SET_MPI_SHARED_MAXSIZE) != 1) {
        mpi_enter(mpi);
        status = find_company(mpi, &company);
        mpi_leave(mpi);
        if (status == AQ_OK)
            status = mpi_agree(mpi, will_do(mpi, &company, sizes), &all);
    }
    if (status == AQ_OK && all) {
        mpi_enter(mpi);
        status = company.size > 1 ? share(mpi, &company, sizes, here)
                                  : stay_alone(mpi->base.env->rank, sizes, here);
        mpi_leave(mpi);
    }
    free(company.ranks);
    look_for_strangers(mpi, here);
    return status == AQ_OK && !all ? AQ_ERR_ABSENT : status;
}
