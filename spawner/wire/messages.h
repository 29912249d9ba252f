// SPDX-License-Identifier: BSD-3-Clause
// The meaning of frames between launcher and helpers. Writers append a whole frame to bytes.
// Readers take the payload of a frame, and return false if it does not match its type (the sender
// is not authenticated yet, or is broken).
//
// Launcher and helpers form a tree; "up" leads to the launcher.
//
//   up first:  HELLO, AUTH (WORKER)               down first: CHALLENGE (ATTACH), JOB
//   up:   STARTED FAILED AGAIN  OUTPUT TAKEN  GATHER  JOINED EXIT LEFT FAULT DONE  PONG  MEMBER
//         LOST  REPLY  READER_QUERY
//   down: GO  INPUT  CREDIT  SIGNAL  SPREAD  ENDED  PING  QUERY  READER_REPLY
//
// Between a process of a rendezvous and another of its host, which shares its helper (members.h):
//
//   up:   MEMBER  DONE FAILED                     down: START  SIGNAL  ENDED LOST
#pragma once

#include "frame.h"
#include "../shell/remote_command.h"
#include "../boot/boot.h"

#define AQ_NONCE_BYTES 32u
#define AQ_AUTH_BYTES 32u
#define AQ_FIRST_MAX 256u // payload of frames before the peer is authenticated

typedef enum aq_message {
    AQ_MSG_INTRO = 1, // to a helper, through the remote shell: address to call, and the key
    AQ_MSG_HELLO,
    AQ_MSG_CHALLENGE,
    AQ_MSG_AUTH,
    AQ_MSG_JOB,
    AQ_MSG_STARTED, // a helper is ready
    AQ_MSG_FAILED,  // hosts could not be started
    AQ_MSG_GO,      // all hosts are ready: start the ranks
    AQ_MSG_OUTPUT,
    AQ_MSG_INPUT,  // standard input for rank 0; empty: end of input
    AQ_MSG_TAKEN,  // that many bytes of input are consumed
    AQ_MSG_CREDIT, // that many more bytes of output may come up this link
    AQ_MSG_SIGNAL,
    AQ_MSG_GATHER, // contribution of a subtree to a collective step
    AQ_MSG_SPREAD, // result of a collective step
    AQ_MSG_EXIT,   // an exit was announced
    AQ_MSG_JOINED, // ranks of a host take part in a collective step for the first time
    AQ_MSG_LEFT,   // a rank left without ever joining
    AQ_MSG_ENDED,  // the exit of the whole job
    AQ_MSG_DONE,   // the ranks of a host are gone
    AQ_MSG_FAULT,  // ranks of a host could not start, and the reason
    AQ_MSG_PING,   // no payload; stays on this link
    AQ_MSG_PONG,   // answer to PING
    AQ_MSG_WORKER, // after AUTH, from a worker: where it runs, and which rank it asks for
    AQ_MSG_AGAIN,  // hosts are being started anew; what they reported before is void
    AQ_MSG_ATTACH, // to a process of a rendezvous: share the helper of another process
    AQ_MSG_MEMBER, // a process shares the helper, which reports its end from now on
    AQ_MSG_START,  // to a member: start the rank, with this boot page
    AQ_MSG_LOST,   // up: the connection of a helper to a member broke; down: the one to the master
    // Of a universe (universe.h, universe_table.h); VERSION and all behind JOIN_CONFIG: its
    // daemons.
    AQ_MSG_JOIN_CONFIG, // to a daemon, through the remote shell: the key, and where the coordinator
                        // is
    AQ_MSG_VERSION,     // the first frame of a daemon to all that call it, before HELLO
    AQ_MSG_HELPER,      // after AUTH: fork a helper, to which JOB and the rest go; no payload
    AQ_MSG_JOIN,        // after AUTH, to the coordinator: a daemon, which keeps this link
    AQ_MSG_TABLE,       // all daemons
    AQ_MSG_KEY,         // to a program on the daemon's host: the key of the universe
    AQ_MSG_SEE,         // asks for TABLE; no payload
    AQ_MSG_JOBS,        // to the coordinator: how many jobs the daemon has
    AQ_MSG_SHRINK,      // the daemon of that number is to leave
    AQ_MSG_HALT,        // the universe ends; no payload
    // At the end, because daemons of other versions know the numbers above.
    AQ_MSG_QUERY,        // down: report what your ranks do
    AQ_MSG_REPLY,        // up: the answer of a host (other/observe/format/look_format.h)
    AQ_MSG_READER_QUERY, // up: a reader at a helper asks
    AQ_MSG_READER_REPLY, // down: a frame for that reader; goes to its host only
} aq_message_t;

