// SPDX-License-Identifier: BSD-3-Clause
// Errors of MPI, and what all ranks agree on.
#include "mpi_fail.h"

#include <stdlib.h>
#include <string.h>

#include "../../core/ground/fatal.h"
#include "../../other/base/log/log.h"

aq_status_t mpi_conduit_error(const mpi_conduit_t *mpi, const char *call, int error)
{
    char why[256];
    mpi->mpi->explain(error, why, sizeof why);
    aq_log_error("%s of %s failed: %s; see what mpirun reports", call, mpi->mpi->name, why);
    return AQ_ERR_RESOURCE;
}

void mpi_conduit_fail(mpi_conduit_t *mpi, const char *call, int error)
{
    mpi_leave(mpi);
    if (mpi->lost)
        aq_fatal("MPI_Finalize was called while conduit mpi was in use: call it after the last "
                 "call of GASNet, or leave it to gasnet_exit");
    if (error)
        (void)mpi_conduit_error(mpi, call, error);
    aq_fatal("conduit mpi cannot continue after an error of MPI");
}

// The barrier makes sure that rank 0 has logged the reason before the first rank exits, upon which
// mpirun ends the others.
aq_status_t mpi_refuse(const mpi_conduit_t *mpi, const char *why)
{
    aq_boot_t *boot = mpi->mail.base.env->boot;
    if (boot->rank == 0)
        aq_log_error("%s", why);
    (void)boot->ops->barrier(boot);
    return AQ_ERR_CONFIG;
}

aq_status_t mpi_agree(const mpi_conduit_t *mpi, bool yes, bool *all)
{
    aq_boot_t *boot = mpi->mail.base.env->boot;
    uint8_t mine = yes;
    uint8_t *others = malloc(boot->size);
    if (!others) {
        aq_log_error("out of memory for the windows of %u ranks", boot->size);
        return AQ_ERR_RESOURCE;
    }
    aq_status_t status = boot->ops->exchange(boot, &mine, sizeof mine, others);
    *all = status == AQ_OK && memchr(others, 0, boot->size) == NULL;
    free(others);
    return status;
}
