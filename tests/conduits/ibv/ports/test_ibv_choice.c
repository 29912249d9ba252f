// SPDX-License-Identifier: BSD-3-Clause
// The choice of ports and addresses, tested with lists of ports, without a device.
#include "../../../unit/unit_test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <string.h>

#include "../../../../conduits/ibv/ports/ibv_ports.h"

static aq_ibv_gid_t plain[] = {{.address = {0xfe, 0x80, [15] = 1}}};

// A list of ports, made from text: NAME/NUMBER/LETTERS, separated by blanks. The letters are i for
// InfiniBand, r for RoCE, w for iWARP, x for another network; a for active, d for down, n for
// initializing; g for a port without an address. Number 0 means that the device cannot be opened.
typedef struct list {
    aq_ibv_ports_t ports;
    aq_ibv_port_t room[8];
    aq_ibv_use_t uses[8];
} list_t;

static void set_letter(aq_ibv_port_t *port, char letter)
{
    static const char links[] = "xirw", states[] = "?dn?a";
    const char *link = strchr(links, letter), *state = strchr(states, letter);
    if (link != NULL)
        port->link = (aq_ibv_link_t)(link - links);
    else if (state != NULL)
        port->state = (aq_ibv_port_state_t)(state - states);
    else
        port->gid_count = 0;
}

static void make_list(list_t *list, const char *text)
{
    char letters[8];
    int length;
    *list = (list_t){.ports.list = list->room};
    for (; *text != '\0'; text += length) {
        aq_ibv_port_t *port = &list->room[list->ports.count++];
        *port = (aq_ibv_port_t){.gids = plain, .gid_count = 1, .fault = EACCES};
        assert_int_equal(
            sscanf(text, " %63[^/]/%u/%7s%n", port->device, &port->number, letters, &length), 3);
        for (const char *letter = letters; *letter != '\0'; letter++)
            set_letter(port, *letter);
    }
}

static const char use_letters[] = "UDPCLOAGFSN"; // in the order of aq_ibv_use_t

// Chooses ports of a list with a filter, and compares the decisions, one letter for each port, with
// `wanted`.
static void assert_choice(const char *text, const char *filter, size_t rails, const char *wanted)
{
    list_t list;
    char got[9] = "";
    size_t used = 0;
    make_list(&list, text);
    size_t usable = aq_ibv_choose(&list.ports, filter, rails, list.uses);
    for (size_t i = 0; i < list.ports.count; i++) {
        got[i] = use_letters[list.uses[i]];
        used += got[i] == 'U';
        assert_int_equal(aq_ibv_use_words(&list.room[i], list.uses[i]) == NULL, got[i] == 'U');
    }
    if (strcmp(got, wanted) != 0)
        fail_msg("filter '%s' on ports '%s' gives %s, not %s", filter, text, got, wanted);
    assert_int_equal(usable, used);
}

static void test_ports(void **state)
{
    (void)state;
    assert_choice("", "", 1, "");
    assert_choice("a/1/ia", "", 1, "U");
    assert_choice("a/1/ra", "", 1, "U");
    assert_choice("a/1/wa", "", 1, "O");
    assert_choice("a/1/wa b/1/ra", "", 2, "OU");
    assert_choice("a/1/xa", "", 1, "L");
    assert_choice("a/1/id", "", 1, "A");
    assert_choice("a/1/in", "", 1, "A");
    assert_choice("a/1/rag", "", 1, "G");
    assert_choice("a/0/x", "", 1, "C");
    assert_choice("a/1/id a/2/ia b/1/ia", "", 1, "AUS");
    assert_choice("a/1/ia a/2/ia b/1/ia", "", 2, "UFU");
    assert_choice("a/1/ia a/2/ia b/1/ia", "", 1, "UFS");
    assert_choice("a/0/x b/1/ra", "", 4, "CU");
    assert_choice("a/1/ia", "", 0, "S");
}

static void test_filter(void **state)
{
    (void)state;
    const char *four = "a/1/ia a/2/ia b/1/id b/2/ra";
    assert_choice(four, "a", 4, "UFDD");
    assert_choice(four, "a:2", 4, "PUDD");
    assert_choice(four, "a:1,2", 4, "UUDD");
    assert_choice(four, "a+a:2", 4, "UUDD");
    assert_choice(four, "b", 4, "DDAU");
    assert_choice(four, "b:1", 4, "DDAP");
    assert_choice(four, "b+a:2+nothing:7", 4, "PUAU");
    assert_choice(four, "b:2+a:2", 1, "PUPS"); // in the order of the list, not of the filter
    assert_choice(four, "c", 4, "DDDD");
    assert_choice("a/0/x", "a:2", 1, "C");
    assert_choice("a/0/x", "b", 1, "D");
}

static aq_ibv_gid_t gid(const char *address, aq_ibv_gid_type_t type)
{
    aq_ibv_gid_t it = {.type = type};
    assert_int_equal(inet_pton(AF_INET6, address, it.address), 1);
    return it;
}

