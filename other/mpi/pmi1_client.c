// SPDX-License-Identifier: BSD-3-Clause
// The launcher hands each process one end of a socket, whose number is in PMI_FD. The process asks
// in lines, and the launcher answers each line with one; one thread at a time asks. Only a request
// to end the job has no answer, and may be sent at any time.
#include "pmi1_client.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kvs_steps.h"
#include "pmi1_wire.h"

enum {
    NO_LAUNCHER = 2 * AQ_KVS_ERRORS,
    NO_PLACE,
    REFUSED,
    BAD_ANSWER,
    TOO_SMALL,
    LOST,
    NAME_BYTES = 256,  // of the store of the job, with the final zero
    LEAST_VALUE = 128, // characters, for a value of the steps
};

static struct connection {
    int fd; // -1: not connected
    bool finished;
    char name[NAME_BYTES]; // of the store of the job
} launcher = {.fd = -1};

static void pmi1_version(char *text, size_t size)
{
    snprintf(text, size, "PMI-1, spoken by this library itself");
}

static bool pmi1_started(void)
{
    return launcher.fd >= 0;
}

static bool pmi1_finished(void)
{
    return launcher.finished;
}

static const char *own_error(int error)
{
    switch (error) {
    case NO_LAUNCHER:
        return "no launcher answers";
    case NO_PLACE:
        return "the launcher does not report rank and number of ranks (PMI_RANK, PMI_SIZE)";
    case REFUSED:
        return "the launcher refuses a request";
    case BAD_ANSWER:
        return "the launcher gives an answer that is not of PMI-1";
    case TOO_SMALL:
        return "the launcher keeps too short values";
    case LOST:
        return "the launcher may be gone";
    default:
        return "an error that is not known";
    }
}

static void pmi1_explain(int error, char *text, size_t size)
{
    const char *why = aq_kvs_explain(error);
    snprintf(text, size, "%s", why ? why : own_error(error));
}

// ---- requests and answers ----

