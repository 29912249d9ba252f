#include "shell_words.h"

#include <stdlib.h>
#include <string.h>

// Inside of single quotes nothing is special but the quote itself, and to C shells "!": both stand
// outside of the quotes, escaped.
static const char *escape_of(char c)
{
    return c == '\'' ? "'\\''" : c == '!' ? "'\\!'" : NULL;
}

char *aq_shell_quote(const char *text)
{
    char *quoted = malloc(4 * strlen(text) + 3), *to = quoted;
    if (quoted == NULL)
        return NULL;
    *to++ = '\'';
    for (; *text != '\0'; text++) {
        const char *escaped = escape_of(*text);
        if (escaped == NULL) {
            *to++ = *text;
            continue;
        }
        memcpy(to, escaped, 4);
        to += 4;
    }
    *to++ = '\'';
    *to = '\0';
    return quoted;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// Copies the word at *text without its quotes. False: a quote is open at the end.
static bool cut_word(const char **text, char *to)
{
    const char *from = *text;
    char quote = '\0';
    for (; *from != '\0' && (quote != '\0' || !is_blank(*from)); from++) {
        if (quote == '\0' && (*from == '\'' || *from == '"'))
            quote = *from;
        else if (quote != '\0' && *from == quote)
            quote = '\0';
        else if (*from == '\\' && quote != '\'' && from[1] != '\0')
            *to++ = *++from;
        else
            *to++ = *from;
    }
    *to = '\0';
    *text = from;
    return quote == '\0';
}

void aq_shell_free_words(char **words)
{
    for (size_t i = 0; words != NULL && words[i] != NULL; i++)
        free(words[i]);
    free(words);
}

char **aq_shell_split(const char *text)
{
    char **words = calloc(strlen(text) / 2 + 2, sizeof *words);
    bool ok = words != NULL;
    for (size_t count = 0; ok; count++) {
        while (is_blank(*text))
            text++;
        if (*text == '\0')
            return words;
        words[count] = malloc(strlen(text) + 1);
        ok = words[count] != NULL && cut_word(&text, words[count]);
    }
    aq_shell_free_words(words);
    return NULL;
}
