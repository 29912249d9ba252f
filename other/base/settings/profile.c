// SPDX-License-Identifier: BSD-3-Clause
// The list of profiles: those that configure put into the library, and those that modules add when
// core/job/registry.c loads them.
#include "profile.h"

#include <string.h>

enum { PROFILES_MAX = 16 };

#define DECLARED(conduit) extern const aq_conduit_profile_t aq_##conduit##_profile;
#define ADDRESS(conduit) &aq_##conduit##_profile,
AQ_EACH_PROFILE(DECLARED)
static const aq_conduit_profile_t *profiles[PROFILES_MAX] = {AQ_EACH_PROFILE(ADDRESS)};

static const aq_conduit_profile_t unknown_profile = {.name = "", .spawners = AQ_SPAWNERS};

size_t aq_profile_count(void)
{
    size_t count = 0;
    while (count < PROFILES_MAX && profiles[count] != NULL)
        count++;
    return count;
}

const aq_conduit_profile_t *aq_profile_at(size_t index)
{
    return profiles[index];
}

// The index of the profile of that name; the number of profiles if there is none.
static size_t profile_index(const char *name)
{
    size_t i = 0, count = aq_profile_count();
    while (i < count && (name == NULL || strcmp(profiles[i]->name, name) != 0))
        i++;
    return i;
}

const aq_conduit_profile_t *aq_profile_find(const char *name)
{
    const size_t i = profile_index(name);
    return i < aq_profile_count() ? profiles[i] : &unknown_profile;
}

aq_status_t aq_profile_add(const aq_conduit_profile_t *profile, char *err, size_t err_size)
{
    const size_t i = profile_index(profile->name);
    if (i == PROFILES_MAX) {
        snprintf(err, err_size, "there are more than %d conduits", PROFILES_MAX);
        return AQ_ERR_RESOURCE;
    }
    aq_status_t status = aq_settings_add(profile->settings, err, err_size);
    if (status == AQ_OK)
        profiles[i] = profile;
    return status;
}
