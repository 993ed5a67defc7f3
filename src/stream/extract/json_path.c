/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Compiles JSON pointers (RFC 6901) to a tree of their tokens, so that one pass over a record finds all
 * values.
 *
 *     "/a/b"  "/a/c/d"  "/e"            sorted in depth-first order
 *
 *     root -- a -- b                    a common prefix is one node
 *          |    `- c -- d
 *          `- e
 *
 * The pointers are sorted so that each one follows its prefixes. The tree then grows only at its right edge.
 * `frames` holds the path to the last node, and a new pointer shares the part of the path that agrees.
 */
#include <stdlib.h>
#include <string.h>

#include "stream/kernels/json_kernels.h"

/* ---- validation ---- */

static tamis_status check_pointer(const char *pointer, tamis__fault *wrong) {
    const unsigned char *start = (const unsigned char *)pointer, *pos = start, *end = start + strlen(pointer);
    const char *why = NULL;
    if (pos < end && *pos != '/')
        why = "it does not begin with /";
    while (!why && pos < end) {
        const size_t size = *pos < 0x80 ? 1 : tamis__utf8_size(pos, end);
        if (!size)
            why = "bytes that are not UTF-8";
        else if (*pos == '~' && pos[1] != '0' && pos[1] != '1')
            why = "a ~ is neither ~0 nor ~1";
        else
            pos += size;
    }
    if (!why)
        return TAMIS_OK;
    *wrong = (tamis__fault){why, (size_t)(pos - start)};
    return TAMIS_E_INVALID;
}

/* ---- the tree ---- */

/* Depth-first order: a pointer comes before its continuations, and these come before all others. */
static int by_path(const void *a_query, const void *b_query) {
    const char *a = ((const tamis__json_query *)a_query)->pointer;
    const char *b = ((const tamis__json_query *)b_query)->pointer;
    while (*a && *a == *b) {
        a++;
        b++;
    }
    const unsigned char x = (unsigned char)*a, y = (unsigned char)*b;
    if (!x || !y || x == y)
        return (x > 0) - (y > 0);
    return x == '/' ? -1 : y == '/' ? 1 : x - y;
}

/* Decodes the token from *pos to the next slash or the end into `bytes`. Moves *pos there. */
static tamis_key read_token(const char **pos, unsigned char *bytes) {
    const char *from = *pos;
    tamis_key name = {bytes, 0};
    for (; *from && *from != '/'; from++) {
        bytes[name.size] = (unsigned char)*from;
        if (*from == '~')
            bytes[name.size] = *++from == '0' ? '~' : '/';
        name.size++;
    }
    *pos = from;
    return name;
}

static uint64_t element_index(tamis_key name) {
    const unsigned char *digits = name.data;
    uint64_t index = 0;
    if (name.size == 0 || name.size > 19 || (digits[0] == '0' && name.size > 1))
        return TAMIS__JSON_NO_INDEX; /* no record has so many elements */
    for (size_t i = 0; i < name.size; i++) {
        if (digits[i] < '0' || digits[i] > '9')
            return TAMIS__JSON_NO_INDEX;
        index = index * 10 + (uint64_t)(digits[i] - '0');
    }
    return index;
}

/* Adds a pointer to the tree. frames[0] to frames[*open] are the path of the pointer before it. Names are
 * stored at `bytes`. Returns the free space after them. */
static unsigned char *add_pointer(tamis__json *json, tamis__json_query *queries, size_t *open,
                                  unsigned char *bytes) {
    tamis__json_frame *path = json->frames;
    size_t depth = 0;
    for (const char *pos = queries->pointer; *pos; depth++) {
        pos++;
        tamis_key name = read_token(&pos, bytes);
        if (depth < *open && tamis__is_same(path[depth + 1].node->name, name))
            continue;
        tamis__json_node *node = json->nodes + json->node_count++;
        *node = (tamis__json_node){.name = name, .index = element_index(name)};
        bytes += name.size;
        path[depth + 1].node = node;
        *open = depth + 1;
        for (size_t i = 0; i <= *open; i++)
            path[i].node->end = node + 1;
    }
    *open = depth;
    queries->node = path[depth].node;
    return bytes;
}

/* Finds the first byte of all names, so that other members can be skipped quickly. An empty name matches any
 * byte. */
static void note_letters(tamis__json *json) {
    for (const tamis__json_node *node = json->nodes + 1; node < json->nodes + json->node_count; node++) {
        const unsigned char letter = node->name.size ? *(const unsigned char *)node->name.data : 0;
        if (node == json->nodes + 1)
            json->first_letter = letter;
        if (!letter || letter != json->first_letter)
            json->any_letter = UINT64_MAX;
    }
}

/* ---- create and free ---- */

/* Uses scalar if TAMIS_KERNEL names a missing instruction set. Creating a filter reports that error. */
static const struct tamis__json_kernels *current_kernels(void) {
    tamis__isa isa = TAMIS__ISA_SCALAR;
    if (tamis__isa_get(&isa, NULL) != TAMIS_OK)
        isa = TAMIS__ISA_SCALAR;
    return tamis__json_kernels_of(isa);
}

static size_t count_tokens(const char *pointer) {
    size_t count = 0;
    for (; *pointer; pointer++)
        count += *pointer == '/';
    return count;
}

tamis_status tamis__json_create(tamis__json **json, const char *const *pointers, size_t count,
                                const tamis_allocator *memory, tamis__pointer_fault *wrong) {
    const tamis_allocator from = tamis__allocator_resolve(memory);
    size_t tokens = 0, longest = 0, bytes = 0;
    for (size_t i = 0; i < count; i++) {
        if (check_pointer(pointers[i], &wrong->fault) != TAMIS_OK) {
            wrong->index = i;
            return TAMIS_E_INVALID;
        }
        const size_t token_count = count_tokens(pointers[i]);
        tokens += token_count;
        longest = token_count > longest ? token_count : longest;
        bytes += strlen(pointers[i]);
    }
    /* Everything in one block. The names, which need no alignment, come last. */
    const size_t size = sizeof **json + count * sizeof *(*json)->queries +
                        (tokens + 1) * sizeof *(*json)->nodes + (longest + 1) * sizeof *(*json)->frames +
                        bytes;
    tamis__json *made = tamis__alloc(&from, size, _Alignof(tamis__json));
    if (!made)
        return TAMIS_E_NOMEM;
    made->memory = from;
    made->size = size;
    made->kernels = current_kernels();
    made->queries = (tamis__json_query *)(made + 1);
    made->query_count = count;
    made->nodes = (tamis__json_node *)(made->queries + count);
    made->node_count = 1;
    made->frames = (tamis__json_frame *)(made->nodes + tokens + 1);
    for (size_t i = 0; i < count; i++)
        made->queries[i] = (tamis__json_query){pointers[i], i, NULL};
    qsort(made->queries, count, sizeof *made->queries, by_path);

    unsigned char *names = (unsigned char *)(made->frames + longest + 1);
    size_t open = 0;
    made->nodes[0] = (tamis__json_node){.index = TAMIS__JSON_NO_INDEX, .end = made->nodes + 1};
    made->frames[0].node = made->nodes;
    for (size_t i = 0; i < count; i++)
        names = add_pointer(made, &made->queries[i], &open, names);
    note_letters(made);
    *json = made;
    return TAMIS_OK;
}

void tamis__json_free(tamis__json *json) {
    if (!json)
        return;
    const tamis_allocator memory = json->memory;
    tamis__free(&memory, json->levels, json->levels_size);
    tamis__free(&memory, json, json->size);
}
