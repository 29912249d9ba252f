// SPDX-License-Identifier: BSD-3-Clause
// The table of operations of the ofi conduit: opening, closing and reports.
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../core/aqueduct.h"
#include "../../other/base/clock.h"
#include "../../other/base/system/dispositions.h"
#include "../../other/base/log/log.h"
#include "../../other/base/minmax.h"
#include "../../other/base/size.h"
#include "rma/ofi_atomic.h"
#include "rma/ofi_pins.h"
#include "fabric/ofi_profile.h"
#include "rma/ofi_rma.h"

#define DRAIN_NS UINT64_C(100000000)     // longest wait at the end for outgoing messages
#define DRAIN_POLLS 20                   // at least, since providers keep what they have accepted
#define SOFTWARE_COALESCE ((size_t)4096) // longest put in a packet with a provider in software

// ---- opening ----

// Numbers that only ranks of this job know: that of its packets, so that messages that have gone
// astray are dropped, and the key of the first region, which is all that a provider over a plain
// network asks for.
static void job_numbers(const aq_boot_t *boot, uint64_t numbers[2])
{
    static const char label[] = "aqueduct conduit ofi, version 1";
    crypto_generichash((unsigned char *)numbers, 2 * sizeof *numbers, (const unsigned char *)label,
                       sizeof label, boot->key, sizeof boot->key);
}

static uint32_t peers_of(const aq_boot_t *boot)
{
    return aq_max(boot->size, 2u) - 1;
}

// All ranks use the settings of rank 0: a credit is room in an inbox at the other end.
static aq_status_t limits_agree(ofi_conduit_t *ofi)
{
    char why[256];
    aq_boot_t *boot = ofi->base.env->boot;
    const ofi_traits_t *traits = &ofi->fabric.traits;
    const unsigned credits = (unsigned)aq_setting_int(aq_ofi_setting(OFI_SET_CREDITS_PP));
    const bool fits = ofi_limits_set(traits, peers_of(boot), credits, &ofi->limits);
    snprintf(why, sizeof why,
             "provider %.60s takes %zu receive buffers, and a job of %u ranks needs one for each "
             "rank: start fewer ranks, or choose another provider with GASNET_OFI_PROVIDER",
             ofi->fabric.info->fabric_attr->prov_name, traits->receives_most, boot->size);
    aq_status_t status = aq_boot_agree(boot, fits ? AQ_OK : AQ_ERR_RESOURCE, why);
    if (status == AQ_OK)
        status = boot->ops->broadcast(boot, &ofi->limits, sizeof ofi->limits, 0);
    aq_credit_pool_start(&ofi->pool, ofi->limits.total);
    return status;
}

static unsigned receives_of(const ofi_conduit_t *ofi)
{
    return ofi_receives_needed(&ofi->limits, ofi->base.env->size - 1);
}

// The longest put that shares a packet with others.
static size_t coalesce_of(const ofi_conduit_t *ofi)
{
    const int64_t setting = aq_setting_int(aq_ofi_setting(OFI_SET_COALESCE));
    const size_t most = ofi_payload_most(ofi->packet_bytes, OFI_PUT);
    const size_t chosen = setting >= 0                     ? (size_t)setting
                          : ofi->fabric.traits.in_software ? SOFTWARE_COALESCE
                                                           : 0;
    return aq_min(chosen, most);
}

static void payloads_set(ofi_conduit_t *ofi)
{
    ofi->packet_bytes = ofi_packet_most(ofi->fabric.traits.message_most, receives_of(ofi));
    ofi->base.max_medium = ofi_payload_most(ofi->packet_bytes, AQ_AM_MEDIUM);
    ofi->base.max_long = ofi_payload_most(ofi->packet_bytes, AQ_AM_LONG);
    ofi->base.max_long_unmapped = ofi->base.max_long;
    ofi->coalesce = coalesce_of(ofi);
    ofi->sends_most = (unsigned)aq_max(ofi->fabric.traits.sends_most / 2, (size_t)1);
}

// With a processor for each rank a process that waits keeps polling: most providers serve the puts
// and gets of peers in polls only, and a descriptor to sleep on costs a system call for each
// completion. GASNET_WAITMODE has precedence if it makes ranks sleep.
static ofi_wait_t wait_choose(const aq_boot_t *boot)
{
    const char *setting = aq_setting_text(aq_ofi_setting(OFI_SET_WAIT));
    const unsigned processors = boot->processors ? boot->processors : aq_size_processors();
    unsigned here = 0;
    if (strcmp(setting, "auto") != 0)
        return strcmp(setting, "fd") == 0    ? OFI_WAIT_FD
               : strcmp(setting, "nap") == 0 ? OFI_WAIT_NAP
                                             : OFI_WAIT_SPIN;
    for (uint32_t r = 0; r < boot->size; r++)
        here += boot->host_of_rank[r] == boot->host_of_rank[boot->rank];
    return here > processors || strstr(aq_settings_text(AQ_SET_WAITMODE), "block") ? OFI_WAIT_FD
                                                                                   : OFI_WAIT_SPIN;
}

