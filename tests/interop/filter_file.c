/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Filters in files of any format, through the public interface, for shell scripts:
 *
 *     filter_file make FORMAT SCHEME RULE N P DATA OUT  makes an empty filter with the sizes of the format's own
 *                                                       program; RULE for Guava's k: size or fpp; DATA:
 *                                                       user data
 *     filter_file add FORMAT IN OUT                     adds the keys of standard input
 *     filter_file ask FORMAT IN                         prints 0 or 1 for each key of standard input
 *     filter_file join FORMAT IN IN OUT                 writes the union
 *     filter_file data FORMAT IN                        prints the user data
 *
 * A key is a line of hexadecimal digits.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tamis/compat/guava.h>
#include <tamis/tamis.h>

static tamis_error err = TAMIS_ERROR_INIT;

static void die(const char *what, const char *why) {
    fprintf(stderr, "filter_file: %s: %s\n", what, why);
    exit(2);
}

static void must(tamis_status status) {
    if (status != TAMIS_OK) {
        fprintf(stderr, "%s: %s\n", tamis_status_name(status), err.text);
        exit(1);
    }
}

/* ---- files ---- */

/* The caller frees it. */
static uint8_t *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0)
        die(path, strerror(errno));
    *size = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(*size + 1);
    if (!bytes || fread(bytes, 1, *size, file) != *size)
        die(path, "cannot be read");
    fclose(file);
    return bytes;
}

static tamis_filter *read_filter(tamis_format format, const char *path) {
    size_t size;
    uint8_t *bytes = read_file(path, &size);
    tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
    tamis_filter *filter = NULL;
    options.format = format;
    options.allow_over_capacity = true; /* as the other programs do */
    must(tamis_filter_decode(&filter, bytes, size, &options, &err));
    free(bytes);
    return filter;
}

/* And gives it back. */
static void write_filter(tamis_filter *filter, tamis_format format, const char *path) {
    uint64_t size;
    must(tamis_filter_encoded_size(filter, format, &size, &err));
    uint8_t *bytes = malloc(size);
    FILE *file = fopen(path, "wb");
    if (!bytes || !file)
        die(path, strerror(errno));
    must(tamis_filter_encode(filter, format, bytes, size, &err));
    if (fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
        die(path, "cannot be written");
    free(bytes);
    tamis_filter_free(filter);
}

/* ---- keys ---- */

/* The next line of standard input; false after the last. */
static bool next_key(tamis_key *key) {
    static char *line;
    static size_t capacity;
    ssize_t length = getline(&line, &capacity, stdin);
    if (length < 0)
        return false;
    size_t size = (size_t)length / 2;
    for (size_t i = 0; i < size; i++) {
        char digits[3] = {line[2 * i], line[2 * i + 1], 0};
        line[i] = (char)strtoul(digits, NULL, 16);
    }
    *key = (tamis_key){line, size};
    return true;
}

/* ---- what can be asked for ---- */

static tamis_filter *make_guava(const char *rule, const tamis_plan_options *plan_options) {
    tamis_guava_options options = TAMIS_GUAVA_OPTIONS_INIT;
    tamis_guava *guava = NULL;
    tamis_filter *filter = NULL;
    options.expected_insertions = (int64_t)plan_options->expect;
    options.fpp = plan_options->fpr;
    options.strategy = plan_options->scheme;
    options.rule = strcmp(rule, "fpp") == 0 ? TAMIS_GUAVA_RULE_FPP : TAMIS_GUAVA_RULE_SIZE;
    must(tamis_guava_create(&guava, &options, &err));
    must(tamis_filter_copy(&filter, tamis_guava_filter(guava), &err));
    tamis_guava_free(guava);
    return filter;
}

static tamis_filter *make_planned(const tamis_plan_options *plan_options) {
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter *filter = NULL;
    must(tamis_plan_make(&plan, plan_options, &err));
    must(tamis_filter_create(&filter, &plan, NULL, &err));
    return filter;
}

static void make(tamis_format format, char **arg) {
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_metadata metadata = TAMIS_METADATA_INIT;
    must(tamis_scheme_parse(&plan_options.scheme, arg[0], &err));
    plan_options.kind = TAMIS_KIND_CLASSIC;
    plan_options.expect = strtoull(arg[2], NULL, 10);
    plan_options.fpr = strtod(arg[3], NULL);
    tamis_filter *filter =
        format == TAMIS_FORMAT_GUAVA ? make_guava(arg[1], &plan_options) : make_planned(&plan_options);
    uint8_t *data = read_file(arg[4], &metadata.data_size);
    metadata.data = data;
    must(tamis_filter_metadata_set(filter, &metadata, &err));
    free(data);
    write_filter(filter, format, arg[5]);
}

static void add(tamis_format format, char **arg) {
    tamis_filter *filter = read_filter(format, arg[0]);
    for (tamis_key key; next_key(&key);)
        must(tamis_filter_add(filter, key.data, key.size, NULL, &err));
    write_filter(filter, format, arg[1]);
}

static void query(tamis_format format, char **arg) {
    tamis_filter *filter = read_filter(format, arg[0]);
    tamis_answer answer;
    for (tamis_key key; next_key(&key);) {
        must(tamis_filter_contains(filter, key.data, key.size, &answer, &err));
        puts(answer == TAMIS_PRESENT ? "1" : "0");
    }
    tamis_filter_free(filter);
}

static void join(tamis_format format, char **arg) {
    tamis_filter *filter = read_filter(format, arg[0]), *other = read_filter(format, arg[1]);
    must(tamis_filter_union(filter, other, &err));
    tamis_filter_free(other);
    write_filter(filter, format, arg[2]);
}

static void data(tamis_format format, char **arg) {
    tamis_filter *filter = read_filter(format, arg[0]);
    tamis_metadata metadata = TAMIS_METADATA_INIT;
    must(tamis_filter_metadata_get(filter, &metadata, &err));
    if (metadata.data_size)
        fwrite(metadata.data, 1, metadata.data_size, stdout);
    tamis_filter_free(filter);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(tamis_format format, char **arg);
        int words;
    } verbs[] = {{"make", make, 6}, {"add", add, 2}, {"ask", query, 1}, {"join", join, 3}, {"data", data, 1}};
    tamis_format format;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (argc == 3 + verbs[i].words && strcmp(argv[1], verbs[i].name) == 0) {
            must(tamis_format_parse(&format, argv[2], &err));
            verbs[i].run(format, argv + 3);
            return ferror(stdout) || fflush(stdout) ? 2 : 0;
        }
    die("usage", "filter_file VERB FORMAT ...; see its head");
}
