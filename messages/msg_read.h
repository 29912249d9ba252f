// Reads the memory of a process of this host by one copy, if the system allows it.
//
// A process number may belong to another process: that of a rank in a container means another one
// here. So each process has a random value at an address, and its offers name both; a receiver
// believes the process number when it has read that value there.
#ifndef AQ_MSG_READ_H
#define AQ_MSG_READ_H

#include "msg.h"

// Fills in what offers of this process to a rank say about it: nothing if that rank has another
// host.
void aq_msg_read_offer(uint32_t jobrank, aq_msg_head_t *head);

// The same as arguments of a message, with the address of memory of this process first.
enum { AQ_MSG_MEMORY_ARGS = 7 };
void aq_msg_read_args(uint32_t jobrank, const void *memory, int32_t args[AQ_MSG_MEMORY_ARGS]);

// Copies nbytes of an offered message, from an offset on. False: that is not possible, and nothing
// is lost.
bool aq_msg_read(const aq_msg_head_t *offer, uint64_t offset, void *dest, size_t nbytes);

// Whether the memory is not mapped here, but this process may read it, and write it, by calls of
// the system.
bool aq_msg_reads_by_calls(const aq_msg_head_t *offer);

// Reads or writes nbytes at an offset in that memory. False: the system does not allow it, or there
// is no such memory in one of the processes.
bool aq_msg_read_at(const aq_msg_head_t *offer, size_t offset, void *dest, size_t nbytes);
bool aq_msg_write_at(const aq_msg_head_t *offer, size_t offset, const void *src, size_t nbytes);

#endif
