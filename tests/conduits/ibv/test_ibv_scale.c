// SPDX-License-Identifier: BSD-3-Clause
// What a rank of a job over conduit ibv needs, up to 100,000 ranks on 1,000 hosts: buffers,
// credits, rings, firehose, tables, connections, and the frames and bytes of the start. The
// functions of the conduit, of the core, of firehose and of the spawner decide each number; here
// they run over a fake device and a fake bootstrap. The program prints the numbers as a table.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../unit/unit_test.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "../../../conduits/ibv/peers/ibv_addresses.h"
#include "../../../conduits/ibv/verbs/ibv_buffer.h"
#include "../../../conduits/ibv/registration/ibv_keys.h"
#include "../../../conduits/ibv/peers/ibv_handshake.h"
#include "../../../conduits/ibv/peers/ibv_peer.h"
#include "../../../conduits/ibv/verbs/ibv_wire.h"
#include "../../../conduits/ibv/peers/ibv_xrc.h"
#include "../../../core/aqueduct.h"
#include "../../../core/state/job_groups.h"
#include "../../../other/base/log/log.h"
#include "../../../other/base/minmax.h"
#include "../../../spawner/wire/gather.h"
#include "../../../spawner/tree/node_tree.h"
#include "../../unit/default_settings.h"
#include "fake_verbs.h"
#include "../../unit/assert_between.h"

// The defaults of the settings, and what a rank has per rank of its host.
enum {
    RANKS_OF_HOST = 100,
    EACH = 32,        // GASNET_AM_CREDITS_PP
    TOTAL = 1024,     // GASNET_AM_CREDITS_TOTAL
    GRANTS = 1024,    // the most buffers for requests
    RINGS = 32,       // GASNET_AMRDMA_MAX_PEERS
    RING_DEPTH = 16,  // GASNET_AMRDMA_DEPTH
    DEPTH = 64,       // GASNET_NETWORKDEPTH_PP
    DEPTH_MAX = 4096, // see GASNET_NETWORKDEPTH_TOTAL
    BOUNCES = 1024,   // GASNET_BBUF_COUNT
    LARGE_BOUNCES = 16,
    LARGE_BOUNCE = 64 << 10, // GASNET_NONBULKPUT_BOUNCE_LIMIT
    CORE_BYTES = 32,
};

#define MEMORY (UINT64_C(16) << 30) // that a process may pin

static const uint32_t sizes[] = {200, 1000, 10000, 50000, 100000};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

// As the data sheets of current InfiniBand devices have it.
static const struct ibv_device_attr can = {.max_qp = 131072,
                                           .max_qp_wr = 32768,
                                           .max_cqe = 4194303,
                                           .max_srq_wr = 32767,
                                           .max_mr = 16777216,
                                           .max_mr_size = UINT64_MAX,
                                           .max_qp_rd_atom = 16,
                                           .max_qp_init_rd_atom = 16};
static const struct ibv_port_attr port = {.max_msg_sz = 1u << 30};

// The numbers of a size.
typedef struct row {
    uint32_t ranks, hosts, peers, rings, per_peer, connections_static;
    aq_ibv_limits_t limits;
    aq_credit_limits_t granted; // each: of the first peer; total: of all peers
    uint32_t without_buffer;    // peers whose only credit has no buffer of its own
    size_t registered, ring_bytes, unspoken_fast, unspoken_large, connected;
    unsigned exchanges;
    size_t row_bytes;                      // of all exchanges together: what each rank tells
    uint64_t frames, bytes_up, bytes_down; // of the tree of hosts, for all exchanges
    unsigned datagrams;                    // of a connection
    // With XRC: queue pairs of a rank to send by, and of a host to receive by.
    unsigned senders;
    uint64_t receivers;
} row_t;

static row_t rows[SIZES];

// ---- a bootstrap whose ranks all say the same, but at their own addresses ----

// As in ibv_addresses.c.
typedef struct record {
    aq_ibv_listens_t listens;
    uint32_t rank;
} record_t;

typedef struct boot {
    aq_boot_t base;
    uint32_t *hosts;
    bool addresses;   // the rows of the next exchange are records
    size_t parts[16]; // bytes of a row of each exchange
    unsigned count;
} boot_t;

static boot_t boot;

