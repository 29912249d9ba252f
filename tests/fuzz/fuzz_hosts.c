// SPDX-License-Identifier: BSD-3-Clause
// Fuzzer of the readers of host lists and of GASNET_MASTER. Invariants: no row has a name or a user
// that a remote shell could take for an option, and each rank is placed on a host of the list; a
// place to meet has a host and a port.
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../spawner/hosts/hosts.h"
#include "../../spawner/rendezvous/rendezvous.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_rows(const aq_hosts_t *hosts)
{
    for (size_t i = 0; i < hosts->count; i++) {
        const aq_host_t *row = &hosts->rows[i];
        if (!aq_hosts_legal_name(row->name) || row->name[0] == '-')
            abort();
        if (row->user != NULL && (!aq_hosts_legal_user(row->user) || row->user[0] == '-'))
            abort();
        if (row->prefix != NULL && row->prefix[0] != '/')
            abort();
    }
}

static void check_placement(const aq_hosts_t *hosts)
{
    char fault[256];
    bool overfull;
    uint32_t row[40];
    const aq_placement_t wanted = {.size = 40, .cyclic = hosts->count % 2};
    if (hosts->count == 0 || !aq_hosts_place(hosts, &wanted, row, &overfull, fault, sizeof fault))
        return;
    for (uint32_t r = 0; r < wanted.size; r++)
        if (row[r] >= hosts->count || hosts->rows[row[r]].idle)
            abort();
}

// Checks the result of a reader: it has either succeeded or given a fault.
static void check_result(aq_hosts_t *hosts, bool ok, const char *fault)
{
    if (ok == (fault[0] != '\0'))
        abort();
    check_rows(hosts);
    if (ok)
        check_placement(hosts);
    aq_hosts_free(hosts);
}

static void split_place(const char *text)
{
    char host[AQ_MASTER_HOST];
    uint16_t port = 0;
    if (aq_rendezvous_split(text, host, &port) && (host[0] == '\0' || port == 0))
        abort();
}

typedef bool reader_t(aq_hosts_t *hosts, const char *what, const char *text, char *fault,
                      size_t room);

static bool read_slurm(aq_hosts_t *hosts, const char *what, const char *text, char *fault,
                       size_t room)
{
    (void)what;
    const char *slots = strchr(text, '\n');
    return aq_hosts_read_slurm(hosts, text, slots, fault, room);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static reader_t *const readers[] = {aq_hosts_read_list, aq_hosts_read_pairs,
                                        aq_hosts_read_repeats, aq_hosts_read_sge, read_slurm};
    char fault[256] = "";
    aq_hosts_t hosts = {0};
    char *text = malloc(size + 1);
    if (text == NULL)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    bool ok = aq_hosts_read_text(&hosts, "file", text, size, fault, sizeof fault);
    check_result(&hosts, ok, fault);
    for (size_t i = 0; i < sizeof readers / sizeof readers[0]; i++) {
        fault[0] = '\0';
        ok = readers[i](&hosts, "text", text, fault, sizeof fault);
        check_result(&hosts, ok, fault);
    }
    split_place(text);
    free(text);
    return 0;
}
