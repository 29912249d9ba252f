// SPDX-License-Identifier: BSD-3-Clause
// The XRC domain of a place: the file that its ranks share.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../other/base/log/log.h"
#include "../../../other/base/memory/memfile.h"
#include "ibv_xrc.h"

// What each rank announces: its file, and the port by which places are told apart.
typedef struct member {
    aq_memfile_ticket_t ticket;
    aq_ibv_port_address_t port;
} member_t;

static bool members_share(const aq_boot_t *boot, const member_t *all, uint32_t a, uint32_t b)
{
    return boot->host_of_rank[a] == boot->host_of_rank[b] &&
           memcmp(&all[a].port, &all[b].port, sizeof all[a].port) == 0;
}

// Leaves *file as it is if this rank is the first of its place; else opens that of the first.
static aq_status_t file_join(const aq_boot_t *boot, const member_t *all, int *file)
{
    uint32_t first = 0;
    while (!members_share(boot, all, first, boot->rank))
        first++;
    if (first == boot->rank)
        return AQ_OK;
    close(*file);
    *file = -1;
    return aq_memfile_open(&all[first].ticket, file);
}

// Collective. Each rank makes a file, because no rank knows before the exchange which one is the
// first of its place, whose file all use. A file takes no memory until it is written.
static aq_status_t file_share(aq_boot_t *boot, const aq_ibv_port_address_t *port, size_t bytes,
                              int *file)
{
    member_t mine, *all = malloc(boot->size * sizeof *all);
    memset(&mine, 0, sizeof mine);
    mine.port = *port;
    if (!all) {
        aq_log_error("out of memory for the files of %u ranks", boot->size);
        return AQ_ERR_RESOURCE;
    }
    aq_status_t status = aq_memfile_create("gasnet-xrc", bytes, file);
    if (status == AQ_OK)
        status = aq_memfile_ticket(*file, &mine.ticket);
    if (status == AQ_OK)
        status = boot->ops->exchange(boot, &mine, sizeof mine, all);
    if (status == AQ_OK)
        status = file_join(boot, all, file);
    free(all);
    return status;
}

static size_t table_bytes(const aq_ibv_xrc_t *xrc)
{
    return xrc->ranks * sizeof *xrc->receivers;
}

aq_status_t aq_ibv_xrc_open(aq_ibv_xrc_t *xrc, aq_boot_t *boot, struct ibv_context *verbs,
                            const aq_ibv_port_address_t *port)
{
    *xrc = (aq_ibv_xrc_t){.file = -1, .ranks = boot->size};
    aq_status_t status = file_share(boot, port, table_bytes(xrc), &xrc->file);
    if (status == AQ_OK)
        status = aq_memfile_map(xrc->file, 0, table_bytes(xrc), (void **)&xrc->receivers);
    if (status != AQ_OK)
        return status;
    struct ibv_xrcd_init_attr attr = {.comp_mask =
                                          IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
                                      .fd = xrc->file,
                                      .oflags = O_CREAT};
    xrc->domain = ibv_open_xrcd(verbs, &attr);
    if (xrc->domain)
        return AQ_OK;
    aq_log_error("device %s refuses an XRC domain (%s): unset GASNET_USE_XRC",
                 ibv_get_device_name(verbs->device), strerror(errno));
    return AQ_ERR_RESOURCE;
}

void aq_ibv_xrc_close(aq_ibv_xrc_t *xrc)
{
    if (!xrc->ranks)
        return;
    if (xrc->domain)
        ibv_close_xrcd(xrc->domain);
    if (xrc->receivers)
        aq_memfile_unmap((void *)xrc->receivers, table_bytes(xrc));
    if (xrc->file >= 0)
        close(xrc->file);
    for (aq_ibv_xrc_sender_t *next, *sender = xrc->senders; sender; sender = next) {
        next = sender->next;
        free(sender);
    }
    *xrc = (aq_ibv_xrc_t){0};
}
