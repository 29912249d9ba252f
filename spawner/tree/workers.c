// SPDX-License-Identifier: BSD-3-Clause
// Workers: the launcher's part, and the worker's part.
#include "workers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../other/base/clock.h"
#include "../../other/base/log/log.h"
#include "../../other/base/settings/settings.h"
#include "../../other/base/size.h"
#include "../boot/boot_page.h"
#include "host_workers.h"
#include "node_listen.h"
#include "node_tree.h"

// ---- the launcher: arrival of workers ----

bool aq_workers_allocate(aq_spec_t *spec, uint32_t size)
{
    spec->hosts = calloc(size, sizeof *spec->hosts);
    spec->host_of_rank = calloc(size, sizeof *spec->host_of_rank);
    spec->machine_of_rank = calloc(size, sizeof *spec->machine_of_rank);
    if (spec->hosts == NULL || spec->host_of_rank == NULL || spec->machine_of_rank == NULL) {
        aq_log_error("no memory for a job of %" PRIu32 " ranks; start fewer", size);
        return false;
    }
    for (uint32_t r = 0; r < size; r++) {
        spec->hosts[r] = (aq_spec_host_t){"(unknown)", "", ""};
        spec->host_of_rank[r] = r;
    }
    spec->host_count = spec->size = size;
    return true;
}

static void log_unheard(const aq_node_t *node, int error)
{
    if (node->spec.rendezvous)
        aq_log_error("rank 0 cannot listen for the other processes at port %u of GASNET_MASTER "
                     "(%s); %s",
                     node->ports.low, strerror(error),
                     error == EADDRINUSE ? "name another port in all processes, or end the job "
                                           "that has this one"
                                         : "correct GASNET_MASTER");
    else
        aq_log_error(
            "the launcher cannot listen for the processes that %s%s starts (%s); %s",
            node->spec.starter != NULL ? "spawner " : "",
            node->spec.starter != NULL ? node->spec.starter : "GASNET_CSPAWN_CMD", strerror(error),
            error == EADDRINUSE ? "widen the range GASNET_SPAWN_PORTS" : "correct GASNET_MASTERIP");
}

bool aq_workers_open(aq_node_t *node, uint16_t *port)
{
    int error = aq_node_listen_all(node, port);
    if (error != 0) {
        log_unheard(node, error);
        return false;
    }
    for (uint32_t i = 0; i < node->child_count; i++) {
        node->children[i].state = AQ_CHILD_INVITED;
        node->children[i].deadline = UINT64_MAX;
    }
    return true;
}

void aq_workers_key(const aq_node_t *node, char text[2 * AQ_KEY_BYTES + 1])
{
    for (unsigned i = 0; i < AQ_KEY_BYTES; i++)
        snprintf(text + (size_t)2 * i, 3, "%02x", node->key[i]);
}

void aq_workers_option(const aq_node_t *node, uint16_t port, bool with_key,
                       char word[AQ_WORKER_WORD])
{
    char key[2 * AQ_KEY_BYTES + 1] = "-", own[AQ_REMOTE_TEXT - 64] = "";
    if (with_key)
        aq_workers_key(node, key);
    if (node->master_address[0] != '\0') {
        snprintf(word, AQ_WORKER_WORD, AQ_WORKER_OPTION "%u/%s/%s", port, key,
                 node->master_address);
        return;
    }
    aq_net_own_addresses(own, sizeof own);
    snprintf(word, AQ_WORKER_WORD, AQ_WORKER_OPTION "%u/%s/%s%s127.0.0.1", port, key, own,
             own[0] != '\0' ? "," : "");
}

static const aq_child_t *find_number(const aq_node_t *node, const aq_child_t *self)
{
    for (uint32_t i = 0; i < node->child_count; i++) {
        const aq_child_t *child = &node->children[i];
        if (child != self && child->host[0] != '\0' && child->number == self->number)
            return child;
    }
    return NULL;
}

