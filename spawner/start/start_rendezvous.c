// SPDX-License-Identifier: BSD-3-Clause
// Module rendezvous, for the launcher: makes a key and prints the commands that start the processes
// of a job, one per rank, in place of starting them (rendezvous.h).
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../other/base/log/log.h"
#include "../../other/base/settings/settings.h"
#include "../shell/net_address.h"
#include "../shell/remote.h"
#include "../rendezvous/rendezvous.h"
#include "../shell/shell_words.h"
#include "spawn_module.h"

#define KEY_NAME "gasnet-key.XXXXXX"
#define OWN_BYTES 24u // of randomness in a key that is made here

static char master[AQ_MASTER_HOST + 16], key_file[PATH_MAX];

// ---- before the start ----

static bool rendezvous_init(const aq_start_t *start, int *priority, char *errbuf,
                            size_t errbuf_size)
{
    (void)start;
    (void)errbuf;
    (void)errbuf_size;
    *priority = 0; // only on request
    return true;
}

static aq_status_t rendezvous_parse_options(const aq_start_t *start)
{
    const char *option = NULL;
    if (start->host_list != NULL)
        option = "-H";
    else if (start->host_count > 0)
        option = "-N";
    else if (start->cyclic)
        option = "-cyclic";
    else if (start->run.cpus_per_rank > 0)
        option = "-c";
    else if (start->bind != NULL)
        option = "--bind";
    else if (start->run.label_lines)
        option = "-l";
    else if (start->run.environment != NULL)
        option = "-E";
    if (option == NULL)
        return AQ_OK;
    aq_log_error("option %s: spawner rendezvous prints a command for each process, and whatever "
                 "runs them decides about hosts, processors, output and environment; leave it out",
                 option);
    return AQ_ERR_CONFIG;
}

static void rendezvous_describe(const aq_start_t *start)
{
    printf("gasnetrun: prints %" PRIu32 " commands, for whatever starts the processes\n",
           start->run.size);
    (void)fflush(stdout);
}

// ---- the place where rank 0 listens ----

// An address of this host, and a port that is free now.
static bool choose_master(void)
{
    char own[AQ_REMOTE_TEXT];
    aq_ports_t ports;
    aq_listener_t listener;
    (void)aq_settings_read_ports(aq_settings_text(AQ_SET_SPAWN_PORTS), &ports);
    aq_net_own_addresses(own, sizeof own);
    own[strcspn(own, ",")] = '\0';
    if (own[0] == '\0')
        snprintf(own, sizeof own, "127.0.0.1");
    int error = aq_net_listen(own, ports, &listener);
    if (error != 0) {
        aq_log_error("no port of %s is free for rank 0 (%s); choose its host and port: "
                     "GASNET_MASTER=host:port",
                     own, strerror(error));
        return false;
    }
    (void)close(listener.fd);
    snprintf(master, sizeof master, strchr(own, ':') != NULL ? "[%.200s]:%u" : "%.200s:%u", own,
             listener.port);
    return true;
}

static bool find_master(void)
{
    char host[AQ_MASTER_HOST];
    uint16_t port;
    if (!aq_settings_given(AQ_SET_MASTER))
        return choose_master();
    snprintf(master, sizeof master, "%s", aq_settings_text(AQ_SET_MASTER));
    if (aq_rendezvous_split(master, host, &port))
        return true;
    aq_log_error("GASNET_MASTER: '%s' is not a host and a port, such as n17:4711", master);
    return false;
}

// ---- the key ----

static bool write_key(int fd)
{
    uint8_t random[OWN_BYTES];
    char text[2 * OWN_BYTES + 2];
    aq_auth_random(random, sizeof random);
    for (unsigned i = 0; i < OWN_BYTES; i++)
        snprintf(text + (size_t)2 * i, 3, "%02x", random[i]);
    strcat(text, "\n");
    bool ok = TEMP_FAILURE_RETRY(write(fd, text, strlen(text))) == (ssize_t)strlen(text);
    explicit_bzero(random, sizeof random);
    explicit_bzero(text, sizeof text);
    return ok;
}

// Makes the file that GASNET_KEY_FILE names, unless it exists, or one in the working directory,
// which other hosts often share.
static int open_key_file(bool *exists)
{
    const char *given = aq_settings_text(AQ_SET_KEY_FILE);
    snprintf(key_file, sizeof key_file, "%s", *given != '\0' ? given : KEY_NAME);
    if (*given == '\0')
        return mkostemp(key_file, O_CLOEXEC);
    int fd = open(key_file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    *exists = fd < 0 && errno == EEXIST;
    return fd;
}

static bool make_key_file(void)
{
    char path[PATH_MAX];
    bool exists = false;
    int fd = open_key_file(&exists);
    bool ok = exists || (fd >= 0 && write_key(fd));
    if (!ok)
        aq_log_error("the file %s for the key of the job cannot be made: %s; name another one with "
                     "GASNET_KEY_FILE",
                     key_file, strerror(errno));
    if (fd >= 0)
        (void)close(fd);
    if (ok && realpath(key_file, path) != NULL)
        snprintf(key_file, sizeof key_file, "%s", path);
    return ok;
}

static aq_status_t rendezvous_prepare(const aq_start_t *start)
{
    (void)start;
    return aq_auth_init() == AQ_OK && find_master() && make_key_file() ? AQ_OK : AQ_ERR_CONFIG;
}

// ---- the commands ----

static void print_variable(const char *name, const char *value)
{
    printf("%s=", name);
    aq_shell_print(value);
    putchar(' ');
}

static void print_command(const aq_start_t *start, uint32_t rank)
{
    print_variable("GASNET_MASTER", master);
    printf("GASNET_RANK=%" PRIu32 " GASNET_SIZE=%" PRIu32 " ", rank, start->run.size);
    print_variable("GASNET_KEY_FILE", key_file);
    print_variable("GASNET_CONDUIT", start->conduit);
    for (char *const *word = start->run.argv; *word != NULL; word++) {
        aq_shell_print(*word);
        putchar(word[1] != NULL ? ' ' : '\n');
    }
}

static void rendezvous_start(const aq_start_t *start, int *code)
{
    for (uint32_t r = 0; r < start->run.size; r++)
        print_command(start, r);
    *code = fflush(stdout) == 0 ? 0 : 1;
}

const aq_spawn_module_t aq_module_rendezvous = {
    .name = "rendezvous",
    .init = rendezvous_init,
    .parse_options = rendezvous_parse_options,
    .describe = rendezvous_describe,
    .prepare = rendezvous_prepare,
    .start = rendezvous_start,
};
