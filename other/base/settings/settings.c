// SPDX-License-Identifier: BSD-3-Clause
// The engine of the table: reads the environment into one value for each row, and checks, prints
// and suggests names. The rows stand in settings_table.c and in the conduits' profiles.
#include "settings.h"

#include "../log/log.h"
#include "settings_family.h"
#include "settings_lists.h"
#include "../minmax.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define PREFIX "GASNET_"
#define NAME_MAX_BYTES 64 // longest name in the table; a unit test checks it
#define SHOWN_VALUE 80    // bytes of a value that a message quotes
#define MAX_DISTANCE 2    // most edits between an unknown name and its suggestion
#define PAGE_COLUMNS 100
#define PAGE_INDENT 4

typedef struct aq_value {
    union {
        bool yes;
        int64_t whole;
        double real;
        uint64_t bytes;
        aq_size_limit_t limit;
        char *text; // see holds_text; owned
    };
    bool given;
} aq_value_t;

enum { GROUPS_MAX = 32 };

typedef struct loaded_group {
    const aq_setting_group_t *group;
    aq_value_t *values; // one for each row; owned
} loaded_group_t;

// The rows of the conduits of this source tree: configure lists them.
#define DECLARED(conduit) extern const aq_setting_group_t aq_##conduit##_settings;
#define ADDRESS(conduit) &aq_##conduit##_settings,
AQ_EACH_PROFILE(DECLARED)
static const aq_setting_group_t *const conduit_groups[] = {AQ_EACH_PROFILE(ADDRESS)};

static const aq_setting_group_t library_group = {"the library", aq_settings, AQ_SET_COUNT};
static loaded_group_t aq_settings_groups[GROUPS_MAX];
static size_t aq_settings_group_count;
static bool aq_settings_loaded; // the values are those of the environment, not the defaults
static pthread_once_t aq_settings_once = PTHREAD_ONCE_INIT;

static bool holds_text(const aq_setting_t *row)
{
    return row->type == AQ_TYPE_TEXT || row->type == AQ_TYPE_CHOICE ||
           row->type == AQ_TYPE_SIGNALS || row->type == AQ_TYPE_RANKS || row->type == AQ_TYPE_PORTS;
}

static bool in_range(const aq_setting_t *row, double value)
{
    return (row->low == 0 && row->high == 0) || (value >= row->low && value <= row->high);
}

// The next word of a blank-separated list; NULL: end of the list. Start with *length = 0.
static const char *next_word(const char *word, size_t *length)
{
    word += *length;
    word += strspn(word, " ");
    *length = strcspn(word, " ");
    return *length ? word : NULL;
}

// A copy of the word of choices that equals text, ignoring blanks and case; NULL: there is none.
static char *find_choice(const char *choices, const char *text)
{
    text += strspn(text, " \t\n\v\f\r");
    size_t size = strcspn(text, " \t\n\v\f\r");
    if (text[size + strspn(text + size, " \t\n\v\f\r")] != '\0')
        return NULL;
    size_t length = 0;
    for (const char *word = choices; (word = next_word(word, &length)) != NULL;)
        if (length == size && strncasecmp(word, text, size) == 0)
            return strndup(word, length);
    return NULL;
}

static bool is_signals(const aq_setting_t *row, const char *text)
{
    int number;
    if (row->choices && strcmp(text, row->choices) == 0)
        return true;
    while ((number = aq_settings_next_signal(&text)) > 0)
        ;
    return number == 0;
}

// A size; a number without a unit is in units of 2^shift bytes.
static bool parse_units(const char *text, unsigned shift, uint64_t *out)
{
    int64_t whole;
    if (!aq_size_parse_int(text, &whole))
        return aq_size_parse_bytes(text, out);
    if (whole < 0 || whole > INT64_MAX >> shift)
        return false;
    *out = (uint64_t)whole << shift;
    return true;
}

static bool parse_power(const aq_setting_t *row, const char *text, uint64_t *out)
{
    uint64_t value;
    if (!aq_size_parse_bytes(text, &value) || !in_range(row, (double)value) || value & (value - 1))
        return false;
    *out = value;
    return true;
}

