// SPDX-License-Identifier: BSD-3-Clause
// Sources of the list of hosts, and the formats of batch systems.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../other/base/log/log.h"
#include "../../other/base/size.h"
#include "hosts.h"
#include "hosts_load.h"

#define BLANKS " \t\r\n"
#define PREFIX_MAX 4096u // of a name of SLURM, before the name is checked

static bool refuse_text(const char *what, const char *text, const char *expected, char *fault,
                        size_t size)
{
    snprintf(
        fault, size,
        "%s: '%.80s' is not %s; the batch system wrote that value, so report it to the operator",
        what, text, expected);
    return false;
}

// ---- SLURM ----

typedef struct slurm {
    aq_hosts_t *hosts;
    const char *slots;  // "4(x2),8"; NULL: unknown
    uint32_t now, left; // the current number of slots, and how many more hosts have it
    char *fault;
    size_t room;
} slurm_t;

static bool next_slots(slurm_t *slurm)
{
    char *end;
    if (slurm->slots == NULL || slurm->left-- > 0)
        return true;
    unsigned long value = strtoul(slurm->slots, &end, 10), times = 1;
    if (end == slurm->slots || value < 1 || value > INT32_MAX)
        return refuse_text("SLURM", slurm->slots, "a list of numbers such as 4(x2),8", slurm->fault,
                           slurm->room);
    if (end[0] == '(' && end[1] == 'x') {
        times = strtoul(end + 2, &end, 10);
        if (*end != ')' || times < 1 || times > AQ_HOSTS_MAX)
            return refuse_text("SLURM", slurm->slots, "a list of numbers such as 4(x2),8",
                               slurm->fault, slurm->room);
        end++;
    }
    slurm->now = (uint32_t)value;
    slurm->left = (uint32_t)times - 1;
    slurm->slots = *end == ',' ? end + 1 : end;
    return true;
}

static bool expand_names(slurm_t *slurm, const char *before, const char *text);

static bool add_slurm(slurm_t *slurm, char *name)
{
    if (!aq_hosts_legal_name(name))
        return refuse_text("SLURM", name, "the name of a host", slurm->fault, slurm->room);
    if (!next_slots(slurm))
        return false;
    aq_host_t host = {.name = name, .slots = slurm->slots != NULL ? slurm->now : 0};
    return aq_hosts_add(slurm->hosts, &host, slurm->fault, slurm->room);
}

// Adds before + number (zero-padded to width) + the text after the bracket.
static bool expand_number(slurm_t *slurm, const char *before, unsigned long number, int width,
                          const char *behind)
{
    char longer[PREFIX_MAX];
    int n = snprintf(longer, sizeof longer, "%s%0*lu", before, width, number);
    if (n < 0 || (size_t)n > AQ_HOST_NAME_MAX)
        return refuse_text("SLURM", before, "the name of a host", slurm->fault, slurm->room);
    return expand_names(slurm, longer, behind);
}

// Expands the inside of a bracket, such as "1-3,07".
static bool expand_ranges(slurm_t *slurm, const char *before, const char *text, const char *behind)
{
    for (;;) {
        char *end;
        size_t width = strspn(text, "0123456789");
        unsigned long low = strtoul(text, &end, 10), high = low;
        if (width > 0 && *end == '-')
            high = strtoul(end + 1, &end, 10);
        if (width == 0 || width > 9 || high < low || high - low >= AQ_HOSTS_MAX ||
            (*end != ',' && *end != ']'))
            return refuse_text("SLURM", text, "a range of numbers such as 1-3,07", slurm->fault,
                               slurm->room);
        for (unsigned long number = low; number <= high; number++)
            if (!expand_number(slurm, before, number, (int)width, behind))
                return false;
        if (*end == ']')
            return true;
        text = end + 1;
    }
}

// Expands one name, which may have several brackets.
static bool expand_names(slurm_t *slurm, const char *before, const char *text)
{
    char longer[PREFIX_MAX];
    const char *open = strchr(text, '['), *close = open != NULL ? strchr(open, ']') : NULL;
    int part = open != NULL ? (int)(open - text) : (int)strlen(text);
    int n = snprintf(longer, sizeof longer, "%s%.*s", before, part, text);
    if (n < 0 || (size_t)n > AQ_HOST_NAME_MAX || (open != NULL && close == NULL))
        return refuse_text("SLURM", text, "a list of hosts such as n[1-3],m7", slurm->fault,
                           slurm->room);
    if (open == NULL)
        return add_slurm(slurm, longer);
    return expand_ranges(slurm, longer, open + 1, close + 1);
}

// Length up to the next comma outside of brackets.
static size_t name_length(const char *text)
{
    size_t length = 0;
    for (int depth = 0; text[length] != '\0' && (depth > 0 || text[length] != ','); length++)
        depth += (text[length] == '[') - (text[length] == ']');
    return length;
}

bool aq_hosts_read_slurm(aq_hosts_t *hosts, const char *nodes, const char *slots, char *fault,
                         size_t size)
{
    slurm_t slurm = {.hosts = hosts, .slots = slots, .fault = fault, .room = size};
    while (*nodes != '\0') {
        size_t length = name_length(nodes);
        char *name = strndup(nodes, length);
        bool ok = name != NULL && expand_names(&slurm, "", name);
        free(name);
        if (!ok)
            return false;
        nodes += length + (nodes[length] == ',');
    }
    return true;
}

// ---- LSF, PBS, SGE ----

// Copies the next word to out (size bytes). False: there is none.
static bool next_word(const char **text, char *out, size_t size)
{
    *text += strspn(*text, BLANKS);
    size_t length = strcspn(*text, BLANKS);
    snprintf(out, size, "%.*s", (int)(length < size ? length : size - 1), *text);
    *text += length;
    return length > 0;
}

