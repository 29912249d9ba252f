// SPDX-License-Identifier: BSD-3-Clause
// The choice of a provider, tested with lists that are made by hand, without libfabric.
#include "../../../unit/unit_test.h"

#include <arpa/inet.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <stdio.h>
#include <string.h>

#include "../../../../conduits/ofi/fabric/ofi_explain.h"

// ---- lists by hand ----

enum { ENTRIES = 16 };

typedef struct made {
    struct fi_info info;
    struct fi_tx_attr tx;
    struct fi_rx_attr rx;
    struct fi_ep_attr ep;
    struct fi_domain_attr domain;
    struct fi_fabric_attr fabric;
    ofi_sockaddr_t address;
    char provider[32], name[32];
} made_t;

// [0] is what the conduit can use, [1] is everything.
static made_t made[2][ENTRIES];
static size_t made_count[2];

static int setup(void **state)
{
    (void)state;
    memset(made, 0, sizeof made);
    memset(made_count, 0, sizeof made_count);
    return 0;
}

static void address_set(made_t *entry, const char *text)
{
    entry->info.src_addr = &entry->address;
    entry->info.addr_format = strchr(text, ':') ? FI_SOCKADDR_IN6 : FI_SOCKADDR_IN;
    if (inet_pton(AF_INET, text, &entry->address.v4.sin_addr) == 1) {
        entry->address.any.sa_family = AF_INET;
        entry->info.src_addrlen = sizeof entry->address.v4;
        return;
    }
    entry->address.any.sa_family = AF_INET6;
    assert_int_equal(inet_pton(AF_INET6, text, &entry->address.v6.sin6_addr), 1);
    entry->info.src_addrlen = sizeof entry->address.v6;
}

// address: numeric, or NULL for a fabric with addresses of its own.
static made_t *add(unsigned list, const char *provider, const char *domain, const char *address)
{
    assert_true(made_count[list] < ENTRIES);
    made_t *entry = &made[list][made_count[list]++];
    entry->ep = (struct fi_ep_attr){.type = FI_EP_RDM, .max_msg_size = 1 << 30};
    entry->info = (struct fi_info){.caps = FI_MSG | FI_RMA,
                                   .addr_format = FI_ADDR_STR,
                                   .tx_attr = &entry->tx,
                                   .rx_attr = &entry->rx,
                                   .ep_attr = &entry->ep,
                                   .domain_attr = &entry->domain,
                                   .fabric_attr = &entry->fabric};
    snprintf(entry->provider, sizeof entry->provider, "%s", provider);
    snprintf(entry->name, sizeof entry->name, "%s", domain);
    entry->fabric.prov_name = entry->provider;
    entry->fabric.name = entry->name;
    entry->domain.name = entry->name;
    if (address)
        address_set(entry, address);
    if (entry != made[list])
        entry[-1].info.next = &entry->info;
    return entry;
}

static void add_ip(const char *provider)
{
    add(0, provider, "eth0", "10.1.0.5");
    add(0, provider, "eth0", "fe80::5");
    add(0, provider, "eth0", "fd00::5");
    add(0, provider, "lo", "127.0.0.1");
    add(0, provider, "lo", "::1");
}

// ---- rankings ----

static ofi_ranking_t ranking;

static int teardown(void **state)
{
    (void)state;
    ofi_ranking_free(&ranking);
    return 0;
}

static const ofi_criteria_t here = {.provider = "", .domain = "", .single_host = true};
static const ofi_criteria_t wide = {.provider = "", .domain = ""};

static ofi_criteria_t routed(const char *source)
{
    ofi_criteria_t criteria = {.provider = "", .domain = "", .peer_known = true};
    criteria.route.any.sa_family = strchr(source, ':') ? AF_INET6 : AF_INET;
    void *to =
        strchr(source, ':') ? (void *)&criteria.route.v6.sin6_addr : &criteria.route.v4.sin_addr;
    assert_int_equal(inet_pton(criteria.route.any.sa_family, source, to), 1);
    return criteria;
}

