// SPDX-License-Identifier: BSD-3-Clause
// Fuzzer of the sealed streams of the launcher's links, with an attacker. The input is a sequence
// of actions: seal a text, or deliver, change, cut, replay or insert some bytes. Invariants: the
// receiver gets a prefix of the sealed text, and keeps fewer bytes than one record.
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../spawner/wire/seal.h"
#include "fuzz_check.h"

#define IN_FLIGHT_MAX 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct world {
    aq_seal_t *sender, *receiver;
    aq_bytes_t sent, got;  // plain
    aq_bytes_t wire, kept; // in flight; delivered but not opened yet
} world_t;

static void deliver_bytes(world_t *world, size_t count)
{
    size_t used = 0;
    if (count == 0)
        return;
    aq_put_raw(&world->kept, world->wire.data, count);
    memmove(world->wire.data, world->wire.data + count, world->wire.used - count);
    world->wire.used -= count;
    bool genuine =
        aq_seal_open(world->receiver, world->kept.data, world->kept.used, &used, &world->got);
    require(used <= world->kept.used);
    require(!genuine || world->kept.used - used < AQ_SEAL_RECORD_MAX);
    memmove(world->kept.data, world->kept.data + used, world->kept.used - used);
    world->kept.used -= used;
    require(world->got.used <= world->sent.used);
    require(world->got.used == 0 ||
            memcmp(world->got.data, world->sent.data, world->got.used) == 0);
}

static void cut_out(aq_bytes_t *wire, size_t at, size_t count)
{
    memmove(wire->data + at, wire->data + at + count, wire->used - at - count);
    wire->used -= count;
}

// Makes room for count bytes at a position of the bytes in flight.
static uint8_t *make_gap(aq_bytes_t *wire, size_t at, size_t count)
{
    require(aq_put_room(wire, count) != NULL);
    memmove(wire->data + at + count, wire->data + at, wire->used - at - count);
    return wire->data + at;
}

static void repeat_bytes(aq_bytes_t *wire, size_t at, size_t count)
{
    uint8_t *gap = make_gap(wire, at, count);
    memcpy(gap, gap + count, count);
}

static void seal_text(world_t *world, const uint8_t *text, size_t length)
{
    if (length == 0)
        return;
    aq_put_raw(&world->sent, text, length);
    aq_seal_record(world->sender, text, length, &world->wire);
}

// One step: the action, its position, and its number of bytes.
static void take_step(world_t *world, const uint8_t step[3], const uint8_t *text, size_t length)
{
    aq_bytes_t *wire = &world->wire;
    size_t at = wire->used > 0 ? step[1] % wire->used : 0;
    size_t count = step[2] < wire->used - at ? step[2] : wire->used - at;
    bool full = wire->used > IN_FLIGHT_MAX;
    if (step[0] % 6 == 0 && !full)
        seal_text(world, text, length);
    else if (step[0] % 6 == 1 && wire->used > 0)
        deliver_bytes(world, count);
    else if (step[0] % 6 == 2 && wire->used > 0)
        wire->data[at] ^= step[2];
    else if (step[0] % 6 == 3 && wire->used > 0)
        cut_out(wire, at, count);
    else if (step[0] % 6 == 4 && count > 0 && !full)
        repeat_bytes(wire, at, count);
    else if (step[0] % 6 == 5 && length > 0 && !full)
        memcpy(make_gap(wire, at, length), text, length);
}

static void close_world(world_t *world)
{
    aq_seal_free(world->sender);
    aq_seal_free(world->receiver);
    aq_bytes_free(&world->sent);
    aq_bytes_free(&world->got);
    aq_bytes_free(&world->wire);
    aq_bytes_free(&world->kept);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t key[AQ_KEY_BYTES] = "0123456789abcde";
    const aq_auth_t auth = {.node = 1, .caller = "c", .listener = "l"};
    if (aq_auth_init() != AQ_OK)
        return 0;
    world_t world = {.sender = aq_seal_new(&auth, key, true),
                     .receiver = aq_seal_new(&auth, key, false)};
    require(world.sender != NULL && world.receiver != NULL);
    while (size >= 3) {
        const uint8_t *step = data;
        data += 3;
        size -= 3;
        size_t length = step[0] % 6 == 0 || step[0] % 6 == 5 ? step[2] : 0;
        length = length < size ? length : size;
        take_step(&world, step, data, length);
        data += length;
        size -= length;
    }
    if (world.wire.used > 0)
        deliver_bytes(&world, world.wire.used);
    close_world(&world);
    return 0;
}
