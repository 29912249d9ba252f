// SPDX-License-Identifier: BSD-3-Clause
// What the environment of a process says about its rendezvous.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../other/base/log/log.h"
#include "../../other/base/settings/settings.h"
#include "rendezvous.h"
#include "../tree/workers.h"

#define KEY_MIN 16u
#define KEY_MAX 4096u
#define MAKE_KEY "make one with: (umask 077; head -c 24 /dev/urandom | base64 >FILE)"

// ---- the key ----

static aq_status_t refuse_file(const char *path, const char *why)
{
    aq_log_error("GASNET_KEY_FILE: %s %s", path, why);
    return AQ_ERR_CONFIG;
}

// Refuses a key file that another user owns, can read or can change.
static aq_status_t check_file(const char *path, int fd)
{
    struct stat st;
    char why[128];
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return refuse_file(path, "is not a file; name one, or give a descriptor: GASNET_KEY_FD");
    if (st.st_uid != geteuid() && st.st_uid != 0)
        return refuse_file(path, "belongs to another user; make a file of your own");
    if ((st.st_mode & (S_IRGRP | S_IROTH | S_IWGRP | S_IWOTH)) == 0)
        return AQ_OK;
    snprintf(why, sizeof why,
             "has mode %04o, so that others than its owner can read or change it: chmod 600 it",
             (unsigned)st.st_mode & 07777u);
    return refuse_file(path, why);
}

static ssize_t read_all(int fd, uint8_t *text, size_t size)
{
    size_t used = 0;
    ssize_t n = 1;
    while (used < size && n != 0) {
        n = read(fd, text + used, size - used);
        if (n < 0 && errno != EINTR)
            return -1;
        used += n > 0 ? (size_t)n : 0;
    }
    return (ssize_t)used;
}

// An editor may have added the end of the line.
static size_t key_length(const uint8_t *text, size_t length)
{
    while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == '\r'))
        length--;
    return length;
}

// Reads the key from the descriptor and closes it. name: of the variable.
static aq_status_t read_key(const char *name, int fd, uint8_t key[AQ_KEY_BYTES])
{
    uint8_t text[KEY_MAX + 1];
    ssize_t n = read_all(fd, text, sizeof text);
    size_t length = n > 0 ? key_length(text, (size_t)n) : 0;
    aq_status_t status = AQ_ERR_CONFIG;
    if (n < 0)
        aq_log_error("%s: the key cannot be read: %s", name, strerror(errno));
    else if (length < KEY_MIN || (size_t)n > KEY_MAX)
        aq_log_error("%s: the key has %s than %u bytes; " MAKE_KEY, name,
                     length < KEY_MIN ? "less" : "more", length < KEY_MIN ? KEY_MIN : KEY_MAX);
    else
        status = AQ_OK;
    if (status == AQ_OK)
        aq_auth_key(text, length, key);
    explicit_bzero(text, sizeof text);
    (void)close(fd);
    return status;
}

static aq_status_t read_key_file(const char *path, uint8_t key[AQ_KEY_BYTES])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) {
        aq_log_error("GASNET_KEY_FILE: %s cannot be read: %s; " MAKE_KEY, path, strerror(errno));
        return AQ_ERR_CONFIG;
    }
    if (check_file(path, fd) == AQ_OK)
        return read_key("GASNET_KEY_FILE", fd, key);
    (void)close(fd);
    return AQ_ERR_CONFIG;
}

static aq_status_t find_key(uint8_t key[AQ_KEY_BYTES])
{
    if (aq_settings_given(AQ_SET_KEY_FD))
        return read_key("GASNET_KEY_FD", (int)aq_settings_int(AQ_SET_KEY_FD), key);
    if (aq_settings_given(AQ_SET_KEY_FILE))
        return read_key_file(aq_settings_text(AQ_SET_KEY_FILE), key);
    aq_log_error("GASNET_MASTER is set, but neither GASNET_KEY_FILE nor GASNET_KEY_FD, which says "
                 "where the key of the job is; " MAKE_KEY " and give it to all processes");
    return AQ_ERR_CONFIG;
}

// ---- where and who ----

bool aq_rendezvous_split(const char *text, char host[AQ_MASTER_HOST], uint16_t *port)
{
    aq_ports_t ports;
    const char *colon = strrchr(text, ':');
    bool brackets = text[0] == '[';
    if (colon == NULL || strchr(colon, '-') != NULL || !aq_settings_read_ports(colon + 1, &ports) ||
        ports.low == 0)
        return false;
    size_t length = (size_t)(colon - text);
    if (brackets && (length < 2 || text[length - 1] != ']'))
        return false;
    text += brackets;
    length -= brackets ? 2 : 0;
    if (length == 0 || length >= AQ_MASTER_HOST || (!brackets && memchr(text, ':', length) != NULL))
        return false;
    memcpy(host, text, length);
    host[length] = '\0';
    *port = ports.low;
    return true;
}

static aq_status_t read_master(aq_rendezvous_t *out)
{
    const char *text = aq_settings_text(AQ_SET_MASTER);
    if (aq_rendezvous_split(text, out->host, &out->port))
        return AQ_OK;
    aq_log_error("GASNET_MASTER: '%s' is not the place where rank 0 listens, a host and a port: "
                 "n17:4711, 10.0.0.1:4711, [fd00::1]:4711",
                 text);
    return AQ_ERR_CONFIG;
}

static aq_status_t read_rank(aq_rendezvous_t *out)
{
    const char *text = aq_settings_text(AQ_SET_RANK);
    out->rank = aq_worker_rank(text);
    if (out->rank < AQ_BAD_WORKER_RANK)
        return AQ_OK;
    aq_log_error("GASNET_RANK: '%s' is neither the number of this process in the job of "
                 "GASNET_MASTER, from 0, nor the name of a variable that has it; set it",
                 text);
    return AQ_ERR_CONFIG;
}

static aq_status_t read_size(aq_rendezvous_t *out)
{
    out->size = (uint32_t)aq_settings_int(AQ_SET_SIZE);
    if (aq_settings_given(AQ_SET_SIZE))
        return AQ_OK;
    aq_log_error("GASNET_MASTER is set, but GASNET_SIZE is not: set it to the number of processes "
                 "of the job, in all of them");
    return AQ_ERR_CONFIG;
}

aq_status_t aq_rendezvous_read(aq_rendezvous_t *out)
{
    aq_status_t status = read_master(out);
    if (status == AQ_OK)
        status = read_rank(out);
    if (status == AQ_OK)
        status = read_size(out);
    if (status == AQ_OK)
        status = aq_auth_init();
    return status == AQ_OK ? find_key(out->key) : status;
}

void aq_rendezvous_clear(void)
{
    static const aq_setting_id_t ids[] = {AQ_SET_MASTER, AQ_SET_RANK, AQ_SET_SIZE, AQ_SET_KEY_FILE,
                                          AQ_SET_KEY_FD};
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++)
        (void)unsetenv(aq_settings_row(ids[i])->name);
}
