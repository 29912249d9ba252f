// SPDX-License-Identifier: BSD-3-Clause
// The rows of the library and the launcher; rows that one conduit reads stand in its profile. Only
// settings.c reads the table; others ask by the ids of settings.h.
#include "settings.h"

#define SECONDS_MAX 1e9

// One row for each variable. The manual page and gasnet_info print the help text, so it changes in
// the same commit as the behaviour.
const aq_setting_t aq_settings[AQ_SET_COUNT] = {
    [AQ_SET_CONDUIT] = {"GASNET_CONDUIT", AQ_TYPE_TEXT, "", 0, 0, NULL,
                        "Network conduit that carries messages between hosts: smp, udp or the name "
                        "of a module. Default: the conduit that the program was linked for."},
    [AQ_SET_SPAWNER] =
        {"GASNET_SPAWNER", AQ_TYPE_TEXT, "auto", 0, 0, NULL,
         "How the processes of a job are started. fork: as children of the launcher, on this host; "
         "ssh: on the hosts that the user names; universe: by daemons that gasnet_boot has "
         "started; custom: by the command in GASNET_CSPAWN_CMD; rendezvous: by something else, and "
         "they meet at GASNET_MASTER; mpi: by mpirun (MPIRUN_CMD); pmi: like mpi, but the ranks "
         "use a PMI and need no MPI; or a boot module that is loaded, such as slurm, k8s or tm "
         "(gasnet_info lists them). auto: the spawner of highest priority that can start the job; "
         "a program that has GASNET_MASTER, or that mpirun started, joins the job there. The "
         "launcher's option -spawner takes precedence."},
    [AQ_SET_SPAWN_PRIORITY] =
        {"GASNET_SPAWN_PRIORITY", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "Priorities of spawners, for example slurm=30,ssh=0, in place of their own: whole numbers "
         "from -1 to 1000. Unless a spawner is named, the launcher takes the usable one of highest "
         "priority; it never takes one of priority -1. Names of spawners that are not here have no "
         "effect."},
    [AQ_SET_POD_SERVICE] =
        {"GASNET_POD_SERVICE", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "The headless service of the pods of a job that spawner k8s starts, and the port at which "
         "rank 0 listens: name:port. Default: the service in the full name of the pod, port 4711."},
    [AQ_SET_MPIRUN_CMD] =
        {"MPIRUN_CMD", AQ_TYPE_TEXT, "mpirun -np %N %C", 0, 0, NULL,
         "The command with which spawner mpi starts a job. Quotes and backslashes work as in a "
         "shell. %N: the number of ranks; %P: the program; %A: its arguments; %C: both; %H: the "
         "value of GASNET_NODEFILE; %%: a percent sign."},
    [AQ_SET_PMIRUN_CMD] = {"PMIRUN_CMD", AQ_TYPE_TEXT, "", 0, 0, NULL,
                           "As MPIRUN_CMD, for spawner pmi, for example 'srun --mpi=pmix -n %N "
                           "%C'. Empty: MPIRUN_CMD is used."},
    [AQ_SET_MPI_THREAD] =
        {"GASNET_MPI_THREAD", AQ_TYPE_CHOICE, "auto", 0, 0,
         "auto SINGLE FUNNELED SERIALIZED MULTIPLE",
         "Thread support that the library requests when it initializes MPI. auto: SINGLE for "
         "conduit mpi in thread mode seq, which is faster; otherwise MULTIPLE with Open MPI, so "
         "that threads with endpoints of their own run in parallel, and SERIALIZED with MPICH. A "
         "program of mode seq needs FUNNELED if it starts threads of its own, and MULTIPLE if "
         "these threads call MPI."},
    [AQ_SET_MPI_FINALIZE] = {"GASNET_MPI_FINALIZE", AQ_TYPE_BOOL, "1", 0, 0, NULL,
                             "Whether gasnet_exit finalizes MPI in a job that mpirun started. If "
                             "it does not, mpirun may report the end of the job as a failure."},
    [AQ_SET_SSH_NODEFILE] = {"GASNET_SSH_NODEFILE", AQ_TYPE_TEXT, "", 0, 0, NULL,
                             "File with the hosts of a job, one in each line; gasnetrun(1) "
                             "describes the format. The launcher's option -H takes precedence."},
    [AQ_SET_SSH_SERVERS] = {"GASNET_SSH_SERVERS", AQ_TYPE_TEXT, "", 0, 0, NULL,
                            "The hosts of a job, separated by commas or blanks, each as "
                            "[user@]name[:slots]. GASNET_SSH_NODEFILE takes precedence."},
    [AQ_SET_NODEFILE] =
        {"GASNET_NODEFILE", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "As GASNET_SSH_NODEFILE. GASNET_SSH_NODEFILE and GASNET_SSH_SERVERS take precedence."},
    [AQ_SET_SSH_KEEPDUP] = {"GASNET_SSH_KEEPDUP", AQ_TYPE_BOOL, "0", 0, 0, NULL,
                            "Whether a host that the list of hosts names several times gets ranks "
                            "for each mention. 1: with 8 ranks on a,b,a,b, host a has ranks 0, 1, "
                            "4 and 5; 0: only the first mention of a host counts."},
    [AQ_SET_SSH_CMD] = {"GASNET_SSH_CMD", AQ_TYPE_TEXT, "ssh", 0, 0, NULL,
                        "Remote shell of spawner ssh: a program, searched in PATH, without "
                        "options. AMUDP_SSH_CMD and SSH_CMD are read as well."},
    [AQ_SET_SSH_OPTIONS] = {"GASNET_SSH_OPTIONS", AQ_TYPE_TEXT, "", 0, 0, NULL,
                            "Options for the remote shell, passed before the name of the host. "
                            "Quotes and backslashes work as in a shell: -o 'ConnectTimeout 5'. "
                            "AMUDP_SSH_OPTIONS and SSH_OPTIONS are read as well."},
    [AQ_SET_SSH_OUT_DEGREE] =
        {"GASNET_SSH_OUT_DEGREE", AQ_TYPE_INT, "8", 0, 16384, NULL,
         "Largest number of hosts that one host of a job starts itself, which is also the number "
         "of connections that the launcher holds: the radix of the tree. 0: no limit; the launcher "
         "starts all hosts."},
    [AQ_SET_SSH_REMOTE_PATH] =
        {"GASNET_SSH_REMOTE_PATH", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "Working directory of the processes that spawner ssh starts. Default: that of the "
         "launcher. AMUDP_SSH_REMOTE_PATH and SSH_REMOTE_PATH are read as well."},
    [AQ_SET_SPAWN_ALGORITHM] =
        {"GASNET_SPAWN_ALGORITHM", AQ_TYPE_CHOICE, "tree", 0, 0, "tree window linear threads",
         "How hosts are started. Spawner ssh: tree: each started host starts further hosts, all of "
         "its own at once; window: the launcher starts all hosts, at most GASNET_SPAWN_WINDOW at "
         "the same time; linear: one host after the other; threads: as tree. A boot module that is "
         "loaded and starts single hosts: threads: GASNET_SPAWN_WINDOW threads start them; "
         "otherwise one host after the other."},
    [AQ_SET_SPAWN_WINDOW] = {"GASNET_SPAWN_WINDOW", AQ_TYPE_INT, "5", 1, 1024, NULL,
                             "Hosts that the launcher starts at the same time, with "
                             "GASNET_SPAWN_ALGORITHM=window or threads."},
    [AQ_SET_SPAWN_TIMEOUT] = {"GASNET_SPAWN_TIMEOUT", AQ_TYPE_REAL, "60", 0.1, SECONDS_MAX / 1000,
                              NULL, "Seconds that spawner ssh waits for a host to start."},
    [AQ_SET_SPAWN_PORTS] =
        {"GASNET_SPAWN_PORTS", AQ_TYPE_PORTS, "", 0, 0, NULL,
         "Ports on which the launcher, and each host that starts further hosts, accepts "
         "connections from the hosts that it starts, for example 50200-50220 if a firewall opens "
         "only these. Default: the kernel chooses."},
    [AQ_SET_UNIVERSE] =
        {"GASNET_UNIVERSE", AQ_TYPE_TEXT, "default", 0, 0, NULL,
         "Name of the universe that gasnet_boot makes and that gasnetrun, gasnet_grow, "
         "gasnet_shrink, gasnet_recon, gasnet_wipe and gasnet_halt use; a user may have several. "
         "With a slash it is a path: the socket of its daemon on a host is <path>@<host>, in a "
         "folder that exists on each host. none: ignore universes."},
    [AQ_SET_SPAWN_PROMISCUOUS] = {"GASNET_SPAWN_PROMISCUOUS", AQ_TYPE_BOOL, "0", 0, 0, NULL,
                                  "Whether connections during the start are accepted from any "
                                  "address, for hosts behind routers that translate addresses. "
                                  "Callers must still authenticate with the key of the job."},
    [AQ_SET_PSHM_NODES] = {"GASNET_PSHM_NODES", AQ_TYPE_INT, "1", 1, 4096, NULL,
                           "Processes that a program starts when it is run directly, without a "
                           "launcher. A launcher's own option takes precedence."},
    [AQ_SET_PSHM_NETWORK_DEPTH] =
        {"GASNET_PSHM_NETWORK_DEPTH", AQ_TYPE_INT, "8", 4, 1024, NULL,
         "Messages of maximum size (64 KiB) that each of the two receive rings of a process holds, "
         "for shared memory and for ranks of one host in conduit mpi. A ring holds more messages "
         "if they are smaller. A sender waits while the ring is full."},
    [AQ_SET_PSHM_COPY] =
        {"GASNET_PSHM_COPY", AQ_TYPE_BOOL, "1", 0, 0, NULL,
         "Whether puts and gets between processes of a host are one copy by the kernel "
         "(process_vm_writev) in clients that are compiled with GASNET_SEGMENT_EVERYTHING. "
         "Otherwise, and where the kernel forbids it, they travel as messages."},
    [AQ_SET_SUPERNODE_MAXSIZE] = {"GASNET_SUPERNODE_MAXSIZE", AQ_TYPE_INT, "0", 0, 1e6, NULL,
                                  "Largest number of processes of a host that form one "
                                  "neighbourhood, that is, share memory. 0: all of them."},
    [AQ_SET_SPAWNFN] =
        {"GASNET_SPAWNFN", AQ_TYPE_CHOICE, "L", 0, 0, "L S R C",
         "How the processes of a job of conduit udp are started, as one of GASNet's letters. L: on "
         "this host (spawner fork); S: by ssh, on the hosts that the user names; C: by the command "
         "in GASNET_CSPAWN_CMD (spawner custom). R (rexec) is refused, because GASNet no longer "
         "supports it. GASNET_SPAWNER and GASNET_UDP_SPAWNER take precedence."},
    [AQ_SET_CSPAWN_CMD] = {"GASNET_CSPAWN_CMD", AQ_TYPE_TEXT, "", 0, 0, NULL,
                           "The command with which spawner custom starts a job, for example 'srun "
                           "-n %N %C'. A shell runs it once. %N: the number of ranks; %C: the "
                           "command that each of that many processes has to run; %D: the working "
                           "directory; %P: the program; %M: the servers of GASNET_CSPAWN_SERVERS; "
                           "%%: a percent sign. AMUDP_CSPAWN_CMD and CSPAWN_CMD are read as well."},
    [AQ_SET_CSPAWN_SERVERS] =
        {"GASNET_CSPAWN_SERVERS", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "Servers, separated by blanks, for %M of GASNET_CSPAWN_CMD, which takes as many of them "
         "as there are ranks. AMUDP_CSPAWN_SERVERS and CSPAWN_SERVERS are read as well."},
    [AQ_SET_CSPAWN_ROUTE_OUTPUT] =
        {"GASNET_CSPAWN_ROUTE_OUTPUT", AQ_TYPE_BOOL, "0", 0, 0, NULL,
         "Whether the launcher prints the output of the ranks of spawner custom. 0: the command in "
         "GASNET_CSPAWN_CMD decides where they print. AMUDP_CSPAWN_ROUTE_OUTPUT and "
         "CSPAWN_ROUTE_OUTPUT are read as well."},
    [AQ_SET_CSPAWN_KEY] =
        {"GASNET_CSPAWN_KEY", AQ_TYPE_CHOICE, "environment", 0, 0, "environment command",
         "How the processes of spawner custom receive the key of the job. environment: in the "
         "environment of the command, which has to pass it on; command: in the arguments of %C, "
         "which other users of the hosts can read for a moment."},
    [AQ_SET_BIND] =
        {"GASNET_BIND", AQ_TYPE_CHOICE, "auto", 0, 0, "auto core none",
         "Whether each process of a job is bound to cores of its own. auto: if a host has no more "
         "processes of the job than processors, nothing else has bound them, and no other job or "
         "program is bound to these cores; core: even if others are bound to them, as long as "
         "there are no more processes than cores; none: no process is bound. mpirun and srun "
         "decide about the jobs that they start. The launcher's option --bind sets this variable."},
    [AQ_SET_WORKER_RANK] =
        {"GASNET_WORKER_RANK", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "The rank that a process of spawner custom becomes: a number, different in each process, "
         "or the name of a variable that holds the number, for example SLURM_PROCID. Default: the "
         "ranks of one host are consecutive."},
    [AQ_SET_SPAWN_KEY] = {"GASNET_SPAWN_KEY", AQ_TYPE_TEXT, "", 0, 0, NULL,
                          "Set by the launcher for the processes of spawner custom and of boot "
                          "modules; not for users."},
    [AQ_SET_MASTER] =
        {"GASNET_MASTER", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "host:port at which rank 0 of a job listens whose processes something else started, such "
         "as a batch script or a StatefulSet (spawner rendezvous). The processes find each other "
         "there. An IPv6 address stands in brackets: [fd00::1]:4711."},
    [AQ_SET_RANK] = {"GASNET_RANK", AQ_TYPE_TEXT, "", 0, 0, NULL,
                     "The rank that a process of spawner rendezvous becomes: a number, different "
                     "in each process, or the name of a variable that holds the number, for "
                     "example JOB_COMPLETION_INDEX."},
    [AQ_SET_SIZE] = {"GASNET_SIZE", AQ_TYPE_INT, "1", 1, 65536, NULL,
                     "The number of processes of a job of spawner rendezvous, the same in each."},
    [AQ_SET_KEY_FILE] =
        {"GASNET_KEY_FILE", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "File with the key of a job of spawner rendezvous, the same in each process: 16 to 4096 "
         "bytes that nobody can guess. Nobody but its owner may be able to read the file."},
    [AQ_SET_KEY_FD] = {"GASNET_KEY_FD", AQ_TYPE_INT, "0", 0, INT32_MAX, NULL,
                       "Number of an open descriptor from which a process of spawner rendezvous "
                       "reads the key, in place of GASNET_KEY_FILE, and which it then closes."},
    [AQ_SET_MASTERIP] =
        {"GASNET_MASTERIP", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "Address or name of the launching host, as the other hosts reach it; spawner ssh tells "
         "them to connect to it. Conduit udp uses the interface that leads to this address if "
         "GASNET_WORKERIP is not set and the job runs on several hosts."},
    [AQ_SET_CONNECT_TIMEOUT] =
        {"GASNET_CONNECT_TIMEOUT", AQ_TYPE_REAL, "60", 0, SECONDS_MAX, NULL,
         "Conduit udp: seconds after which the start of a job fails because a process receives "
         "nothing from its neighbour in the job. 0: the network is not checked before the program "
         "runs. Spawners custom and rendezvous: seconds within which all processes must have "
         "called; 0: no limit."},
    [AQ_SET_HOST_TIMEOUT] =
        {"GASNET_UDP_HOST_TIMEOUT", AQ_TYPE_REAL, "60", 0, SECONDS_MAX, NULL,
         "Seconds for which a job survives that a host of it cannot be reached. Conduit udp ends "
         "the job when a host has sent nothing and its kernel has not answered for so long. Probes "
         "are TCP connections that the kernel refuses, so it also answers for processes that "
         "compute or are stopped. If the kernel never answered, as behind some firewalls, its "
         "silence is ignored. Launcher and helpers, with every conduit, and the daemons of a "
         "universe (there the value that gasnet_boot has counts) give up a silent connection after "
         "twice this time; TCP may need that long to find that an outage is over. 0: never."},
    [AQ_SET_RCV_THREAD] =
        {"GASNET_RCV_THREAD", AQ_TYPE_BOOL, "0", 0, 0, NULL,
         "Whether threads of the runtime sleep until messages arrive, and handle them while the "
         "program computes, in programs of mode par or parsync: one thread for each conduit. "
         "Conduit ibv then works without the rings of GASNET_AMRDMA_LIMIT. Messages of further "
         "endpoints are handled too; over ibv each endpoint has a thread of its own. Without an "
         "idle processor the threads take time from the program. A program that passes "
         "GEX_FLAG_DEFER_THREADS runs them itself. See gasnetx_Progress_Level."},
    [AQ_SET_SND_THREAD] =
        {"GASNET_SND_THREAD", AQ_TYPE_BOOL, "0", 0, 0, NULL,
         "Conduit ibv: whether a thread of the runtime sleeps until the device has completed "
         "messages, puts, gets or atomics that this process began, and takes that in while the "
         "program computes, in programs of mode par or parsync: buffers and places in queues "
         "become free, and puts and gets that wait for these, or for each other, go on. Each "
         "endpoint has a thread of its own. The thread runs no handlers; see GASNET_RCV_THREAD. "
         "Without an idle processor it takes time from the program. A program that passes "
         "GEX_FLAG_DEFER_THREADS runs it itself; that thread polls every half millisecond, and is "
         "the receive thread if there is one."},
    [AQ_SET_USE_FIREHOSE] =
        {"GASNET_USE_FIREHOSE", AQ_TYPE_BOOL, "1", 0, 0, NULL,
         "Conduit ibv, and ofi where the provider demands registration: whether memory outside of "
         "the segment is pinned at first use and stays pinned, which GASNET_DISABLE_MUNMAP makes "
         "safe. 0: its data is copied through buffers, and puts and gets to a segment that is not "
         "pinned as a whole (modes LARGE and EVERYTHING) use active messages. See GASNET_USE_ODP."},
    [AQ_SET_FIREHOSE_M] =
        {"GASNET_FIREHOSE_M", AQ_TYPE_MEGABYTES, "0", 0, 1e15, NULL,
         "Conduits ibv and ofi: memory that a process keeps pinned for its peers (main pool). 0: "
         "what the process may pin less GASNET_FIREHOSE_MAXVICTIM_M; if that is not set either, "
         "75% of it, or as much as the bounce buffers if the segment is pinned as a whole."},
    [AQ_SET_FIREHOSE_R] = {"GASNET_FIREHOSE_R", AQ_TYPE_INT, "0", 0, 1e9, NULL,
                           "Conduits ibv and ofi: largest number of regions in the main pool, "
                           "shared evenly among the other processes. 0, or more than fit: "
                           "GASNET_FIREHOSE_M / GASNET_FIREHOSE_MAXREGION_SIZE."},
    [AQ_SET_FIREHOSE_MAXVICTIM_M] =
        {"GASNET_FIREHOSE_MAXVICTIM_M", AQ_TYPE_MEGABYTES, "0", 0, 1e15, NULL,
         "Conduits ibv and ofi: memory that a process keeps pinned for itself (victim pool). 0: "
         "what the process may pin less GASNET_FIREHOSE_M."},
    [AQ_SET_FIREHOSE_MAXVICTIM_R] =
        {"GASNET_FIREHOSE_MAXVICTIM_R", AQ_TYPE_INT, "0", 0, 1e9, NULL,
         "Conduits ibv and ofi: largest number of regions in the victim pool. 0, or more than fit: "
         "GASNET_FIREHOSE_MAXVICTIM_M / GASNET_FIREHOSE_MAXREGION_SIZE."},
    [AQ_SET_FIREHOSE_MAXREGION_SIZE] =
        {"GASNET_FIREHOSE_MAXREGION_SIZE", AQ_TYPE_MEGABYTES, "128KB", 0, 1e12, NULL,
         "Conduits ibv and ofi: longest region that is pinned at once, rounded up to whole pages; "
         "regions begin small and grow. 0: the shortest length, from 128KB to 16MB, with which the "
         "device's regions cover all memory that may be pinned."},
    [AQ_SET_FIREHOSE_TABLE_SCALE] =
        {"GASNET_FIREHOSE_TABLE_SCALE", AQ_TYPE_REAL, "1", 0.01, 100, NULL,
         "Conduits ibv and ofi: size of the hash tables of pinned regions, as a multiple of the "
         "normal size. Less saves memory and costs time."},
    [AQ_SET_FIREHOSE_VERBOSE] =
        {"GASNET_FIREHOSE_VERBOSE", AQ_TYPE_BOOL, "0", 0, 0, NULL,
         "Conduits ibv and ofi: whether a process prints the size of its pools at the start, and "
         "what it pinned at the end, on standard error."},
    [AQ_SET_PUTINMOVE_LIMIT] =
        {"GASNET_PUTINMOVE_LIMIT", AQ_TYPE_BYTES, "3KB", 0, 3072, NULL,
         "Conduits ibv and ofi, if the segment is not pinned as a whole: most bytes of a put that "
         "travel in the message that requests pinning. 0: none."},
    [AQ_SET_PHYSMEM_MAX] = {"GASNET_PHYSMEM_MAX", AQ_TYPE_LIMIT, "2/3", 0, 0, "0",
                            "Conduits ibv and ofi: most memory that all processes of a host pin "
                            "together, in bytes (4GB) or as a fraction of the memory of the host; "
                            "each process has an equal share. 0: 2/3."},
    [AQ_SET_PINNED_REGIONS_MAX] =
        {"GASNET_PINNED_REGIONS_MAX", AQ_TYPE_LIMIT, "0", 0, 0, "0",
         "Conduits ibv and ofi: largest number of regions that all processes of a host pin "
         "together: a number (10000) or a fraction of the device's capacity (0.5); each process "
         "has an equal share. 0: the same fraction as GASNET_PHYSMEM_MAX is of the memory."},
    [AQ_SET_MAXIMIZE_MEMLOCK] = {"GASNET_MAXIMIZE_MEMLOCK", AQ_TYPE_BOOL, "1", 0, 0, NULL,
                                 "Conduits ibv and ofi: whether a process raises its soft limit on "
                                 "locked memory to the hard limit."},
    [AQ_SET_DISABLE_MUNMAP] =
        {"GASNET_DISABLE_MUNMAP", AQ_TYPE_BOOL, "1", 0, 0, NULL,
         "Conduits ibv and ofi: whether malloc keeps all memory of the process (mallopt), so that "
         "memory which GASNET_USE_FIREHOSE keeps pinned stays mapped. Set 0 for a program that "
         "unmaps memory which it used for puts and gets, or that has another allocator: data "
         "outside of the segment is then copied through buffers, or, if all memory is the segment "
         "(mode EVERYTHING), sent by active messages. No effect where GASNET_USE_ODP makes "
         "firehose superfluous."},
    [AQ_SET_MODULE_PATH] = {"GASNET_MODULE_PATH", AQ_TYPE_TEXT, "", 0, 0, NULL,
                            "Directories, separated by colons, that are searched for modules of "
                            "conduits, spawners and MPIs before the installed ones. A module that "
                            "other users than root could have put there is refused."},
    [AQ_SET_ALIGN_SEGMENTS] =
        {"GASNET_ALIGN_SEGMENTS", AQ_TYPE_BOOL, "0", 0, 0, NULL,
         "Whether the segments of gex_Segment_Attach and gasnet_attach are at the same address at "
         "all ranks. If no range is free at all ranks, rank 0 warns, and the job goes on without. "
         "A program that was compiled with -DGASNET_ALIGNED_SEGMENTS=1 always gets such segments, "
         "or an error from gasnet_attach."},
    [AQ_SET_USE_HUGEPAGES] =
        {"GASNET_USE_HUGEPAGES", AQ_TYPE_BOOL, "0", 0, 0, NULL,
         "Whether the segments of gex_Segment_Attach and gasnet_attach have huge pages (of 2 MiB), "
         "which make random accesses to large segments faster. They come from a pool of the host "
         "(/sys/kernel/mm/hugepages; sysctl vm.nr_hugepages) that has enough free ones for all "
         "segments of a neighbourhood, each of one page or more: from the one with the largest "
         "pages, such as 1 GiB, if there are several. Otherwise the kernel is asked for them, and "
         "gives them if /sys/kernel/mm/transparent_hugepage/shmem_enabled is advise or more. If "
         "not, one rank of each host warns, and the pages are small."},
    [AQ_SET_SEGMENT_TOUCH] =
        {"GASNET_SEGMENT_TOUCH", AQ_TYPE_BOOL, "0", 0, 0, NULL,
         "Whether gex_Segment_Attach and gasnet_attach give the segment all its memory, by all "
         "processors of the rank at once, so that the first use of a page costs nothing later and "
         "a lack of memory is reported at once. Without it a page gets memory when it is used; but "
         "where conduit ibv registers the segment as a whole, this is always done."},
    [AQ_SET_MAX_SEGSIZE] =
        {"GASNET_MAX_SEGSIZE", AQ_TYPE_LIMIT, "0.85/H", 0, 0, NULL,
         "Most memory that segments may take: bytes (4GB) or a fraction of the memory of the host "
         "(0.85). With /P or no suffix: for each process, without the runtime's own memory; with "
         "/H: for all processes of the host together, including the runtime's own memory."},
    [AQ_SET_MAX_THREADS] = {"GASNET_MAX_THREADS", AQ_TYPE_INT, "1024", 1, 65535, NULL,
                            "Largest number of threads of a process that may use the runtime at "
                            "the same time, in modes par and parsync."},
    [AQ_SET_WAITMODE] = {"GASNET_WAITMODE", AQ_TYPE_CHOICE, "auto", 0, 0,
                         "auto spin block spinblock",
                         "How a thread waits. spin: it polls without a pause; block: it sleeps "
                         "until something arrives; spinblock: it polls for GASNET_SPIN_US, then "
                         "sleeps; auto: chosen by the number of processes per processor."},
    [AQ_SET_SPIN_US] = {"GASNET_SPIN_US", AQ_TYPE_INT, "500", 0, 1e6, NULL,
                        "Microseconds that a waiting thread polls before it yields the processor."},
    [AQ_SET_MSG_EAGER] =
        {"GASNET_MSG_EAGER", AQ_TYPE_BYTES, "32KB", 0, 1e9, NULL,
         "Longest message with two sides (gasnetx_Msg_Send) that is sent at once and kept at the "
         "receiver until a receive takes it; at most one Medium. The receiver fetches the bytes of "
         "a longer one then. Also the longest large message (gasnetx_Large_Send) whose data go "
         "with its header. Unless it is set, 8 KB to ranks that share memory."},
    [AQ_SET_MSG_DEVICE] =
        {"GASNET_MSG_DEVICE", AQ_TYPE_BYTES, "32KB", 0, 1e15, NULL,
         "Shortest message, with two sides or large, that the network device reads from the "
         "sender's memory, if the conduit has such a device. 0: such messages travel in pieces. "
         "Conduit ibv pins the memory as firehose does."},
    [AQ_SET_MSG_MEMORY] =
        {"GASNET_MSG_MEMORY", AQ_TYPE_BYTES, "64MB", 0, 1e15, NULL,
         "Memory in which a rank keeps messages with two sides and large messages that no receive "
         "or handler has taken. Each rank that sends has an equal share, and 64 KiB at least; a "
         "message takes its bytes, if they were sent at once, and 256 bytes more (large messages: "
         "1 KiB). Beyond the share the bytes stay at the sender, and then sends wait or fail with "
         "GASNET_ERR_RESOURCE. The same at all ranks."},
    [AQ_SET_MSG_SHARED] =
        {"GASNET_MSG_SHARED", AQ_TYPE_BYTES, "1GB", 65536, 1e15, NULL,
         "Memory that a rank can have from gasnetx_Msg_Alloc at a time. The other processes of its "
         "host map all of it when they receive the first message from it. The first call reserves "
         "the addresses; pages are taken when they are written."},
    [AQ_SET_COLL_TUNING_FILE] =
        {"GASNET_COLL_TUNING_FILE", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "File with the limits by which collectives choose how they move data, by conduit and "
         "number of ranks, as gasnet_perf --tune writes it. Rank 0 reads it and tells the other "
         "ranks. If it cannot be read, is not such a file, has another version or no section for "
         "the job, rank 0 warns, and the defaults stay."},
    [AQ_SET_TRAFFIC] =
        {"GASNET_TRAFFIC", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "File for the traffic matrix of the job: a title, and a line of comma-separated values "
         "for each pair of ranks that had to do with each other, which the first one of the pair "
         "adds when the job ends. On hosts that do not share the file, each has one with the lines "
         "of its ranks. A file of that name is emptied at start. If it cannot be written, the "
         "first rank of the host warns, and the job goes on. While it is set, puts, gets and "
         "atomics on mapped memory are counted, too, and call the library. A rank that is killed "
         "adds no line at its end. gasnet_view(1) draws a picture of the file."},
    [AQ_SET_TRAFFIC_SIGNAL] =
        {"GASNET_TRAFFIC_SIGNAL", AQ_TYPE_SIGNALS, "SIGUSR2", 0, 0, NULL,
         "Signal at which each rank adds its lines so far to the file of GASNET_TRAFFIC, also if "
         "it hangs, and continues. Column snapshot of these lines counts the signals from 1; lines "
         "of the end of the job have 0 there. The launcher forwards SIGUSR1 and SIGUSR2 to all "
         "ranks. A signal of GASNET_REPORT_SIGNAL does both. If the program has a handler for the "
         "signal when it calls init, the program keeps it. Empty: none."},
    [AQ_SET_TRACE] =
        {"GASNET_TRACE", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "File for a trace of the job in Chrome's JSON, which Perfetto, speedscope and gasnet_view "
         "open: each rank adds its events when the job ends. After a colon, the categories of "
         "events, as words or first letters separated by commas: am, rma, coll, wait, net, "
         "firehose, user; otherwise all. On hosts that do not share the file, each has one. A file "
         "of that name is emptied at start. If it cannot be written, the first rank of the host "
         "warns, and the job goes on. A rank that is killed adds nothing."},
    [AQ_SET_TRACE_SIZE] =
        {"GASNET_TRACE_SIZE", AQ_TYPE_BYTES, "4MB", 4096, 1e12, NULL,
         "Memory in which each thread keeps the events of a trace until the job ends, 48 bytes for "
         "each; in the file an event takes five times as much. If it is full, the oldest events "
         "are dropped; the trace says how many. With much more than the default, raise "
         "GASNET_EXITTIMEOUT, so that there is time to write the file."},
    [AQ_SET_TRACE_SKEW] = {"GASNET_TRACE_SKEW", AQ_TYPE_TEXT, "", 0, 0, NULL,
                           "For tests of the clocks of a trace: nanoseconds, or nanoseconds,parts, "
                           "which are added to the clock of host 1, twice to that of host 2, and "
                           "so on; the clock runs faster by that many parts of 1,000,000,000."},
    [AQ_SET_TRACEFILE] =
        {"GASNET_TRACEFILE", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "As GASNET_TRACE, which has priority, but GASNET_TRACEMASK says which events. Each % is "
         "replaced by the rank, so that each rank has a file of its own; stdout, stderr and - "
         "(standard error) are streams of the rank."},
    [AQ_SET_TRACEMASK] =
        {"GASNET_TRACEMASK", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "Events of GASNET_TRACEFILE, by letters of GASNet; after ^ all others. G: gets; P: puts; "
         "R: atomics; S: waits; W: collectives; B: barriers; A: messages and handlers; I, C: "
         "connections, retransmissions, and with C evictions; H: messages of the client; U: those "
         "of them that are always written. D and N are in the events anyway. L, X and O have no "
         "events here. Not set: all."},
    [AQ_SET_TRACENODES] = {"GASNET_TRACENODES", AQ_TYPE_RANKS, "", 0, 0, NULL,
                           "Ranks that GASNET_TRACEFILE traces, as numbers and ranges separated by "
                           "commas: 0,2-4,6. * or not set: all."},
    [AQ_SET_TRACELOCAL] = {"GASNET_TRACELOCAL", AQ_TYPE_BOOL, "1", 0, 0, NULL,
                           "Whether a trace has puts, gets and atomics of a rank with itself."},
    [AQ_SET_STATSFILE] =
        {"GASNET_STATSFILE", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "File for the counters of each rank as text, a line for each: rank, name, value. Ranks "
         "add theirs when the job ends, and where the client calls GASNETT_STATS_DUMP. %, stdout, "
         "stderr and - are as in GASNET_TRACEFILE."},
    [AQ_SET_STATSMASK] =
        {"GASNET_STATSMASK", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "Counters of GASNET_STATSFILE, by letters of GASNet; after ^ all others. G: gets; P: "
         "puts; R: atomics; A: messages; W: what collectives move; I, C: what had no room and what "
         "was dropped, frames and datagrams; H, U: messages of the client. The other letters have "
         "no counters here. Not set: all."},
    [AQ_SET_STATSNODES] = {"GASNET_STATSNODES", AQ_TYPE_RANKS, "", 0, 0, NULL,
                           "Ranks whose counters GASNET_STATSFILE has, as GASNET_TRACENODES."},
    [AQ_SET_WAKE_LIMIT] =
        {"GASNET_WAKE_LIMIT", AQ_TYPE_INT, "0", 0, 1e9, NULL,
         "Milliseconds after which a client that sleeps on the descriptor of gasnetx_Wait_Arm is "
         "woken although nothing has arrived, since it is not told of room at a peer, or of the "
         "end of the job. 0: 1 ms after something was done, and up to 50 ms while nothing is. "
         "Conduit mpi between hosts, and a process with further endpoints, divide it by 20, to 2.5 "
         "ms at most: there arrivals do not wake."},
    [AQ_SET_EXITTIMEOUT] = {"GASNET_EXITTIMEOUT", AQ_TYPE_REAL, "0", 0, SECONDS_MAX, NULL,
                            "Seconds that an exiting process waits for the others before it ends "
                            "the job by force. 0: the smaller of GASNET_EXITTIMEOUT_MAX and "
                            "GASNET_EXITTIMEOUT_MIN + processes * GASNET_EXITTIMEOUT_FACTOR."},
    [AQ_SET_EXITTIMEOUT_MIN] =
        {"GASNET_EXITTIMEOUT_MIN", AQ_TYPE_REAL, "2", 0, SECONDS_MAX, NULL,
         "Seconds with which the computation of an exit timeout starts; see GASNET_EXITTIMEOUT."},
    [AQ_SET_EXITTIMEOUT_MAX] =
        {"GASNET_EXITTIMEOUT_MAX", AQ_TYPE_REAL, "30", 0, SECONDS_MAX, NULL,
         "Upper limit of a computed exit timeout, in seconds; see GASNET_EXITTIMEOUT."},
    [AQ_SET_EXITTIMEOUT_FACTOR] =
        {"GASNET_EXITTIMEOUT_FACTOR", AQ_TYPE_REAL, "0.05", 0, SECONDS_MAX, NULL,
         "Seconds for each process in a computed exit timeout; see GASNET_EXITTIMEOUT."},
    [AQ_SET_TERM_TIMEOUT] = {"GASNET_TERM_TIMEOUT", AQ_TYPE_REAL, "30", 0, SECONDS_MAX, NULL,
                             "Seconds that processes have to end after SIGTERM to the launcher, "
                             "for example to write a checkpoint, before they are killed. After "
                             "SIGINT, SIGHUP and SIGQUIT that is GASNET_EXITTIMEOUT."},
    [AQ_SET_LINE_BUFFER] =
        {"GASNET_LINE_BUFFER", AQ_TYPE_BOOL, "1", 0, 0, NULL,
         "Whether the library makes standard output of a process line buffered at the start, "
         "unless the program has set a buffer or written before: no printed line is lost if the "
         "job ends early. Each line is then a system call of its own (some microseconds). 0: lines "
         "collect to 4 KiB, as the C library does without a terminal, and programs that print a "
         "lot print faster."},
    [AQ_SET_LINE_WAIT] =
        {"GASNET_LINE_WAIT", AQ_TYPE_INT, "200", 0, 1e9, NULL,
         "Milliseconds for which the launcher keeps the beginning of a line, such as a prompt, so "
         "that lines of several ranks do not mix; then it passes it on, and keeps lines of other "
         "ranks until that line is complete, or for this time: then they begin on a new line. A "
         "terminal gets it at once as long as one rank writes. 0: lines are never kept."},
    [AQ_SET_CATCH_EXIT] = {"GASNET_CATCH_EXIT", AQ_TYPE_BOOL, "1", 0, 0, NULL,
                           "Whether exit() of one process, or its return from main, ends the whole "
                           "job. 0 lets tools that write their results at exit do so; the user "
                           "must then make sure that no process is left behind."},
    [AQ_SET_NO_CATCH_SIGNAL] = {"GASNET_NO_CATCH_SIGNAL", AQ_TYPE_SIGNALS, "", 0, 0, "*",
                                "Fatal signals that the runtime does not catch, by name or number, "
                                "separated by commas: SIGSEGV,fpe,11. *: all of them. For "
                                "debuggers and other tools that handle these signals first."},
    [AQ_SET_FREEZE] = {"GASNET_FREEZE", AQ_TYPE_BOOL, "0", 0, 0, NULL,
                       "Whether each process stops at the start until a debugger attaches."},
    [AQ_SET_FREEZE_ON_ERROR] = {"GASNET_FREEZE_ON_ERROR", AQ_TYPE_BOOL, "0", 0, 0, NULL,
                                "Whether a process stops at a fatal error or signal until a "
                                "debugger attaches. It prints how to let it continue."},
    [AQ_SET_FREEZE_SIGNAL] =
        {"GASNET_FREEZE_SIGNAL", AQ_TYPE_SIGNALS, "", 0, 0, NULL,
         "Signal, by name, at which a process stops until a debugger attaches, for example "
         "SIGUSR1, which the launcher forwards to all ranks."},
    [AQ_SET_ERRORS] =
        {"GASNET_ERRORS", AQ_TYPE_CHOICE, "end", 0, 0, "end return",
         "What happens if a put, get, atomic or memset names memory that its target does not have. "
         "end: the job ends with a message; return: the program reads the error with "
         "gasnetx_Error_Next (aqueduct(3)), and the job continues. With return each such operation "
         "is checked, which costs some instructions where ranks share memory."},
    [AQ_SET_BACKTRACE] =
        {"GASNET_BACKTRACE", AQ_TYPE_BOOL, "0", 0, 0, NULL,
         "Whether a process prints its stack on standard error at a fatal error or signal."},
    [AQ_SET_BACKTRACE_NODES] = {"GASNET_BACKTRACE_NODES", AQ_TYPE_RANKS, "", 0, 0, NULL,
                                "Ranks for which GASNET_BACKTRACE prints a stack, as numbers and "
                                "ranges separated by commas: 0,2-4,6. * or not set: all."},
    [AQ_SET_BACKTRACE_SIGNAL] = {"GASNET_BACKTRACE_SIGNAL", AQ_TYPE_SIGNALS, "", 0, 0, NULL,
                                 "Signal, by name, at which a process prints its stack and "
                                 "continues, for example SIGUSR1: to see where a job hangs."},
    [AQ_SET_REPORT_SIGNAL] =
        {"GASNET_REPORT_SIGNAL", AQ_TYPE_SIGNALS, "SIGUSR2", 0, 0, NULL,
         "Signal at which a process prints on standard error what it waits for, with its queues "
         "and counters, and continues; the launcher forwards SIGUSR1 and SIGUSR2 to all ranks. If "
         "the program has a handler for the signal when it calls init, the program keeps it. "
         "Empty: none."},
    [AQ_SET_BACKTRACE_TYPE] =
        {"GASNET_BACKTRACE_TYPE", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "Ways to print a stack, separated by commas; the first that works is used. EXECINFO: the "
         "C library; GDB: the debugger gdb, with source lines if available; or the name under "
         "which a program defines its own way (gasnett_backtrace_user). Default: the program's "
         "own, then EXECINFO."},
    [AQ_SET_BACKTRACE_MT] = {"GASNET_BACKTRACE_MT", AQ_TYPE_BOOL, "1", 0, 0, NULL,
                             "Whether the stacks of all threads are printed, if the way in "
                             "GASNET_BACKTRACE_TYPE can do so: GDB can."},
    [AQ_SET_STATS] =
        {"GASNET_STATS", AQ_TYPE_BOOL, "0", 0, 0, NULL,
         "Whether a process prints the counters of conduit udp, mpi or ibv on standard error when "
         "it ends: over udp one line for each peer that it talked to and one for all peers; over "
         "mpi one line, with traffic by MPI and by memory; over ibv one line about messages and "
         "one about memory, with what it registered and still has."},
    [AQ_SET_VERBOSE] = {"GASNET_VERBOSE", AQ_TYPE_BOOL, "0", 0, 0, NULL,
                        "Whether a rank tells how far it is with work that takes more than 2 "
                        "seconds: giving a large segment its memory (GASNET_SEGMENT_TOUCH)."},
    [AQ_SET_VERBOSEENV] = {"GASNET_VERBOSEENV", AQ_TYPE_BOOL, "0", 0, 0, NULL,
                           "Whether the job prints those variables of this list that are set, with "
                           "their values, at the start."},
    [AQ_SET_SPAWN_VERBOSE] = {"GASNET_SPAWN_VERBOSE", AQ_TYPE_BOOL, "0", 0, 0, NULL,
                              "Whether the launcher and the processes report on standard error how "
                              "the job starts and ends."},
    [AQ_SET_QUIET] = {"GASNET_QUIET", AQ_TYPE_BOOL, "0", 0, 0, NULL,
                      "Whether warnings are suppressed; errors are always printed."},
    [AQ_SET_SPAWN_CONDUIT] =
        {"GASNET_SPAWN_CONDUIT", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "Set by the launcher to conduit:launcher if its own name chose the conduit, so that a "
         "program linked for another conduit can report it; not for users."},
    [AQ_SET_SPAWN_CONTROL] =
        {"GASNET_SPAWN_CONTROL", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "Set by the launcher for the processes that it starts; not for users."},
    [AQ_SET_SPAWN_REPORTS] = {"GASNET_SPAWN_REPORTS", AQ_TYPE_TEXT, "", 0, 0, NULL,
                              "Set by the launcher for ranks that mpirun starts: the socket at "
                              "which they report how they end; not for users."},
    [AQ_SET_SPAWN_BEFORE] = {"GASNET_SPAWN_BEFORE", AQ_TYPE_TEXT, "", 0, 0, NULL,
                             "Set by the launcher: the variables that it changed for the ranks, "
                             "and what they were, for jobs that a rank starts; not for users."},
};
