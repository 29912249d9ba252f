// SPDX-License-Identifier: BSD-3-Clause
// Combines type, filter and affinity of this process into the choice of ports, together with the
// other processes of the host in type Auto. ibv_device.c asks for it, and ibv_report.c for all
// ranks of a host.
#include "ibv_affinity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../other/base/minmax.h"
#include "../../../other/base/settings/settings.h"
#include "../../../other/base/settings/settings_family.h"
#include "ibv_filter.h"
#include "ibv_distance.h"
#include "ibv_select.h"
#include "../verbs/ibv_profile.h"

enum { NUMBERS_MAX = 256, SUFFIX_BYTES = 512, RANKS_SHOWN = 8 };

// Where a process of this host runs, to share the ports among them.
typedef struct slot {
    uint32_t job_rank, host_rank, nbrhd_rank;
    aq_ibv_binding_t binding;
} slot_t;

// What GASNET_IBV_PORTS_TYPE says, and the layout of the host if it matters.
typedef struct chooser {
    aq_ibv_select_type_t type;
    aq_ibv_distances_t *distances; // NULL: unknown, or without meaning
} chooser_t;

// Whether the type gives names to variables, and at least one such variable is set.
static bool has_members(const aq_ibv_select_type_t *type)
{
    return type->kind != AQ_IBV_SELECT_NONE && type->kind != AQ_IBV_SELECT_AUTO &&
           aq_setting_has_members(aq_ibv_setting(IBV_SET_PORTS)->name);
}

static aq_status_t chooser_open(chooser_t *chooser, char *errbuf, size_t errbuf_size)
{
    const char *text = aq_setting_text(aq_ibv_setting(IBV_SET_PORTS_TYPE));
    *chooser = (chooser_t){0};
    if (!aq_ibv_select_type_read(text, &chooser->type, errbuf, errbuf_size))
        return AQ_ERR_CONFIG;
    if (chooser->type.kind == AQ_IBV_SELECT_AUTO) {
        chooser->distances =
            aq_ibv_distances_open(NULL, errbuf, errbuf_size); // without it, ports go in turn
        return AQ_OK;
    }
    if (chooser->type.kind != AQ_IBV_SELECT_OBJECT || !has_members(&chooser->type))
        return AQ_OK;
    chooser->distances = aq_ibv_distances_open(NULL, errbuf, errbuf_size);
    return chooser->distances ? AQ_OK : AQ_ERR_CONFIG;
}

static size_t slot_numbers(const chooser_t *chooser, const slot_t *slot, uint32_t *numbers)
{
    switch (chooser->type.kind) {
    case AQ_IBV_SELECT_JRANK:
        numbers[0] = slot->job_rank;
        return 1;
    case AQ_IBV_SELECT_HRANK:
        numbers[0] = slot->host_rank;
        return 1;
    case AQ_IBV_SELECT_NRANK:
        numbers[0] = slot->nbrhd_rank;
        return 1;
    default:
        return aq_ibv_distances_numbers(chooser->distances, chooser->type.object, &slot->binding,
                                        numbers, NUMBERS_MAX);
    }
}

// The filter of a process, and in `suffix` the end of the name of its variable. NULL: errbuf says
// what is wrong.
static const char *slot_filter(const chooser_t *chooser, const slot_t *slot, char *suffix,
                               char *errbuf, size_t errbuf_size)
{
    const aq_setting_t *row = aq_ibv_setting(IBV_SET_PORTS);
    uint32_t numbers[NUMBERS_MAX];
    const char *filter = aq_setting_text(row);
    *suffix = '\0';
    if (has_members(&chooser->type)) {
        const size_t count = slot_numbers(chooser, slot, numbers);
        if (count == 0) {
            snprintf(errbuf, errbuf_size,
                     "GASNET_IBV_PORTS_TYPE: this host has no object that hwloc calls '%s'; use "
                     "one that lstopo shows, for example Socket",
                     chooser->type.object);
            return NULL;
        }
        if (aq_ibv_select_suffix(&chooser->type, numbers, count, suffix, SUFFIX_BYTES)) {
            const char *member = aq_setting_member(row->name, suffix);
            filter = member ? member : filter;
        }
    }
    return aq_ibv_filter_check(filter, errbuf, errbuf_size) ? filter : NULL;
}

// ---- type Auto ----

