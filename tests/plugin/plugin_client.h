// What the plug-in offers to its host, which finds it by name.
#ifndef PLUGIN_CLIENT_H
#define PLUGIN_CLIENT_H

// Starts GASNet, and greets the next rank. Returns 2, one greeting and one answer; -1: it did not
// start.
int plugin_run(void);

// Polls once: the calling thread is known to the library from here on.
void plugin_poll(void);

// Ends the job.
void plugin_exit(int code);

#endif
