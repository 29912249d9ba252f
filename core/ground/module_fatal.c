// SPDX-License-Identifier: BSD-3-Clause
// A module's side of aq_fatal. Linked into modules only, in place of fatal.c.
#include "../../other/base/modules/host.h"
#include "fatal.h"

void aq_fatal(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    aq_module_host->fatal(fmt, args);
}
