// SPDX-License-Identifier: BSD-3-Clause
// The variables by which a launcher tells its choice to the ranks (GASNET_CONDUIT, GASNET_SPAWNER
// ...). They are the user's variables, too, so the launcher notes their former values, and a rank
// restores these after reading: a job that the rank starts is not the launcher's.
#pragma once

#include <stdbool.h>

// Sets a variable for the ranks, and notes what the user gave. False: no memory. Does not block;
// before other threads start.
bool aq_launch_export(const char *name, const char *value);

// Puts back what aq_launch_export noted, in a process that inherits the environment, after its
// settings were loaded. Does nothing without a note.
void aq_launch_restore(void);
