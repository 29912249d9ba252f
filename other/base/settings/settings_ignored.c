// SPDX-License-Identifier: BSD-3-Clause
// The list, by subject, and its search. settings.c prints the entries and warns of them.
#include "settings_ignored.h"

#include <string.h>

static const aq_setting_ignored_t ignored[] = {
    // ---- tracing, checks of the implementation ----
    {"GASNET_TRACEFLUSH", "a trace is written when the job ends, whole lines at once", false},
    {"GASNET_MALLOC_INIT GASNET_MALLOC_INITVAL GASNET_MALLOC_CLOBBER GASNET_MALLOC_CLOBBERVAL "
     "GASNET_MALLOC_LEAKALL GASNET_MALLOC_SCANFREED GASNET_MALLOC_EXTRACHECK GASNET_MALLOCFILE "
     "GASNET_MALLOCNODES",
     "the library has no allocator of its own; check the heap with valgrind or a sanitizer", false},
    {"GASNET_SD_INIT GASNET_SD_INITVAL GASNET_SD_INITLEN",
     "buffers of negotiated payload are not filled with a pattern", false},
    {"GASNET_TEST_POLITE_SYNC", "only test programs read it", true},
    // ---- time ----
    {"GASNET_TSC_RATE GASNET_TSC_RATE_TOLERANCE GASNET_TSC_RATE_HARD_TOLERANCE GASNET_TSC_VERBOSE",
     "ticks come from the system's monotonic clock, which needs no calibration", false},
    // ---- start and end of jobs ----
    {"GASNET_DISABLE_ENVDECODE GASNET_DISABLE_ARGDECODE",
     "the launcher passes the environment and arguments as they are, so nothing is decoded", false},
    {"GASNET_ENV_CMD AMUDP_ENV_CMD", "the launcher needs no command env on the hosts", false},
    {"GASNET_ROUTE_OUTPUT AMUDP_ROUTE_OUTPUT",
     "the launcher always forwards output; GASNET_CSPAWN_ROUTE_OUTPUT decides for spawner custom",
     false},
    {"GASNET_LINEBUFFERSZ AMUDP_LINEBUFFERSZ",
     "the launcher always forwards whole lines, of up to 64 KB", false},
    {"GASNET_FS_SYNC AMMPI_FS_SYNC", "file systems are not synchronized when the job ends", false},
    {"GASNET_TMPDIR", "the library creates no temporary files", false},
    {"GASNET_NODEMAP_EXACT", "the processes of a host are always found exactly", false},
    {"GASNET_HOST_DETECT GASNET_USE_GETHOSTID",
     "processes share a host if they run under the same kernel since the same boot", false},
    {"GASNET_MAXIMIZE_RLIMIT_*", "only programs that call gasnett_maximize_rlimit read it", true},
    // ---- memory ----
    {"GASNET_USE_PSHM_SINGLETON",
     "a process that is alone on its host allocates memory as the others do", false},
    {"GASNET_PHYSMEM_WARN",
     "it controls a warning about slow probes, and only GASNET_PHYSMEM_PROBE=1 probes", false},
    {"GASNET_THREAD_STACK_MIN GASNET_THREAD_STACK_PAD",
     "threads of the library have the system's default stack; set it with ulimit -s", false},
    // ---- algorithms ----
    {"GASNET_BARRIER GASNET_PSHM_BARRIER_HIER GASNET_PSHM_BARRIER_RADIX",
     "barriers have one algorithm, which joins the processes of a host first", false},
    {"GASNET_VIS_AMPIPE GASNET_VIS_MAXCHUNK GASNET_VIS_PUT_MAXCHUNK GASNET_VIS_GET_MAXCHUNK "
     "GASNET_VIS_REMOTECONTIG",
     "the library chooses how it packs non-contiguous puts and gets", false},
    {"GASNET_COLL_SCRATCH_SIZE", "collectives need no scratch space of the client", false},
    {"GASNET_COLL_ENABLE_SEARCH",
     "jobs do not search while they run; gasnet_perf --tune does, and writes a "
     "GASNET_COLL_TUNING_FILE",
     false},
    // ---- conduit udp ----
    {"GASNET_RECVDEPTH GASNET_SENDDEPTH",
     "windows of conduit udp adapt to the network and to GASNET_UDP_RECEIVE_MEMORY", false},
    {"GASNET_SOCKETBUFFER_INITIAL GASNET_SOCKETBUFFER_MAX",
     "GASNET_UDP_RCVBUF and GASNET_UDP_SNDBUF set the sizes of socket buffers", false},
    {"GASNET_REQUESTTIMEOUT_INITIAL GASNET_REQUESTTIMEOUT_BACKOFF",
     "conduit udp measures round trips and computes its time-outs from them", false},
    {"GASNET_REQUESTTIMEOUT_MAX",
     "GASNET_UDP_PEER_TIMEOUT and GASNET_UDP_HOST_TIMEOUT say when a peer is lost", false},
    // ---- conduit mpi ----
    {"AMMPI_SYNCSEND_THRESH", "conduit mpi always uses standard sends", false},
    // ---- conduit ibv ----
    {"GASNET_AM_GATHER_MIN", "messages are always copied into one buffer", false},
    {"GASNET_USE_SRQ", "conduit ibv always uses shared receive queues", false},
    {"GASNET_RBUF_COUNT GASNET_RBUF_SPARES",
     "the number of receive buffers follows from GASNET_AM_CREDITS_PP and GASNET_AM_CREDITS_TOTAL",
     false},
    {"GASNET_RATOMICBUF_COUNT", "atomics use the buffers of GASNET_BBUF_COUNT", false},
    {"GASNET_CONNECT_SNDS GASNET_CONNECT_RCVS GASNET_CONNECT_RETRANS_MIN "
     "GASNET_CONNECT_RETRANS_MAX",
     "librdmacm makes connections, and has its own buffers and time-outs", false},
    {"GASNET_IBV_LIST_PORTS GASNET_IBV_LIST_PORTS_NODES GASNET_IBV_PORTS_VERBOSE",
     "gasnet_info lists the ports and says which ones are used, and why not the others", false},
    {"GASNET_RCV_THREAD_IDLE GASNET_RCV_THREAD_LOAD GASNET_RCV_THREAD_POLL_MODE",
     "the receive thread sleeps as soon as nothing is left to do", false},
    {"GASNET_SND_THREAD_IDLE GASNET_SND_THREAD_POLL_MODE",
     "the send thread sleeps as soon as nothing is left to do", false},
    // ---- conduit ofi ----
    {"GASNET_OFI_DEVICE_*", "GASNET_OFI_DOMAIN names the domain; each process may set another one",
     false},
    {"GASNET_OFI_LIST_DEVICES GASNET_OFI_LIST_DEVICES_NODES",
     "gasnet_info lists providers and domains, and says which one is used", false},
    {"GASNET_OFI_AM_INJECT_LIMIT GASNET_OFI_INJECT_LIMIT GASNET_OFI_RMA_INJECT_LIMIT",
     "the provider says what it can inject", false},
    {"GASNET_OFI_MAX_MEDIUM", "the packets of the provider limit a Medium", false},
    {"GASNET_OFI_BBUF_SIZE GASNET_OFI_BBUF_THRESHOLD GASNET_OFI_NUM_BBUFS",
     "put and get need no buffers of their own", false},
    {"GASNET_OFI_MAX_REPLY_BUFFS GASNET_OFI_MAX_REQUEST_BUFFS GASNET_OFI_NUM_INITIAL_REPLY_BUFFS "
     "GASNET_OFI_NUM_INITIAL_REQUEST_BUFFS GASNET_OFI_NUM_RECEIVE_BUFFS "
     "GASNET_OFI_RECEIVE_BUFF_SIZE GASNET_OFI_RX_CQ_SIZE GASNET_OFI_TX_CQ_SIZE",
     "the number of buffers, and the length of queues, follow from GASNET_OFI_CREDITS_PP", false},
    {"GASNET_OFI_RMA_POLL_FREQ", "messages, put and get share one completion queue", false},
    {"GASNET_OFI_SET_UNIVERSE_SIZE", "variables of libfabric stay as they are", false},
    // ---- conduits that there are not ----
    {"GASNET_UCX_*", "there is no conduit ucx; conduit ibv or ofi takes its place", false},
};

size_t aq_settings_ignored_count(void)
{
    return sizeof ignored / sizeof ignored[0];
}

const aq_setting_ignored_t *aq_settings_ignored_at(size_t index)
{
    return &ignored[index];
}

// Whether the first `length` bytes of pattern, which may end with *, match the name.
static bool pattern_matches(const char *pattern, size_t length, const char *name)
{
    if (pattern[length - 1] == '*')
        return strncmp(pattern, name, length - 1) == 0;
    return strncmp(pattern, name, length) == 0 && name[length] == '\0';
}

static bool entry_has(const aq_setting_ignored_t *entry, const char *name)
{
    for (const char *at = entry->names; *at;) {
        size_t length = strcspn(at, " ");
        if (pattern_matches(at, length, name))
            return true;
        at += length + (at[length] == ' ');
    }
    return false;
}

const aq_setting_ignored_t *aq_settings_ignored_find(const char *name)
{
    for (size_t i = 0; i < aq_settings_ignored_count(); i++)
        if (entry_has(&ignored[i], name))
            return &ignored[i];
    return NULL;
}
