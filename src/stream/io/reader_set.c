/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The readers of a run. Inputs that are not followed have an end, so one reader reads them one after the
 * other. Followed inputs have none, so each gets a reader of its own, and the readers take turns:
 *
 *     a.log  |=======|          |==|           A turn lasts up to the end that the file has when the turn
 *     b.log          |=|                       begins. A busy file cannot keep the others waiting, and a
 *     c.log            |========|              backlog is read in one go.
 *            -----------------------> time
 *
 * A pipe among the inputs is read to its end before the inputs behind it: its size is not known.
 *
 * Readers may be merged by time instead (setup.time_of): reader_merge.c.
 *
 * A pattern. Files come and go: find_files adds a reader for each new path, so path i is the input of reader
 * i. A file that was removed and read to its end loses its reader (remove_ended). Two paths may be one file,
 * as hard links are: the second reader is an alias, and does not read.
 *
 * Invariants:
 * 1. Records of one input keep their order.
 * 2. A batch has the records of one input, and `reader` says whose.
 * 3. END: no reader will have a record. With stops_when_left, END also comes when a followed file was left.
 *    Records that wait then are read again by the next run, unless they belong before that file's successor.
 * 4. IDLE: no reader has a whole record now. The caller flushes, and then waits for all files at once.
 */
#include "stream/io/reader_set.h"

#include <string.h>

#include "base/system.h"
#include "stream/io/io_open.h"

static void remove_reader(tamis__reader_set *set, size_t i) {
    tamis__set_reader *removed = set->readers[i];
    set->count--;
    memmove(set->readers + i, set->readers + i + 1, (set->count - i) * sizeof *set->readers);
    tamis__reader_release(&removed->reader);
    tamis__free(&set->memory, removed->next_records, TAMIS__MERGED * sizeof *removed->next_records);
    tamis__free(&set->memory, removed, sizeof *removed);
}

/* Adds a reader of `input`, which is input i of the run; NULL: a reader of all inputs. */
static tamis_status add_reader(tamis__reader_set *set, const char *input, size_t i, tamis_error *err) {
    tamis__reader_setup setup = set->setup.reader;
    tamis__set_reader **readers = tamis__array_reserve(&set->memory, set->readers, sizeof *set->readers,
                                                       set->count + 1, &set->capacity);
    if (!readers)
        return tamis__fail_nomem(err, "readers", (set->count + 1) * sizeof *readers);
    set->readers = readers;
    tamis__set_reader *added = tamis__alloc(&set->memory, sizeof *added, _Alignof(tamis__set_reader));
    if (!added)
        return tamis__fail_nomem(err, "readers", sizeof *added);
    setup.reports = &set->reports;
    setup.stops_when_removed = set->pattern.pattern || set->setup.watched;
    if (input) {
        added->input = input;
        setup.inputs = &added->input;
        setup.input_count = 1;
        setup.first_input = i;
        setup.from = setup.from ? setup.from + i : NULL;
        setup.reads_compressed = !set->pattern.pattern && !setup.stops_when_left;
    }
    set->readers[set->count++] = added;
    const bool is_merged = input && set->setup.time_of;
    if (is_merged) {
        if (setup.batch_size > TAMIS__MERGED)
            setup.batch_size = TAMIS__MERGED;
        setup.batches++; /* the one that waits */
    }
    tamis_status status = tamis__reader_init(&added->reader, &setup, set->loop, &set->memory, err);
    if (status == TAMIS_OK && is_merged) {
        added->last_time = INT64_MIN;
        added->next_records =
            tamis__alloc(&set->memory, TAMIS__MERGED * sizeof *added->next_records, TAMIS__LINE);
        if (!added->next_records)
            status = tamis__fail_nomem(err, "readers", TAMIS__MERGED * sizeof *added->next_records);
    }
    if (status != TAMIS_OK)
        remove_reader(set, set->count - 1);
    return status;
}

/* ---- files that match the pattern ---- */

/* Says once that no file matches. */
static void report_no_files(tamis__reader_set *set) {
    const tamis__reader_setup *setup = &set->setup.reader;
    char message[TAMIS__PATTERN_REMARK];
    if (set->count > 0 || set->reported_no_files || !setup->remark)
        return;
    set->reported_no_files = true;
    tamis__input_pattern_describe_none(&set->pattern, message);
    setup->remark(setup->context, message);
}

/* True if another reader has the file of reader i. */
static bool is_read(const tamis__reader_set *set, size_t i) {
    const tamis__reader *reader = &set->readers[i]->reader;
    for (size_t n = 0; n < set->count; n++) {
        const tamis__reader *other = &set->readers[n]->reader;
        if (n != i && !set->readers[n]->is_alias && other->inode == reader->inode &&
            other->device == reader->device)
            return true;
    }
    return false;
}

