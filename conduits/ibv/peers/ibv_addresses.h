// SPDX-License-Identifier: BSD-3-Clause
// Where the ranks of a job listen: with librdmacm at an IP address and a port, otherwise at a port
// of a verbs device (its GID and LID) and a queue pair for datagrams; then there is a table for
// each port of a process. Hosts have few addresses, so each address is stored once.
//
//      rows       [ 0, port ]  [ 0, port ]  [ 1, port ]     by rank: the number of the address
//      addresses  [ 10.84.0.1 ]  [ 10.84.0.2 ]
//
// What is always true:
// - All addresses are different, and of the family of this process. A rank that listens at an
//   address of another family cannot be reached: its port is 0.
// - The table does not change after the exchange, so readers take no lock.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "../../../spawner/boot/boot.h"
#include "../verbs/ibv_path.h"

enum {
    AQ_IBV_ADDRESSES_MAX = UINT16_MAX + 1,
    AQ_IBV_ADDRESS_BYTES = 20, // of the longest address
    AQ_IBV_DATAGRAMS = 0x7fff, // the family of those that are no IP addresses
};

_Static_assert(sizeof(aq_ibv_port_address_t) <= AQ_IBV_ADDRESS_BYTES, "it is one of the addresses");

// Where a process listens.
typedef struct aq_ibv_listens {
    uint8_t address[AQ_IBV_ADDRESS_BYTES]; // the rest is 0
    uint16_t family;                       // AF_INET, AF_INET6 or AQ_IBV_DATAGRAMS
    uint16_t port;                         // network byte order; of datagrams see below
    uint32_t queue_pair;                   // of datagrams
} aq_ibv_listens_t;

typedef struct aq_ibv_address_row {
    uint16_t address; // number of the address
    uint16_t port;    // see aq_ibv_listens_t
} aq_ibv_address_row_t;

typedef struct aq_ibv_addresses {
    aq_ibv_address_row_t *rows; // by rank; NULL: not exchanged
    uint32_t *queue_pairs;      // by rank; NULL: librdmacm
    uint8_t *list;              // the addresses, back to back
    uint32_t count;
    uint32_t others; // ranks that listen at an address of another family
    uint16_t family; // of this process
    uint16_t bytes;  // of an address
} aq_ibv_addresses_t;

// Where a process listens that librdmacm has given an address, or with a queue pair for datagrams.
// The table has, as the port of the latter, over how many ports its links are spread, at least 1;
// or 0, as that of a rank which does not listen there.
aq_ibv_listens_t aq_ibv_listens_at(const struct sockaddr_storage *here);
aq_ibv_listens_t aq_ibv_listens_on(const aq_ibv_port_address_t *port, uint32_t queue_pair,
                                   unsigned ports);

// Collective over the job: tells all ranks where this process listens, and learns where they do.
// AQ_ERR_RESOURCE: no memory, or more addresses than rows can number (logged).
aq_status_t aq_ibv_addresses_exchange(aq_boot_t *boot, const aq_ibv_listens_t *here,
                                      aq_ibv_addresses_t *out);
void aq_ibv_addresses_free(aq_ibv_addresses_t *addresses);

// Whether a rank listens at an address of the family of this process.
static inline bool aq_ibv_addresses_has(const aq_ibv_addresses_t *addresses, uint32_t rank)
{
    return addresses->rows[rank].port != 0;
}

// If so, with librdmacm: the address and port, and returns the length of *out. Not to be called for
// other ranks.
socklen_t aq_ibv_addresses_get(const aq_ibv_addresses_t *addresses, uint32_t rank,
                               struct sockaddr_storage *out);

// The same with datagrams.
aq_ibv_port_address_t aq_ibv_addresses_port(const aq_ibv_addresses_t *addresses, uint32_t rank);

// How many such tables a job has: one for each port of the rank that has most of them, if all ranks
// listen with datagrams; otherwise 1. All ranks get the same answer.
unsigned aq_ibv_addresses_ports(const aq_ibv_addresses_t *addresses, uint32_t ranks);

// Over how many of its ports such a rank spreads its links.
static inline unsigned aq_ibv_addresses_spread(const aq_ibv_addresses_t *addresses, uint32_t rank)
{
    return addresses->rows[rank].port;
}

// The address of a rank that listens at one, for messages. Returns text.
const char *aq_ibv_addresses_text(const aq_ibv_addresses_t *addresses, uint32_t rank,
                                  char text[AQ_IBV_ADDRESS_TEXT]);

// Bytes of the table of a job of so many ranks.
static inline size_t aq_ibv_addresses_bytes(const aq_ibv_addresses_t *addresses, uint32_t ranks)
{
    const size_t each =
        sizeof *addresses->rows + (addresses->queue_pairs ? sizeof *addresses->queue_pairs : 0);
    return ranks * each + (size_t)addresses->count * addresses->bytes;
}