// Provider shm names the file of an endpoint by the number of the process, and a process that was
// killed leaves its file behind, in the way of a later process with that number. So the endpoint
// gets a name of this job. False: no memory.
static bool endpoint_name(const ofi_conduit_t *ofi, struct fi_info *info)
{
    char *name;
    const int length = strcmp(info->fabric_attr->prov_name, "shm") != 0
                           ? 0
                           : asprintf(&name, "fi_shm://aqueduct-%016lx-%u", (unsigned long)ofi->job,
                                      ofi->base.env->rank);
    if (length <= 0)
        return length == 0;
    free(info->src_addr);
    info->src_addr = name;
    info->src_addrlen = (size_t)length + 1;
    return true;
}

static aq_status_t provider_open(ofi_conduit_t *ofi)
{
    char why[1024];
    struct fi_info *info;
    aq_boot_t *boot = ofi->base.env->boot;
    const uint32_t peers = peers_of(boot);
    aq_status_t status = ofi_choice_make(
        &(ofi_job_t){aq_boot_is_on_one_host(boot), boot->peer, ofi_receives_wanted(peers)}, &info,
        why, sizeof why);
    if (status == AQ_OK && !endpoint_name(ofi, info)) {
        snprintf(why, sizeof why, "there is no memory for the name of the endpoint");
        status = AQ_ERR_RESOURCE;
    }
    status = aq_boot_agree(boot, status, why);
    if (status == AQ_OK)
        status = ofi_fabric_open(&ofi->fabric, info, peers + 4 * OFI_REQUESTS_MAX, OFI_PACKET_BYTES,
                                 (ofi->sleeping.wait = wait_choose(boot)) == OFI_WAIT_FD);
    return status;
}

// Some providers install handlers of signals, in the place of those that end the job.
static aq_status_t provider_open_quietly(ofi_conduit_t *ofi)
{
    aq_dispositions_t kept;
    aq_dispositions_keep(&kept);
    aq_status_t status = provider_open(ofi);
    aq_dispositions_restore(&kept);
    if (ofi->sleeping.wait == OFI_WAIT_SPIN)
        ofi->base.capabilities |= AQ_NEEDS_POLLS;
    if (status == AQ_OK && ofi->fabric.traits.in_software &&
        ofi->fabric.info->domain_attr->mr_key_size >= sizeof ofi->first_key)
        ofi->fabric.next_key = ofi->first_key;
    return status;
}

// Room for the requests of all peers, and for the answers to those of this process.
static aq_status_t inboxes_open(ofi_conduit_t *ofi)
{
    payloads_set(ofi);
    return ofi_buffers_open(&ofi->buffers, &ofi->fabric, ofi->packet_bytes, receives_of(ofi));
}

static aq_status_t parts_open(ofi_conduit_t *ofi)
{
    aq_status_t status = provider_open_quietly(ofi);
    if (status == AQ_OK)
        status = limits_agree(ofi);
    if (status == AQ_OK)
        status = ofi_sleep_open(ofi);
    if (status == AQ_OK)
        status = inboxes_open(ofi);
    if (status == AQ_OK)
        status = ofi_links_open(ofi);
    return status == AQ_OK ? ofi_rma_open(ofi) : status;
}

__attribute__((visibility("default"))) extern const aq_conduit_ops_t aq_conduit_module;

static aq_status_t ofi_open(const aq_conduit_env_t *env, aq_conduit_t **out)
{
    uint64_t numbers[2];
    aq_threads = env->threads; // the module has a copy
    ofi_conduit_t *ofi = calloc(1, sizeof *ofi);
    if (!ofi) {
        aq_log_error("out of memory for the ofi conduit (%zu bytes)", sizeof *ofi);
        return AQ_ERR_RESOURCE;
    }
    ofi->base = (aq_conduit_t){.ops = &aq_conduit_module, .env = env};
    ofi->losses.env = env;
    job_numbers(env->boot, numbers);
    ofi->job = numbers[0];
    ofi->first_key = numbers[1];
    for (unsigned c = 0; c < OFI_CLASSES; c++)
        ofi->queues.of[c].last = &ofi->queues.of[c].first;
    *out = &ofi->base;
    return parts_open(ofi);
}

// The names are longer than a description may be, and were exchanged.
static void ofi_describe(aq_conduit_t *conduit, char description[AQ_DESCRIPTION_BYTES])
{
    (void)conduit, (void)description;
}

static bool ofi_match(aq_conduit_t *conduit, const aq_peer_t *peer)
{
    return peer->rank != conduit->env->rank;
}