static int send_line(const char *line, size_t length)
{
    while (length > 0) {
        const ssize_t sent = send(launcher.fd, line, length, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return LOST;
        line += sent;
        length -= (size_t)sent;
    }
    return 0;
}

// Reads one line, without its newline. The launcher sends nothing that was not asked for, so
// nothing follows it.
static int receive_line(char line[AQ_PMI1_ANSWER_BYTES], size_t *length)
{
    size_t used = 0;
    while (used < AQ_PMI1_ANSWER_BYTES) {
        const ssize_t got = recv(launcher.fd, line + used, AQ_PMI1_ANSWER_BYTES - used, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return LOST;
        const char *end = memchr(line + used, '\n', (size_t)got);
        used += (size_t)got;
        if (!end)
            continue;
        *length = (size_t)(end - line);
        line[*length] = '\0';
        return *length + 1 == used ? 0 : BAD_ANSWER;
    }
    return BAD_ANSWER;
}

// Sends a request and receives its answer, of that name. The launcher may report a failure as rc.
__attribute__((format(printf, 3, 4))) static int
ask(const char *answer, char line[AQ_PMI1_ANSWER_BYTES], const char *request, ...)
{
    char text[AQ_PMI1_LINE_BYTES];
    size_t length = 0;
    va_list more;
    va_start(more, request);
    const int made = vsnprintf(text, sizeof text, request, more);
    va_end(more);
    if (made < 0 || (size_t)made >= sizeof text)
        return TOO_SMALL;
    int error = send_line(text, (size_t)made), code;
    if (!error)
        error = receive_line(line, &length);
    if (!error && !aq_pmi1_answers(line, length, answer))
        error = BAD_ANSWER;
    if (!error && aq_pmi1_number(line, "rc", INT_MIN, INT_MAX, &code) && code != 0)
        error = REFUSED;
    return error;
}

// ---- the store ----

static int store_put(const char *key, const char *value)
{
    char line[AQ_PMI1_ANSWER_BYTES];
    return ask("put_result", line, "cmd=put kvsname=%s key=%s value=%s\n", launcher.name, key,
               value);
}

static int store_fence(void)
{
    char line[AQ_PMI1_ANSWER_BYTES];
    return ask("barrier_out", line, "cmd=barrier_in\n");
}

static int store_get(int rank, const char *key, char *value)
{
    char line[AQ_PMI1_ANSWER_BYTES];
    (void)rank;
    int error = ask("get_result", line, "cmd=get kvsname=%s key=%s\n", launcher.name, key);
    if (!error && !aq_pmi1_text(line, "value", value, AQ_KVS_VALUE_BYTES))
        error = BAD_ANSWER;
    return error;
}

static aq_kvs_t store = {.put = store_put, .fence = store_fence, .get = store_get};

// Chooses how many bytes go into a value: a request has at most one line.
static int fit_part(int value_most)
{
    const int around = snprintf(NULL, 0, "cmd=put kvsname=%s key=%*s value=\n", launcher.name,
                                AQ_KVS_KEY_BYTES, "");
    int most = AQ_PMI1_LINE_BYTES - 1 - around;
    most = most < value_most ? most : value_most;
    most = most < AQ_KVS_VALUE_BYTES - 1 ? most : AQ_KVS_VALUE_BYTES - 1;
    store.part = most / 4 * 3;
    return most < LEAST_VALUE ? TOO_SMALL : 0;
}

// ---- start and end ----

static bool number_in(const char *name, int least, int most, int *value)
{
    const char *text = getenv(name);
    char line[32];
    return text && (size_t)snprintf(line, sizeof line, "n=%s", text) < sizeof line &&
           aq_pmi1_number(line, "n", least, most, value);
}

// The descriptor may be left over from another program, and be something else by now.
static bool is_socket(int fd)
{
    int kind = 0;
    socklen_t length = sizeof kind;
    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &kind, &length) == 0 && kind == SOCK_STREAM;
}

static int find_place(void)
{
    if (!number_in("PMI_SIZE", 1, INT_MAX, &store.size) ||
        !number_in("PMI_RANK", 0, store.size - 1, &store.rank))
        return NO_PLACE;
    return 0;
}

static int find_store(void)
{
    char line[AQ_PMI1_ANSWER_BYTES];
    int value_most = 0, key_most = 0;
    int error = ask("maxes", line, "cmd=get_maxes\n");
    if (!error && (!aq_pmi1_number(line, "vallen_max", 0, INT_MAX, &value_most) ||
                   !aq_pmi1_number(line, "keylen_max", 0, INT_MAX, &key_most)))
        error = BAD_ANSWER;
    if (!error && key_most < AQ_KVS_KEY_BYTES)
        error = TOO_SMALL;
    if (!error)
        error = ask("my_kvsname", line, "cmd=get_my_kvsname\n");
    if (!error && !aq_pmi1_text(line, "kvsname", launcher.name, sizeof launcher.name))
        error = BAD_ANSWER;
    return error ? error : fit_part(value_most);
}

static int pmi1_start(aq_mpilib_level_t wanted)
{
    char line[AQ_PMI1_ANSWER_BYTES];
    int fd, error = find_place();
    (void)wanted;
    if (!number_in("PMI_FD", 0, INT_MAX, &fd) || !is_socket(fd))
        return NO_LAUNCHER;
    launcher.fd = fd;
    if (!error)
        error = ask("response_to_init", line, "cmd=init pmi_version=1 pmi_subversion=1\n");
    if (!error)
        error = find_store();
    if (error)
        launcher.fd = -1; // the next PMI may ask on this connection
    aq_kvs_use(&store);
    return error;
}

static int pmi1_finish(void)
{
    char line[AQ_PMI1_ANSWER_BYTES];
    launcher.finished = true;
    int error = ask("finalize_ack", line, "cmd=finalize\n");
    (void)close(launcher.fd);
    return error;
}

// Duplicates the connection, because finalizing closes the original.
static int pmi1_lifeline(void)
{
    return fcntl(launcher.fd, F_DUPFD_CLOEXEC, 0);
}

static void pmi1_end_job(int code, const char *why)
{
    char line[64];
    const int length = snprintf(line, sizeof line, "cmd=abort exitcode=%d\n", code);
    (void)why;
    (void)send_line(line, (size_t)length);
}

const aq_mpilib_table_t aq_pmi1_table = {
    .abi = AQ_MPILIB_ABI,
    .name = "PMI-1",
    .version = pmi1_version,
    .started = pmi1_started,
    .finished = pmi1_finished,
    .explain = pmi1_explain,
    .start = pmi1_start,
    .finish = pmi1_finish,
    .open = aq_kvs_open,
    .barrier = aq_kvs_barrier,
    .exchange = aq_kvs_exchange,
    .broadcast = aq_kvs_broadcast,
    .leave = aq_kvs_leave,
    .test = aq_kvs_test,
    .lifeline = pmi1_lifeline,
    .end_job = pmi1_end_job,
};
