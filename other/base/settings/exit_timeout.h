// SPDX-License-Identifier: BSD-3-Clause
// How long the ranks of a job may take to exit once its end is announced.
#pragma once

#include <stdint.h>
#include <sys/types.h>

// Nanoseconds for a job of that many ranks: GASNET_EXITTIMEOUT, or computed from
// GASNET_EXITTIMEOUT_MIN, _FACTOR and _MAX. The settings must be loaded.
uint64_t aq_exit_timeout_ns(uint32_t ranks);

// The same after a signal to the launcher: GASNET_TERM_TIMEOUT after SIGTERM, so that programs can
// write a checkpoint; as above after others.
uint64_t aq_stop_timeout_ns(int sig, uint32_t ranks);

// The nanoseconds that the kernel may need, in addition, to free so many bytes of processes that
// end, on a host that has other work to do. Not more than for all memory of this host.
// Async-signal-safe.
uint64_t aq_exit_memory_ns(uint64_t bytes);

// The memory that a process has in use, in bytes; 0: unknown. Async-signal-safe.
uint64_t aq_exit_resident(pid_t process);
