/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Looks up each batch in all filters (tamis/experimental/filter_set.h). Each filter has a row of answers,
 * for the names that are printed.
 *
 *     keys ---------------------> filters that hash whole lines --> rows --+--> any of them
 *       +--> line_maker --------> filters of scheme fnv-dcso -----> rows --+
 *
 * - If all filters take the same hashes and no names are printed, the stream hashes the keys in its threads.
 *   Then several threads look up parts of a batch.
 * - A family (cli_family.h) is always alone. It finds the filter of each record itself.
 * - Scheme fnv-dcso hashes lines without a final carriage return. Filters of this scheme get keys of their
 *   own, made by `line_maker`. Their rows are the last ones.
 * - With --follow, every batch begins with a look at the files. If one was replaced, its filter is reloaded,
 *   and the rows are ordered again, because the new file may have another scheme.
 */
#include "cli/cmd/check/check.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <tamis/experimental/filter_set.h>

#include "cli/filter/cli_filter.h"
#include "cli/server/cli_family.h"
#include "cli/server/cli_server.h"
#include "cli/server/cli_trace.h"

enum { LINES_AT_ONCE = 256 }; /* keys: 10 KiB of stack, with their hashes */

typedef struct member {
    tamis_filter *filter;
    const char *name;             /* printed name */
    char shown[CLI_SERVER_SHOWN]; /* buffer of `name` for a filter on a server */
    size_t row;                   /* index of its row of answers */
    bool lost;                    /* the last reload of the file failed */
} member;

struct check_query {
    const check_config *config;
    cli_family *family;           /* family to query; NULL: query `members` */
    size_t count;                 /* number of open members */
    const tamis_filter **filters; /* filters in the order of their rows */
    size_t whole_count;           /* number of filters that hash whole lines, the first ones */
    size_t capacity;              /* max. keys of a row */
    tamis_answer *rows;           /* answers: row_size for each filter, then a row for line_maker's filters */
    size_t row_size;              /* keys of the last batch */
    char *mark;                   /* buffer for all names */
    tamis_key_maker *line_maker;  /* maker of keys without carriage return; NULL: no filter needs it */
    const tamis_key *records;     /* records of the batch that is looked up by hashes */
    bool found;                   /* a record to be printed was found */
    member members[];
};

/* ---- opening ---- */

/* The secrets that were given. */
typedef struct secret_list {
    const cli_secret *secrets; /* NULL: none */
    bool *used;                /* true for each secret that has opened a filter */
} secret_list;

/* Opens a filter with the first secret that fits. */
static tamis_status open_member(member *added, const char *path, const check_config *config,
                                const secret_list *list, tamis_error *err) {
    const cli_secret *secrets = list->secrets;
    size_t index = 0;
    bool keyed;

    added->name = cli_server_is_uri(path) ? cli_server_show(path, added->shown) : path;
    while (cli_filter_open(&added->filter, path, secrets ? &secrets[index] : NULL, &keyed, err) != TAMIS_OK) {
        if (err->status != TAMIS_E_SECRET || config->secret_count <= 1)
            return err->status;
        if (++index == config->secret_count)
            return cli_fail(err,
                            "%.300s: made with a secret that is none of these %zu; give its secret too, by "
                            "--secret-file",
                            added->name, config->secret_count);
    }
    if (keyed)
        list->used[index] = true;
    return TAMIS_OK;
}

static tamis_status check_used(const check_config *config, const bool *used, tamis_error *err) {
    for (size_t i = 0; i < config->secret_count; i++)
        if (!used[i])
            return config->secret_count == 1
                       ? cli_filter_unkeyed(config->filters[0], err)
                       : cli_fail(err,
                                  "--secret-file '%.300s': is the secret of none of the filters, or given "
                                  "twice; leave it out",
                                  config->secret_files[i]);
    return TAMIS_OK;
}

/* Creates line_maker if the filter hashes lines without a final carriage return. This concerns lines of text
 * only: not keys of the command line, numbers, or bytes in hexadecimal digits. */
