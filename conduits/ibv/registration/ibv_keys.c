// SPDX-License-Identifier: BSD-3-Clause
// Connects firehose to verbs, registers the segment at attach, and answers which key an operation
// needs: ibv_rma.c asks for memory of this process, ibv_rma_ondemand.c for that of a peer.
#include "ibv_keys.h"

#include <stdlib.h>

#include "../../../other/base/log/log.h"

// ---- what firehose calls ----

// With one port a key of firehose holds both keys of a region, so that a hit does not touch the
// region itself. With several it holds the keys for peers at the first two ports, and the handle
// has the regions of all.
static uint64_t join_keys(uint32_t high, uint32_t low)
{
    return (uint64_t)high << 32 | low;
}

static uint32_t high_key(const aq_firehose_region_t *region)
{
    return (uint32_t)(region->key.remote >> 32);
}

static uint32_t remote_key(const aq_firehose_region_t *region)
{
    return (uint32_t)region->key.remote;
}

// A place that is pinned at several ports.
typedef struct pins {
    struct ibv_mr *regions[AQ_IBV_RAIL_PORTS_MAX];
} pins_t;

static unsigned ports_of(const aq_ibv_keys_t *keys)
{
    return keys->setup.rails && keys->setup.rails->count > 1 ? keys->setup.rails->count : 1;
}

static uint32_t local_key(const aq_ibv_keys_t *keys, const aq_firehose_region_t *region)
{
    const pins_t *pins = region->key.handle;
    return ports_of(keys) == 1 ? high_key(region) : pins->regions[0]->lkey;
}

static void pins_release(const aq_ibv_keys_t *keys, pins_t *pins, unsigned count)
{
    while (count-- > 0)
        aq_ibv_memory_release(keys->setup.rails->list[count].memory, pins->regions[count],
                              AQ_IBV_WRITE);
    free(pins);
}

static aq_firehose_pinned_t pins_make(const aq_ibv_keys_t *keys, uintptr_t start, uint64_t bytes,
                                      aq_ibv_access_t access, aq_firehose_key_t *key)
{
    aq_firehose_pinned_t outcome = AQ_FIREHOSE_PINNED;
    pins_t *pins = calloc(1, sizeof *pins);
    if (!pins)
        return AQ_FIREHOSE_CGROUP;
    for (unsigned i = 0; i < ports_of(keys); i++) {
        outcome = aq_ibv_memory_try(keys->setup.rails->list[i].memory, (const void *)start, bytes,
                                    access, &pins->regions[i]);
        if (outcome != AQ_FIREHOSE_PINNED) {
            pins_release(keys, pins, i);
            return outcome;
        }
    }
    *key = (aq_firehose_key_t){.handle = pins,
                               .remote = join_keys(pins->regions[1]->rkey, pins->regions[0]->rkey)};
    return outcome;
}

static aq_firehose_pinned_t keys_pin(void *context, uintptr_t start, uint64_t bytes, bool writable,
                                     aq_firehose_key_t *key)
{
    const aq_ibv_keys_t *keys = context;
    const aq_ibv_access_t access = writable ? AQ_IBV_WRITE : AQ_IBV_READ;
    struct ibv_mr *region;
    if (ports_of(keys) > 1)
        return pins_make(keys, start, bytes, access, key);
    aq_firehose_pinned_t outcome =
        aq_ibv_memory_try(keys->setup.memory, (const void *)start, bytes, access, &region);
    if (outcome == AQ_FIREHOSE_PINNED)
        *key =
            (aq_firehose_key_t){.handle = region, .remote = join_keys(region->lkey, region->rkey)};
    return outcome;
}

static void keys_unpin(void *context, uintptr_t start, uint64_t bytes, const aq_firehose_key_t *key)
{
    const aq_ibv_keys_t *keys = context;
    (void)start;
    (void)bytes;
    if (ports_of(keys) > 1)
        pins_release(keys, key->handle, ports_of(keys));
    else
        aq_ibv_memory_release(keys->setup.memory, key->handle, AQ_IBV_WRITE);
}

static void keys_request(void *context, uint32_t peer, const aq_firehose_message_t *message,
                         const void *data, uint32_t data_bytes)
{
    const aq_ibv_keys_t *keys = context;
    keys->setup.request(keys->setup.context, peer, message, data, data_bytes);
}

