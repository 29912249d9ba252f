// SPDX-License-Identifier: BSD-3-Clause
// Members: the processes of a rendezvous that share one helper, because they are on one host. The
// first process of a host that calls the master leads there: it has the only link, and the boot
// page of all. A later one is told to attach to it:
//
//   master <---- helper of the process that leads -- supervisor -- rank
//                  |
//                  +<---- helper of a member -- supervisor -- rank
//                  +<---- helper of a member -- supervisor -- rank
//
// Each process that may lead listens at its attach socket, an abstract socket with a random name.
// It tells the master the name and two secret words, and the master tells those that shall attach.
// A member proves with the first word that the master has sent it, and the process that leads with
// the second one that the attach socket is its own. The process that leads closes connections of
// other users. The link stays until the rank of the member is gone.
//
// Always true: a member is on the list from its call on; once it has told its rank, either DONE has
// come from it or LOST goes up when its link ends.
#pragma once

#include "node_state.h"

#define AQ_MEMBER_UNKNOWN UINT32_MAX

#define AQ_ATTACH_SOCKET_WORD 33u

typedef struct aq_attach_socket {
    char name[48];                      // "": none
    char word[AQ_ATTACH_SOCKET_WORD];   // of members
    char answer[AQ_ATTACH_SOCKET_WORD]; // of the process that leads
} aq_attach_socket_t;

typedef struct aq_member {
    aq_link_t link; // fd -1: free
    uint32_t rank;  // AQ_MEMBER_UNKNOWN: not told yet
    bool done;      // its rank is gone
} aq_member_t;

typedef struct aq_members {
    int listener; // -1: the attach socket is closed
    aq_attach_socket_t attach_socket;
    aq_member_t *list; // AQ_MEMBERS_MAX
    int code;          // the first exit code of a member that is not 0
} aq_members_t;

// Opens the attach socket, and writes what the master has to know of it. If the system has no such
// sockets, that is "", and this process has no members.
void aq_members_open(aq_members_t *members, char text[AQ_ATTACH_SOCKET_TEXT]);
// Reads that text. False: it is none.
bool aq_attach_socket_read(const char *text, aq_attach_socket_t *out);
// Closes the attach socket: all have attached, or this process is a member itself.
void aq_members_shut(aq_members_t *members);
// Closes attach socket and links. A member that is not done ends with its rank.
void aq_members_close(aq_members_t *members);

// Writes a text that is the same in all processes that can reach each other's attach socket.
void aq_members_space(char text[AQ_SPACE_TEXT]);
// Connects to the attach socket. Blocks for at most 10 s, while others wait there. Returns -1 with
// errno set.
int aq_members_attach(const aq_attach_socket_t *attach_socket);

// The list, at the process that leads. Nothing here blocks.
bool aq_members_have_room(const aq_members_t *members);
// Takes those that call at the attach socket, as long as there is room.
void aq_members_accept(aq_members_t *members);
// Queues frames for all members, and sends what is queued as far as possible.
void aq_members_send(aq_members_t *members, const aq_bytes_t *frames);
void aq_members_flush(aq_members_t *members);
// Whether the ranks of all members are gone.
bool aq_members_done(const aq_members_t *members);