static tamis_status fit_keys(check_query *query, const tamis_filter *filter, tamis_error *err) {
    const cli_stream *records = &query->config->stream;
    cli_key_form form = {.type = CLI_KEY_BYTES};

    if (query->config->key_count > 0 || records->form.hex || records->form.type > CLI_KEY_UTF8)
        return TAMIS_OK;
    cli_key_fit(&form, tamis_hasher_scheme(tamis_filter_hasher(filter)), cli_stream_line_end(records));
    if (!form.strip_cr || query->line_maker)
        return TAMIS_OK;
    return cli_key_maker_create(&query->line_maker, form, err);
}

static tamis_status open_members(check_query *query, const cli_secret *secrets, tamis_error *err) {
    const check_config *config = query->config;
    const secret_list list = {secrets, calloc(config->secret_count + 1, sizeof *list.used)};
    tamis_status status = !list.used ? cli_fail_nomem("check", err) : TAMIS_OK;

    for (size_t i = 0; i < config->filter_count && status == TAMIS_OK; i++) {
        status = open_member(&query->members[i], config->filters[i], config, &list, err);
        if (status == TAMIS_OK) {
            query->count++;
            if (config->trace)
                status = cli_trace_filter(query->members[i].filter, err);
        }
    }
    if (status == TAMIS_OK)
        status = check_used(config, list.used, err);
    free(list.used);
    return status;
}

/* Orders the rows: filters that hash whole lines come first. */
static void order_rows(check_query *query) {
    size_t row = 0;

    for (int strips_cr = 0; strips_cr < 2; strips_cr++) {
        for (size_t i = 0; i < query->count; i++) {
            member *own = &query->members[i];
            const tamis_scheme scheme = tamis_hasher_scheme(tamis_filter_hasher(own->filter));
            if ((query->line_maker && scheme == TAMIS_SCHEME_FNV_DCSO) != strips_cr)
                continue;
            own->row = row;
            query->filters[row++] = own->filter;
        }
        if (!strips_cr)
            query->whole_count = row;
    }
}

static tamis_status open_family(check_query *query, const cli_secret *secrets, tamis_error *err) {
    const check_config *config = query->config;
    const cli_family_setup setup = {.uri = config->filters[0],
                                    .extract = &config->stream.extract,
                                    .adds = false,
                                    .trace = config->trace,
                                    .form = config->stream.form,
                                    .secret = secrets};

    return cli_family_open(&query->family, &setup, err);
}

tamis_status check_query_open(check_query **query, const check_config *config, const cli_secret *secrets,
                              tamis_error *err) {
    size_t names = 1;
    check_query *made = calloc(1, sizeof *made + config->filter_count * sizeof made->members[0]);

    for (size_t i = 0; i < config->filter_count; i++)
        names += strlen(config->filters[i]) + 1;
    if (!made)
        return cli_fail_nomem("check", err);
    made->config = config;
    made->mark = malloc(names);
    made->filters = calloc(config->filter_count, sizeof *made->filters);
    const tamis_status status = !made->mark || !made->filters ? cli_fail_nomem("check", err)
                                : config->is_family           ? open_family(made, secrets, err)
                                                              : open_members(made, secrets, err);
    if (status == TAMIS_OK)
        *query = made;
    else
        check_query_free(made);
    return status;
}

tamis_status check_query_apply_key_form(check_query *query, cli_key_form *form, tamis_error *err) {
    tamis_status status = TAMIS_OK;

    for (size_t i = 0; i < query->count && status == TAMIS_OK; i++)
        status = cli_key_apply_filter(form, query->members[i].filter, query->members[i].name, false, err);
    for (size_t i = 0; i < query->count && status == TAMIS_OK; i++)
        status = fit_keys(query, query->members[i].filter, err);
    order_rows(query);
    return status;
}

void check_query_free(check_query *query) {
    if (!query)
        return;
    for (size_t i = 0; i < query->count; i++)
        tamis_filter_free(query->members[i].filter);
    cli_family_close(query->family);
    tamis_key_maker_free(query->line_maker);
    free(query->filters);
    free(query->rows);
    free(query->mark);
    free(query);
}

/* ---- lookups ---- */

static tamis_status reserve_rows(check_query *query, size_t count, tamis_error *err) {
    query->row_size = count;
    if (count <= query->capacity)
        return TAMIS_OK;
    query->capacity = 0;
    free(query->rows);
    query->rows = calloc(count, query->count + 1);
    if (!query->rows)
        return cli_fail_nomem("check", err);
    query->capacity = count;
    return TAMIS_OK;
}

