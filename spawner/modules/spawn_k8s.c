// SPDX-License-Identifier: BSD-3-Clause
// Boot module k8s: Kubernetes has started this process in a pod of a StatefulSet, of an indexed Job
// or of a JobSet, and it joins the processes of the other pods by spawner rendezvous. What is not
// set comes from the pod:
//
//   GASNET_RANK    JOB_COMPLETION_INDEX, else the number at the end of the pod's host name: web-3
//   GASNET_MASTER  the pod of number 0 in the same service: web-0.SERVICE:PORT
//   GASNET_SIZE    option -n of the launcher
//   key            /etc/gasnet/key, where a Secret is mounted
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aqueduct_spawn.h"

#define KEY_FILE "/etc/gasnet/key"
#define PORT "4711"
#define NAME_ROOM 256

static int is_set(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && *value != '\0';
}

// ---- the pod ----

typedef struct pod {
    char name[NAME_ROOM]; // of the host, without domain
    int base;             // length of the part before the number
    const char *number;   // the number of the pod, as text
} pod_t;

// Cuts the number off the end of the name. 0: there is none.
static int split_name(pod_t *pod)
{
    pod->name[strcspn(pod->name, ".")] = '\0';
    const char *dash = strrchr(pod->name, '-');
    if (dash == NULL || dash[1] == '\0' || dash[1 + strspn(dash + 1, "0123456789")] != '\0')
        return 0;
    pod->base = (int)(dash - pod->name);
    pod->number = dash + 1;
    return 1;
}

// A pod in the network of its node has the node's host name; then POD_NAME may have its own.
static int find_pod(pod_t *pod)
{
    const char *index = getenv("JOB_COMPLETION_INDEX");
    *pod = (pod_t){.base = 0};
    (void)gethostname(pod->name, sizeof pod->name - 1);
    if (!split_name(pod) && is_set("POD_NAME")) {
        snprintf(pod->name, sizeof pod->name, "%s", getenv("POD_NAME"));
        (void)split_name(pod);
    }
    return pod->number != NULL && (index == NULL || strcmp(index, pod->number) == 0);
}

static int k8s_init(const aqueduct_spawn_job_t *job, int *priority, char *errbuf,
                    size_t errbuf_size)
{
    pod_t pod;
    (void)job;
    *priority = 0; // a pod may run a job of its own
    if (!is_set("KUBERNETES_SERVICE_HOST"))
        snprintf(errbuf, errbuf_size,
                 "this is no pod of Kubernetes (KUBERNETES_SERVICE_HOST is not set): start it in "
                 "the pods of a StatefulSet, an indexed Job or a JobSet");
    else if (!find_pod(&pod) && !(is_set("GASNET_RANK") && is_set("GASNET_MASTER")))
        snprintf(errbuf, errbuf_size,
                 "the host name of this pod does not end with its number, as in a StatefulSet, an "
                 "indexed Job or a JobSet (%.200s): take one of these, or set POD_NAME, or "
                 "GASNET_RANK and GASNET_MASTER",
                 pod.name);
    else
        return 0;
    return -1;
}

// ---- the variables ----

typedef struct variables {
    aqueduct_spawn_set_t *set;
    void *to;
    char *why;
    size_t room;
} variables_t;

// The domain of the pod's full name. 0: it has none.
static int find_service(const pod_t *pod, char service[NAME_ROOM])
{
    const struct addrinfo hints = {.ai_flags = AI_CANONNAME, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    const char *dot = NULL;
    if (getaddrinfo(pod->name, NULL, &hints, &found) != 0)
        return 0;
    if (found->ai_canonname != NULL)
        dot = strchr(found->ai_canonname, '.');
    if (dot != NULL)
        snprintf(service, NAME_ROOM, "%s", dot + 1);
    freeaddrinfo(found);
    return dot != NULL;
}

static int set_master(const variables_t *variables, const pod_t *pod)
{
    char service[NAME_ROOM], master[3 * NAME_ROOM];
    const char *given = getenv("GASNET_POD_SERVICE");
    if (is_set("GASNET_MASTER"))
        return 0;
    if (is_set("GASNET_POD_SERVICE")) {
        snprintf(service, sizeof service, "%s", given);
    } else if (!find_service(pod, service)) {
        snprintf(variables->why, variables->room,
                 "the full name of pod %s is not known: give the StatefulSet or Job a headless "
                 "service (serviceName, subdomain), or set GASNET_POD_SERVICE",
                 pod->name);
        return -1;
    }
    snprintf(master, sizeof master, "%.*s-0.%s%s", pod->base, pod->name, service,
             strchr(service, ':') != NULL ? "" : ":" PORT);
    variables->set(variables->to, "GASNET_MASTER", master);
    return 0;
}

static int set_size(const variables_t *variables, uint32_t ranks)
{
    char text[16];
    const char *given = getenv("GASNET_SIZE");
    snprintf(text, sizeof text, "%u", ranks);
    if (ranks > 0 && is_set("GASNET_SIZE") && strcmp(given, text) != 0)
        snprintf(variables->why, variables->room,
                 "option -n is %s, but GASNET_SIZE is %.32s: give the number of pods once", text,
                 given);
    else if (ranks == 0 && !is_set("GASNET_SIZE"))
        snprintf(variables->why, variables->room,
                 "the number of pods is not known: set GASNET_SIZE to the replicas or completions, "
                 "or give the launcher the option -n");
    else {
        if (ranks > 0)
            variables->set(variables->to, "GASNET_SIZE", text);
        return 0;
    }
    return -1;
}

// A mounted Secret belongs to root and its group, so GASNET_KEY_FILE would refuse it in a process
// of another user. The descriptor stays open for the program.
static int set_key(const variables_t *variables)
{
    char text[16];
    if (is_set("GASNET_KEY_FILE") || is_set("GASNET_KEY_FD"))
        return 0;
    int fd = open(KEY_FILE, O_RDONLY);
    if (fd < 0) {
        snprintf(variables->why, variables->room,
                 "the key of the job cannot be read, " KEY_FILE ": %s: mount a Secret there that "
                 "has the item key, or set GASNET_KEY_FILE",
                 strerror(errno));
        return -1;
    }
    snprintf(text, sizeof text, "%d", fd);
    variables->set(variables->to, "GASNET_KEY_FD", text);
    return 0;
}

static int k8s_join(const aqueduct_spawn_job_t *job, aqueduct_spawn_set_t *set, void *to,
                    char *errbuf, size_t errbuf_size)
{
    const variables_t variables = {set, to, errbuf, errbuf_size};
    pod_t pod;
    int numbered = find_pod(&pod);
    if (set_size(&variables, job->ranks) != 0 || set_master(&variables, &pod) != 0)
        return -1;
    if (numbered && !is_set("GASNET_RANK"))
        set(to, "GASNET_RANK", pod.number);
    return set_key(&variables);
}

const aqueduct_spawn_module_t aqueduct_spawn_module = {
    .version = AQUEDUCT_SPAWN_VERSION,
    .name = "k8s",
    .usage = "the pods of a StatefulSet, an indexed Job or a JobSet of Kubernetes: "
             "GASNET_SPAWNER=k8s GASNET_SIZE=N program, in each",
    .init = k8s_init,
    .join = k8s_join,
};
