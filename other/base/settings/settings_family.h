// SPDX-License-Identifier: BSD-3-Clause
// Variables of a family: NAME_0, NAME_1_3 and so on, with the name of a text row and numbers. They
// are read when they are asked for and have no rows of their own. A row NAME_TYPE makes NAME a
// family.
#pragma once

#include <stdbool.h>

// The text of NAME_suffix, owned by the environment; NULL: not set, or empty.
const char *aq_setting_member(const char *family, const char *suffix);

// Whether any variable of the family is set and not empty.
bool aq_setting_has_members(const char *family);

// Whether a name, which '=' may follow, is that of a variable of the family.
bool aq_setting_is_member(const char *name, const char *family);