/* Looks up the records in the filters that hash lines without a carriage return, and adds their answers. */
static tamis_status query_lines(check_query *query, const tamis_stream_batch *batch, size_t *done,
                                tamis_error *err) {
    const size_t count = batch->count;
    const tamis_filter_set set = {query->filters + query->whole_count, query->count - query->whole_count};
    tamis_answer *any = query->rows + query->count * count;
    const tamis_key *lines;
    size_t made;

    *done = 0;
    if (tamis_key_maker_make(query->line_maker, batch->keys, count, &lines, &made, err) != TAMIS_OK)
        return err->status;
    const tamis_status status = tamis_filter_set_contains_many(
        &set, lines, count, &(tamis_filter_set_answers){any, query->rows + query->whole_count * count}, done,
        err);
    for (size_t i = 0; i < *done; i++)
        batch->answers[i] |= any[i]; /* TAMIS_ABSENT is 0, TAMIS_PRESENT 1 */
    return status;
}

static tamis_status query_members(check_query *query, const tamis_stream_batch *batch, size_t *done,
                                  tamis_error *err) {
    const tamis_filter_set set = {query->filters, query->whole_count};
    const tamis_status status = tamis_filter_set_contains_many(
        &set, batch->keys, batch->count, &(tamis_filter_set_answers){batch->answers, query->rows}, done, err);

    if (query->whole_count == query->count)
        return status;
    if (status == TAMIS_OK)
        return query_lines(query, batch, done, err);
    *done = 0;
    return status;
}

/* For --follow: reloads filters whose files were replaced. If a new file cannot be opened, reports it once
 * and keeps using the old filter. Takes a few system calls a batch. */
static tamis_status reload_members(check_query *query, tamis_error *err) {
    bool any_changed = false;

    for (size_t i = 0; i < query->count; i++) {
        member *own = &query->members[i];
        tamis_error why = TAMIS_ERROR_INIT;
        bool changed = false, lost = false;
        if (!cli_server_format(own->filter))
            lost = tamis_filter_reload(own->filter, &changed, &why) != TAMIS_OK &&
                   why.status != TAMIS_E_UNSUPPORTED; /* a compressed file is in memory */
        if (lost && !own->lost && !query->config->stream.quiet && !query->config->stream.json) {
            cli_remedy(&why, "the filter that was read before stays in use");
            cli_report(why.text);
        }
        own->lost = lost;
        any_changed = any_changed || changed;
    }
    for (size_t i = 0; any_changed && i < query->count; i++) {
        cli_key_form form = query->config->stream.form;
        if (cli_key_apply_filter(&form, query->members[i].filter, query->members[i].name, false, err) !=
                TAMIS_OK ||
            fit_keys(query, query->members[i].filter, err) != TAMIS_OK)
            return err->status;
    }
    if (any_changed)
        order_rows(query);
    return TAMIS_OK;
}

static void note_found(check_query *query, const tamis_answer *answers, size_t count) {
    const tamis_answer wanted = query->config->invert ? TAMIS_ABSENT : TAMIS_PRESENT;

    if (!query->found && count > 0)
        query->found = memchr(answers, wanted, count);
}

tamis_status check_query_batch(void *context, const tamis_stream_batch *batch, size_t *done,
                               tamis_error *err) {
    check_query *query = context;
    tamis_status status = TAMIS_OK;

    *done = 0;
    if (batch->hashes) {
        status = check_query_part(query, batch, 0, done, err);
    } else {
        status = reserve_rows(query, batch->count, err);
        if (status == TAMIS_OK && query->config->follow)
            status = reload_members(query, err);
        if (status == TAMIS_OK)
            status = query->family ? cli_family_query(query->family, batch, done, err)
                                   : query_members(query, batch, done, err);
    }
    note_found(query, batch->answers, *done);
    return status;
}

/*
 * The stream may hash keys under these conditions:
 *
 * - All filters accept the same hashes, at no extra cost. There is no family, and no names are printed.
 * - No --follow: a new file may have another hasher.
 * - If the filters need line_maker, records are the keys. The stream hashes whole lines, and hash_without_cr
 *   hashes lines with a carriage return again.
 */
