/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Kinds fingerprint and exact: the operations of a fingerprint table.
 *
 * A fingerprint table is a sorted set of hash prefixes. It grows without its keys, since every stored prefix
 * says where it belongs in a larger table. The other files:
 * - fingerprint_line.h: one 64-byte line; fingerprint_table.h: how a hash selects a partition, a line and a
 *   slot.
 * - fingerprint_grow.c: how a slot is freed, and how one partition grows.
 * - fingerprint_regrow.c: how a table made for a known number of keys grows as a whole; unions.
 * - fingerprint_convert.c: how the entries of one table are stored in another; fingerprint_double.c: in one of
 *   twice the lines.
 * - fingerprint_image.c: reading and writing the table's part of a file.
 * - kernels/fingerprint_loops.h: the loops over a batch of keys, for each instruction set.
 *
 * Adding a batch. The kernel (filter->kernels->tables->add) adds keys until one of these happens, and add()
 * then decides:
 *
 *     kernel stops at key i           because                            what add() does
 *     -----------------------------   --------------------------------   -----------------------------------
 *     the counter `left` is 0         a limit of the plan may be near    compute the limit; grow or fail
 *     the partition has no free slot  it is at its load, or no short     grow the partition (or fail, if the
 *                                     chain of moves frees a slot        table does not grow by partitions)
 *
 * What a table consists of:
 *
 *                              with a capacity                    growing
 *     -----------------------  --------------------------------   -------------------------------------------
 *     partitions               1 to 64, of equal size             256, each of its own size; split: 16 more
 *     lines                    one block for all                  one block a partition, with its first key
 *     groups of partitions     one, with all partitions           256, each with one partition or 16
 *     grows by                 twice the lines, all at once       a quarter of a partition's lines
 *     stops at                 the memory limit; frozen: the      the rate, the memory limit, the line limit
 *                              capacity
 *
 * The rate budget. A lookup of an absent key errs with the probability that an entry covers its hash. Each
 * partition keeps that share exactly (`covered`), so the rate is a sum and not an estimate. A table accepts
 * keys while its rate stays within the plan. To compute that for each key would be slow. So
 * keys_within_rate() computes a number of keys that is safe in any case, and the kernel counts it down.
 *
 * Invariants:
 * 1. A key is answered absent only once its entry is stored, so the next lookup finds it (no false
 *    negatives).
 * 2. filter->added is the number of keys answered absent. In a table with a capacity it never exceeds the
 *    capacity.
 * 3. On failure *done keys are stored and answered; the keys after them are neither.
 *
 * Parts. Several threads may add to disjoint ranges of partitions (filter/parts.h). An entry never leaves its
 * partition, so the threads share no line. Shared counters are atomic, or they are updated when all parts
 * have returned.
 *
 * Copies of a concurrent table (piece_ops) are made piece by piece while other threads add. A growing table
 * copies one partition at a time. A table with a capacity copies lines, and lines changed by moves are copied
 * again (tamis__fingerprint_moved).
 *
 * False-positive rates of growing tables (docs/MATH.md, "Growing"; ./dev bench growth). *: computed, not
 * measured.
 *
 *     slot bits   at 2^20 keys   more a doubling   at 2^40 keys
 *     32          3.0e-9         2.4e-9            5.4e-8
 *     38          8.0e-11        3.9e-11           9.5e-10 *
 *     48          5.4e-14        2.7e-14           6.4e-13 *
 *
 * ./dev bench memory measures the time a key.
 */
#include "base/system.h"
#include "filter/table/fingerprint_put.h"

/* Number of partitions of a new table. */
static uint32_t first_count(const table *t) {
    return 1u << t->partition_bits;
}

/*
 * Number of keys that can certainly be added before the rate exceeds `max`.
 *
 * An entry covers at most the larger of two shares: what it covers now, and what a new spilled entry covers.
 * This holds wherever the entry is moved and however the table grows. The first bound assumes that all
 * entries, old and new, are as wide as spilled ones. The second bound takes over when little of the rate is
 * left. A new key raises the rate by at most one spilled entry for itself and one for each entry that it
 * moves. At the end keys are allowed one by one. A planned growing table reaches that point only beyond 2^38
 * keys.
 */
