/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Requests of Redis clients. Byte 0 of the input is the size of the pieces in which the rest arrives. Commands
 * and errors must be those of bytes that arrive at once. Arguments lie within their command, or in the line
 * of the parser.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/memory.h"
#include "server/resp_parser.h"

static void check(bool holds) {
    if (!holds)
        abort();
}

/* What a parse found, as one number. */
static uint64_t parse(const uint8_t *bytes, size_t size, size_t piece) {
    static const resp_limits limits = {.arguments = 64, .bulk = 4096, .command = 8192};
    resp_parser parser = {.memory = tamis__allocator_resolve(NULL)};
    resp_result result = RESP_PARTIAL;
    uint64_t found = 0;
    size_t first = 0;

    for (size_t received = 0; received < size && result != RESP_INVALID;) {
        received += size - received < piece ? size - received : piece;
        do {
            const size_t length = received - first;
            size_t consumed = 0;
            char *data = malloc(length ? length : 1); /* exactly its size, for a sanitizer */
            check(data);
            memcpy(data, bytes + first, length);
            result = tamis__resp_parse(&parser, &limits, data, length, &consumed);
            check(result != RESP_NO_MEMORY && consumed <= length);
            check((result == RESP_COMMAND) == (consumed > 0));
            if (result == RESP_INVALID)
                found = XXH3_64bits_withSeed(parser.error, strlen(parser.error), found);
            if (result == RESP_COMMAND) {
                check(parser.count <= limits.arguments);
                found = XXH3_64bits_withSeed(&consumed, sizeof consumed, found);
                for (size_t i = 0; i < parser.count; i++)
                    found = XXH3_64bits_withSeed(parser.arguments[i].data, parser.arguments[i].size, found);
            }
            first += consumed;
            free(data);
        } while (result == RESP_COMMAND);
    }
    tamis__resp_parser_release(&parser);
    return found;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2)
        return 0;
    check(parse(data + 1, size - 1, 1u + data[0]) == parse(data + 1, size - 1, size));
    return 0;
}