// A process of a rendezvous has chosen its rank itself, so a wrong choice is known at once.
static bool check_choice(const aq_node_t *node, const aq_child_t *child, uint32_t size)
{
    const aq_child_t *other = find_number(node, child);
    if (size != node->spec.size)
        aq_log_error("GASNET_SIZE is %" PRIu32 " in the process of rank %" PRIu32 " on host %s "
                     "(%s), but %" PRIu32 " in that of rank 0; set the same number in all",
                     size, child->number, child->host, child->seen, node->spec.size);
    else if (child->number >= size)
        aq_log_error("GASNET_RANK is %" PRIu32 " in the process on host %s (%s), but the job has "
                     "%" PRIu32 " ranks; give each process another number from 0 to %" PRIu32,
                     child->number, child->host, child->seen, size, size - 1);
    else if (other != NULL)
        aq_log_error("GASNET_RANK is %" PRIu32 " in two processes, on host %s (%s) and on host %s "
                     "(%s); give each process another number from 0 to %" PRIu32,
                     child->number, other->host, other->seen, child->host, child->seen, size - 1);
    else
        return true;
    return false;
}

// The frame of another version was not read further than its version, so there is no rank.
static bool check_version(const aq_child_t *child, const char *version)
{
    char own[AQ_ADDRESS_TEXT];
    if (strcmp(version, PACKAGE_VERSION) == 0)
        return true;
    aq_net_local(child->link.fd, own);
    aq_log_error("the process at %s has version %.40s of Aqueduct, and that of rank 0, at %s, has "
                 "version %s; install the same version for all processes of a job",
                 child->seen, version, own, PACKAGE_VERSION);
    return false;
}

static aq_child_t *find_leader(const aq_node_t *node, const aq_child_t *self)
{
    for (uint32_t i = 0; i < node->child_count; i++) {
        aq_child_t *child = &node->children[i];
        if (child != self && child->state == AQ_CHILD_UP && child->attach_socket[0] != '\0' &&
            child->leader == child->number && child->members < AQ_MEMBERS_MAX &&
            strcmp(child->machine, self->machine) == 0 && strcmp(child->space, self->space) == 0)
            return child;
    }
    return NULL;
}

// The first process of a host to call leads there; later ones become its members.
static void choose_leader(const aq_node_t *node, aq_child_t *child)
{
    aq_child_t *leader = find_leader(node, child);
    if (leader == NULL)
        return;
    leader->members++;
    child->leader = leader->number;
    aq_write_node_text(&child->link.out, AQ_MSG_ATTACH,
                       &(aq_node_text_t){leader->number, leader->attach_socket});
}

static void describe_child(aq_child_t *child, const aq_worker_t *worker)
{
    snprintf(child->host, sizeof child->host, "%s", *worker->host ? worker->host : "?");
    snprintf(child->machine, sizeof child->machine, "%s", worker->machine);
    snprintf(child->space, sizeof child->space, "%s", worker->space);
    snprintf(child->attach_socket, sizeof child->attach_socket, "%s", worker->attach_socket);
    child->number = child->leader = worker->rank;
}

static bool take_worker(aq_node_t *node, aq_child_t *child, const aq_frame_t *frame)
{
    aq_worker_t worker;
    if (child->host[0] != '\0' || !aq_read_worker(frame->payload, &worker))
        return false;
    if (node->spec.starter != NULL) {
        node->unfit = !aq_host_workers_take(node, child, worker.host) || node->unfit;
        return true;
    }
    describe_child(child, &worker);
    if (!node->spec.rendezvous || node->unfit)
        return true;
    node->unfit = !check_version(child, worker.version) || !check_choice(node, child, worker.size);
    if (!node->unfit)
        choose_leader(node, child);
    return true;
}

// Closes the link of a member, which the leader has confirmed: the member has a second link, to the
// leader, and so does not take the end of this one for a loss.
static bool take_member(const aq_node_t *node, const aq_child_t *leader, const aq_frame_t *frame)
{
    uint32_t rank;
    if (!aq_read_number(frame->payload, &rank) || leader->host[0] == '\0')
        return false;
    for (uint32_t i = 0; i < node->child_count; i++) {
        aq_child_t *child = &node->children[i];
        if (child == leader || child->host[0] == '\0' || child->number != rank ||
            child->leader != leader->number)
            continue; // two processes may have chosen one rank
        aq_link_close(&child->link);
        child->state = AQ_CHILD_GONE;
    }
    return true;
}

bool aq_workers_take(aq_node_t *node, aq_child_t *child, const aq_frame_t *frame)
{
    if (!node->spec.workers)
        return false;
    return frame->type == AQ_MSG_MEMBER ? take_member(node, child, frame)
                                        : take_worker(node, child, frame);
}

