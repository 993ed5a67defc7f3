/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Several filters are asked group by group: those of a group share scheme, seed and secret, so that a batch is hashed
 * once for all of them.
 *
 *     keys --group 1: hash--> hashes --+--> filter A --> row A of answers --+
 *          |                           +--> filter B --> row B              +--> any of them
 *          +-group 2: hash--> hashes -----> filter C --> row C              |
 *          +-(no digest) -----------------> filter D --> row D -------------+
 */
#include "cli/check_ask.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli_family.h"
#include "cli/cli_filter.h"
#include "cli/cli_server.h"
#include "cli/cli_trace.h"

enum { BARE_AT_ONCE = 256 }; /* keys: 6 KiB of stack */

typedef struct member {
    tamis_filter *filter;
    const char *name;             /* as it is printed: */
    char shown[CLI_SERVER_SHOWN]; /* that of one on a server */
    size_t group;                 /* index of its first member */
    bool by_digest;               /* the hash can be made once; else the filter makes it itself */
    bool lost;                    /* its file could not be taken anew */
} member;

struct check_ask {
    const check_config *config;
    cli_family *family; /* NULL: members are asked */
    size_t count;       /* of members that are open */
    size_t room;        /* keys that the arrays have room for */
    tamis_hash *hashes;
    tamis_answer *rows;       /* count rows of `room` */
    char *mark;               /* room for all names */
    cli_key_maker *bare;      /* of keys for filters that take lines so; NULL: none does */
    const tamis_key *records; /* of the batch that is asked in parts */
    bool found;
    member members[];
};

/* ---- opening ---- */

/* Whether the other filter takes hashes that this one's hasher makes. */
static bool shares_hashes(const member *one, const member *other) {
    tamis_hash hash;
    tamis_answer answer;

    if (tamis_hash_many(tamis_filter_hasher(one->filter), &(tamis_key){"", 0}, 1, &hash, NULL) != TAMIS_OK)
        return false;
    /* Any other failure is for the question to tell that meets it. */
    return tamis_filter_contains_hashes(other->filter, &hash, 1, &answer, NULL, NULL) != TAMIS_E_MISMATCH;
}

static void find_group(check_ask *ask, size_t i) {
    member *added = &ask->members[i];
    tamis_scheme scheme = tamis_hasher_scheme(tamis_filter_hasher(added->filter));

    added->by_digest = tamis_scheme_digest_bits(scheme) > 0;
    added->group = i;
    for (size_t j = 0; added->by_digest && j < i; j++)
        if (ask->members[j].group == j && ask->members[j].by_digest &&
            shares_hashes(&ask->members[j], added)) {
            added->group = j;
            return;
        }
}

/* Of the secrets the one that fits is marked as used; `secrets` is NULL where there are none. */
static int open_member(member *added, const char *path, const check_config *config, const cli_secret *secrets,
                       bool *used, tamis_error *err) {
    size_t at = 0;
    bool keyed;

    added->name = cli_server_is_uri(path) ? cli_server_show(path, added->shown) : path;

    while (cli_filter_open(&added->filter, path, secrets != NULL ? &secrets[at] : NULL, &keyed, err) !=
           CLI_DONE) {
        if (err->status != TAMIS_E_MISMATCH || config->secret_count <= 1)
            return CLI_FAILED;
        if (++at == config->secret_count)
            return cli_fail(err,
                            "%.300s: was made with another secret than these %zu; give that one too by "
                            "--secret-file",
                            added->name, config->secret_count);
    }
    if (keyed)
        used[at] = true;
    return CLI_DONE;
}

static int check_used(const check_config *config, const bool *used, tamis_error *err) {
    for (size_t i = 0; i < config->secret_count; i++)
        if (!used[i])
            return config->secret_count == 1
                       ? cli_filter_unkeyed(config->filters[0], err)
                       : cli_fail(err,
                                  "--secret-file '%.300s': is the secret of none of the filters, or given "
                                  "twice; leave it out",
                                  config->secret_files[i]);
    return CLI_DONE;
}

/* Lines are texts; a key of the command line is no line, and one of digits or a number may end in any byte. */
static int fit_keys(check_ask *ask, const tamis_filter *filter, tamis_error *err) {
    const cli_stream *records = &ask->config->stream;
    cli_key_form form = {.type = CLI_KEY_BYTES};

    if (ask->config->key_count > 0 || records->form.hex || records->form.type > CLI_KEY_UTF8)
        return CLI_DONE;
    cli_key_fit(&form, tamis_hasher_scheme(tamis_filter_hasher(filter)), cli_stream_line_end(records));
    if (!form.bare || ask->bare != NULL)
        return CLI_DONE;
    return cli_key_maker_create(&ask->bare, form, err);
}

