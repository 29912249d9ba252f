// SPDX-License-Identifier: BSD-3-Clause
// Names of the data types and operations of atomics and reductions.
#pragma once

#include "../gasnet_format.h"

#define AQ_OP_NAMES_BYTES 512 // enough for gasnett_format_op with any bits

const char *aq_op_names(gex_OP_t ops, char text[AQ_OP_NAMES_BYTES]); // returns text
const char *aq_dt_name(gex_DT_t dt); // "GEX_DT_I32"; "no data type" for none or several