static bool parse_limit(const aq_setting_t *row, const char *text, aq_size_limit_t *out)
{
    *out = (aq_size_limit_t){0};
    return (row->choices && strcmp(text, row->choices) == 0) || aq_size_parse_limit(text, out);
}

static bool copy_text(const char *text, aq_value_t *out)
{
    out->text = strdup(text);
    return out->text != NULL;
}

static bool parse_value(const aq_setting_t *row, const char *text, aq_value_t *out)
{
    switch (row->type) {
    case AQ_TYPE_BOOL:
        return aq_size_parse_bool(text, &out->yes);
    case AQ_TYPE_INT:
        return aq_size_parse_int(text, &out->whole) && in_range(row, (double)out->whole);
    case AQ_TYPE_REAL:
        return aq_size_parse_real(text, &out->real) && in_range(row, out->real);
    case AQ_TYPE_BYTES:
        return aq_size_parse_bytes(text, &out->bytes) && in_range(row, (double)out->bytes);
    case AQ_TYPE_KILOBYTES:
        return parse_units(text, 10, &out->bytes) && in_range(row, (double)out->bytes);
    case AQ_TYPE_MEGABYTES:
        return parse_units(text, 20, &out->bytes) && in_range(row, (double)out->bytes);
    case AQ_TYPE_POWER:
        return parse_power(row, text, &out->bytes);
    case AQ_TYPE_LIMIT:
        return parse_limit(row, text, &out->limit);
    case AQ_TYPE_CHOICE:
        out->text = find_choice(row->choices, text);
        return out->text != NULL;
    case AQ_TYPE_SIGNALS:
        return is_signals(row, text) && copy_text(text, out);
    case AQ_TYPE_RANKS:
        return aq_settings_has_rank(text, 0) >= 0 && copy_text(text, out);
    case AQ_TYPE_PORTS:
        return aq_settings_read_ports(text, &(aq_ports_t){0}) && copy_text(text, out);
    case AQ_TYPE_TEXT:
        return copy_text(text, out);
    }
    return false;
}

static void values_free(const aq_setting_group_t *group, aq_value_t *values)
{
    for (size_t i = 0; values != NULL && i < group->count; i++)
        if (holds_text(&group->rows[i]))
            free(values[i].text);
    free(values);
}

void aq_settings_quote(const char *value, char *buf, size_t size)
{
    size_t length = strlen(value);
    bool cut = length >= size;
    if (cut)
        length = size - 4;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)value[i];
        buf[i] = c < 0x20 || c == 0x7f ? '?' : value[i];
    }
    strcpy(buf + length, cut ? "..." : "");
}

static void explain_fault(const aq_setting_t *row, const char *value, char *err, size_t err_size)
{
    char shown[SHOWN_VALUE];
    char legal[256];
    aq_settings_quote(value, shown, sizeof shown);
    aq_settings_describe(row, legal, sizeof legal);
    if (*row->fallback)
        snprintf(err, err_size, "%s: '%s' is not %s; unset it or give one, for example %s=%s",
                 row->name, shown, legal, row->name, row->fallback);
    else
        snprintf(err, err_size, "%s: '%s' is not %s; unset it or correct it", row->name, shown,
                 legal);
}

