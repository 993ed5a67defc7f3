/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli_about.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli_key.h"
#include "cli/cli_rows.h"
#include "cli/cli_server.h"

/* ---- those that the user gives ---- */

static int by_name(const void *one, const void *other) {
    return strcmp(((const tamis_label *)one)->name, ((const tamis_label *)other)->name);
}

static int read_labels(cli_about *about, const cli_value *given, tamis_error *err) {
    size_t size = given->count * sizeof *about->labels;
    char *at;

    if (given->count > TAMIS_LABELS_MAX)
        return cli_fail(err, "--label: %zu of them are too many; give up to %d", given->count,
                        TAMIS_LABELS_MAX);
    for (size_t i = 0; i < given->count; i++)
        size += strlen(given->list[i]) + 1;
    about->labels = malloc(size + 1);
    if (about->labels == NULL)
        return cli_fail_nomem("labels", err);
    at = (char *)(about->labels + given->count);
    for (size_t i = 0; i < given->count; i++) {
        char *value;
        strcpy(at, given->list[i]);
        value = strchr(at, '=');
        if (value == NULL || value == at)
            return cli_fail(err, "--label '%.200s': has no %s; give --label NAME=VALUE", given->list[i],
                            value == NULL ? "'='" : "name");
        about->labels[about->label_count++] = (tamis_label){at, value + 1};
        at += strlen(at) + 1;
        *value = '\0';
    }
    qsort(about->labels, about->label_count, sizeof *about->labels, by_name);
    return CLI_DONE;
}

int cli_about_read(cli_about *about, const cli_value *given, tamis_error *err) {
    *about = (cli_about){.has_version = given[CLI_ABOUT_VERSION].given,
                         .version = given[CLI_ABOUT_VERSION].number};
    return read_labels(about, &given[CLI_ABOUT_LABEL], err);
}

void cli_about_release(cli_about *about) {
    free(about->labels);
    about->labels = NULL;
}

/* ---- formats ---- */

static bool has_place(tamis_format format) {
    return format != TAMIS_FORMAT_GUAVA && format != TAMIS_FORMAT_DCSO;
}

int cli_about_check(const cli_about *about, tamis_format format, tamis_error *err) {
    if (has_place(format) || (about->label_count == 0 && about->version == 0))
        return CLI_DONE;
    return cli_fail(err, "%s: format %s has no place for it; leave it out, or give --format tamis",
                    about->label_count > 0 ? "--label" : "--filter-version", tamis_format_name(format));
}

tamis_format cli_about_format(const tamis_filter *filter, tamis_format format) {
    tamis_about has = TAMIS_ABOUT_INIT;

    if (format != TAMIS_FORMAT_AUTO || tamis_filter_about_get(filter, &has, NULL) != TAMIS_OK)
        return format;
    return has.format;
}

/* Who asks without that rule asks for other keys than were added. */
static void tell_lost_rule(uint32_t key_type, const char *shown, const char *place) {
    char sentence[500], rule[CLI_KEY_RULE];

    if (cli_key_alike(key_type, TAMIS_KEYS_UNTOLD))
        return;
    snprintf(sentence, sizeof sentence,
             "%.300s: its keys are made with %s, which %s has no place for; give that with every add and "
             "check",
             shown, cli_key_rule(rule, key_type), place);
    cli_report(sentence);
}

/* A server keeps the rule of keys alone, and that in our own layout. */
static void tell_lost_there(const tamis_about *has, const char *uri) {
    char sentence[500], shown[CLI_SERVER_SHOWN];

    cli_server_show(uri, shown);
    if (has->label_count > 0 || has->version != 0) {
        snprintf(sentence, sizeof sentence, "%.300s: a server has no place for %s%s%s, so it is without",
                 shown, has->label_count > 0 ? "labels" : "",
                 has->label_count > 0 && has->version != 0 ? " and " : "",
                 has->version != 0 ? "a version" : "");
        cli_report(sentence);
    }
    if (!cli_server_keeps_type(uri))
        tell_lost_rule(has->key_type, shown, "its layout");
}

void cli_about_tell_lost(const tamis_filter *filter, const char *output, tamis_format format) {
    tamis_about has = TAMIS_ABOUT_INIT;
    char sentence[400], place[40];

    if (cli_server_is_uri(output)) {
        if (tamis_filter_about_get(filter, &has, NULL) == TAMIS_OK)
            tell_lost_there(&has, output);
        return;
    }
    format = cli_about_format(filter, format);
    if (has_place(format) || tamis_filter_about_get(filter, &has, NULL) != TAMIS_OK)
        return;
    snprintf(place, sizeof place, "format %s", tamis_format_name(format));
    if (has.label_count > 0 || has.version != 0) {
        snprintf(sentence, sizeof sentence, "%.300s: %s has no place for %s%s%s, so it is without", output,
                 place, has.label_count > 0 ? "labels" : "",
                 has.label_count > 0 && has.version != 0 ? " and " : "", has.version != 0 ? "a version" : "");
        cli_report(sentence);
    }
    tell_lost_rule(has.key_type, output, place);
}

