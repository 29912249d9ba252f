// SPDX-License-Identifier: BSD-3-Clause
// The exchange of addresses: what each rank learns about all others, and how much memory the table
// takes.
#include "../../../unit/unit_test.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "../../../../conduits/ibv/peers/ibv_addresses.h"

enum { RANKS = 600, MOST = 64 };

static struct sockaddr_storage listens[RANKS];
static aq_ibv_listens_t ports[RANKS]; // family 0: the rank listens at the address above
static char announced[RANKS * MOST];  // the announcement of each rank
static aq_ibv_addresses_t table;

// Records the announcement of a rank, and fails, so that the rank learns nothing.
static aq_status_t exchange_announce(aq_boot_t *boot, const void *mine, size_t bytes, void *all)
{
    (void)all;
    memcpy(announced + boot->rank * bytes, mine, bytes);
    return AQ_ERR_PEER;
}

static aq_status_t exchange_learn(aq_boot_t *boot, const void *mine, size_t bytes, void *all)
{
    assert_memory_equal(announced + boot->rank * bytes, mine, bytes);
    memcpy(all, announced, boot->size * bytes);
    return AQ_OK;
}

static aq_ibv_listens_t listens_of(uint32_t rank)
{
    return ports[rank].family ? ports[rank] : aq_ibv_listens_at(&listens[rank]);
}

// Lets all ranks announce their addresses; afterwards `table` is that of the first rank.
static void exchange_all(uint32_t ranks)
{
    const aq_boot_ops_t telling = {.exchange = exchange_announce},
                        learning = {.exchange = exchange_learn};
    aq_boot_t boot = {.ops = &telling, .size = ranks};
    for (boot.rank = 0; boot.rank < ranks; boot.rank++) {
        const aq_ibv_listens_t here = listens_of(boot.rank);
        assert_int_equal(aq_ibv_addresses_exchange(&boot, &here, &table), AQ_ERR_PEER);
        assert_null(table.rows);
    }
    boot.rank = 0;
    boot.ops = &learning;
    const aq_ibv_listens_t here = listens_of(0);
    assert_int_equal(aq_ibv_addresses_exchange(&boot, &here, &table), AQ_OK);
}

static void listen_four(uint32_t rank, uint32_t address)
{
    struct sockaddr_in *four = (struct sockaddr_in *)&listens[rank];
    memset(&listens[rank], 0, sizeof listens[rank]);
    four->sin_family = AF_INET;
    four->sin_port = htons((uint16_t)(1024 + rank));
    four->sin_addr.s_addr = htonl(address);
}

static void listen_six(uint32_t rank, uint8_t last)
{
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)&listens[rank];
    memset(&listens[rank], 0, sizeof listens[rank]);
    six->sin6_family = AF_INET6;
    six->sin6_port = htons((uint16_t)(1024 + rank));
    six->sin6_addr.s6_addr[0] = 0xfd;
    six->sin6_addr.s6_addr[15] = last;
}

static void assert_address(uint32_t rank)
{
    struct sockaddr_storage where;
    assert_true(aq_ibv_addresses_has(&table, rank));
    const socklen_t length = aq_ibv_addresses_get(&table, rank, &where);
    assert_int_equal(length, listens[0].ss_family == AF_INET ? sizeof(struct sockaddr_in)
                                                             : sizeof(struct sockaddr_in6));
    assert_memory_equal(&where, &listens[rank], length);
}

// 600 ranks on 3 hosts take 4 bytes each, plus one address per host.
static void test_hosts(void **state)
{
    (void)state;
    for (uint32_t rank = 0; rank < RANKS; rank++)
        listen_four(rank, 0x0a540001 + rank * 7 % 3);
    exchange_all(RANKS);
    for (uint32_t rank = 0; rank < RANKS; rank++)
        assert_address(rank);
    assert_int_equal(table.count, 3);
    assert_int_equal(aq_ibv_addresses_bytes(&table, RANKS), RANKS * 4 + 3 * 4);
    aq_ibv_addresses_free(&table);
}

