/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The loops over a batch of keys of a counting filter. Each instruction set's file includes this file once,
 * after it has defined
 *
 *     has_key(in, line, hash)      true if none of the key's counters is 0
 *     count_key(in, line, hash)    the same, and increments those below 15
 *     drop_key(in, line, hash)     decrements those below 15, unless one of them is 0
 *
 * and before its table of kernels. drop_key says what became of the key by the enum `dropped` of
 * counting_kernels.h. This file has no include guard: it defines static functions for one set.
 *
 * All loops are pipelines: while one key is answered, the lines of the next AHEAD keys are being fetched.
 */

static void counting_contains(const tamis__blocks *in, const tamis_hash *hashes, size_t count,
                              tamis_answer *answers) {
    prefetch_first(in, hashes, count);
    for (size_t i = 0; i < count; i++) {
        if (i + AHEAD < count)
            tamis__prefetch(tamis__block_of(in, &hashes[i + AHEAD]));
        const uint64_t *line = tamis__block_of(in, &hashes[i]);
        answers[i] = has_key(in, line, &hashes[i]) ? TAMIS_PRESENT : TAMIS_ABSENT;
    }
}

static size_t counting_add(const tamis__blocks *in, const tamis_hash *hashes, size_t count,
                           uint64_t *remaining, tamis_answer *answers) {
    prefetch_first(in, hashes, count);
    for (size_t i = 0; i < count; i++) {
        if (i + AHEAD < count)
            tamis__prefetch(tamis__block_of(in, &hashes[i + AHEAD]));
        uint64_t *line = tamis__block_of(in, &hashes[i]);
        if (*remaining == 0 && !has_key(in, line, &hashes[i]))
            return i; /* its answer stays unchanged */
        const bool present = count_key(in, line, &hashes[i]);
        answers[i] = present ? TAMIS_PRESENT : TAMIS_ABSENT;
        *remaining -= !present;
    }
    return count;
}

static size_t counting_remove(const tamis__blocks *in, const tamis_hash *hashes, size_t count,
                              tamis_answer *answers) {
    size_t gone = 0;
    prefetch_first(in, hashes, count);
    for (size_t i = 0; i < count; i++) {
        if (i + AHEAD < count)
            tamis__prefetch(tamis__block_of(in, &hashes[i + AHEAD]));
        uint64_t *line = tamis__block_of(in, &hashes[i]);
        const dropped result = drop_key(in, line, &hashes[i]);
        answers[i] = result == WAS_ABSENT ? TAMIS_ABSENT : TAMIS_PRESENT;
        gone += result == IS_GONE;
    }
    return gone;
}