static uint64_t keys_within_rate(const table *t, double max) {
    const uint32_t known = known_after(&t->geometry, HASH_BITS, 0);
    double sum = 0, widest = 0, rate = covered_rate(t);
    for (partition_walk w = {.t = t}; next_partition(&w);) {
        const double spill_share = share(t, w.in, known) * t->weight[w.in->hash_bits];
        sum += spill_share * (double)w.in->used;
        widest = spill_share > widest ? spill_share : widest;
    }
    const double keys = fmax((max - rate - sum) / widest, (max - rate) / (widest * (PATH_LENGTH_MAX + 1)));
    if (keys >= 1)
        return keys < 0x1p62 ? (uint64_t)keys : UINT64_C(1) << 62;
    /* A table with a capacity instead grows to wider slots while some of the rate is left. */
    return t->grows_by_partition && rate <= max;
}

/* Number of new keys that certainly pass no limit of the plan. Cheap, but may be too low: `safe_added` is an
 * older result. */
static uint64_t remaining_of(const table *t, const tamis_filter *filter) {
    uint64_t max = t->grows_by_partition || t->checks_rate ? t->safe_added : filter->plan.capacity;
    if (t->checks_rate && max > filter->plan.capacity)
        max = filter->plan.capacity;
    return filter->added < max ? max - filter->added : 0;
}

/* As remaining_of, but computes the limit of the rate again. */
static uint64_t update_remaining(table *t, const tamis_filter *filter) {
    if (t->grows_by_partition || t->checks_rate)
        t->safe_added = filter->added +
                        keys_within_rate(t, t->checks_rate ? filter->plan.fpr_predicted : filter->plan.fpr);
    return remaining_of(t, filter);
}

/* Called when the table is full. A table made for a known number of keys grows as a whole. A growing table
 * has reached its rate and fails. */
static tamis_status grow_or_fail(tamis_filter *filter, tamis_error *err) {
    const table *t = filter->body;
    return t->grows_by_partition ? tamis__filter_full(filter, TAMIS_FULL_RATE, err)
                                 : tamis__fingerprint_regrow(filter, err);
}

/* Adds a new key that the kernel found no slot for: frees a slot or grows the partition. */
static tamis_status add_absent(table *t, tamis_filter *filter, const tamis_hash *hash, tamis_error *err) {
    location loc = locate_hash(t, hash);
    const double rate = loc.in->covered;
    while (loc.in->used >= loc.in->grow_at ||
           !tamis__fingerprint_put(t, loc.in, loc.line, (entry){loc.rest, HASH_BITS})) {
        const tamis_status status = t->grows_by_partition
                                        ? tamis__fingerprint_grow(t, filter, loc.in, err)
                                        : tamis__filter_full(filter, TAMIS_FULL_CROWDED, err);
        if (status != TAMIS_OK)
            return status;
        loc = locate_hash(t, hash);
    }
    loc.in->false_present += rate;
    return TAMIS_OK;
}

static tamis_status add(tamis_filter *filter, const tamis__key_batch *batch, size_t *done, tamis_error *err) {
    const tamis_hash *hashes = batch->hashes;
    tamis_answer *answers = batch->answers;
    const size_t count = batch->count;
    table *t = filter->body;
    for (*done = 0;; ++*done) {
        uint64_t remaining = remaining_of(t, filter), left = remaining;
        tamis_status status = TAMIS_OK;
        *done += filter->kernels->tables->add(t, hashes + *done, count - *done, &left, answers + *done);
        filter->added += remaining - left;
        if (*done == count)
            return TAMIS_OK;
        while (left == 0 && update_remaining(t, filter) == 0) {
            status = grow_or_fail(filter, err);
            if (status != TAMIS_OK)
                return status;
            t = filter->body;
        }
        status = add_absent(t, filter, &hashes[*done], err);
        if (status != TAMIS_OK)
            return status;
        answers[*done] = TAMIS_ABSENT;
        filter->added++;
    }
}

/* ---- parts: ranges of partitions ---- */

static uint32_t max_parts(const tamis_filter *filter, uint32_t max) {
    const table *t = filter->body;
    const uint32_t count = first_count(t);
    return max < count ? max : count;
}

/*
 * True if the memory limit certainly suffices for `count` more keys, whatever partitions grow.
 *
 * A partition grows only if at least half of its load is in use, and to at most four times its lines. So it
 * ends with at most eight times the lines that its entries need. While it grows the old lines are in memory
 * too: ten times in all.
 */
