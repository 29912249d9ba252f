// SPDX-License-Identifier: BSD-3-Clause
// Programs that start their own job: `program N arguments`. Conduit udp has them.
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../other/base/log/log.h"
#include "../../other/base/settings/profile.h"
#include "../../other/base/settings/settings.h"
#include "../boot/boot.h"
#include "boot_origin.h"
#include "../hosts/hosts.h"
#include "spawner_list.h"

// The spawner for a program that was started without a launcher; "fork": it forks its own ranks.
// NULL: GASNET_SPAWNFN is not legal.
static const char *own_spawner(const char *conduit)
{
    const char *setting = aq_boot_spawner_setting(conduit), *source = aq_hosts_source(NULL);
    const char *configured = aq_spawner_default(conduit);
    if (strcmp(setting, "auto") != 0)
        return setting;
    if (aq_settings_given(AQ_SET_SPAWNFN))
        return aq_spawner_of_letter(aq_settings_text(AQ_SET_SPAWNFN));
    if (configured != NULL)
        return configured;
    return source != NULL && strstr(source, "SSH_SERVERS") != NULL ? "ssh" : "fork";
}

static bool check_letter(const char *conduit)
{
    if (own_spawner(conduit) != NULL)
        return true;
    aq_log_error("GASNET_SPAWNFN=%s: GASNet dropped rexec, and Aqueduct does not have it; set it "
                 "to L (ranks on this host), S (by ssh) or C (by the command of GASNET_CSPAWN_CMD)",
                 aq_settings_text(AQ_SET_SPAWNFN));
    return false;
}

// Executes the launcher next to the library: in the folder for programs, or in that of a build.
static void exec_beside_library(char **words)
{
    static const char *const places[] = {"../bin", "..", "."};
    char path[4096];
    Dl_info library;
    if (dladdr((void *)(uintptr_t)aq_boot_take_ranks, &library) == 0 || library.dli_fname == NULL)
        return;
    const char *slash = strrchr(library.dli_fname, '/');
    int folder = slash != NULL ? (int)(slash - library.dli_fname) : 0;
    for (size_t i = 0; folder > 0 && i < sizeof places / sizeof places[0]; i++) {
        snprintf(path, sizeof path, "%.*s/%s/%s", folder, library.dli_fname, places[i], words[0]);
        (void)execv(path, words);
    }
}

// Becomes the launcher. Returns only if that fails; logged.
static void become_launcher(const char *conduit, int argc, char **argv, uint32_t ranks)
{
    char number[16], launcher[64];
    char **words = calloc((size_t)argc + 8, sizeof *words);
    size_t count = 0;
    snprintf(number, sizeof number, "%" PRIu32, ranks);
    snprintf(launcher, sizeof launcher, "gasnetrun_%s", conduit);
    if (words != NULL) {
        words[count++] = launcher;
        words[count++] = (char *)(uintptr_t) "-n";
        words[count++] = number;
        words[count++] = (char *)(uintptr_t) "--";
        words[count++] = argv[0];
        memcpy(words + count, argv + 2, (size_t)(argc - 2) * sizeof *words);
        (void)fflush(NULL);
        exec_beside_library(words);
        (void)execvp(words[0], words);
    }
    aq_log_error("the launcher %s, which every spawner but fork needs, cannot be "
                 "started: %s; put its folder into PATH",
                 launcher, strerror(errno));
    free(words);
}

// 0: the text is not a number of ranks.
static uint32_t read_ranks(const char *text, long most)
{
    char *end;
    long ranks = strtol(text, &end, 10);
    bool good = *text >= '0' && *text <= '9' && *end == '\0' && ranks >= 1 && ranks <= most;
    return good ? (uint32_t)ranks : 0;
}

static bool takes_ranks(const char *conduit)
{
    bool pmi;
    return aq_profile_find(conduit)->rank_argument && !aq_settings_given(AQ_SET_SPAWN_CONTROL) &&
           !aq_settings_given(AQ_SET_PSHM_NODES) && !aq_boot_by_rendezvous(conduit) &&
           !aq_boot_by_mpirun(conduit, &pmi);
}

static aq_status_t refuse_ranks(const char *conduit, const char *first, long most)
{
    aq_log_error("%s%s%s: a program of conduit %s that is started without a launcher takes "
                 "the number of ranks, 1 to %ld, as its first argument (program 4 ...); give "
                 "it, or use gasnetrun_%s -n 4 program ...",
                 first ? "'" : "", first ? first : "the number of ranks is missing",
                 first ? "' is not a number of ranks" : "", conduit, most, conduit);
    return AQ_ERR_CONFIG;
}

aq_status_t aq_boot_take_ranks(const char *conduit, int *argc, char ***argv, uint32_t *ranks)
{
    *ranks = 0;
    if (!takes_ranks(conduit))
        return AQ_OK;
    if (!aq_boot_check_step(conduit) || !check_letter(conduit))
        return AQ_ERR_CONFIG;
    const char *first = argc && argv && *argc > 1 ? (*argv)[1] : NULL;
    bool here = strcmp(own_spawner(conduit), "fork") == 0;
    long most = here ? AQ_RANKS_MAX : AQ_JOB_RANKS_MAX;
    *ranks = first ? read_ranks(first, most) : 0;
    if (!*ranks)
        return refuse_ranks(conduit, first, most);
    if (!here) {
        become_launcher(conduit, *argc, *argv, *ranks);
        return AQ_ERR_CONFIG;
    }
    memmove(*argv + 1, *argv + 2, (size_t)(*argc - 2) * sizeof **argv);
    (*argv)[--*argc] = NULL;
    return AQ_OK;
}