static aq_ibv_select_row_t slot_distances(const chooser_t *chooser, const slot_t *slot,
                                          const aq_ibv_choice_t *choice)
{
    const aq_ibv_ports_t *ports = choice->ports;
    aq_ibv_select_row_t row;
    memset(&row, AQ_IBV_SELECT_FAR, sizeof row);
    for (size_t i = 0; i < ports->count && i < AQ_IBV_SELECT_PORTS; i++) {
        char beside[512] = "";
        if (choice->uses[i] != AQ_IBV_USED)
            continue;
        row.distance[i] = 0;
        if (chooser->distances &&
            aq_ibv_distances_device(ports->list[i].device, beside, sizeof beside))
            row.distance[i] =
                (uint8_t)aq_min(aq_ibv_distances_of(chooser->distances, beside, &slot->binding),
                                AQ_IBV_SELECT_FAR - 1);
    }
    return row;
}

// Leaves the process the one port that it was given.
static void uses_keep(aq_ibv_choice_t *choice, uint8_t taken)
{
    for (size_t i = 0; i < choice->ports->count; i++)
        if (choice->uses[i] == AQ_IBV_USED && i != taken)
            choice->uses[i] = AQ_IBV_FARTHER;
}

// The port of this process, from the distances of all processes of its host.
static aq_status_t port_select(const aq_conduit_env_t *env, const aq_ibv_select_row_t *mine,
                               uint8_t *port, char *errbuf, size_t errbuf_size)
{
    aq_boot_t *boot = env->boot;
    aq_ibv_select_row_t *rows = calloc(boot->size, sizeof *rows);
    uint8_t *taken = calloc(boot->size, 1);
    aq_status_t status = AQ_ERR_RESOURCE;
    if (rows && taken)
        status = boot->ops->exchange(boot, mine, sizeof *mine, rows);
    else
        snprintf(errbuf, errbuf_size, "there is no memory for the places of %u processes",
                 boot->size);
    size_t count = 0, me = 0;
    for (uint32_t r = 0; status == AQ_OK && r < boot->size; r++) {
        if (boot->host_of_rank[r] != boot->host_of_rank[boot->rank])
            continue;
        me = r == boot->rank ? count : me;
        rows[count++] = rows[r];
    }
    if (status == AQ_OK) {
        aq_ibv_select_ports(rows, count, AQ_IBV_SELECT_PORTS, taken);
        *port = taken[me];
    }
    free(rows);
    free(taken);
    return status;
}

// ---- the choice ----

static slot_t slot_of(const aq_conduit_env_t *env, const chooser_t *chooser)
{
    const aq_boot_t *boot = env->boot;
    slot_t slot = {.job_rank = boot->rank, .nbrhd_rank = env->nbrhd_index};
    const char *query = aq_setting_text(aq_ibv_setting(IBV_SET_HWLOC_QUERY));
    for (uint32_t r = 0; r < boot->rank; r++)
        slot.host_rank += boot->host_of_rank[r] == boot->host_of_rank[boot->rank];
    if (chooser->distances)
        aq_ibv_distances_binding(chooser->distances, strcmp(query, "process") == 0, &slot.binding);
    return slot;
}

// The choice of this process, without the other ones of its host.
static aq_status_t choose_filtered(const chooser_t *chooser, const aq_conduit_env_t *env,
                                   aq_ibv_choice_t *choice, char *errbuf, size_t errbuf_size)
{
    const bool automatic = chooser->type.kind == AQ_IBV_SELECT_AUTO;
    const slot_t slot = slot_of(env, chooser);
    char suffix[SUFFIX_BYTES];
    choice->filter = slot_filter(chooser, &slot, suffix, errbuf, errbuf_size);
    if (!choice->filter)
        return AQ_ERR_CONFIG;
    aq_ibv_choose(choice->ports, choice->filter, automatic ? SIZE_MAX : choice->rails,
                  choice->uses);
    return AQ_OK;
}

// Type Auto: one of the ports that are used. status: of the choice so far; a process that failed
// takes part without a port, since the others wait for it.
static aq_status_t choose_nearest(const chooser_t *chooser, const aq_conduit_env_t *env,
                                  aq_ibv_choice_t *choice, aq_status_t status, char *errbuf,
                                  size_t errbuf_size)
{
    aq_ibv_select_row_t row;
    uint8_t port = AQ_IBV_SELECT_FAR;
    memset(&row, AQ_IBV_SELECT_FAR, sizeof row);
    if (status == AQ_OK) {
        const slot_t slot = slot_of(env, chooser);
        row = slot_distances(chooser, &slot, choice);
    }
    const aq_status_t shared = port_select(env, &row, &port, errbuf, errbuf_size);
    if (status == AQ_OK && shared == AQ_OK)
        uses_keep(choice, port);
    return status != AQ_OK ? status : shared;
}