static bool growth_fits(const table *t, const tamis_filter *filter, size_t count) {
    const double limit = (double)filter->plan.memory_limit, line = LINE_BYTES / (t->load * t->geometry.slots);
    const double held = (double)filter->tally.memory + (double)t->lines_due;
    return limit <= 0 || 10 * (held + line * (double)count) <= limit;
}

/* True if `count` new keys fit, in whichever parts they are. */
static bool parts_fit(const tamis_filter *filter, size_t count) {
    table *t = filter->body;
    if (t->grows_by_partition && !growth_fits(t, filter, count))
        return false;
    return remaining_of(t, filter) >= count || update_remaining(t, filter) >= count;
}

static uint64_t part_from(const tamis_filter *filter, uint32_t part, uint32_t parts) {
    (void)filter;
    return (UINT64_MAX / parts + 1) * part;
}

static tamis_status part_add(tamis_filter *filter, const tamis__key_batch *batch, size_t *done,
                             tamis_error *err) {
    const tamis_hash *hashes = batch->hashes;
    tamis_answer *answers = batch->answers;
    const size_t count = batch->count;
    table *t = filter->body;
    uint64_t remaining = UINT64_MAX;
    for (*done = 0;; ++*done) {
        *done += filter->kernels->tables->add(t, hashes + *done, count - *done, &remaining, answers + *done);
        if (*done == count)
            return TAMIS_OK;
        tamis_status status = add_absent(t, filter, &hashes[*done], err);
        if (status != TAMIS_OK)
            return status;
        answers[*done] = TAMIS_ABSENT;
    }
}

static void parts_added(tamis_filter *filter, uint64_t absent) {
    filter->added += absent;
}

static const tamis__parts_ops parts_ops = {
    .max_parts = max_parts, .fit = parts_fit, .from = part_from, .add = part_add, .added = parts_added};

static void contains(const tamis_filter *filter, const tamis__key_batch *batch) {
    filter->kernels->tables->contains(filter->body, batch->hashes, batch->count, batch->answers);
}

/* Statistics: the exact rate, and the expected number of new keys that were answered present. */
static void estimate(const tamis_filter *filter, tamis_filter_info *info) {
    const table *t = filter->body;
    info->fpr_live = covered_rate(t);
    info->false_present = t->false_present;
    for (partition_walk w = {.t = t}; next_partition(&w);)
        info->false_present += w.in->false_present;
    info->cardinality = filter->added > 0 ? (double)filter->added + info->false_present : 0;
}

/* All lines of a table with a capacity as one partition. They are one block of memory, divided equally
 * among the partitions. */
static partition whole_of(const table *t) {
    partition whole = t->partitions[0];
    whole.count *= first_count(t);
    return whole;
}

static void release_lines(tamis_filter *filter, table *t) {
    partition whole = whole_of(t);
    if (!t->grows_by_partition)
        tamis__fingerprint_release(filter, &whole);
    for (partition_walk w = {.t = t}; t->grows_by_partition && next_partition(&w);)
        tamis__fingerprint_release(filter, w.in);
}

static void release_partitions(tamis_filter *filter, table *t) {
    const size_t size = SPLIT * sizeof(partition);
    for (uint32_t i = 0; i < group_count(t); i++)
        if (t->grows_by_partition && t->groups[i].bits)
            tamis__filter_release(filter, t->groups[i].first, size);
    tamis__filter_release(filter, t->partitions, first_count(t) * sizeof(partition));
}

/* The lines of all partitions that have no key yet. In a small filter most partitions never get one, so
 * they allocate lines only with their first key. A copy shares these lines too. */
_Alignas(LINE_BYTES) const uint8_t tamis__empty_lines[TAMIS__FINGERPRINT_FIRST_MAX * LINE_BYTES] = {0};

/* Lets a partition share the empty lines, which are never written to (has_own_lines). Its first key allocates
 * lines for it. */
static void share_empty_lines(partition *in) {
    in->lines = (uint8_t *)(uintptr_t)tamis__empty_lines;
    in->grow_at = 0;
}

static void growing_partitions(table *t) {
    t->line_share = 1;
    t->lines_due = 0;
    for (uint32_t i = 0; i < first_count(t); i++) {
        const uint64_t count = tamis__fingerprint_first_lines(i);
        t->partitions[i] = partition_of(t, t->partition_bits, NULL, count);
        share_empty_lines(&t->partitions[i]);
        t->lines_due += count * LINE_BYTES;
    }
}

