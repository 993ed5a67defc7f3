/* SPDX-License-Identifier: BSD-2-Clause */
#include "power.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/system.h"
#include "support/scratch.h"

typedef enum event_kind {
    MADE,
    RENAMED,
    REMOVED,
    WRITTEN,
    SYNCED,
    SYNC_FAILED,
    FOLDER_SYNCED,
    MARKED
} event_kind;

typedef struct event {
    event_kind kind;
    int file;                /* number of the file; MARKED: the mark */
    char name[80], from[80]; /* MADE, RENAMED, REMOVED: the name; RENAMED: the old name */
    size_t at, size;         /* WRITTEN: offset and size in the bytes of the file */
    uint64_t sure_after;     /* event whose sync covers this one; UINT64_MAX: none */
} event;

enum { EVENTS = 4000, FILES = 400, DESCRIPTORS = 1024, NAMES = 64, FOLDER = -2, ITEMS = 60 };

static struct tamis__system real;
static bool recording;
static char folder[300];
static size_t folder_size;
static power_left_out left_out;
static event events[EVENTS];
static size_t event_count, first_event; /* events before first_event made the files of power_begin */
static test_bytes files[FILES];         /* numbered from 1; all bytes written, in order */
static int file_count;
static int file_of[DESCRIPTORS];
static struct {
    char name[80];
    int file;
} names[NAMES];
static int name_count;
static uint64_t fail_at, syncs;
static bool failed, fails_onwards, failing;

/* ---- recording ---- */

static void give_up(const char *what) {
    fprintf(stderr, "power: %s\n", what);
    abort();
}

/* Returns the name of a path in the directory, or NULL. */
static const char *inside(const char *path) {
    if (strncmp(path, folder, folder_size) != 0 || path[folder_size] != '/')
        return NULL;
    return path + folder_size + 1;
}

static int *named(const char *name) {
    for (int i = 0; i < name_count; i++)
        if (strcmp(names[i].name, name) == 0)
            return &names[i].file;
    if (name_count == NAMES)
        give_up("too many names");
    snprintf(names[name_count].name, sizeof names->name, "%s", name);
    names[name_count].file = 0;
    return &names[name_count++].file;
}

static event *record(event_kind kind, int file, const char *name) {
    if (event_count == EVENTS)
        give_up("too many events");
    event *e = &events[event_count++];
    *e = (event){.kind = kind, .file = file, .sure_after = UINT64_MAX};
    snprintf(e->name, sizeof e->name, "%s", name);
    return e;
}

/* Lock files are created and removed without a sync, and mean nothing after a loss of power. */
static bool is_of_no_matter(const char *name) {
    return strcmp(name, "lock") == 0 || strstr(name, ".tamis-lock") != NULL;
}

static int refuse(void) {
    errno = EIO;
    return -1;
}

static int power_open(const char *path, int flags, mode_t mode) {
    if (failing && flags & O_CREAT)
        return refuse();
    const char *name = inside(path);
    const bool is_new = name && flags & O_CREAT && access(path, F_OK) < 0;
    int fd = real.open(path, flags, mode);
    if (fd < 0)
        return fd;
    if (fd >= DESCRIPTORS)
        give_up("too many descriptors");
    file_of[fd] = 0;
    if (strncmp(path, folder, folder_size) == 0 &&
        (path[folder_size] == '\0' || strcmp(path + folder_size, "/") == 0))
        file_of[fd] = FOLDER;
    if (!name || *name == '\0' || is_of_no_matter(name))
        return fd;
    if (is_new) {
        if (++file_count == FILES)
            give_up("too many files");
        *named(name) = file_count;
        record(MADE, file_count, name);
    }
    file_of[fd] = *named(name);
    return fd;
}

static int power_close(int fd) {
    file_of[fd] = 0;
    return real.close(fd);
}

