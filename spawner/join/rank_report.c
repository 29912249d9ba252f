// SPDX-License-Identifier: BSD-3-Clause
// A rank's end of the connection to the launcher's watch. spawn_mpi.c and spawn_watch.c send the
// reports; rank_watch.c receives them.
#include "rank_report.h"

#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../other/base/system/await.h"
#include "../../other/base/system/local_socket.h"
#include "../../other/base/system/own_process.h"
#include "../../other/base/settings/settings.h"

#define ANSWER_MS 5000 // a stopped launcher does not answer in time; then the job runs unwatched

static int launcher = -1; // the connection; lives as long as the process
static uint32_t own_rank;

socklen_t aq_report_address(const char name[AQ_REPORT_NAME], struct sockaddr_un *out)
{
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(out->sun_path + 1, name, AQ_REPORT_NAME - 1); // after a NUL: the name is in no folder
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + AQ_REPORT_NAME);
}

// Returns -1 if no process of this user listens there.
static int call_launcher(const char *name)
{
    struct sockaddr_un at;
    if (strlen(name) != AQ_REPORT_NAME - 1)
        return -1;
    const socklen_t length = aq_report_address(name, &at);
    const int fd = aq_local_connect(&at, length, SOCK_SEQPACKET, ANSWER_MS);
    if (fd >= 0 && aq_local_is_own(fd))
        return fd;
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

// Until the launcher watches this process, it would not learn how the process ends. An answer that
// is not read would reset the connection when this process ends, and lose its last reports.
static void wait_for_watch(void)
{
    char byte;
    if (launcher >= 0 && aq_await(launcher, POLLIN, ANSWER_MS))
        (void)recv(launcher, &byte, 1, MSG_DONTWAIT);
}

void aq_report_open(uint32_t rank, uint32_t size)
{
    launcher = call_launcher(aq_settings_text(AQ_SET_SPAWN_REPORTS));
    own_rank = rank;
    (void)unsetenv("GASNET_SPAWN_REPORTS");
    aq_report_send(AQ_REPORT_JOINED, (int)size);
    wait_for_watch();
}

void aq_report_send(aq_report_kind_t kind, int code)
{
    const aq_report_t report = {AQ_REPORT_MAGIC, (uint32_t)kind, own_rank, code};
    if (launcher >= 0 && aq_own_process())
        (void)send(launcher, &report, sizeof report, MSG_NOSIGNAL | MSG_DONTWAIT);
}
