/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Looks up each batch of keys in all filters. Filters with the same scheme, seed and secret form a group, for
 * which a batch is hashed once. Each filter has a row of answers.
 *
 *     keys --group 1: hash--> hashes --+--> filter A --> row A of answers --+
 *          |                           +--> filter B --> row B              +--> any of them
 *          +-group 2: hash--> hashes -----> filter C --> row C              |
 *          +-(no digest) -----------------> filter D --> row D -------------+
 *
 * - A single filter needs no rows. If it takes hashes, the stream hashes the keys in its threads, and several
 *   threads look up parts of a batch.
 * - A family (cli_family.h) is always alone. It finds the filter of each record itself.
 * - Scheme fnv-dcso hashes lines without a final carriage return. Filters of this scheme get keys of their
 *   own, made by `line_maker`.
 * - With --follow, every batch begins with a look at the files. If one was replaced, its filter is reloaded,
 *   and the groups are found anew, because the new file may have another hash.
 */
#include "cli/cmd/check/check_query.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli/filter/cli_filter.h"
#include "cli/server/cli_family.h"
#include "cli/server/cli_server.h"
#include "cli/server/cli_trace.h"

enum { LINES_AT_ONCE = 256 }; /* keys: 6 KiB of stack */

typedef struct member {
    tamis_filter *filter;
    const char *name;             /* printed name */
    char shown[CLI_SERVER_SHOWN]; /* buffer of `name` for a filter on a server */
    size_t group;                 /* index of the first member of its group */
    bool by_digest;               /* the scheme has a digest, so hashes can be shared */
    bool lost;                    /* the last reload of the file failed */
} member;

struct check_query {
    const check_config *config;
    cli_family *family; /* family to query; NULL: query `members` */
    size_t count;       /* number of open members */
    size_t capacity;    /* max. keys of `hashes` and of a row */
    tamis_hash *hashes;
    tamis_answer *rows;        /* answers: `count` rows of `capacity` */
    char *mark;                /* buffer for all names */
    cli_key_maker *line_maker; /* maker of keys without carriage return; NULL: no filter needs it */
    const tamis_key *records;  /* records of the batch that is queried in parts */
    bool found;                /* a record to be printed was found */
    member members[];
};

/* ---- opening ---- */

/* True if filter b accepts hashes of the hasher of a. */
static bool shares_hashes(const member *a, const member *b) {
    tamis_hash hash;
    tamis_answer answer;

    if (tamis_hash_many(tamis_filter_hasher(a->filter), &(tamis_key){"", 0}, 1, &hash, NULL) != TAMIS_OK)
        return false;
    /* Other errors are reported by the lookup that meets them. */
    return tamis_filter_contains_hashes(b->filter, &hash, 1, &answer, NULL, NULL) != TAMIS_E_MISMATCH;
}

static void find_group(check_query *query, size_t i) {
    member *added = &query->members[i];
    tamis_scheme scheme = tamis_hasher_scheme(tamis_filter_hasher(added->filter));

    added->by_digest = tamis_scheme_digest_bits(scheme) > 0;
    added->group = i;
    for (size_t j = 0; added->by_digest && j < i; j++)
        if (query->members[j].group == j && query->members[j].by_digest &&
            shares_hashes(&query->members[j], added)) {
            added->group = j;
            return;
        }
}

/* Opens a filter with the first secret that fits, and marks this secret as used. `secrets` is NULL if none
 * was given. */
static tamis_status open_member(member *added, const char *path, const check_config *config,
                                const cli_secret *secrets, bool *used, tamis_error *err) {
    size_t index = 0;
    bool keyed;

    added->name = cli_server_is_uri(path) ? cli_server_show(path, added->shown) : path;

    while (cli_filter_open(&added->filter, path, secrets != NULL ? &secrets[index] : NULL, &keyed, err) !=
           TAMIS_OK) {
        if (err->status != TAMIS_E_MISMATCH || config->secret_count <= 1)
            return err->status;
        if (++index == config->secret_count)
            return cli_fail(err,
                            "%.300s: was made with another secret than these %zu; give that one too by "
                            "--secret-file",
                            added->name, config->secret_count);
    }
    if (keyed)
        used[index] = true;
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
    if (!form.strip_cr || query->line_maker != NULL)
        return TAMIS_OK;
    return cli_key_maker_create(&query->line_maker, form, err);
}

