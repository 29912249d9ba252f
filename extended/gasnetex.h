// SPDX-License-Identifier: BSD-3-Clause
// GASNet-EX: the one header that clients include. Define GASNET_SEQ, GASNET_PAR or
// GASNET_PARSYNC first; if none is defined, the library that the client is linked with has the
// thread mode.
//
// The layers, from the lowest up: gasnet_fwd.h (types and constants), gasnetex_core.h (objects,
// events, progress), gasnetex_am.h (active messages), gasnetex_rma.h (put, get, barrier),
// gasnet_format.h (constants as text), and gasnet_tools.h, which also works in programs without a
// job. This header includes <limits.h> because clients rely on it.
#ifndef GASNETEX_H
#define GASNETEX_H
#define _INCLUDED_GASNETEX_H 1 // tells clients that this header is included

#include <limits.h>

#include "gasnet_config.h"
#include "gasnet_fwd.h"
#include "gasnetex_core.h"
#include "gasnetex_am.h"
#include "gasnetex_rma.h"
#include "gasnet_format.h"
#include "gasnet_tools.h"

#endif
