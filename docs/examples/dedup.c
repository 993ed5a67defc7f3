/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines of standard input, each the first time it is seen: cc dedup.c $(pkg-config --cflags --libs tamis) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tamis/tamis.h>

enum { BATCH = 256, BUFFER = 1 << 20 };

static void die(const char *why) {
    fprintf(stderr, "dedup: %s\n", why);
    exit(2);
}

/* Many keys in one call: while one waits for memory, the next is hashed. */
static void answer(tamis_filter *filter, const tamis_key *lines, size_t count) {
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_answer answers[BATCH];

    if (tamis_filter_add_many(filter, lines, count, answers, NULL, &err) != TAMIS_OK)
        die(err.text);
    for (size_t i = 0; i < count; i++)
        if (answers[i] == TAMIS_ABSENT)
            fwrite(lines[i].data, 1, lines[i].size + 1, stdout); /* and the newline after it */
}

int main(void) {
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT; /* no expect: the filter grows */
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter *filter = NULL;
    tamis_key lines[BATCH]; /* views into buffer: nothing is copied */
    static char buffer[BUFFER];
    size_t held = 0, got, count;

    plan_options.fpr = 1e-9; /* one new line in 10^9 is taken for an old one */
    if (tamis_plan_make(&plan, &plan_options, &err) != TAMIS_OK ||
        tamis_filter_create(&filter, &plan, NULL, &err) != TAMIS_OK)
        die(err.text);
    do {
        char *line = buffer, *end, *newline;
        got = fread(buffer + held, 1, BUFFER - held, stdin);
        end = buffer + held + got;
        if (got == 0 && held > 0)
            *end++ = '\n'; /* the last line had none */
        for (count = 0; (newline = memchr(line, '\n', (size_t)(end - line))) != NULL; line = newline + 1) {
            lines[count++] = (tamis_key){line, (size_t)(newline - line)};
            if (count < BATCH)
                continue;
            answer(filter, lines, count);
            count = 0;
        }
        answer(filter, lines, count);
        held = (size_t)(end - line);
        if (held == BUFFER)
            die("a line of more than 1 MiB");
        memmove(buffer, line, held);
    } while (got > 0);
    tamis_filter_free(filter);
    if (ferror(stdin) || fflush(stdout) != 0)
        die("standard input or output failed");
    return 0;
}
