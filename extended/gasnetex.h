// GASNet-EX: the one header that clients include. Define GASNET_SEQ, GASNET_PAR or
// GASNET_PARSYNC first; without one, the library that the client is linked with decides.
//
// The layers, from below: gasnet_fwd.h (types and constants), gasnetex_core.h (objects, events,
// progress), gasnetex_am.h (active messages), gasnetex_rma.h (put, get, barrier), gasnet_format.h
// (constants as text); and gasnet_tools.h, which also serves programs without a job. Clients expect
// INT_MAX and its kin to come with it.
#ifndef GASNETEX_H
#define GASNETEX_H
#define _INCLUDED_GASNETEX_H 1 // by which clients see that this header is included

#include <limits.h>

#include "gasnet_config.h"
#include "gasnet_fwd.h"
#include "gasnetex_core.h"
#include "gasnetex_am.h"
#include "gasnetex_rma.h"
#include "gasnet_format.h"
#include "gasnet_tools.h"

#endif