// Each rank runs on a different host.
static void test_one_rank_per_host(void **state)
{
    (void)state;
    for (uint32_t rank = 0; rank < RANKS; rank++)
        listen_four(rank, 0x0a540001 + rank * 7919);
    exchange_all(RANKS);
    for (uint32_t rank = 0; rank < RANKS; rank++)
        assert_address(rank);
    assert_int_equal(table.count, RANKS);
    assert_int_equal(aq_ibv_addresses_bytes(&table, RANKS), RANKS * 8);
    aq_ibv_addresses_free(&table);
    for (uint32_t rank = 0; rank < 200; rank++)
        listen_six(rank, (uint8_t)(200 - rank));
    exchange_all(200);
    for (uint32_t rank = 0; rank < 200; rank++)
        assert_address(rank);
    assert_int_equal(aq_ibv_addresses_bytes(&table, 200), 200 * 20);
    aq_ibv_addresses_free(&table);
}

// Ranks that listen on an address of the other address family are unreachable.
static void test_mixed(void **state)
{
    (void)state;
    for (uint32_t rank = 0; rank < 20; rank++)
        if (rank % 3)
            listen_six(rank, (uint8_t)rank);
        else
            listen_four(rank, 0x0a540001 + rank);
    exchange_all(20);
    for (uint32_t rank = 0; rank < 20; rank++)
        if (rank % 3)
            assert_false(aq_ibv_addresses_has(&table, rank));
        else
            assert_address(rank);
    assert_int_equal(table.count, 7);
    assert_int_equal(table.others, 13);
    aq_ibv_addresses_free(&table);
}

// Ranks on 3 hosts whose ports have no IP addresses: 8 bytes each, plus one address per host. A
// rank that listens at an IP address is unreachable.
static void test_ports(void **state)
{
    (void)state;
    for (uint32_t rank = 0; rank < 30; rank++) {
        aq_ibv_port_address_t port = {.gid = {0xfe, 0x80}, .lid = (uint16_t)(1 + rank % 3)};
        ports[rank] = aq_ibv_listens_on(&port, 100 + rank, 1 + rank % 2);
    }
    listen_four(29, 0x0a540001);
    ports[29].family = 0;
    exchange_all(30);
    for (uint32_t rank = 0; rank < 29; rank++) {
        assert_true(aq_ibv_addresses_has(&table, rank));
        assert_int_equal(aq_ibv_addresses_port(&table, rank).lid, 1 + rank % 3);
        assert_int_equal(aq_ibv_addresses_port(&table, rank).gid[0], 0xfe);
        assert_int_equal(aq_ibv_addresses_spread(&table, rank), 1 + rank % 2);
        assert_int_equal(table.queue_pairs[rank], 100 + rank);
    }
    assert_false(aq_ibv_addresses_has(&table, 29));
    assert_int_equal(table.others, 1);
    assert_int_equal(aq_ibv_addresses_bytes(&table, 30), 30 * 8 + 3 * 20);
    aq_ibv_addresses_free(&table);
    memset(ports, 0, sizeof ports);
}

// Gives each rank a different address: the address is the first field of an announcement.
static aq_status_t exchange_distinct(aq_boot_t *boot, const void *mine, size_t bytes, void *all)
{
    for (uint32_t rank = 0; rank < boot->size; rank++) {
        memcpy((char *)all + rank * bytes, mine, bytes);
        memcpy((char *)all + rank * bytes, &rank, sizeof rank);
    }
    return AQ_OK;
}

static void test_too_many(void **state)
{
    (void)state;
    const aq_boot_ops_t ops = {.exchange = exchange_distinct};
    aq_boot_t boot = {.ops = &ops, .size = AQ_IBV_ADDRESSES_MAX};
    listen_four(0, 0x0a540001);
    const aq_ibv_listens_t here = listens_of(0);
    assert_int_equal(aq_ibv_addresses_exchange(&boot, &here, &table), AQ_OK);
    assert_int_equal(table.count, AQ_IBV_ADDRESSES_MAX);
    aq_ibv_addresses_free(&table);
    boot.size++;
    assert_int_equal(aq_ibv_addresses_exchange(&boot, &here, &table), AQ_ERR_RESOURCE);
    assert_null(table.rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hosts),    cmocka_unit_test(test_one_rank_per_host),
        cmocka_unit_test(test_mixed),    cmocka_unit_test(test_ports),
        cmocka_unit_test(test_too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
