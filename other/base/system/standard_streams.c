// SPDX-License-Identifier: BSD-3-Clause
// The first call of each program, and of a rank when it joins (spawner/join/boot_start.c).
#include "standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

void aq_standard_streams_open(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", O_RDWR); // takes the lowest number that is free: fd
}