static aq_status_t exchange(aq_boot_t *base, const void *mine, size_t len, void *all)
{
    assert_ptr_equal(base, &boot.base);
    assert_true(boot.count < sizeof boot.parts / sizeof boot.parts[0]);
    boot.parts[boot.count++] = len;
    for (uint32_t rank = 0; rank < base->size; rank++) {
        uint8_t *row = (uint8_t *)all + rank * len;
        memcpy(row, mine, len);
        if (!boot.addresses)
            continue;
        assert_int_equal(len, sizeof(record_t));
        record_t *record = (record_t *)(void *)row;
        const uint32_t address = htonl(0x0a000000 + boot.hosts[rank]);
        memcpy(record->listens.address, &address, sizeof address);
        record->listens.port = htons((uint16_t)(20000 + rank % RANKS_OF_HOST));
        record->rank = rank;
    }
    return AQ_OK;
}

static aq_status_t barrier(aq_boot_t *base)
{
    (void)base;
    fail(); // some agreement has failed
    return AQ_OK;
}

static const aq_boot_ops_t ops = {.exchange = exchange, .barrier = barrier};

static void boot_start(uint32_t ranks)
{
    boot = (boot_t){.base = {.ops = &ops, .rank = ranks - 1, .size = ranks}};
    boot.hosts = malloc(ranks * sizeof *boot.hosts);
    assert_non_null(boot.hosts);
    for (uint32_t rank = 0; rank < ranks; rank++)
        boot.hosts[rank] = rank / RANKS_OF_HOST;
    boot.base.host_of_rank = boot.hosts;
}

// ---- what a rank has ----

static aq_ibv_memory_t memory_make(void)
{
    fake_verbs_start();
    return (aq_ibv_memory_t){.calls = &fake_verbs_calls,
                             .device = "fake",
                             .region_bytes = can.max_mr_size,
                             .piece_bytes = can.max_mr_size,
                             .most = MEMORY};
}

// Registers the buffers, and says how many bytes that took.
static size_t buffers_measure(aq_ibv_limits_t *limits, aq_ibv_memory_t *memory)
{
    aq_ibv_buffers_t buffers = {0};
    const aq_ibv_limits_t wanted = *limits;
    assert_int_equal(aq_ibv_buffers_open(&buffers, limits, memory, &boot.base), AQ_OK);
    assert_memory_equal(&wanted, limits, sizeof wanted); // nothing was lowered
    const size_t bytes = memory->bytes;
    assert_int_equal(bytes, buffers.slab_bytes);
    assert_int_equal(buffers.arrivals.count, limits->arrivals + limits->spares);
    aq_ibv_buffers_close(&buffers, memory);
    return bytes;
}

// All peers connect to this rank, one after the other.
static void peers_measure(row_t *row)
{
    aq_ibv_peers_t peers = {.limits = &row->limits, .rank = boot.base.rank};
    assert_true(aq_ibv_peers_open(&peers, row->ranks));
    for (uint32_t rank = 0; rank < row->peers; rank++) {
        aq_ibv_peer_t *link = aq_ibv_peer_get(&peers, rank, 0);
        assert_non_null(link);
        const unsigned left = atomic_load(&peers.grants_left);
        const unsigned grant = aq_ibv_peer_grant(&peers);
        assert_true(grant >= 1 && grant <= row->limits.credits.each);
        row->granted.each = rank ? row->granted.each : grant;
        row->granted.total += left ? grant : 0;
        row->without_buffer += !left;
    }
    aq_ibv_peers_free(&peers);
}

static size_t addresses_measure(const row_t *row)
{
    aq_ibv_addresses_t addresses;
    struct sockaddr_storage here = {.ss_family = AF_INET};
    const aq_ibv_listens_t listens = aq_ibv_listens_at(&here);
    boot.addresses = true;
    assert_int_equal(aq_ibv_addresses_exchange(&boot.base, &listens, &addresses), AQ_OK);
    boot.addresses = false;
    assert_int_equal(addresses.count, row->hosts);
    const size_t bytes = aq_ibv_addresses_bytes(&addresses, row->ranks);
    aq_ibv_addresses_free(&addresses);
    return bytes;
}

static void request_nothing(void *context, uint32_t peer, const aq_firehose_message_t *message,
                            const void *data, uint32_t data_bytes)
{
    (void)context;
    (void)peer;
    (void)message;
    (void)data;
    (void)data_bytes;
}