static int open_members(check_ask *ask, const cli_secret *secrets, tamis_error *err) {
    const check_config *config = ask->config;
    bool *used = calloc(config->secret_count + 1, sizeof *used);
    int code = used == NULL ? cli_fail_nomem("check", err) : CLI_DONE;

    for (size_t i = 0; i < config->filter_count && code == CLI_DONE; i++) {
        code = open_member(&ask->members[i], config->filters[i], config, secrets, used, err);
        if (code == CLI_DONE) {
            ask->count++;
            find_group(ask, i);
            if (config->trace)
                code = cli_trace_begin(ask->members[i].filter, err);
        }
    }
    if (code == CLI_DONE)
        code = check_used(config, used, err);
    free(used);
    return code;
}

static int open_family(check_ask *ask, const cli_secret *secrets, tamis_error *err) {
    const check_config *config = ask->config;
    const cli_family_want want = {config->filters[0], &config->stream.extract, false,
                                  config->trace,      config->stream.form,     secrets};

    return cli_family_open(&ask->family, &want, err);
}

int check_ask_open(check_ask **ask, const check_config *config, const cli_secret *secrets, tamis_error *err) {
    size_t names = 1;
    check_ask *made = calloc(1, sizeof *made + config->filter_count * sizeof made->members[0]);
    int code;

    for (size_t i = 0; i < config->filter_count; i++)
        names += strlen(config->filters[i]) + 1;
    if (made == NULL)
        return cli_fail_nomem("check", err);
    made->config = config;
    made->mark = malloc(names);
    code = made->mark == NULL  ? cli_fail_nomem("check", err)
           : config->is_family ? open_family(made, secrets, err)
                               : open_members(made, secrets, err);
    if (code == CLI_DONE)
        *ask = made;
    else
        check_ask_free(made);
    return code;
}

int check_ask_settle(check_ask *ask, cli_key_form *form, tamis_error *err) {
    int code = CLI_DONE;

    for (size_t i = 0; i < ask->count && code == CLI_DONE; i++)
        code = cli_key_settle(form, ask->members[i].filter, ask->members[i].name, false, err);
    for (size_t i = 0; i < ask->count && code == CLI_DONE; i++)
        code = fit_keys(ask, ask->members[i].filter, err);
    return code;
}

void check_ask_free(check_ask *ask) {
    if (ask == NULL)
        return;
    for (size_t i = 0; i < ask->count; i++)
        tamis_filter_free(ask->members[i].filter);
    cli_family_free(ask->family);
    cli_key_maker_free(ask->bare);
    free(ask->hashes);
    free(ask->rows);
    free(ask->mark);
    free(ask);
}

/* ---- asking ---- */

static tamis_status make_room(check_ask *ask, size_t count, tamis_error *err) {
    if (count <= ask->room)
        return TAMIS_OK;
    ask->room = 0;
    free(ask->hashes);
    free(ask->rows);
    ask->hashes = calloc(count, sizeof *ask->hashes);
    ask->rows = calloc(count, ask->count);
    if (ask->hashes == NULL || ask->rows == NULL) {
        cli_fail_nomem("check", err);
        return TAMIS_E_NOMEM;
    }
    ask->room = count;
    return TAMIS_OK;
}

/* The records as keys of that filter. */
static tamis_status keys_for(check_ask *ask, const member *asked, const tamis_key *records, size_t count,
                             const tamis_key **keys, tamis_error *err) {
    cli_key_place nowhere = {NULL, "record", 1, NULL};
    size_t made;

    *keys = records;
    if (ask->bare == NULL ||
        tamis_hasher_scheme(tamis_filter_hasher(asked->filter)) != TAMIS_SCHEME_FNV_DCSO ||
        cli_key_make(ask->bare, records, count, nowhere, keys, &made, err) == CLI_DONE)
        return TAMIS_OK;
    return err->status;
}