// GASNet reads some variables under more or other names: AMUDP_x, AMMPI_x, and those of conduit
// udp's spawners also without a prefix.
static const char *other_names(const aq_setting_t *row)
{
    static const struct {
        const char *name, *others[2];
    } known[] = {
        {"GASNET_SSH_CMD", {"AMUDP_SSH_CMD", "SSH_CMD"}},
        {"GASNET_SSH_OPTIONS", {"AMUDP_SSH_OPTIONS", "SSH_OPTIONS"}},
        {"GASNET_SSH_REMOTE_PATH", {"AMUDP_SSH_REMOTE_PATH", "SSH_REMOTE_PATH"}},
        {"GASNET_CSPAWN_CMD", {"AMUDP_CSPAWN_CMD", "CSPAWN_CMD"}},
        {"GASNET_CSPAWN_SERVERS", {"AMUDP_CSPAWN_SERVERS", "CSPAWN_SERVERS"}},
        {"GASNET_CSPAWN_ROUTE_OUTPUT", {"AMUDP_CSPAWN_ROUTE_OUTPUT", "CSPAWN_ROUTE_OUTPUT"}},
        {"GASNET_SPAWN_VERBOSE", {"AMUDP_SPAWN_VERBOSE", NULL}},
        {"GASNET_VERBOSEENV", {"AMUDP_VERBOSEENV", NULL}},
        {"GASNET_MPI_THREAD", {"AMMPI_MPI_THREAD", NULL}},
        {"GASNET_NETWORKDEPTH", {"AMMPI_NETWORKDEPTH", NULL}},
        {"GASNET_OFI_DOMAIN", {"GASNET_OFI_DEVICE", NULL}},
    };
    const char *text = NULL;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        for (size_t j = 0; j < 2 && strcmp(row->name, known[i].name) == 0; j++)
            if ((text == NULL || *text == '\0') && known[i].others[j] != NULL)
                text = getenv(known[i].others[j]);
    return text;
}

// Reads one variable, or its default if it is not set.
static aq_status_t read_value(const aq_setting_t *row, aq_value_t *out, char *err, size_t err_size)
{
    const char *text = getenv(row->name);
    if (text == NULL || *text == '\0')
        text = other_names(row);
    out->given = text && *text;
    if (!out->given)
        text = row->fallback;
    if (parse_value(row, text, out))
        return AQ_OK;
    explain_fault(row, text, err, err_size);
    return AQ_ERR_CONFIG;
}

// Reads all rows of a group. NULL: err says which value is not legal, or that there is no memory.
static aq_value_t *group_read(const aq_setting_group_t *group, char *err, size_t err_size)
{
    aq_value_t *values = calloc(group->count + 1, sizeof *values); // not 0 bytes
    if (values == NULL)
        snprintf(err, err_size, "out of memory for the settings of %s", group->owner);
    for (size_t i = 0; values != NULL && i < group->count; i++)
        if (read_value(&group->rows[i], &values[i], err, err_size) != AQ_OK) {
            values_free(group, values);
            values = NULL;
        }
    return values;
}

// ---- groups ----

static aq_value_t *group_defaults(const aq_setting_group_t *group)
{
    aq_value_t *values = calloc(group->count + 1, sizeof *values);
    for (size_t i = 0; i < group->count; i++)
        if (values == NULL || !parse_value(&group->rows[i], group->rows[i].fallback, &values[i]))
            abort(); // a mistake in the table, or no memory
    return values;
}

static void group_append(const aq_setting_group_t *group, aq_value_t *values)
{
    if (aq_settings_group_count == GROUPS_MAX)
        abort(); // far more conduits than there are
    aq_settings_groups[aq_settings_group_count++] = (loaded_group_t){group, values};
}

static void load_defaults(void)
{
    group_append(&library_group, group_defaults(&library_group));
    for (size_t i = 0; i < sizeof conduit_groups / sizeof conduit_groups[0]; i++)
        group_append(conduit_groups[i], group_defaults(conduit_groups[i]));
}

static const aq_setting_t *group_find(const aq_setting_group_t *group, const char *name)
{
    for (size_t i = 0; i < group->count; i++)
        if (strcmp(name, group->rows[i].name) == 0)
            return &group->rows[i];
    return NULL;
}

// Finds a name of the group that belongs to another owner.
static bool group_clashes(const aq_setting_group_t *group, char *err, size_t err_size)
{
    for (size_t g = 0; g < aq_settings_group_count; g++) {
        const aq_setting_group_t *other = aq_settings_groups[g].group;
        for (size_t i = 0; i < group->count && strcmp(other->owner, group->owner) != 0; i++)
            if (group_find(other, group->rows[i].name) != NULL) {
                snprintf(err, err_size,
                         "%s brings the setting %s, which belongs to %s: give it another name",
                         group->owner, group->rows[i].name, other->owner);
                return true;
            }
    }
    return false;
}