// Each address of `order` is preferred to all addresses behind it, whatever their places in the
// port's table.
static void test_addresses(void **state)
{
    (void)state;
    aq_ibv_gid_t order[] = {
        gid("::ffff:10.84.0.1", AQ_IBV_GID_ROCE_V2),   gid("2001:db8::1", AQ_IBV_GID_ROCE_V2),
        gid("::ffff:10.84.0.1", AQ_IBV_GID_ROCE_V1),   gid("fd00::1", AQ_IBV_GID_ROCE_V1),
        gid("::ffff:169.254.3.4", AQ_IBV_GID_ROCE_V2), gid("fe80::1", AQ_IBV_GID_ROCE_V2),
        gid("::ffff:127.0.0.1", AQ_IBV_GID_ROCE_V1),   gid("febf::1", AQ_IBV_GID_ROCE_V1),
    };
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
        for (size_t j = i + 1; j < sizeof order / sizeof order[0]; j++) {
            aq_ibv_gid_t two[] = {order[j], order[i]};
            aq_ibv_port_t port = {.link = AQ_IBV_LINK_ROCE, .gids = two, .gid_count = 2};
            if (aq_ibv_best_gid(&port) != &two[1])
                fail_msg("address %zu is preferred to address %zu", j, i);
            aq_ibv_gid_t turned[] = {order[i], order[j]};
            port.gids = turned;
            assert_ptr_equal(aq_ibv_best_gid(&port), &turned[0]);
            port.link = AQ_IBV_LINK_INFINIBAND; // always uses its first address
            port.gids = two;
            assert_ptr_equal(aq_ibv_best_gid(&port), &two[0]);
        }
    assert_null(aq_ibv_best_gid(&(aq_ibv_port_t){.link = AQ_IBV_LINK_ROCE}));
}

// No port of the list is used, and the message about that contains all of these words.
static void assert_explained(const char *text, const char *filter, const char *const *words)
{
    list_t list;
    char why[512];
    make_list(&list, text);
    assert_int_equal(aq_ibv_choose(&list.ports, filter, 1, list.uses), 0);
    aq_ibv_explain(&list.ports, filter, list.uses, why, sizeof why);
    for (; *words != NULL; words++)
        if (strstr(why, *words) == NULL)
            fail_msg("'%s' is missing in: %s", *words, why);
    char room[16];
    memset(room, 'x', sizeof room);
    aq_ibv_explain(&list.ports, filter, list.uses, room, sizeof room - 1);
    assert_int_equal(strlen(room), sizeof room - 2);
    assert_int_equal(room[15], 'x');
}

static void test_sentences(void **state)
{
    (void)state;
    assert_explained("", "",
                     (const char *const[]){"no verbs device", "needed", "rdma link add", NULL});
    assert_explained("a/1/rd", "",
                     (const char *const[]){"an active port is needed", "port 1 of a is down",
                                           "ip link set", NULL});
    assert_explained("a/1/id b/1/in", "",
                     (const char *const[]){
                         "port 1 of a is down; connect its cable",
                         ". Also, port 1 of b is not active yet; start a subnet manager", NULL});
    assert_explained("a/0/x", "",
                     (const char *const[]){"device a cannot be opened", "/dev/infiniband", NULL});
    assert_explained("a/1/wa", "",
                     (const char *const[]){"port 1 of a is of iWARP", "conduit ofi", NULL});
    assert_explained("a/1/ia b/1/rd", "c:1",
                     (const char *const[]){"GASNET_IBV_PORTS='c:1'",
                                           "port 1 of a (InfiniBand, active)",
                                           "port 1 of b (RoCE, down)", "unset the variable", NULL});
    assert_explained("a/1/ia a/2/id", "a:2",
                     (const char *const[]){"port 2 of a is down", "connect its cable", NULL});
    assert_explained(
        "a/1/ia b/1/ia c/1/ia d/1/ia e/1/ia", "x",
        (const char *const[]){"port 1 of d (InfiniBand, active) and more; name one", NULL});
}

static void assert_abilities(const struct ibv_device_attr *device,
                             const struct ibv_odp_caps *paging, const char *wanted)
{
    char text[128];
    const aq_ibv_device_limits_t limits = aq_ibv_device_limits(device, paging);
    aq_ibv_abilities_words(&limits, text, sizeof text);
    assert_string_equal(text, wanted);
}

// What gasnet_info says about made-up devices: on-demand paging, XRC, DC.
static void test_abilities(void **state)
{
    (void)state;
    enum { RC = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ };
    struct ibv_device_attr device = {.vendor_id = 0xffffff, .vendor_part_id = 5000};
    struct ibv_odp_caps paging = {.general_caps = 0};
    assert_abilities(&device, &paging, "on-demand paging: no; XRC: no; DC: no");
    paging.general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT;
    assert_abilities(&device, &paging, "on-demand paging: no; XRC: no; DC: no");
    paging.per_transport_caps.rc_odp_caps = RC;
    assert_abilities(&device, &paging, "on-demand paging: of all memory; XRC: no; DC: no");
    device.atomic_cap = IBV_ATOMIC_HCA; // memory that is paged has to be open to its atomics
    assert_abilities(&device, &paging, "on-demand paging: no; XRC: no; DC: no");
    paging.per_transport_caps.rc_odp_caps |= IBV_ODP_SUPPORT_ATOMIC;
    paging.general_caps = IBV_ODP_SUPPORT;
    device.device_cap_flags = IBV_DEVICE_XRC;
    assert_abilities(&device, &paging, "on-demand paging: of registered memory; XRC: yes; DC: no");
    device.vendor_id = 0x02c9; // ConnectX-3, then Connect-IB
    device.vendor_part_id = 4103;
    assert_abilities(&device, &paging, "on-demand paging: of registered memory; XRC: yes; DC: no");
    device.vendor_part_id = 4113;
    assert_abilities(&device, &paging, "on-demand paging: of registered memory; XRC: yes; DC: yes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ports),     cmocka_unit_test(test_abilities),
        cmocka_unit_test(test_filter),    cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_sentences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
