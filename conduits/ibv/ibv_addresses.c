#include "ibv_addresses.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "../../other/base/log.h"

// What each process announces to the others.
typedef struct record {
    uint8_t address[16]; // AF_INET uses the first 4; the rest is 0
    uint16_t family;
    uint16_t port;
    uint32_t rank;
} record_t;

_Static_assert(sizeof(record_t) == 24, "a record travels without padding");

static record_t record_of(const struct sockaddr_storage *here, uint32_t rank)
{
    record_t record = {.family = here->ss_family, .rank = rank};
    if (record.family == AF_INET) {
        const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)here;
        memcpy(record.address, &four->sin_addr, sizeof four->sin_addr);
        record.port = four->sin_port;
    } else {
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)here;
        memcpy(record.address, &six->sin6_addr, sizeof six->sin6_addr);
        record.port = six->sin6_port;
    }
    return record;
}

static int record_compare(const void *a, const void *b)
{
    return memcmp(((const record_t *)a)->address, ((const record_t *)b)->address,
                  sizeof((const record_t *)a)->address);
}

// The records are sorted by address, so each new address gets the next number.
static aq_status_t addresses_fill(aq_ibv_addresses_t *out, const record_t *records,
                                  const aq_boot_t *boot)
{
    const record_t *last = NULL;
    for (const record_t *record = records; record < records + boot->size; record++) {
        if (record->family != out->family)
            continue;
        const bool differs = !last || record_compare(last, record) != 0;
        if (differs && out->count == AQ_IBV_ADDRESSES_MOST) {
            if (boot->rank == 0)
                aq_log_error(
                    "conduit ibv reaches ranks at %d addresses at most, and this job has more; "
                    "use conduit udp",
                    AQ_IBV_ADDRESSES_MOST);
            return AQ_ERR_RESOURCE;
        }
        if (differs)
            memcpy(out->list + (size_t)out->count++ * out->bytes, record->address, out->bytes);
        out->rows[record->rank] = (aq_ibv_address_row_t){(uint16_t)(out->count - 1), record->port};
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

aq_status_t aq_ibv_addresses_exchange(aq_boot_t *boot, const struct sockaddr_storage *here,
                                      aq_ibv_addresses_t *out)
{
    const record_t mine = record_of(here, boot->rank);
    *out = (aq_ibv_addresses_t){.family = mine.family, .bytes = mine.family == AF_INET ? 4 : 16};
    record_t *records = calloc(boot->size, sizeof *records);
    out->rows = calloc(boot->size, sizeof *out->rows);
    out->list = calloc(boot->size, out->bytes);
    aq_status_t status = records && out->rows && out->list ? AQ_OK : AQ_ERR_RESOURCE;
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
