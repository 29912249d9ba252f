// SPDX-License-Identifier: BSD-3-Clause
// gasnet_variables: prints what gasnet_info --man does. It is compiled for the machine of the
// build, which may be unable to run gasnet_info: that is compiled for the machine of the
// installation.
#include <stdio.h>
#include <stdlib.h>

#include "settings_manual.h"

int main(void)
{
    aq_settings_manual_print();
    return fflush(stdout) != 0 || ferror(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}
