// SPDX-License-Identifier: BSD-3-Clause
// The ports at which helpers call the process that started them.
#include "node_listen.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../../other/base/log/log.h"

static aq_listener_t *find_listener(aq_node_t *node, const char *address)
{
    for (uint32_t i = 0; i < node->calls.listener_count; i++)
        if (strcmp(node->calls.listeners[i].address, address) == 0)
            return &node->calls.listeners[i];
    return NULL;
}

// Returns 0 or errno. bound: the address to bind if the address itself belongs to another host.
static int add_listener(aq_node_t *node, const char *address, const char *bound,
                        aq_listener_t **out)
{
    *out = find_listener(node, address);
    if (*out != NULL)
        return 0;
    if (node->calls.listener_count == AQ_LISTENERS)
        return ENOSPC;
    aq_listener_t *listener = &node->calls.listeners[node->calls.listener_count];
    int error = aq_net_listen(bound, node->ports, listener);
    if (error != 0)
        return error;
    snprintf(listener->address, sizeof listener->address, "%s", address);
    node->calls.listener_count++;
    *out = listener;
    return 0;
}

// The address that the user gave may be that of a router in front of this host.
static int listen_at_master(aq_node_t *node, aq_listener_t **out)
{
    const char *master = node->master_address;
    int error = add_listener(node, master, master, out);
    if (error == EADDRNOTAVAIL)
        error = add_listener(node, master, strchr(master, ':') != NULL ? "::" : "0.0.0.0", out);
    return error;
}

// Listens on the interface that routes to one of the host's addresses.
static int listen_by_route(aq_node_t *node, const char *addresses, aq_listener_t **out)
{
    char address[AQ_ADDRESS_TEXT], source[AQ_ADDRESS_TEXT];
    int error = EADDRNOTAVAIL;
    while (*addresses != '\0' && error == EADDRNOTAVAIL) {
        size_t length = strcspn(addresses, ",");
        snprintf(address, sizeof address, "%.*s", (int)length, addresses);
        if (aq_net_source(address, source))
            error = add_listener(node, source, source, out);
        addresses += length + (addresses[length] == ',');
    }
    return error;
}

// Whether the helper runs on this host and in this network. A remote shell other than ssh does not
// say from where it came, so the addresses decide.
static bool is_here(const aq_greeting_t *greeting)
{
    char own[AQ_REMOTE_TEXT];
    aq_remote_own_addresses(own);
    return strcmp(greeting->client, "-") == 0 && strcmp(greeting->addresses, own) == 0;
}

static int listen_for(aq_node_t *node, const aq_greeting_t *greeting, aq_listener_t **out)
{
    int error = EADDRNOTAVAIL;
    if (is_here(greeting))
        return add_listener(node, "127.0.0.1", "127.0.0.1", out);
    if (node->master_address[0] != '\0')
        return listen_at_master(node, out);
    if (strcmp(greeting->client, "-") != 0)
        error = add_listener(node, greeting->client, greeting->client, out);
    return error == EADDRNOTAVAIL || error == EINVAL
               ? listen_by_route(node, greeting->addresses, out)
               : error;
}

bool aq_node_listen_for(aq_node_t *node, const aq_greeting_t *greeting, aq_listener_t **out,
                        char *errbuf, size_t errbuf_size)
{
    const int error = listen_for(node, greeting, out);
    if (error == 0)
        return true;
    snprintf(errbuf, errbuf_size, "host %s cannot listen for it (%s); %s", aq_log_host(),
             strerror(error),
             error == EADDRINUSE ? "widen the range GASNET_SPAWN_PORTS"
                                 : "give the address by which it reaches that host with "
                                   "GASNET_MASTERIP");
    return false;
}

int aq_node_listen_all(aq_node_t *node, uint16_t *port)
{
    aq_listener_t *listener = NULL;
    int error;
    if (node->master_address[0] != '\0') {
        error = listen_at_master(node, &listener);
    } else {
        error = add_listener(node, "::", "::", &listener); // IPv4 too, unless configured otherwise
        if (error != 0)
            error = add_listener(node, "0.0.0.0", "0.0.0.0", &listener);
    }
    *port = error == 0 ? listener->port : 0;
    return error;
}
