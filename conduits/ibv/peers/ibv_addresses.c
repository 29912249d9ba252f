// SPDX-License-Identifier: BSD-3-Clause
// Sorts and numbers what all ranks announce. ibv_conduit.c exchanges a table for each port when it
// opens; the connector looks ranks up.
#include "ibv_addresses.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "../../../other/base/log/log.h"
#include "../../../other/base/minmax.h"
#include "../ports/ibv_rail_ports.h"

// What each process announces to the others.
typedef struct record {
    aq_ibv_listens_t listens; // begins with the address, by which records are sorted
    uint32_t rank;
} record_t;

_Static_assert(sizeof(record_t) == 32, "a record travels without padding");

aq_ibv_listens_t aq_ibv_listens_at(const struct sockaddr_storage *here)
{
    aq_ibv_listens_t listens = {.family = here->ss_family};
    if (listens.family == AF_INET) {
        const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)here;
        memcpy(listens.address, &four->sin_addr, sizeof four->sin_addr);
        listens.port = four->sin_port;
    } else {
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)here;
        memcpy(listens.address, &six->sin6_addr, sizeof six->sin6_addr);
        listens.port = six->sin6_port;
    }
    return listens;
}

aq_ibv_listens_t aq_ibv_listens_on(const aq_ibv_port_address_t *port, uint32_t queue_pair,
                                   unsigned ports)
{
    aq_ibv_listens_t listens = {
        .family = AQ_IBV_DATAGRAMS, .port = (uint16_t)ports, .queue_pair = queue_pair};
    memcpy(listens.address, port, sizeof *port);
    return listens;
}

static uint16_t bytes_of(uint16_t family)
{
    return family == AF_INET ? 4 : family == AF_INET6 ? 16 : AQ_IBV_ADDRESS_BYTES;
}

static int record_compare(const void *a, const void *b)
{
    return memcmp(((const record_t *)a)->listens.address, ((const record_t *)b)->listens.address,
                  AQ_IBV_ADDRESS_BYTES);
}

// The records are sorted by address, so each new address gets the next number.
static aq_status_t addresses_fill(aq_ibv_addresses_t *out, const record_t *records,
                                  const aq_boot_t *boot)
{
    const record_t *last = NULL;
    for (const record_t *record = records; record < records + boot->size; record++) {
        if (record->listens.family != out->family) {
            out->others++;
            continue;
        }
        const bool differs = !last || record_compare(last, record) != 0;
        if (differs && out->count == AQ_IBV_ADDRESSES_MAX) {
            if (boot->rank == 0)
                aq_log_error("conduit ibv reaches ranks at %d addresses at most, and this job has "
                             "more; use conduit udp",
                             AQ_IBV_ADDRESSES_MAX);
            return AQ_ERR_RESOURCE;
        }
        if (differs)
            memcpy(out->list + (size_t)out->count++ * out->bytes, record->listens.address,
                   out->bytes);
        out->rows[record->rank] =
            (aq_ibv_address_row_t){(uint16_t)(out->count - 1), record->listens.port};
        if (out->queue_pairs)
            out->queue_pairs[record->rank] = record->listens.queue_pair;
        last = record;
    }
    return AQ_OK;
}

static void give_back_rest(aq_ibv_addresses_t *out)
{
    uint8_t *shorter = realloc(out->list, (size_t)out->count * out->bytes);
    if (shorter)
        out->list = shorter;
}

// Makes room for the addresses of all ranks. False: no memory.
static bool addresses_make(aq_ibv_addresses_t *out, uint16_t family, uint32_t ranks)
{
    *out = (aq_ibv_addresses_t){.family = family, .bytes = bytes_of(family)};
    out->rows = calloc(ranks, sizeof *out->rows);
    out->list = calloc(ranks, out->bytes);
    if (family == AQ_IBV_DATAGRAMS)
        out->queue_pairs = calloc(ranks, sizeof *out->queue_pairs);
    return out->rows && out->list && (out->queue_pairs || family != AQ_IBV_DATAGRAMS);
}

aq_status_t aq_ibv_addresses_exchange(aq_boot_t *boot, const aq_ibv_listens_t *here,
                                      aq_ibv_addresses_t *out)
{
    const record_t mine = {*here, boot->rank};
    record_t *records = calloc(boot->size, sizeof *records);
    aq_status_t status =
        addresses_make(out, here->family, boot->size) && records ? AQ_OK : AQ_ERR_RESOURCE;
    if (status != AQ_OK)
        aq_log_error("out of memory for the addresses of %u ranks; free some", boot->size);
    else
        status = boot->ops->exchange(boot, &mine, sizeof mine, records);
    if (status == AQ_OK) {
        qsort(records, boot->size, sizeof *records, record_compare);
        status = addresses_fill(out, records, boot);
    }
    if (status == AQ_OK)
        give_back_rest(out);
    else
        aq_ibv_addresses_free(out);
    free(records);
    return status;
}

void aq_ibv_addresses_free(aq_ibv_addresses_t *addresses)
{
    free(addresses->rows);
    free(addresses->queue_pairs);
    free(addresses->list);
    *addresses = (aq_ibv_addresses_t){0};
}

socklen_t aq_ibv_addresses_get(const aq_ibv_addresses_t *addresses, uint32_t rank,
                               struct sockaddr_storage *out)
{
    const aq_ibv_address_row_t *row = &addresses->rows[rank];
    const uint8_t *address = addresses->list + (size_t)row->address * addresses->bytes;
    memset(out, 0, sizeof *out);
    out->ss_family = addresses->family;
    if (addresses->family == AF_INET) {
        struct sockaddr_in *four = (struct sockaddr_in *)out;
        four->sin_port = row->port;
        memcpy(&four->sin_addr, address, sizeof four->sin_addr);
        return sizeof *four;
    }
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)out;
    six->sin6_port = row->port;
    memcpy(&six->sin6_addr, address, sizeof six->sin6_addr);
    return sizeof *six;
}

aq_ibv_port_address_t aq_ibv_addresses_port(const aq_ibv_addresses_t *addresses, uint32_t rank)
{
    aq_ibv_port_address_t port;
    memcpy(&port, addresses->list + (size_t)addresses->rows[rank].address * addresses->bytes,
           sizeof port);
    return port;
}

unsigned aq_ibv_addresses_ports(const aq_ibv_addresses_t *addresses, uint32_t ranks)
{
    unsigned ports = 1;
    if (addresses->family != AQ_IBV_DATAGRAMS || addresses->others)
        return 1;
    for (uint32_t rank = 0; rank < ranks; rank++)
        ports = aq_max(ports, (unsigned)addresses->rows[rank].port);
    return aq_min(ports, (unsigned)AQ_IBV_RAIL_PORTS_MAX);
}

const char *aq_ibv_addresses_text(const aq_ibv_addresses_t *addresses, uint32_t rank,
                                  char text[AQ_IBV_ADDRESS_TEXT])
{
    if (addresses->family == AQ_IBV_DATAGRAMS) {
        const aq_ibv_port_address_t port = aq_ibv_addresses_port(addresses, rank);
        return aq_ibv_port_address_text(&port, text);
    }
    inet_ntop(addresses->family,
              addresses->list + (size_t)addresses->rows[rank].address * addresses->bytes, text,
              AQ_IBV_ADDRESS_TEXT);
    return text;
}
