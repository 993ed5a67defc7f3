/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/server/cli_trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/server/cli_server.h"

/* Prints the record percent-encoded, so that no byte of it ends a word or the line. */
static void print_record(FILE *line, const tamis_key *record) {
    const unsigned char *bytes = record->data;

    fputs("record=", line);
    for (size_t i = 0; i < record->size; i++)
        fprintf(line, bytes[i] > ' ' && bytes[i] < 0x7f && bytes[i] != '%' ? "%c" : "%%%02X", bytes[i]);
    putc('\t', line);
}

static void print_part(FILE *line, const tamis_redis_traced_part *part, bool adds) {
    char key[CLI_SERVER_NAME]; /* percent-encoded, so no byte ends a word or the line */
    size_t changed = 0;

    fprintf(line, "instance=%s\tkey=%s\toffsets=", part->instance,
            cli_server_encode(key, part->key, part->key_size));
    for (size_t i = 0; i < part->count; i++)
        fprintf(line, "%s%" PRIu64, i > 0 ? "," : "", part->offsets[i]);
    fputs("\tbits=", line);
    for (size_t i = 0; i < part->count; i++) {
        putc('0' + part->bits[i], line);
        changed += part->bits[i] == 0;
    }
    if (adds)
        fprintf(line, "\tchanged=%zu", changed);
    fprintf(line, "\tms=%.3f\t", (double)part->ns / 1e6);
}

/* Prints a trace with one write, so that lines of several processes do not mix. Without memory the line is
 * left out. */
static void print_line(void *context, const tamis_redis_traced *traced) {
    const char *answer = traced->answer == TAMIS_PRESENT  ? "seen"
                         : traced->answer == TAMIS_ABSENT ? traced->adds ? "fresh" : "absent"
                                                          : "unknown";
    char *text = NULL;
    size_t size = 0;
    FILE *line = open_memstream(&text, &size);

    (void)context;
    if (!line)
        return;
    if (traced->element)
        print_record(line, traced->element);
    for (size_t i = 0; i < traced->part_count; i++)
        print_part(line, &traced->parts[i], traced->adds);
    fprintf(line, "answer=%s\n", answer);
    if (fclose(line) == 0 && write(STDERR_FILENO, text, size) < 0)
        clearerr(stderr); /* an error on standard error cannot be reported */
    free(text);
}

tamis_status cli_trace_check(const char *name, tamis_error *err) {
    if (cli_server_is_uri(name))
        return TAMIS_OK;
    return cli_fail(err, "--trace: '%.300s' is a file, and only filters in a Redis are traced; leave it out",
                    name);
}

void cli_trace_family(tamis_redis_family *family) {
    tamis_redis_family_trace(family, print_line, NULL);
}

tamis_status cli_trace_filter(tamis_filter *filter, tamis_error *err) {
    return tamis_redis_filter_trace(filter, print_line, NULL, err);
}
