// SPDX-License-Identifier: BSD-3-Clause
// Reads and writes the memory of a process of this host by one copy: memory that is mapped here (a
// segment, or memory of gasnetx_Msg_Alloc), or any other if the system allows it.
//
// The process number of a rank in a container may mean another process here. So each process has a
// random value at an address, and its messages name both; a receiver uses a process number only
// after it has read the value there.
#pragma once

#include "msg_state.h"

// Fills in the number of this process, and its proof, for a message to a rank: none if that rank is
// on another host.
void aq_msg_read_self(uint32_t jobrank, aq_msg_head_t *head);

// As aq_msg_read_self, as arguments of a message, with the address of memory of this process
// first.
enum { AQ_MSG_MEMORY_ARGS = 7 };
void aq_msg_read_args(uint32_t jobrank, const void *memory, int32_t args[AQ_MSG_MEMORY_ARGS]);

// How this process reaches the memory that a message names: not at all; in its own mapping; by
// cross-memory attach (CMA), calls of the system that copy from or to another process.
typedef enum aq_msg_reach { AQ_MSG_UNREACHABLE, AQ_MSG_MAPPED, AQ_MSG_CMA } aq_msg_reach_t;
aq_msg_reach_t aq_msg_reach(const aq_msg_head_t *head);

// Copies nbytes from that memory, or into it, from an offset on. False: that is not possible, and
// dest may have been written.
bool aq_msg_read(const aq_msg_head_t *head, uint64_t offset, void *dest, size_t nbytes);
bool aq_msg_write(const aq_msg_head_t *head, uint64_t offset, const void *src, size_t nbytes);
