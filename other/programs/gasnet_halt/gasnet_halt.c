// SPDX-License-Identifier: BSD-3-Clause
// gasnet_halt: ends a universe.
#include "../../base/log/log.h"
#include "../../base/system/standard_streams.h"
#include "../../../spawner/universe/universe_options.h"

static const char usage[] = "usage: gasnet_halt\n"
                            "\n"
                            "Ends the universe of this host, with all its jobs.\n"
                            "\n"
                            "  -h, --help         this text\n"
                            "  --version          version\n"
                            "\n"
                            "Exit code 0: the universe has ended; 1: there is none.\n";

int main(int argc, char **argv)
{
    aq_universe_t universe = {.link.fd = -1};
    aq_standard_streams_open();
    aq_log_program("gasnet_halt");
    int code = aq_universe_options(argc, argv, usage, NULL, &universe);
    if (code < 0) {
        (void)aq_universe_ask(&universe, AQ_MSG_HALT, 0);
        while (aq_universe_next(&universe, -1))
            continue;
        code = 0;
    }
    aq_universe_close(&universe);
    return aq_log_end(code);
}
