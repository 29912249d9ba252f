// SPDX-License-Identifier: BSD-3-Clause
// The course of a daemon.
#ifndef AQ_UNIVERSE_DAEMON_H
#define AQ_UNIVERSE_DAEMON_H

#include "universe.h"

// Runs a daemon: gasnetrun --daemon, started by a remote shell, with a JOIN_CONFIG on standard
// input. Returns in the process that was started, with its exit code.
int aq_daemon_main(void);

#endif