typedef struct aq_intro {
    uint8_t key[AQ_KEY_BYTES];
    uint32_t node;
    const char *address;
    uint32_t port;
} aq_intro_t;
void aq_write_intro(aq_bytes_t *bytes, const aq_intro_t *intro);
bool aq_read_intro(aq_view_t view, aq_intro_t *out);

typedef struct aq_hello {
    uint32_t node;
    uint8_t nonce[AQ_NONCE_BYTES];
} aq_hello_t;
void aq_write_hello(aq_bytes_t *bytes, const aq_hello_t *hello);
bool aq_read_hello(aq_view_t view, aq_hello_t *out);

typedef struct aq_challenge {
    uint8_t nonce[AQ_NONCE_BYTES];
    uint8_t tag[AQ_AUTH_BYTES];
} aq_challenge_t;
void aq_write_challenge(aq_bytes_t *bytes, const aq_challenge_t *challenge);
bool aq_read_challenge(aq_view_t view, aq_challenge_t *out);

void aq_write_auth(aq_bytes_t *bytes, const uint8_t tag[AQ_AUTH_BYTES]);
bool aq_read_auth(aq_view_t view, uint8_t tag[AQ_AUTH_BYTES]);

// A job as every process of the tree knows it; the same bytes travel down the whole tree, except
// for the hosts, of which a process gets those of its subtree. Texts and tables point into the
// payload or belong to the writer; the reader's arrays are allocated (aq_spec_free).
typedef aq_remote_host_t aq_spec_host_t;

// The daemon that forks the helper of a host (universe.h).
typedef struct aq_spec_daemon {
    uint32_t number; // in its universe
    uint32_t port;
    const char *addresses; // separated by commas
} aq_spec_daemon_t;

// How the tree is built, and how long its links bear silence.
typedef struct aq_spec_tree {
    uint32_t radix, timeout_ms;
    uint32_t silence_ms; // aq_link_bear
} aq_spec_tree_t;

// What users see of the job.
typedef struct aq_spec_output {
    bool label_lines, line_buffer, verbose, quiet;
} aq_spec_output_t;

// How a helper is started on another host.
typedef struct aq_spec_remote {
    const char
        *program; // path of the launcher, which also starts helpers on hosts without a prefix
    const char *shell, *options;
    const char *ports; // at which processes of the tree listen
} aq_spec_remote_t;

// The process of the launcher and its host, for those who watch the job.
typedef struct aq_spec_launcher {
    uint32_t pid;
    const char *host;
} aq_spec_launcher_t;

// What ranks execute, and where.
typedef struct aq_spec_command {
    char **argv, **environment; // NULL-terminated
    const char *folder;
} aq_spec_command_t;

typedef struct aq_spec {
    uint32_t size, host_count;
    // Hosts beyond those that get ranks. host_of_rank counts places, [0, host_count - spare); GO
    // tells which hosts have them. Without spares, host and place are the same.
    uint32_t spare;
    uint32_t reserve; // the last ranks, which are not started with the others
    uint32_t cpus_per_rank;
    aq_spec_tree_t tree;
    aq_spec_output_t output;
    bool promiscuous;
    // each host is a process that a custom command started (workers.h), in a rendezvous with its
    // members (members.h)
    bool workers;
    bool direct; // workers print directly instead of through the launcher
    // The boot module that starts workers, each of which is the helper of a known host; NULL: they
    // are processes of a command or a rendezvous. Only the launcher has it; to the helpers the job
    // is one of spawner ssh.
    const char *starter;
    // Workers are processes that something else started, each with a program of its own to go on
    // with (rendezvous.h). argv and environment are not used.
    bool rendezvous;
    uint8_t key[AQ_KEY_BYTES]; // of the ranks; other than the key that the tree uses
    aq_spec_remote_t remote;
    aq_spec_launcher_t launcher;
    aq_spec_host_t *hosts; // of the hosts from first_host on, as far as they are known here
    uint32_t first_host;
    aq_spec_daemon_t *daemons; // of the same hosts; NULL: remote shells start the helpers
    uint32_t *host_of_rank;
    uint32_t *machine_of_rank; // ranks of the same machine can share memory; NULL: host_of_rank
    aq_spec_command_t command;
} aq_spec_t;
// The machine of a host of a job that has machine_of_rank.
uint32_t aq_spec_machine(const aq_spec_t *spec, uint32_t host);
// Without a frame, and without the hosts.
void aq_write_spec(aq_bytes_t *bytes, const aq_spec_t *spec);
bool aq_read_spec(aq_view_t view, aq_spec_t *out);
void aq_spec_free(aq_spec_t *spec);

