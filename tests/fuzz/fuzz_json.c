/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Lookups in JSON. The first line of the input is a pointer, the rest is one record. Outcome and values
 * are those of an oracle that builds the whole tree (support/json_oracle.c): for the record and for its
 * prefixes, with several pointers at once, and with every set of kernels. Messages about faults are those
 * of the scanner. Invalid pointers are refused.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stream/kernels/json_kernels.h"
#include "support/fault.h"
#include "support/isa.h"
#include "support/json_oracle.h"
#include "support/scratch.h"

enum { MEMORY = 64 << 20, POINTER = 200, QUERIES = 4 };

static void check(bool holds) {
    if (!holds)
        abort();
}

/* Four pointers: the given one, its parent, the root, and the given one again. */
static void pointers_of(const char *pointer, char parent[POINTER], const char *queried[QUERIES]) {
    const char *slash = strrchr(pointer, '/');
    snprintf(parent, POINTER, "%.*s", slash ? (int)(slash - pointer) : 0, pointer);
    queried[0] = pointer;
    queried[1] = parent;
    queried[2] = "";
    queried[3] = pointer;
}

static void check_values(json_tree *tree, const char *const queried[QUERIES],
                         const tamis_key values[QUERIES]) {
    for (size_t i = 0; i < QUERIES; i++) {
        test_bytes expected = {0};
        check(json_tree_find(tree, queried[i], &expected) == (values[i].data != NULL));
        check(values[i].size == expected.size &&
              (!expected.size || memcmp(values[i].data, expected.data, expected.size) == 0));
        bytes_clear(&expected);
    }
}

static void check_record(tamis__json *json, const char *const queried[QUERIES], const uint8_t *record,
                         size_t size, tamis__arena *arena) {
    uint8_t *own = malloc(size ? size : 1); /* exactly its size, for a sanitizer */
    check(own);
    if (size)
        memcpy(own, record, size);
    json_tree *tree = json_tree_read(own, size);
    tamis__fault first = {0};
    for (int isa = TAMIS__ISA_SCALAR; isa < TAMIS__ISA_COUNT; isa++) {
        tamis_key values[QUERIES];
        tamis__fault fault = {0};
        if (!isa_is_here((tamis__isa)isa))
            continue;
        json->kernels = tamis__json_kernels_of((tamis__isa)isa);
        const tamis_status status = tamis__json_find(json, (tamis_key){own, size}, values, arena, &fault);
        check(status == (tree ? TAMIS_OK : TAMIS_E_DAMAGED));
        check(tree || (fault.why && *fault.why && fault.pos <= size));
        if (isa == TAMIS__ISA_SCALAR)
            first = fault;
        check(tree || (fault.why == first.why && fault.pos == first.pos));
        if (tree)
            check_values(tree, queried, values);
        tamis__arena_reset(arena);
    }
    json_tree_free(tree);
    free(own);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *line = size ? memchr(data, '\n', size < POINTER ? size : POINTER) : NULL;
    fault_memory memory = {.limit = MEMORY};
    const tamis_allocator allocator = fault_memory_allocator(&memory);
    tamis__arena arena = {.memory = allocator};
    char pointer[POINTER + 1] = "", parent[POINTER];
    const char *queried[QUERIES];
    tamis__json *json = NULL;
    tamis__pointer_fault wrong = {.index = QUERIES};
    if (line && !memchr(data, 0, (size_t)(line - data))) {
        memcpy(pointer, data, (size_t)(line - data));
        size -= (size_t)(line + 1 - data);
        data = line + 1;
    }
    pointers_of(pointer, parent, queried);
    const tamis_status status = tamis__json_create(&json, queried, QUERIES, &allocator, &wrong);
    if (*pointer && *pointer != '/')
        check(status == TAMIS_E_INVALID);
    if (status == TAMIS_E_INVALID) {
        check(!json && wrong.index < QUERIES && wrong.fault.why &&
              wrong.fault.pos < strlen(queried[wrong.index]));
    } else {
        check(status == TAMIS_OK);
        check_record(json, queried, data, size, &arena);
        /* Prefixes of the record: all of them if it is short. */
        for (size_t cut = 0; cut < size; cut += 1 + size / 64)
            check_record(json, queried, data, cut, &arena);
        check_record(json, queried, data, size, &arena);
    }
    tamis__arena_release(&arena);
    tamis__json_free(json);
    check(memory.live_blocks == 0);
    return 0;
}