static tamis_status sized_partitions(tamis_filter *filter, table *t, tamis_error *err) {
    const uint64_t count = filter->plan.lines / first_count(t), lines = count * first_count(t);
    partition whole;
    if (!tamis__fingerprint_create_partition(t, filter, 0, &whole, lines))
        return tamis__fail_nomem(err, "filter", lines * LINE_BYTES);
    tamis__advise_large(whole.lines, (size_t)lines * LINE_BYTES);
    t->line_share = line_share_of(t, count);
    for (uint32_t i = 0; i < first_count(t); i++)
        t->partitions[i] = partition_of(t, t->partition_bits, line_at(&whole, i * count), count);
    return TAMIS_OK;
}

static void release_body(tamis_filter *filter) {
    table *t = filter->body;
    if (!t)
        return;
    if (t->partitions) {
        if (!t->borrowed)
            release_lines(filter, t);
        release_partitions(filter, t);
    }
    if (t->grows_by_partition && t->groups)
        tamis__filter_release(filter, t->groups, group_count(t) * sizeof(partition_group));
    if (t->pages) {
        tamis__pages_release(t->pages);
        tamis__free(&filter->allocator, t->pages, sizeof *t->pages);
    }
    tamis__free(&filter->allocator, t, sizeof *t);
    filter->body = NULL;
}

/* A plan with 0 partitions means one partition. */
static uint32_t log2_of(uint32_t partitions) {
    return 31 - (uint32_t)__builtin_clz(partitions | 1);
}

static tamis_status alloc_rows(tamis_filter *filter, table *t, tamis_error *err) {
    const size_t size = first_count(t) * sizeof(partition), groups = group_count(t) * sizeof(partition_group);
    t->groups = t->grows_by_partition ? tamis__filter_alloc(filter, groups) : &t->only;
    if (!t->groups)
        return tamis__fail_nomem(err, "filter", groups);
    t->partitions = tamis__filter_alloc(filter, size);
    if (!t->partitions)
        return tamis__fail_nomem(err, "filter", size);
    t->only = (partition_group){t->partitions, t->partition_bits};
    for (uint32_t i = 0; t->grows_by_partition && i < group_count(t); i++)
        t->groups[i] = (partition_group){&t->partitions[i], 0};
    return TAMIS_OK;
}

/* True if the plan is that of a new table. Such a table may reach the rate that was computed for it when
 * full, which chance may put slightly above the rate asked for. After growth or union fpr_predicted is
 * another number. */
static bool is_as_planned(const tamis_plan *plan) {
    const tamis__line_shape *shape = tamis__line_shape_of(plan->slot_bits, false);
    const double rate = tamis__line_shape_rate(shape, (double)plan->capacity);
    return plan->fpr_predicted >= rate && plan->fpr_predicted <= rate;
}

tamis_status tamis__fingerprint_table(tamis_filter *filter, table **created, tamis_error *err) {
    const tamis_plan *plan = &filter->plan;
    table *t = tamis__alloc(&filter->allocator, sizeof *t, _Alignof(table));
    if (!t)
        return tamis__fail_nomem(err, "filter", sizeof *t);
    filter->body = t;
    t->geometry = line_geometry_of(plan->slot_bits, plan->home_bits);
    t->grows_by_partition = plan->capacity == 0;
    t->checks_rate =
        !t->grows_by_partition && !filter->frozen && plan->kind != TAMIS_KIND_EXACT && !is_as_planned(plan);
    t->load = tamis__line_shape_of(plan->slot_bits, t->grows_by_partition)->load;
    t->partition_bits = t->grows_by_partition ? TAMIS__FINGERPRINT_PARTITION_BITS : log2_of(plan->partitions);
    filter->plan.partitions = first_count(t);
    for (uint64_t search = t->geometry.slots; search <= SEARCH_MAX; search *= t->geometry.slots)
        t->search_depth++;
    t->weight[0] = 1;
    for (int i = 1; i <= 128; i++)
        t->weight[i] = t->weight[i - 1] / 2;
    *created = t;
    return alloc_rows(filter, t, err);
}

tamis_status tamis__fingerprint_split(tamis_filter *filter, partition_group *group, tamis_error *err) {
    partition *partitions = tamis__filter_alloc(filter, SPLIT * sizeof *partitions);
    if (!partitions)
        return tamis__fail_nomem(err, "filter", SPLIT * sizeof *partitions);
    *group = (partition_group){partitions, TAMIS__FINGERPRINT_SPLIT_BITS};
    return TAMIS_OK;
}