// ---- start and stop ----

// What the device and the system allow beside what is registered already.
static aq_firehose_limits_t limits_of(const aq_ibv_keys_setup_t *setup)
{
    aq_ibv_memory_t *memory = setup->memory;
    uint64_t now = memory->bytes;
    aq_firehose_limits_t limits = {
        .bytes = aq_ibv_memory_probe_wanted() ? aq_ibv_memory_probe(memory)
                 : memory->most > now         ? memory->most - now
                                              : 0,
        .regions = aq_firehose_regions(setup->device_regions, setup->processes),
        .peers = setup->peers,
        .segment_pinned = setup->mode == AQ_SEGMENT_FAST,
        .buffer_bytes = setup->buffer_bytes,
    };
    return limits;
}

static aq_status_t start_firehose(aq_ibv_keys_t *keys)
{
    static const aq_firehose_ops_t ops = {
        .pin = keys_pin, .unpin = keys_unpin, .request = keys_request};
    const aq_ibv_keys_setup_t *setup = &keys->setup;
    aq_firehose_limits_t limits = limits_of(setup);
    aq_firehose_params_t params;
    aq_firehose_params_read(&limits, &params);
    keys->region_bytes = params.region_bytes;
    keys->stays = aq_firehose_memory_stays();
    keys->reaches = params.per_peer > 0 && setup->mode != AQ_SEGMENT_FAST &&
                    (setup->mode == AQ_SEGMENT_LARGE || keys->stays);
    return aq_firehose_start(&params, &ops, keys, keys->reaches ? setup->ranks : 0,
                             &keys->firehose);
}

// Starts firehose even if this process needs none, because peers may need it.
static aq_status_t start_mode(aq_ibv_keys_t *keys)
{
    const aq_ibv_keys_setup_t *setup = &keys->setup;
    aq_ibv_implicit_odp_register(&keys->odp, setup->memory, setup->rails,
                                 setup->mode != AQ_SEGMENT_FAST);
    return start_firehose(keys);
}

aq_status_t aq_ibv_keys_start(aq_ibv_keys_t *keys, const aq_ibv_keys_setup_t *setup)
{
    *keys = (aq_ibv_keys_t){.setup = *setup};
    return start_mode(keys);
}

aq_status_t aq_ibv_keys_publish(aq_ibv_keys_t *keys, aq_boot_t *boot)
{
    aq_status_t status = aq_ibv_implicit_odp_publish(&keys->odp, boot);
    keys->reaches |= keys->odp.everywhere;
    return status;
}

size_t aq_ibv_keys_table_bytes(const aq_ibv_keys_t *keys)
{
    return aq_firehose_table_bytes(keys->firehose) +
           aq_ibv_segments_table_bytes(&keys->segments, keys->setup.ranks) +
           aq_ibv_implicit_odp_table_bytes(&keys->odp);
}

static void segments_release(aq_ibv_keys_t *keys)
{
    aq_ibv_segment_release(keys->setup.memory, &keys->segment);
    for (unsigned i = 1; i < ports_of(keys); i++)
        aq_ibv_segment_release(keys->setup.rails->list[i].memory, &keys->more_segments[i]);
}

void aq_ibv_keys_stop(aq_ibv_keys_t *keys)
{
    aq_firehose_stop(keys->firehose);
    segments_release(keys);
    aq_ibv_segments_free(&keys->segments);
    aq_ibv_implicit_odp_release(&keys->odp, keys->setup.memory, keys->setup.rails);
    aq_ibv_implicit_odp_free(&keys->odp);
}

bool aq_ibv_keys_quit(aq_ibv_keys_t *keys)
{
    if (!aq_firehose_quit(keys->firehose))
        return false;
    aq_ibv_implicit_odp_release(&keys->odp, keys->setup.memory, keys->setup.rails);
    for (uint32_t i = 0; i < keys->segment.count; i++)
        aq_ibv_memory_release(keys->setup.memory, keys->segment.pieces[i], AQ_IBV_WRITE);
    for (unsigned port = 1; port < ports_of(keys); port++)
        for (uint32_t i = 0; i < keys->more_segments[port].count; i++)
            aq_ibv_memory_release(keys->setup.rails->list[port].memory,
                                  keys->more_segments[port].pieces[i], AQ_IBV_WRITE);
    return true;
}