static void rank(const ofi_criteria_t *criteria)
{
    ofi_ranking_free(&ranking);
    assert_true(ofi_ranking_make(&ranking, made_count[0] ? &made[0][0].info : NULL,
                                 made_count[1] ? &made[1][0].info : NULL, criteria));
}

static const ofi_entry_t *entry_of(const char *provider, const char *domain)
{
    for (size_t i = 0; i < ranking.count; i++)
        if (strcmp(ranking.entries[i].info->fabric_attr->prov_name, provider) == 0 &&
            strcmp(ranking.entries[i].info->domain_attr->name, domain) == 0)
            return &ranking.entries[i];
    fail_msg("%s on %s is not listed", provider, domain);
    return NULL;
}

// The chosen one, as PROVIDER/ADDRESS or PROVIDER/DOMAIN.
static void assert_first(const ofi_criteria_t *criteria, const char *wanted)
{
    char address[INET6_ADDRSTRLEN], found[100] = "none";
    rank(criteria);
    if (ranking.count && ranking.entries[0].verdict == OFI_FIRST) {
        const struct fi_info *info = ranking.entries[0].info;
        ofi_address_text(info, address);
        snprintf(found, sizeof found, "%s/%s", info->fabric_attr->prov_name,
                 *address ? address : info->domain_attr->name);
    }
    assert_string_equal(found, wanted);
}

static void assert_why(const char *provider, ofi_verdict_t verdict, const char *words)
{
    const ofi_entry_t *entry = entry_of(provider, "d");
    assert_int_equal(entry->verdict, verdict);
    if (!strstr(entry->why, words))
        fail_msg("'%s' is not in '%s'", words, entry->why);
}

// ---- order ----

static void test_hardware_first(void **state)
{
    (void)state;
    static const char *const order[] = {
        "cxi", "efa", "psm3",        "psm2",        "opx", "verbs;ofi_rxm", "verbs;ofi_rxd", "bgq",
        "gni", "ucx", "tcp;ofi_rxm", "net;ofi_rxm", "net", "sockets",       "udp;ofi_rxd"};
    enum { ORDER = sizeof order / sizeof order[0] };
    for (size_t i = ORDER; i-- > 0;)
        add(0, order[i], "d", NULL);
    rank(&wide);
    assert_int_equal(ranking.count, ORDER);
    for (size_t i = 0; i < ORDER; i++)
        assert_string_equal(ranking.entries[i].info->fabric_attr->prov_name, order[i]);
    assert_int_equal(ranking.entries[0].verdict, OFI_FIRST);
    assert_why("efa", OFI_LATER, "cxi on d precedes it");
}

static void test_unknown_last(void **state)
{
    (void)state;
    add(0, "novel", "d", NULL);
    assert_first(&wide, "novel/d");
    add(0, "udp;ofi_rxd", "d", NULL);
    assert_first(&wide, "udp;ofi_rxd/d");
    assert_why("novel", OFI_LATER, "precedes it");
}

static void test_debug_by_name_only(void **state)
{
    (void)state;
    add(0, "tcp;ofi_rxm;ofi_hook_debug", "d", NULL);
    assert_first(&wide, "none");
    assert_why("tcp;ofi_rxm;ofi_hook_debug", OFI_BARRED, "debugging");
    ofi_criteria_t criteria = wide;
    criteria.provider = "tcp;ofi_rxm;ofi_hook_debug";
    assert_first(&criteria, "tcp;ofi_rxm;ofi_hook_debug/d");
}

static void test_shm_here_only(void **state)
{
    (void)state;
    add(0, "shm", "d", NULL);
    assert_first(&wide, "none");
    assert_why("shm", OFI_BARRED, "this host only");
    assert_first(&here, "shm/d");
    add_ip("tcp;ofi_rxm");
    assert_first(&here, "tcp;ofi_rxm/127.0.0.1");
}

