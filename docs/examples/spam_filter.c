/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Senders to block, ten million in 28 MB: cc spam_filter.c $(pkg-config --cflags --libs tamis)
 *
 *     spam_filter build LIST GOOD F ALLOW     LIST: addresses to block; GOOD: known good senders
 *     spam_filter check F ALLOW <addresses    prints for each: pass, blocked or rescued
 *
 * The filter F answers "present" for each address of LIST, and wrongly for one in 10,000 of all others. Known
 * good senders must not be blocked by mistake. So when F is made, all addresses of GOOD are looked up in it.
 * Those that F has, though LIST does not, go into ALLOW: a few in 10,000. So known senders are never blocked
 * by mistake, and unknown ones at the rate of F.
 *
 * ALLOW is a plain list that is searched exactly. A second filter instead would be wrong at times too, and
 * would let spam pass. F and ALLOW are made together and belong together: ALLOW has the exceptions of just
 * this F.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tamis/tamis.h>

enum { BATCH = 256, LINE = 322 }; /* an address has at most 64 + 1 + 255 bytes */
static const double RATE = 1e-4;

typedef struct addresses {
    tamis_key keys[BATCH];
    char lines[BATCH][LINE];
} addresses;

typedef struct exception {
    char address[LINE];
    bool listed; /* LIST has it: the filter was right */
} exception;

typedef struct exceptions {
    exception *items; /* in order, each once */
    size_t count, capacity;
} exceptions;

static void die(const char *what, const char *why) {
    fprintf(stderr, "spam_filter: %s%s%s\n", what, *what != '\0' ? ": " : "", why);
    exit(2);
}

static void need(tamis_status status, const tamis_error *err) {
    if (status != TAMIS_OK)
        die("", err->text);
}

static FILE *open_file(const char *name, const char *mode) {
    FILE *file = fopen(name, mode);
    if (file == NULL)
        die(name, *mode == 'r' ? "cannot be read" : "cannot be written");
    return file;
}

/* The next addresses, in lower case, without empty lines; 0 at the end. */
static size_t read_batch(addresses *batch, FILE *file, const char *name) {
    size_t count = 0;

    while (count < BATCH && fgets(batch->lines[count], LINE, file) != NULL) {
        char *line = batch->lines[count];
        size_t size = strcspn(line, "\r\n");
        if (size == LINE - 1)
            die(name, "a line is too long for an address");
        line[size] = '\0';
        for (size_t i = 0; i < size; i++)
            line[i] = (char)tolower((unsigned char)line[i]);
        if (size > 0)
            batch->keys[count++] = (tamis_key){line, size};
    }
    if (ferror(file))
        die(name, "cannot be read");
    return count;
}

static int by_address(const void *left, const void *right) {
    return strcmp(((const exception *)left)->address, ((const exception *)right)->address);
}

static exception *find(const exceptions *list, const char *address) {
    exception wanted;
    strcpy(wanted.address, address);
    return list->count > 0 ? bsearch(&wanted, list->items, list->count, sizeof wanted, by_address) : NULL;
}

/* The addresses of a file, or, given a filter, the addresses that it hits. */
static exceptions read_exceptions(const char *name, const tamis_filter *filter, addresses *batch) {
    tamis_error err = TAMIS_ERROR_INIT;
    exceptions list = {NULL, 0, 0};
    FILE *file = open_file(name, "r");
    size_t count, kept = 0;

    while ((count = read_batch(batch, file, name)) > 0) {
        tamis_answer answers[BATCH];
        memset(answers, TAMIS_PRESENT, sizeof answers);
        if (filter != NULL)
            need(tamis_filter_contains_many(filter, batch->keys, count, answers, NULL, &err), &err);
        if (list.capacity < list.count + count) {
            list.capacity = 2 * list.capacity + BATCH;
            list.items = realloc(list.items, list.capacity * sizeof *list.items);
            if (list.items == NULL)
                die(name, "out of memory");
        }
        for (size_t i = 0; i < count; i++) {
            if (answers[i] != TAMIS_PRESENT)
                continue;
            strcpy(list.items[list.count].address, batch->lines[i]);
            list.items[list.count++].listed = false;
        }
    }
    fclose(file);
    if (list.count > 0)
        qsort(list.items, list.count, sizeof *list.items, by_address);
    for (size_t i = 0; i < list.count; i++)
        if (i == 0 || by_address(&list.items[i], &list.items[kept - 1]) != 0)
            list.items[kept++] = list.items[i];
    list.count = kept;
    return list;
}

/* A filter of just the size for the addresses of a file. */
static tamis_filter *make_filter(const char *name, addresses *batch) {
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter *filter = NULL;
    FILE *file = open_file(name, "r");
    size_t count;

    while ((count = read_batch(batch, file, name)) > 0)
        plan_options.expect += count;
    if (plan_options.expect == 0)
        die(name, "holds no address");
    plan_options.fpr = RATE;
    need(tamis_plan_make(&plan, &plan_options, &err), &err);
    need(tamis_filter_create(&filter, &plan, NULL, &err), &err);
    rewind(file);
    while ((count = read_batch(batch, file, name)) > 0)
        need(tamis_filter_add_many(filter, batch->keys, count, NULL, NULL, &err), &err);
    fclose(file);
    return filter;
}

static void build(const char *list, const char *good, const char *path, const char *allow, addresses *batch) {
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_filter *filter = make_filter(list, batch);
    exceptions hit = read_exceptions(good, filter, batch);
    FILE *file = open_file(list, "r");
    size_t count;

    while ((count = read_batch(batch, file, list)) > 0) {
        for (size_t i = 0; i < count; i++) {
            exception *known = find(&hit, batch->lines[i]);
            if (known != NULL)
                known->listed = true;
        }
    }
    fclose(file);
    file = open_file(allow, "w");
    for (size_t i = 0; i < hit.count; i++)
        if (!hit.items[i].listed)
            fprintf(file, "%s\n", hit.items[i].address);
    if (ferror(file) || fclose(file) != 0)
        die(allow, "cannot be written");
    need(tamis_filter_save(filter, path, &err), &err);
    free(hit.items);
    tamis_filter_free(filter);
}

static void check(const char *path, const char *allow, addresses *batch) {
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_filter *filter = NULL;
    tamis_answer answers[BATCH];
    exceptions allowed = read_exceptions(allow, NULL, batch);
    size_t count;

    /* Mapped: there at once, and one copy in memory however many processes query it. */
    need(tamis_filter_open(&filter, path, NULL, &err), &err);
    while ((count = read_batch(batch, stdin, "standard input")) > 0) {
        need(tamis_filter_contains_many(filter, batch->keys, count, answers, NULL, &err), &err);
        for (size_t i = 0; i < count; i++) {
            const char *verdict = "pass";
            if (answers[i] == TAMIS_PRESENT)
                verdict = find(&allowed, batch->lines[i]) != NULL ? "rescued" : "blocked";
            printf("%s\t%s\n", verdict, batch->lines[i]);
        }
    }
    if (fflush(stdout) != 0 || ferror(stdout))
        die("standard output", "cannot be written");
    tamis_filter_free(filter);
    free(allowed.items);
}

int main(int argc, char **argv) {
    static addresses batch;

    if (argc == 6 && strcmp(argv[1], "build") == 0)
        build(argv[2], argv[3], argv[4], argv[5], &batch);
    else if (argc == 4 && strcmp(argv[1], "check") == 0)
        check(argv[2], argv[3], &batch);
    else
        die("usage", "spam_filter build LIST GOOD F ALLOW, or spam_filter check F ALLOW");
    return 0;
}
