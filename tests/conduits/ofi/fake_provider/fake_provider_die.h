// SPDX-License-Identifier: BSD-3-Clause
// How the fake provider ends the process, for all of its files.
#ifndef AQ_TESTS_FAKE_PROVIDER_DIE_H
#define AQ_TESTS_FAKE_PROVIDER_DIE_H

#include <stddef.h>

// Writes the sentence, which printf forms, to standard error and aborts the process.
_Noreturn void fake_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

// An allocation of zeroed memory. Aborts when there is none.
void *fake_alloc(size_t bytes);

#endif
