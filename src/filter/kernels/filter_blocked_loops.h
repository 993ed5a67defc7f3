/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The loops over a batch of keys of a blocked filter. Each instruction set's file includes this file once,
 * after it has defined
 *
 *     shares                             what is common to all keys of a filter; made by shares_of(in)
 *     has_all(shares, line, hash)        true if all bits of a key are set in its line
 *     set_all(shares, line, hash)        the same, and sets them
 *
 * and before its table of kernels. This file has no include guard: it defines static functions for one set.
 *
 * Both loops are pipelines: while one key is answered, the lines of the next AHEAD keys are being fetched.
 */

static void blocked_contains(const tamis__blocks *in, const tamis_hash *hashes, size_t count,
                             tamis_answer *answers) {
    const shares by = shares_of(in);
    prefetch_first(in, hashes, count);
    for (size_t i = 0; i < count; i++) {
        if (i + AHEAD < count)
            tamis__prefetch(tamis__block_of(in, &hashes[i + AHEAD]));
        answers[i] = has_all(by, tamis__block_of(in, &hashes[i]), &hashes[i]) ? TAMIS_PRESENT : TAMIS_ABSENT;
    }
}

static size_t blocked_add(const tamis__blocks *in, const tamis_hash *hashes, size_t count,
                          uint64_t *remaining, tamis_answer *answers) {
    const shares by = shares_of(in);
    prefetch_first(in, hashes, count);
    for (size_t i = 0; i < count; i++) {
        if (i + AHEAD < count)
            tamis__prefetch(tamis__block_of(in, &hashes[i + AHEAD]));
        uint64_t *line = tamis__block_of(in, &hashes[i]);
        if (*remaining == 0 && !has_all(by, line, &hashes[i]))
            return i; /* its answer stays unchanged */
        bool present = set_all(by, line, &hashes[i]);
        answers[i] = present ? TAMIS_PRESENT : TAMIS_ABSENT;
        *remaining -= !present;
    }
    return count;
}