/* ---- two lists ---- */

/* Labels by name, of two lists that are. */
typedef struct joined {
    tamis_label *labels; /* malloc */
    size_t count;
    tamis_label clash; /* the first that the second list has with another value */
    size_t clashes;
} joined;

static bool is_given(const cli_about *about, const tamis_label *label) {
    return about != NULL && about->label_count > 0 &&
           bsearch(label, about->labels, about->label_count, sizeof *label, by_name) != NULL;
}

/* Of a name in both the first list's value is taken; where the second's is another, and `given` has none, it is a clash. */
static int join(joined *both, const tamis_label *one, size_t ones, const tamis_label *other, size_t others,
                const cli_about *given, tamis_error *err) {
    size_t i = 0, j = 0;

    *both = (joined){.labels = malloc((ones + others + 1) * sizeof *both->labels)};
    if (both->labels == NULL)
        return cli_fail_nomem("labels", err);
    while (i < ones || j < others) {
        int order = i == ones ? 1 : j == others ? -1 : by_name(&one[i], &other[j]);
        if (order == 0 && strcmp(one[i].value, other[j].value) != 0 && !is_given(given, &other[j]) &&
            both->clashes++ == 0)
            both->clash = one[i];
        both->labels[both->count++] = order <= 0 ? one[i] : other[j];
        i += order <= 0;
        j += order >= 0;
    }
    return CLI_DONE;
}

int cli_about_give(const cli_about *about, tamis_filter *filter, tamis_error *err) {
    tamis_about has = TAMIS_ABOUT_INIT;
    tamis_status status;
    joined both;

    if (tamis_filter_about_get(filter, &has, err) != TAMIS_OK ||
        join(&both, about->labels, about->label_count, has.labels, has.label_count, NULL, err) != CLI_DONE)
        return CLI_FAILED;
    has.labels = both.labels;
    has.label_count = both.count;
    if (about->has_version)
        has.version = about->version;
    status = tamis_filter_about_set(filter, &has, err);
    free(both.labels);
    return status == TAMIS_OK ? CLI_DONE : CLI_FAILED;
}

static void note_clash(cli_clash *clash, const joined *both, const char *path) {
    if (both->clashes > 0 && clash->count == 0)
        snprintf(clash->first, sizeof clash->first,
                 "%.120s: another value of label '%.80s' than the filters before it have; '%.80s' is kept",
                 path, both->clash.name, both->clash.value);
    clash->count += both->clashes;
}

static void note_data(cli_clash *clash, const tamis_about *mine, const tamis_about *its, const char *path) {
    if (its->data_size == 0 ||
        (its->data_size == mine->data_size && memcmp(its->data, mine->data, its->data_size) == 0))
        return;
    if (clash->data_count++ == 0)
        snprintf(clash->data_first, sizeof clash->data_first,
                 "%.300s: other user data than the first filter has; that of the first is kept", path);
}

static void tell(const char *first, size_t count) {
    char sentence[500], more[60] = "";

    if (count == 0)
        return;
    if (count == 2)
        snprintf(more, sizeof more, " (and so once more)");
    if (count > 2)
        snprintf(more, sizeof more, " (and so %zu times more)", count - 1);
    snprintf(sentence, sizeof sentence, "%s%s", first, more);
    cli_report(sentence);
}

void cli_about_tell_clash(const cli_clash *clash) {
    tell(clash->first, clash->count);
    tell(clash->data_first, clash->data_count);
}

int cli_about_unite(tamis_filter *into, const tamis_filter *from, const char *path, const cli_about *given,
                    cli_clash *clash, tamis_error *err) {
    tamis_about mine = TAMIS_ABOUT_INIT, its = TAMIS_ABOUT_INIT;
    tamis_status status;
    joined both;

    if (tamis_filter_about_get(into, &mine, err) != TAMIS_OK ||
        tamis_filter_about_get(from, &its, err) != TAMIS_OK ||
        join(&both, mine.labels, mine.label_count, its.labels, its.label_count, given, err) != CLI_DONE)
        return CLI_FAILED;
    note_clash(clash, &both, path);
    note_data(clash, &mine, &its, path);
    mine.labels = both.labels;
    mine.label_count = both.count;
    status = tamis_filter_about_set(into, &mine, err);
    free(both.labels);
    return status == TAMIS_OK ? CLI_DONE : CLI_FAILED;
}
