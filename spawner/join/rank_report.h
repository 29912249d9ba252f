// SPDX-License-Identifier: BSD-3-Clause
// Reports of ranks to the launcher of spawners mpi and pmi, which cannot trust the exit code of
// mpirun: MPICH's mixes the codes of ranks with the signals by which it ends them, or gives 0 for a
// rank that was killed.
//
//   gasnetrun (rank_watch.h) --runs--> mpirun --starts--> ranks
//        ^                                                  |
//        +------ a connection from each rank (this file) ---+
//
// The socket has a random name in no folder, which the ranks of this host learn from their
// environment. For ranks of other hosts it does not exist: they report nothing.
//
// What is always true:
// - A report is one packet of this type. The first of a connection says AQ_REPORT_JOINED, and the
//   launcher answers it with a byte once it watches the process.
// - Both sides talk to processes of their own user only.
// - A rank without a launcher of ours works as one whose launcher does not listen.
#pragma once

#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#define AQ_REPORT_MAGIC 0x52517141u
#define AQ_REPORT_NAME 40 // bytes of the name of a socket, with the NUL

typedef enum aq_report_kind {
    AQ_REPORT_JOINED,  // this process is a rank; code is the number of ranks
    AQ_REPORT_ENDS,    // the job ends with this code
    AQ_REPORT_LEAVES,  // this rank leaves in good order, with this code
    AQ_REPORT_FOLLOWS, // this rank ends because another one or mpirun has, whatever its code is
} aq_report_kind_t;

typedef struct aq_report {
    uint32_t magic;
    uint32_t kind; // aq_report_kind_t
    uint32_t rank;
    int32_t code;
} aq_report_t;

// The address of a socket of that name; returns its length.
socklen_t aq_report_address(const char name[AQ_REPORT_NAME], struct sockaddr_un *out);

// For a rank that has joined: calls the launcher that GASNET_SPAWN_REPORTS names, if it is there,
// and removes that variable, which is not for jobs that this rank may start. Waits for the answer,
// for at most some seconds. One thread.
void aq_report_open(uint32_t rank, uint32_t size);

// Reports to the launcher, if it was there. Does not block. Async-signal-safe.
void aq_report_send(aq_report_kind_t kind, int code);
