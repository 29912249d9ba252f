// The news of the end over the network, for jobs whose bootstrap carries an exit to the ranks of
// one host only (aq_boot_t, exit_stays_here): an election decides the code, and a tree tells all
// ranks.
#ifndef AQ_EXIT_NEWS_H
#define AQ_EXIT_NEWS_H

// Handlers of the core; extended/layer_table.h has the others.
enum { AQ_HANDLER_EXIT_ASK = 62, AQ_HANDLER_EXIT_REPLY };

// At init, before any message can arrive. From then on polls take part in what others have begun.
void aq_exit_broadcast_start(void);

// Tells all ranks that the job ends, and returns its code: the given one unless another rank was
// first. Polls, for at most the exit timeout. Does nothing where the bootstrap tells everybody.
int aq_exit_broadcast_code(int code);

#endif
