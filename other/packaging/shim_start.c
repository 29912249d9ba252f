// SPDX-License-Identifier: BSD-3-Clause
// The calls that start a job, as symbols of libgasnet-<conduit>-<mode>, for languages that do not
// compile the headers; symbols.c has the others. A file beside shim.c, because a program in C that
// is linked with the archives has to contain the identity of its conduit once.
#define AQ_API_INLINE_START extern inline __attribute__((visibility("default")))
#include <gasnet.h>