static tamis_status open_members(check_query *query, const cli_secret *secrets, tamis_error *err) {
    const check_config *config = query->config;
    bool *used = calloc(config->secret_count + 1, sizeof *used);
    tamis_status status = used == NULL ? cli_fail_nomem("check", err) : TAMIS_OK;

    for (size_t i = 0; i < config->filter_count && status == TAMIS_OK; i++) {
        status = open_member(&query->members[i], config->filters[i], config, secrets, used, err);
        if (status == TAMIS_OK) {
            query->count++;
            find_group(query, i);
            if (config->trace)
                status = cli_trace_begin(query->members[i].filter, err);
        }
    }
    if (status == TAMIS_OK)
        status = check_used(config, used, err);
    free(used);
    return status;
}

static tamis_status open_family(check_query *query, const cli_secret *secrets, tamis_error *err) {
    const check_config *config = query->config;
    const cli_family_setup setup = {config->filters[0], &config->stream.extract, false,
                                    config->trace,      config->stream.form,     secrets};

    return cli_family_open(&query->family, &setup, err);
}

tamis_status check_query_open(check_query **query, const check_config *config, const cli_secret *secrets,
                              tamis_error *err) {
    size_t names = 1;
    check_query *made = calloc(1, sizeof *made + config->filter_count * sizeof made->members[0]);
    tamis_status status;

    for (size_t i = 0; i < config->filter_count; i++)
        names += strlen(config->filters[i]) + 1;
    if (made == NULL)
        return cli_fail_nomem("check", err);
    made->config = config;
    made->mark = malloc(names);
    status = made->mark == NULL  ? cli_fail_nomem("check", err)
             : config->is_family ? open_family(made, secrets, err)
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
    return status;
}

void check_query_free(check_query *query) {
    if (query == NULL)
        return;
    for (size_t i = 0; i < query->count; i++)
        tamis_filter_free(query->members[i].filter);
    cli_family_free(query->family);
    cli_key_maker_free(query->line_maker);
    free(query->hashes);
    free(query->rows);
    free(query->mark);
    free(query);
}

/* ---- lookups ---- */

static tamis_status reserve_arrays(check_query *query, size_t count, tamis_error *err) {
    if (count <= query->capacity)
        return TAMIS_OK;
    query->capacity = 0;
    free(query->hashes);
    free(query->rows);
    query->hashes = calloc(count, sizeof *query->hashes);
    query->rows = calloc(count, query->count);
    if (query->hashes == NULL || query->rows == NULL) {
        cli_fail_nomem("check", err);
        return TAMIS_E_NOMEM;
    }
    query->capacity = count;
    return TAMIS_OK;
}

/* Sets *keys to the keys that this filter has for the records. */
static tamis_status keys_for(check_query *query, const member *target, const tamis_key *records, size_t count,
                             const tamis_key **keys, tamis_error *err) {
    cli_key_position no_position = {NULL, "record", 1, NULL};
    size_t made;

    *keys = records;
    if (query->line_maker == NULL ||
        tamis_hasher_scheme(tamis_filter_hasher(target->filter)) != TAMIS_SCHEME_FNV_DCSO ||
        cli_key_make(query->line_maker, records, count, no_position, keys, &made, err) == TAMIS_OK)
        return TAMIS_OK;
    return err->status;
}

/* Fills the rows of all members, group by group. */
static tamis_status query_members(check_query *query, const tamis_key *records, size_t count,
                                  tamis_error *err) {
    tamis_status status = TAMIS_OK;
    const tamis_key *keys;

    for (size_t first = 0; first < query->count; first++) {
        const member *leader = &query->members[first];
        if (leader->group != first)
            continue;
        status = keys_for(query, leader, records, count, &keys, err);
        if (leader->by_digest && status == TAMIS_OK)
            status = tamis_hash_many(tamis_filter_hasher(leader->filter), keys, count, query->hashes, err);
        for (size_t i = first; i < query->count && status == TAMIS_OK; i++) {
            const member *target = &query->members[i];
            tamis_answer *row = query->rows + i * query->capacity;
            if (target->group != first)
                continue;
            if (leader->by_digest)
                status = tamis_filter_contains_hashes(target->filter, query->hashes, count, row, NULL, err);
            else
                status = tamis_filter_contains_many(target->filter, keys, count, row, NULL, err);
        }
        if (status != TAMIS_OK)
            return status;
    }
    return TAMIS_OK;
}

