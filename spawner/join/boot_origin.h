// SPDX-License-Identifier: BSD-3-Clause
// How this process was started, as far as its environment tells.
#pragma once

#include <stdbool.h>

// The spawner that the user asks for; "auto": none in particular.
const char *aq_boot_spawner_setting(const char *conduit);

// Whether mpirun or a similar launcher started this process as a rank, and the user asks for no
// other spawner. *pmi: the rank joins its job over PMIx or PMI-2 instead of MPI, because the user
// asks for that, or because the launcher belongs to no MPI and nothing in the process needs MPI.
bool aq_boot_by_mpirun(const char *conduit, bool *pmi);

// Whether this process is to meet others at GASNET_MASTER (rendezvous.h).
bool aq_boot_by_rendezvous(const char *conduit);

// False if srun started several tasks without PMI, so that they cannot find each other; logged.
bool aq_boot_check_step(const char *conduit);