static aq_status_t ofi_connect(aq_conduit_t *conduit, const aq_peer_t *peer, void **out)
{
    ofi_conduit_t *ofi = ofi_of(conduit);
    aq_lock_take(&ofi->lock);
    *out = ofi_link_get(ofi, peer->rank);
    aq_lock_drop(&ofi->lock);
    return *out ? AQ_OK : AQ_ERR_RESOURCE;
}

// ---- the end ----

static void counters_print(const ofi_conduit_t *ofi)
{
    aq_log_counts(
        "ofi: rank %u sent %lu messages and %lu puts, %lu gets in %lu packets of %s on %s, and "
        "received %lu messages in %lu packets",
        ofi->base.env->rank, (unsigned long)ofi->counts.messages, (unsigned long)ofi->counts.puts,
        (unsigned long)ofi->counts.gets, (unsigned long)ofi->counts.packets,
        ofi->fabric.info->fabric_attr->prov_name, ofi->fabric.info->domain_attr->name,
        (unsigned long)ofi->counts.received_messages, (unsigned long)ofi->counts.received_packets);
}

// The provider sends only while it is polled.
static void outgoing_drain(ofi_conduit_t *ofi)
{
    const uint64_t limit = aq_clock_ns() + DRAIN_NS;
    unsigned polls = 0;
    do {
        (void)ofi_flush(ofi);
        (void)ofi_progress(ofi);
    } while ((ofi->dirty || ofi->sends || polls++ < DRAIN_POLLS) && aq_clock_ns() < limit);
}

// Closes the endpoint, so that provider shm removes its files. The other objects stay, except
// regions of firehose. The lock stays taken: no other thread may enter any more.
static void ofi_close(aq_conduit_t *conduit)
{
    ofi_conduit_t *ofi = ofi_of(conduit);
    atomic_store(&ofi->losses.closing, true);
    if (aq_settings_bool(AQ_SET_STATS))
        counters_print(ofi);
    aq_lock_take(&ofi->lock);
    outgoing_drain(ofi);
    aq_lock_drop(&ofi->lock);
    ofi_pins_close(ofi);
    aq_lock_take(&ofi->lock);
    fi_close(&ofi->fabric.endpoint->fid);
}

// ---- reports ----

static size_t ofi_memory_bytes(aq_conduit_t *conduit)
{
    return ofi_of(conduit)->buffers.bytes;
}

static void ofi_counters(aq_conduit_t *conduit, gasnetx_counters_t *sum)
{
    ofi_conduit_t *ofi = ofi_of(conduit);
    aq_lock_take(&ofi->lock);
    sum->frames_sent += ofi->counts.messages + ofi->counts.puts + ofi->counts.gets;
    sum->packets_sent += ofi->counts.packets;
    sum->frames_received += ofi->counts.received_messages;
    sum->packets_received += ofi->counts.received_packets;
    sum->dropped[GASNETX_DROP_FOREIGN] += ofi->counts.foreign;
    aq_lock_drop(&ofi->lock);
}

static void ofi_dump_state(aq_conduit_t *conduit)
{
    const ofi_conduit_t *ofi = ofi_of(conduit);
    aq_log_notice("ofi: provider %s on %s; %lu messages and %lu puts sent; %u packets wait for "
                  "their handlers, %u sends are under way; %u requests may be sent",
                  ofi->fabric.info->fabric_attr->prov_name, ofi->fabric.info->domain_attr->name,
                  (unsigned long)ofi->counts.messages, (unsigned long)ofi->counts.puts,
                  atomic_load(&ofi->queues.waiting), ofi->sends, atomic_load(&ofi->pool.free));
    for (const ofi_link_t *link = ofi->links.open; link; link = link->next_open)
        if (atomic_load(&link->credit.free) == 0)
            aq_log_notice("ofi: all credits for rank %u are in use", link->rank);
}

static void ofi_network(aq_conduit_t *conduit, char *text, size_t size)
{
    const struct fi_info *info = ofi_of(conduit)->fabric.info;
    snprintf(text, size, "provider %s on %s", info->fabric_attr->prov_name,
             info->domain_attr->name);
}

const aq_conduit_ops_t aq_conduit_module = {
    .name = "ofi",
    .abi = AQ_CONDUIT_ABI,
    .profile = &aq_ofi_profile,
    .usable = ofi_usable,
    .open = ofi_open,
    .describe = ofi_describe,
    .match = ofi_match,
    .connect = ofi_connect,
    .close = ofi_close,
    .am = {.send = ofi_send, .poll = ofi_poll, .requests_flushed = ofi_requests_flushed},
    .wait = {.arm = ofi_arm, .sleep = ofi_sleep, .disarm = ofi_disarm, .wake = ofi_wake},
    .memory = {.attach = ofi_attach},
    .rma = {.begin = ofi_rma, .atomic = ofi_atomic},
    .report = {.memory_bytes = ofi_memory_bytes,
               .print_info = ofi_info_print,
               .counters = ofi_counters,
               .dump_state = ofi_dump_state,
               .network = ofi_network},
};