// Writes and reads the hosts [low, high), without a frame. The reader sets hosts and first_host.
void aq_write_hosts(aq_bytes_t *bytes, const aq_spec_t *spec, uint32_t low, uint32_t high);
bool aq_read_hosts(aq_view_t view, uint32_t low, uint32_t high, aq_spec_t *out);

static inline const aq_spec_host_t *aq_spec_host(const aq_spec_t *spec, uint32_t host)
{
    return &spec->hosts[host - spec->first_host];
}

// NULL: remote shells start the helpers.
static inline const aq_spec_daemon_t *aq_spec_daemon(const aq_spec_t *spec, uint32_t host)
{
    return spec->daemons != NULL ? &spec->daemons[host - spec->first_host] : NULL;
}

// For the helper of host low, which starts the hosts behind it up to high: the range [low, high).
typedef struct aq_job_message {
    uint32_t low, high;
    const uint8_t *hosts; // aq_write_hosts
    size_t hosts_bytes;
    const uint8_t *spec; // aq_write_spec
    size_t spec_bytes;
} aq_job_message_t;
void aq_write_job(aq_bytes_t *bytes, const aq_job_message_t *job);
bool aq_read_job(aq_view_t view, aq_job_message_t *out);

#define AQ_NO_WORKER_RANK UINT32_MAX
#define AQ_BAD_WORKER_RANK (UINT32_MAX - 1) // GASNET_WORKER_RANK of the worker names no rank

typedef struct aq_worker {
    const char *version; // of Aqueduct; if it is another one, the rest is not read
    const char *machine; // the same in processes that can share memory, different in all others
    const char *space;   // the same in processes that can reach each other's attach socket
    const char *attach_socket; // where members may attach (members.h); "": nowhere
    // Name of the host, for messages; of a helper that a boot module started (workers.h): its name
    // in the list of hosts, or + and its number there.
    const char *host;
    uint32_t rank; // the rank that it asks for; AQ_NO_WORKER_RANK, AQ_BAD_WORKER_RANK
    uint32_t size; // the number of ranks that it expects; 0: any
} aq_worker_t;
void aq_write_worker(aq_bytes_t *bytes, const aq_worker_t *worker);
// Of a worker of another version only the version is read, and the result is true.
bool aq_read_worker(aq_view_t view, aq_worker_t *out);

typedef struct aq_node_text {
    uint32_t node;
    // STARTED: address towards the parent; LOST: reason; ATTACH: the attach socket; MEMBER to the
    // process that leads: the secret word of its attach socket. Except for STARTED, node is a rank.
    const char *text;
} aq_node_text_t;
void aq_write_node_text(aq_bytes_t *bytes, aq_message_t type, const aq_node_text_t *text);
bool aq_read_node_text(aq_view_t view, aq_node_text_t *out);

// The hosts [low, high) do not take part: low for that reason, the others because they are behind
// it.
typedef struct aq_failed {
    uint32_t low, high;
    const char *why;
} aq_failed_t;
void aq_write_failed(aq_bytes_t *bytes, const aq_failed_t *failed);
bool aq_read_failed(aq_view_t view, aq_failed_t *out);

// The hosts [low, high) are being started anew, by another host than before. failed: those of them
// that had been reported as failed.
typedef struct aq_again {
    uint32_t low, high, failed;
} aq_again_t;
void aq_write_again(aq_bytes_t *bytes, const aq_again_t *again);
bool aq_read_again(aq_view_t view, aq_again_t *out);