/* For --follow: reloads filters whose files were replaced. If a new file cannot be opened, reports it once
 * and keeps using the old filter. Takes a few system calls a batch. */
static tamis_status reload_members(check_query *query, tamis_error *err) {
    bool any = false;

    for (size_t i = 0; i < query->count; i++) {
        member *a = &query->members[i];
        tamis_error why = TAMIS_ERROR_INIT;
        bool changed = false, lost = false;
        if (cli_server_format(a->filter) == NULL)
            lost = tamis_filter_reload(a->filter, &changed, &why) != TAMIS_OK &&
                   why.status != TAMIS_E_UNSUPPORTED; /* a compressed file is in memory */
        if (lost && !a->lost && !query->config->stream.quiet && !query->config->stream.json) {
            cli_remedy(&why, "the filter that was read before stays in use");
            cli_report(why.text);
        }
        a->lost = lost;
        any = any || changed;
    }
    for (size_t i = 0; any && i < query->count; i++) {
        cli_key_form form = query->config->stream.form;
        find_group(query, i);
        if (cli_key_apply_filter(&form, query->members[i].filter, query->members[i].name, false, err) !=
                TAMIS_OK ||
            fit_keys(query, query->members[i].filter, err) != TAMIS_OK)
            return err->status;
    }
    return TAMIS_OK;
}

static tamis_status query_all(check_query *query, const tamis_key *keys, size_t count, tamis_answer *answers,
                              size_t *done, tamis_error *err) {
    tamis_status status;

    if (query->family != NULL)
        return cli_family_query(query->family, keys, count, answers, done, err);
    *done = 0;
    if (query->count == 1) {
        status = keys_for(query, &query->members[0], keys, count, &keys, err);
        return status == TAMIS_OK
                   ? tamis_filter_contains_many(query->members[0].filter, keys, count, answers, done, err)
                   : status;
    }
    status = query_members(query, keys, count, err);
    if (status != TAMIS_OK)
        return status;
    memcpy(answers, query->rows, count);
    for (size_t i = 1; i < query->count; i++)
        for (size_t j = 0; j < count; j++)
            answers[j] |= query->rows[i * query->capacity + j]; /* TAMIS_ABSENT is 0, TAMIS_PRESENT 1 */
    *done = count;
    return TAMIS_OK;
}

static void note_found(check_query *query, const tamis_answer *answers, size_t count) {
    tamis_answer wanted = query->config->invert ? TAMIS_ABSENT : TAMIS_PRESENT;

    if (!query->found && count > 0)
        query->found = memchr(answers, wanted, count) != NULL;
}

tamis_status check_query_keys(void *context, const tamis_key *keys, size_t count, tamis_answer *answers,
                              size_t *done, tamis_error *err) {
    check_query *query = context;
    tamis_status status;

    *done = 0;
    status = reserve_arrays(query, count, err);
    if (status == TAMIS_OK && query->config->follow)
        status = reload_members(query, err);
    if (status == TAMIS_OK)
        status = query_all(query, keys, count, answers, done, err);
    note_found(query, answers, *done);
    return status;
}

/*
 * The stream may hash keys under these conditions:
 *
 * - There is one filter, no family, and no names to print.
 * - No --follow: a new file may have another hasher.
 * - If the filter needs line_maker, records are the keys. The stream hashes whole lines, and hash_without_cr
 *   hashes lines with a carriage return again.
 */
const tamis_hasher *check_query_hasher(const check_query *query) {
    const tamis_filter *only = query->count == 1 ? query->members[0].filter : NULL;
    bool takes = only != NULL && query->family == NULL && !query->config->prints_names &&
                 !query->config->follow &&
                 (query->line_maker == NULL || query->config->stream.extract.extractor == NULL) &&
                 cli_filter_takes_hashes(only);

    return takes ? tamis_filter_hasher(only) : NULL;
}

static bool has_no_cr(tamis_key line) {
    return line.size == 0 || ((const char *)line.data)[line.size - 1] != '\r';
}