// The group of an owner; NULL: there is none.
static loaded_group_t *group_of(const char *owner)
{
    for (size_t g = 0; g < aq_settings_group_count; g++)
        if (strcmp(aq_settings_groups[g].group->owner, owner) == 0)
            return &aq_settings_groups[g];
    return NULL;
}

aq_status_t aq_settings_add(const aq_setting_group_t *group, char *err, size_t err_size)
{
    pthread_once(&aq_settings_once, load_defaults);
    loaded_group_t *old = group_of(group->owner);
    if (old != NULL && old->group == group)
        return AQ_OK;
    if (group_clashes(group, err, err_size))
        return AQ_ERR_CONFIG;
    aq_value_t *values =
        aq_settings_loaded ? group_read(group, err, err_size) : group_defaults(group);
    if (values == NULL)
        return AQ_ERR_CONFIG;
    if (old == NULL) {
        group_append(group, values);
    } else {
        values_free(old->group, old->values);
        *old = (loaded_group_t){group, values};
    }
    return AQ_OK;
}

size_t aq_settings_count(void)
{
    size_t count = 0;
    pthread_once(&aq_settings_once, load_defaults);
    for (size_t g = 0; g < aq_settings_group_count; g++)
        count += aq_settings_groups[g].group->count;
    return count;
}

const aq_setting_t *aq_settings_at(size_t index)
{
    size_t g = 0;
    pthread_once(&aq_settings_once, load_defaults);
    for (; index >= aq_settings_groups[g].group->count; g++)
        index -= aq_settings_groups[g].group->count;
    return &aq_settings_groups[g].group->rows[index];
}

aq_status_t aq_settings_load(char *err, size_t err_size)
{
    pthread_once(&aq_settings_once, load_defaults);
    aq_value_t *values[GROUPS_MAX];
    for (size_t g = 0; g < aq_settings_group_count; g++) {
        values[g] = group_read(aq_settings_groups[g].group, err, err_size);
        if (values[g] != NULL)
            continue;
        while (g-- > 0)
            values_free(aq_settings_groups[g].group, values[g]);
        return AQ_ERR_CONFIG;
    }
    for (size_t g = 0; g < aq_settings_group_count; g++) {
        values_free(aq_settings_groups[g].group, aq_settings_groups[g].values);
        aq_settings_groups[g].values = values[g];
    }
    aq_settings_loaded = true;
    return AQ_OK;
}

aq_status_t aq_settings_load_logged(void)
{
    char err[512];
    const aq_status_t status = aq_settings_load(err, sizeof err);
    if (status != AQ_OK)
        aq_log_error("%s", err);
    return status;
}

aq_status_t aq_settings_check(const aq_setting_t *row, char *err, size_t err_size)
{
    aq_value_t value;
    memset(&value, 0, sizeof value);
    aq_status_t status = read_value(row, &value, err, err_size);
    if (status == AQ_OK && holds_text(row))
        free(value.text);
    return status;
}

// ---- values ----

const aq_setting_t *aq_settings_row(aq_setting_id_t id)
{
    return &aq_settings[id];
}

static const aq_value_t *value_of(const aq_setting_t *row)
{
    pthread_once(&aq_settings_once, load_defaults);
    for (size_t g = 0; g < aq_settings_group_count; g++) {
        const aq_setting_group_t *group = aq_settings_groups[g].group;
        if (row >= group->rows && row < group->rows + group->count)
            return &aq_settings_groups[g].values[row - group->rows];
    }
    abort(); // a row of a group that was not added
}

bool aq_setting_bool(const aq_setting_t *row)
{
    assert(row->type == AQ_TYPE_BOOL);
    return value_of(row)->yes;
}

bool aq_settings_bool_now(aq_setting_id_t id)
{
    const aq_setting_t *row = &aq_settings[id];
    bool yes = false;
    assert(row->type == AQ_TYPE_BOOL);
    if (!aq_size_parse_bool(getenv(row->name), &yes))
        aq_size_parse_bool(row->fallback, &yes);
    return yes;
}

