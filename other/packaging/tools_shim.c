// SPDX-License-Identifier: BSD-3-Clause
// All of libgasnet_tools-<mode>: it brings in the library, which contains the tools. The
// thread modes differ only in the inline functions of gasnet_tools.h.
#include <gasnet_tools.h>

static __typeof__(gasnett_release_version) *const library __attribute__((used)) =
    gasnett_release_version;