/* Fills the rows of all filters. */
static tamis_status ask_members(check_ask *ask, const tamis_key *records, size_t count, tamis_error *err) {
    tamis_status status = TAMIS_OK;
    const tamis_key *keys;

    for (size_t first = 0; first < ask->count; first++) {
        const member *leader = &ask->members[first];
        if (leader->group != first)
            continue;
        status = keys_for(ask, leader, records, count, &keys, err);
        if (leader->by_digest && status == TAMIS_OK)
            status = tamis_hash_many(tamis_filter_hasher(leader->filter), keys, count, ask->hashes, err);
        for (size_t i = first; i < ask->count && status == TAMIS_OK; i++) {
            const member *asked = &ask->members[i];
            tamis_answer *row = ask->rows + i * ask->room;
            if (asked->group != first)
                continue;
            if (leader->by_digest)
                status = tamis_filter_contains_hashes(asked->filter, ask->hashes, count, row, NULL, err);
            else
                status = tamis_filter_contains_many(asked->filter, keys, count, row, NULL, err);
        }
        if (status != TAMIS_OK)
            return status;
    }
    return TAMIS_OK;
}

/* Files that took the place of those that are open, with --follow. What cannot be opened is told once, and the old one
 * asked on. A look takes a few system calls a batch. */
static tamis_status reload_members(check_ask *ask, tamis_error *err) {
    bool any = false;

    for (size_t i = 0; i < ask->count; i++) {
        member *one = &ask->members[i];
        tamis_error why = TAMIS_ERROR_INIT;
        bool changed = false, lost = false;
        if (cli_server_format(one->filter) == NULL)
            lost = tamis_filter_reload(one->filter, &changed, &why) != TAMIS_OK &&
                   why.status != TAMIS_E_UNSUPPORTED; /* a packed one is in memory */
        if (lost && !one->lost && !ask->config->stream.quiet && !ask->config->stream.json) {
            cli_remedy(&why, "the filter that was read before stays in use");
            cli_report(why.text);
        }
        one->lost = lost;
        any = any || changed;
    }
    for (size_t i = 0; any && i < ask->count; i++) {
        cli_key_form form = ask->config->stream.form;
        find_group(ask, i);
        if (cli_key_settle(&form, ask->members[i].filter, ask->members[i].name, false, err) != CLI_DONE ||
            fit_keys(ask, ask->members[i].filter, err) != CLI_DONE)
            return err->status;
    }
    return TAMIS_OK;
}

static tamis_status ask_all(check_ask *ask, const tamis_key *keys, size_t count, tamis_answer *answers,
                            size_t *done, tamis_error *err) {
    tamis_status status;

    if (ask->family != NULL)
        return cli_family_ask(ask->family, keys, count, answers, done, err);
    *done = 0;
    if (ask->count == 1) {
        status = keys_for(ask, &ask->members[0], keys, count, &keys, err);
        return status == TAMIS_OK
                   ? tamis_filter_contains_many(ask->members[0].filter, keys, count, answers, done, err)
                   : status;
    }
    status = ask_members(ask, keys, count, err);
    if (status != TAMIS_OK)
        return status;
    memcpy(answers, ask->rows, count);
    for (size_t i = 1; i < ask->count; i++)
        for (size_t j = 0; j < count; j++)
            answers[j] |= ask->rows[i * ask->room + j]; /* TAMIS_FRESH is 0, TAMIS_SEEN 1 */
    *done = count;
    return TAMIS_OK;
}

static void note_found(check_ask *ask, const tamis_answer *answers, size_t count) {
    tamis_answer wanted = ask->config->invert ? TAMIS_FRESH : TAMIS_SEEN;

    if (!ask->found && count > 0)
        ask->found = memchr(answers, wanted, count) != NULL;
}

tamis_status check_ask_keys(void *context, const tamis_key *keys, size_t count, tamis_answer *answers,
                            size_t *done, tamis_error *err) {
    check_ask *ask = context;
    tamis_status status;

    *done = 0;
    status = make_room(ask, count, err);
    if (status == TAMIS_OK && ask->config->follow)
        status = reload_members(ask, err);
    if (status == TAMIS_OK)
        status = ask_all(ask, keys, count, answers, done, err);
    note_found(ask, answers, *done);
    return status;
}

/* Of one that is taken anew, with --follow, the hasher is too. Lines that are taken bare are hashed as they are read, and
 * those that are none of their keys once more: of these the records have to be the keys. */
const tamis_hasher *check_ask_hasher(const check_ask *ask) {
    const tamis_filter *only = ask->count == 1 ? ask->members[0].filter : NULL;
    bool takes = only != NULL && ask->family == NULL && !ask->config->marks && !ask->config->follow &&
                 (ask->bare == NULL || ask->config->stream.extract.extractor == NULL) &&
                 cli_filter_takes_hashes(only);

    return takes ? tamis_filter_hasher(only) : NULL;
}

