// A module of the right version that lacks operations: the library has to say so at once, not crash
// at the first message.
#include "../../core/conduit.h"

__attribute__((visibility("default"))) extern const aq_conduit_ops_t aq_conduit_module;

const aq_conduit_ops_t aq_conduit_module = {.name = "incomplete", .abi = AQ_CONDUIT_ABI};
