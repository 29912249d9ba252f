// A program that knows nothing of GASNet, and loads a plug-in that is a client of it:
//   plugin_host PLUGIN stay      runs it, unloads it, returns 0 from main
//   plugin_host PLUGIN thread    the same, with a thread that ends after the plug-in is unloaded
//   plugin_host PLUGIN exit N    runs it, has it end the job with code N
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_barrier_t unloaded;

// A function of the plug-in; ends the program when it is not there.
static void *find(void *plugin, const char *name)
{
    void *found = dlsym(plugin, name);
    if (found)
        return found;
    fprintf(stderr, "plugin_host: %s\n", dlerror());
    exit(1);
}

// Calls the library, and ends only after it was unloaded.
static void *user(void *poll)
{
    void (*plugin_poll)(void);
    memcpy(&plugin_poll, &poll, sizeof plugin_poll);
    plugin_poll();
    pthread_barrier_wait(&unloaded);
    pthread_barrier_wait(&unloaded);
    return NULL;
}

static void run(void *plugin)
{
    int (*plugin_run)(void);
    void *found = find(plugin, "plugin_run");
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
    void *found = find(plugin, "plugin_exit");
    memcpy(&plugin_exit, &found, sizeof plugin_exit);
    plugin_exit(code);
}

static void unload_under_thread(void *plugin)
{
    pthread_t thread;
    pthread_barrier_init(&unloaded, NULL, 2);
    pthread_create(&thread, NULL, user, find(plugin, "plugin_poll"));
    pthread_barrier_wait(&unloaded);
    dlclose(plugin);
    pthread_barrier_wait(&unloaded);
    pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
    void *plugin = argc > 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!plugin) {
        fprintf(stderr, "plugin_host: %s\n", argc > 2 ? dlerror() : "name a plug-in and a way out");
        return 1;
    }
    run(plugin);
    if (strcmp(argv[2], "exit") == 0 && argc > 3)
        leave_by(plugin, atoi(argv[3]));
    if (strcmp(argv[2], "thread") == 0)
        unload_under_thread(plugin);
    else
        dlclose(plugin);
    raise(SIGUSR1); // the handler is the library's
    puts("the host goes on");
    return 0;
}
