// SPDX-License-Identifier: BSD-3-Clause
// Reads the asynchronous events of the devices in the connector's thread, and reports changes to
// ibv_conduit.c, which takes rails and failovers off the port.
#include "ibv_port_watch.h"

#include <fcntl.h>

#include "../../../other/base/minmax.h"

#define PATIENCE_NS UINT64_C(1000000000)
#define NS_OF_MS UINT64_C(1000000)

static unsigned ports_watched(const aq_ibv_port_watch_t *watch)
{
    return watch->ports && watch->ports->count > 1 ? watch->ports->count : 0;
}

void aq_ibv_port_watch_open(aq_ibv_port_watch_t *watch)
{
    watch->next = ibv_get_async_event;
    watch->acknowledge = ibv_ack_async_event;
    for (unsigned port = 0; port < ports_watched(watch); port++) {
        const int fd = watch->ports->list[port].verbs->async_fd;
        if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) != 0)
            watch->ports = NULL; // a call for an event would block
    }
}

unsigned aq_ibv_port_watch_fds(const aq_ibv_port_watch_t *watch,
                               struct pollfd events[AQ_IBV_RAIL_PORTS_MAX])
{
    const unsigned count = ports_watched(watch);
    for (unsigned port = 0; port < count; port++)
        events[port] =
            (struct pollfd){.fd = watch->ports->list[port].verbs->async_fd, .events = POLLIN};
    return count;
}

static void port_rise(aq_ibv_port_watch_t *watch, unsigned port)
{
    if (watch->failed[port])
        return;
    watch->down_at_ns[port] = 0;
    if (watch->down[port])
        watch->changed(watch->context, port, true);
    watch->down[port] = false;
}

static void event_handle(aq_ibv_port_watch_t *watch, unsigned port,
                         const struct ibv_async_event *event, uint64_t now_ns)
{
    const bool is_fatal = event->event_type == IBV_EVENT_DEVICE_FATAL;
    watch->failed[port] = watch->failed[port] || is_fatal;
    if (!is_fatal && event->element.port_num != watch->ports->list[port].number)
        return;
    if (event->event_type == IBV_EVENT_PORT_ACTIVE)
        port_rise(watch, port);
    else if (is_fatal || event->event_type == IBV_EVENT_PORT_ERR)
        watch->down_at_ns[port] = now_ns + (is_fatal ? 0 : PATIENCE_NS);
}

static void port_turn(aq_ibv_port_watch_t *watch, unsigned port, uint64_t now_ns)
{
    struct ibv_async_event event;
    while (watch->next(watch->ports->list[port].verbs, &event) == 0) {
        event_handle(watch, port, &event, now_ns);
        watch->acknowledge(&event);
    }
    const uint64_t at = watch->down_at_ns[port];
    if (!at || at > now_ns)
        return;
    watch->down_at_ns[port] = 0;
    if (!watch->down[port])
        watch->changed(watch->context, port, false);
    watch->down[port] = true;
}

void aq_ibv_port_watch_turn(aq_ibv_port_watch_t *watch, uint64_t now_ns)
{
    for (unsigned port = 0; port < ports_watched(watch); port++)
        port_turn(watch, port, now_ns);
}

int aq_ibv_port_watch_timeout(const aq_ibv_port_watch_t *watch, uint64_t now_ns)
{
    uint64_t first = UINT64_MAX;
    for (unsigned port = 0; port < ports_watched(watch); port++)
        if (watch->down_at_ns[port])
            first = aq_min(first, watch->down_at_ns[port]);
    if (first == UINT64_MAX)
        return -1;
    return first <= now_ns ? 0 : (int)((first - now_ns) / NS_OF_MS + 1);
}