static ssize_t power_write(int fd, const void *buffer, size_t size) {
    if (failing)
        return refuse();
    ssize_t wrote = real.write(fd, buffer, size);
    if (wrote <= 0 || file_of[fd] <= 0)
        return wrote;
    event *e = record(WRITTEN, file_of[fd], "");
    e->at = files[e->file].size;
    e->size = (size_t)wrote;
    bytes_add(&files[e->file], buffer, (size_t)wrote);
    return wrote;
}

static bool ends_in_commit(int file) {
    for (size_t i = event_count; i-- > 0;)
        if (events[i].kind == WRITTEN && events[i].file == file)
            return events[i].size < 4 || memcmp(files[file].data + events[i].at, "KEYS", 4) != 0;
    return true;
}

static bool is_left_out(int file) {
    return (left_out == POWER_FILE_SYNCS && file > 0) || (left_out == POWER_FOLDER_SYNCS && file == FOLDER) ||
           (left_out == POWER_BODY_SYNCS && file > 0 && !ends_in_commit(file));
}

static int power_sync(int fd) {
    const int file = file_of[fd];
    if (++syncs == fail_at) {
        failed = true;
        failing = fails_onwards;
        if (file > 0)
            record(SYNC_FAILED, file, "");
        return refuse();
    }
    if (failing)
        return refuse();
    if (file == 0 || is_left_out(file))
        return 0;
    record(file == FOLDER ? FOLDER_SYNCED : SYNCED, file, "");
    return 0;
}

static int power_rename(const char *from, const char *to) {
    if (failing)
        return refuse();
    int result = real.rename(from, to);
    if (result < 0 || !inside(to))
        return result;
    event *e = record(RENAMED, *named(inside(from)), inside(to));
    snprintf(e->from, sizeof e->from, "%s", inside(from));
    *named(inside(from)) = 0;
    *named(inside(to)) = e->file;
    return result;
}

static int power_unlink(const char *path) {
    if (failing)
        return refuse();
    int result = real.unlink(path);
    const char *name = inside(path);
    if (result == 0 && name && !is_of_no_matter(name)) {
        record(REMOVED, *named(name), name);
        *named(name) = 0;
    }
    return result;
}

static int power_reserve(int fd, off_t size) {
    (void)fd;
    (void)size;
    errno = EOPNOTSUPP;
    return -1;
}

void power_go_on(void) {
    if (recording)
        return;
    real = tamis__sys;
    tamis__sys.open = power_open;
    tamis__sys.close = power_close;
    tamis__sys.write = power_write;
    tamis__sys.sync = power_sync;
    tamis__sys.rename = power_rename;
    tamis__sys.unlink = power_unlink;
    tamis__sys.reserve = power_reserve;
    recording = true;
}

void power_pause(void) {
    if (recording)
        tamis__sys = real;
    recording = false;
}

static bool take_there(void *context, const char *name) {
    (void)context;
    char path[sizeof folder + sizeof names->name + 1];
    snprintf(path, sizeof path, "%s/%.79s", folder, name);
    if (is_of_no_matter(name))
        return true;
    if (++file_count == FILES)
        give_up("too many files");
    *named(name) = file_count;
    record(MADE, file_count, name);
    file_read(path, &files[file_count]);
    record(WRITTEN, file_count, "")->size = files[file_count].size;
    record(SYNCED, file_count, "");
    return true;
}

void power_begin(const char *path, power_left_out leave) {
    power_end();
    folder_size = strlen(path);
    while (folder_size > 0 && path[folder_size - 1] == '/')
        folder_size--;
    snprintf(folder, sizeof folder, "%.*s", (int)folder_size, path);
    left_out = leave;
    if (tamis__sys.list(folder, take_there, NULL) < 0)
        give_up("the folder cannot be read");
    record(FOLDER_SYNCED, FOLDER, "");
    first_event = event_count;
    power_go_on();
}