int64_t aq_setting_int(const aq_setting_t *row)
{
    assert(row->type == AQ_TYPE_INT);
    return value_of(row)->whole;
}

double aq_setting_real(const aq_setting_t *row)
{
    assert(row->type == AQ_TYPE_REAL);
    return value_of(row)->real;
}

uint64_t aq_setting_bytes(const aq_setting_t *row)
{
    assert(row->type == AQ_TYPE_BYTES || row->type == AQ_TYPE_KILOBYTES ||
           row->type == AQ_TYPE_MEGABYTES || row->type == AQ_TYPE_POWER);
    return value_of(row)->bytes;
}

const aq_size_limit_t *aq_setting_limit(const aq_setting_t *row)
{
    assert(row->type == AQ_TYPE_LIMIT);
    return &value_of(row)->limit;
}

const char *aq_setting_text(const aq_setting_t *row)
{
    assert(holds_text(row));
    return value_of(row)->text;
}

bool aq_setting_given(const aq_setting_t *row)
{
    return value_of(row)->given;
}

static size_t text_append(char *buf, size_t size, size_t at, const char *text, size_t length)
{
    if (at < size)
        snprintf(buf + at, size - at, "%.*s", (int)length, text);
    return at + length;
}

static void describe_choice(const char *choices, char *buf, size_t size)
{
    size_t at = text_append(buf, size, 0, "one of ", strlen("one of "));
    const char *gap = "";
    size_t length = 0;
    for (const char *word = choices; (word = next_word(word, &length)) != NULL; gap = ", ") {
        at = text_append(buf, size, at, gap, strlen(gap));
        at = text_append(buf, size, at, word, length);
    }
}

static void describe_range(const aq_setting_t *row, const char *what, char *buf, size_t size)
{
    if (row->low == 0 && row->high == 0)
        snprintf(buf, size, "%s", what);
    else
        snprintf(buf, size, "%s from %.12g to %.12g", what, row->low, row->high);
}

void aq_settings_describe(const aq_setting_t *row, char *buf, size_t size)
{
    switch (row->type) {
    case AQ_TYPE_BOOL:
        snprintf(buf, size, "yes (1 y yes true on) or no (0 n no false off)");
        return;
    case AQ_TYPE_INT:
        describe_range(row, "a whole number", buf, size);
        return;
    case AQ_TYPE_REAL:
        describe_range(row, "a number", buf, size);
        return;
    case AQ_TYPE_BYTES:
        describe_range(row, "a size such as 4096, 64KB or 1.5GB", buf, size);
        return;
    case AQ_TYPE_KILOBYTES:
        describe_range(row, "a size such as 64KB, 1.5MB or 128 (KB)", buf, size);
        return;
    case AQ_TYPE_MEGABYTES:
        describe_range(row, "a size such as 64KB, 1.5GB or 4096 (MB)", buf, size);
        return;
    case AQ_TYPE_POWER:
        describe_range(row, row->low == 0 ? "0 or a power of 2" : "a power of 2", buf, size);
        return;
    case AQ_TYPE_LIMIT:
        snprintf(buf, size, "a memory limit such as 4GB, 512MB/P, 0.85/H or 2/3");
        return;
    case AQ_TYPE_CHOICE:
        describe_choice(row->choices, buf, size);
        return;
    case AQ_TYPE_SIGNALS:
        snprintf(buf, size, "a list of signals such as SIGUSR1,fpe,11%s%s",
                 row->choices ? ", or " : "", row->choices ? row->choices : "");
        return;
    case AQ_TYPE_RANKS:
        snprintf(buf, size, "a list of ranks such as 0,2-4, or *");
        return;
    case AQ_TYPE_PORTS:
        snprintf(buf, size, "a port such as 50000, or a range such as 50000-50100");
        return;
    case AQ_TYPE_TEXT:
        snprintf(buf, size, "text");
        return;
    }
}

