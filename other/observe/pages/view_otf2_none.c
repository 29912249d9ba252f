// SPDX-License-Identifier: BSD-3-Clause
// In place of view_otf2.c where libotf2 is not there.
#include "../../base/log/log.h"
#include "view_otf2.h"

bool aq_view_otf2_write(const aq_view_findings_t *findings, const char *directory)
{
    (void)findings;
    aq_log_error("%s: not written, since libotf2 was not there when this gasnet_view was built; "
                 "install the package libopen-trace-format2-dev, then configure and build again",
                 directory);
    return false;
}
