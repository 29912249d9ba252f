// SPDX-License-Identifier: BSD-3-Clause
// Boot module slurm: in an allocation of Slurm, one srun starts the helper of each node, without
// ssh and PMI. The nodes are those of the allocation, or those of it that the user names.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aqueduct_spawn.h"

#define PRIORITY 30

// Whether a folder of PATH has srun.
static int has_srun(void)
{
    const char *path = getenv("PATH");
    char file[4096];
    for (size_t length; path != NULL && *path != '\0'; path += length + (path[length] == ':')) {
        length = strcspn(path, ":");
        snprintf(file, sizeof file, "%.*s/srun", (int)length, path);
        if (access(file, X_OK) == 0)
            return 1;
    }
    return 0;
}

// A conduit of one host starts its ranks here unless the user asks for something else, as with ssh.
static int slurm_init(const aqueduct_spawn_job_t *job, int *priority, char *errbuf,
                      size_t errbuf_size)
{
    *priority = job->one_host ? 0 : PRIORITY;
    if (getenv("SLURM_JOB_ID") == NULL)
        snprintf(errbuf, errbuf_size,
                 "this is no allocation of Slurm (SLURM_JOB_ID is not set): run it under sbatch or "
                 "salloc");
    else if (!has_srun())
        snprintf(errbuf, errbuf_size, "srun is not in PATH: install Slurm's client on this node");
    else
        return 0;
    return -1;
}

static void slurm_describe(const aqueduct_spawn_job_t *job)
{
    printf("gasnetrun: srun starts %u helpers in job %s\n", job->host_count,
           getenv("SLURM_JOB_ID"));
}

// Returns the option that names the nodes, allocated; NULL: no memory.
static char *list_nodes(const aqueduct_spawn_job_t *job)
{
    size_t size = sizeof "--nodelist=", used = size - 1;
    for (uint32_t h = 0; h < job->host_count; h++)
        size += strlen(job->hosts[h].name) + 1;
    char *text = malloc(size);
    if (text == NULL)
        return NULL;
    strcpy(text, "--nodelist=");
    for (uint32_t h = 0; h < job->host_count; h++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", h > 0 ? "," : "",
                                 job->hosts[h].name);
    return text;
}

// --overlap: the processors of the allocation may be those of the step in which the launcher runs.
static int slurm_start(const aqueduct_spawn_job_t *job, char *const argv[], char *errbuf,
                       size_t errbuf_size)
{
    char nodes[32], tasks[32], *list = list_nodes(job);
    snprintf(nodes, sizeof nodes, "--nodes=%u", job->host_count);
    snprintf(tasks, sizeof tasks, "--ntasks=%u", job->host_count);
    char *words[16] = {(char *)"srun",
                       nodes,
                       tasks,
                       (char *)"--ntasks-per-node=1",
                       list,
                       (char *)"--overlap",
                       (char *)"--mpi=none",
                       (char *)"--export=ALL",
                       (char *)"--input=none",
                       argv[0],
                       argv[1],
                       NULL};
    if (list == NULL) {
        snprintf(errbuf, errbuf_size, "no memory for the names of %u nodes", job->host_count);
        return -1;
    }
    int result = job->run(job, words, errbuf, errbuf_size);
    free(list);
    return result;
}

const aqueduct_spawn_module_t aqueduct_spawn_module = {
    .version = AQUEDUCT_SPAWN_VERSION,
    .name = "slurm",
    .usage = "ranks on the nodes of an allocation of Slurm, by one srun without PMI: salloc -N 4 "
             "gasnetrun_udp -n N program",
    .init = slurm_init,
    .describe = slurm_describe,
    .start = slurm_start,
    .host_variable = "SLURMD_NODENAME",
};
