// SPDX-License-Identifier: BSD-3-Clause
// Makes texts of other users safe for terminals and for files in UTF-8.
#pragma once

// Puts '?' in the place of what is no printable character of UTF-8.
void aq_printable_make(char *text);
