// SPDX-License-Identifier: BSD-3-Clause
// Both ends of the socket: the search of programs for a daemon in the three folders, and the
// daemon's choice of a folder for its own socket.
#include "universe_local.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "../../other/base/clock.h"
#include "../../other/base/system/local_socket.h"
#include "../../other/base/log/log.h"
#include "../../other/base/settings/settings.h"

#define BACKLOG 64
#define OPEN_MS 10000
#define REVIVE_DAEMON                                                                              \
    "continue or kill its process gasnet-daemon, or do without universes by GASNET_UNIVERSE=none"

static struct sockaddr_un listening; // the socket that this process has made; "": none

// ---- the places ----

// In the order of the search: another user may have taken the first one.
enum { PLACE_TMP, PLACE_SESSION, PLACE_HOME, PLACES };

// Returns whether there is such a place.
static bool write_folder(unsigned place, char *folder, size_t size)
{
    const unsigned user = (unsigned)geteuid();
    const char *session = getenv("XDG_RUNTIME_DIR"), *home = getenv("HOME");
    int n = 0;
    if (place == PLACE_TMP)
        n = snprintf(folder, size, "/tmp/gasnet-%u", user);
    else if (place == PLACE_SESSION && session != NULL && session[0] == '/')
        n = snprintf(folder, size, "%s/gasnet", session);
    else if (place == PLACE_SESSION)
        n = snprintf(folder, size, "/run/user/%u/gasnet", user);
    else if (home != NULL && home[0] == '/')
        n = snprintf(folder, size, "%s/.gasnet", home);
    return n > 0 && (size_t)n < size;
}

static bool is_path(const char *name)
{
    return strchr(name, '/') != NULL;
}

// A name that is a path has one place. Returns false if there is none, or its path is too long.
static bool write_path(const char *name, unsigned place, struct sockaddr_un *at)
{
    char folder[sizeof at->sun_path];
    int n = -1;
    *at = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (is_path(name) && place == PLACE_TMP)
        n = snprintf(at->sun_path, sizeof at->sun_path, "%s@%s", name, aq_log_host());
    else if (!is_path(name) && write_folder(place, folder, sizeof folder))
        n = snprintf(at->sun_path, sizeof at->sun_path, "%s/%s@%s", folder, name, aq_log_host());
    return n > 0 && (size_t)n < sizeof at->sun_path;
}

// Opens the folder of the socket, to which only this user may write. -1: errno is set.
static int open_folder(const struct sockaddr_un *at, bool make)
{
    char path[sizeof at->sun_path];
    struct stat st;
    snprintf(path, sizeof path, "%s", at->sun_path);
    *strrchr(path, '/') = '\0';
    if (make && mkdir(path, 0700) != 0 && errno != EEXIST)
        return -1;
    int fd = open(path[0] != '\0' ? path : "/", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & (S_IWGRP | S_IWOTH)) == 0)
        return fd;
    (void)close(fd);
    errno = EPERM;
    return -1;
}

// Blocks for at most wait_ms. -1: errno is set; EPERM: the folder is not this user's alone; EACCES:
// another user listens there; EAGAIN: a daemon listens that does not answer.
static int connect_to(const struct sockaddr_un *at, int wait_ms)
{
    const int folder = open_folder(at, false);
    if (folder < 0)
        return -1;
    (void)close(folder);
    const int fd = aq_local_connect(at, sizeof *at, SOCK_STREAM, wait_ms);
    if (fd < 0 || aq_local_is_own(fd))
        return fd;
    (void)close(fd);
    errno = EACCES;
    return -1;
}

// ---- programs ----

static bool is_absent(int error)
{
    return error == ENOENT || error == ECONNREFUSED || error == ENOTDIR;
}

// Connects to the daemon in the first place that has one. As connect_to.
static int connect_daemon(const char *name, int wait_ms)
{
    struct sockaddr_un at;
    int fd = -1, error = is_path(name) ? ENAMETOOLONG : ENOENT;
    for (unsigned place = 0; fd < 0 && error != EAGAIN && place < PLACES; place++) {
        if (!write_path(name, place, &at))
            continue;
        fd = connect_to(&at, wait_ms);
        if (fd < 0 && (is_path(name) || errno == EAGAIN))
            error = errno;
    }
    errno = error;
    return fd;
}

static int call_daemon(const char *name, int wait_ms)
{
    if (strcmp(name, AQ_UNIVERSE_NONE) != 0)
        return connect_daemon(name, wait_ms);
    errno = ENOENT;
    return -1;
}