// The tables of keys and firehoses when the segments are attached.
static size_t keys_measure(const row_t *row, aq_ibv_memory_t *memory, aq_segment_mode_t mode)
{
    static char segment[1 << 16] __attribute__((aligned(4096)));
    aq_ibv_keys_t keys;
    uintptr_t *starts = calloc(row->ranks, sizeof *starts);
    uintptr_t *lengths = calloc(row->ranks, sizeof *lengths);
    assert_true(starts && lengths);
    for (uint32_t rank = 0; rank < row->ranks; rank++) {
        starts[rank] = (uintptr_t)segment;
        lengths[rank] = sizeof segment;
    }
    const aq_ibv_keys_setup_t setup = {.mode = mode,
                                       .memory = memory,
                                       .device_regions = row->limits.device.regions,
                                       .processes = RANKS_OF_HOST,
                                       .ranks = row->ranks,
                                       .peers = row->peers,
                                       .starts = starts,
                                       .lengths = lengths,
                                       .request = request_nothing};
    assert_int_equal(aq_ibv_keys_start(&keys, &setup), AQ_OK);
    assert_int_equal(aq_ibv_keys_attach(&keys, &boot.base, segment, sizeof segment), AQ_OK);
    const size_t bytes = aq_ibv_keys_table_bytes(&keys);
    aq_ibv_keys_stop(&keys);
    free(starts);
    free(lengths);
    return bytes;
}

static aq_firehose_params_t firehose_of(const row_t *row)
{
    const aq_firehose_limits_t limits = {
        .bytes = MEMORY - row->registered,
        .regions = aq_firehose_regions((uint64_t)can.max_mr, RANKS_OF_HOST),
        .peers = row->peers};
    aq_firehose_params_t params;
    aq_firehose_params_read(&limits, &params);
    assert_int_equal(params.per_peer, params.main.regions / row->peers);
    return params;
}

// ---- the tree of hosts ----

typedef struct tree {
    aq_step_t step;
    uint32_t radix, ranks;
    uint64_t frames, bytes_up, bytes_down;
} tree_t;

// Sends what the ranks of hosts low to high - 1 tell up the tree, and adds it to `above`.
static void tree_gather(tree_t *tree, uint32_t low, uint32_t high, aq_gather_t *above)
{
    const uint32_t children = aq_min(tree->radix, high - low - 1);
    aq_gather_t gather = {.size = tree->ranks, .expected = 1 + children};
    aq_bytes_t own = {0}, sent = {0};
    uint8_t *row = calloc(1, tree->step.part);
    aq_frame_t frame;
    aq_gathered_t part;
    for (uint32_t rank = low * RANKS_OF_HOST; rank < (low + 1) * RANKS_OF_HOST; rank++)
        aq_gather_row(&own, rank, row, tree->step.part);
    assert_true(aq_gather_add(&gather, &(aq_gathered_t){tree->step, own.data, own.used}));
    for (uint32_t i = 0; i < children; i++) {
        uint32_t from, to;
        aq_node_part(low + 1, high, children, i, &from, &to);
        tree_gather(tree, from, to, &gather);
    }
    assert_true(aq_gather_complete(&gather));
    part = aq_gather_result(&gather);
    aq_write_gathered(&sent, AQ_MSG_GATHER, &part);
    tree->frames++;
    tree->bytes_up += sent.used;
    assert_int_equal(aq_frame_read(sent.data, sent.used, AQ_FRAME_MAX, &frame), AQ_FRAME_WHOLE);
    assert_true(aq_read_gathered(frame.payload, AQ_MSG_GATHER, tree->ranks, &part));
    assert_true(aq_gather_add(above, &part));
    aq_bytes_free(&gather.data);
    aq_bytes_free(&own);
    aq_bytes_free(&sent);
    free(row);
}

// One exchange: up as above; down each host gets the same frame once.
static void exchange_measure(row_t *row, size_t part)
{
    tree_t tree = {.step = {.kind = AQ_STEP_EXCHANGE, .part = (uint32_t)part},
                   .radix = (uint32_t)aq_settings_int(AQ_SET_SSH_OUT_DEGREE),
                   .ranks = row->ranks};
    const uint32_t children = aq_min(tree.radix, row->hosts);
    aq_gather_t gather = {.size = row->ranks, .expected = children};
    aq_bytes_t all = {0}, down = {0};
    for (uint32_t i = 0; i < children; i++) {
        uint32_t from, to;
        aq_node_part(0, row->hosts, children, i, &from, &to);
        tree_gather(&tree, from, to, &gather);
    }
    assert_true(aq_gather_complete(&gather) && aq_gather_union(&gather, &all));
    aq_write_gathered(&down, AQ_MSG_SPREAD, &(aq_gathered_t){tree.step, all.data, all.used});
    row->frames += tree.frames + row->hosts;
    row->bytes_up += tree.bytes_up;
    row->bytes_down += (uint64_t)row->hosts * down.used;
    aq_bytes_free(&gather.data);
    aq_bytes_free(&all);
    aq_bytes_free(&down);
}

