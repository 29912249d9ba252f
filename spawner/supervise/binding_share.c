// SPDX-License-Identifier: BSD-3-Clause
// Which processors each rank gets: pure functions; and sets of processors as text.
#include <stdio.h>
#include <stdlib.h>

#include "binding.h"

// The first rank on a core, if there are no fewer ranks than cores.
static uint32_t first_rank(const aq_cores_t *cores, uint32_t ranks, uint32_t core)
{
    return (uint32_t)(((uint64_t)core * ranks + cores->count - 1) / cores->count);
}

bool aq_cores_suffice(const aq_cores_t *cores, uint32_t ranks)
{
    if (ranks <= cores->count)
        return true;
    for (uint32_t core = 0; core < cores->count; core++)
        if (first_rank(cores, ranks, core + 1) - first_rank(cores, ranks, core) >
            (uint32_t)CPU_COUNT(&cores->core[core]))
            return false;
    return cores->count > 0;
}

// Part number `part` of `parts` of the hardware threads of a core.
static void core_divide(const cpu_set_t *core, uint32_t parts, uint32_t part, cpu_set_t *out)
{
    const uint32_t all = (uint32_t)CPU_COUNT(core);
    const uint32_t low = part * all / parts, high = (part + 1) * all / parts;
    uint32_t seen = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, core))
            continue;
        if (seen >= low && seen < high)
            CPU_SET(cpu, out);
        seen++;
    }
}

void aq_cores_share(const aq_cores_t *cores, uint32_t ranks, uint32_t rank, cpu_set_t *out)
{
    CPU_ZERO(out);
    if (ranks <= cores->count) {
        const uint32_t each = cores->count / ranks;
        for (uint32_t i = 0; i < each; i++)
            CPU_OR(out, out, &cores->core[rank * each + i]);
        return;
    }
    const uint32_t core = (uint32_t)((uint64_t)rank * cores->count / ranks);
    const uint32_t first = first_rank(cores, ranks, core);
    core_divide(&cores->core[core], first_rank(cores, ranks, core + 1) - first, rank - first, out);
}

void aq_cpus_print(const cpu_set_t *cpus, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int cpu = 0; cpu < CPU_SETSIZE && used + 16 < size; cpu++) {
        if (!CPU_ISSET(cpu, cpus))
            continue;
        const int first = cpu;
        while (cpu + 1 < CPU_SETSIZE && CPU_ISSET(cpu + 1, cpus))
            cpu++;
        const char *comma = used > 0 ? "," : "";
        used +=
            (size_t)(cpu > first ? snprintf(text + used, size - used, "%s%d-%d", comma, first, cpu)
                                 : snprintf(text + used, size - used, "%s%d", comma, cpu));
    }
}

// Reads a number of a processor; -1: there is none.
static long take_cpu(const char **text)
{
    char *end;
    if (**text < '0' || **text > '9')
        return -1;
    const long cpu = strtol(*text, &end, 10);
    *text = end;
    return cpu < CPU_SETSIZE ? cpu : -1;
}

bool aq_cpus_parse(const char *text, cpu_set_t *out)
{
    CPU_ZERO(out);
    for (;; text++) {
        const long first = take_cpu(&text);
        long last = first;
        if (*text == '-') {
            text++;
            last = take_cpu(&text);
        }
        if (first < 0 || last < first)
            return false;
        for (long cpu = first; cpu <= last; cpu++)
            CPU_SET((size_t)cpu, out);
        if (*text != ',')
            return *text == '\n' || *text == '\0';
    }
}
