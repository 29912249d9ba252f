// SPDX-License-Identifier: BSD-3-Clause
// A program that does not use GASNet itself, and loads a plug-in that is a GASNet client:
//   plugin_host PLUGIN stay      runs the plug-in, unloads it, and returns 0 from main
//   plugin_host PLUGIN thread    the same, with a thread that ends after the plug-in is unloaded
//   plugin_host PLUGIN exit N    runs the plug-in, which ends the job with code N
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_barrier_t unloaded;

// Returns a function of the plug-in; ends the program if there is no such function.
static void *find_function(void *plugin, const char *name)
{
    void *found = dlsym(plugin, name);
    if (found)
        return found;
    fprintf(stderr, "plugin_host: %s\n", dlerror());
    exit(1);
}

// A thread that calls the library, and ends only after the plug-in was unloaded.
static void *use_library(void *poll)
{
    void (*plugin_poll)(void);
    memcpy(&plugin_poll, &poll, sizeof plugin_poll);
    plugin_poll();
    pthread_barrier_wait(&unloaded);
    pthread_barrier_wait(&unloaded);
    return NULL;
}

static void run_plugin(void *plugin)
{
    int (*plugin_run)(void);
    void *found = find_function(plugin, "plugin_run");
    memcpy(&plugin_run, &found, sizeof plugin_run);
    int done = plugin_run();
    if (done == 2)
        return;
    fprintf(stderr, "plugin_host: the plug-in returned %d, not 2\n", done);
    exit(1);
}

static void leave_by(void *plugin, int code)
{
    void (*plugin_exit)(int);
    void *found = find_function(plugin, "plugin_exit");
    memcpy(&plugin_exit, &found, sizeof plugin_exit);
    plugin_exit(code);
}

static void unload_under_thread(void *plugin)
{
    pthread_t thread;
    pthread_barrier_init(&unloaded, NULL, 2);
    pthread_create(&thread, NULL, use_library, find_function(plugin, "plugin_poll"));
    pthread_barrier_wait(&unloaded);
    dlclose(plugin);
    pthread_barrier_wait(&unloaded);
    pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
    void *plugin = argc > 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!plugin) {
        fprintf(stderr, "plugin_host: %s\n",
                argc > 2 ? dlerror() : "usage: plugin_host PLUGIN stay|thread|exit [CODE]");
        return 1;
    }
    run_plugin(plugin);
    if (strcmp(argv[2], "exit") == 0 && argc > 3)
        leave_by(plugin, atoi(argv[3]));
    if (strcmp(argv[2], "thread") == 0)
        unload_under_thread(plugin);
    else
        dlclose(plugin);
    raise(SIGUSR1); // the library stays loaded, with its signal handler
    puts("the host goes on");
    return 0;
}
