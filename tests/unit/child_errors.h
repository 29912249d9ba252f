// SPDX-License-Identifier: BSD-3-Clause
// Captures what a piece of code writes to standard error, for unit tests.
#ifndef AQ_CHILD_ERRORS_H
#define AQ_CHILD_ERRORS_H

// Runs `body` in a child process, where the state of the log is fresh, and returns the text that
// the child wrote to standard error. The test fails unless the child exits with code 0. The caller
// frees the text.
char *child_errors(void (*body)(void));

#endif