// LARGE: memory is registered when it is used, or all of it is already.
static aq_status_t attach_parts(aq_ibv_keys_t *keys, aq_boot_t *boot)
{
    aq_firehose_stays(keys->firehose, (void *)keys->start, keys->bytes);
    keys->segments =
        (aq_ibv_segments_t){.starts = keys->setup.starts, .lengths = keys->setup.lengths};
    return aq_ibv_keys_publish(keys, boot);
}

// FAST, if a limit keeps the segment of some rank from being registered as a whole: continues as
// LARGE. Firehose starts again, with larger tables; nothing has used it before segments existed.
static aq_status_t fall_back(aq_ibv_keys_t *keys, aq_boot_t *boot, const char *why)
{
    segments_release(keys);
    aq_firehose_stop(keys->firehose);
    aq_ibv_implicit_odp_release(&keys->odp, keys->setup.memory, keys->setup.rails);
    keys->setup.mode = AQ_SEGMENT_LARGE;
    aq_status_t status = start_mode(keys);
    if (*why)
        aq_log_warn("%s. The job continues without: put and get %s", why,
                    keys->reaches ? "register parts of it when they use them"
                                  : "go by active messages");
    return status == AQ_OK ? attach_parts(keys, boot) : status;
}

static aq_ibv_segment_t segment_cut(const aq_ibv_keys_t *keys, aq_ibv_cut_t cut)
{
    return (aq_ibv_segment_t){.start = keys->start, .bytes = keys->bytes, .cut = cut};
}

// Registers the segment at the further ports. A port that refuses it carries no puts and gets.
static void segment_register_more(aq_ibv_keys_t *keys, aq_ibv_cut_t cut)
{
    char why[512] = "";
    for (unsigned i = 1; keys->bytes && i < ports_of(keys); i++) {
        keys->more_segments[i] = segment_cut(keys, cut);
        if (aq_ibv_segment_register(keys->setup.rails->list[i].memory, &keys->more_segments[i], why,
                                    sizeof why) != AQ_OK)
            aq_log_warn("%s. Puts and gets go without this port", why);
    }
}

static aq_status_t keys_exchange(aq_ibv_keys_t *keys, aq_boot_t *boot, aq_ibv_cut_t cut,
                                 uint32_t most_ports)
{
    const aq_ibv_keys_setup_t *setup = &keys->setup;
    segment_register_more(keys, cut);
    keys->more_segments[0] = keys->segment;
    keys->segments = (aq_ibv_segments_t){
        .starts = setup->starts, .lengths = setup->lengths, .ports = most_ports, .cut = cut};
    return aq_ibv_segments_exchange(boot, keys->more_segments, ports_of(keys), &keys->segments);
}

// FAST: registers the segment, and exchanges keys with all ranks.
static aq_status_t attach_whole(aq_ibv_keys_t *keys, aq_boot_t *boot)
{
    const aq_ibv_keys_setup_t *setup = &keys->setup;
    char why[512] = "";
    bool first;
    uint32_t ports = ports_of(keys);
    aq_ibv_cut_t cut = aq_ibv_segment_cut(setup->memory, keys->bytes);
    aq_status_t status = aq_ibv_segments_agree(boot, &cut, &ports);
    if (status != AQ_OK)
        return status;
    if (keys->bytes > 0) {
        keys->segment = segment_cut(keys, cut);
        status = aq_ibv_segment_register(setup->memory, &keys->segment, why, sizeof why);
    }
    status = aq_boot_agree_quietly(boot, status, &first);
    if (status == AQ_ERR_RESOURCE)
        return fall_back(keys, boot, first ? why : "");
    if (status != AQ_OK && first && *why)
        aq_log_error("%s", why);
    return status == AQ_OK ? keys_exchange(keys, boot, cut, ports) : status;
}

aq_status_t aq_ibv_keys_attach(aq_ibv_keys_t *keys, aq_boot_t *boot, void *segment, size_t bytes)
{
    keys->start = (uintptr_t)segment;
    keys->bytes = bytes;
    if (keys->setup.mode == AQ_SEGMENT_FAST)
        return attach_whole(keys, boot);
    return attach_parts(keys, boot);
}