// ---- a connection ----

// Two ranks connect by datagrams, none of which is lost. Returns how many were sent.
static unsigned handshake_measure(void)
{
    aq_ibv_handshake_t side[2] = {{0}};
    unsigned sent = 0, ready = 0;
    unsigned actions = aq_ibv_handshake_call(&side[0], 0), at = 0;
    while (actions & AQ_IBV_DO_SEND) {
        sent++;
        const unsigned flags = aq_ibv_handshake_flags(&side[at]);
        at = !at;
        actions = aq_ibv_handshake_receive(&side[at], flags, 0, 0);
        ready += (actions & AQ_IBV_DO_READY) != 0;
    }
    assert_int_equal(ready, 2);
    return sent;
}

// ---- XRC ----

// A rank gets links to all its peers. Each host has one port, and so one address.
static unsigned senders_measure(const row_t *row)
{
    aq_ibv_xrc_t xrc = {.file = -1, .ranks = row->ranks};
    for (uint32_t rank = 0; rank < row->peers; rank++)
        assert_non_null(aq_ibv_xrc_sender_get(&xrc, boot.hosts[rank], (uint16_t)boot.hosts[rank]));
    const unsigned senders = aq_ibv_xrc_senders(&xrc);
    aq_ibv_xrc_close(&xrc);
    return senders;
}

// All peers connect to all ranks of this host.
static uint64_t receivers_measure(const row_t *row)
{
    aq_ibv_xrc_t xrc = {.ranks = row->ranks,
                        .receivers = calloc(row->ranks, sizeof *xrc.receivers)};
    uint32_t number;
    assert_non_null(xrc.receivers);
    for (uint32_t rank = 0; rank < row->peers; rank++)
        for (unsigned here = 0; here < RANKS_OF_HOST; here++)
            if (aq_ibv_xrc_claim(&xrc, rank, &number) == AQ_IBV_XRC_MAKE)
                aq_ibv_xrc_publish(&xrc, rank, 1 + rank);
            else
                assert_int_equal(number, 1 + rank);
    free((void *)xrc.receivers);
    return xrc.made;
}

// ---- all of it ----

static void row_measure(row_t *row, uint32_t ranks)
{
    aq_job_t job = {.boot = &boot.base, .rank = ranks - 1, .size = ranks};
    size_t core;
    boot_start(ranks);
    assert_int_equal(aq_job_find_groups(&job, 0), AQ_OK);
    row->ranks = ranks;
    row->hosts = job.host.groups;
    row->peers = row->connections_static = ranks - job.nbrhd.size;
    aq_ibv_memory_t memory = memory_make();
    aq_ibv_limits_find(&row->limits, row->peers, false, &can, &port);
    row->limits.inline_bytes = AQ_IBV_INLINE_MAX; // which a trial on the device finds out
    row->registered = buffers_measure(&row->limits, &memory);
    peers_measure(row);
    row->per_peer = firehose_of(row).per_peer;
    gasnetx_memory(&core, NULL, NULL);
    const size_t tables =
        addresses_measure(row) + ranks * (core + sizeof(_Atomic(aq_ibv_peer_t *)));
    row->unspoken_fast = tables + keys_measure(row, &memory, AQ_SEGMENT_FAST);
    row->exchanges = boot.count;
    row->unspoken_large = tables + keys_measure(row, &memory, AQ_SEGMENT_LARGE);
    row->connected = sizeof(aq_ibv_peer_t) + aq_ibv_pair_bytes(&row->limits);
    for (unsigned i = 0; i < row->exchanges; i++) {
        row->row_bytes += boot.parts[i];
        exchange_measure(row, boot.parts[i]);
    }
    row->datagrams = handshake_measure();
    row->senders = senders_measure(row);
    row->receivers = receivers_measure(row);
    free(boot.hosts);
    free((void *)(uintptr_t)job.host.members);
    free((void *)(uintptr_t)job.nbrhd.members);
}

