/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines of standard input, each the first time it is seen: cc dedup.c $(pkg-config --cflags --libs tamis) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tamis/tamis.h>

enum { BATCH = 256, ROOM = 1 << 20 };

static void die(const char *why) {
    fprintf(stderr, "dedup: %s\n", why);
    exit(2);
}

/* Many keys in one call: while one waits for memory, the next is hashed. */
static void answer(tamis_filter *seen, const tamis_key *lines, size_t count) {
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_answer answers[BATCH];

    if (tamis_filter_add_many(seen, lines, count, answers, NULL, &err) != TAMIS_OK)
        die(err.text);
    for (size_t i = 0; i < count; i++)
        if (answers[i] == TAMIS_ABSENT)
            fwrite(lines[i].data, 1, lines[i].size + 1, stdout); /* and the newline behind it */
}

int main(void) {
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT; /* no want.expect: the filter grows */
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter *seen = NULL;
    tamis_key lines[BATCH]; /* views into room: nothing is copied */
    static char room[ROOM];
    size_t held = 0, got, count;

    plan_options.fpr = 1e-9; /* one new line in 10^9 is taken for an old one */
    if (tamis_plan_make(&plan, &plan_options, &err) != TAMIS_OK ||
        tamis_filter_create(&seen, &plan, NULL, &err) != TAMIS_OK)
        die(err.text);
    do {
        char *line = room, *end, *newline;
        got = fread(room + held, 1, ROOM - held, stdin);
        end = room + held + got;
        if (got == 0 && held > 0)
            *end++ = '\n'; /* the last line had none */
        for (count = 0; (newline = memchr(line, '\n', (size_t)(end - line))) != NULL; line = newline + 1) {
            lines[count++] = (tamis_key){line, (size_t)(newline - line)};
            if (count < BATCH)
                continue;
            answer(seen, lines, count);
            count = 0;
        }
        answer(seen, lines, count);
        held = (size_t)(end - line);
        if (held == ROOM)
            die("a line of more than 1 MiB");
        memmove(room, line, held);
    } while (got > 0);
    tamis_filter_free(seen);
    if (ferror(stdin) || fflush(stdout) != 0)
        die("standard input or output failed");
    return 0;
}