// ---- memory of this process ----

static bool in_segment(const aq_ibv_keys_t *keys, uintptr_t address, size_t bytes)
{
    uintptr_t offset = address - keys->start;
    return offset < keys->bytes && bytes <= keys->bytes - offset;
}

static aq_ibv_hold_t hold_of(aq_firehose_region_t *region, uintptr_t address, size_t bytes,
                             uint32_t key)
{
    return (aq_ibv_hold_t){
        .bytes = aq_firehose_covered(region, address, bytes), .key = key, .region = region};
}

aq_status_t aq_ibv_keys_local(aq_ibv_keys_t *keys, const void *memory, size_t bytes, bool write,
                              aq_ibv_hold_t *hold)
{
    uintptr_t address = (uintptr_t)memory;
    aq_firehose_region_t *region;
    hold->region = NULL;
    if (aq_ibv_keys_own(keys, memory, bytes, hold))
        return AQ_OK;
    hold->key = aq_ibv_implicit_odp_key(&keys->odp, 0);
    if (hold->key) {
        hold->bytes = bytes;
        return AQ_OK;
    }
    if (!in_segment(keys, address, bytes) && !keys->stays)
        return AQ_ERR_ABSENT;
    aq_status_t status = aq_firehose_pin(keys->firehose, memory, bytes, write, &region);
    if (status == AQ_OK)
        *hold = hold_of(region, address, bytes, local_key(keys, region));
    return status == AQ_ERR_RESOURCE ? AQ_ERR_ABSENT : status;
}

// Firehose pins writable memory for writing, too, so the key has more rights than it needs.
aq_status_t aq_ibv_keys_expose(aq_ibv_keys_t *keys, const void *memory, size_t bytes,
                               aq_ibv_hold_t *hold)
{
    const uintptr_t address = (uintptr_t)memory;
    aq_firehose_region_t *region;
    hold->region = NULL;
    if (aq_ibv_keys_own(keys, memory, bytes, hold)) {
        hold->key = keys->segment.pieces[(address - keys->start) >> keys->segment.cut.shift]->rkey;
        return AQ_OK;
    }
    if (!in_segment(keys, address, bytes) && !keys->stays)
        return AQ_ERR_ABSENT;
    const aq_status_t status = aq_firehose_pin(keys->firehose, memory, bytes, false, &region);
    if (status == AQ_OK)
        *hold = hold_of(region, address, bytes, remote_key(region));
    return status;
}

uint32_t aq_ibv_keys_local_at(const aq_ibv_keys_t *keys, unsigned port, const void *memory,
                              const aq_ibv_hold_t *hold)
{
    const pins_t *pins = hold->region ? hold->region->key.handle : NULL;
    const aq_ibv_segment_t *segment = port ? &keys->more_segments[port] : &keys->segment;
    if (pins)
        return port ? pins->regions[port]->lkey : hold->key;
    if (segment->count && in_segment(keys, (uintptr_t)memory, hold->bytes))
        return segment->pieces[((uintptr_t)memory - segment->start) >> segment->cut.shift]->lkey;
    return aq_ibv_implicit_odp_key(&keys->odp, port);
}

// ---- memory of peers ----

static void hold_arrived(aq_firehose_wait_t *inner, aq_status_t status,
                         aq_firehose_region_t *region)
{
    aq_ibv_wait_t *wait = (aq_ibv_wait_t *)(void *)((char *)inner - offsetof(aq_ibv_wait_t, inner));
    aq_ibv_hold_t hold;
    if (region != NULL)
        hold = hold_of(region, inner->address, wait->bytes, remote_key(region));
    wait->done(wait, status, region != NULL ? &hold : NULL);
}

// Not in mode FAST: whether this process may touch memory of the peer.
static bool is_open(const aq_ibv_keys_t *keys, uint32_t peer, uintptr_t address, size_t bytes)
{
    return keys->setup.mode == AQ_SEGMENT_EVERYTHING ||
           aq_ibv_segments_has(&keys->segments, peer, address, bytes);
}