static int measure_all(void **state)
{
    (void)state;
    if (default_settings() != 0)
        return -1;
    aq_log_identity(1, 2); // rank 0 warns of pools that are too small
    for (unsigned i = 0; i < SIZES; i++)
        row_measure(&rows[i], sizes[i]);
    return 0;
}

// ---- the table ----

typedef struct entry {
    const char *label;
    uint64_t value;
} entry_t;

enum { ENTRIES = 26 };

// Queue pairs on the device of a host with XRC, in both directions.
static uint64_t device_pairs(const row_t *row)
{
    return (uint64_t)RANKS_OF_HOST * row->senders + row->receivers;
}

static uint64_t xrc_bytes(const row_t *row)
{
    return (uint64_t)row->peers * sizeof(aq_ibv_peer_t) +
           row->senders * (sizeof(aq_ibv_xrc_sender_t) + aq_ibv_pair_bytes(&row->limits));
}

static void entries_fill(const row_t *row, entry_t out[ENTRIES])
{
    const aq_ibv_limits_t *limits = &row->limits;
    const uint64_t ranks = row->ranks, all = row->connections_static;
    const entry_t entries[ENTRIES] = {
        {"ranks", ranks},
        {"hosts", row->hosts},
        {"peers of a rank, outside of its host", row->peers},
        {"receive buffers of a rank", limits->arrivals + limits->spares},
        {"registered for buffers and rings, KiB", row->registered >> 10},
        {"requests in flight from a rank", limits->credits.total},
        {"requests in flight from the first peer", row->granted.each},
        {"last peers, without a buffer of their own", row->without_buffer},
        {"rings of a rank", limits->rings.count},
        {"operations in flight of a rank", limits->depth_total},
        {"firehoses into a peer (LARGE, 16 GiB pinnable)", row->per_peer},
        {"bytes for a rank never contacted, FAST", (row->unspoken_fast + ranks - 1) / ranks},
        {"bytes for a rank never contacted, LARGE", (row->unspoken_large + ranks - 1) / ranks},
        {"tables of a rank, FAST, KiB", row->unspoken_fast >> 10},
        {"bytes for a rank contacted: link and queue pair", row->connected},
        {"connections of a rank, all made at the start", all},
        {"  their memory, MiB", (all * row->connected) >> 20},
        {"  queue pairs on the device of a host", all * RANKS_OF_HOST},
        {"  with XRC: queue pairs of a rank to send by", row->senders},
        {"  with XRC: queue pairs on the device of a host", device_pairs(row)},
        {"  with XRC: memory of a rank's links and these, MiB", xrc_bytes(row) >> 20},
        {"datagrams of a connection without librdmacm", row->datagrams},
        {"exchanges of conduit ibv at the start", row->exchanges},
        {"frames of these between all hosts", row->frames},
        {"  bytes up the tree, all hosts, KiB", row->bytes_up >> 10},
        {"  bytes down to a host, KiB", (row->bytes_down / row->hosts) >> 10},
    };
    memcpy(out, entries, sizeof entries);
}

static void test_table(void **state)
{
    (void)state;
    entry_t columns[SIZES][ENTRIES];
    for (unsigned i = 0; i < SIZES; i++)
        entries_fill(&rows[i], columns[i]);
    for (unsigned line = 0; line < ENTRIES; line++) {
        assert_non_null(columns[0][line].label);
        print_message("%-50s", columns[0][line].label);
        for (unsigned i = 0; i < SIZES; i++)
            print_message(" %10llu", (unsigned long long)columns[i][line].value);
        print_message("\n");
    }
}

// ---- formulas ----

static unsigned rings_of(const row_t *row)
{
    return aq_min(RINGS, row->peers);
}

// Constant from a few dozen peers on.
static void test_buffers(void **state)
{
    (void)state;
    for (const row_t *row = rows; row < rows + SIZES; row++) {
        const unsigned replies = rings_of(row) * RING_DEPTH;
        const uint64_t grants = aq_min((uint64_t)EACH * row->peers, GRANTS);
        assert_int_equal(row->limits.depth_total, aq_min((uint64_t)DEPTH * row->peers, DEPTH_MAX));
        assert_int_equal(row->limits.credits.total, aq_min((uint64_t)EACH * row->peers, TOTAL));
        assert_int_equal(row->limits.arrivals, grants + row->limits.credits.total + replies);
        assert_int_equal(row->limits.rings.count, rings_of(row));
        const size_t small = row->limits.arrivals + row->limits.spares + BOUNCES + replies;
        assert_int_equal(row->registered,
                         small * AQ_IBV_BUFFER_BYTES + LARGE_BOUNCES * LARGE_BOUNCE);
        assert_int_equal(row->registered, rows[0].registered);
    }
}