uint32_t aq_workers_arrived(const aq_node_t *node)
{
    uint32_t here = 0;
    for (uint32_t i = 0; i < node->child_count; i++)
        here += node->children[i].host[0] != '\0';
    return here;
}

bool aq_workers_complete(const aq_node_t *node)
{
    for (uint32_t i = 0; i < node->child_count; i++) {
        const aq_child_t *child = &node->children[i];
        if (child->host[0] == '\0' ||
            (child->leader != child->number && child->state != AQ_CHILD_GONE))
            return false;
    }
    return true;
}

// Writes the ranks without a process, as far as they fit: "1-3, 7". there: by rank.
static void name_absent(const bool *there, uint32_t size, char *text, size_t capacity)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t r = 0; r < size && used + 32 < capacity; r++) {
        uint32_t first = r;
        while (r < size && !there[r])
            r++;
        if (r == first)
            continue;
        used += (size_t)snprintf(text + used, capacity - used, "%s%" PRIu32, used > 0 ? ", " : "",
                                 first);
        if (r > first + 1)
            used += (size_t)snprintf(text + used, capacity - used, "-%" PRIu32, r - 1);
    }
    if (used + 32 >= capacity)
        snprintf(text + used, capacity - used, " and others");
}

void aq_workers_name_absent(const aq_node_t *node, char *text, size_t capacity)
{
    uint32_t size = node->spec.size;
    bool *there = calloc(size, sizeof *there);
    for (uint32_t i = 0; there != NULL && i < node->child_count; i++)
        if (node->children[i].host[0] != '\0')
            there[node->children[i].number] = true;
    snprintf(text, capacity, "some");
    if (there != NULL)
        name_absent(there, size, text, capacity);
    free(there);
}

// ---- the launcher: numbering ----

static int compare_machines(const void *a, const void *b)
{
    const aq_child_t *one = a, *other = b;
    int order = strcmp(one->host, other->host);
    return order != 0 ? order : strcmp(one->machine, other->machine);
}

static int compare_numbers(const void *a, const void *b)
{
    const aq_child_t *one = a, *other = b;
    return one->number < other->number ? -1 : one->number > other->number;
}

// After sorting by number, worker i must have number i; otherwise the numbers are wrong.
static bool check_numbers(const aq_node_t *node)
{
    const aq_child_t *children = node->children, *last = &children[node->child_count - 1];
    uint32_t size = node->child_count, first = 0;
    while (first < size && children[first].number == first)
        first++;
    if (first == size)
        return true;
    if (last->number == AQ_NO_WORKER_RANK)
        aq_log_error("GASNET_WORKER_RANK is set in some processes, and not in that on host %s; set "
                     "it in each, or in none",
                     last->host);
    else if (last->number == AQ_BAD_WORKER_RANK)
        aq_log_error("GASNET_WORKER_RANK in the process on host %s is neither the number of a rank "
                     "nor the name of a variable that has one there; correct it, or unset it",
                     last->host);
    else if (last->number >= size)
        aq_log_error("GASNET_WORKER_RANK is %" PRIu32 " in the process on host %s, but the job has "
                     "%" PRIu32 " ranks; give each another number from 0 to %" PRIu32,
                     last->number, last->host, size, size - 1);
    else
        aq_log_error("GASNET_WORKER_RANK is %" PRIu32 " in no process, so another number is there "
                     "twice; give each another number from 0 to %" PRIu32,
                     first, size - 1);
    return false;
}

static bool sort_workers(aq_node_t *node)
{
    bool numbered = false;
    for (uint32_t i = 0; i < node->child_count; i++)
        numbered = numbered || node->children[i].number != AQ_NO_WORKER_RANK;
    qsort(node->children, node->child_count, sizeof *node->children,
          numbered ? compare_numbers : compare_machines);
    return !numbered || check_numbers(node);
}

// Numbers machines by their first rank. Ranks of one machine are usually adjacent.
static void number_machines(const aq_node_t *node)
{
    const aq_child_t *children = node->children;
    uint32_t *machines = node->spec.machine_of_rank, count = 0;
    for (uint32_t r = 0; r < node->child_count; r++) {
        uint32_t same = r;
        while (same > 0 && strcmp(children[same - 1].machine, children[r].machine) != 0)
            same--;
        machines[r] = same > 0 ? machines[same - 1] : count++;
    }
}