static void test_repetitions(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++)
        add(0, "tcp;ofi_rxm", "eth0", "10.1.0.5");
    add(1, "tcp;ofi_rxm", "eth0", "10.1.0.5")->info.mode = FI_RX_CQ_DATA;
    rank(&wide);
    assert_int_equal(ranking.count, 1);
    assert_int_equal(ranking.entries[0].verdict, OFI_FIRST);
}

static void test_equal_keep_order(void **state)
{
    (void)state;
    add(0, "efa", "rdmap0s6-rdm", NULL);
    add(0, "efa", "rdmap1s6-rdm", NULL);
    assert_first(&wide, "efa/rdmap0s6-rdm");
}

static void test_nothing(void **state)
{
    (void)state;
    assert_first(&wide, "none");
    assert_int_equal(ranking.count, 0);
}

// ---- networks ----

static void test_addresses(void **state)
{
    (void)state;
    add_ip("tcp;ofi_rxm");
    assert_first(&here, "tcp;ofi_rxm/127.0.0.1");
    assert_first(&wide, "tcp;ofi_rxm/10.1.0.5");
    for (size_t i = 0; i < ranking.count; i++) {
        const bool link_local = strstr(ranking.entries[i].why, "link-local") != NULL;
        char address[INET6_ADDRSTRLEN];
        ofi_address_text(ranking.entries[i].info, address);
        assert_int_equal(link_local, strcmp(address, "fe80::5") == 0);
    }
}

static void test_route(void **state)
{
    (void)state;
    add_ip("tcp;ofi_rxm");
    add(0, "tcp;ofi_rxm", "eth1", "10.2.0.5");
    add(0, "net", "eth1", "10.2.0.5");
    ofi_criteria_t criteria = routed("10.2.0.5");
    assert_first(&criteria, "tcp;ofi_rxm/10.2.0.5");
    assert_int_equal(entry_of("tcp;ofi_rxm", "eth0")->verdict, OFI_BARRED);
    assert_non_null(strstr(entry_of("tcp;ofi_rxm", "eth0")->why, "not on the way"));
    criteria = routed("fd00::5");
    assert_first(&criteria, "tcp;ofi_rxm/fd00::5");
    criteria = routed("10.9.0.5");
    assert_first(&criteria, "none");
    criteria.domain = "eth0";
    assert_first(&criteria, "tcp;ofi_rxm/10.1.0.5");
    criteria.domain = "fd00::5";
    assert_first(&criteria, "tcp;ofi_rxm/fd00::5");
}

// The default route prefers a network and bars none.
static void test_default_route(void **state)
{
    (void)state;
    add(0, "net", "eth0", "10.1.0.5");
    add(0, "net", "eth1", "10.2.0.5");
    ofi_criteria_t criteria = routed("10.2.0.5");
    criteria.peer_known = false;
    assert_first(&criteria, "net/10.2.0.5");
    assert_int_equal(entry_of("net", "eth0")->verdict, OFI_LATER);
}

// Peers are known by their Ethernet address, and a fabric has a network of its own.
static void test_hardware_off_route(void **state)
{
    (void)state;
    add(0, "verbs;ofi_rxm", "mlx5_0", "10.8.0.5");
    add(0, "tcp;ofi_rxm", "eth0", "10.1.0.5");
    const ofi_criteria_t criteria = routed("10.1.0.5");
    assert_first(&criteria, "verbs;ofi_rxm/10.8.0.5");
}

// Nothing can be bound to the InfiniBand address of a device for RoCE. A device for InfiniBand may
// have no other.
static void test_infiniband_address_last(void **state)
{
    (void)state;
    add(0, "verbs;ofi_rxm", "ib", NULL)->info.addr_format = FI_SOCKADDR_IB;
    assert_first(&wide, "verbs;ofi_rxm/ib");
    add(0, "verbs;ofi_rxm", "roce", "fd00::5");
    add(0, "verbs;ofi_rxm", "roce", "10.8.0.5");
    add(0, "tcp;ofi_rxm", "eth0", "10.1.0.5");
    assert_first(&wide, "verbs;ofi_rxm/10.8.0.5");
    assert_first(&here, "verbs;ofi_rxm/10.8.0.5");
    assert_string_equal(ranking.entries[2].info->domain_attr->name, "ib");
}