// Every peer gets at least one credit. Each has a buffer if there are no more peers than grants;
// otherwise the buffers last for as many peers as there are halves of them, at least.
static void test_credits(void **state)
{
    (void)state;
    for (const row_t *row = rows; row < rows + SIZES; row++) {
        assert_between(row->granted.total, aq_min(row->peers, GRANTS), GRANTS);
        if (row->peers <= GRANTS)
            assert_int_equal(row->without_buffer, 0);
        else
            assert_between(row->without_buffer, row->peers - GRANTS, row->peers - GRANTS / 2);
        assert_true((uint64_t)row->limits.credits.slack * row->peers < row->limits.credits.total ||
                    row->limits.credits.slack == 0);
    }
}

static void test_bytes(void **state)
{
    (void)state;
    enum {
        LINK = 8,
        ADDRESS = 4,
        KEY = 4,
        IPV4 = 4,
        FIREHOSE = 8,
        FIREHOSE_RANKS = 64,
        ENTRY = 64
    };
    for (const row_t *row = rows; row < rows + SIZES; row++) {
        const size_t common =
            (size_t)row->ranks * (CORE_BYTES + LINK + ADDRESS) + (size_t)row->hosts * IPV4;
        const size_t large = row->per_peer
                                 ? (row->ranks + FIREHOSE_RANKS - 1) / FIREHOSE_RANKS * FIREHOSE
                                 : 0; // then messages reach the memory of peers
        assert_int_equal(row->unspoken_fast, common + (size_t)row->ranks * KEY);
        assert_int_equal(row->unspoken_large, common + large);
        assert_int_equal(row->connected,
                         sizeof(aq_ibv_peer_t) + DEPTH * (ENTRY + AQ_IBV_INLINE_MAX));
        assert_int_equal(row->connections_static, row->ranks - RANKS_OF_HOST);
    }
}

// The number of exchanges does not grow. Each takes a frame up and a frame down per host. A row
// goes up through as many hosts as the tree is deep, and down no host gets more than all rows.
static void test_start(void **state)
{
    (void)state;
    enum { FRAME = 8 + 9, RANK = 4, MOST_EXCHANGES = 8, DATAGRAMS = 3 };
    for (const row_t *row = rows; row < rows + SIZES; row++) {
        uint64_t deep = 1;
        for (uint64_t reached = 8, level = 8; reached < row->hosts; reached += level, deep++)
            level *= 8;
        const uint64_t frames = row->exchanges * 2 * (uint64_t)row->hosts;
        assert_int_equal(row->exchanges, rows[0].exchanges);
        assert_true(row->exchanges <= MOST_EXCHANGES);
        assert_int_equal(row->frames, frames);
        assert_true(row->bytes_up <=
                    frames / 2 * FRAME +
                        deep * row->ranks * (row->row_bytes + (uint64_t)row->exchanges * RANK));
        assert_int_equal(row->bytes_down,
                         frames / 2 * FRAME + (uint64_t)row->hosts * row->ranks * row->row_bytes);
        assert_true(row->datagrams <= DATAGRAMS);
    }
}

// With XRC a rank has a queue pair for each other host, and a host one for each rank elsewhere: as
// many as ranks elsewhere, twice. A device of 131,072 has room for 656 hosts.
static void test_xrc(void **state)
{
    (void)state;
    for (const row_t *row = rows; row < rows + SIZES; row++) {
        assert_int_equal(row->senders, row->hosts - 1);
        assert_int_equal(row->receivers, row->ranks - RANKS_OF_HOST);
        assert_int_equal(device_pairs(row), 2 * (uint64_t)(row->hosts - 1) * RANKS_OF_HOST);
        assert_int_equal(device_pairs(row), 2 * (uint64_t)row->connections_static);
        assert_true(row->hosts > 656 || device_pairs(row) <= (unsigned)can.max_qp);
    }
    assert_true(2 * 655 * RANKS_OF_HOST <= can.max_qp);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),   cmocka_unit_test(test_buffers),
        cmocka_unit_test(test_credits), cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_start),   cmocka_unit_test(test_xrc),
    };
    return cmocka_run_group_tests(tests, measure_all, NULL);
}
