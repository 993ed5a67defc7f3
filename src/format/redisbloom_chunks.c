/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Chunks of a dump: pieces of arrays, from the first byte of the first array to the last of the last one.
 *
 *     arrays     | a a a a a a a a a a | b b b b b | c c c c c c c c |
 *     loaded     =========================>                              a prefix
 *     chunk              [ . . . ]                                       loaded already: compared
 *                                  [ . . ]                               begins in the prefix: loaded
 *                                              [ . ]                     bytes before it are missing: refused
 *                                        [ . . . . ]                     spans two arrays: refused
 */
#include "format/redisbloom_chunks.h"

#include <inttypes.h>
#include <string.h>

#define CHUNK_MAX ((uint64_t)16 << 20)

size_t tamis__rb_chunk_size(const tamis__rb_range *range) {
    const uint64_t loaded = range->loaded - range->offset;
    const uint64_t size = range->left < loaded ? range->left : loaded;
    return (size_t)(size < CHUNK_MAX ? size : CHUNK_MAX);
}

tamis_status tamis__rb_check_chunk(const tamis__rb_range *range, const void *bytes, size_t size, bool *is_new,
                                   tamis_error *err) {
    const tamis__rb_words *words = range->words;
    const uint64_t iterator = range->iterator, offset = range->offset;
    if (offset == UINT64_MAX || range->left == 0)
        return tamis__fail(err, TAMIS_E_RANGE, 0,
                           "%s: chunk %" PRIu64 ": no %s is there; load the chunks in their order",
                           words->name, iterator, words->array);
    if (size > range->left)
        return tamis__fail(err, TAMIS_E_TOO_LONG, 0,
                           "%s: chunk %" PRIu64
                           ": spans two %ss or exceeds the last; load each as it was dumped",
                           words->name, iterator, words->array);
    if (offset > range->loaded)
        return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                           "%s: chunk %" PRIu64 ": bytes %" PRIu64 " to %" PRIu64
                           " are missing; load the chunks in their order",
                           words->name, iterator, range->loaded, offset);
    const uint64_t repeated = range->loaded - offset < size ? range->loaded - offset : size;
    if (repeated && memcmp(range->bytes, bytes, (size_t)repeated) != 0)
        return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                           "%s: chunk %" PRIu64 ": the filter has other %s; load into a new filter",
                           words->name, iterator, words->content);
    *is_new = repeated < size;
    return TAMIS_OK;
}

bool tamis__rb_read_small(const tamis_redisbloom_source *source, uint32_t *value) {
    uint64_t number;
    if (!source->number(source->context, &number) || number > UINT32_MAX)
        return false;
    *value = (uint32_t)number;
    return true;
}

tamis_status tamis__rb_missing_field(const tamis__rb_words *words, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                       "%s: a field is missing or too large; the dump is damaged, dump the filter again",
                       words->name);
}
