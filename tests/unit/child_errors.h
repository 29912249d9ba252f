// What a piece of code writes on standard error, for unit tests.
#ifndef AQ_CHILD_ERRORS_H
#define AQ_CHILD_ERRORS_H

// Runs speak in a child, where the state of the log is fresh, and returns what it wrote on standard
// error. The child has to end with exit code 0, or the test fails. The caller frees the text.
char *child_errors(void (*speak)(void));

#endif
