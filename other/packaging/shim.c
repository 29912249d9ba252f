// SPDX-License-Identifier: BSD-3-Clause
// libgasnet-<conduit>-<mode>, with shim_start.c: it tells the library which link name the client
// chose. The Makefile defines the conduit and, by GASNET_SEQ and its relatives, the mode.
#include <gasnetex_core.h>

__attribute__((visibility("default"))) const char aq_api_link[] = AQ_SHIM_CONDUIT " " AQ_API_MODE;

// A reference to the library: a linker that drops unused libraries would otherwise not load it.
static __typeof__(aq_api_client_init) *const library __attribute__((used)) = aq_api_client_init;