static bool add_named(aq_hosts_t *hosts, const char *what, char *name, const char *slots,
                      char *fault, size_t size)
{
    int64_t value = 0;
    if (!aq_hosts_legal_name(name))
        return refuse_text(what, name, "the name of a host", fault, size);
    if (!aq_size_parse_int(slots, &value) || value < 1 || value > INT32_MAX)
        return refuse_text(what, slots, "a number of slots", fault, size);
    aq_host_t host = {.name = name, .slots = (uint32_t)value};
    return aq_hosts_add(hosts, &host, fault, size);
}

// Reads names, each followed by its slots. whole_lines: ignores the rest of each line.
static bool read_named(aq_hosts_t *hosts, const char *what, const char *text, bool whole_lines,
                       char *fault, size_t size)
{
    char name[AQ_HOST_NAME_MAX + 2], slots[32];
    while (next_word(&text, name, sizeof name)) {
        (void)next_word(&text, slots, sizeof slots);
        if (!add_named(hosts, what, name, slots, fault, size))
            return false;
        if (whole_lines)
            text += strcspn(text, "\n");
    }
    return true;
}

bool aq_hosts_read_pairs(aq_hosts_t *hosts, const char *what, const char *text, char *fault,
                         size_t size)
{
    return read_named(hosts, what, text, false, fault, size);
}

bool aq_hosts_read_repeats(aq_hosts_t *hosts, const char *what, const char *text, char *fault,
                           size_t size)
{
    char name[AQ_HOST_NAME_MAX + 2];
    while (next_word(&text, name, sizeof name))
        if (!add_named(hosts, what, name, "1", fault, size))
            return false;
    return true;
}

bool aq_hosts_read_sge(aq_hosts_t *hosts, const char *what, const char *text, char *fault,
                       size_t size)
{
    return read_named(hosts, what, text, true, fault, size);
}

// ---- sources of hosts ----

typedef bool aq_text_reader_t(aq_hosts_t *hosts, const char *what, const char *text, char *fault,
                              size_t size);

static bool read_schema(aq_hosts_t *hosts, const char *what, const char *text, char *fault,
                        size_t size)
{
    return aq_hosts_read_text(hosts, what, text, strlen(text), fault, size);
}

static bool read_nodelist(aq_hosts_t *hosts, const char *what, const char *text, char *fault,
                          size_t size)
{
    (void)what;
    return aq_hosts_read_slurm(hosts, text, getenv("SLURM_JOB_CPUS_PER_NODE"), fault, size);
}

typedef struct source {
    const char *variable;
    bool file;   // the variable names a file that has the text
    bool repeat; // this source commonly names a host several times
    aq_text_reader_t *read;
} source_t;

// In order of preference; the first variable that is set and not empty counts.
static const source_t sources[] = {
    {"GASNET_SSH_NODEFILE", true, false, read_schema},
    {"GASNET_SSH_SERVERS", false, false, aq_hosts_read_list},
    {"GASNET_NODEFILE", true, false, read_schema},
    {"AMUDP_SSH_SERVERS", false, false, aq_hosts_read_list},
    {"SSH_SERVERS", false, false, aq_hosts_read_list},
    {"SLURM_JOB_NODELIST", false, true, read_nodelist},
    {"PBS_NODEFILE", true, true, aq_hosts_read_repeats},
    {"LSB_MCPU_HOSTS", false, true, aq_hosts_read_pairs},
    {"LSB_HOSTS", false, true, aq_hosts_read_repeats},
    {"PE_HOSTFILE", true, true, aq_hosts_read_sge},
};

static const source_t *find_source(void)
{
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        const char *value = getenv(sources[i].variable);
        if (value != NULL && value[strspn(value, BLANKS)] != '\0')
            return &sources[i];
    }
    return NULL;
}

const char *aq_hosts_source(const char *list)
{
    if (list != NULL)
        return "option -H";
    const source_t *source = find_source();
    return source != NULL ? source->variable : NULL;
}

static bool read_source(aq_hosts_t *hosts, const source_t *source, char *fault, size_t size)
{
    const char *value = getenv(source->variable);
    size_t length;
    if (!source->file)
        return source->read(hosts, source->variable, value, fault, size);
    char *text = aq_hosts_load(source->variable, value, &length, fault, size);
    if (text == NULL)
        return false;
    bool ok = strlen(text) == length;
    if (!ok)
        snprintf(fault, size, "%s: the file '%s' is not text; it should name one host per line",
                 source->variable, value);
    ok = ok && source->read(hosts, value, text, fault, size);
    free(text);
    return ok;
}

aq_status_t aq_hosts_find(aq_hosts_t *hosts, const char *list)
{
    char fault[512] = "";
    const source_t *source = list != NULL ? NULL : find_source();
    const char *what = aq_hosts_source(list);
    bool ok = true;
    if (list != NULL)
        ok = aq_hosts_read_list(hosts, what, list, fault, sizeof fault);
    else if (source != NULL)
        ok = read_source(hosts, source, fault, sizeof fault);
    if (ok && hosts->count == 0) {
        ok = false;
        snprintf(fault, sizeof fault,
                 "%s names no host; name some with -H, GASNET_SSH_SERVERS or GASNET_SSH_NODEFILE",
                 what != NULL ? what : "nothing");
    }
    if (!ok) {
        aq_log_error("%s", fault);
        return AQ_ERR_CONFIG;
    }
    if (hosts->repeated != NULL && (source == NULL || !source->repeat))
        aq_log_warn("%s: host %s is given twice; it is used as one host, with the slots of both",
                    what, hosts->repeated);
    return AQ_OK;
}
