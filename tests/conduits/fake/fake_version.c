// SPDX-License-Identifier: BSD-3-Clause
// A module of an older contract, of version CONTRACT: the library must refuse the module before it
// reads any member behind the version.
#include "../../../core/conduit.h"

__attribute__((visibility("default"))) extern const aq_conduit_ops_t aq_conduit_module;

const aq_conduit_ops_t aq_conduit_module = {.name = "older", .abi = CONTRACT};
