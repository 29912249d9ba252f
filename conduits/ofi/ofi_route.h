// The address of this host on the way to the other hosts of a job.
#ifndef AQ_OFI_ROUTE_H
#define AQ_OFI_ROUTE_H

#include "ofi_rank.h"

// Sets route and peer_known of a wish. peer: numeric address of another host of the job, or "": the
// default route, if there is one. Sends nothing.
void ofi_route_find(const char *peer, ofi_wish_t *wish);

#endif
