// Indices of the extended layer's own handlers, below those that clients may use.
#ifndef AQ_HANDLERS_H
#define AQ_HANDLERS_H

enum {
    AQ_HANDLER_PUT = 1,
    AQ_HANDLER_PUT_DONE,
    AQ_HANDLER_GET,
    AQ_HANDLER_GET_DONE,
    AQ_HANDLER_BARRIER,
};

#endif
