// SPDX-License-Identifier: BSD-3-Clause
// Matches a worker's name to the list of hosts, and sends the job. workers.c calls it in place of
// its own numbering if a boot module starts the workers.
#include "host_workers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../other/base/clock.h"
#include "../../other/base/log/log.h"
#include "node_tree.h"

// ---- which host ----

// Whether two names are equal, or one is the other without its domain.
static bool is_same_name(const char *a, const char *b)
{
    const size_t length = strcspn(a, ".");
    if (strcmp(a, b) == 0)
        return true;
    return strcspn(b, ".") == length && strncmp(a, b, length) == 0 &&
           (a[length] == '\0' || b[length] == '\0');
}

// Returns the number of the host, host_count if there is none. text: see aq_worker_t.
static uint32_t find_host(const aq_spec_t *spec, const char *text)
{
    uint32_t host = 0;
    if (text[0] == '+') {
        char *end;
        const unsigned long number = strtoul(text + 1, &end, 10);
        return *end == '\0' && number < spec->host_count ? (uint32_t)number : spec->host_count;
    }
    while (host < spec->host_count && !is_same_name(spec->hosts[host].name, text))
        host++;
    return host;
}

static const aq_child_t *find_child(const aq_node_t *node, uint32_t host)
{
    for (uint32_t i = 0; i < node->child_count; i++)
        if (node->children[i].host[0] != '\0' && node->children[i].number == host)
            return &node->children[i];
    return NULL;
}

bool aq_host_workers_take(const aq_node_t *node, aq_child_t *child, const char *host)
{
    const aq_spec_t *spec = &node->spec;
    const uint32_t number = find_host(spec, host);
    const aq_child_t *other = find_child(node, number);
    if (number == spec->host_count) {
        aq_log_error("a process that spawner %s started at %s calls its host '%.64s', which is not "
                     "in the list of hosts; correct the list, or the names of the hosts",
                     spec->starter, child->seen, host);
        return false;
    }
    if (other != NULL) {
        aq_log_error("spawner %s started two processes on host %s, at %s and at %s; it has to "
                     "start one on each host",
                     spec->starter, other->host, other->seen, child->seen);
        return false;
    }
    child->number = child->leader = number;
    snprintf(child->host, sizeof child->host, "%s", spec->hosts[number].name);
    return true;
}

void aq_host_workers_name_absent(const aq_node_t *node, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t h = 0; h < node->spec.host_count; h++) {
        const char *name = node->spec.hosts[h].name;
        if (find_child(node, h) != NULL)
            continue;
        if (used + strlen(name) + 16 > size) {
            snprintf(text + used, size - used, " and others");
            return;
        }
        used += (size_t)snprintf(text + used, size - used, "%s%s", used > 0 ? ", " : "", name);
    }
}

// ---- the job ----

static int compare_hosts(const void *a, const void *b)
{
    const aq_child_t *one = a, *other = b;
    return one->number < other->number ? -1 : one->number > other->number;
}

static void send_job(aq_node_t *node, aq_child_t *child)
{
    child->deadline = aq_clock_ns() + (uint64_t)node->spec.tree.timeout_ms * 1000000;
    aq_node_send_job(node, child);
}

// To a helper the job is one of spawner ssh, without hosts behind it.
bool aq_host_workers_number(aq_node_t *node)
{
    aq_spec_t spec = node->spec;
    spec.workers = false;
    aq_bytes_free(&node->spec_bytes);
    node->spec_bytes = (aq_bytes_t){0};
    aq_write_spec(&node->spec_bytes, &spec);
    if (node->spec_bytes.failed) {
        aq_log_error("no memory for a job on %" PRIu32 " hosts; start it on fewer",
                     spec.host_count);
        return false;
    }
    qsort(node->children, node->child_count, sizeof *node->children, compare_hosts);
    for (uint32_t h = 0; h < node->child_count; h++) {
        node->children[h].low = h;
        node->children[h].high = h + 1;
        send_job(node, &node->children[h]);
    }
    return true;
}
