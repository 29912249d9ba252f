// SPDX-License-Identifier: BSD-3-Clause
// Members: the attach socket, and the list.
#include "members.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "../../other/base/system/local_socket.h"
#include "../wire/auth.h"

#define ATTACH_MS 10000

// ---- the attach socket ----

static socklen_t attach_socket_address(const char *name, struct sockaddr_un *out)
{
    size_t length = strlen(name);
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(out->sun_path + 1, name, length); // after a NUL: the name is in no folder
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
}

static void choose_word(char word[AQ_ATTACH_SOCKET_WORD])
{
    uint8_t random[(AQ_ATTACH_SOCKET_WORD - 1) / 2];
    aq_auth_random(random, sizeof random);
    for (unsigned i = 0; i < sizeof random; i++)
        snprintf(word + (size_t)2 * i, 3, "%02x", random[i]);
}

static void choose_attach_socket(aq_attach_socket_t *attach_socket)
{
    char word[AQ_ATTACH_SOCKET_WORD];
    choose_word(word);
    snprintf(attach_socket->name, sizeof attach_socket->name, "aqueduct-%s", word);
    choose_word(attach_socket->word);
    choose_word(attach_socket->answer);
}

bool aq_attach_socket_read(const char *text, aq_attach_socket_t *out)
{
    return sscanf(text, "%47[^/]/%32[^/]/%32s", out->name, out->word, out->answer) == 3;
}

static int listen_at_attach_socket(const char *name)
{
    struct sockaddr_un at;
    socklen_t length = attach_socket_address(name, &at);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && bind(fd, (const struct sockaddr *)&at, length) == 0 &&
        listen(fd, AQ_MEMBERS_MAX) == 0)
        return fd;
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

void aq_members_open(aq_members_t *members, char text[AQ_ATTACH_SOCKET_TEXT])
{
    text[0] = '\0';
    *members = (aq_members_t){.listener = -1};
    members->list = calloc(AQ_MEMBERS_MAX, sizeof *members->list);
    if (members->list == NULL)
        return;
    for (uint32_t i = 0; i < AQ_MEMBERS_MAX; i++)
        members->list[i] = (aq_member_t){.link.fd = -1, .rank = AQ_MEMBER_UNKNOWN};
    choose_attach_socket(&members->attach_socket);
    members->listener = listen_at_attach_socket(members->attach_socket.name);
    if (members->listener >= 0)
        snprintf(text, AQ_ATTACH_SOCKET_TEXT, "%s/%s/%s", members->attach_socket.name,
                 members->attach_socket.word, members->attach_socket.answer);
}

void aq_members_shut(aq_members_t *members)
{
    if (members->listener >= 0)
        (void)close(members->listener);
    members->listener = -1;
}

void aq_members_close(aq_members_t *members)
{
    aq_members_shut(members);
    for (uint32_t i = 0; members->list != NULL && i < AQ_MEMBERS_MAX; i++)
        aq_link_close(&members->list[i].link);
    free(members->list);
    members->list = NULL;
}

void aq_members_space(char text[AQ_SPACE_TEXT])
{
    struct stat space = {0};
    (void)stat("/proc/self/ns/net", &space);
    snprintf(text, AQ_SPACE_TEXT, "%" PRIu64 " %u", (uint64_t)space.st_ino, (unsigned)geteuid());
}

// A full queue of calls at the attach socket is short, so this waits for a place.
int aq_members_attach(const aq_attach_socket_t *attach_socket)
{
    struct sockaddr_un at;
    socklen_t length = attach_socket_address(attach_socket->name, &at);
    const int fd = aq_local_connect(&at, length, SOCK_STREAM, ATTACH_MS);
    if (fd < 0 || aq_local_is_own(fd))
        return fd;
    (void)close(fd);
    errno = EPERM;
    return -1;
}

// ---- the list ----

static aq_member_t *find_place(const aq_members_t *members)
{
    for (uint32_t i = 0; members->list != NULL && i < AQ_MEMBERS_MAX; i++)
        if (members->list[i].link.fd < 0 && members->list[i].rank == AQ_MEMBER_UNKNOWN)
            return &members->list[i];
    return NULL;
}

bool aq_members_have_room(const aq_members_t *members)
{
    return find_place(members) != NULL;
}

void aq_members_accept(aq_members_t *members)
{
    aq_member_t *member;
    int fd;
    while ((member = find_place(members)) != NULL &&
           (fd = accept4(members->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        if (aq_local_is_own(fd))
            aq_link_open(&member->link, fd);
        else
            (void)close(fd);
    }
}

void aq_members_send(aq_members_t *members, const aq_bytes_t *frames)
{
    for (uint32_t i = 0; members->list != NULL && i < AQ_MEMBERS_MAX; i++)
        if (members->list[i].link.fd >= 0)
            aq_put_raw(&members->list[i].link.out, frames->data, frames->used);
}

void aq_members_flush(aq_members_t *members)
{
    for (uint32_t i = 0; members->list != NULL && i < AQ_MEMBERS_MAX; i++)
        if (members->list[i].link.fd >= 0)
            (void)aq_link_flush(&members->list[i].link); // the next receive reports an error
}

bool aq_members_done(const aq_members_t *members)
{
    for (uint32_t i = 0; members->list != NULL && i < AQ_MEMBERS_MAX; i++)
        if (members->list[i].rank != AQ_MEMBER_UNKNOWN && !members->list[i].done)
            return false;
    return true;
}
