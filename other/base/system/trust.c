// SPDX-License-Identifier: BSD-3-Clause
// Follows the path of a module to the root and compares owner and mode of each folder with those
// who are trusted. modules.c asks before each dlopen.
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
    char code[PATH_MAX]; // the file that this code is in, without links; "": not known
    uid_t root_owner, code_owner;
    gid_t code_group;
    bool has_group; // which can write to that file
} trusted_t;

// Finds the file of this code. dladdr reports a program by argv[0], which its caller chose; if that
// is no path, /proc names the program.
static void code_find(char path[PATH_MAX])
{
    Dl_info info;
    const bool is_known = dladdr((void *)(uintptr_t)aq_trust_file, &info) != 0 &&
                          info.dli_fname != NULL && info.dli_fname[0] == '/';
    if ((!is_known || realpath(info.dli_fname, path) == NULL) &&
        realpath("/proc/self/exe", path) == NULL)
        path[0] = '\0';
}

static void trusted_find(trusted_t *trusted)
{
    struct stat root = {0}, code = {0};
    code_find(trusted->code);
    (void)stat("/", &root);
    (void)stat(trusted->code, &code);
    trusted->root_owner = root.st_uid;
    trusted->code_owner = code.st_uid;
    trusted->code_group = code.st_gid;
    trusted->has_group = (code.st_mode & S_IWGRP) != 0;
}

// Folders above this code need no check: users who can change them can change the code that runs
// here.
static bool is_above_code(const trusted_t *trusted, const char *path)
{
    const size_t length = strlen(path);
    return strncmp(trusted->code, path, length) == 0 && trusted->code[length] == '/';
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
    if (is_above_code(trusted, path))
        return false;
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

// Whether it is a regular file; dlopen would block on a pipe.
static bool is_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

bool aq_trust_file(const char *path, char real[PATH_MAX], char *errbuf, size_t errbuf_size)
{
    trusted_t trusted;
    char loose[PATH_MAX] = "";
    trusted_find(&trusted);
    if (!look_at_folder(&trusted, path, real, loose) ||
        (loose[0] == '\0' && !look(&trusted, path, real, loose)))
        snprintf(errbuf, errbuf_size, "%s cannot be read: %s", path, strerror(errno));
    else if (loose[0] != '\0')
        snprintf(errbuf, errbuf_size,
                 "%s is not loaded, because other users can change %s: give that to %s, and chmod "
                 "go-w it",
                 path, loose, geteuid() == 0 ? "root" : "root or to this user");
    else if (!is_file(real))
        snprintf(errbuf, errbuf_size, "%s is no file: replace or remove it", path);
    else
        return true;
    return false;
}
