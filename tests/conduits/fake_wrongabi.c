// A module that was made for another version of the contract: the library has to refuse it before
// it looks at anything behind the number.
#include "../../core/conduit.h"

__attribute__((visibility("default"))) extern const aq_conduit_ops_t aq_conduit_module;

const aq_conduit_ops_t aq_conduit_module = {.name = "wrongabi", .abi = AQ_CONDUIT_ABI + 1};
