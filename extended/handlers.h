// Indices of the extended layer's own handlers, below those that clients may use.
#ifndef AQ_HANDLERS_H
#define AQ_HANDLERS_H

enum {
    AQ_HANDLER_PUT = 1,
    AQ_HANDLER_PUT_DONE,
    AQ_HANDLER_GET,
    AQ_HANDLER_GET_DONE,
    AQ_HANDLER_BARRIER,
    AQ_HANDLER_VIS = 16, // 16 to 23: vis_*.c
    AQ_HANDLER_VIS_PUT = AQ_HANDLER_VIS,
    AQ_HANDLER_VIS_GET,
    AQ_HANDLER_VIS_GET_DONE,
    AQ_HANDLER_VIS_NOTICE,
    AQ_HANDLER_RATOMIC = 24, // 24 to 31: ratomic_*.c
    AQ_HANDLER_COLL = 32,    // 32 to 39: coll_*.c
    AQ_HANDLER_GASNET1 = 40, // 40 to 47: gasnet1.c
    // 62 and 63: core/exit_broadcast.h
};

#endif
