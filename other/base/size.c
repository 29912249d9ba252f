// SPDX-License-Identifier: BSD-3-Clause
// The parsers of numbers for settings.c and for clients (tools/tools_env.c), without the locale's
// rules; and the memory and processors that control groups and affinity leave this process.
#include "size.h"
#include "minmax.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

// The locale has no influence: a client that calls setlocale() must not change the meaning of a
// setting.
static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *skip_blanks(const char *p)
{
    while (is_blank(*p))
        p++;
    return p;
}

static bool only_blanks(const char *p)
{
    return *skip_blanks(p) == '\0';
}

bool aq_size_parse_int(const char *text, int64_t *out)
{
    if (!text)
        return false;
    const char *p = skip_blanks(text);
    const char *digits = p + (*p == '-' || *p == '+');
    bool hex = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
    char *end;
    errno = 0;
    long long value = strtoll(p, &end, hex ? 16 : 10);
    if (end == p || errno != 0 || !only_blanks(end))
        return false;
    *out = value;
    return true;
}

// Whether the text equals a word, ignoring case.
static bool is_word(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && strncasecmp(text, word, length) == 0;
}

bool aq_size_parse_bool(const char *text, bool *out)
{
    static const char *const words[][2] = {
        {"0", "1"}, {"n", "y"}, {"no", "yes"}, {"false", "true"}, {"off", "on"}};
    if (!text)
        return false;
    const char *p = skip_blanks(text);
    size_t length = strcspn(p, " \t\n\v\f\r");
    if (!only_blanks(p + length))
        return false;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        for (int value = 0; value < 2; value++)
            if (is_word(p, length, words[i][value])) {
                *out = value;
                return true;
            }
    return false;
}

// The value of the decimal number from p to end, with a decimal point in any locale.
static bool convert_real(const char *p, const char *end, double *out)
{
    locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (!plain)
        return false;
    char *stop;
    double value = strtod_l(p, &stop, plain);
    freelocale(plain);
    if (stop != end || !isfinite(value))
        return false;
    *out = value;
    return true;
}

// The end of a run of digits with at most one decimal point and at least one digit; p if there is
// none.
static const char *skip_decimal(const char *p, bool *has_point)
{
    const char *start = p;
    bool digits = false;
    *has_point = false;
    for (; is_digit(*p) || (*p == '.' && !*has_point); p++) {
        if (*p == '.')
            *has_point = true;
        else
            digits = true;
    }
    return digits ? p : start;
}

static const char *skip_exponent(const char *p)
{
    if (*p != 'e' && *p != 'E')
        return p;
    const char *digits = p + 1 + (p[1] == '-' || p[1] == '+');
    if (!is_digit(*digits))
        return p;
    while (is_digit(*digits))
        digits++;
    return digits;
}

bool aq_size_parse_real(const char *text, double *out)
{
    if (!text)
        return false;
    const char *p = skip_blanks(text);
    const char *mantissa = p + (*p == '-' || *p == '+');
    bool has_point;
    const char *end = skip_decimal(mantissa, &has_point);
    if (end == mantissa)
        return false;
    end = skip_exponent(end);
    double value;
    if (!only_blanks(end) || !convert_real(p, end, &value))
        return false;
    *out = value;
    return true;
}

// Parses a unit: K, M, G or T, alone or as in KB or KiB, or B. Moves p behind it and returns the
// power of two.
static unsigned parse_unit(const char **p)
{
    static const char letters[] = "KMGT";
    const char *at = *p;
    const char *found = *at ? strchr(letters, toupper((unsigned char)*at)) : NULL;
    if (found) {
        at++;
        if ((*at == 'i' || *at == 'I') && (at[1] == 'b' || at[1] == 'B'))
            at++;
    }
    if (*at == 'b' || *at == 'B')
        at++;
    *p = at;
    return found ? 10 * (unsigned)(found - letters + 1) : 0;
}

static bool whole_bytes(const char *p, unsigned shift, uint64_t *out)
{
    errno = 0;
    unsigned long long value = strtoull(p, NULL, 10);
    if (errno != 0 || value > UINT64_MAX >> shift)
        return false;
    *out = (uint64_t)value << shift;
    return true;
}

static bool fractional_bytes(const char *p, const char *end, unsigned shift, uint64_t *out)
{
    double value;
    if (!convert_real(p, end, &value))
        return false;
    value *= (double)(UINT64_C(1) << shift); // exact: a power of two
    if (value >= 0x1p64)
        return false;
    *out = (uint64_t)value;
    return true;
}

// Parses a number and its unit. A decimal fraction without a unit sets *fraction and *number; any
// other number sets *bytes. Returns the rest of the text, or NULL.
static const char *parse_amount(const char *p, bool *fraction, double *number, uint64_t *bytes)
{
    p = skip_blanks(p);
    bool has_point;
    const char *end = skip_decimal(p, &has_point);
    if (end == p)
        return NULL;
    const char *unit = skip_blanks(end);
    const char *rest = unit;
    unsigned shift = parse_unit(&rest);
    *fraction = has_point && rest == unit;
    bool legal;
    if (*fraction)
        legal = convert_real(p, end, number);
    else if (has_point)
        legal = shift > 0 && fractional_bytes(p, end, shift, bytes);
    else
        legal = whole_bytes(p, shift, bytes);
    return legal ? skip_blanks(rest) : NULL;
}