// Each child leads a host: itself and its members. The children are sorted by rank.
static void number_hosts(aq_node_t *node)
{
    aq_spec_t *spec = &node->spec;
    uint32_t hosts = 0;
    for (uint32_t r = 0; r < spec->size; r++)
        if (node->children[r].leader == r)
            spec->host_of_rank[r] = hosts++;
    for (uint32_t r = 0; r < spec->size; r++)
        spec->host_of_rank[r] = spec->host_of_rank[node->children[r].leader];
    for (uint32_t r = 0; r < spec->size; r++)
        if (node->children[r].leader == r)
            node->children[spec->host_of_rank[r]] = node->children[r];
    node->child_count = spec->host_count = hosts;
}

static void send_job(aq_node_t *node, aq_child_t *child, uint32_t host)
{
    child->low = host;
    child->high = host + 1;
    child->deadline = aq_clock_ns() + (uint64_t)node->spec.tree.timeout_ms * 1000000;
    aq_node_send_job(node, child);
}

bool aq_workers_number(aq_node_t *node)
{
    if (node->spec.starter != NULL)
        return aq_host_workers_number(node);
    if (!sort_workers(node))
        return false;
    number_machines(node);
    if (node->spec.rendezvous)
        number_hosts(node);
    for (uint32_t h = 0; h < node->child_count; h++)
        node->spec.hosts[h].name = node->children[h].host;
    aq_bytes_free(&node->spec_bytes);
    node->spec_bytes = (aq_bytes_t){0};
    aq_write_spec(&node->spec_bytes, &node->spec);
    for (uint32_t h = 0; h < node->child_count; h++)
        send_job(node, &node->children[h], h);
    return true;
}

// ---- a worker ----

static bool read_key(const char *text, uint8_t key[AQ_KEY_BYTES])
{
    for (unsigned i = 0; i < AQ_KEY_BYTES; i++) {
        unsigned byte;
        if (sscanf(text + (size_t)2 * i, "%2x", &byte) != 1)
            return false;
        key[i] = (uint8_t)byte;
    }
    return text[(size_t)2 * AQ_KEY_BYTES] == '\0';
}

static char *cut_at(char *text)
{
    char *end = strchr(text, '/');
    if (end != NULL)
        *end++ = '\0';
    return end;
}

bool aq_worker_read(char *word, aq_worker_way_t *out)
{
    char *key = cut_at(word);
    out->port = (uint16_t)strtoul(word, NULL, 10);
    out->addresses = key != NULL ? cut_at(key) : NULL;
    if (out->addresses == NULL) {
        aq_log_error("this program is started by the command of GASNET_CSPAWN_CMD, as %%C, or by a "
                     "boot module; start gasnetrun itself");
        return false;
    }
    out->host = cut_at(out->addresses);
    const char *text = strcmp(key, "-") != 0 ? key : getenv(AQ_WORKER_KEY);
    out->has_key =
        text != NULL && strlen(text) == (size_t)2 * AQ_KEY_BYTES && read_key(text, out->key);
    if (text == key)
        memset(key, '*', strlen(key)); // hides the key from ps
    (void)unsetenv(AQ_WORKER_KEY);
    return true;
}

uint32_t aq_worker_rank(const char *setting)
{
    const char *text = setting;
    int64_t rank;
    if (*setting == '\0')
        return AQ_NO_WORKER_RANK;
    if (*setting < '0' || *setting > '9')
        text = getenv(setting);
    if (text != NULL && aq_size_parse_int(text, &rank) && rank >= 0 && rank < AQ_JOB_RANKS_MAX)
        return (uint32_t)rank;
    return AQ_BAD_WORKER_RANK;
}

// Returns the name of the host that the option means; "?": its variable is not set.
static const char *name_host(const char *host)
{
    if (host == NULL || strcmp(host, "=") == 0)
        return aq_log_host();
    if (*host != '@')
        return host;
    const char *name = getenv(host + 1);
    return name != NULL && *name != '\0' ? name : "?";
}

void aq_worker_introduce(const char *host, aq_worker_t *out)
{
    static char machine[sizeof((aq_child_t *)NULL)->machine];
    aq_page_machine(machine, sizeof machine);
    out->version = PACKAGE_VERSION;
    out->machine = machine;
    out->space = out->attach_socket = "";
    out->host = name_host(host);
    out->rank = aq_worker_rank(aq_settings_text(AQ_SET_WORKER_RANK));
    out->size = 0;
}