/* Adds a reader of a file that matches, and opens the file: it may lose its name before it is read. */
static tamis_status add_file(tamis__reader_set *set, const char *path, tamis_error *err) {
    const size_t i = set->count;
    tamis_status status = add_reader(set, path, i, err);
    if (status != TAMIS_OK)
        return status;
    status = tamis__reader_open(&set->readers[i]->reader, err);
    if (status == TAMIS_OK)
        set->readers[i]->is_alias = is_read(set, i);
    else
        remove_reader(set, i);
    return status;
}

/* Adds readers of the files that match now. */
static tamis_status find_files(tamis__reader_set *set, tamis_error *err) {
    uint64_t total = 0;
    tamis_status status = tamis__input_pattern_find(&set->pattern, err);
    while (status == TAMIS_OK && set->count < set->pattern.count) {
        const char *path = set->pattern.paths[set->count];
        status = tamis__input_check(path, set->setup.outputs, set->setup.output_count, &total, err);
        if (status == TAMIS_OK)
            status = add_file(set, path, err);
    }
    while (set->count < set->pattern.count) /* after an error: the next call finds them again */
        tamis__input_pattern_forget(&set->pattern, set->pattern.count - 1);
    if (status == TAMIS_OK)
        report_no_files(set);
    return status;
}

/* Adds readers of files that have come. A new file may get its owner and mode a moment later, or have lost
 * its name again. */
static tamis_status find_new_files(tamis__reader_set *set, tamis_error *err) {
    tamis_error why = TAMIS_ERROR_INIT;
    const tamis_status status = find_files(set, &why);
    if (status == TAMIS_OK)
        set->tries = 0;
    if (status != TAMIS_OK && tamis__is_rename_error(&why) && set->tries++ < TAMIS__RENAME_TRIES) {
        set->reports.names_changed = set->reports.is_extended = true; /* try again soon */
        return tamis__poll_loop_pause(set->loop, TAMIS__RENAME_MS, set->pattern.pattern, err);
    }
    if (status != TAMIS_OK && err)
        *err = why;
    return status;
}

/* Removes the readers of files that were removed. The pattern may find their names again. */
static void remove_ended(tamis__reader_set *set) {
    for (size_t i = set->count; i-- > 0;)
        if (set->readers[i]->reader.removed) {
            remove_reader(set, i);
            tamis__input_pattern_forget(&set->pattern, i);
        }
    set->turn_end = 0;
    if (set->current >= set->count)
        set->current = 0;
}

/* ---- all readers ---- */