void power_end(void) {
    power_pause();
    for (int i = 0; i < FILES; i++)
        bytes_clear(&files[i]);
    event_count = 0;
    file_count = name_count = 0;
    fail_at = syncs = 0;
    failed = failing = false;
    memset(file_of, 0, sizeof file_of);
}

void power_fail_at_sync(uint64_t n, bool onwards) {
    fail_at = n;
    syncs = 0;
    fails_onwards = onwards;
    failed = failing = false;
}

bool power_failed(void) {
    return failed;
}

void power_heal(void) {
    failing = false;
    fail_at = 0;
}

void power_mark(int mark) {
    if (recording)
        record(MARKED, mark, "");
}

/* ---- what a crash may leave ---- */

/* Finds for each event the sync that covers it. */
static void find_sure(void) {
    bool dropped[EVENTS] = {false};
    for (size_t i = 0; i < event_count; i++) {
        const event *by = &events[i];
        for (size_t j = 0; j < i; j++) {
            event *e = &events[j];
            const bool is_name = e->kind == MADE || e->kind == RENAMED || e->kind == REMOVED;
            const bool of_file = e->kind == WRITTEN && e->file == by->file;
            if (e->sure_after != UINT64_MAX || dropped[j])
                continue;
            if ((by->kind == FOLDER_SYNCED && is_name) || (by->kind == SYNCED && of_file))
                e->sure_after = i;
            if (by->kind == SYNC_FAILED && of_file)
                dropped[j] = true;
        }
    }
}

typedef enum missing_way { CUT, ZEROS, HALF, STALE, WAYS } missing_way;

/* One state of the disk. */
typedef struct loss {
    size_t moments;
    size_t items[ITEMS]; /* events that no sync covers */
    size_t item_count;
    uint64_t missing; /* one bit for each item */
    missing_way way;
} loss;

static loss now;

static bool is_missing(size_t event_number) {
    for (size_t i = 0; i < now.item_count; i++)
        if (now.items[i] == event_number)
            return now.missing >> i & 1;
    return false;
}

static const char *first_name(int file) {
    for (size_t i = 0; i < event_count; i++)
        if (events[i].kind == MADE && events[i].file == file)
            return events[i].name;
    return "";
}

/* Returns an older file of the same type (the first 4 characters of the name), whose bytes may be at the
 * same place of the disk; or NULL. */
static const test_bytes *older(int file) {
    const char *name = first_name(file);
    for (int i = file; i-- > 1;)
        if (files[i].size > 0 && strncmp(first_name(i), name, 4) == 0)
            return &files[i];
    return NULL;
}

static void put_missing(test_bytes *bytes, const event *e, const test_bytes *old) {
    const size_t end = e->at + e->size;
    for (size_t i = e->at; i < end; i++) {
        unsigned char byte = 0;
        if (now.way == HALF && i < e->at + e->size / 2)
            byte = files[e->file].data[i];
        if (now.way == STALE && old && i < old->size)
            byte = old->data[i];
        bytes->data[i] = byte;
    }
    if (now.way == ZEROS || now.way == STALE)
        bytes->size = end > bytes->size ? end : bytes->size;
    if (now.way == HALF && e->at + e->size / 2 > bytes->size)
        bytes->size = e->at + e->size / 2;
}

static void content(int file, test_bytes *bytes) {
    static const unsigned char zero[4096];
    bytes_clear(bytes);
    while (bytes->size < files[file].size)
        bytes_add(bytes, zero,
                  files[file].size - bytes->size < sizeof zero ? files[file].size - bytes->size
                                                               : sizeof zero);
    bytes->size = 0;
    for (size_t i = 0; i < now.moments; i++) {
        const event *e = &events[i];
        if (e->kind != WRITTEN || e->file != file)
            continue;
        if (is_missing(i)) {
            put_missing(bytes, e, older(file));
            continue;
        }
        memcpy(bytes->data + e->at, files[file].data + e->at, e->size);
        bytes->size = e->at + e->size > bytes->size ? e->at + e->size : bytes->size;
    }
}