const tamis_hasher *check_query_hasher(const check_query *query) {
    const check_config *config = query->config;
    const tamis_filter_set set = {query->filters, query->count};

    if (query->family || config->prints_names || config->follow ||
        (query->line_maker && config->stream.extract.extractor))
        return NULL;
    for (size_t i = 0; i < query->count; i++)
        if (!cli_filter_accepts_hashes(query->filters[i]))
            return NULL;
    return tamis_filter_set_hasher(&set);
}

static bool has_final_cr(tamis_key line) {
    return line.size > 0 && ((const char *)line.data)[line.size - 1] == '\r';
}

static bool any_has_final_cr(const tamis_key *lines, size_t count) {
    size_t i = 0;

    while (i < count && !has_final_cr(lines[i]))
        i++;
    return i < count;
}

/* Hashes up to LINES_AT_ONCE lines, each without a carriage return at its end. */
static tamis_status hash_without_cr(const check_query *query, const tamis_key *lines, size_t count,
                                    tamis_hash *hashes, tamis_error *err) {
    tamis_key keys[LINES_AT_ONCE];

    for (size_t i = 0; i < count; i++)
        keys[i] = (tamis_key){lines[i].data, lines[i].size - has_final_cr(lines[i])};
    return tamis_hash_many(tamis_filter_hasher(query->members[0].filter), keys, count, hashes, err);
}

/* Any number of threads may look up keys at once, so a part is a range of keys. */
uint32_t check_query_parts(void *context, size_t count, uint32_t max) {
    (void)context;
    (void)count;
    return max;
}

tamis_status check_query_part(void *context, const tamis_stream_batch *batch, uint32_t part, size_t *done,
                              tamis_error *err) {
    const check_query *query = context;
    const tamis_filter_set set = {query->filters, query->count};
    const size_t parts = batch->parts > 0 ? batch->parts : 1;
    const size_t end = batch->count * (part + 1) / parts;
    tamis_status status = TAMIS_OK;
    tamis_hash made[LINES_AT_ONCE];
    size_t next = batch->count * part / parts;

    while (next < end && status == TAMIS_OK) {
        const tamis_hash *hashes = batch->hashes + next;
        size_t size = end - next, answered = 0;
        if (query->line_maker) {
            size = size < LINES_AT_ONCE ? size : LINES_AT_ONCE;
            if (any_has_final_cr(query->records + next, size)) {
                status = hash_without_cr(query, query->records + next, size, made, err);
                hashes = made;
            }
        }
        if (status == TAMIS_OK)
            status = tamis_filter_set_contains_hashes(
                &set, hashes, size, &(tamis_filter_set_answers){.any = batch->answers + next}, &answered,
                err);
        next += answered;
    }
    *done = status == TAMIS_OK ? batch->count : next;
    return status;
}

void check_query_finish_parts(void *context, const tamis_stream_batch *batch, size_t done,
                              tamis_status status, tamis_error *err) {
    (void)status;
    (void)err;
    note_found(context, batch->answers, done);
}

void check_query_set_source(void *context, const tamis_stream_source *source) {
    check_query *query = context;

    query->records = source->records;
    if (query->family)
        cli_family_set_source(query->family, source);
}

/* Replaces bytes that would end a name in the mark, or the mark in a line. */
static char printable(char byte) {
    return iscntrl((unsigned char)byte) || byte == ',' ? '?' : byte;
}

tamis_key check_query_mark(void *context, size_t i) {
    check_query *query = context;
    size_t used = 0;

    for (size_t j = 0; j < query->count; j++) {
        const size_t size = strlen(query->members[j].name);
        if (query->rows[query->members[j].row * query->row_size + i] != TAMIS_PRESENT)
            continue;
        if (used > 0)
            query->mark[used++] = ',';
        for (size_t pos = 0; pos < size; pos++)
            query->mark[used++] = printable(query->members[j].name[pos]);
    }
    query->mark[used++] = '\t';
    return (tamis_key){query->mark, used};
}

bool check_query_found(void *context) {
    return ((check_query *)context)->found;
}
