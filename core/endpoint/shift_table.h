// SPDX-License-Identifier: BSD-3-Clause
// Tables that inline puts, gets and atomics of the client look up by rank (struct gex_tm). They
// compare no rank with the size of the team: behind a table is no memory, so that the look-up of a
// rank which is too large faults, and ends the job with a sentence (fault.h).
//
//     [ unused | rank 0, rank 1 ... rank size - 1 ][ no access, up to the largest rank ]
//                                                  ^ a page begins
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Returns a table of `size` entries, all 0; NULL: memory is out. The first table, that of the
// primordial team, reserves addresses for every possible rank number, 32 GiB. Later tables, and
// all tables of a process with limited addresses (ulimit -v), reserve them for 131,072 ranks; rank
// UINT32_MAX behind such a table is recognized too, if nothing is mapped there. Any thread.
intptr_t *aq_shift_table_new(uint32_t size);

// Frees a table, which no operation uses any more; NULL: nothing.
void aq_shift_table_free(intptr_t *table);

// Whether an address is behind the end of a table. If so, sets the rank that was looked up, and the
// size of the table. Any thread; async-signal-safe.
bool aq_shift_table_beyond(uintptr_t addr, uint32_t *rank, uint32_t *size);
