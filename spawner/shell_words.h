// Words for and from a shell.
#ifndef AQ_SHELL_WORDS_H
#define AQ_SHELL_WORDS_H

#include <stdbool.h>
#include <stddef.h>

// text as one word of a shell of the Bourne family: what it expands to is text, whatever bytes (but
// NUL) there are; of the C family too, unless there is an end of line in it. Allocated; NULL: no
// memory.
char *aq_shell_quote(const char *text);

// Cuts text into words by the rules of shells: blanks between, single and double quotes, backslash.
// Allocated, NULL behind the last; NULL: a quote is not closed, or no memory. Free with
// aq_shell_free_words.
char **aq_shell_split(const char *text);
void aq_shell_free_words(char **words);

#endif
