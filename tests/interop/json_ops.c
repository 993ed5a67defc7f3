/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The C program of json_keys.py. Reads records from standard input, each preceded by its size in 8 bytes,
 * little-endian. Prints a line for each:
 *
 *     json_ops POINTER...  bad AT WHY   malformed, from byte AT on
 *                          ok VALUE...  for each pointer "=" and the value in hexadecimal, or "-" for no value
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "stream/extract/find.h"

static void die(const char *why) {
    fprintf(stderr, "json_ops: %s\n", why);
    exit(2);
}

static void put_value(tamis_key value) {
    const unsigned char *bytes = value.data;
    fputs(bytes ? " =" : " -", stdout);
    for (size_t i = 0; i < value.size; i++) {
        putchar("0123456789abcdef"[bytes[i] >> 4]);
        putchar("0123456789abcdef"[bytes[i] & 15]);
    }
}

static void put_record(tamis__json *json, tamis_key record, tamis_key *values, size_t count,
                       tamis__arena *arena) {
    tamis__fault fault;
    const tamis_status status = tamis__json_find(json, record, values, arena, &fault);
    if (status == TAMIS_E_DAMAGED) {
        printf("bad %zu %s", fault.pos, fault.why);
    } else if (status == TAMIS_OK) {
        fputs("ok", stdout);
        for (size_t i = 0; i < count; i++)
            put_value(values[i]);
    } else {
        die(tamis_strerror(status));
    }
    putchar('\n');
    tamis__arena_reset(arena);
}

int main(int argc, char **argv) {
    const size_t count = (size_t)argc - 1;
    tamis__arena arena = {.memory = tamis__allocator_resolve(NULL)};
    tamis_key *values = calloc(count + 1, sizeof *values);
    tamis__json *json = NULL;
    tamis__pointer_fault wrong;
    unsigned char head[8];
    if (!values || tamis__json_create(&json, (const char *const *)argv + 1, count, NULL, &wrong) != TAMIS_OK)
        die("a pointer is none");
    while (fread(head, 1, sizeof head, stdin) == sizeof head) {
        const size_t size = (size_t)tamis__load64le(head);
        unsigned char *record = malloc(size ? size : 1); /* of just its size, for a sanitizer */
        if (!record || fread(record, 1, size, stdin) != size)
            die("a record is cut short");
        put_record(json, (tamis_key){record, size}, values, count, &arena);
        free(record);
    }
    tamis__json_free(json);
    tamis__arena_release(&arena);
    free(values);
    return ferror(stdout) || fflush(stdout) ? 2 : 0;
}
