// SPDX-License-Identifier: BSD-3-Clause
// The sentence for users who have no provider for their job.
#pragma once

#include "ofi_rank.h"

// Says why no entry of a ranking is used, and the remedy. filter: the value of FI_PROVIDER, which
// hides providers from us; NULL: not set.
void ofi_explain(const ofi_ranking_t *ranking, const ofi_criteria_t *criteria, const char *filter,
                 char *errbuf, size_t errbuf_size);