// Prints text, indented, in lines of at most PAGE_COLUMNS.
static void print_wrapped(FILE *out, int indent, const char *text)
{
    int column = 0;
    size_t length = 0;
    for (const char *word = text; (word = next_word(word, &length)) != NULL;) {
        if (column > 0 && column + 1 + (int)length > PAGE_COLUMNS) {
            fputc('\n', out);
            column = 0;
        }
        if (column == 0)
            column = fprintf(out, "%*s", indent, "");
        else
            column += fprintf(out, " ");
        column += fprintf(out, "%.*s", (int)length, word);
    }
    fputc('\n', out);
}

void aq_settings_print_table(FILE *out)
{
    for (size_t i = 0; i < aq_settings_count(); i++) {
        const aq_setting_t *row = aq_settings_at(i);
        char legal[256];
        aq_settings_describe(row, legal, sizeof legal);
        fprintf(out, "%s\n%*s%s; default: %s\n", row->name, PAGE_INDENT, "", legal,
                *row->fallback ? row->fallback : "not set");
        print_wrapped(out, PAGE_INDENT, row->help);
    }
}

void aq_settings_print_ignored(FILE *out)
{
    for (size_t i = 0; i < aq_settings_ignored_count(); i++) {
        const aq_setting_ignored_t *entry = aq_settings_ignored_at(i);
        size_t length = 0;
        for (const char *name = entry->names; (name = next_word(name, &length)) != NULL;)
            fprintf(out, "%*s%.*s\n", PAGE_INDENT, "", (int)length, name);
        print_wrapped(out, 2 * PAGE_INDENT, entry->why);
    }
}

static void print_value(FILE *out, const aq_setting_t *row, const aq_value_t *value)
{
    char shown[4096];
    fprintf(out, "%s = ", row->name);
    switch (row->type) {
    case AQ_TYPE_BOOL:
        fprintf(out, "%s\n", value->yes ? "yes" : "no");
        return;
    case AQ_TYPE_INT:
        fprintf(out, "%lld\n", (long long)value->whole);
        return;
    case AQ_TYPE_REAL:
        fprintf(out, "%g\n", value->real);
        return;
    case AQ_TYPE_BYTES:
    case AQ_TYPE_KILOBYTES:
    case AQ_TYPE_MEGABYTES:
        fprintf(out, "%llu bytes\n", (unsigned long long)value->bytes);
        return;
    case AQ_TYPE_POWER:
        fprintf(out, "%llu\n", (unsigned long long)value->bytes);
        return;
    case AQ_TYPE_LIMIT:
        if (value->limit.fraction > 0)
            fprintf(out, "%g of the memory", value->limit.fraction);
        else
            fprintf(out, "%llu bytes", (unsigned long long)value->limit.bytes);
        fprintf(out, " for each %s\n", value->limit.per_host ? "host" : "process");
        return;
    case AQ_TYPE_CHOICE:
    case AQ_TYPE_SIGNALS:
    case AQ_TYPE_RANKS:
    case AQ_TYPE_PORTS:
    case AQ_TYPE_TEXT:
        aq_settings_quote(value->text, shown, sizeof shown);
        fprintf(out, "%s\n", shown);
        return;
    }
}

static const aq_setting_t *find_row(const char *name)
{
    const aq_setting_t *row = NULL;
    for (size_t g = 0; g < aq_settings_group_count && row == NULL; g++)
        row = group_find(aq_settings_groups[g].group, name);
    return row;
}

// Whether a name is that of a variable of a family: the family NAME has a variable NAME_TYPE.
static bool is_of_family(const char *name)
{
    for (size_t i = 0; i < aq_settings_count(); i++) {
        const aq_setting_t *row = aq_settings_at(i);
        char type[NAME_MAX_BYTES + 8];
        snprintf(type, sizeof type, "%s_TYPE", row->name);
        if (aq_setting_is_member(name, row->name) && find_row(type) != NULL)
            return true;
    }
    return false;
}

static bool is_known(const char *name)
{
    return find_row(name) != NULL || is_of_family(name);
}

