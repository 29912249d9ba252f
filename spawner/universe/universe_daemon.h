// SPDX-License-Identifier: BSD-3-Clause
// The course of a daemon.
#pragma once

#include "universe.h"

// Runs a daemon: gasnetrun --daemon, started by a remote shell, with a JOIN_CONFIG on standard
// input. Returns in the process that was started, with its exit code.
int aq_daemon_main(void);
