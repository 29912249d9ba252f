// The whole of libgasnet-<conduit>-<mode>: it tells the library which link name the client chose.
// The Makefile says the conduit and, by GASNET_SEQ and the like, the mode.
#include <gasnetex_core.h>

__attribute__((visibility("default"))) const char aq_api_link[] = AQ_SHIM_CONDUIT " " AQ_API_MODE;

// A use of the library itself: a linker that drops what is not needed would not load it otherwise.
static __typeof__(aq_api_client_init) *const library __attribute__((used)) = aq_api_client_init;