/* Applies the changes of names that are not missing. */
static void settle_names(void) {
    name_count = 0;
    for (size_t i = 0; i < now.moments; i++) {
        const event *e = &events[i];
        if (is_missing(i))
            continue;
        if (e->kind == RENAMED)
            *named(e->from) = 0;
        if (e->kind == MADE || e->kind == RENAMED)
            *named(e->name) = e->file;
        /* if the name is that of another file by now, this removal came before it */
        if (e->kind == REMOVED && *named(e->name) == e->file)
            *named(e->name) = 0;
    }
}

static void build(void) {
    test_bytes bytes = {0};
    scratch_clear();
    settle_names();
    for (int i = 0; i < name_count; i++) {
        char path[sizeof folder + sizeof names->name + 1];
        if (!names[i].file)
            continue;
        content(names[i].file, &bytes);
        snprintf(path, sizeof path, "%s/%.79s", folder, names[i].name);
        file_write(path, bytes.size ? (const void *)bytes.data : "", bytes.size);
    }
    bytes_clear(&bytes);
}

static void find_items(size_t moments) {
    now = (loss){.moments = moments};
    for (size_t i = 0; i < moments; i++) {
        const event *e = &events[i];
        const bool counts = e->kind == MADE || e->kind == RENAMED || e->kind == REMOVED || e->kind == WRITTEN;
        if (!counts || e->sure_after < moments)
            continue;
        if (now.item_count == ITEMS)
            give_up("too many items");
        now.items[now.item_count++] = i;
    }
}

static bool loses_bytes(void) {
    for (size_t i = 0; i < now.item_count; i++)
        if (now.missing >> i & 1 && events[now.items[i]].kind == WRITTEN)
            return true;
    return false;
}

/* Advances to the next set of missing items, of at most `most` items or all of them. False after the last
 * set. */
static bool next_set(unsigned most) {
    const uint64_t all = (UINT64_C(1) << now.item_count) - 1;
    while (now.missing != all) {
        now.missing++;
        if ((unsigned)__builtin_popcountll(now.missing) <= most)
            return true;
        /* too many: skip the sets that contain these items too, up to the carry of the lowest one */
        now.missing |= (now.missing & -now.missing) - 1;
        if (now.missing == all)
            return true;
    }
    return false;
}

uint64_t power_each(unsigned most, bool (*check)(void *context, int mark), void *context, size_t *moments) {
    uint64_t states = 0;
    int mark = 0;
    power_pause();
    find_sure();
    *moments = event_count;
    for (size_t i = first_event; i <= event_count; i++) {
        if (i > first_event && events[i - 1].kind == MARKED)
            mark = events[i - 1].file;
        if (i < event_count && (events[i].kind == MARKED || events[i].kind == SYNC_FAILED))
            continue; /* nothing changes on the disk */
        find_items(i);
        do {
            const int ways = loses_bytes() ? WAYS : 1;
            for (int way = 0; way < ways; way++) {
                now.way = (missing_way)way;
                build();
                states++;
                if (!check(context, mark))
                    return states;
            }
        } while (next_set(most));
    }
    return states;
}

const char *power_describe(void) {
    static char text[2000];
    static const char *const kinds[] = {"make", "rename",      "remove",      "write",
                                        "sync", "failed sync", "folder sync", "mark"};
    static const char *const ways[] = {"cut", "zeros", "half", "stale"};
    int size = snprintf(text, sizeof text, "after %zu of %zu events, missing (%s):", now.moments, event_count,
                        ways[now.way]);
    for (size_t i = 0; i < now.item_count && size < 1800; i++) {
        const event *e = &events[now.items[i]];
        if (now.missing >> i & 1)
            size += snprintf(text + size, sizeof text - (size_t)size, " %s %s file %d at %zu+%zu;",
                             kinds[e->kind], e->name, e->file, e->at, e->size);
    }
    return text;
}