bool aq_size_parse_bytes(const char *text, uint64_t *out)
{
    bool fraction;
    double number;
    uint64_t bytes;
    const char *rest = text ? parse_amount(text, &fraction, &number, &bytes) : NULL;
    if (!rest || *rest != '\0' || fraction)
        return false;
    *out = bytes;
    return true;
}

// Parses the "/3" of "2/3", if it is at *p.
static bool parse_divisor(const char **p, uint64_t *divisor)
{
    const char *digits = **p == '/' ? skip_blanks(*p + 1) : "";
    const char *end = digits;
    while (is_digit(*end))
        end++;
    if (end == digits || !whole_bytes(digits, 0, divisor))
        return false;
    *p = skip_blanks(end);
    return true;
}

// Parses the end of a limit: nothing, or a slash with P or H.
static bool parse_limit_suffix(const char *p, bool *per_host)
{
    *per_host = false;
    if (*p == '\0')
        return true;
    if (*p != '/')
        return false;
    p = skip_blanks(p + 1);
    *per_host = *p == 'H' || *p == 'h';
    if (!*per_host && *p != 'P' && *p != 'p')
        return false;
    return only_blanks(p + 1);
}

bool aq_size_parse_limit(const char *text, aq_size_limit_t *out)
{
    bool fraction;
    double number = 0;
    uint64_t bytes = 0;
    const char *rest = text ? parse_amount(text, &fraction, &number, &bytes) : NULL;
    if (!rest)
        return false;
    uint64_t divisor;
    if (!fraction && parse_divisor(&rest, &divisor)) {
        number = divisor ? (double)bytes / (double)divisor : 0;
        bytes = 0;
        fraction = true;
    }
    if (fraction ? !(number > 0 && number <= 1) : bytes == 0)
        return false;
    aq_size_limit_t limit = {.bytes = bytes, .fraction = fraction ? number : 0};
    if (!parse_limit_suffix(rest, &limit.per_host))
        return false;
    *out = limit;
    return true;
}

// Reads the limit from a file of a control group; UINT64_MAX: there is no such file, or it
// contains "max".
static uint64_t read_limit(const char *path)
{
    char line[64] = "";
    int64_t value;
    FILE *file = fopen(path, "re");
    if (!file)
        return UINT64_MAX;
    bool legal = fgets(line, sizeof line, file) && aq_size_parse_int(line, &value) && value > 0;
    fclose(file);
    return legal ? (uint64_t)value : UINT64_MAX;
}

// The smallest limit of a group and all groups above it, because each of them applies.
static uint64_t group_limit(const char *root, char *group, const char *file)
{
    uint64_t least = UINT64_MAX;
    for (;;) {
        char path[4096 + 128];
        snprintf(path, sizeof path, "%s%s/%s", root, group, file);
        uint64_t limit = read_limit(path);
        if (limit < least)
            least = limit;
        char *slash = strrchr(group, '/');
        if (!slash)
            return least;
        *slash = '\0';
    }
}

// Handles one line of /proc/self/cgroup: number:controllers:group. Number 0 without controllers is
// version 2.
static uint64_t line_limit(char *line)
{
    line[strcspn(line, "\n")] = '\0';
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
        return UINT64_MAX;
    *group++ = '\0';
    controllers++;
    if (*controllers == '\0') {
        char copy[4096];
        snprintf(copy, sizeof copy, "%s", group);
        return aq_min(group_limit("/sys/fs/cgroup", group, "memory.max"),
                      group_limit("/sys/fs/cgroup/unified", copy, "memory.max"));
    }
    if (strcmp(controllers, "memory") == 0)
        return group_limit("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes");
    return UINT64_MAX;
}

static uint64_t own_group_limit(void)
{
    char line[4096];
    uint64_t least = UINT64_MAX;
    FILE *file = fopen("/proc/self/cgroup", "re");
    if (!file)
        return least;
    while (fgets(line, sizeof line, file))
        least = aq_min(least, line_limit(line));
    fclose(file);
    return least;
}

uint64_t aq_size_physical_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES);
    long page_size = sysconf(_SC_PAGESIZE);
    uint64_t installed =
        pages > 0 && page_size > 0 ? (uint64_t)pages * (uint64_t)page_size : UINT64_MAX;
    return aq_min(installed, own_group_limit());
}

unsigned aq_size_processors(void)
{
    // The kernel rejects a set smaller than its own, so try larger ones.
    for (int room = 1024; room <= 1 << 20; room *= 4) {
        cpu_set_t *set = CPU_ALLOC((size_t)room);
        if (!set)
            break;
        size_t bytes = CPU_ALLOC_SIZE((size_t)room);
        int count = sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
        CPU_FREE(set);
        if (count > 0)
            return (unsigned)count;
    }
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (unsigned)online : 1;
}
