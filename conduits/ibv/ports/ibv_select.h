// SPDX-License-Identifier: BSD-3-Clause
// Which port suits a process by its place in the host: GASNET_IBV_PORTS_TYPE.
//
//      None              GASNET_IBV_PORTS holds for all processes
//      Auto              each process has one port: the nearest, shared fairly
//      Socket, NUMANode, Core, ...   GASNET_IBV_PORTS_0_1 holds for processes on sockets 0 and 1,
//      JRank, HRank, NRank           GASNET_IBV_PORTS_3 for rank 3 of the job, the host, the nbrhd;
//                                    and GASNET_IBV_PORTS where there is no such variable
//      HRank % 4, Core / 8           the same, with the numbers divided, or their remainders
//
// The functions of this header look neither at the environment nor at the host, so they can be
// tested without either; ibv_distance.h measures how far a port is.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum aq_ibv_select_kind {
    AQ_IBV_SELECT_NONE,
    AQ_IBV_SELECT_AUTO,
    AQ_IBV_SELECT_JRANK,
    AQ_IBV_SELECT_HRANK,
    AQ_IBV_SELECT_NRANK,
    AQ_IBV_SELECT_OBJECT, // a kind of object of hwloc
} aq_ibv_select_kind_t;

typedef struct aq_ibv_select_type {
    aq_ibv_select_kind_t kind;
    char object[32]; // AQ_IBV_SELECT_OBJECT: its name, as the user wrote it
    char operation;  // '/', '%'; 0: none
    uint32_t operand;
} aq_ibv_select_type_t;

// Reads the value of GASNET_IBV_PORTS_TYPE. False: err has a sentence with the remedy. Whether
// hwloc knows an object shows only when it is looked up.
bool aq_ibv_select_type_read(const char *text, aq_ibv_select_type_t *type, char *err,
                             size_t err_size);

// Writes the numbers, after the operation, in ascending order, each once, with '_' between:
// "0_2". Sorts `numbers`. False: they do not fit, or there are none.
bool aq_ibv_select_suffix(const aq_ibv_select_type_t *type, uint32_t *numbers, size_t count,
                          char *text, size_t size);

enum { AQ_IBV_SELECT_PORTS = 32, AQ_IBV_SELECT_FAR = 255 };

// How far each port is from a process; 0 is nearest; AQ_IBV_SELECT_FAR: the process may not use it.
typedef struct aq_ibv_select_row {
    uint8_t distance[AQ_IBV_SELECT_PORTS];
} aq_ibv_select_row_t;

// Gives each process of a host one of its nearest ports, and as few processes as possible the same
// one: processes with the fewest nearest ports choose first, then those of lower rank. taken[i]:
// the port of process i; AQ_IBV_SELECT_FAR: there is none.
void aq_ibv_select_ports(const aq_ibv_select_row_t *rows, size_t processes, size_t ports,
                         uint8_t *taken);

// How many ports are as near to a process as its nearest.
size_t aq_ibv_select_nearest(const aq_ibv_select_row_t *row, size_t ports);
