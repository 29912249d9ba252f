// Words for and from a shell.
#ifndef AQ_SHELL_WORDS_H
#define AQ_SHELL_WORDS_H

#include <stdbool.h>
#include <stddef.h>

// A line that makes any shell of a login (of the families of Bourne and C, fish) run the program at
// path with one argument, whatever bytes (but NUL) are in the path. word: letters and "-".
// Allocated; NULL: no memory.
char *aq_shell_command(const char *path, const char *word);

// Cuts text into words by the rules of shells: blanks between, single and double quotes, backslash.
// Allocated, NULL behind the last; NULL: a quote is not closed, or no memory. Free with
// aq_shell_free_words.
char **aq_shell_split(const char *text);
void aq_shell_free_words(char **words);

// One word as a shell would need it, in quotes if it has to be. Allocated; NULL: no memory.
char *aq_shell_quote(const char *word);
// Prints one word to standard output as a shell would need it, in quotes if it has to be.
void aq_shell_print(const char *word);

#endif
