/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A loss of power at each system call of a save. The calls of the save are recorded. Then, for the moment
 * after each call, every state is checked that a loss of power may leave: each change of a name may be
 * missing if its directory was not synced, and any bytes that were not synced may be missing. In every state
 * the name must be that of the old or the new file, byte for byte. After the end of the save it must be that
 * of the new one.
 *
 * The model is tested too: if a call that matters is left out, it must find a state with neither file.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/system.h"
#include "support/fault.h"
#include "support/scratch.h"
#include "support/stored.h"

/* ---- recording ---- */

typedef enum event_kind { NAMED, REMOVED, WRITTEN, SYNCED, DIRECTORY_SYNCED } event_kind;

typedef struct event {
    event_kind kind;
    int file;                  /* number of the file; NAMED: of the file that gets the name */
    char name[300], gone[300]; /* the name; NAMED by rename: the old name */
    size_t offset, size;       /* WRITTEN: offset and size in `bytes` of the file */
} event;

enum { EVENTS = 200, FILES = 50, DESCRIPTORS = 1024, DIRECTORY = -2 };

static struct tamis__system real;
static event events[EVENTS];
static int event_count;
static struct { test_bytes bytes; /* all bytes written, in order: a save does not seek */ } files[FILES];
static int file_count;
static int file_of[DESCRIPTORS]; /* number of the file; 0: not recorded */

/* Names in the directory. The old file has number 1. */
static struct {
    char name[300];
    int file;
} names[FILES];
static int name_count;

/* Syncs that a mutant of the code leaves out. */
static enum { NOTHING, FILE_SYNC, DIRECTORY_SYNC } left_out;

static int *named(const char *name) {
    for (int i = 0; i < name_count; i++)
        if (strcmp(names[i].name, name) == 0)
            return &names[i].file;
    snprintf(names[name_count].name, sizeof names->name, "%s", name);
    names[name_count].file = 0;
    return &names[name_count++].file;
}

static event *record(event_kind kind, int file, const char *name) {
    if (event_count == EVENTS)
        abort();
    event *e = &events[event_count++];
    *e = (event){.kind = kind, .file = file};
    snprintf(e->name, sizeof e->name, "%s", name);
    return e;
}

static int recording_open(const char *path, int flags, mode_t mode) {
    int fd = real.open(path, flags, mode);
    if (fd < 0)
        return fd;
    int *file = named(path);
    if (flags & O_DIRECTORY) {
        file_of[fd] = DIRECTORY;
        return fd;
    }
    if (*file == 0 && flags & O_CREAT) {
        *file = ++file_count;
        record(NAMED, *file, path);
    }
    file_of[fd] = *file;
    return fd;
}

static int recording_close(int fd) {
    file_of[fd] = 0;
    return real.close(fd);
}

static ssize_t recording_write(int fd, const void *buffer, size_t size) {
    ssize_t wrote = real.write(fd, buffer, size);
    if (wrote <= 0)
        return wrote;
    event *e = record(WRITTEN, file_of[fd], "");
    e->offset = files[e->file].bytes.size;
    e->size = (size_t)wrote;
    bytes_add(&files[e->file].bytes, buffer, (size_t)wrote);
    return wrote;
}

static int recording_sync(int fd) {
    int result = real.sync(fd);
    if (result == 0 && file_of[fd] == DIRECTORY && left_out != DIRECTORY_SYNC)
        record(DIRECTORY_SYNCED, 0, "");
    if (result == 0 && file_of[fd] > 0 && left_out != FILE_SYNC)
        record(SYNCED, file_of[fd], "");
    return result;
}

static int record_rename(int result, const char *from, const char *to) {
    if (result < 0)
        return result;
    event *e = record(NAMED, *named(from), to);
    snprintf(e->gone, sizeof e->gone, "%s", from);
    *named(to) = e->file;
    *named(from) = 0;
    return result;
}

static int recording_rename(const char *from, const char *to) {
    return record_rename(real.rename(from, to), from, to);
}

static int recording_rename_new(const char *from, const char *to) {
    return record_rename(real.rename_new(from, to), from, to);
}

static int recording_unlink(const char *path) {
    int result = real.unlink(path);
    if (result == 0) {
        record(REMOVED, 0, path);
        *named(path) = 0;
    }
    return result;
}

/* ---- states after a loss of power ---- */

static test_bytes old_bytes, new_bytes;

/* True if `file` has the content `expected` after `moments` events, whatever was lost. */
static bool surely(int file, int moments, const test_bytes *expected) {
    int synced = 0;
    for (int i = 0; i < moments; i++)
        if (events[i].kind == SYNCED && events[i].file == file)
            synced = i;
    test_bytes got = {0};
    bool sure = true;
    /* A write after the last sync may be missing, and then the content differs. */
    for (int i = 0; i < moments; i++) {
        if (events[i].kind != WRITTEN || events[i].file != file)
            continue;
        sure = sure && i < synced;
        bytes_add(&got, files[file].bytes.data + events[i].offset, events[i].size);
    }
    sure = sure && bytes_equal(&got, expected);
    bytes_clear(&got);
    return sure;
}

/* Returns the file that has the name if, of the unsynced changes of names, exactly those in `set` were
 * kept. */
