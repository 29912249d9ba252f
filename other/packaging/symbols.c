// SPDX-License-Identifier: BSD-3-Clause
// The calls that are inline in the public headers, as symbols of libaqueduct: for languages that do
// not compile the headers. shim_start.c has those that start a job.
#define GASNET_PAR 1 // right in every thread mode
#define AQ_API_INLINE extern inline __attribute__((visibility("default")))
#include <aqueduct.h>
#include <aqueduct_coll.h>
#include <aqueduct_large.h>
#include <aqueduct_msg.h>
#include <aqueduct_stream.h>
#include <gasnet.h>
#include <gasnet_coll.h>
#include <gasnet_ratomic.h>
#include <gasnet_tools.h>
#include <gasnet_vis.h>
#include <gasnetex.h>
