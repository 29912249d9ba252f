// What a program needs that is linked with the archives. A linker takes only those members of an
// archive that something refers to, and a layer that adds itself when the library is loaded
// (core/layers.h) may be known to nobody: so the library that a client names,
// other/packaging/shim.c, refers to this list, and the list to one function of each such file. The
// test build-install finds a file that is missing here.
#include "barrier.h"
#include "coll.h"
#include "gasnet.h"
#include "ratomic.h"
#include "rma.h"
#include "vis.h"

typedef void (*function_t)(void);

extern const function_t aq_api_whole[];

__attribute__((visibility("default"))) const function_t aq_api_whole[] = {
    (function_t)aq_dissemination_start, // barrier_am.c
    (function_t)aq_coll_check_start,    // coll_check.c
    (function_t)aq_coll_mail_open,      // coll_mail.c
    (function_t)aq_coll_team_start,     // coll_team.c
    (function_t)aq_api_gasnet1_init,    // gasnet1.c
    (function_t)aq_ratomic_over_am,     // ratomic_am.c
    (function_t)aq_rma_start,           // rma.c, which needs rma_am.c
    (function_t)aq_vis_over_am,         // vis_am.c
    (function_t)aq_vis_notice_take,     // vis_notice.c
};