static int stands_for(const char *name, int moments, int synced, unsigned set, int at_first) {
    int file = at_first;
    for (int i = 0, bit = 0; i < moments; i++) {
        const event *e = &events[i];
        if (e->kind != NAMED && e->kind != REMOVED)
            continue;
        bool kept = i < synced || set >> bit & 1;
        bit += i >= synced;
        if (!kept)
            continue;
        if (strcmp(e->name, name) == 0)
            file = e->kind == NAMED ? e->file : 0;
        else if (e->kind == NAMED && strcmp(e->gone, name) == 0)
            file = 0;
    }
    return file;
}

typedef struct verdict {
    unsigned states, old, absent, neither;
} verdict;

/* Checks every state after `moments` events. */
static verdict crash_at(int moments, int at_first) {
    verdict v = {0};
    int synced = 0;
    unsigned loose = 0;
    for (int i = 0; i < moments; i++)
        if (events[i].kind == DIRECTORY_SYNCED)
            synced = i;
    for (int i = synced; i < moments; i++)
        loose += events[i].kind == NAMED || events[i].kind == REMOVED;
    for (unsigned set = 0; set < 1u << loose; set++) {
        int file = stands_for(scratch("f"), moments, synced, set, at_first);
        v.states++;
        if (file == at_first)
            v.old++;
        else if (file > 0 && surely(file, moments, &new_bytes))
            v.absent++;
        else
            v.neither++;
    }
    return v;
}

/* ---- saves ---- */

static tamis_filter *filter_of(uint64_t from) {
    tamis_error err = TAMIS_ERROR_INIT;
    /* larger than the buffer of a save, which makes several writes then */
    tamis_filter *filter = stored_make(TAMIS_KIND_BLOCKED, from, 200000);
    tamis_metadata metadata = TAMIS_METADATA_INIT;
    metadata.created = 1;
    assert_int_equal(tamis_filter_metadata_set(filter, &metadata, &err), TAMIS_OK);
    return filter;
}

static void forget(void) {
    for (int i = 0; i < FILES; i++)
        bytes_clear(&files[i].bytes);
    event_count = name_count = file_count = 0;
    memset(file_of, 0, sizeof file_of);
}

/* Records a save: over the old file, without one, or one that must create the file (only_new). */
static void record_save(bool over, bool only_new) {
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_filter *filter = filter_of(1000000);
    forget();
    unlink(scratch("f"));
    if (over) {
        file_write(scratch("f"), old_bytes.data, old_bytes.size);
        *named(scratch("f")) = ++file_count;
    }
    real = tamis__sys;
    tamis__sys.open = recording_open;
    tamis__sys.close = recording_close;
    tamis__sys.write = recording_write;
    tamis__sys.sync = recording_sync;
    tamis__sys.rename = recording_rename;
    tamis__sys.rename_new = recording_rename_new;
    tamis__sys.unlink = recording_unlink;
    tamis_status status = only_new ? tamis_filter_save_new(filter, scratch("f"), TAMIS_FORMAT_TAMIS, &err)
                                   : tamis_filter_save(filter, scratch("f"), &err);
    tamis__sys = real;
    assert_int_equal(status, TAMIS_OK);
    tamis_filter_free(filter);
}

static unsigned count_neither(bool over) {
    unsigned neither = 0;
    for (int moments = 0; moments <= event_count; moments++)
        neither += crash_at(moments, over).neither;
    return neither;
}

static int set_up(void **state) {
    (void)state;
    scratch_make();
    left_out = NOTHING;
    for (int i = 0; i < 2; i++) {
        tamis_filter *filter = filter_of(i ? 1000000 : 0);
        assert_int_equal(tamis_filter_save(filter, scratch("f"), NULL), TAMIS_OK);
        file_read(scratch("f"), i ? &new_bytes : &old_bytes);
        tamis_filter_free(filter);
    }
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    forget();
    bytes_clear(&old_bytes);
    bytes_clear(&new_bytes);
    scratch_remove();
    return 0;
}

static void old_or_new(void **state) {
    (void)state;
    for (int way = 0; way < 3; way++) {
        verdict total = {0};
        bool over = way == 0;
        record_save(over, way == 2);
        for (int moments = 0; moments <= event_count; moments++) {
            verdict v = crash_at(moments, over);
            if (v.neither)
                fail_msg("after %d of %d events %u of %u states are neither", moments, event_count, v.neither,
                         v.states);
            total.states += v.states;
            total.old += v.old;
            total.absent += v.absent;
        }
        printf("%d events, %u states: %u old, %u new\n", event_count, total.states, total.old, total.absent);
        assert_true(total.old > 0 && total.absent > 0);
        /* after the save has returned, nothing may be lost */
        verdict last = crash_at(event_count, over);
        assert_int_equal(last.absent, last.states);
    }
}

static void a_file_that_is_not_synced_is_found(void **state) {
    (void)state;
    left_out = FILE_SYNC;
    record_save(true, false);
    assert_true(count_neither(true) > 0);
}

static void a_directory_that_is_not_synced_is_found(void **state) {
    (void)state;
    left_out = DIRECTORY_SYNC;
    record_save(true, false);
    assert_int_equal(count_neither(true), 0);
    assert_true(crash_at(event_count, true).old > 0);
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(old_or_new),
        CASE(a_file_that_is_not_synced_is_found),
        CASE(a_directory_that_is_not_synced_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
