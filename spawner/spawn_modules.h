// The modules of this build. Each is one const table in a file of its own; spawn_modules.c chooses.
#ifndef AQ_SPAWN_MODULES_H
#define AQ_SPAWN_MODULES_H

#include "spawner.h"

extern const aq_spawn_module_t aq_module_fork;   // start_fork.c
extern const aq_spawn_module_t aq_module_ssh;    // start_ssh.c
extern const aq_spawn_module_t aq_module_custom; // start_custom.c
extern const aq_spawn_module_t aq_module_mpi;    // start_mpi.c
extern const aq_spawn_module_t aq_module_pmi;

// Whether the remote shell of module ssh is installed. Settings must be loaded.
bool aq_ssh_is_there(void);

#endif
