// SPDX-License-Identifier: BSD-3-Clause
// The settings of conduit ibv, and how its jobs start; other/base/settings/profile.c lists it.
#include "ibv_profile.h"

// One row a variable. Clients and the manual quote the help: keep it true when behaviour changes.
const aq_setting_t aq_ibv_rows[IBV_SET_COUNT] = {
    [IBV_SET_SPAWNER] = {"GASNET_IBV_SPAWNER", AQ_TYPE_CHOICE, AQ_IBV_SPAWNER, 0, 0,
                         AQ_SPAWNER_CHOICES,
                         "As GASNET_SPAWNER, for conduit ibv only, where it takes precedence. "
                         "configure --with-ibv-spawner sets the default, which launchers follow "
                         "unless GASNET_SPAWNER is set."},
    [IBV_SET_PORTS] =
        {"GASNET_IBV_PORTS", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "Ports that conduit ibv may use: devices separated by +, each followed by a colon and "
         "port numbers if not all of its ports are allowed: mlx5_0+mlx5_1:1,2. The list is a "
         "filter: ports that do not exist or are not active are skipped, and order has no meaning. "
         "Default: every port is allowed, but one of a device, and GASNET_NUM_QPS or two in all. "
         "gasnet_info lists the ports and says which ones are used."},
    [IBV_SET_PORTS_TYPE] =
        {"GASNET_IBV_PORTS_TYPE", AQ_TYPE_TEXT, "Socket", 0, 0, NULL,
         "Conduit ibv: by what the processes of a host differ in their ports; the same at all "
         "processes. Auto: each has one of the ports of GASNET_IBV_PORTS, the nearest to its "
         "processors and memory; processes with equally near ports share them evenly. None: "
         "GASNET_IBV_PORTS holds for all. Otherwise GASNET_IBV_PORTS_N holds, if it is set, for "
         "processes with the number N: JRank, HRank, NRank: their rank in the job, on the host, in "
         "the neighbourhood; Socket, NUMANode, Core and other objects of hwloc: the object on "
         "which they run, or several (GASNET_IBV_PORTS_0_1). '/ 8' or '% 4' behind it divides the "
         "numbers or takes the remainder. gasnet_info says which rank takes which port."},
    [IBV_SET_HWLOC_QUERY] =
        {"GASNET_HWLOC_QUERY", AQ_TYPE_CHOICE, "thread", 0, 0, "thread process",
         "Conduit ibv: whose processors GASNET_IBV_PORTS_TYPE looks at: those of the thread that "
         "initializes the library, or those of the process with all its threads."},
    [IBV_SET_HCA_ID] =
        {"GASNET_HCA_ID", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "Accepted for conduit ibv without effect, with a warning: use GASNET_IBV_PORTS instead."},
    [IBV_SET_PORT_NUM] =
        {"GASNET_PORT_NUM", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "Accepted for conduit ibv without effect, with a warning: use GASNET_IBV_PORTS instead."},
    [IBV_SET_NUM_QPS] =
        {"GASNET_NUM_QPS", AQ_TYPE_INT, "0", 0, 64, NULL,
         "Conduit ibv: queue pairs over which puts and gets to a peer are spread if they are "
         "longer than 4096 bytes, in pieces of GASNET_PUT_STRIPE_SZ and GASNET_GET_STRIPE_SZ; on "
         "as many ports, in turn, as there are and GASNET_IBV_PORTS allows. A peer that has fewer "
         "decides. 0: one for each port, on two ports or on all that GASNET_IBV_PORTS names. 1: "
         "one queue pair, on one port. Messages, atomics and short puts and gets use the first "
         "port."},
    [IBV_SET_PUT_STRIPE_SZ] =
        {"GASNET_PUT_STRIPE_SZ", AQ_TYPE_KILOBYTES, "128KB", 0, 1e12, NULL,
         "Conduit ibv: longest piece of a put to a peer with several queue pairs (GASNET_NUM_QPS), "
         "in KB unless a unit follows. 0, or more than the longest transfer of the device: that "
         "length. Less than 4KB: 4KB. No effect with one queue pair."},
    [IBV_SET_GET_STRIPE_SZ] = {"GASNET_GET_STRIPE_SZ", AQ_TYPE_KILOBYTES, "128KB", 0, 1e12, NULL,
                               "Conduit ibv: as GASNET_PUT_STRIPE_SZ, for gets."},
    [IBV_SET_USE_FENCED_PUTS] =
        {"GASNET_USE_FENCED_PUTS", AQ_TYPE_BOOL, "0", 0, 0, NULL,
         "Conduit ibv: whether each put is followed, on the same queue pair, by an RDMA read of "
         "its last byte, and complete only when that has returned: then the data are in the memory "
         "of the target, for all devices and processors. 0: a put is complete when the device of "
         "the target has acknowledged it; where several devices are used, and acknowledge earlier "
         "than that, a message by another device might overtake it. A fenced put takes two "
         "operations, a buffer of GASNET_BBUF_COUNT and a round trip more."},
    [IBV_SET_QP_TIMEOUT] =
        {"GASNET_QP_TIMEOUT", AQ_TYPE_INT, "18", 0, 31, NULL,
         "Conduit ibv: how long a device waits for an acknowledgement before it retransmits: 4.096 "
         "microseconds times 2 to this power; 18 is one second. 0: for ever."},
    [IBV_SET_QP_RETRY_COUNT] = {"GASNET_QP_RETRY_COUNT", AQ_TYPE_INT, "7", 0, 7, NULL,
                                "Conduit ibv: how often a device retransmits without an "
                                "acknowledgement before the job ends with an error."},
    [IBV_SET_QP_RD_ATOM] = {"GASNET_QP_RD_ATOM", AQ_TYPE_INT, "0", 0, 255, NULL,
                            "Conduit ibv: RDMA reads and atomics that may be outstanding on one "
                            "connection. 0: as many as the device allows."},
    [IBV_SET_PKEY] =
        {"GASNET_IBV_PKEY", AQ_TYPE_INT, "0", 0, 65535, NULL,
         "Conduit ibv: partition key of the InfiniBand network to use, 2 to 32767 (0x7fff); the "
         "membership bit 0x8000 is ignored. Ports that are not in the partition are refused. 0: "
         "the partition of the path, or the first of the port's table."},
    [IBV_SET_MAX_MTU] =
        {"GASNET_MAX_MTU", AQ_TYPE_CHOICE, "0", 0, 0, "0 -1 256 512 1024 2048 4096",
         "Conduit ibv: longest packet, in bytes; a port that is active with less uses less. 0 and "
         "-1: as long as the path allows. No effect on iWARP, where TCP decides."},
    [IBV_SET_SERVICE_LEVEL] = {"GASNET_IBV_SERVICE_LEVEL", AQ_TYPE_INT, "0", 0, 15, NULL,
                               "Conduit ibv: service level of packets, on RoCE the priority of "
                               "their VLAN. 0: that of the path. No effect on iWARP."},
    [IBV_SET_TRAFFIC_CLASS] =
        {"GASNET_IBV_TRAFFIC_CLASS", AQ_TYPE_INT, "0", 0, 255, NULL,
         "Conduit ibv: traffic class of packets with a global header, on RoCE version 2 the type "
         "of service of the IP header: DSCP times 4. 0: that of the path. No effect on iWARP."},
    [IBV_SET_GID_INDEX] = {"GASNET_IBV_GID_INDEX", AQ_TYPE_INT, "-1", -1, 255, NULL,
                           "Conduit ibv: index of the GID, of those that gasnet_info lists, from "
                           "which connections without librdmacm are made; with librdmacm it "
                           "follows from the IP address. -1: the best one."},
    [IBV_SET_ATOMICS] =
        {"GASNET_IBV_ATOMICS", AQ_TYPE_CHOICE, "auto", 0, 0, "auto 0 1",
         "Conduit ibv: whether the device performs remote atomics on 64-bit types, as far as it "
         "supports them: addition, compare-and-swap, read. auto: if the device's atomics are "
         "atomic with respect to those of processors, and the process uses one port; 0: never, the "
         "target performs all of them; 1: also if they are not, for domains with no other "
         "operations: the program then guarantees that the ranks of the target's host do not "
         "access that memory meanwhile."},
    [IBV_SET_IWARP] =
        {"GASNET_IBV_IWARP", AQ_TYPE_BOOL, "0", 0, 0, NULL,
         "Conduit ibv: whether ports of iWARP are used. A put is complete there when a read behind "
         "it has returned, as with GASNET_USE_FENCED_PUTS, and active messages do not travel by "
         "RDMA. No hardware of iWARP has tested this, and the software device of Linux (siw) "
         "returns wrong data at times. 0: such ports are refused."},
    [IBV_SET_CONNECT] =
        {"GASNET_IBV_CONNECT", AQ_TYPE_CHOICE, "auto", 0, 0, "auto rdmacm ud",
         "Conduit ibv: how processes connect to each other. rdmacm: with librdmacm, which needs an "
         "IP address on the port of each process. ud: with datagrams of the verbs device itself, "
         "which InfiniBand and RoCE have and iWARP does not; the messages of a process with "
         "several ports then take all of them. auto: rdmacm; ud for the whole job if a port has no "
         "IP address, or the addresses are not of one family (IPv4, IPv6)."},
    [IBV_SET_CONNECT_STATIC] = {"GASNET_CONNECT_STATIC", AQ_TYPE_BOOL, "0", 0, 0, NULL,
                                "Conduit ibv: whether every process connects to all others at the "
                                "start. 0: a process connects to a peer at first use."},
    [IBV_SET_CONNECT_DYNAMIC] = {"GASNET_CONNECT_DYNAMIC", AQ_TYPE_BOOL, "1", 0, 0, NULL,
                                 "Conduit ibv: whether connections may be made after the start. 0 "
                                 "implies GASNET_CONNECT_STATIC=1."},
    [IBV_SET_CONNECT_CALLS] =
        {"GASNET_CONNECT_CALLS", AQ_TYPE_INT, "16", 1, 65535, NULL,
         "Conduit ibv: largest number of connections that a process requests at the same time when "
         "GASNET_CONNECT_STATIC=1 makes it connect to all peers."},
    [IBV_SET_CONNECTFILE_IN] =
        {"GASNET_CONNECTFILE_IN", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "Conduit ibv: file with the connections that GASNET_CONNECT_STATIC=1 makes at the start; "
         "other ones are made at first use. Lines: 'rank: peer peer-peer ...'; optional: 'size: "
         "N', the number of ranks; 'base: N', of the numbers that follow, 10 unless given. A % in "
         "the name stands for the rank. Not set: all connections."},
    [IBV_SET_CONNECTFILE_OUT] =
        {"GASNET_CONNECTFILE_OUT", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "Conduit ibv: file in which each rank lists at the end the peers that it has called upon, "
         "for GASNET_CONNECTFILE_IN of later runs. A % in the name stands for the rank: one file "
         "for each, which file systems of several hosts need. Not set: none is written."},
    [IBV_SET_CONNECTFILE_BASE] =
        {"GASNET_CONNECTFILE_BASE", AQ_TYPE_INT, "36", 2, 36, NULL,
         "Conduit ibv: base of the numbers in the file of GASNET_CONNECTFILE_OUT."},
    [IBV_SET_RCV_THREAD_RATE] = {"GASNET_RCV_THREAD_RATE", AQ_TYPE_INT, "0", 0, 1e6, NULL,
                                 "Conduit ibv: largest number of times per second that the thread "
                                 "of GASNET_RCV_THREAD wakes up. 0: no limit. No effect on a "
                                 "thread that the program runs (GEX_FLAG_DEFER_THREADS)."},
    [IBV_SET_SND_THREAD_RATE] =
        {"GASNET_SND_THREAD_RATE", AQ_TYPE_INT, "0", 0, 1e6, NULL,
         "Conduit ibv: as GASNET_RCV_THREAD_RATE, for the thread of GASNET_SND_THREAD."},
    [IBV_SET_INLINESEND_LIMIT] =
        {"GASNET_INLINESEND_LIMIT", AQ_TYPE_INT, "-1", -1, 65535, NULL,
         "Conduit ibv: most bytes that a work request carries to the device itself (inline). 0: "
         "none; -1, or more than the device supports: as many as it supports."},
    [IBV_SET_PACKEDLONG_LIMIT] =
        {"GASNET_PACKEDLONG_LIMIT", AQ_TYPE_BYTES, "4012", 0, 65536, NULL,
         "Conduit ibv: most bytes of a Long message that travel with its header, to be copied into "
         "place at the target; the device writes longer payloads itself. A receive buffer is an "
         "upper limit. 0: the device always writes them."},
    [IBV_SET_NONBULKPUT_BOUNCE_LIMIT] =
        {"GASNET_NONBULKPUT_BOUNCE_LIMIT", AQ_TYPE_BYTES, "64KB", 0, 1 << 30, NULL,
         "Conduit ibv: longest non-bulk put, and longest payload of a Long request, that is copied "
         "into a buffer, because its source may be reused when the call returns. The call of a "
         "longer one returns when the bytes are at the target, and copies nothing if the source is "
         "in the segment or firehose can pin it. What travels inline (GASNET_INLINESEND_LIMIT) or "
         "in the message (GASNET_PACKEDLONG_LIMIT) needs neither. 0: nothing is copied for this "
         "reason. Payloads of Long replies are always copied, because a handler cannot wait; with "
         "segments LARGE and EVERYTHING those of Long requests that exceed a message are never "
         "copied. Apart from that, up to 4 KB to or from memory outside of the segment are copied "
         "rather than pinned: gets, and bulk puts that are no longer than this limit."},
    [IBV_SET_NETWORKDEPTH_PP] =
        {"GASNET_NETWORKDEPTH_PP", AQ_TYPE_INT, "64", 1, 32768, NULL,
         "Conduit ibv: device operations (RDMA and messages) that a process may have outstanding "
         "to one peer: the depth of a send queue."},
    [IBV_SET_NETWORKDEPTH_TOTAL] =
        {"GASNET_NETWORKDEPTH_TOTAL", AQ_TYPE_INT, "4096", 0, 1e7, NULL,
         "Conduit ibv: as GASNET_NETWORKDEPTH_PP, for all peers together. 0: as many as "
         "GASNET_NETWORKDEPTH_PP and the device allow."},
    [IBV_SET_AM_CREDITS_PP] = {"GASNET_AM_CREDITS_PP", AQ_TYPE_INT, "32", 1, 32768, NULL,
                               "Conduit ibv: unanswered requests that a process may have "
                               "outstanding to one peer, at most GASNET_NETWORKDEPTH_PP."},
    [IBV_SET_AM_CREDITS_TOTAL] = {"GASNET_AM_CREDITS_TOTAL", AQ_TYPE_INT, "1024", 0, 1e7, NULL,
                                  "Conduit ibv: as GASNET_AM_CREDITS_PP, for all peers together, "
                                  "at most GASNET_NETWORKDEPTH_TOTAL; the default is at least one "
                                  "for each process of the job. 0: GASNET_NETWORKDEPTH_TOTAL."},
    [IBV_SET_AM_CREDITS_SLACK] = {"GASNET_AM_CREDITS_SLACK", AQ_TYPE_INT, "1", 0, 32768, NULL,
                                  "Conduit ibv: credits that a process keeps for a peer until "
                                  "another message can return them; with one more, a message of "
                                  "their own returns them. Always less than GASNET_AM_CREDITS_PP."},
    [IBV_SET_BBUF_COUNT] =
        {"GASNET_BBUF_COUNT", AQ_TYPE_INT, "1024", 0, 1e6, NULL,
         "Conduit ibv: buffers of a process in which messages are assembled and puts are copied, "
         "at most GASNET_NETWORKDEPTH_TOTAL. 0: GASNET_NETWORKDEPTH_TOTAL."},
    [IBV_SET_PIN_MAXSZ] = {"GASNET_PIN_MAXSZ", AQ_TYPE_POWER, "0", 0, 0x1p38, NULL,
                           "Conduit ibv: longest piece in which the segment is pinned, with an "
                           "optional suffix K, M or G. 0: as long as the device allows."},
    [IBV_SET_AMRDMA_LIMIT] =
        {"GASNET_AMRDMA_LIMIT", AQ_TYPE_BYTES, "4012", 0, 4096, NULL,
         "Conduit ibv: longest message that is written by RDMA straight into a ring of the "
         "receiver, at most the size of a buffer of a ring. 0: none."},
    [IBV_SET_AMRDMA_DEPTH] = {"GASNET_AMRDMA_DEPTH", AQ_TYPE_POWER, "16", 1, 32, NULL,
                              "Conduit ibv: buffers in each ring of GASNET_AMRDMA_LIMIT; each peer "
                              "that has a ring has its own."},
    [IBV_SET_AMRDMA_MAX_PEERS] =
        {"GASNET_AMRDMA_MAX_PEERS", AQ_TYPE_INT, "32", 0, 65535, NULL,
         "Conduit ibv: largest number of peers that have a ring at a process at the same time, "
         "and, up to 4, at each of its further endpoints. 0: none."},
    [IBV_SET_AMRDMA_CYCLE] = {"GASNET_AMRDMA_CYCLE", AQ_TYPE_POWER, "1024", 0, 1 << 30, NULL,
                              "Conduit ibv: number of messages (of at most GASNET_AMRDMA_LIMIT) "
                              "after which a process decides again which peers have a ring. 1: a "
                              "peer gets a ring with its first message; 0: no peer has one."},
    [IBV_SET_USE_XRC] =
        {"GASNET_USE_XRC", AQ_TYPE_BOOL, "0", 0, 0, NULL,
         "Conduit ibv: whether a process has one queue pair to all ranks of a host that listen at "
         "the same port (extended reliable connections), in place of one for each rank. It needs "
         "GASNET_IBV_CONNECT=ud, and such jobs use one port. It was only tested with a fake "
         "device, with none that exists. Devices without XRC: no effect."},
    [IBV_SET_USE_ODP] =
        {"GASNET_USE_ODP", AQ_TYPE_BOOL, "0", 0, 0, NULL,
         "Conduit ibv: whether devices that can page on demand access segments and other memory of "
         "the program without pinning it; the buffers of the library stay pinned, and "
         "GASNET_PHYSMEM_MAX limits only these. A device that can page all memory (gasnet_info "
         "says so) registers it once at the start, and firehose is not used. With other devices "
         "firehose registers memory as before. Memory is pinned with devices that cannot page, or "
         "that move bytes to the wrong place when the job tries that at its start."},
    [IBV_SET_ODP_VERBOSE] = {"GASNET_ODP_VERBOSE", AQ_TYPE_INT, "1", 0, 9, NULL,
                             "Conduit ibv: 0: rank 0 does not warn if its device cannot do what "
                             "GASNET_USE_ODP=1 asks for."},
    [IBV_SET_PHYSMEM_PROBE] =
        {"GASNET_PHYSMEM_PROBE", AQ_TYPE_BOOL, "0", 0, 0, NULL,
         "Conduit ibv: whether each process pins as much memory as it can at the start, up to "
         "GASNET_PHYSMEM_MAX, to find out how much that is. This takes seconds. 0: a limit is "
         "reported when it is reached, and less memory is pinned from then on."},
    [IBV_SET_PHYSMEM_NOPROBE] = {"GASNET_PHYSMEM_NOPROBE", AQ_TYPE_BOOL, "1", 0, 0, NULL,
                                 "Conduit ibv: 0 is the same as GASNET_PHYSMEM_PROBE=1."},
};

const aq_setting_group_t aq_ibv_settings = {"conduit ibv", aq_ibv_rows, IBV_SET_COUNT};

const aq_conduit_profile_t aq_ibv_profile = {
    .name = "ibv",
    .settings = &aq_ibv_settings,
    .spawner = &aq_ibv_rows[IBV_SET_SPAWNER],
    .spawners = AQ_SPAWNERS,
};
