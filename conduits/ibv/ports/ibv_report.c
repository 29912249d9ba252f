// SPDX-License-Identifier: BSD-3-Clause
// What gasnet_info prints about the verbs devices of this host.
#include "ibv_affinity.h"
#include "ibv_ports.h"
#include "ibv_filter.h"
#include "ibv_select.h"
#include "ibv_rail_ports.h"
#include "../verbs/ibv_profile.h"
#include "../verbs/ibv_settings.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../other/base/settings/settings.h"

typedef struct survey {
    aq_ibv_ports_t ports;
    aq_ibv_use_t *uses;
    size_t used;
} survey_t;

static void survey_end(survey_t *survey)
{
    free(survey->uses);
    aq_ibv_ports_free(&survey->ports);
}

// Takes away the ports that cannot be used beside the first. With type Auto each process has one.
static void survey_rails(survey_t *survey, const char *filter)
{
    aq_ibv_rail_ports_t rails;
    aq_ibv_select_type_t type;
    char why[512];
    const aq_ibv_choice_t choice = {
        .ports = &survey->ports, .uses = survey->uses, .filter = filter};
    if (!aq_ibv_select_type_read(aq_setting_text(aq_ibv_setting(IBV_SET_PORTS_TYPE)), &type, why,
                                 sizeof why) ||
        type.kind == AQ_IBV_SELECT_AUTO)
        return;
    (void)aq_ibv_rail_ports_choose(&rails, &choice, why, sizeof why);
}

// False: errbuf says what is wrong with the filter, or that memory ran out.
static bool survey_begin(survey_t *survey, char *errbuf, size_t errbuf_size)
{
    const char *filter = aq_setting_text(aq_ibv_setting(IBV_SET_PORTS));
    *survey = (survey_t){0};
    if (!aq_ibv_filter_check(filter, errbuf, errbuf_size))
        return false;
    if (aq_ibv_ports_read(&survey->ports) == AQ_OK)
        survey->uses = calloc(survey->ports.count + 1, sizeof *survey->uses);
    if (survey->uses == NULL) {
        snprintf(errbuf, errbuf_size,
                 "there is no memory to list the devices; free some on this host");
        survey_end(survey);
        return false;
    }
    survey->used = aq_ibv_choose(&survey->ports, filter, aq_ibv_ports_wanted(), survey->uses);
    survey_rails(survey, filter);
    return true;
}

// "port 1 of mlx5_0, InfiniBand; port 1 of mlx5_1, InfiniBand".
static void used_name(const survey_t *survey, char *text, size_t size)
{
    size_t at = 0;
    for (size_t i = 0; i < survey->ports.count; i++) {
        const aq_ibv_port_t *port = &survey->ports.list[i];
        if (survey->uses[i] == AQ_IBV_USED && at < size)
            at += (size_t)snprintf(text + at, size - at, "%sport %u of %s, %s", at ? "; " : "",
                                   port->number, port->device, aq_ibv_link_name(port->link));
    }
}

bool aq_ibv_usable(char *errbuf, size_t errbuf_size)
{
    survey_t survey;
    if (!survey_begin(&survey, errbuf, errbuf_size))
        return false;
    size_t used = survey.used;
    if (used == 0)
        aq_ibv_explain(&survey.ports, aq_setting_text(aq_ibv_setting(IBV_SET_PORTS)), survey.uses,
                       errbuf, errbuf_size);
    else
        used_name(&survey, errbuf, errbuf_size);
    survey_end(&survey);
    return used > 0;
}

// ---- the lines ----

typedef void print_line_t(void *arg, const char *label, const char *text);

static void gids_print(const aq_ibv_port_t *port, bool used, print_line_t *print, void *arg)
{
    for (size_t i = 0; i < port->gid_count; i++) {
        const aq_ibv_gid_t *gid = &port->gids[i];
        char address[INET6_ADDRSTRLEN], text[128];
        inet_ntop(AF_INET6, gid->address, address, sizeof address);
        snprintf(text, sizeof text, "GID %u: %s, %s%s", gid->index, address,
                 aq_ibv_gid_type_name(port, gid),
                 used && gid == aq_ibv_best_gid(port) ? ", used" : "");
        print(arg, "", text);
    }
}