aq_status_t aq_ibv_affinity_choose(const aq_conduit_env_t *env, aq_ibv_choice_t *choice,
                                   char *errbuf, size_t errbuf_size)
{
    chooser_t chooser;
    aq_status_t status = chooser_open(&chooser, errbuf, errbuf_size);
    if (status == AQ_OK && choice->ports)
        status = choose_filtered(&chooser, env, choice, errbuf, errbuf_size);
    else if (status == AQ_OK)
        status = AQ_ERR_RESOURCE;
    if (chooser.type.kind == AQ_IBV_SELECT_AUTO)
        status = choose_nearest(&chooser, env, choice, status, errbuf, errbuf_size);
    aq_ibv_distances_close(chooser.distances);
    return status;
}

// ---- what gasnet_info prints ----

typedef void print_line_t(void *arg, const char *label, const char *text);

static void port_name(const aq_ibv_choice_t *choice, char *text, size_t size)
{
    const aq_ibv_ports_t *ports = choice->ports;
    size_t at = 0;
    *text = '\0';
    for (size_t i = 0; i < ports->count && at < size; i++)
        if (choice->uses[i] == AQ_IBV_USED)
            at += (size_t)snprintf(text + at, size - at, "%sport %u of %s", at > 0 ? ", " : "",
                                   ports->list[i].number, ports->list[i].device);
    if (at == 0)
        snprintf(text, size, "no port");
}

static void devices_print(const aq_ibv_ports_t *ports, print_line_t *print, void *arg)
{
    for (size_t i = 0; i < ports->count; i++) {
        char beside[256], text[512];
        if (ports->list[i].number > 1)
            continue;
        if (aq_ibv_distances_device(ports->list[i].device, beside, sizeof beside))
            snprintf(text, sizeof text, "%s is beside processors %s", ports->list[i].device,
                     beside);
        else
            snprintf(text, sizeof text,
                     "%s is equally near to all processors: the system knows no place for it, as "
                     "for every device in software",
                     ports->list[i].device);
        print(arg, "", text);
    }
}

static void rank_print(size_t rank, const slot_t *slot, const char *port, const char *reason,
                       print_line_t *print, void *arg)
{
    char label[40], text[1024];
    snprintf(label, sizeof label, "rank %zu of a host", rank);
    snprintf(text, sizeof text, "%s%s%s: %s", port,
             *slot->binding.processors ? ", on processors " : "", slot->binding.processors, reason);
    print(arg, label, text);
}

// Ranks of type Auto: the distances of all of them decide.
static void nearest_print(const chooser_t *chooser, const aq_ibv_choice_t *choice,
                          const slot_t *slots, size_t count, print_line_t *print, void *arg)
{
    aq_ibv_select_row_t rows[RANKS_SHOWN];
    uint8_t taken[RANKS_SHOWN];
    for (size_t i = 0; i < count; i++)
        rows[i] = slot_distances(chooser, &slots[i], choice);
    aq_ibv_select_ports(rows, count, AQ_IBV_SELECT_PORTS, taken);
    for (size_t i = 0; i < count; i++) {
        char port[AQ_IBV_NAME_BYTES + 32] = "no port", reason[128];
        const size_t nearest = aq_ibv_select_nearest(&rows[i], AQ_IBV_SELECT_PORTS);
        if (taken[i] != AQ_IBV_SELECT_FAR)
            snprintf(port, sizeof port, "port %u of %s", choice->ports->list[taken[i]].number,
                     choice->ports->list[taken[i]].device);
        snprintf(reason, sizeof reason,
                 nearest > 1 ? "one of %zu that are equally near, in turn" : "the nearest",
                 nearest);
        rank_print(i, &slots[i], port, nearest ? reason : "none is usable", print, arg);
    }
}

static void members_print(const chooser_t *chooser, const aq_ibv_choice_t *choice,
                          const slot_t *slots, size_t count, print_line_t *print, void *arg)
{
    for (size_t i = 0; i < count; i++) {
        char suffix[SUFFIX_BYTES], why[512], port[256], reason[SUFFIX_BYTES + 128];
        const char *filter = slot_filter(chooser, &slots[i], suffix, why, sizeof why);
        if (!filter) {
            print(arg, "ranks", why);
            return;
        }
        aq_ibv_choose(choice->ports, filter, choice->rails, choice->uses);
        port_name(choice, port, sizeof port);
        snprintf(reason, sizeof reason, "GASNET_IBV_PORTS_%s is %s", suffix,
                 aq_setting_member(aq_ibv_setting(IBV_SET_PORTS)->name, suffix)
                     ? "set"
                     : "not set, so GASNET_IBV_PORTS counts");
        rank_print(i, &slots[i], port, reason, print, arg);
    }
}

