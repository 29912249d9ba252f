// SPDX-License-Identifier: BSD-3-Clause
// The list of hosts: rows, names, words and files.
#include "hosts.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../other/base/grow.h"
#include "../../other/base/size.h"
#include "../boot/boot.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// ---- rows ----

static bool is_word(const char *text, const char *letters)
{
    size_t length = strlen(text);
    return length > 0 && length <= AQ_HOST_NAME_MAX && text[0] != '-' &&
           strspn(text, letters) == length;
}

bool aq_hosts_legal_name(const char *name)
{
    return is_word(name, LETTERS "._-:%");
}

bool aq_hosts_legal_user(const char *user)
{
    return is_word(user, LETTERS "._-+$\\@");
}

// A node of the search tree; its texts belong to the row.
typedef struct known {
    const char *name, *user;
    size_t row;
} known_t;

static int compare_texts(const char *a, const char *b)
{
    return a == NULL || b == NULL ? (a != NULL) - (b != NULL) : strcmp(a, b);
}

static int compare_known(const void *a, const void *b)
{
    const known_t *x = a, *y = b;
    const int names = strcmp(x->name, y->name);
    return names != 0 ? names : compare_texts(x->user, y->user);
}

static aq_host_t *find_row(const aq_hosts_t *hosts, const aq_host_t *host)
{
    const known_t key = {.name = host->name, .user = host->user};
    known_t *const *found = tfind(&key, &hosts->known, compare_known);
    return found != NULL ? &hosts->rows[(*found)->row] : NULL;
}

static bool remember_row(aq_hosts_t *hosts, size_t row)
{
    known_t *known = malloc(sizeof *known);
    if (known == NULL)
        return false;
    *known = (known_t){hosts->rows[row].name, hosts->rows[row].user, row};
    if (tsearch(known, &hosts->known, compare_known) != NULL)
        return true;
    free(known);
    return false;
}

static void free_row(aq_host_t *row)
{
    free(row->name);
    free(row->user);
    free(row->prefix);
    free(row->keys);
}

static bool copy_text(char **to, const char *from)
{
    *to = from != NULL ? strdup(from) : NULL;
    return from == NULL || *to != NULL;
}

static bool no_memory(char *fault, size_t size)
{
    snprintf(fault, size, "no memory for the list of hosts; name fewer hosts");
    return false;
}

static bool hosts_grow(aq_hosts_t *hosts, char *fault, size_t size)
{
    if (hosts->count >= AQ_HOSTS_MAX) {
        snprintf(fault, size, "more than %u hosts are named; name fewer", AQ_HOSTS_MAX);
        return false;
    }
    aq_host_t *rows = aq_grow(hosts->rows, hosts->count, &hosts->room, sizeof *rows);
    if (rows == NULL)
        return no_memory(fault, size);
    hosts->rows = rows;
    return true;
}

