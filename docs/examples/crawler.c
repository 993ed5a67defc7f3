/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * URLs that a crawler has not fetched yet: cc crawler.c $(pkg-config --cflags --libs tamis)
 *
 *     crawler FILE <urls >to_fetch
 *
 * Prints the URLs of standard input that it never printed before, and keeps them in FILE, about 6 bytes each,
 * however many come. One new URL in 10^9 is taken for an old one, and not printed.
 *
 * FILE is replaced as a whole after the URLs were printed. After a crash before that, the old FILE is still
 * there, and the URLs are printed again. The other order would be worse: a URL that is in FILE and was not
 * printed would never be fetched.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tamis/tamis.h>

enum { LINE = 1 << 16 };
static tamis_lock *lock;

static void unlock(void) {
    tamis_file_unlock(lock);
}

static void die(const char *why) {
    fprintf(stderr, "crawler: %s\n", why);
    exit(2);
}

static void need(tamis_status status, const tamis_error *err) {
    if (status != TAMIS_OK)
        die(err->text);
}

/* The filter in the file, or, where there is no such file, an empty one that grows. */
static tamis_filter *open_or_make(const char *path) {
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT; /* no want.expect: the filter grows */
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter *fetched = NULL;

    options.writable = true;
    if (tamis_filter_open(&fetched, path, &options, &err) == TAMIS_OK)
        return fetched;
    if (err.sys_errno != ENOENT)
        die(err.text);
    plan_options.fpr = 1e-9;
    need(tamis_plan_make(&plan, &plan_options, &err), &err);
    need(tamis_filter_create(&fetched, &plan, NULL, &err), &err);
    return fetched;
}

int main(int argc, char **argv) {
    static char url[LINE];
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_filter *fetched;

    if (argc != 2)
        die("usage: crawler FILE <urls");
    /* Before it is opened: what another crawler saved in between would be lost. */
    need(tamis_file_lock(&lock, argv[1], &err), &err);
    atexit(unlock); /* not to leave the lock's file behind; the lock itself ends with the process anyway */
    fetched = open_or_make(argv[1]);
    while (fgets(url, LINE, stdin) != NULL) {
        tamis_answer answer = TAMIS_PRESENT;
        size_t size = strcspn(url, "#\r\n"); /* what follows # names a place within the page */
        if (strlen(url) == LINE - 1)
            die("a URL of more than 65,534 bytes");
        if (size > 0)
            need(tamis_filter_add(fetched, url, size, &answer, &err), &err);
        if (answer == TAMIS_ABSENT)
            printf("%.*s\n", (int)size, url);
    }
    if (ferror(stdin) || fflush(stdout) != 0 || ferror(stdout))
        die("standard input or output failed");
    need(tamis_filter_save(fetched, argv[1], &err), &err);
    tamis_filter_free(fetched);
    return 0;
}