bool aq_universe_exists(void)
{
    const int fd = call_daemon(aq_settings_text(AQ_SET_UNIVERSE), 0);
    if (fd >= 0)
        (void)close(fd);
    return fd >= 0 || errno == EAGAIN;
}

static void explain_absence(const char *name, int error, char *errbuf, size_t errbuf_size)
{
    if (strcmp(name, AQ_UNIVERSE_NONE) == 0)
        snprintf(errbuf, errbuf_size, "GASNET_UNIVERSE=none switches universes off");
    else if (error == EACCES || error == EPERM)
        snprintf(errbuf, errbuf_size,
                 "universe '%s' belongs to another user, or others can write to its folder "
                 "(GASNET_UNIVERSE)",
                 name);
    else if (error == EAGAIN)
        snprintf(errbuf, errbuf_size,
                 "the daemon of universe '%s' on host %s takes no calls; " REVIVE_DAEMON, name,
                 aq_log_host());
    else if (is_absent(error))
        snprintf(errbuf, errbuf_size,
                 "no daemon of a universe '%s' of this user runs on host %s; gasnet_boot starts "
                 "one, and GASNET_UNIVERSE names another one",
                 name, aq_log_host());
    else
        snprintf(errbuf, errbuf_size,
                 "the daemon of universe '%s' on host %s cannot be reached: %s", name,
                 aq_log_host(), strerror(error));
}

// Reads frames until one of that type comes.
static bool wait_for(aq_link_t *link, aq_message_t type, uint64_t deadline, aq_frame_t *frame)
{
    while (aq_link_await(link, AQ_FRAME_MAX, deadline, frame))
        if (frame->type == type)
            return true;
    return false;
}

static bool read_version(aq_universe_t *universe, uint64_t deadline, char *errbuf,
                         size_t errbuf_size)
{
    aq_frame_t frame;
    const char *version = "";
    if (!wait_for(&universe->link, AQ_MSG_VERSION, deadline, &frame) ||
        !aq_read_version(frame.payload, &version)) {
        snprintf(errbuf, errbuf_size,
                 "the daemon of the universe on host %s does not answer; " REVIVE_DAEMON,
                 aq_log_host());
        return false;
    }
    if (strcmp(version, PACKAGE_VERSION) == 0)
        return true;
    snprintf(errbuf, errbuf_size,
             "the universe on host %s has version %.64s of Aqueduct, this program is %s; use the "
             "programs of that version, or end the universe with its gasnet_halt",
             aq_log_host(), version, PACKAGE_VERSION);
    return false;
}

static bool read_view(aq_universe_t *universe, uint64_t deadline, char *errbuf, size_t errbuf_size)
{
    aq_frame_t frame;
    if (!read_version(universe, deadline, errbuf, errbuf_size))
        return false;
    if (wait_for(&universe->link, AQ_MSG_KEY, deadline, &frame) &&
        aq_read_key(frame.payload, universe->key) && aq_universe_next(universe, OPEN_MS))
        return true;
    snprintf(errbuf, errbuf_size,
             "the daemon of the universe on host %s does not know its hosts, because their "
             "coordinator does not answer; try again in a moment",
             aq_log_host());
    return false;
}

bool aq_universe_open(aq_universe_t *universe, char *errbuf, size_t errbuf_size)
{
    const char *name = aq_settings_text(AQ_SET_UNIVERSE);
    const int fd = call_daemon(name, OPEN_MS);
    *universe = (aq_universe_t){.link.fd = -1};
    if (fd < 0) {
        explain_absence(name, errno, errbuf, errbuf_size);
        return false;
    }
    aq_link_open(&universe->link, fd);
    universe->link.trusted = true;
    if (read_view(universe, aq_clock_ns() + (uint64_t)OPEN_MS * 1000000, errbuf, errbuf_size))
        return true;
    aq_universe_close(universe);
    return false;
}

bool aq_universe_next(aq_universe_t *universe, int timeout_ms)
{
    aq_frame_t frame;
    uint64_t deadline =
        timeout_ms < 0 ? UINT64_MAX : aq_clock_ns() + (uint64_t)timeout_ms * 1000000;
    return universe->link.fd >= 0 && wait_for(&universe->link, AQ_MSG_TABLE, deadline, &frame) &&
           aq_read_table(frame.payload, &universe->table, &universe->self);
}

