// SPDX-License-Identifier: BSD-3-Clause
// Reads and writes the memory of another process of this host by one copy, if the system allows it.
//
// The process number that a rank reports may belong to another process here, for example if the
// rank is in a container. So each process reports a random value, too, and its address; others
// trust the number after they have read that value there.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What a process publishes about itself.
typedef struct aq_process {
    uint64_t proof, proof_address; // proof 0: nothing
    int32_t number;
} aq_process_t;

// Describes this process; all is 0 if the system has no random bytes. Any thread; does not block.
aq_process_t aq_process_self(void);

// Whether the process with that number on this host is the one described. Callers remember the
// answer. Any thread; does not block.
bool aq_process_holds(const aq_process_t *process);

// Publishes the description of this process to the neighbours. After the conduits are open, before
// the ranks meet.
void aq_process_start(void);

// The number of the process of a neighbour, by its index in the neighbourhood, once the number is
// proved; 0: the neighbour has published nothing yet; negative: its memory cannot be accessed
// (-errno; -ESRCH: the system knows it by another number). The memory is read once, and the answer
// kept. Any thread; does not block.
int32_t aq_process_of(uint32_t nbrhd_index);

// Copies bytes at an address of a process that has proved its number. False: that is not possible,
// and `to` may have been written. Any thread; does not block.
bool aq_cma_read(int32_t number, uint64_t from, void *to, size_t nbytes);

// The same into the memory of that process.
bool aq_process_write(int32_t number, uint64_t to, const void *from, size_t nbytes);

// Returns where this process has mapped nbytes at an address of a rank, or NULL: these bytes are in
// no mapped segment, and not in memory that the rank shares (shared_heap.h). Ends the job if only a
// part of them is in the latter. Any thread; blocks for a moment when a rank's memory is mapped
// first.
void *aq_process_mapped(uint32_t jobrank, uint64_t address, size_t nbytes);

// Whether nbytes of this process are in memory that neighbours map, its segment or its shared heap,
// if the system lets them. Any thread; does not block.
bool aq_process_shows(const void *memory, size_t nbytes);
