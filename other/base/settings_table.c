#include "settings.h"

#define SECONDS_MAX 1e9

// One row a variable. Clients and the manual quote the help: keep it true when behaviour changes.
const aq_setting_t aq_settings[AQ_SET_COUNT] = {
    [AQ_SET_CONDUIT] =
        {"GASNET_CONDUIT", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "Network conduit that carries messages between hosts, smp, udp or a module. When not "
         "set, the conduit that the program was linked for."},
    [AQ_SET_SPAWNER] =
        {"GASNET_SPAWNER", AQ_TYPE_CHOICE, "auto", 0, 0, "auto fork ssh custom mpi pmi",
         "How the processes of a job are started. fork: as children of the launcher, on this host; "
         "ssh: on the hosts that are named; custom: by the command of GASNET_CSPAWN_CMD; mpi: by "
         "mpirun (MPIRUN_CMD); pmi: the same "
         "by PMIx, without MPI in the ranks. auto: the one of highest priority that can start the "
         "job; a program that "
         "mpirun started joins the job of mpirun. The launcher's option -spawner goes before it."},
    [AQ_SET_SMP_SPAWNER] =
        {"GASNET_SMP_SPAWNER", AQ_TYPE_CHOICE, "auto", 0, 0, "auto fork ssh custom mpi pmi",
         "The same as GASNET_SPAWNER for conduit smp only, where it goes before it."},
    [AQ_SET_UDP_SPAWNER] =
        {"GASNET_UDP_SPAWNER", AQ_TYPE_CHOICE, "auto", 0, 0, "auto fork ssh custom mpi pmi",
         "The same as GASNET_SPAWNER for conduit udp only, where it goes before it."},
    [AQ_SET_IBV_SPAWNER] =
        {"GASNET_IBV_SPAWNER", AQ_TYPE_CHOICE, "auto", 0, 0, "auto fork ssh custom mpi pmi",
         "The same as GASNET_SPAWNER for conduit ibv only, where it goes before it."},
    [AQ_SET_MPI_SPAWNER] =
        {"GASNET_MPI_SPAWNER", AQ_TYPE_CHOICE, "auto", 0, 0, "auto fork ssh custom mpi pmi",
         "The same as GASNET_SPAWNER for conduit mpi only, where it goes before it. auto: mpi."},
    [AQ_SET_MPIRUN_CMD] =
        {"MPIRUN_CMD", AQ_TYPE_TEXT, "mpirun -np %N %C", 0, 0, NULL,
         "The command by which spawner mpi starts a job, with the quotes and backslashes of a "
         "shell. %N: the number of ranks; %P: the program; %A: its arguments; %C: both; %H: the "
         "value of GASNET_NODEFILE; %%: a percent sign."},
    [AQ_SET_PMIRUN_CMD] =
        {"PMIRUN_CMD", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "The same for spawner pmi, as 'srun --mpi=pmix -n %N %C'. Empty: as MPIRUN_CMD."},
    [AQ_SET_MPI_THREAD] =
        {"GASNET_MPI_THREAD", AQ_TYPE_CHOICE, "auto", 0, 0,
         "auto SINGLE FUNNELED SERIALIZED MULTIPLE",
         "Which support for threads is asked of MPI where the library initializes it. auto: SINGLE "
         "for conduit mpi in thread mode seq, which is faster, else SERIALIZED. A program of mode "
         "seq that starts threads of its own needs FUNNELED, one with threads that call MPI "
         "themselves MULTIPLE."},
    [AQ_SET_MPI_FINALIZE] =
        {"GASNET_MPI_FINALIZE", AQ_TYPE_BOOL, "1", 0, 0, NULL,
         "Whether gasnet_exit finalizes MPI in a job that mpirun started. Without it mpirun may "
         "take the end of the job for a failure."},
    [AQ_SET_MPI_RMA] =
        {"GASNET_MPI_RMA", AQ_TYPE_CHOICE, "auto", 0, 0, "auto 0 1",
         "Whether conduit mpi puts and gets by the one-sided calls of MPI-3. 0: by active "
         "messages; "
         "1: MPI's, or the job stops; auto: MPI's where a get completes while its target does not "
         "call MPI, which is tried when segments are attached, else active messages."},
    [AQ_SET_MPI_SHARED_MAXSIZE] =
        {"GASNET_MPI_SHARED_MAXSIZE", AQ_TYPE_INT, "0", 0, 1e6, NULL,
         "Most ranks of a host that conduit mpi joins by shared windows of MPI: their messages "
         "travel in one of these, and their segments lie in another, where "
         "they are reached by load and store, unless GASNET_MPI_RMA is 0. 0: all of them; 1: no "
         "such windows."},
    [AQ_SET_NETWORKDEPTH] =
        {"GASNET_NETWORKDEPTH", AQ_TYPE_INT, "4", 1, 4096, NULL,
         "Half of the requests that a process of conduit mpi may have under way to each other one, "
         "unless AMMPI_CREDITS_PP says how many. Of rank 0."},
    [AQ_SET_AMMPI_CREDITS_PP] =
        {"AMMPI_CREDITS_PP", AQ_TYPE_INT, "0", 0, 4096, NULL,
         "Requests that a process of conduit mpi may have under way to each other one, at most 256 "
         "to all of them. 0: twice GASNET_NETWORKDEPTH. Of rank 0."},
    [AQ_SET_AMMPI_CREDITS_SLACK] =
        {"AMMPI_CREDITS_SLACK", AQ_TYPE_INT, "-1", -1, 4096, NULL,
         "Credits of AMMPI_CREDITS_PP that a receiver keeps back, for requests that had no reply, "
         "until a message takes them along. -1: three quarters of them. Of rank 0."},
    [AQ_SET_SSH_NODEFILE] =
        {"GASNET_SSH_NODEFILE", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "File that names the hosts of a job, one a line; gasnetrun(1) tells what else a line may "
         "hold. The launcher's option -H goes before it."},
    [AQ_SET_SSH_SERVERS] =
        {"GASNET_SSH_SERVERS", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "The hosts of a job, commas or blanks between, each [user@]name[:slots]. "
         "GASNET_SSH_NODEFILE goes before it."},
    [AQ_SET_NODEFILE] =
        {"GASNET_NODEFILE", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "The same as GASNET_SSH_NODEFILE, which goes before it, as GASNET_SSH_SERVERS does."},
    [AQ_SET_SSH_KEEPDUP] = {"GASNET_SSH_KEEPDUP", AQ_TYPE_BOOL, "0", 0, 0, NULL,
                            "Take a host again each time that the list of hosts names it, for "
                            "ranks of that place: with "
                            "8 ranks on a,b,a,b, host a has 0, 1, 4 and 5. Else it is taken once."},
    [AQ_SET_SSH_CMD] =
        {"GASNET_SSH_CMD", AQ_TYPE_TEXT, "ssh", 0, 0, NULL,
         "Remote shell of spawner ssh: a program, looked up in PATH, without options. Also read as "
         "AMUDP_SSH_CMD and SSH_CMD."},
    [AQ_SET_SSH_OPTIONS] =
        {"GASNET_SSH_OPTIONS", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "Options that stand in front of the host's name when the remote shell is called, with the "
         "quotes and backslashes of a shell: -o 'ConnectTimeout 5'. Also read as AMUDP_SSH_OPTIONS "
         "and SSH_OPTIONS."},
    [AQ_SET_SSH_OUT_DEGREE] =
        {"GASNET_SSH_OUT_DEGREE", AQ_TYPE_INT, "8", 0, 16384, NULL,
         "Most hosts that a host of a job starts itself, and so the connections that the launcher "
         "holds: the radix of the tree. 0: no limit, the launcher starts all."},
    [AQ_SET_SSH_REMOTE_PATH] =
        {"GASNET_SSH_REMOTE_PATH", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "Working directory of the processes of a job that spawner ssh starts. When not set, that "
         "of the launcher. Also read as AMUDP_SSH_REMOTE_PATH and SSH_REMOTE_PATH."},
    [AQ_SET_SPAWN_ALGORITHM] =
        {"GASNET_SPAWN_ALGORITHM", AQ_TYPE_CHOICE, "tree", 0, 0, "tree window linear",
         "How spawner ssh starts hosts. tree: hosts that are started start further ones, each its "
         "own all at once; window: the launcher starts all, at most 5 at the same time; linear: "
         "one after the other."},
    [AQ_SET_SPAWN_TIMEOUT] = {"GASNET_SPAWN_TIMEOUT", AQ_TYPE_REAL, "60", 0.1, SECONDS_MAX / 1000,
                              NULL, "Seconds that a host may take to be started by spawner ssh."},
    [AQ_SET_SPAWN_PORTS] =
        {"GASNET_SPAWN_PORTS", AQ_TYPE_PORTS, "", 0, 0, NULL,
         "Ports on which the launcher, and each host that starts further ones, is called by the "
         "hosts that it starts, for example 50200-50220, where a firewall lets only some through. "
         "When not set, the kernel chooses."},
    [AQ_SET_SPAWN_PROMISCUOUS] =
        {"GASNET_SPAWN_PROMISCUOUS", AQ_TYPE_BOOL, "0", 0, 0, NULL,
         "Accept connections during the start from any address, where hosts are behind routers "
         "that change it. Who calls has to prove the key of the job all the same."},
    [AQ_SET_PSHM_NODES] =
        {"GASNET_PSHM_NODES", AQ_TYPE_INT, "1", 1, 1024, NULL,
         "Processes that a program starts when it is run directly, without a launcher. A "
         "launcher's own option goes before it."},
    [AQ_SET_PSHM_NETWORK_DEPTH] =
        {"GASNET_PSHM_NETWORK_DEPTH", AQ_TYPE_INT, "8", 4, 1024, NULL,
         "Messages of maximum size (64 KiB) that each of the two receive rings of a "
         "process holds, over shared memory and among ranks of a host over mpi. Of smaller "
         "messages a ring holds more. A sender to a full ring "
         "waits."},
    [AQ_SET_SUPERNODE_MAXSIZE] =
        {"GASNET_SUPERNODE_MAXSIZE", AQ_TYPE_INT, "0", 0, 1e6, NULL,
         "Most processes of a host that form one neighbourhood, that is, share memory. 0: "
         "all of them."},
    [AQ_SET_SPAWNFN] =
        {"GASNET_SPAWNFN", AQ_TYPE_CHOICE, "L", 0, 0, "L S R C",
         "How the processes of a job of conduit udp are started, in GASNet's letters. L: on this "
         "host (spawner fork); S: by ssh, on the hosts that are named; C: by the command of "
         "GASNET_CSPAWN_CMD (spawner custom). R, by rexec, is refused, as GASNet has given it up. "
         "GASNET_SPAWNER and GASNET_UDP_SPAWNER go before it."},
    [AQ_SET_CSPAWN_CMD] =
        {"GASNET_CSPAWN_CMD", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "The command by which spawner custom starts a job, as 'srun -n %N %C'; a shell runs it, "
         "once. %N: the number of ranks; %C: what each of as many processes has to run; %D: the "
         "working directory; %P: the program; %M: the servers of GASNET_CSPAWN_SERVERS; %%: a "
         "percent sign. Also read as AMUDP_CSPAWN_CMD and CSPAWN_CMD."},
    [AQ_SET_CSPAWN_SERVERS] =
        {"GASNET_CSPAWN_SERVERS", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "Servers, blanks between, for %M of GASNET_CSPAWN_CMD, which takes as many as there are "
         "ranks. Also read as AMUDP_CSPAWN_SERVERS and CSPAWN_SERVERS."},
    [AQ_SET_CSPAWN_ROUTE_OUTPUT] =
        {"GASNET_CSPAWN_ROUTE_OUTPUT", AQ_TYPE_BOOL, "0", 0, 0, NULL,
         "Whether the ranks of spawner custom print through the launcher; without it they print "
         "where the command of GASNET_CSPAWN_CMD lets them. Also read as "
         "AMUDP_CSPAWN_ROUTE_OUTPUT and CSPAWN_ROUTE_OUTPUT."},
    [AQ_SET_CSPAWN_KEY] =
        {"GASNET_CSPAWN_KEY", AQ_TYPE_CHOICE, "environment", 0, 0, "environment command",
         "How the processes of spawner custom learn the key of the job. environment: by the "
         "environment of the command, which has to pass it on; command: by the words of %C, which "
         "other users of the hosts can read for a moment."},
    [AQ_SET_WORKER_RANK] =
        {"GASNET_WORKER_RANK", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "Which rank a process of spawner custom becomes: a number, another one in each process; "
         "or the name of a variable that has it there, as SLURM_PROCID. When not set, ranks of one "
         "host have numbers side by side."},
    [AQ_SET_SPAWN_KEY] =
        {"GASNET_SPAWN_KEY", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "Set by the launcher for the processes of spawner custom; not for users."},
    [AQ_SET_MASTERIP] =
        {"GASNET_MASTERIP", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "Address or name of the launching host, as the others reach it; spawner ssh has them call "
         "it there. Conduit udp uses the interface that leads there, when GASNET_WORKERIP is not "
         "set and the job is spread over several hosts."},
    [AQ_SET_WORKERIP] =
        {"GASNET_WORKERIP", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "Network that the processes of conduit udp use among themselves, for example "
         "192.168.0.0: that of the interface with this address or in this network. When neither "
         "this nor GASNET_MASTERIP is set: the loopback interface if all processes are on one "
         "host, else the interface that leads to the other hosts of the job, or, when the spawner "
         "does not know them, that of the default route."},
    [AQ_SET_UDP_PORTS] =
        {"GASNET_UDP_PORTS", AQ_TYPE_PORTS, "", 0, 0, NULL,
         "Ports that conduit udp may use, for example 50000-50100, where a firewall lets only some "
         "through; each process of a host takes one. When not set, the kernel chooses."},
    [AQ_SET_UDP_RCVBUF] =
        {"GASNET_UDP_RCVBUF", AQ_TYPE_BYTES, "4MB", 4096, 1 << 30, NULL,
         "Size of the kernel's buffer for datagrams that have arrived at a process of conduit udp. "
         "The kernel gives less when net.core.rmem_max is less."},
    [AQ_SET_UDP_SNDBUF] =
        {"GASNET_UDP_SNDBUF", AQ_TYPE_BYTES, "1MB", 4096, 1 << 30, NULL,
         "Size of the kernel's buffer for datagrams that a process of conduit udp sends. The "
         "kernel gives less when net.core.wmem_max is less."},
    [AQ_SET_UDP_RECEIVE_MEMORY] =
        {"GASNET_UDP_RECEIVE_MEMORY", AQ_TYPE_BYTES, "10MB", 3 << 20, 1 << 30, NULL,
         "Memory in which a process of conduit udp keeps datagrams that have arrived until their "
         "messages are handled: beside the kernel's buffer, and for all its peers together. What "
         "does not fit in is sent again."},
    [AQ_SET_UDP_AUTH] =
        {"GASNET_UDP_AUTH", AQ_TYPE_CHOICE, "auto", 0, 0, "auto encrypt full header token off",
         "How conduit udp protects its datagrams. auto: encrypt between hosts, token on the "
         "loopback interface. encrypt: nobody without the job's key reads, alters, forges or "
         "replays anything (AES-256-GCM or ChaCha20-Poly1305). full: the same, but everybody on "
         "the way reads everything. header: whoever sits on the way may also alter the data of "
         "puts, gets and messages, but not where it goes or which handler runs. token: stops "
         "other users of this host; whoever captures packets can forge anything. off: stops "
         "nobody who reaches the ports."},
    [AQ_SET_UDP_CHECKSUM] =
        {"GASNET_UDP_CHECKSUM", AQ_TYPE_CHOICE, "auto", 0, 0, "auto yes no",
         "Whether the data in a datagram of conduit udp has a checksum. auto: except on the "
         "loopback interface, where the wire is memory. GASNET_UDP_AUTH=encrypt and full cover "
         "the data themselves."},
    [AQ_SET_UDP_PEER_TIMEOUT] =
        {"GASNET_UDP_PEER_TIMEOUT", AQ_TYPE_REAL, "0", 0, SECONDS_MAX, NULL,
         "Seconds after which a process of conduit udp that does not answer is taken for dead, and "
         "the job ends. A process answers whenever it calls the runtime, so this has to be longer "
         "than it ever computes. 0: never; the launcher tells when a process has died."},
    [AQ_SET_UDP_HOST_TIMEOUT] =
        {"GASNET_UDP_HOST_TIMEOUT", AQ_TYPE_REAL, "60", 0, SECONDS_MAX, NULL,
         "Seconds after which a host of conduit udp from which nothing comes, and whose kernel no "
         "longer answers, is taken for gone, and the job ends. The kernel is asked by TCP "
         "connections that it refuses, and answers also for processes that compute or are stopped. "
         "Where it never answered, as behind some firewalls, its silence says nothing. 0: never."},
    [AQ_SET_UDP_SILENCE_WARN] =
        {"GASNET_UDP_SILENCE_WARN", AQ_TYPE_REAL, "10", 0, SECONDS_MAX, NULL,
         "Seconds after which a process of conduit udp warns, once, of a process that does not "
         "answer it. 0: never."},
    [AQ_SET_CONNECT_TIMEOUT] =
        {"GASNET_CONNECT_TIMEOUT", AQ_TYPE_REAL, "60", 0, SECONDS_MAX, NULL,
         "Conduit udp: seconds after which a job does not start, because a process hears nothing "
         "of one that is next to it in the job. 0: nobody tries whether the network carries "
         "datagrams before the program runs."},
    [AQ_SET_UDP_FAULT_DROP] =
        {"GASNET_UDP_FAULT_DROP", AQ_TYPE_REAL, "0", 0, 100, NULL,
         "For tests: percent of the datagrams that conduit udp loses on purpose. Of 100 nothing "
         "ever arrives."},
    [AQ_SET_UDP_FAULT_DUPLICATE] =
        {"GASNET_UDP_FAULT_DUPLICATE", AQ_TYPE_REAL, "0", 0, 100, NULL,
         "For tests: percent of the datagrams that conduit udp sends twice on purpose."},
    [AQ_SET_UDP_FAULT_REORDER] =
        {"GASNET_UDP_FAULT_REORDER", AQ_TYPE_REAL, "0", 0, 100, NULL,
         "For tests: percent of the datagrams that conduit udp sends out of order on purpose."},
    [AQ_SET_UDP_FAULT_DELAY] =
        {"GASNET_UDP_FAULT_DELAY", AQ_TYPE_REAL, "0", 0, 100, NULL,
         "For tests: percent of the datagrams that conduit udp sends late on purpose; see "
         "GASNET_UDP_FAULT_DELAY_MS."},
    [AQ_SET_UDP_FAULT_DELAY_MS] =
        {"GASNET_UDP_FAULT_DELAY_MS", AQ_TYPE_REAL, "10", 0, 60000, NULL,
         "For tests: the most milliseconds that GASNET_UDP_FAULT_DELAY holds a datagram back."},
    [AQ_SET_UDP_FAULT_TRUNCATE] =
        {"GASNET_UDP_FAULT_TRUNCATE", AQ_TYPE_REAL, "0", 0, 100, NULL,
         "For tests: percent of the datagrams that conduit udp cuts short on purpose."},
    [AQ_SET_UDP_FAULT_FLIP] =
        {"GASNET_UDP_FAULT_FLIP", AQ_TYPE_REAL, "0", 0, 100, NULL,
         "For tests: percent of the datagrams in which conduit udp turns a bit over on purpose. "
         "Data is protected by GASNET_UDP_CHECKSUM=yes or GASNET_UDP_AUTH=full or encrypt only."},
    [AQ_SET_UDP_FAULT_FORGE] =
        {"GASNET_UDP_FAULT_FORGE", AQ_TYPE_REAL, "0", 0, 100, NULL,
         "For tests: percent of the datagrams in which conduit udp turns a bit over on purpose "
         "before it seals or signs them, as a process of the job that lies could do. No "
         "protection recognizes them: data may be wrong, and the job may end or wait for ever."},
    [AQ_SET_UDP_FAULT_SEED] =
        {"GASNET_UDP_FAULT_SEED", AQ_TYPE_INT, "1", 0, 0, NULL,
         "For tests: where the random numbers behind GASNET_UDP_FAULT_DROP and the like begin."},
    [AQ_SET_IBV_PORTS] =
        {"GASNET_IBV_PORTS", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "Ports that conduit ibv may use: devices with + between, each with the numbers of its "
         "ports behind a colon if not all will do: mlx5_0+mlx5_1:1,2. A filter: what is not there "
         "or not active is passed over, and order has no meaning. When not set, every port may be "
         "used. gasnet_info lists the ports and tells which one is taken."},
    [AQ_SET_HCA_ID] =
        {"GASNET_HCA_ID", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "Accepted for conduit ibv and without meaning, with a warning: GASNET_IBV_PORTS took its "
         "place."},
    [AQ_SET_PORT_NUM] =
        {"GASNET_PORT_NUM", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "Accepted for conduit ibv and without meaning, with a warning: GASNET_IBV_PORTS took its "
         "place."},
    [AQ_SET_NUM_QPS] =
        {"GASNET_NUM_QPS", AQ_TYPE_INT, "0", 0, 64, NULL,
         "Accepted for conduit ibv and without meaning in this version, which uses one port, and "
         "one queue pair for each peer; more of them on the same port would share its bandwidth."},
    [AQ_SET_QP_TIMEOUT] =
        {"GASNET_QP_TIMEOUT", AQ_TYPE_INT, "18", 0, 31, NULL,
         "Conduit ibv: how long a device waits for an acknowledgement before it sends again: "
         "4.096 microseconds times 2 to this power; 18 is one second. 0: without end."},
    [AQ_SET_QP_RETRY_COUNT] =
        {"GASNET_QP_RETRY_COUNT", AQ_TYPE_INT, "7", 0, 7, NULL,
         "Conduit ibv: how often a device sends again when no acknowledgement comes, before the "
         "job ends with an error."},
    [AQ_SET_QP_RD_ATOM] =
        {"GASNET_QP_RD_ATOM", AQ_TYPE_INT, "0", 0, 255, NULL,
         "Conduit ibv: RDMA reads and atomics of one connection that may be under way at the "
         "same time. 0: as many as the device can do."},
    [AQ_SET_IBV_ATOMICS] =
        {"GASNET_IBV_ATOMICS", AQ_TYPE_CHOICE, "auto", 0, 0, "auto 0 1",
         "Conduit ibv: whether the device does remote atomics on types of 64 bits, as far as it "
         "has "
         "them: additions, compare-and-swap, reading. auto: where its atomics are atomic beside "
         "those of processors; 0: never, the target does all of them; 1: also where they are not, "
         "for domains with no other operations: the program then says that ranks of the target's "
         "host leave that memory alone meanwhile."},
    [AQ_SET_CONNECT_STATIC] =
        {"GASNET_CONNECT_STATIC", AQ_TYPE_BOOL, "0", 0, 0, NULL,
         "Conduit ibv: whether every process is connected to all others at the start. 0: to each "
         "when it is first used."},
    [AQ_SET_CONNECT_DYNAMIC] =
        {"GASNET_CONNECT_DYNAMIC", AQ_TYPE_BOOL, "1", 0, 0, NULL,
         "Conduit ibv: whether connections may be made after the start. 0 asks for "
         "GASNET_CONNECT_STATIC=1."},
    [AQ_SET_CONNECT_CALLS] =
        {"GASNET_CONNECT_CALLS", AQ_TYPE_INT, "16", 1, 65535, NULL,
         "Conduit ibv: most connections that a process asks for at the same time, when "
         "GASNET_CONNECT_STATIC=1 has it make them all."},
    [AQ_SET_RCV_THREAD] =
        {"GASNET_RCV_THREAD", AQ_TYPE_BOOL, "0", 0, 0, NULL,
         "Whether a thread of the runtime sleeps until messages arrive and handles them while the "
         "program computes, in programs of mode par or parsync: messages of ranks that share "
         "memory, and those of conduit ibv, which then goes without the rings of "
         "GASNET_AMRDMA_LIMIT. It takes time from the program where no processor is idle."},
    [AQ_SET_RCV_THREAD_RATE] =
        {"GASNET_RCV_THREAD_RATE", AQ_TYPE_INT, "0", 0, 1e6, NULL,
         "Conduit ibv: how often in a second the thread of GASNET_RCV_THREAD may wake up. 0: no "
         "limit."},
    [AQ_SET_INLINESEND_LIMIT] =
        {"GASNET_INLINESEND_LIMIT", AQ_TYPE_INT, "-1", -1, 65535, NULL,
         "Conduit ibv: most bytes that travel to the device in the request itself (inline). 0: "
         "none do; -1, or more than the device can: as many as it can."},
    [AQ_SET_PACKEDLONG_LIMIT] =
        {"GASNET_PACKEDLONG_LIMIT", AQ_TYPE_BYTES, "4012", 0, 65536, NULL,
         "Conduit ibv: most bytes of a Long message that travel with its header and are copied "
         "into place at the target; more are written there by the device. No more than fit into a "
         "receive buffer do. 0: always written by the device."},
    [AQ_SET_NONBULKPUT_BOUNCE_LIMIT] =
        {"GASNET_NONBULKPUT_BOUNCE_LIMIT", AQ_TYPE_BYTES, "64KB", 0, 1 << 30, NULL,
         "Conduit ibv: longest put whose source may be reused at once that is copied into a "
         "buffer; a longer one is written from where it is, and the call waits. 0: none is "
         "copied."},
    [AQ_SET_NETWORKDEPTH_PP] =
        {"GASNET_NETWORKDEPTH_PP", AQ_TYPE_INT, "64", 1, 32768, NULL,
         "Conduit ibv: operations of the device (RDMA and messages) that may be under way from a "
         "process to one peer: the depth of a send queue."},
    [AQ_SET_NETWORKDEPTH_TOTAL] =
        {"GASNET_NETWORKDEPTH_TOTAL", AQ_TYPE_INT, "0", 0, 1e7, NULL,
         "Conduit ibv: the same to all peers together. 0: as many as GASNET_NETWORKDEPTH_PP and "
         "the device allow, and no more than 4096."},
    [AQ_SET_AM_CREDITS_PP] =
        {"GASNET_AM_CREDITS_PP", AQ_TYPE_INT, "32", 1, 32768, NULL,
         "Conduit ibv: requests that may be under way from a process to one peer without being "
         "answered. More than GASNET_NETWORKDEPTH_PP counts as that."},
    [AQ_SET_AM_CREDITS_TOTAL] =
        {"GASNET_AM_CREDITS_TOTAL", AQ_TYPE_INT, "1024", 0, 1e7, NULL,
         "Conduit ibv: the same to all peers together; when not set, at least one for each "
         "process of the job. More than GASNET_NETWORKDEPTH_TOTAL counts as that; 0: as many as "
         "that."},
    [AQ_SET_AM_CREDITS_SLACK] =
        {"GASNET_AM_CREDITS_SLACK", AQ_TYPE_INT, "1", 0, 32768, NULL,
         "Conduit ibv: credits that a process keeps for a peer until a message goes there anyway; "
         "one more is sent back by itself. It is always less than GASNET_AM_CREDITS_PP."},
    [AQ_SET_BBUF_COUNT] =
        {"GASNET_BBUF_COUNT", AQ_TYPE_INT, "1024", 0, 1e6, NULL,
         "Conduit ibv: buffers of a process in which messages are put together and puts are "
         "copied; no more than GASNET_NETWORKDEPTH_TOTAL. 0: that many."},
    [AQ_SET_PIN_MAXSZ] =
        {"GASNET_PIN_MAXSZ", AQ_TYPE_POWER, "0", 0, 0x1p38, NULL,
         "Conduit ibv: longest piece in which the segment is pinned, with K, M or G behind it. 0: "
         "as long as the device allows."},
    [AQ_SET_AMRDMA_LIMIT] =
        {"GASNET_AMRDMA_LIMIT", AQ_TYPE_BYTES, "4012", 0, 4096, NULL,
         "Conduit ibv: longest message that is written straight into a ring of the receiver by "
         "RDMA. More than fits into a buffer of a ring counts as that. 0: none is."},
    [AQ_SET_AMRDMA_DEPTH] =
        {"GASNET_AMRDMA_DEPTH", AQ_TYPE_POWER, "16", 1, 32, NULL,
         "Conduit ibv: buffers of such a ring, one ring for each peer that has one."},
    [AQ_SET_AMRDMA_MAX_PEERS] =
        {"GASNET_AMRDMA_MAX_PEERS", AQ_TYPE_INT, "32", 0, 65535, NULL,
         "Conduit ibv: peers that may have a ring at a process at the same time. 0: none."},
    [AQ_SET_AMRDMA_CYCLE] =
        {"GASNET_AMRDMA_CYCLE", AQ_TYPE_POWER, "1024", 0, 1 << 30, NULL,
         "Conduit ibv: messages (of at most GASNET_AMRDMA_LIMIT) that arrive between two looks at "
         "who should have a ring. 1: a peer gets one with its first message; 0: nobody has one."},
    [AQ_SET_USE_FIREHOSE] =
        {"GASNET_USE_FIREHOSE", AQ_TYPE_BOOL, "1", 0, 0, NULL,
         "Conduit ibv: whether memory outside of the segment is pinned when it is first used, and "
         "kept pinned, which GASNET_DISABLE_MUNMAP makes safe. 0: its data is copied through "
         "buffers, and puts and gets to a segment that is not pinned as a whole (modes LARGE and "
         "EVERYTHING) go by active messages."},
    [AQ_SET_FIREHOSE_M] =
        {"GASNET_FIREHOSE_M", AQ_TYPE_MEGABYTES, "0", 0, 1e15, NULL,
         "Conduit ibv: memory that a process keeps pinned for others (main pool). 0: what the "
         "process may pin without GASNET_FIREHOSE_MAXVICTIM_M; when that is not given either, 75% "
         "of it, and nothing where the segment is pinned as a whole."},
    [AQ_SET_FIREHOSE_R] =
        {"GASNET_FIREHOSE_R", AQ_TYPE_INT, "0", 0, 1e9, NULL,
         "Conduit ibv: most regions in the main pool, shared evenly among the other processes. 0, "
         "or more than fit: GASNET_FIREHOSE_M / GASNET_FIREHOSE_MAXREGION_SIZE."},
    [AQ_SET_DISABLE_MUNMAP] =
        {"GASNET_DISABLE_MUNMAP", AQ_TYPE_BOOL, "1", 0, 0, NULL,
         "Conduit ibv: whether malloc is told to keep all memory for the process (mallopt), so "
         "that what GASNET_USE_FIREHOSE keeps pinned stays where it is. A program that itself "
         "unmaps memory which it used for puts and gets, or has another allocator, sets 0: data "
         "outside of the segment is then copied through buffers, and where all memory is the "
         "segment (mode EVERYTHING), by active messages."},
    [AQ_SET_FIREHOSE_MAXVICTIM_M] =
        {"GASNET_FIREHOSE_MAXVICTIM_M", AQ_TYPE_MEGABYTES, "0", 0, 1e15, NULL,
         "Conduit ibv: memory that a process keeps pinned for itself (victim pool). 0: what it may "
         "pin without GASNET_FIREHOSE_M."},
    [AQ_SET_FIREHOSE_MAXVICTIM_R] =
        {"GASNET_FIREHOSE_MAXVICTIM_R", AQ_TYPE_INT, "0", 0, 1e9, NULL,
         "Conduit ibv: most regions in the victim pool. 0, or more than fit: "
         "GASNET_FIREHOSE_MAXVICTIM_M / GASNET_FIREHOSE_MAXREGION_SIZE."},
    [AQ_SET_FIREHOSE_MAXREGION_SIZE] =
        {"GASNET_FIREHOSE_MAXREGION_SIZE", AQ_TYPE_MEGABYTES, "128KB", 0, 1e12, NULL,
         "Conduit ibv: the longest region that is pinned at once, rounded up to whole pages; "
         "regions begin small and grow. 0: as long as is needed to pin all that may be pinned with "
         "the regions that the device has, from 128KB to 16MB."},
    [AQ_SET_FIREHOSE_TABLE_SCALE] =
        {"GASNET_FIREHOSE_TABLE_SCALE", AQ_TYPE_REAL, "1", 0.01, 100, NULL,
         "Conduit ibv: size of the hash tables of pinned regions, as a multiple of what is usual. "
         "Less saves memory and costs time."},
    [AQ_SET_FIREHOSE_VERBOSE] =
        {"GASNET_FIREHOSE_VERBOSE", AQ_TYPE_BOOL, "0", 0, 0, NULL,
         "Conduit ibv: print on standard error how large the pools are when a process starts, and "
         "what was pinned when it ends."},
    [AQ_SET_PUTINMOVE_LIMIT] =
        {"GASNET_PUTINMOVE_LIMIT", AQ_TYPE_BYTES, "3KB", 0, 3072, NULL,
         "Conduit ibv, where the segment is not pinned as a whole: most bytes of a put that travel "
         "with the message that asks for the memory to be pinned. 0: none do."},
    [AQ_SET_PHYSMEM_MAX] =
        {"GASNET_PHYSMEM_MAX", AQ_TYPE_LIMIT, "2/3", 0, 0, "0",
         "Conduit ibv: most memory that all processes of a host pin together, in bytes (4GB) or as "
         "a part of the memory of the host; each has an equal share. 0: 2/3."},
    [AQ_SET_PHYSMEM_PROBE] =
        {"GASNET_PHYSMEM_PROBE", AQ_TYPE_BOOL, "0", 0, 0, NULL,
         "Conduit ibv: whether each process pins memory at its start, as much as it can and up to "
         "GASNET_PHYSMEM_MAX, to learn how much that is. It takes seconds. Otherwise a limit is "
         "told when it is met, and less is pinned from then on."},
    [AQ_SET_PHYSMEM_NOPROBE] = {"GASNET_PHYSMEM_NOPROBE", AQ_TYPE_BOOL, "1", 0, 0, NULL,
                                "Conduit ibv: 0 is the same as GASNET_PHYSMEM_PROBE=1."},
    [AQ_SET_PHYSMEM_WARN] =
        {"GASNET_PHYSMEM_WARN", AQ_TYPE_BOOL, "1", 0, 0, NULL,
         "Accepted for conduit ibv and without meaning: it is about probes that take long, and "
         "there are none but those that GASNET_PHYSMEM_PROBE asks for."},
    [AQ_SET_PINNED_REGIONS_MAX] =
        {"GASNET_PINNED_REGIONS_MAX", AQ_TYPE_LIMIT, "0", 0, 0, "0",
         "Conduit ibv: most regions that all processes of a host pin together: a number (10000) or "
         "a part of what the device can keep (0.5); each has an equal share. 0: the same part as "
         "GASNET_PHYSMEM_MAX is of the memory."},
    [AQ_SET_MAXIMIZE_MEMLOCK] =
        {"GASNET_MAXIMIZE_MEMLOCK", AQ_TYPE_BOOL, "1", 0, 0, NULL,
         "Conduit ibv: whether a process raises its limit on locked memory as far as it may."},
    [AQ_SET_MODULE_PATH] =
        {"GASNET_MODULE_PATH", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "Directories, colons between, where conduit and spawner modules are looked for "
         "before the installed ones."},
    [AQ_SET_MAX_SEGSIZE] =
        {"GASNET_MAX_SEGSIZE", AQ_TYPE_LIMIT, "0.85/H", 0, 0, NULL,
         "Most memory that segments may take: bytes (4GB) or a fraction of the memory of "
         "the host (0.85). With /P, or nothing behind it, for each process, without the "
         "runtime's own memory; with /H for all processes of the host, with the runtime's "
         "own memory."},
    [AQ_SET_MAX_THREADS] =
        {"GASNET_MAX_THREADS", AQ_TYPE_INT, "1024", 1, 65535, NULL,
         "Most threads of a process that may use the runtime at the same time, in modes "
         "par and parsync."},
    [AQ_SET_WAITMODE] =
        {"GASNET_WAITMODE", AQ_TYPE_CHOICE, "auto", 0, 0, "auto spin block spinblock",
         "What a thread does that waits. spin: polls without a pause; block: sleeps until "
         "something arrives; spinblock: polls for GASNET_SPIN_US, then sleeps; auto: "
         "chosen by the number of processes for each processor."},
    [AQ_SET_SPIN_US] =
        {"GASNET_SPIN_US", AQ_TYPE_INT, "500", 0, 1e6, NULL,
         "Microseconds that a waiting thread polls before it gives the processor away."},
    [AQ_SET_EXITTIMEOUT] =
        {"GASNET_EXITTIMEOUT", AQ_TYPE_REAL, "0", 0, SECONDS_MAX, NULL,
         "Seconds that an exiting process waits for the others before it ends the job by "
         "force. 0: the lesser of GASNET_EXITTIMEOUT_MAX and GASNET_EXITTIMEOUT_MIN + "
         "processes * GASNET_EXITTIMEOUT_FACTOR."},
    [AQ_SET_EXITTIMEOUT_MIN] =
        {"GASNET_EXITTIMEOUT_MIN", AQ_TYPE_REAL, "2", 0, SECONDS_MAX, NULL,
         "Seconds that a computed exit timeout starts from; see GASNET_EXITTIMEOUT."},
    [AQ_SET_EXITTIMEOUT_MAX] =
        {"GASNET_EXITTIMEOUT_MAX", AQ_TYPE_REAL, "30", 0, SECONDS_MAX, NULL,
         "Most seconds that a computed exit timeout may be; see GASNET_EXITTIMEOUT."},
    [AQ_SET_EXITTIMEOUT_FACTOR] =
        {"GASNET_EXITTIMEOUT_FACTOR", AQ_TYPE_REAL, "0.05", 0, SECONDS_MAX, NULL,
         "Seconds for each process in a computed exit timeout; see GASNET_EXITTIMEOUT."},
    [AQ_SET_CATCH_EXIT] =
        {"GASNET_CATCH_EXIT", AQ_TYPE_BOOL, "1", 0, 0, NULL,
         "Whether exit() of one process, or its return from main, ends the whole job. 0 "
         "lets tools that write their results at exit do so; whoever sets it must see that "
         "no process is left behind."},
    [AQ_SET_NO_CATCH_SIGNAL] =
        {"GASNET_NO_CATCH_SIGNAL", AQ_TYPE_SIGNALS, "", 0, 0, "*",
         "Fatal signals that the runtime leaves alone, by name or number, commas between: "
         "SIGSEGV,fpe,11. *: all of them. For debuggers and other tools that want to see "
         "them first."},
    [AQ_SET_FREEZE] = {"GASNET_FREEZE", AQ_TYPE_BOOL, "0", 0, 0, NULL,
                       "Stop each process at start until a debugger is attached."},
    [AQ_SET_FREEZE_ON_ERROR] = {"GASNET_FREEZE_ON_ERROR", AQ_TYPE_BOOL, "0", 0, 0, NULL,
                                "Stop a process at a fatal error or signal until a debugger is "
                                "attached. It says how to let "
                                "it go on."},
    [AQ_SET_FREEZE_SIGNAL] =
        {"GASNET_FREEZE_SIGNAL", AQ_TYPE_SIGNALS, "", 0, 0, NULL,
         "Signal at which a process stops until a debugger is attached, by name, for example "
         "SIGUSR1, which the launcher passes on to all."},
    [AQ_SET_BACKTRACE] =
        {"GASNET_BACKTRACE", AQ_TYPE_BOOL, "0", 0, 0, NULL,
         "Print the stack of a process at a fatal error or signal, on standard error."},
    [AQ_SET_BACKTRACE_NODES] =
        {"GASNET_BACKTRACE_NODES", AQ_TYPE_RANKS, "", 0, 0, NULL,
         "Ranks whose stack GASNET_BACKTRACE prints, numbers and ranges with commas "
         "between: 0,2-4,6. * or not set: all."},
    [AQ_SET_BACKTRACE_SIGNAL] =
        {"GASNET_BACKTRACE_SIGNAL", AQ_TYPE_SIGNALS, "", 0, 0, NULL,
         "Signal at which a process prints its stack and goes on, by name, for example "
         "SIGUSR1: to see where a job hangs."},
    [AQ_SET_REPORT_SIGNAL] =
        {"GASNET_REPORT_SIGNAL", AQ_TYPE_SIGNALS, "SIGUSR2", 0, 0, NULL,
         "Signal at which a process tells on standard error what it waits for, with its queues "
         "and counters, and goes on; the launcher passes SIGUSR1 and SIGUSR2 on to all. Left to "
         "the program where that has a handler when it calls init. Empty: none."},
    [AQ_SET_BACKTRACE_TYPE] =
        {"GASNET_BACKTRACE_TYPE", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "Ways to print a stack, commas between; the first that works is used. EXECINFO: by the C "
         "library; GDB: by the debugger gdb, with source lines where there are any; or the name "
         "under "
         "which a program defines its own (gasnett_backtrace_user). When not set, the program's "
         "own, "
         "then EXECINFO."},
    [AQ_SET_BACKTRACE_MT] = {"GASNET_BACKTRACE_MT", AQ_TYPE_BOOL, "1", 0, 0, NULL,
                             "Whether the stacks of all threads are printed, where "
                             "GASNET_BACKTRACE_TYPE has a way that "
                             "can: GDB."},
    [AQ_SET_STATS] =
        {"GASNET_STATS", AQ_TYPE_BOOL, "0", 0, 0, NULL,
         "Print what conduit udp, mpi or ibv counted, on standard error, when a process "
         "ends: over udp a "
         "line for each peer that it spoke to and one for all; over mpi one, with "
         "what went by MPI and what through memory; over ibv one about "
         "messages and one about memory, with what it registered and has left."},
    [AQ_SET_VERBOSEENV] =
        {"GASNET_VERBOSEENV", AQ_TYPE_BOOL, "0", 0, 0, NULL,
         "Print the variables of this list that are given, with their values, when the job "
         "starts."},
    [AQ_SET_SPAWN_VERBOSE] = {"GASNET_SPAWN_VERBOSE", AQ_TYPE_BOOL, "0", 0, 0, NULL,
                              "Tell on standard error how the job is started and ended."},
    [AQ_SET_QUIET] = {"GASNET_QUIET", AQ_TYPE_BOOL, "0", 0, 0, NULL,
                      "Leave out warnings; errors are always printed."},
    [AQ_SET_SPAWN_CONDUIT] =
        {"GASNET_SPAWN_CONDUIT", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "Set by the launcher, when its own name chose the conduit, to conduit:launcher, so that a "
         "program that is linked for another conduit can say so; not for users."},
    [AQ_SET_SPAWN_CONTROL] =
        {"GASNET_SPAWN_CONTROL", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "Set by the launcher for the processes that it starts; not for users."},
};
