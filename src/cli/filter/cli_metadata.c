/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Labels, version and user data: from options, and of filters that are merged or saved elsewhere.
 *
 *     --label, --data-version --> cli_metadata_read --> cli_metadata_apply --> the filter
 *     two filters             --> cli_metadata_merge: the first wins, conflicts are counted
 *     another format          --> cli_metadata_report_lost: a remark says what it cannot store
 */
#include "cli/filter/cli_metadata.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/core/cli_rows.h"
#include "cli/input/cli_key.h"
#include "cli/server/cli_server.h"

/* ---- options ---- */

static int by_name(const void *a, const void *b) {
    return strcmp(((const tamis_label *)a)->name, ((const tamis_label *)b)->name);
}

static tamis_status read_labels(cli_metadata *metadata, const cli_value *given, tamis_error *err) {
    size_t size = given->count * sizeof *metadata->labels;

    if (given->count > TAMIS_LABELS_MAX)
        return cli_fail(err, "--label: %zu of them are too many; give up to %d", given->count,
                        TAMIS_LABELS_MAX);
    for (size_t i = 0; i < given->count; i++)
        size += strlen(given->list[i]) + 1;
    metadata->labels = malloc(size + 1);
    if (!metadata->labels)
        return cli_fail_nomem("labels", err);
    char *to = (char *)(metadata->labels + given->count);
    for (size_t i = 0; i < given->count; i++) {
        strcpy(to, given->list[i]);
        char *value = strchr(to, '=');
        if (!value || value == to)
            return cli_fail(err, "--label '%.200s': has no %s; give --label NAME=VALUE", given->list[i],
                            !value ? "'='" : "name");
        metadata->labels[metadata->label_count++] = (tamis_label){to, value + 1};
        to += strlen(to) + 1;
        *value = '\0';
    }
    qsort(metadata->labels, metadata->label_count, sizeof *metadata->labels, by_name);
    return TAMIS_OK;
}

tamis_status cli_metadata_read(cli_metadata *metadata, const cli_value *values, tamis_error *err) {
    *metadata = (cli_metadata){.has_version = values[CLI_OPT_DATA_VERSION].given,
                               .version = values[CLI_OPT_DATA_VERSION].number};
    return read_labels(metadata, &values[CLI_OPT_LABEL], err);
}

void cli_metadata_release(cli_metadata *metadata) {
    free(metadata->labels);
    metadata->labels = NULL;
}

/* ---- formats ---- */

static bool can_store(tamis_format format) {
    return format == TAMIS_FORMAT_AUTO || format == TAMIS_FORMAT_TAMIS;
}

tamis_status cli_metadata_check(const cli_metadata *metadata, tamis_format format, tamis_error *err) {
    if (can_store(format) || (metadata->label_count == 0 && metadata->version == 0))
        return TAMIS_OK;
    return cli_fail(err, "%s: format %s does not store it; leave it out, or give --format tamis",
                    metadata->label_count > 0 ? "--label" : "--data-version", tamis_format_name(format));
}

tamis_format cli_metadata_format(const tamis_filter *filter, tamis_format format) {
    tamis_metadata has = TAMIS_METADATA_INIT;

    if (format != TAMIS_FORMAT_AUTO || tamis_filter_metadata_get(filter, &has, NULL) != TAMIS_OK)
        return format;
    return has.format;
}

/* Reports a lost rule for keys: lookups without it would search for other keys than were added. */
static void report_lost_rule(uint32_t key_type, const char *shown, const char *keeper) {
    char message[500], rule[CLI_KEY_RULE];

    if (cli_key_types_equal(key_type, TAMIS_KEYS_UNSPECIFIED))
        return;
    snprintf(message, sizeof message,
             "%.300s: its keys are made with %s, which %s does not store; give that with every add and "
             "check",
             shown, cli_key_rule(rule, key_type), keeper);
    cli_report(message);
}

/* A server stores no labels and no version. It stores the rule for keys only in layout tamis. */
static void report_lost_on_server(const tamis_metadata *has, const char *uri) {
    char message[500], shown[CLI_SERVER_SHOWN];

    cli_server_show(uri, shown);
    if (has->label_count > 0 || has->version != 0) {
        snprintf(message, sizeof message, "%.300s: a server does not store %s%s%s, so it is without", shown,
                 has->label_count > 0 ? "labels" : "",
                 has->label_count > 0 && has->version != 0 ? " and " : "",
                 has->version != 0 ? "a version" : "");
        cli_report(message);
    }
    if (!cli_server_keeps_type(uri))
        report_lost_rule(has->key_type, shown, "its layout");
}

void cli_metadata_report_lost(const tamis_filter *filter, const char *output, tamis_format format) {
    tamis_metadata has = TAMIS_METADATA_INIT;
    char message[400], keeper[40];

    if (cli_server_is_uri(output)) {
        if (tamis_filter_metadata_get(filter, &has, NULL) == TAMIS_OK)
            report_lost_on_server(&has, output);
        return;
    }
    format = cli_metadata_format(filter, format);
    if (can_store(format) || tamis_filter_metadata_get(filter, &has, NULL) != TAMIS_OK)
        return;
    snprintf(keeper, sizeof keeper, "format %s", tamis_format_name(format));
    if (has.label_count > 0 || has.version != 0) {
        snprintf(message, sizeof message, "%.300s: %s does not store %s%s%s, so it is without", output,
                 keeper, has.label_count > 0 ? "labels" : "",
                 has.label_count > 0 && has.version != 0 ? " and " : "", has.version != 0 ? "a version" : "");
        cli_report(message);
    }
    report_lost_rule(has.key_type, output, keeper);
}

