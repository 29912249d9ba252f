// SPDX-License-Identifier: BSD-3-Clause
// The functions of the plug-in. The host looks them up by name.
#ifndef PLUGIN_CLIENT_H
#define PLUGIN_CLIENT_H

// Starts GASNet and greets the next rank. Returns 2, for one greeting and one answer; -1 if GASNet
// does not start.
int plugin_run(void);

// Polls once. From then on the library has state of the calling thread.
void plugin_poll(void);

// Ends the job.
void plugin_exit(int code);

#endif