static uint32_t add_counts(uint32_t a, uint32_t b)
{
    return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

static bool merge_row(aq_hosts_t *hosts, aq_host_t *row, const aq_host_t *host)
{
    row->slots = add_counts(row->slots, host->slots);
    row->cpus = add_counts(row->cpus, host->cpus);
    row->idle = row->idle || host->idle;
    return hosts->repeated != NULL || copy_text(&hosts->repeated, host->name);
}

bool aq_hosts_add(aq_hosts_t *hosts, const aq_host_t *host, char *fault, size_t size)
{
    aq_host_t *row = find_row(hosts, host);
    if (row != NULL && !hosts->keep_repeats)
        return merge_row(hosts, row, host) || no_memory(fault, size);
    uint32_t first = (uint32_t)(row != NULL ? (size_t)(row - hosts->rows) : hosts->count);
    if (!hosts_grow(hosts, fault, size))
        return false;
    row = &hosts->rows[hosts->count];
    *row =
        (aq_host_t){.slots = host->slots, .cpus = host->cpus, .idle = host->idle, .first = first};
    if (copy_text(&row->name, host->name) && copy_text(&row->user, host->user) &&
        copy_text(&row->prefix, host->prefix) && copy_text(&row->keys, host->keys) &&
        (first < hosts->count || remember_row(hosts, first))) {
        hosts->count++;
        return true;
    }
    free_row(row);
    return no_memory(fault, size);
}

void aq_hosts_free(aq_hosts_t *hosts)
{
    for (size_t i = 0; i < hosts->count; i++)
        free_row(&hosts->rows[i]);
    free(hosts->rows);
    free(hosts->repeated);
    tdestroy(hosts->known, free);
    *hosts = (aq_hosts_t){0};
}

// ---- words: [user@]name[:slots] ----

static bool refuse_word(const char *what, const char *word, char *fault, size_t size)
{
    snprintf(fault, size,
             "%s: '%.80s' is not a host; write [user@]name[:slots], an IPv6 address in brackets, "
             "and commas between",
             what, word);
    return false;
}

static bool take_count(const char *text, uint32_t *out)
{
    int64_t value;
    if (!aq_size_parse_int(text, &value) || value < 1 || value > AQ_RANKS_MAX)
        return false;
    *out = (uint32_t)value;
    return true;
}

// Cuts ":slots" off. Two colons outside of brackets make an IPv6 address.
static bool cut_slots(char *word, aq_host_t *host)
{
    char *colon = strrchr(word, ':'), *bracket = strchr(word, ']');
    host->name = word;
    if (word[0] == '[') {
        if (bracket == NULL || (bracket[1] != '\0' && bracket[1] != ':'))
            return false;
        colon = bracket[1] == ':' ? bracket + 1 : NULL;
        *bracket = '\0';
        host->name = word + 1;
    } else if (colon != strchr(word, ':')) {
        return true;
    }
    if (colon == NULL)
        return true;
    *colon = '\0';
    return take_count(colon + 1, &host->slots);
}

static bool add_word(aq_hosts_t *hosts, const char *what, const char *word, char *fault,
                     size_t size)
{
    aq_host_t host = {0};
    char *copy = strdup(word);
    if (copy == NULL)
        return no_memory(fault, size);
    char *at = strchr(copy, '@');
    if (at != NULL)
        *at = '\0';
    host.user = at != NULL ? copy : NULL;
    bool ok = cut_slots(at != NULL ? at + 1 : copy, &host) && aq_hosts_legal_name(host.name) &&
              (at == NULL || aq_hosts_legal_user(host.user));
    ok = ok ? aq_hosts_add(hosts, &host, fault, size) : refuse_word(what, word, fault, size);
    free(copy);
    return ok;
}

bool aq_hosts_read_list(aq_hosts_t *hosts, const char *what, const char *text, char *fault,
                        size_t size)
{
    static const char between[] = ", \t\r\n";
    while (text += strspn(text, between), *text != '\0') {
        size_t length = strcspn(text, between);
        char *word = strndup(text, length);
        bool ok = word != NULL ? add_word(hosts, what, word, fault, size) : no_memory(fault, size);
        free(word);
        if (!ok)
            return false;
        text += length;
    }
    return true;
}

// ---- host files ----

typedef struct place {
    const char *what;
    unsigned line;
    char *fault;
    size_t room;
} place_t;

static bool refuse_line(const place_t *place, const char *word, const char *expected)
{
    snprintf(place->fault, place->room, "%s, line %u: '%.80s' is %s", place->what, place->line,
             word, expected);
    return false;
}

static bool set_text(aq_host_t *host, char **to, char *value)
{
    (void)host;
    *to = value;
    return true;
}

// Takes [user@]name.
static bool take_name(const place_t *place, aq_host_t *host, char *value)
{
    char *at = strchr(value, '@');
    host->name = at != NULL ? at + 1 : value;
    if (at != NULL) {
        *at = '\0';
        host->user = value;
    }
    return (aq_hosts_legal_name(host->name) && (at == NULL || aq_hosts_legal_user(host->user))) ||
           refuse_line(place, host->name,
                       "not a name of a host: use letters, digits and . - _ : %");
}

static bool take_key(const place_t *place, aq_host_t *host, char *word, char *value)
{
    if (strcmp(word, "hostname") == 0)
        return take_name(place, host, value);
    if (strcmp(word, "slots") == 0)
        return take_count(value, &host->slots) ||
               refuse_line(place, value, "not a number of slots: a whole number from 1 to 1024");
    if (strcmp(word, "cpu") == 0)
        return take_count(value, &host->cpus) ||
               refuse_line(place, value,
                           "not a number of processors: a whole number from 1 to 1024");
    if (strcmp(word, "prefix") == 0)
        return (value[0] == '/' && set_text(host, &host->prefix, value)) ||
               refuse_line(place, value, "not a folder for prefix: a path that begins with /");
    if (strcmp(word, "user") == 0)
        return (aq_hosts_legal_user(value) && set_text(host, &host->user, value)) ||
               refuse_line(place, value, "not a name of a user");
    bool yes;
    if (!aq_size_parse_bool(value, &yes))
        return refuse_line(place, value, "neither yes nor no, the values of schedule=");
    host->idle = !yes;
    return true;
}

static bool is_known_key(const char *word)
{
    static const char *const known[] = {"hostname", "slots", "cpu", "prefix", "user", "schedule"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(word, known[i]) == 0)
            return true;
    return false;
}

// Appends a key without a meaning here to the keys of the host: those of boot modules. The row gets
// its own copy later.
static bool keep_key(const place_t *place, aq_host_t *host, const char *word, const char *value)
{
    char *longer;
    if (asprintf(&longer, "%s%s%s=%s", host->keys != NULL ? host->keys : "",
                 host->keys != NULL ? "\n" : "", word, value) < 0)
        return no_memory(place->fault, place->room);
    free(host->keys);
    host->keys = longer;
    return true;
}

// Returns the word at *text, terminated in place; text in double quotes may hold blanks. NULL: end
// of line.
static char *cut_word(char **text)
{
    char *from = *text + strspn(*text, " \t\r"), *to = from;
    bool quoted = false;
    *text = from;
    if (*from == '\0' || *from == '#')
        return NULL;
    char *start = from;
    for (; *from != '\0' && (quoted || strchr(" \t\r", *from) == NULL); from++) {
        if (*from == '"')
            quoted = !quoted;
        else
            *to++ = *from;
    }
    *text = from + (*from != '\0');
    *to = '\0';
    return start;
}

static bool take_words(const place_t *place, aq_host_t *host, char *text)
{
    char *word;
    while ((word = cut_word(&text)) != NULL) {
        char *equals = strchr(word, '=');
        if (equals == NULL || equals == word)
            return refuse_line(
                place, word,
                "not key=value; a line is: host key=value ..., for example: n1 slots=4 user=ann");
        *equals = '\0';
        if (!(is_known_key(word) ? take_key(place, host, word, equals + 1)
                                 : keep_key(place, host, word, equals + 1)))
            return false;
    }
    return true;
}

static bool take_line(aq_hosts_t *hosts, const place_t *place, char *text)
{
    static const char key[] = "hostname=";
    aq_host_t host = {0};
    char *name = cut_word(&text);
    if (name == NULL)
        return true;
    if (strncmp(name, key, strlen(key)) == 0)
        name += strlen(key);
    if (!take_name(place, &host, name))
        return false;
    bool ok =
        take_words(place, &host, text) && aq_hosts_add(hosts, &host, place->fault, place->room);
    free(host.keys);
    return ok;
}

// Whether the line is plain text: its parts are shown to the user and passed to a remote shell.
static bool is_text(const char *line)
{
    for (; *line != '\0'; line++)
        if ((unsigned char)*line < ' ' && *line != '\t' && *line != '\r')
            return false;
    return true;
}

static bool take_bytes(aq_hosts_t *hosts, const place_t *place, const char *bytes, size_t length)
{
    char *line = strndup(bytes, length);
    if (line == NULL)
        return no_memory(place->fault, place->room);
    bool ok = strlen(line) == length && is_text(line);
    if (!ok)
        snprintf(place->fault, place->room,
                 "%s, line %u: holds bytes that are not text; a line is: host key=value ...",
                 place->what, place->line);
    ok = ok && take_line(hosts, place, line);
    free(line);
    return ok;
}

bool aq_hosts_read_text(aq_hosts_t *hosts, const char *what, const char *text, size_t length,
                        char *fault, size_t size)
{
    place_t place = {.what = what, .line = 1, .fault = fault, .room = size};
    for (size_t at = 0; at < length; place.line++) {
        const char *end = memchr(text + at, '\n', length - at);
        size_t part = end != NULL ? (size_t)(end - (text + at)) : length - at;
        if (!take_bytes(hosts, &place, text + at, part))
            return false;
        at += part + 1;
    }
    return true;
}
