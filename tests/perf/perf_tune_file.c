/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file of gasnet_perf --tune: sections of other conduits and numbers of ranks stay, the section
 * of this job is written anew. aqueduct_coll(3) has the format.
 */
#include "perf.h"

#ifdef GASNETX_COLL_LIMITS
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TITLE "aqueduct-tuning 1"

static bool fault(const char *path, const char *what)
{
    fprintf(stderr, "gasnet_perf: %s: %s\n", path, what);
    return false;
}

/* Opens the file if it exists, behind the title. *found receives NULL if it does not. */
static bool open_old(const char *path, FILE **found)
{
    char line[256];

    *found = fopen(path, "r");
    if (!*found)
        return errno == ENOENT || fault(path, strerror(errno));
    if (fgets(line, sizeof line, *found) && strcmp(line, TITLE "\n") == 0)
        return true;
    fclose(*found);
    *found = NULL;
    return fault(path, "the file is there and its first line is not '" TITLE
                       "', so --tune does not replace it; name another file");
}

bool aq_perf_tune_check(const char *path)
{
    FILE *old;
    bool good = open_old(path, &old);

    if (old)
        fclose(old);
    if (!good)
        return false;
    bool is_new = access(path, F_OK) != 0;
    FILE *out = fopen(path, "a");
    if (!out)
        return fault(path, strerror(errno));
    fclose(out);
    if (is_new)
        remove(path);
    return true;
}

/* Copies all sections but that of this job. */
static void copy_others(FILE *old, FILE *out, const char *section)
{
    char line[256];
    bool skip = false;

    while (old && fgets(line, sizeof line, old)) {
        if (line[0] == '[')
            skip = strncmp(line, section, strlen(section)) == 0;
        if (!skip)
            fputs(line, out);
    }
}

static void write_section(FILE *out, const char *section, const aq_perf_tuned_t *tuned,
                          size_t ntuned, double together)
{
    fprintf(out, "%s\n", section);
    fprintf(out, "# together: %.3f of the time with the defaults\n", together);
    for (size_t t = 0; t < ntuned; t++)
        fprintf(out, "%s %u  # %.3f of the time with %u, noise %.3f\n", tuned[t].name,
                tuned[t].value, tuned[t].ratio, tuned[t].fallback, tuned[t].noise);
}

bool aq_perf_tune_write(const char *path, const aq_perf_tuned_t *tuned, size_t ntuned,
                        double together)
{
    char section[96], name[4096];
    FILE *old;

    snprintf(section, sizeof section, "[%.40s ranks %u]", aq_perf_conduit(),
             (unsigned)aq_perf_job.size);
    if (snprintf(name, sizeof name, "%s.new", path) >= (int)sizeof name)
        return fault(path, "the name is too long");
    if (!open_old(path, &old))
        return false;
    FILE *out = fopen(name, "w");
    if (out) {
        fputs(TITLE "\n", out);
        copy_others(old, out, section);
        write_section(out, section, tuned, ntuned, together);
    }
    if (old)
        fclose(old);
    if (!out || fclose(out) != 0 || rename(name, path) != 0)
        return fault(name, strerror(errno));
    return true;
}
#endif