static bool is_regular(const char *path) {
    struct stat st;
    return tamis__sys.stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

tamis_status tamis__reader_set_init(tamis__reader_set *set, const tamis__reader_set_setup *setup,
                                    tamis__poll_loop *loop, const tamis_allocator *memory, tamis_error *err) {
    const tamis__reader_setup *reader = &setup->reader;
    *set = (tamis__reader_set){.setup = *setup,
                               .reports = TAMIS__CHANGE_REPORTS_INIT,
                               .pattern = {.pattern = setup->pattern, .memory = *memory},
                               .loop = loop,
                               .memory = *memory};
    tamis_status status = TAMIS_OK;
    if (setup->watched) /* all files are in one directory, which is reported before it is searched again */
        tamis__change_reports_add(&set->reports, setup->watched->pattern);
    if (setup->pattern) {
        tamis__change_reports_add(&set->reports, setup->pattern);
        set->reports.names_changed = false;
        return find_files(set, err);
    }
    if (!reader->follow || reader->input_count <= 1)
        return add_reader(set, NULL, 0, err);
    for (size_t i = 0; i < reader->input_count; i++) /* a pipe is read to its end in its turn */
        if (!is_regular(reader->inputs[i]))
            set->setup.time_of = NULL;
    for (size_t i = 0; i < reader->input_count && status == TAMIS_OK; i++) {
        status = add_reader(set, reader->inputs[i], i, err);
        /* A file may lose its name before it is read; a pipe is opened when its turn comes. */
        if (status == TAMIS_OK && !reader->stops_when_left && is_regular(reader->inputs[i]))
            status = tamis__reader_open(&set->readers[i]->reader, err);
    }
    return status;
}

void tamis__reader_set_release(tamis__reader_set *set) {
    if (!set->loop)
        return;
    while (set->count > 0)
        remove_reader(set, set->count - 1);
    tamis__free(&set->memory, set->readers, set->capacity * sizeof *set->readers);
    tamis__input_pattern_release(&set->pattern);
    tamis__change_reports_stop(&set->reports);
    set->readers = NULL;
}

tamis__reader *tamis__reader_set_current(const tamis__reader_set *set) {
    return set->count > 0 ? &set->readers[set->current]->reader : NULL;
}

tamis_status tamis__reader_set_open(tamis__reader_set *set, tamis_error *err) {
    tamis_status status = TAMIS_OK;
    for (size_t i = 0; i < set->count && status == TAMIS_OK; i++)
        status = tamis__reader_open(&set->readers[i]->reader, err);
    return status;
}

static void begin_next_turn(tamis__reader_set *set) {
    set->current = (set->current + 1) % set->count;
    set->turn_end = 0;
}

/* Returns the end of the turn of a reader that has begun to read. */
static uint64_t find_turn_end(const tamis__reader_set *set, const tamis__reader *reader) {
    struct stat st;
    return set->count > 1 && tamis__reader_is_followed(reader) && tamis__sys.fstat(reader->fd, &st) == 0
               ? (uint64_t)(st.st_size - reader->base)
               : UINT64_MAX;
}

/* ---- all readers, by turns ---- */

tamis_status tamis__reader_set_next(tamis__reader_set *set, tamis__record_batch *batch,
                                    tamis__reader_event *event, tamis_error *err) {
    if (set->setup.time_of && (set->count > 1 || set->pattern.pattern))
        return tamis__reader_set_next_by_time(set, batch, event, err);
    const bool stops = set->setup.reader.stops_when_left;
    bool is_end = set->pattern.pattern == NULL, has_left = set->has_grown;
    if (set->count > 0 && set->turn_end != 0 && tamis__reader_set_current(set)->file_offset >= set->turn_end)
        begin_next_turn(set);
    for (size_t n = 0; n < set->count; n++) {
        tamis__reader *reader = tamis__reader_set_current(set);
        if (set->readers[set->current]->is_alias) {
            begin_next_turn(set);
            continue;
        }
        const tamis_status status = tamis__reader_next(reader, batch, event, err);
        batch->reader = reader;
        if (*event == TAMIS__READER_RECORDS && set->turn_end == 0)
            set->turn_end = find_turn_end(set, reader);
        set->awaits_pipe = *event == TAMIS__READER_IDLE && !tamis__reader_is_at_end(reader);
        if (status != TAMIS_OK || *event == TAMIS__READER_RECORDS || set->awaits_pipe)
            return status;
        is_end = is_end && *event == TAMIS__READER_END;
        has_left = has_left || (stops && *event == TAMIS__READER_END);
        if (set->count > 1)
            tamis__reader_free_unused(reader);
        begin_next_turn(set);
    }
    *event = is_end || has_left ? TAMIS__READER_END : TAMIS__READER_IDLE;
    return TAMIS_OK;
}

void tamis__reader_set_give_back(const tamis__record_batch *batch) {
    tamis__reader_give_back(batch->reader, batch);
}

bool tamis__reader_set_is_full(const tamis__reader_set *set) {
    if (set->count == 0)
        return false;
    const tamis__set_reader *r = set->readers[set->current];
    return tamis__reader_is_full(&r->reader, r->next.count > 0 ? r->next.buffer : NULL);
}

size_t tamis__reader_set_ahead(const tamis__reader_set *set) {
    size_t ahead = 0;
    for (size_t i = 0; i < set->count; i++) {
        const tamis__record_batch *next = &set->readers[i]->next;
        ahead += tamis__reader_ahead(&set->readers[i]->reader);
        if (next->count > 0 && !set->readers[i]->reader.decompressor)
            ahead += (size_t)(next->end - next->begin);
    }
    return ahead;
}

uint64_t tamis__reader_set_bytes_left(const tamis__reader_set *set) {
    uint64_t total = 0;
    for (size_t i = 0; i < set->count; i++) {
        const tamis__reader *reader = &set->readers[i]->reader;
        const bool is_done =
            set->readers[i]->is_alias || (set->count > 1 && reader->fd < 0 && reader->next_input > 0);
        const uint64_t left = is_done ? 0 : tamis__reader_bytes_left(reader);
        if (left == UINT64_MAX)
            return UINT64_MAX;
        total += left;
    }
    return total;
}

/* Looks for files that match and have come. *found: there are some. */
static tamis_status look_for_files(tamis__reader_set *set, bool *found, tamis_error *err) {
    const size_t readers = set->count, paths = set->setup.watched ? set->setup.watched->count : 0;
    tamis_status status = TAMIS_OK;
    *found = false;
    if (!set->reports.names_changed)
        return TAMIS_OK;
    set->reports.names_changed = false;
    if (set->pattern.pattern)
        status = find_new_files(set, err);
    else if (set->setup.watched)
        status = tamis__input_pattern_find(set->setup.watched, err);
    set->has_grown = set->setup.watched && set->setup.watched->count > paths;
    *found = set->has_grown || set->count > readers;
    return status;
}

tamis_status tamis__reader_set_wait(tamis__reader_set *set, tamis_error *err) {
    const char *pattern = set->pattern.pattern;
    bool found;
    if (set->awaits_pipe)
        return tamis__reader_wait(tamis__reader_set_current(set), err);
    if (pattern)
        remove_ended(set);
    const tamis_status status = look_for_files(set, &found, err);
    if (status != TAMIS_OK || found)
        return status;
    for (size_t i = 0; i < set->count; i++)
        tamis__reader_prepare_wait(&set->readers[i]->reader);
    return tamis__change_reports_wait(&set->reports, set->loop,
                                      pattern ? pattern : tamis__reader_set_current(set)->name, err);
}
