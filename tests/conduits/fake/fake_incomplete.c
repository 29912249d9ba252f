// SPDX-License-Identifier: BSD-3-Clause
// A module of the right version that lacks mandatory operations: the library must refuse it when it
// loads the module, and not crash at the first message.
#include "../../../core/conduit.h"

__attribute__((visibility("default"))) extern const aq_conduit_ops_t aq_conduit_module;

const aq_conduit_ops_t aq_conduit_module = {.name = "incomplete", .abi = AQ_CONDUIT_ABI};