// ---- what is missing ----

static void test_unfit(void **state)
{
    (void)state;
    add(1, "a", "d", NULL)->ep.type = FI_EP_MSG;
    add(1, "b", "d", NULL)->ep.type = FI_EP_DGRAM;
    add(1, "c", "d", NULL)->info.caps = FI_TAGGED;
    add(1, "e", "d", NULL)->ep.max_msg_size = OFI_MESSAGE_MIN - 1;
    add(1, "f", "d", NULL)->info.mode = FI_CONTEXT | FI_RX_CQ_DATA;
    add(1, "g", "d", NULL)->domain.mr_mode = FI_MR_LOCAL | FI_MR_RAW;
    add(1, "h", "d", NULL)->domain.mr_mode = FI_MR_MMU_NOTIFY;
    add(1, "i", "d", NULL)->domain.mr_mode = FI_MR_HMEM;
    add(1, "j", "d", NULL);
    assert_first(&wide, "none");
    assert_why("a", OFI_UNFIT, "FI_EP_MSG");
    assert_why("b", OFI_UNFIT, "FI_EP_DGRAM");
    assert_why("c", OFI_UNFIT, "FI_MSG");
    assert_why("e", OFI_UNFIT, "at most 1023 bytes");
    assert_why("f", OFI_UNFIT, "FI_RX_CQ_DATA");
    assert_why("g", OFI_UNFIT, "FI_MR_RAW");
    assert_why("h", OFI_UNFIT, "FI_MR_MMU_NOTIFY");
    assert_why("i", OFI_UNFIT, "FI_MR_HMEM");
    assert_why("j", OFI_UNFIT, "does not offer");
}

// Each of these is used as it is. The mode of psm2, and that efa needs no FI_MR_LOCAL, are from the
// manual pages of libfabric 1.17; tcp;ofi_rxm was seen here. The other bits are assumed, not
// checked against a document or a device.
static void test_replayed(void **state)
{
    (void)state;
    static const struct {
        const char *provider, *domain;
        uint64_t mode;
        int mr;
        size_t message;
    } sets[] = {
        {"cxi", "cxi0", 0, FI_MR_ENDPOINT | FI_MR_ALLOCATED | FI_MR_PROV_KEY, 1 << 30},
        {"efa", "rdmap0s6-rdm", 0, FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY, SIZE_MAX},
        {"efa", "efa_0-rdm", 0, FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY,
         SIZE_MAX},
        {"psm2", "hfi1_0", FI_CONTEXT, 0, SIZE_MAX},
        {"opx", "hfi1_0", FI_CONTEXT2, FI_MR_VIRT_ADDR, SIZE_MAX},
        {"verbs;ofi_rxm", "mlx5_0", 0,
         FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY, 1 << 30},
        {"tcp;ofi_rxm", "eth0", 0, 0, SIZE_MAX},
    };
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        setup(NULL);
        made_t *entry = add(0, sets[i].provider, sets[i].domain, NULL);
        entry->info.mode = sets[i].mode;
        entry->domain.mr_mode = sets[i].mr;
        entry->ep.max_msg_size = sets[i].message;
        rank(&wide);
        assert_int_equal(ranking.entries[0].verdict, OFI_FIRST);
        assert_int_equal(ofi_is_software(sets[i].provider), i == 6);
    }
}

// ---- settings ----

