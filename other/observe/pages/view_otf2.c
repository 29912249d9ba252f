// SPDX-License-Identifier: BSD-3-Clause
// Opens the archive and lets its parts write: the events of each thread (view_otf2_events.c), then
// the definitions (view_otf2_definitions.c).
#include "view_otf2.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "../../base/log/log.h"
#include "view_otf2_write.h"

// ---- the directory ----

static bool is_empty(DIR *folder)
{
    for (const struct dirent *entry; (entry = readdir(folder));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            return false;
    return true;
}

// Checks that a folder that exists is empty.
static bool directory_check(const char *path)
{
    DIR *folder = opendir(path);
    const bool empty = folder && is_empty(folder);
    if (!folder)
        aq_log_error("%s: cannot be written: %s; name a directory that does not exist yet", path,
                     strerror(errno));
    else if (!empty)
        aq_log_error(
            "%s: the directory is not empty; remove it, or name one that does not exist yet", path);
    if (folder)
        (void)closedir(folder);
    return empty;
}

static bool directory_make(const char *path)
{
    if (mkdir(path, 0777) == 0)
        return true;
    if (errno == EEXIST)
        return directory_check(path);
    aq_log_error("%s: cannot be made: %s; name a directory in a folder that exists, to which this "
                 "user may write",
                 path, strerror(errno));
    return false;
}

// ---- the archive ----

static OTF2_FlushType flush_allow(void *data, OTF2_FileType type, OTF2_LocationRef location,
                                  void *caller, bool final)
{
    (void)data, (void)type, (void)location, (void)caller, (void) final;
    return OTF2_FLUSH;
}

// Notes an error in place of libotf2, which would print lines of its own.
static OTF2_ErrorCode error_keep(void *data, const char *file, uint64_t line, const char *function,
                                 OTF2_ErrorCode code, const char *format, va_list args)
{
    (void)file, (void)line, (void)function, (void)format, (void)args;
    aq_otf2_note(data, code);
    return code;
}

static bool archive_open(aq_otf2_t *otf2, const char *directory)
{
    static const OTF2_FlushCallbacks flush = {.otf2_pre_flush = flush_allow};
    otf2->archive = OTF2_Archive_Open(
        directory, "traces", OTF2_FILEMODE_WRITE, OTF2_CHUNK_SIZE_EVENTS_DEFAULT,
        OTF2_CHUNK_SIZE_DEFINITIONS_DEFAULT, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    if (!otf2->archive) {
        aq_otf2_note(otf2, OTF2_ERROR_INVALID);
        return false;
    }
    aq_otf2_note(otf2, OTF2_Archive_SetFlushCallbacks(otf2->archive, &flush, NULL));
    aq_otf2_note(otf2, OTF2_Archive_SetSerialCollectiveCallbacks(otf2->archive));
    aq_otf2_note(otf2, OTF2_Archive_SetCreator(otf2->archive, "gasnet_view " PACKAGE_VERSION));
    return true;
}

static bool events_write(aq_otf2_t *otf2)
{
    bool room = true;
    aq_otf2_note(otf2, OTF2_Archive_OpenEvtFiles(otf2->archive));
    for (uint32_t i = 0; i < otf2->numbers.location_count && room && !otf2->failed; i++)
        room = aq_otf2_write_events(otf2, i);
    aq_otf2_note(otf2, OTF2_Archive_CloseEvtFiles(otf2->archive));
    return room;
}

// Readers want a file of local definitions for each thread. All definitions are global here.
static void locals_write(aq_otf2_t *otf2)
{
    aq_otf2_note(otf2, OTF2_Archive_OpenDefFiles(otf2->archive));
    for (uint32_t i = 0; i < otf2->numbers.location_count && !otf2->failed; i++) {
        OTF2_DefWriter *writer = OTF2_Archive_GetDefWriter(otf2->archive, i);
        aq_otf2_note(otf2, writer ? OTF2_Archive_CloseDefWriter(otf2->archive, writer)
                                  : OTF2_ERROR_INVALID);
    }
    aq_otf2_note(otf2, OTF2_Archive_CloseDefFiles(otf2->archive));
}

// False: memory is out; other faults are noted.
static bool archive_write(aq_otf2_t *otf2, const char *directory)
{
    bool room = true;
    if (!archive_open(otf2, directory))
        return true;
    room = events_write(otf2);
    if (room && !otf2->failed)
        locals_write(otf2);
    if (room && !otf2->failed)
        room = aq_otf2_write_definitions(otf2);
    aq_otf2_note(otf2, OTF2_Archive_Close(otf2->archive));
    return room;
}

static bool result_tell(const aq_otf2_t *otf2, bool room, const char *directory)
{
    if (!room)
        aq_log_error("out of memory for the archive %s", directory);
    else if (otf2->failed)
        aq_log_error(
            "%s: cannot be written: %s; make room there, remove what is in it, and try again",
            directory, OTF2_Error_GetDescription(otf2->failed));
    else if (otf2->left_out)
        aq_log_warn("%s: %" PRIu64 " collectives are left out, since OTF2 has no such kinds",
                    directory, otf2->left_out);
    return room && !otf2->failed;
}

bool aq_view_otf2_write(const aq_view_findings_t *findings, const char *directory)
{
    aq_otf2_t otf2 = {.findings = findings, .failed = OTF2_SUCCESS};
    if (!directory_make(directory))
        return false;
    const OTF2_ErrorCallback before = OTF2_Error_RegisterCallback(error_keep, &otf2);
    const bool room =
        aq_otf2_numbers_make(&otf2.numbers, findings) && archive_write(&otf2, directory);
    (void)OTF2_Error_RegisterCallback(before, NULL);
    aq_otf2_numbers_free(&otf2.numbers);
    return result_tell(&otf2, room, directory);
}