static void port_print(const aq_ibv_port_t *port, aq_ibv_use_t use, print_line_t *print, void *arg)
{
    char label[AQ_IBV_NAME_BYTES + 16], text[256];
    const char *words = aq_ibv_use_words(port, use);
    if (port->number == 0)
        snprintf(label, sizeof label, "%s", port->device);
    else
        snprintf(label, sizeof label, "%s port %u", port->device, port->number);
    snprintf(text, sizeof text, "%s%s", words ? "not used: it " : "used", words ? words : "");
    print(arg, label, text);
    if (port->number == 0)
        return;
    snprintf(text, sizeof text, "%s, %s, MTU %u, LID %u, messages of %llu bytes",
             aq_ibv_link_name(port->link), aq_ibv_port_state_name(port->state), port->mtu,
             port->lid, (unsigned long long)port->message_bytes);
    print(arg, "", text);
    gids_print(port, use == AQ_IBV_USED, print, arg);
}

void aq_ibv_abilities_words(const aq_ibv_device_limits_t *limits, char *text, size_t size)
{
    snprintf(text, size, "on-demand paging: %s; XRC: %s; DC: %s",
             limits->pages_all ? "of all memory"
             : limits->pages   ? "of registered memory"
                               : "no",
             limits->shared_pairs ? "yes" : "no", limits->dynamic ? "yes" : "no");
}

static void limits_print(const aq_ibv_port_t *port, print_line_t *print, void *arg)
{
    char label[AQ_IBV_NAME_BYTES + 16], text[256];
    const aq_ibv_device_limits_t *limits = &port->limits;
    snprintf(label, sizeof label, "%s limits", port->device);
    snprintf(text, sizeof text,
             "%u memory regions of %llu bytes, %u queue pairs of %u requests with %u pieces",
             limits->regions, (unsigned long long)limits->region_bytes, limits->queue_pairs,
             limits->requests, limits->pieces);
    print(arg, label, text);
    snprintf(text, sizeof text,
             "%u completions in a queue, %u receives in a shared one, %u RDMA reads out and %u in, "
             "atomics: %s",
             limits->completions, limits->shared_requests, limits->reads_out, limits->reads_in,
             limits->atomics_coherent ? "coherent with the processor's"
             : limits->atomics        ? "among devices only"
                                      : "no");
    print(arg, "", text);
    aq_ibv_abilities_words(limits, text, sizeof text);
    print(arg, "", text);
}

// How connections would be made. Only a job knows whether all of its ranks have IP addresses.
static const char *connect_words(void)
{
    const char *choice = aq_setting_text(aq_ibv_setting(IBV_SET_CONNECT));
    return strcmp(choice, "ud") == 0
               ? "made by datagrams, as GASNET_IBV_CONNECT=ud says; ports need no IP addresses"
           : strcmp(choice, "rdmacm") == 0
               ? "made by librdmacm, as GASNET_IBV_CONNECT=rdmacm says; ports need IP addresses"
               : "made by librdmacm, or by datagrams if a port of the job has no IP address "
                 "(GASNET_IBV_CONNECT)";
}

void aq_ibv_report(print_line_t *print, void *arg)
{
    survey_t survey;
    char why[512];
    print(arg, "protection",
          "connections prove the job's key; verbs devices do not protect what follows, so their "
          "network has to be trusted");
    print(arg, "connections", connect_words());
    if (!survey_begin(&survey, why, sizeof why)) {
        print(arg, "ports", why);
        return;
    }
    if (survey.ports.count == 0)
        print(arg, "ports", "there is no verbs device");
    for (size_t i = 0; i < survey.ports.count; i++) {
        const aq_ibv_port_t *port = &survey.ports.list[i];
        port_print(port, survey.uses[i], print, arg);
        if (port->number == 1)
            limits_print(port, print, arg);
    }
    aq_ibv_report_ranks(&survey.ports, aq_ibv_ports_wanted(), print, arg);
    survey_end(&survey);
}