static void test_names(void **state)
{
    (void)state;
    assert_true(ofi_provider_is("tcp;ofi_rxm", "tcp;ofi_rxm"));
    assert_true(ofi_provider_is("tcp;ofi_rxm", "TCP:ofi_rxm"));
    assert_true(ofi_provider_is("tcp;ofi_rxm", "tcp"));
    assert_false(ofi_provider_is("tcp;ofi_rxm", "tc"));
    assert_false(ofi_provider_is("tcp;ofi_rxm", "ofi_rxm"));
    assert_false(ofi_provider_is("tcp", "tcp;ofi_rxm"));
}

static void test_named(void **state)
{
    (void)state;
    add_ip("net;ofi_rxm");
    add_ip("net");
    add(0, "shm", "shm", NULL);
    ofi_criteria_t criteria = here;
    criteria.provider = "net";
    assert_first(&criteria, "net/127.0.0.1");
    assert_non_null(strstr(entry_of("shm", "shm")->why, "GASNET_OFI_PROVIDER=net excludes it"));
    criteria.provider = "net:ofi_rxm";
    assert_first(&criteria, "net;ofi_rxm/127.0.0.1");
    criteria.domain = "eth0";
    assert_first(&criteria, "net;ofi_rxm/10.1.0.5");
    criteria.domain = "::1";
    assert_first(&criteria, "net;ofi_rxm/::1");
    assert_non_null(strstr(entry_of("net;ofi_rxm", "eth0")->why, "GASNET_OFI_DOMAIN=::1"));
}

// ---- sentences ----

static void assert_sentence(const ofi_criteria_t *criteria, const char *filter, const char *first,
                            const char *second)
{
    char why[1024];
    rank(criteria);
    ofi_explain(&ranking, criteria, filter, why, sizeof why);
    if (!strstr(why, first) || !strstr(why, second))
        fail_msg("'%s' or '%s' is not in '%s'", first, second, why);
}

static void test_sentences(void **state)
{
    (void)state;
    ofi_criteria_t criteria = here;
    assert_sentence(&criteria, NULL, "finds no provider", "install");
    assert_sentence(&criteria, "nothing", "FI_PROVIDER=nothing hides all", "unset");
    add_ip("tcp;ofi_rxm");
    add(0, "shm", "shm", NULL);
    add(1, "verbs", "mlx5_0", "10.8.0.5")->ep.type = FI_EP_MSG;
    criteria.provider = "efa";
    assert_sentence(&criteria, NULL, "GASNET_OFI_PROVIDER: libfabric finds no provider 'efa'",
                    "name one of tcp;ofi_rxm, shm, or");
    assert_sentence(&criteria, "tcp", "'efa'", "FI_PROVIDER=tcp hides");
    criteria.provider = "verbs";
    assert_sentence(&criteria, NULL, "provider verbs on mlx5_0 cannot be used", "FI_EP_MSG");
    criteria.provider = "tcp";
    criteria.domain = "ib0";
    assert_sentence(&criteria, NULL, "GASNET_OFI_DOMAIN: there is no domain 'ib0'", "has lo, eth0");
    criteria = wide;
    criteria.provider = "shm";
    assert_sentence(&criteria, NULL, "provider shm on shm cannot be used", "this host only");
    criteria = wide;
    criteria.domain = "lo";
    assert_sentence(&criteria, NULL, "tcp;ofi_rxm on lo cannot be used", "this host only");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_hardware_first, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unknown_last, setup, teardown),
        cmocka_unit_test_setup_teardown(test_debug_by_name_only, setup, teardown),
        cmocka_unit_test_setup_teardown(test_shm_here_only, setup, teardown),
        cmocka_unit_test_setup_teardown(test_repetitions, setup, teardown),
        cmocka_unit_test_setup_teardown(test_equal_keep_order, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_addresses, setup, teardown),
        cmocka_unit_test_setup_teardown(test_route, setup, teardown),
        cmocka_unit_test_setup_teardown(test_default_route, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hardware_off_route, setup, teardown),
        cmocka_unit_test_setup_teardown(test_infiniband_address_last, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unfit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_replayed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_names, setup, teardown),
        cmocka_unit_test_setup_teardown(test_named, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sentences, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