/* ---- joining two lists ---- */

/* Union of two lists of labels, sorted by name. */
typedef struct label_join {
    tamis_label *labels; /* all labels, malloc */
    size_t count;
    tamis_label conflict; /* first label with another value in the second list */
    size_t conflicts;     /* number of such labels */
} label_join;

static bool is_given(const cli_metadata *metadata, const tamis_label *label) {
    return metadata && metadata->label_count > 0 &&
           bsearch(label, metadata->labels, metadata->label_count, sizeof *label, by_name);
}

/* Joins the labels of two filters, which are sorted. If both have a name, the value of the first is kept. If
 * the values differ and `given` does not have the name, it is a conflict. */
static tamis_status join_labels(label_join *joined_list, const tamis_metadata *first,
                                const tamis_metadata *second, const cli_metadata *given, tamis_error *err) {
    const tamis_label *a = first->labels, *b = second->labels;
    const size_t a_count = first->label_count, b_count = second->label_count;
    size_t i = 0, j = 0;

    *joined_list = (label_join){.labels = malloc((a_count + b_count + 1) * sizeof *joined_list->labels)};
    if (!joined_list->labels)
        return cli_fail_nomem("labels", err);
    while (i < a_count || j < b_count) {
        const int order = i == a_count ? 1 : j == b_count ? -1 : by_name(&a[i], &b[j]);
        if (order == 0 && strcmp(a[i].value, b[j].value) != 0 && !is_given(given, &b[j]) &&
            joined_list->conflicts++ == 0)
            joined_list->conflict = a[i];
        joined_list->labels[joined_list->count++] = order <= 0 ? a[i] : b[j];
        i += order <= 0;
        j += order >= 0;
    }
    return TAMIS_OK;
}

tamis_status cli_metadata_apply(const cli_metadata *metadata, tamis_filter *filter, tamis_error *err) {
    tamis_metadata given = TAMIS_METADATA_INIT, has = TAMIS_METADATA_INIT;
    label_join joined_list;

    given.labels = metadata->labels;
    given.label_count = metadata->label_count;
    if (tamis_filter_metadata_get(filter, &has, err) != TAMIS_OK ||
        join_labels(&joined_list, &given, &has, NULL, err) != TAMIS_OK)
        return err->status;
    has.labels = joined_list.labels;
    has.label_count = joined_list.count;
    if (metadata->has_version)
        has.version = metadata->version;
    const tamis_status status = tamis_filter_metadata_set(filter, &has, err);
    free(joined_list.labels);
    return status;
}

static void note_conflict(cli_metadata_conflict *conflict, const label_join *joined_list, const char *path) {
    if (joined_list->conflicts > 0 && conflict->count == 0)
        snprintf(conflict->first, sizeof conflict->first,
                 "%.120s: another value of label '%.80s' than the filters before it have; '%.80s' is kept",
                 path, joined_list->conflict.name, joined_list->conflict.value);
    conflict->count += joined_list->conflicts;
}

static void note_data(cli_metadata_conflict *conflict, const tamis_metadata *into_data,
                      const tamis_metadata *from_data, const char *path) {
    if (from_data->data_size == 0 || (from_data->data_size == into_data->data_size &&
                                      memcmp(from_data->data, into_data->data, from_data->data_size) == 0))
        return;
    if (conflict->data_count++ == 0)
        snprintf(conflict->data_first, sizeof conflict->data_first,
                 "%.300s: other user data than the first filter has; that of the first is kept", path);
}

static void report_count(const char *first, size_t count) {
    char message[500], more[60] = "";

    if (count == 0)
        return;
    if (count == 2)
        snprintf(more, sizeof more, " (and so once more)");
    if (count > 2)
        snprintf(more, sizeof more, " (and so %zu times more)", count - 1);
    snprintf(message, sizeof message, "%s%s", first, more);
    cli_report(message);
}

void cli_metadata_report_conflict(const cli_metadata_conflict *conflict) {
    report_count(conflict->first, conflict->count);
    report_count(conflict->data_first, conflict->data_count);
}

tamis_status cli_metadata_merge(tamis_filter *into, const tamis_filter *from, const char *path,
                                cli_metadata_conflict *conflict, tamis_error *err) {
    tamis_metadata into_data = TAMIS_METADATA_INIT, from_data = TAMIS_METADATA_INIT;
    label_join joined_list;

    if (tamis_filter_metadata_get(into, &into_data, err) != TAMIS_OK ||
        tamis_filter_metadata_get(from, &from_data, err) != TAMIS_OK ||
        join_labels(&joined_list, &into_data, &from_data, conflict->given, err) != TAMIS_OK)
        return err->status;
    note_conflict(conflict, &joined_list, path);
    note_data(conflict, &into_data, &from_data, path);
    into_data.labels = joined_list.labels;
    into_data.label_count = joined_list.count;
    const tamis_status status = tamis_filter_metadata_set(into, &into_data, err);
    free(joined_list.labels);
    return status;
}