bool aq_universe_ask(aq_universe_t *universe, aq_message_t type, uint32_t number)
{
    if (type == AQ_MSG_SHRINK)
        aq_write_number(&universe->link.out, type, number);
    else
        aq_write_empty(&universe->link.out, type);
    return universe->link.fd >= 0 && aq_link_flush(&universe->link) == 0;
}

void aq_universe_close(aq_universe_t *universe)
{
    aq_link_close(&universe->link);
    aq_table_free(&universe->table);
    explicit_bzero(universe->key, sizeof universe->key);
}

// ---- the daemon ----

static bool is_no_socket(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && !S_ISSOCK(st.st_mode);
}

// Makes the socket in a folder that is locked meanwhile. A socket without a listener is the remnant
// of a killed daemon. Returns a descriptor, or -1 with errno set; EEXIST: there is something else.
static int bind_socket(const struct sockaddr_un *at)
{
    const int other = connect_to(at, 0);
    if (other >= 0)
        (void)close(other);
    if (other >= 0 || errno == EAGAIN)
        errno = EADDRINUSE;
    if (errno != ENOENT && errno != ECONNREFUSED)
        return -1;
    if (is_no_socket(at->sun_path)) {
        errno = EEXIST;
        return -1;
    }
    (void)unlink(at->sun_path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && bind(fd, (const struct sockaddr *)at, sizeof *at) == 0 &&
        chmod(at->sun_path, 0600) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int error = errno;
    if (fd >= 0)
        (void)close(fd);
    errno = error;
    return -1;
}

static int listen_at(const struct sockaddr_un *at, bool make)
{
    const int folder = open_folder(at, make);
    const int fd = folder >= 0 && flock(folder, LOCK_EX) == 0 ? bind_socket(at) : -1;
    const int error = errno;
    if (folder >= 0)
        (void)close(folder);
    if (fd >= 0)
        listening = *at;
    errno = error;
    return fd;
}

// Listens in the first place whose folder is this user's alone. *at: that, or the first one.
static int listen_somewhere(const char *name, struct sockaddr_un *at)
{
    struct sockaddr_un next;
    int fd = -1, error = 0;
    for (unsigned place = 0; fd < 0 && error != EADDRINUSE && place < PLACES; place++) {
        if (!write_path(name, place, &next))
            continue;
        fd = listen_at(&next, !is_path(name));
        if (fd >= 0 || error == 0 || errno == EADDRINUSE) {
            *at = next;
            error = errno;
        }
    }
    errno = error != 0 ? error : ENAMETOOLONG;
    return fd;
}

static void explain_no_socket(const char *name, const struct sockaddr_un *at, int error,
                              char *errbuf, size_t errbuf_size)
{
    if (error == ENAMETOOLONG)
        snprintf(errbuf, errbuf_size, "GASNET_UNIVERSE: '%s' is too long for the path of a socket",
                 name);
    else if (error == EADDRINUSE)
        snprintf(errbuf, errbuf_size, "a daemon of universe '%s' runs on host %s already", name,
                 aq_log_host());
    else if (error == EPERM || error == ELOOP || error == ENOTDIR)
        snprintf(errbuf, errbuf_size,
                 "the folder of the socket %s belongs to another user, or others can write to it; "
                 "give GASNET_UNIVERSE a path in a folder of your own",
                 at->sun_path);
    else
        snprintf(errbuf, errbuf_size, "the socket %s cannot be made: %s", at->sun_path,
                 error == EEXIST ? "there is a file or folder of this name" : strerror(error));
}

// Refuses if a daemon of that name listens in any of the places: one that found the first place
// taken listens in a later one.
int aq_universe_listen(const char *name, char *errbuf, size_t errbuf_size)
{
    struct sockaddr_un at = {0};
    int fd = connect_daemon(name, 0);
    const bool is_there = fd >= 0 || errno == EAGAIN;
    if (fd >= 0)
        (void)close(fd);
    fd = is_there ? -1 : listen_somewhere(name, &at);
    if (fd < 0)
        explain_no_socket(name, &at, is_there ? EADDRINUSE : errno, errbuf, errbuf_size);
    return fd;
}

int aq_universe_accept(int listener)
{
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 || aq_local_is_own(fd))
        return fd;
    (void)close(fd);
    return -1;
}

void aq_universe_unlink(void)
{
    if (listening.sun_path[0] != '\0')
        (void)unlink(listening.sun_path);
}
