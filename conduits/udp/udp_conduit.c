// The table of the udp conduit, which says that the conduit cannot be used yet.
#include <stdio.h>

#include "../../core/conduit.h"

static bool udp_usable(char *why, size_t why_size)
{
    snprintf(why, why_size, "this version cannot carry messages over UDP yet; use smp");
    return false;
}

// Nobody comes to the operations below: the core opens no conduit that is not usable.

static aq_status_t udp_open(const aq_conduit_env_t *env, aq_conduit_t **out)
{
    (void)env, (void)out;
    return AQ_ERR_ABSENT;
}

static void udp_describe(aq_conduit_t *conduit, char description[AQ_DESCRIPTION_BYTES])
{
    (void)conduit, (void)description;
}

static bool udp_match(aq_conduit_t *conduit, uint32_t rank, const char *description)
{
    (void)conduit, (void)rank, (void)description;
    return false;
}

static aq_status_t udp_connect(aq_conduit_t *conduit, uint32_t rank, const char *description,
                               void **link)
{
    (void)conduit, (void)rank, (void)description, (void)link;
    return AQ_ERR_ABSENT;
}

static aq_status_t udp_send(aq_conduit_t *conduit, void *link, const aq_am_t *am)
{
    (void)conduit, (void)link, (void)am;
    return AQ_ERR_ABSENT;
}

static unsigned udp_poll(aq_conduit_t *conduit, unsigned what)
{
    (void)conduit, (void)what;
    return 0;
}

static void udp_close(aq_conduit_t *conduit)
{
    (void)conduit;
}

extern const aq_conduit_ops_t aq_udp_conduit;
const aq_conduit_ops_t aq_udp_conduit = {
    .name = "udp",
    .abi = AQ_CONDUIT_ABI,
    .usable = udp_usable,
    .open = udp_open,
    .describe = udp_describe,
    .match = udp_match,
    .connect = udp_connect,
    .send = udp_send,
    .poll = udp_poll,
    .close = udp_close,
};