// Calls back for each variable without effect that is set and of which no owner has a row.
static void each_ignored(void (*tell)(const char *name, const char *value,
                                      const aq_setting_ignored_t *entry, void *arg),
                         void *arg)
{
    pthread_once(&aq_settings_once, load_defaults);
    for (char **at = environ; at && *at; at++) {
        const size_t length = strcspn(*at, "=");
        if ((*at)[length] == '\0' || (*at)[length + 1] == '\0')
            continue;
        char *name = strndup(*at, length);
        const aq_setting_ignored_t *entry = name ? aq_settings_ignored_find(name) : NULL;
        if (entry && !is_known(name))
            tell(name, *at + length + 1, entry, arg);
        free(name);
    }
}

static void warn_ignored(const char *name, const char *value, const aq_setting_ignored_t *entry,
                         void *arg)
{
    (void)value;
    (void)arg;
    if (!entry->quiet)
        aq_log_warn("%s has no effect: %s", name, entry->why);
}

void aq_settings_warn_ignored(void)
{
    each_ignored(warn_ignored, NULL);
}

static void print_ignored(const char *name, const char *value, const aq_setting_ignored_t *entry,
                          void *out)
{
    char shown[SHOWN_VALUE];
    aq_settings_quote(value, shown, sizeof shown);
    fprintf(out, "%s = %s (no effect: %s)\n", name, shown, entry->why);
}

// Prints the variables of families that are set.
static void print_members(FILE *out)
{
    char shown[SHOWN_VALUE];
    for (char **at = environ; at && *at; at++) {
        const size_t length = strcspn(*at, "=");
        char *name = (*at)[length] && (*at)[length + 1] ? strndup(*at, length) : NULL;
        if (name && !find_row(name) && is_of_family(name)) {
            aq_settings_quote(*at + length + 1, shown, sizeof shown);
            fprintf(out, "%s = %s\n", name, shown);
        }
        free(name);
    }
}

// Whether the launcher sets that variable for its ranks.
static bool of_launcher(const aq_setting_t *row)
{
    return row == &aq_settings[AQ_SET_SPAWN_CONTROL] || row == &aq_settings[AQ_SET_SPAWN_CONDUIT] ||
           row == &aq_settings[AQ_SET_SPAWN_REPORTS] || row == &aq_settings[AQ_SET_SPAWN_BEFORE];
}

void aq_settings_print_given(FILE *out)
{
    for (size_t i = 0; i < aq_settings_count(); i++) {
        const aq_setting_t *row = aq_settings_at(i);
        if (!of_launcher(row) && aq_setting_given(row))
            print_value(out, row, value_of(row));
    }
    print_members(out);
    each_ignored(print_ignored, out);
}

// The number of letters to insert, delete or replace to turn a into b, a name of the table
// (Levenshtein distance), row by row.
static size_t edit_distance(const char *a, const char *b)
{
    size_t row[NAME_MAX_BYTES + 1];
    size_t width = strlen(b);
    for (size_t j = 0; j <= width; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= width; j++) {
            size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = aq_min(replaced, aq_min(row[j], row[j - 1]) + 1);
        }
    }
    return row[width];
}

static const char *nearest_name(const char *name)
{
    const char *nearest = NULL;
    size_t best = MAX_DISTANCE + 1;
    size_t length = strlen(name);
    for (size_t i = 0; i < aq_settings_count(); i++) {
        const aq_setting_t *row = aq_settings_at(i);
        size_t known = strlen(row->name);
        if (length > known + MAX_DISTANCE || known > length + MAX_DISTANCE)
            // The difference in length is a lower bound; this also skips very long names quickly.
            continue;
        size_t distance = edit_distance(name, row->name);
        if (distance < best) {
            best = distance;
            nearest = row->name;
        }
    }
    return nearest;
}

void aq_settings_unknown(void (*tell)(const char *name, const char *nearest, void *arg), void *arg)
{
    for (char **entry = environ; entry && *entry; entry++) {
        size_t length = strcspn(*entry, "=");
        if (strncmp(*entry, PREFIX, strlen(PREFIX)) != 0)
            continue;
        char *name = strndup(*entry, length);
        if (!name)
            return;
        if (!is_known(name) && !aq_settings_ignored_find(name))
            tell(name, nearest_name(name), arg);
        free(name);
    }
}
