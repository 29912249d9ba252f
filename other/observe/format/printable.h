// SPDX-License-Identifier: BSD-3-Clause
// Texts of other users, which go to terminals and into files of UTF-8.
#ifndef AQ_PRINTABLE_H
#define AQ_PRINTABLE_H

// Puts '?' in the place of what is no printable character of UTF-8.
void aq_printable_make(char *text);

#endif