static size_t slots_fill(const chooser_t *chooser, slot_t *slots)
{
    const size_t count = aq_min(aq_size_processors(), RANKS_SHOWN);
    for (size_t i = 0; i < count; i++) {
        slots[i] = (slot_t){(uint32_t)i, (uint32_t)i, (uint32_t)i, {{0}, {0}}};
        if (chooser->distances)
            aq_ibv_distances_block(chooser->distances, i, count, &slots[i].binding);
    }
    return count;
}

void aq_ibv_report_ranks(const aq_ibv_ports_t *ports, size_t rails, print_line_t *print, void *arg)
{
    chooser_t chooser;
    slot_t slots[RANKS_SHOWN];
    char why[512] = "";
    const aq_ibv_choice_t choice = {.ports = ports,
                                    .uses = calloc(ports->count + 1, sizeof *choice.uses),
                                    .filter = aq_setting_text(aq_ibv_setting(IBV_SET_PORTS)),
                                    .rails = rails};
    if (!choice.uses || ports->count == 0) {
        free(choice.uses);
        return;
    }
    if (chooser_open(&chooser, why, sizeof why) != AQ_OK) {
        print(arg, "ranks", why);
    } else if (chooser.type.kind == AQ_IBV_SELECT_AUTO) {
        print(arg, "ranks",
              *why ? why : "each takes one port, the nearest (GASNET_IBV_PORTS_TYPE)");
        devices_print(ports, print, arg);
        aq_ibv_choose(ports, choice.filter, SIZE_MAX, choice.uses);
        nearest_print(&chooser, &choice, slots, slots_fill(&chooser, slots), print, arg);
    } else if (has_members(&chooser.type)) {
        members_print(&chooser, &choice, slots, slots_fill(&chooser, slots), print, arg);
    } else {
        print(arg, "ranks",
              "all take what is used above, wherever they run; GASNET_IBV_PORTS_TYPE=auto gives "
              "each the nearest port");
    }
    aq_ibv_distances_close(chooser.distances);
    free(choice.uses);
}

// ---- a common network ----

// "RoCE", "InfiniBand, subnet fe80:0000:0000:0000".
static const char *network_words(const aq_ibv_network_t *network, char text[64])
{
    const uint8_t *s = network->subnet;
    const char *name = aq_ibv_link_name((aq_ibv_link_t)network->link);
    if (network->link == AQ_IBV_LINK_INFINIBAND)
        snprintf(text, 64, "%s, subnet %02x%02x:%02x%02x:%02x%02x:%02x%02x", name, s[0], s[1], s[2],
                 s[3], s[4], s[5], s[6], s[7]);
    else
        snprintf(text, 64, "%s", name);
    return text;
}

// Connections by datagrams do not cross routers between subnets of InfiniBand.
static bool subnets_meet(const aq_ibv_network_t *mine, const aq_ibv_network_t *first)
{
    return mine->link != AQ_IBV_LINK_INFINIBAND || !(mine->datagrams | first->datagrams) ||
           memcmp(mine->subnet, first->subnet, sizeof mine->subnet) == 0;
}

bool aq_ibv_networks_meet(const aq_ibv_network_t *mine, uint32_t rank,
                          const aq_ibv_network_t *first, uint32_t first_rank, char *errbuf,
                          size_t errbuf_size)
{
    char here[64], there[64];
    const bool meet = mine->link == first->link && subnets_meet(mine, first);
    if (meet && (mine->xrc || !first->xrc))
        return true;
    if (meet) {
        snprintf(errbuf, errbuf_size,
                 "rank %u on host %s does not use extended reliable connections (XRC) with port %u "
                 "of %s, and rank %u on host %s does; unset GASNET_USE_XRC, or set it and "
                 "GASNET_IBV_CONNECT=ud on all hosts if all devices have XRC",
                 rank, mine->host, mine->port, mine->device, first_rank, first->host);
        return false;
    }
    snprintf(errbuf, errbuf_size,
             "rank %u on host %s uses port %u of %s (%s), and rank %u on host %s uses port %u of "
             "%s (%s), which are different networks; name ports of one network for both with "
             "GASNET_IBV_PORTS",
             rank, mine->host, mine->port, mine->device, network_words(mine, here), first_rank,
             first->host, first->port, first->device, network_words(first, there));
    return false;
}
