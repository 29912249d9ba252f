// SPDX-License-Identifier: BSD-3-Clause
// Writes a trace in the format OTF2, which tools for parallel programs open (Vampir, Scalasca).
#pragma once

#include "../analysis/view_summary.h"

// Makes the directory and an archive in it, named traces. A directory that exists has to be empty.
// False: logged, also if this build has no libotf2.
bool aq_view_otf2_write(const aq_view_findings_t *findings, const char *directory);