typedef struct aq_go {
    // Two hosts and their addresses, so that each host knows the address of another one; text "":
    // none.
    aq_node_text_t peer[2];
    // The host at each place, ascending. The reader's table is allocated (aq_go_free).
    uint32_t *hosts;
    uint32_t places;
} aq_go_t;
void aq_write_go(aq_bytes_t *bytes, const aq_go_t *go);
bool aq_read_go(aq_view_t view, const aq_spec_t *spec, aq_go_t *out);
void aq_go_free(aq_go_t *go);
// The first place whose host is not before this one; places, if there is none.
uint32_t aq_go_place(const aq_go_t *go, uint32_t host);
// Whether any of the hosts [low, high) has a place.
bool aq_go_has(const aq_go_t *go, uint32_t low, uint32_t high);

enum { AQ_OUTPUT_STREAMS = 3 };
typedef struct aq_output {
    uint32_t node;   // the host
    unsigned stream; // 0: standard output of its ranks, 1: their errors, 2: those of its helper
    const uint8_t *data;
    size_t length;
} aq_output_t;
void aq_write_output(aq_bytes_t *bytes, const aq_output_t *output);
bool aq_read_output(aq_view_t view, aq_output_t *out);

void aq_write_version(aq_bytes_t *bytes, const char *version);
bool aq_read_version(aq_view_t view, const char **out);

void aq_write_input(aq_bytes_t *bytes, const void *data, size_t length);
// PING, PONG, HELPER, SEE, HALT, LOST to a member: no payload.
void aq_write_empty(aq_bytes_t *bytes, aq_message_t type);
// TAKEN, CREDIT, SIGNAL, JOINED, LEFT, JOBS, SHRINK, MEMBER to the master: one number.
void aq_write_number(aq_bytes_t *bytes, aq_message_t type, uint32_t number);
bool aq_read_number(aq_view_t view, uint32_t *out);

// EXIT and ENDED. now: do not wait for the ranks to leave.
typedef struct aq_end {
    bool now;
    uint32_t code;
} aq_end_t;
void aq_write_end(aq_bytes_t *bytes, aq_message_t type, const aq_end_t *end);
bool aq_read_end(aq_view_t view, aq_end_t *out);

// QUERY. what: aq_look_request_t (other/observe/format/look_format.h); rank: unless it is about
// all.
typedef struct aq_query {
    uint32_t number;
    unsigned what;
    uint32_t rank;
} aq_query_t;
void aq_write_query(aq_bytes_t *bytes, const aq_query_t *query);
bool aq_read_query(aq_view_t view, aq_query_t *out);

// READER_QUERY. tag: from the helper, for the answers.
typedef struct aq_reader_query {
    uint32_t host, tag;
    unsigned what; // as of QUERY
    uint32_t rank;
} aq_reader_query_t;
void aq_write_reader_query(aq_bytes_t *bytes, const aq_reader_query_t *query);
bool aq_read_reader_query(aq_view_t view, aq_reader_query_t *out);

// READER_REPLY. type: of the frame to the reader (other/observe/format/look_format.h), which has
// these bytes, at most AQ_READER_REPLY_MAX.
#define AQ_READER_REPLY_MAX (AQ_FRAME_MAX - 16)
typedef struct aq_reader_reply {
    uint32_t host, tag;
    unsigned type;
    const uint8_t *data; // the reader's points into the payload
    size_t length;
} aq_reader_reply_t;
void aq_write_reader_reply(aq_bytes_t *bytes, const aq_reader_reply_t *reply);
bool aq_read_reader_reply(aq_view_t view, aq_reader_reply_t *out);

typedef struct aq_done {
    uint32_t node, code;
} aq_done_t;
void aq_write_done(aq_bytes_t *bytes, const aq_done_t *done);
bool aq_read_done(aq_view_t view, aq_done_t *out);

// Where a member finds the boot page of its host: an open file of the helper.
typedef struct aq_page_place {
    uint32_t pid, fd;
    uint64_t inode;
    const char *answer; // of the attach socket (members.h)
} aq_page_place_t;
void aq_write_page_place(aq_bytes_t *bytes, const aq_page_place_t *place);
bool aq_read_page_place(aq_view_t view, aq_page_place_t *out);

typedef struct aq_fault {
    uint32_t ranks;   // ranks of a host that could not start
    const char *text; // reason of the first of them
} aq_fault_t;
void aq_write_fault(aq_bytes_t *bytes, const aq_fault_t *fault);
bool aq_read_fault(aq_view_t view, aq_fault_t *out);
