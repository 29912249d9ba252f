// SPDX-License-Identifier: BSD-3-Clause
// The environment variables of the library as sections of a manual page.
#pragma once

// Prints the sections to standard output, in the language of troff. Callers check standard output
// for errors.
void aq_settings_manual_print(void);
