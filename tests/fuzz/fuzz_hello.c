// Fuzzer of what a caller of conduit ibv says first, the private data of a connection. The first
// byte of an input tells whether the proof in the rest is replaced by the right one, as only a rank
// of the job can make it. What must hold: without it nothing is taken; with it, what is taken names
// another rank of the job, and is what was sent.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../conduits/ibv/ibv_conduit.h"

enum { RANKS = 5, OWN = 3 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

// Puts in a proof that only a rank of the job can make. False: there is no room for one.
static bool prove(const uint8_t *key, const aq_ibv_peer_t *called, uint8_t *bytes, size_t size)
{
    aq_ibv_hello_t said;
    if (size < sizeof said)
        return false;
    memcpy(&said, bytes, sizeof said);
    if (called)
        aq_ibv_prove_accept(key, OWN, called->called, &said);
    else
        aq_ibv_prove_call(key, OWN, &said);
    memcpy(bytes, &said, sizeof said);
    return true;
}

static void check_request(const aq_ibv_conduit_t *ibv, uint8_t *bytes, size_t size, bool insider)
{
    aq_ibv_hello_t hello = {.rank = RANKS};
    bool proved = insider && prove(ibv->base.env->boot->key, NULL, bytes, size);
    bool taken = aq_ibv_request_genuine(ibv, bytes, size, &hello);
    require(taken == (proved && hello.rank < RANKS && hello.rank != OWN));
    require(!taken || memcmp(&hello, bytes, sizeof hello) == 0);
}

static void check_accept(const aq_ibv_conduit_t *ibv, uint8_t *bytes, size_t size, bool insider)
{
    static aq_ibv_peer_t link = {.rank = 1, .called = {4, 5, 6}};
    aq_ibv_hello_t hello = {.rank = RANKS};
    bool proved = insider && prove(ibv->base.env->boot->key, &link, bytes, size);
    bool taken = aq_ibv_accept_genuine(ibv, &link, bytes, size, &hello);
    require(taken == (proved && hello.rank == link.rank));
    require(!taken || memcmp(&hello, bytes, sizeof hello) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    aq_boot_t boot = {.rank = OWN, .size = RANKS, .key = {1, 2, 3}};
    const aq_conduit_env_t env = {.boot = &boot, .rank = OWN, .size = RANKS};
    aq_ibv_conduit_t *ibv = calloc(1, sizeof *ibv);
    uint8_t *bytes = malloc(size ? size : 1);
    if (ibv && bytes && size > 0) {
        ibv->base.env = &env;
        memcpy(bytes, data + 1, size - 1);
        (data[0] & 2 ? check_accept : check_request)(ibv, bytes, size - 1, data[0] & 1);
    }
    free(bytes);
    free(ibv);
    return 0;
}