/* Sets up the large pages that partitions share. Only the default allocator can release part of a block. */
static tamis_status share_pages(tamis_filter *filter, table *t, tamis_error *err) {
    if (!t->grows_by_partition || !tamis__allocator_is_default(&filter->allocator))
        return TAMIS_OK;
    t->pages = tamis__alloc(&filter->allocator, sizeof *t->pages, _Alignof(tamis__pages));
    if (!t->pages)
        return tamis__fail_nomem(err, "filter", sizeof *t->pages);
    tamis__pages_init(t->pages);
    return TAMIS_OK;
}

static tamis_status init_body(tamis_filter *filter, tamis_error *err) {
    table *t = NULL;
    tamis_status status = tamis__fingerprint_table(filter, &t, err);
    if (status == TAMIS_OK)
        status = share_pages(filter, t, err);
    if (status == TAMIS_OK && t->grows_by_partition)
        growing_partitions(t);
    else if (status == TAMIS_OK)
        status = sized_partitions(filter, t, err);
    if (status != TAMIS_OK)
        release_body(filter);
    return status;
}

static void clear(tamis_filter *filter) {
    table *t = filter->body;
    for (partition_walk w = {.t = t}; next_partition(&w);) {
        partition *in = w.in;
        if (has_own_lines(in))
            memset(in->lines, 0, (size_t)in->count * LINE_BYTES);
        in->used = 0;
        in->covered = 0;
        in->false_present = 0;
    }
    t->safe_added = 0;
    t->covered = 0;
    t->false_present = 0;
}

/* Gives an empty group as many partitions as another group has. */
static tamis_status split_as(tamis_filter *to, partition_group *mine, const partition_group *theirs,
                             tamis_error *err) {
    if (mine->bits == theirs->bits)
        return TAMIS_OK;
    tamis__fingerprint_release(to, mine->first);
    return tamis__fingerprint_split(to, mine, err);
}

/* True if a copy of the partition shares the empty lines. A file has lines for every partition, so the lines
 * of `from` may be its own and empty. */
static bool copies_as_empty(const table *t, const partition *from) {
    return t->grows_by_partition && from->used == 0 && from->count <= TAMIS__FINGERPRINT_FIRST_MAX &&
           memcmp(from->lines, tamis__empty_lines, (size_t)from->count * LINE_BYTES) == 0;
}

static tamis_status copy_partition(tamis_filter *to, partition *in, const partition *from, tamis_error *err) {
    const table *t = to->body;
    if (copies_as_empty(t, from)) {
        tamis__fingerprint_release(to, in);
        *in = *from;
        share_empty_lines(in);
        return TAMIS_OK;
    }
    if (in->count != from->count || !has_own_lines(in)) {
        tamis__fingerprint_release(to, in);
        if (!tamis__fingerprint_create_partition(t, to, from->hash_bits, in, from->count))
            return tamis__fail_nomem(err, "filter", from->count * LINE_BYTES);
    }
    uint8_t *lines = in->lines;
    if (t->grows_by_partition)
        tamis__advise_large(lines, (size_t)from->count * LINE_BYTES);
    memcpy(lines, from->lines, (size_t)from->count * LINE_BYTES);
    *in = *from;
    in->lines = lines;
    return TAMIS_OK;
}

/* Counts `lines_due` of a copy. */
static void count_lines_due(table *t) {
    t->lines_due = 0;
    for (partition_walk w = {.t = t}; next_partition(&w);)
        if (!has_own_lines(w.in))
            t->lines_due += w.in->count * LINE_BYTES;
}

static tamis_status copy(tamis_filter *to, const tamis_filter *from, tamis_error *err) {
    table *mine = to->body;
    const table *other = from->body;
    tamis_status status = TAMIS_OK;
    for (uint32_t i = 0; status == TAMIS_OK && i < group_count(mine); i++) {
        const partition_group *theirs = &other->groups[i];
        status = split_as(to, &mine->groups[i], theirs, err);
        for (uint32_t n = 0; status == TAMIS_OK && n < partition_count(theirs); n++)
            status = copy_partition(to, &mine->groups[i].first[n], &theirs->first[n], err);
    }
    mine->growths = other->growths;
    mine->line_share = other->line_share;
    count_lines_due(mine);
    mine->checks_rate = other->checks_rate;
    mine->covered = other->covered;
    mine->false_present = other->false_present;
    return status;
}

