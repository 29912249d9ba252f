// Where the ranks of a job listen. Hosts have few addresses, so each address is stored once.
//
//      rows       [ 0, port ]  [ 0, port ]  [ 1, port ]     by rank: the number of the address
//      addresses  [ 10.84.0.1 ]  [ 10.84.0.2 ]
//
// What is always true:
// - All addresses are different, and of the address family of this process. A rank that listens at
//   an address of another family cannot be reached: its port is 0.
// - The table does not change after the exchange, so readers take no lock.
#ifndef AQ_IBV_ADDRESSES_H
#define AQ_IBV_ADDRESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "../../spawner/boot.h"

enum { AQ_IBV_ADDRESSES_MOST = UINT16_MAX + 1 };

typedef struct aq_ibv_address_row {
    uint16_t address; // number of the address
    uint16_t port;    // network byte order
} aq_ibv_address_row_t;

typedef struct aq_ibv_addresses {
    aq_ibv_address_row_t *rows; // by rank; NULL: not exchanged
    uint8_t *list;              // the addresses, back to back
    uint32_t count;
    uint16_t family; // AF_INET or AF_INET6
    uint16_t bytes;  // of an address
} aq_ibv_addresses_t;

// Collective over the job: tells all ranks the address and port at which this process listens, and
// learns theirs. AQ_ERR_RESOURCE: no memory, or more addresses than rows can number (logged).
aq_status_t aq_ibv_addresses_exchange(aq_boot_t *boot, const struct sockaddr_storage *here,
                                      aq_ibv_addresses_t *out);
void aq_ibv_addresses_free(aq_ibv_addresses_t *addresses);

// Whether a rank listens at an address of the family of this process.
static inline bool aq_ibv_addresses_has(const aq_ibv_addresses_t *addresses, uint32_t rank)
{
    return addresses->rows[rank].port != 0;
}

// If so: the address and port, and returns the length of *out. Not to be called for other ranks.
socklen_t aq_ibv_addresses_get(const aq_ibv_addresses_t *addresses, uint32_t rank,
                               struct sockaddr_storage *out);

// Bytes of the table of a job of so many ranks.
static inline size_t aq_ibv_addresses_bytes(const aq_ibv_addresses_t *addresses, uint32_t ranks)
{
    return ranks * sizeof *addresses->rows + (size_t)addresses->count * addresses->bytes;
}

#endif