static bool is_bare(tamis_key line) {
    return line.size == 0 || ((const char *)line.data)[line.size - 1] != '\r';
}

/* Hashes of lines as bare keys: `hashes` itself where all lines are bare, else in `made`. */
static tamis_status bare_hashes(const check_ask *ask, const tamis_key *lines, const tamis_hash **hashes,
                                size_t count, tamis_hash *made, tamis_error *err) {
    const tamis_hasher *hasher = tamis_filter_hasher(ask->members[0].filter);
    tamis_status status = TAMIS_OK;
    size_t i = 0;

    while (i < count && is_bare(lines[i]))
        i++;
    if (i == count)
        return TAMIS_OK;
    memcpy(made, *hashes, count * sizeof *made);
    for (; i < count && status == TAMIS_OK; i++)
        if (!is_bare(lines[i]))
            status =
                tamis_hash_many(hasher, &(tamis_key){lines[i].data, lines[i].size - 1}, 1, &made[i], err);
    *hashes = made;
    return status;
}

/* A row of keys and their hashes, by any thread. */
static tamis_status ask_row(const check_ask *ask, const tamis_key *keys, const tamis_hash *hashes,
                            size_t count, tamis_answer *answers, size_t *done, tamis_error *err) {
    const tamis_filter *filter = ask->members[0].filter;
    tamis_status status = TAMIS_OK;
    tamis_hash made[BARE_AT_ONCE];

    *done = 0;
    if (ask->bare == NULL)
        return tamis_filter_contains_hashes(filter, hashes, count, answers, done, err);
    while (*done < count && status == TAMIS_OK) {
        const tamis_hash *some = hashes + *done;
        size_t most = count - *done < BARE_AT_ONCE ? count - *done : BARE_AT_ONCE, in = 0;
        status = bare_hashes(ask, keys + *done, &some, most, made, err);
        if (status == TAMIS_OK)
            status = tamis_filter_contains_hashes(filter, some, most, answers + *done, &in, err);
        *done += in;
    }
    return status;
}

tamis_status check_ask_hashes(void *context, const tamis_key *keys, const tamis_hash *hashes, size_t count,
                              tamis_answer *answers, size_t *done, tamis_error *err) {
    check_ask *ask = context;
    tamis_status status = ask_row(ask, keys, hashes, count, answers, done, err);

    note_found(ask, answers, *done);
    return status;
}

/* A filter that is only asked has room for any number of threads: a part is a row of keys. */
uint32_t check_ask_parts(void *context, size_t count, uint32_t most) {
    (void)context;
    (void)count;
    return most;
}

tamis_status check_ask_part(void *context, const tamis_hash *hashes, size_t count, uint32_t part,
                            uint32_t parts, tamis_answer *answers, size_t *done, tamis_error *err) {
    const check_ask *ask = context;
    const size_t first = count * part / parts, end = count * (part + 1) / parts;
    size_t in = 0;
    tamis_status status =
        ask_row(ask, ask->records + first, hashes + first, end - first, answers + first, &in, err);

    *done = status == TAMIS_OK ? count : first + in;
    return status;
}

void check_ask_joined(void *context, const tamis_answer *answers, size_t done, tamis_status status,
                      tamis_error *err) {
    (void)status;
    (void)err;
    note_found(context, answers, done);
}

void check_ask_place(void *context, const tamis_stream_origin *origin) {
    check_ask *ask = context;

    ask->records = origin->records;
    if (ask->family != NULL)
        cli_family_place(ask->family, origin);
}

/* A name is one word of the mark, which is one field of a line. */
static char shown(char byte) {
    return iscntrl((unsigned char)byte) || byte == ',' ? '?' : byte;
}

tamis_key check_ask_mark(void *context, size_t i) {
    check_ask *ask = context;
    size_t used = 0;

    for (size_t j = 0; j < ask->count; j++) {
        size_t size = strlen(ask->members[j].name);
        if (ask->rows[j * ask->room + i] != TAMIS_SEEN)
            continue;
        if (used > 0)
            ask->mark[used++] = ',';
        for (size_t at = 0; at < size; at++)
            ask->mark[used++] = shown(ask->members[j].name[at]);
    }
    ask->mark[used++] = '\t';
    return (tamis_key){ask->mark, used};
}

bool check_ask_found(void *context) {
    return ((check_ask *)context)->found;
}
