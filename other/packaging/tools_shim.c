// The whole of libgasnet_tools-<mode>: it brings in the library, where the tools are. What differs
// between the modes is inline in gasnet_tools.h.
#include <gasnet_tools.h>

static __typeof__(gasnett_release_version) *const library __attribute__((used)) =
    gasnett_release_version;
