// What conduit ibv sees of the devices of a host, without a job. For tests in a virtual machine.
//
//   ibv_probe list     the lines of gasnet_info; exit code 0 when a port can be used
#include <stdio.h>
#include <string.h>

#include "../../conduits/ibv/ibv_ports.h"
#include "../../other/settings.h"

static void print_line(void *arg, const char *label, const char *text)
{
    (void)arg;
    printf("%-18s  %s\n", label, text);
}

static int list(void)
{
    char why[512];
    aq_ibv_report(print_line, NULL);
    bool usable = aq_ibv_usable(why, sizeof why);
    printf("%s: %s\n", usable ? "usable" : "not usable", why);
    return usable ? 0 : 1;
}

int main(int argc, char **argv)
{
    char err[512];
    if (aq_settings_load(err, sizeof err) != AQ_OK) {
        fprintf(stderr, "%s\n", err);
        return 2;
    }
    if (argc == 2 && strcmp(argv[1], "list") == 0)
        return list();
    fprintf(stderr, "usage: ibv_probe list\n");
    return 2;
}
