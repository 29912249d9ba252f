// SPDX-License-Identifier: BSD-3-Clause
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // dladdr
#endif
#include "trust.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct trusted {
    uid_t root_owner, code_owner;
    gid_t code_group;
    bool has_group; // which can write to the file of the code
} trusted_t;

// The name of a program, unlike that of a library, is what its caller says.
static bool code_stat(struct stat *st)
{
    Dl_info info;
    const bool is_known = dladdr((void *)(uintptr_t)aq_trust_file, &info) != 0 &&
                          info.dli_fname != NULL && info.dli_fname[0] == '/';
    return (is_known && stat(info.dli_fname, st) == 0) || stat("/proc/self/exe", st) == 0;
}

static trusted_t trusted_find(void)
{
    struct stat root = {0}, code = {0};
    (void)stat("/", &root);
    (void)code_stat(&code);
    return (trusted_t){root.st_uid, code.st_uid, code.st_gid, (code.st_mode & S_IWGRP) != 0};
}

static bool is_trusted_user(const trusted_t *trusted, uid_t user)
{
    return user == 0 || user == geteuid() || user == trusted->root_owner ||
           user == trusted->code_owner;
}

static bool is_trusted_group(const trusted_t *trusted, gid_t group)
{
    const bool is_private = group == getegid() && group == geteuid();
    return group == 0 || is_private || (trusted->has_group && group == trusted->code_group);
}

static bool others_can_change(const trusted_t *trusted, const char *path)
{
    struct stat st;
    if (lstat(path, &st) != 0 || !is_trusted_user(trusted, st.st_uid))
        return true;
    if (S_ISDIR(st.st_mode) && (st.st_mode & S_ISVTX) != 0)
        return false;
    return (st.st_mode & S_IWOTH) != 0 ||
           ((st.st_mode & S_IWGRP) != 0 && !is_trusted_group(trusted, st.st_gid));
}

// Cuts the path down to the lowest part that others can change. Returns whether there is one.
static bool find_loose(const trusted_t *trusted, char *path)
{
    while (path[0] != '\0') {
        if (others_can_change(trusted, path))
            return true;
        *strrchr(path, '/') = '\0';
    }
    return others_can_change(trusted, "/");
}

// Sets *real, and *loose to what others can change, or "". False: there is no such file.
static bool look(const trusted_t *trusted, const char *path, char real[PATH_MAX],
                 char loose[PATH_MAX])
{
    if (realpath(path, real) == NULL)
        return false;
    snprintf(loose, PATH_MAX, "%s", strcmp(real, "/") == 0 ? "" : real);
    if (!find_loose(trusted, loose))
        loose[0] = '\0';
    else if (loose[0] == '\0')
        snprintf(loose, PATH_MAX, "/");
    return true;
}

// A symbolic link is as good as the folder that it is in.
static bool look_at_folder(const trusted_t *trusted, const char *path, char real[PATH_MAX],
                           char loose[PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%.*s", slash == NULL ? 1 : (int)(slash - path + 1),
             slash == NULL ? "." : path);
    return look(trusted, folder, real, loose);
}

bool aq_trust_file(const char *path, char real[PATH_MAX], char *why, size_t room)
{
    const trusted_t trusted = trusted_find();
    char loose[PATH_MAX] = "";
    if (!look_at_folder(&trusted, path, real, loose) ||
        (loose[0] == '\0' && !look(&trusted, path, real, loose)))
        snprintf(why, room, "%s cannot be read: %s", path, strerror(errno));
    else if (loose[0] != '\0')
        snprintf(why, room,
                 "%s is not loaded, because other users can change %s: give that to %s, and chmod "
                 "go-w it",
                 path, loose, geteuid() == 0 ? "root" : "root or to this user");
    else
        return true;
    return false;
}