static aq_ibv_reached_t firehose_look(const aq_ibv_keys_t *keys, uint32_t peer, uintptr_t address,
                                      size_t bytes, bool write, aq_ibv_hold_t *hold)
{
    if (!keys->reaches)
        return AQ_IBV_MESSAGES;
    aq_firehose_region_t *region = aq_firehose_look(keys->firehose, peer, address, write);
    if (region == NULL)
        return AQ_IBV_MISSED;
    *hold = hold_of(region, address, bytes, remote_key(region));
    return AQ_IBV_REACHED;
}

aq_ibv_reached_t aq_ibv_keys_look_further(const aq_ibv_keys_t *keys, uint32_t peer,
                                          uintptr_t address, size_t bytes, bool write,
                                          aq_ibv_hold_t *hold)
{
    if (keys->setup.mode == AQ_SEGMENT_FAST || !is_open(keys, peer, address, bytes))
        return AQ_IBV_MESSAGES;
    const uint32_t key = aq_ibv_implicit_odp_key_of(&keys->odp, peer, 0);
    if (!key)
        return firehose_look(keys, peer, address, bytes, write, hold);
    *hold = (aq_ibv_hold_t){.bytes = bytes, .key = key};
    return AQ_IBV_REACHED;
}

aq_ibv_reached_t aq_ibv_keys_remote(aq_ibv_keys_t *keys, const aq_firehose_target_t *target,
                                    aq_ibv_wait_t *wait, aq_ibv_hold_t *hold)
{
    const uintptr_t address = target->address;
    const size_t bytes = target->bytes;
    aq_firehose_region_t *region;
    aq_ibv_reached_t reached =
        aq_ibv_keys_look(keys, target->peer, address, bytes, target->write, hold);
    if (reached != AQ_IBV_MISSED)
        return reached;
    wait->bytes = bytes;
    wait->inner.done = hold_arrived;
    switch (aq_firehose_reach(keys->firehose, target, &wait->inner, &region)) {
    case AQ_FIREHOSE_HIT:
        *hold = hold_of(region, address, bytes, remote_key(region));
        return AQ_IBV_REACHED;
    case AQ_FIREHOSE_PENDING:
        return AQ_IBV_PENDING;
    default:
        return AQ_IBV_FULL;
    }
}

uint32_t aq_ibv_keys_remote_at(const aq_ibv_keys_t *keys, unsigned port, uint32_t peer,
                               uintptr_t address, const aq_ibv_hold_t *hold)
{
    if (!port)
        return hold->key;
    if (hold->region)
        return port == 1 ? high_key(hold->region) : 0;
    if (keys->setup.mode != AQ_SEGMENT_FAST)
        return aq_ibv_implicit_odp_key_of(&keys->odp, peer, port);
    return aq_ibv_segments_key_at(&keys->segments, port, peer, address);
}

bool aq_ibv_keys_legal(const aq_ibv_keys_t *keys, uint32_t peer, uint64_t address, uint64_t bytes)
{
    if (keys->setup.mode == AQ_SEGMENT_EVERYTHING ||
        (keys->setup.mode == AQ_SEGMENT_LARGE &&
         in_segment(keys, (uintptr_t)address, (size_t)bytes)))
        return true;
    aq_log_error("rank %u asks for %llu bytes at 0x%llx, which are not in the segment of this "
                 "process; check the addresses of its puts and gets",
                 peer, (unsigned long long)bytes, (unsigned long long)address);
    return false;
}

aq_status_t aq_ibv_keys_serve(aq_ibv_keys_t *keys, uint32_t peer,
                              const aq_firehose_message_t *message, const void *data,
                              uint32_t data_bytes, aq_firehose_message_t *answer)
{
    if (message->kind == AQ_FIREHOSE_MOVE &&
        !aq_ibv_keys_legal(keys, peer, message->address, message->bytes))
        return AQ_ERR_PEER;
    return aq_firehose_serve(keys->firehose, peer, message, data, data_bytes, answer);
}

aq_status_t aq_ibv_keys_answered(aq_ibv_keys_t *keys, uint32_t peer,
                                 const aq_firehose_message_t *answer)
{
    return aq_firehose_answered(keys->firehose, peer, answer);
}
