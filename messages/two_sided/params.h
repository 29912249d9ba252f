// SPDX-License-Identifier: BSD-3-Clause
// Descriptions of parameter blocks (aqueduct_large.h). They also arrive from peers: any string is a
// valid argument.
#pragma once

#include <stdbool.h>

#include "../aqueduct_large.h"

// Computes the bytes of the struct that `types` describes. False: it is no description, or the
// struct has more than GASNETX_PARAMS_MAX bytes.
bool aq_params_size(const char *types, size_t *bytes);

// Whether two valid descriptions are of the same members: "ii" and "2i" are.
bool aq_params_same(const char *types, const char *others);

// Why a block cannot be sent; NULL: it can.
const char *aq_params_wrong(const gasnetx_params_t *params);