/* ---- copying while other threads add ---- */

/* Partitions of a growing table are made one by one while they are copied. */
static void populate(tamis_filter *to) {
    table *mine = to->body;
    if (!mine->grows_by_partition)
        tamis__advise_written(mine->partitions->lines, (size_t)to->plan.lines * LINE_BYTES);
}

static void start_pieces(tamis_filter *to, const tamis_filter *from) {
    table *mine = to->body, *other = from->body;
    other->copy_to = mine->grows_by_partition ? NULL : mine;
}

/* Copies what belongs to the whole table, at the end of a copy. */
static void finish_pieces(tamis_filter *to, const tamis_filter *from) {
    table *mine = to->body, *other = from->body;
    other->copy_to = NULL;
    for (uint32_t i = 0; !mine->grows_by_partition && i < first_count(mine); i++) {
        uint8_t *lines = mine->partitions[i].lines;
        mine->partitions[i] = other->partitions[i];
        mine->partitions[i].lines = lines;
    }
    count_lines_due(mine);
    mine->growths = other->growths;
    mine->line_share = other->line_share;
    mine->checks_rate = other->checks_rate;
    mine->covered = other->covered;
    mine->false_present = other->false_present;
}

/* Copies a piece of a table with a capacity. A part is a range of partitions with equal numbers of lines.
 * copied->pos counts the lines of the part that are copied. */
static void copy_lines(table *mine, const table *other, tamis__copied_part *copied) {
    const uint32_t partitions = first_count(other) / copied->parts;
    const uint64_t lines = other->partitions->count, line = copied->pos % lines;
    const uint64_t max = line + TAMIS__PIECE / LINE_BYTES, end = max < lines ? max : lines;
    const uint64_t number = copied->part * partitions + copied->pos / lines;
    partition *in = &mine->partitions[number];
    memcpy(line_at(in, line), line_at(&other->partitions[number], line), (size_t)(end - line) * LINE_BYTES);
    in->used = end;
    copied->pos += end - line;
    if (copied->pos == partitions * lines)
        copied->pos = TAMIS__COPIED;
}

/*
 * Copies the next partition of a growing table. It copies whole partitions, since a partition may have other
 * lines the next time.
 *
 * A part is a range of groups, and each group has SPLIT partition numbers. copied->pos is the next number in
 * the part. A group that is not split uses only the first of its numbers. A group may be split before its
 * first partition is copied; after the copy of an unsplit group, copied->pos is beyond all of its numbers.
 */
static tamis_status copy_next(tamis_filter *to, const tamis_filter *from, tamis__copied_part *copied,
                              tamis_error *err) {
    table *mine = to->body;
    const table *other = from->body;
    const uint32_t groups = group_count(other) / copied->parts;
    const uint64_t group = copied->pos / SPLIT;
    partition_group *in = &mine->groups[copied->part * groups + group];
    const partition_group *theirs = &other->groups[in - mine->groups];
    const uint32_t n = copied->pos % SPLIT;
    tamis_status status = split_as(to, in, theirs, err);
    if (status == TAMIS_OK)
        status = copy_partition(to, &in->first[n], &theirs->first[n], err);
    copied->pos = n + 1 < partition_count(theirs) ? copied->pos + 1 : (group + 1) * SPLIT;
    if (copied->pos == (uint64_t)groups * SPLIT)
        copied->pos = TAMIS__COPIED;
    return status;
}

static tamis_status copy_piece(tamis_filter *to, const tamis_filter *from, tamis__copied_part *copied,
                               tamis_error *err) {
    table *mine = to->body;
    if (mine->grows_by_partition)
        return copy_next(to, from, copied, err);
    copy_lines(mine, from->body, copied);
    return TAMIS_OK;
}

static const tamis__piece_ops piece_ops = {
    .populate = populate, .begin = start_pieces, .end = finish_pieces, .copy = copy_piece};

const struct tamis__filter_ops tamis__fingerprint_ops = {
    .init = init_body,
    .release = release_body,
    .add = add,
    .contains = contains,
    .remove = tamis__fingerprint_remove_many,
    .estimate = estimate,
    .clear = clear,
    .copy = copy,
    .body_extent = tamis__fingerprint_body_extent,
    .restore = tamis__fingerprint_restore,
    .touch = tamis__fingerprint_touch,
    .union_into = tamis__fingerprint_union,
    .parts = &parts_ops,
    .pieces = &piece_ops,
};