/* Replaces the hashes of lines that end in a carriage return by those without it. If there are such lines,
 * *hashes becomes `made`, an array of `count` hashes. */
static tamis_status hash_without_cr(const check_query *query, const tamis_key *lines,
                                    const tamis_hash **hashes, size_t count, tamis_hash *made,
                                    tamis_error *err) {
    const tamis_hasher *hasher = tamis_filter_hasher(query->members[0].filter);
    tamis_status status = TAMIS_OK;
    size_t i = 0;

    while (i < count && has_no_cr(lines[i]))
        i++;
    if (i == count)
        return TAMIS_OK;
    memcpy(made, *hashes, count * sizeof *made);
    for (; i < count && status == TAMIS_OK; i++)
        if (!has_no_cr(lines[i]))
            status =
                tamis_hash_many(hasher, &(tamis_key){lines[i].data, lines[i].size - 1}, 1, &made[i], err);
    *hashes = made;
    return status;
}

/* Looks up keys and their hashes. Several threads may do this at once. */
static tamis_status query_row(const check_query *query, const tamis_key *keys, const tamis_hash *hashes,
                              size_t count, tamis_answer *answers, size_t *done, tamis_error *err) {
    const tamis_filter *filter = query->members[0].filter;
    tamis_status status = TAMIS_OK;
    tamis_hash made[LINES_AT_ONCE];

    *done = 0;
    if (query->line_maker == NULL)
        return tamis_filter_contains_hashes(filter, hashes, count, answers, done, err);
    while (*done < count && status == TAMIS_OK) {
        const tamis_hash *part_hashes = hashes + *done;
        size_t max = count - *done < LINES_AT_ONCE ? count - *done : LINES_AT_ONCE, in = 0;
        status = hash_without_cr(query, keys + *done, &part_hashes, max, made, err);
        if (status == TAMIS_OK)
            status = tamis_filter_contains_hashes(filter, part_hashes, max, answers + *done, &in, err);
        *done += in;
    }
    return status;
}

tamis_status check_query_hashes(void *context, const tamis_key *keys, const tamis_hash *hashes, size_t count,
                                tamis_answer *answers, size_t *done, tamis_error *err) {
    check_query *query = context;
    tamis_status status = query_row(query, keys, hashes, count, answers, done, err);

    note_found(query, answers, *done);
    return status;
}

/* Any number of threads may look up keys at once, so a part is a range of keys. */
uint32_t check_query_parts(void *context, size_t count, uint32_t max) {
    (void)context;
    (void)count;
    return max;
}

tamis_status check_query_part(void *context, const tamis_hash *hashes, size_t count, uint32_t part,
                              uint32_t parts, tamis_answer *answers, size_t *done, tamis_error *err) {
    const check_query *query = context;
    const size_t first = count * part / parts, end = count * (part + 1) / parts;
    size_t in = 0;
    tamis_status status =
        query_row(query, query->records + first, hashes + first, end - first, answers + first, &in, err);

    *done = status == TAMIS_OK ? count : first + in;
    return status;
}

void check_query_finish_parts(void *context, const tamis_answer *answers, size_t done, tamis_status status,
                              tamis_error *err) {
    (void)status;
    (void)err;
    note_found(context, answers, done);
}

void check_query_set_source(void *context, const tamis_stream_source *source) {
    check_query *query = context;

    query->records = source->records;
    if (query->family != NULL)
        cli_family_set_source(query->family, source);
}

/* Replaces bytes that would end a name in the mark, or the mark in a line. */
static char shown(char byte) {
    return iscntrl((unsigned char)byte) || byte == ',' ? '?' : byte;
}

tamis_key check_query_mark(void *context, size_t i) {
    check_query *query = context;
    size_t used = 0;

    for (size_t j = 0; j < query->count; j++) {
        size_t size = strlen(query->members[j].name);
        if (query->rows[j * query->capacity + i] != TAMIS_PRESENT)
            continue;
        if (used > 0)
            query->mark[used++] = ',';
        for (size_t pos = 0; pos < size; pos++)
            query->mark[used++] = shown(query->members[j].name[pos]);
    }
    query->mark[used++] = '\t';
    return (tamis_key){query->mark, used};
}

bool check_query_found(void *context) {
    return ((check_query *)context)->found;
}
