// SPDX-License-Identifier: BSD-3-Clause
// The priorities of spawners that the user has set: GASNET_SPAWN_PRIORITY="slurm=30,ssh=0".
#pragma once

#include <stdbool.h>

// Whether the variable is a list of name=number; logged otherwise. The settings must be loaded.
bool aq_spawn_check_priorities(void);

// The priority of that spawner: the user's, else its own.
int aq_spawn_priority(const char *spawner, int own);
