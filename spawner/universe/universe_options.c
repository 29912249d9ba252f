// SPDX-License-Identifier: BSD-3-Clause
// The command line of gasnet_grow, gasnet_shrink and gasnet_halt, and their connection to the
// daemon of this host by universe_local.c.
#include "universe_options.h"

#include <stdio.h>
#include <string.h>

#include "../../other/base/log/log.h"
#include "../../other/base/settings/settings.h"
#include "../start/spawn_module.h"

static int take_hosts(char **argv, aq_hosts_t *hosts)
{
    char fault[512];
    for (char **word = argv; *word != NULL; word++)
        if (!aq_hosts_read_list(hosts, "the arguments", *word, fault, sizeof fault)) {
            aq_log_error("%s", fault);
            return AQ_EXIT_USAGE;
        }
    if (hosts->count == 0)
        aq_log_error("no host is named; -h shows how to name some");
    else if (hosts->repeated != NULL)
        aq_log_error("host %s is given twice; name it once", hosts->repeated);
    else
        return -1;
    return AQ_EXIT_USAGE;
}

int aq_universe_options(int argc, char **argv, const char *usage, aq_hosts_t *hosts,
                        aq_universe_t *universe)
{
    const char *word = argc > 1 ? argv[1] : "";
    if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0)
        return fputs(usage, stdout) < 0;
    if (strcmp(word, "--version") == 0)
        return printf("Aqueduct %s\n", PACKAGE_VERSION) < 0;
    if (word[0] == '-' || (hosts == NULL && argc > 1)) {
        aq_log_error("'%s' is not an option; -h lists the options", word);
        return AQ_EXIT_USAGE;
    }
    if (aq_settings_load_logged() != AQ_OK)
        return AQ_EXIT_USAGE;
    aq_log_quiet(aq_settings_bool(AQ_SET_QUIET));
    const int code = hosts != NULL ? take_hosts(argv + 1, hosts) : -1;
    return code < 0 ? aq_universe_meet(universe) : code;
}

int aq_universe_meet(aq_universe_t *universe)
{
    char why[AQ_UNIVERSE_TEXT];
    if (aq_auth_init() != AQ_OK)
        return 1;
    if (aq_universe_open(universe, why, sizeof why))
        return -1;
    aq_log_error("%s", why);
    return 1;
}
