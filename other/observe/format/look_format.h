// SPDX-License-Identifier: BSD-3-Clause
// The protocol by which a reader looks at the ranks of a job: its request goes down the tree of the
// launcher (spawner/tree/node_state.h), and the answers of the hosts come up and go to the reader.
//
//     reader -> launcher:    connects to the abstract socket of aq_look_address, and sends
//                            requests: a letter (aq_look_request_t), u32 rank
//     or reader -> helper:   the same at the socket of aq_look_job_address, on hosts with ranks;
//                            the helper passes requests to the launcher, and answers back
//     launcher -> reader:    frame AQ_LOOK_HOSTS: u32 number of the look | u32 number of answers to
//                            expect | u64 number of the job
//                            frames AQ_LOOK_SEEN: the answer of a host
//
// A frame is as in spawner/wire/frame.h: type (1), 0 (3), length (4), payload. The answer of a
// host:
//
//     u32 number of the look | u64 the host's clock in nanoseconds
//     u8 what became of the question for a stack (aq_stack_result_t) | for each rank:
//         u8 state of the process, a letter | u64 its ticks of processor time
//         24 bytes: which of the 192 lines of 64 bytes of the head follow | these lines
//         u64[AQ_OWN_COUNTS]: of the rank itself
//         u32 number of ranks with counts | for each: u32 rank, u64[AQ_PEER_COUNTS]
//
// Numbers are big-endian, but for the bytes of the head.
#pragma once

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include "rank_file.h"

enum {
    AQ_LOOK_LINE = 64,
    AQ_LOOK_LINES = AQ_RANK_HEAD_BYTES / AQ_LOOK_LINE,
    AQ_LOOK_MAP = AQ_LOOK_LINES / 8,
    AQ_LOOK_FRAME_HEAD = 8,
    AQ_LOOK_REQUEST = 5,
};

// What a reader asks for: all ranks; one of them, alone; one with a stack of it.
typedef enum aq_look_request {
    AQ_LOOK_ALL = 'a',
    AQ_LOOK_ONE = 'o',
    AQ_LOOK_STACK = 's',
} aq_look_request_t;

// Types of frames to the reader.
enum { AQ_LOOK_HOSTS = 1, AQ_LOOK_SEEN = 2 };

#define AQ_LOOK_SOCKET "aqueduct-launcher-"
#define AQ_LOOK_JOB_SOCKET "aqueduct-job-"

// The address of the launcher with this process id. Returns its length.
static inline socklen_t aq_look_address(pid_t launcher, struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    const int length = snprintf(address->sun_path + 1, sizeof address->sun_path - 1,
                                AQ_LOOK_SOCKET "%d", (int)launcher);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

// The address of a helper of the job with this number on this host. Returns its length.
static inline socklen_t aq_look_job_address(uint64_t job, struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    const int length = snprintf(address->sun_path + 1, sizeof address->sun_path - 1,
                                AQ_LOOK_JOB_SOCKET "%016" PRIx64, job);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}
