// SPDX-License-Identifier: BSD-3-Clause
// The settings of conduit udp, and how its jobs start; other/base/settings/profile.c lists it.
#include "udp_profile.h"

#define SECONDS_MAX 1e9

// One row a variable. Clients and the manual quote the help: keep it true when behaviour changes.
const aq_setting_t aq_udp_rows[UDP_SET_COUNT] = {
    [UDP_SET_SPAWNER] = {"GASNET_UDP_SPAWNER", AQ_TYPE_CHOICE, AQ_UDP_SPAWNER, 0, 0,
                         AQ_SPAWNER_CHOICES,
                         "As GASNET_SPAWNER, for conduit udp only, where it takes precedence. "
                         "configure --with-udp-spawner sets the default, which launchers follow "
                         "unless GASNET_SPAWNER is set."},
    [UDP_SET_WORKERIP] =
        {"GASNET_WORKERIP", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "Network that the processes of conduit udp use among themselves, for example 192.168.0.0: "
         "the interface with this address or in this network. If neither this variable nor "
         "GASNET_MASTERIP is set: the loopback interface if all processes are on one host, "
         "otherwise the interface that leads to the other hosts of the job, or, if the spawner "
         "does not know these, the interface of the default route."},
    [UDP_SET_PORTS] =
        {"GASNET_UDP_PORTS", AQ_TYPE_PORTS, "", 0, 0, NULL,
         "Ports that conduit udp may use, for example 50000-50100 if a firewall opens only these; "
         "each process of a host takes one, and another one for each further endpoint that sends "
         "or receives messages. Default: the kernel chooses."},
    [UDP_SET_MTU] =
        {"GASNET_UDP_MTU", AQ_TYPE_INT, "0", 0, 65535, NULL,
         "The longest packet, in bytes and with IP's header, that conduit udp sends; at least 768 "
         "counts. Give the same value to all processes if the path between hosts drops longer "
         "packets: conduit udp notices that, warns, and sends shorter ones, but loses time. 0: as "
         "long as the interface, that of the peer, and the route take."},
    [UDP_SET_RCVBUF] = {"GASNET_UDP_RCVBUF", AQ_TYPE_BYTES, "4MB", 4096, 1 << 30, NULL,
                        "Size of the kernel's receive buffer for the datagrams of a process of "
                        "conduit udp. The kernel grants at most net.core.rmem_max."},
    [UDP_SET_SNDBUF] = {"GASNET_UDP_SNDBUF", AQ_TYPE_BYTES, "1MB", 4096, 1 << 30, NULL,
                        "Size of the kernel's send buffer for the datagrams of a process of "
                        "conduit udp. The kernel grants at most net.core.wmem_max."},
    [UDP_SET_RECEIVE_MEMORY] =
        {"GASNET_UDP_RECEIVE_MEMORY", AQ_TYPE_BYTES, "10MB", 3 << 20, 1 << 30, NULL,
         "Memory in which a process of conduit udp keeps received datagrams until it handles their "
         "messages, in addition to the kernel's buffer, for all peers together; as much again for "
         "each further endpoint that receives messages. Datagrams that do not fit are dropped, and "
         "the peer retransmits them."},
    [UDP_SET_AUTH] =
        {"GASNET_UDP_AUTH", AQ_TYPE_CHOICE, "auto", 0, 0, "auto encrypt full header token off",
         "How conduit udp protects its datagrams. auto: encrypt between hosts, token on the "
         "loopback interface. encrypt: without the job's key nobody can read, alter, forge or "
         "replay anything (AES-256-GCM or ChaCha20-Poly1305). full: as encrypt, but everybody on "
         "the path can read everything. header: in addition, an attacker on the path can alter the "
         "data of puts, gets and messages, but not where the data goes or which handler runs. "
         "token: stops other users of this host; an attacker who captures packets can forge "
         "anything. off: does not stop anybody who reaches the ports."},
    [UDP_SET_CHECKSUM] = {"GASNET_UDP_CHECKSUM", AQ_TYPE_CHOICE, "auto", 0, 0, "auto yes no",
                          "Whether conduit udp adds a checksum of the data to its datagrams. auto: "
                          "yes, except on the loopback interface, which is memory. "
                          "GASNET_UDP_AUTH=encrypt and full protect the data without it."},
    [UDP_SET_PEER_TIMEOUT] = {"GASNET_UDP_PEER_TIMEOUT", AQ_TYPE_REAL, "0", 0, SECONDS_MAX, NULL,
                              "Seconds after which a process of conduit udp that does not answer "
                              "is considered dead, and the job ends. A process answers only when "
                              "it calls the runtime, so choose more than the longest computation "
                              "between calls. 0: never; the launcher reports when a process dies."},
    [UDP_SET_SILENCE_WARN] = {"GASNET_UDP_SILENCE_WARN", AQ_TYPE_REAL, "10", 0, SECONDS_MAX, NULL,
                              "Seconds after which a process of conduit udp warns, once, of a peer "
                              "that does not answer. 0: never."},
    [UDP_SET_FAULT_DROP] = {"GASNET_UDP_FAULT_DROP", AQ_TYPE_REAL, "0", 0, 100, NULL,
                            "For tests: percentage of datagrams that conduit udp drops on purpose. "
                            "At 100 nothing ever arrives."},
    [UDP_SET_FAULT_DUPLICATE] =
        {"GASNET_UDP_FAULT_DUPLICATE", AQ_TYPE_REAL, "0", 0, 100, NULL,
         "For tests: percentage of datagrams that conduit udp sends twice on purpose."},
    [UDP_SET_FAULT_REORDER] =
        {"GASNET_UDP_FAULT_REORDER", AQ_TYPE_REAL, "0", 0, 100, NULL,
         "For tests: percentage of datagrams that conduit udp sends out of order on purpose."},
    [UDP_SET_FAULT_DELAY] = {"GASNET_UDP_FAULT_DELAY", AQ_TYPE_REAL, "0", 0, 100, NULL,
                             "For tests: percentage of datagrams that conduit udp delays on "
                             "purpose; see GASNET_UDP_FAULT_DELAY_MS."},
    [UDP_SET_FAULT_DELAY_MS] =
        {"GASNET_UDP_FAULT_DELAY_MS", AQ_TYPE_REAL, "10", 0, 60000, NULL,
         "For tests: longest delay of GASNET_UDP_FAULT_DELAY, in milliseconds."},
    [UDP_SET_FAULT_TRUNCATE] =
        {"GASNET_UDP_FAULT_TRUNCATE", AQ_TYPE_REAL, "0", 0, 100, NULL,
         "For tests: percentage of datagrams that conduit udp truncates on purpose."},
    [UDP_SET_FAULT_FLIP] =
        {"GASNET_UDP_FAULT_FLIP", AQ_TYPE_REAL, "0", 0, 100, NULL,
         "For tests: percentage of datagrams in which conduit udp flips a bit on purpose. Only "
         "GASNET_UDP_CHECKSUM=yes and GASNET_UDP_AUTH=full or encrypt protect the data."},
    [UDP_SET_FAULT_FORGE] =
        {"GASNET_UDP_FAULT_FORGE", AQ_TYPE_REAL, "0", 0, 100, NULL,
         "For tests: percentage of datagrams in which conduit udp flips a bit on purpose before it "
         "encrypts or signs them, as a malicious process of the job could. No protection detects "
         "this: data may be wrong, and the job may end or hang."},
    [UDP_SET_FAULT_SEED] =
        {"GASNET_UDP_FAULT_SEED", AQ_TYPE_INT, "1", 0, 0, NULL,
         "For tests: seed of the random numbers for GASNET_UDP_FAULT_DROP and its relatives."},
};

const aq_setting_group_t aq_udp_settings = {"conduit udp", aq_udp_rows, UDP_SET_COUNT};

const aq_conduit_profile_t aq_udp_profile = {
    .name = "udp",
    .settings = &aq_udp_settings,
    .spawner = &aq_udp_rows[UDP_SET_SPAWNER],
    .spawners = AQ_SPAWNERS,
    .spawn_letters = true,
    .rank_argument = true,
};
