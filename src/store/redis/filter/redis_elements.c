/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Commands for elements, and the answers from their replies.
 *
 * Probe groups. The probes of an element that fall into the same Redis key are a group. In most layouts an
 * element has one group; in layout php3 it may have several. Each group is one command:
 *
 *     probes of an element    p0 -> key 4    p1 -> key 2    p2 -> key 4    p3 -> key 4
 *     group 0, key 4          BITFIELD key4 SET u1 p0 1 SET u1 p2 1 SET u1 p3 1      most bits: it decides
 *     group 1, key 2          BITFIELD key2 SET u1 p1 1
 *
 * The answer to an add of several groups. Each command is atomic, but not all of them together. Therefore
 * the group with most bits decides; of equal groups, the one with the earliest probe:
 *
 *     deciding group  other groups        answer
 *     not all set     any                 TAMIS_ABSENT     exactly one of several concurrent adders gets it
 *     all set         all set             TAMIS_PRESENT
 *     all set         not all set         TAMIS_UNKNOWN    the deciding group is a false positive, or another
 *                                                          adder of the element is between its commands
 *
 * An add that was sent twice and finds all bits set is TAMIS_UNKNOWN as well: its first sending may have
 * set them.
 *
 * Several elements. If all bits of a batch are in one Redis key, one BITFIELD carries several elements. The
 * server spends as much time on reading a command as on two of its words. Such a command has at most
 * BITS_TOGETHER bits, since the server does nothing else until a command is done.
 */
#include "store/redis/filter/redis_batch.h"

enum { BITS_TOGETHER = 64 /* max. bits of a command that carries several elements */ };

#define PUT_ENCODED(conn, words) tamis__connection_put_encoded(conn, words, sizeof(words) - 1)

/* ---- positions ---- */

static bool is_first_of_key(const tamis__element_positions *positions, uint32_t probe) {
    for (uint32_t j = 0; j < probe; j++)
        if (positions->keys[j] == positions->keys[probe])
            return false;
    return true;
}

bool tamis__element_find_group(const tamis_filter *filter, const tamis__element_positions *positions,
                               uint32_t number, tamis__probe_group *group) {
    const uint32_t probes = filter->plan.probes;
    uint32_t first = 0;
    *group = (tamis__probe_group){positions->key, 0, probes};
    if (tamis__redis_of(filter)->probe_groups == 1)
        return number == 0;
    while (first < probes && !(is_first_of_key(positions, first) && number-- == 0))
        first++;
    if (first == probes)
        return false;
    *group = (tamis__probe_group){positions->keys[first], first, 0};
    for (uint32_t j = first; j < probes; j++)
        group->count += positions->keys[j] == group->key;
    return true;
}

bool tamis__element_is_set(const tamis__element_positions *positions, uint32_t probe,
                           const tamis__reply *block) {
    const uint64_t offset = positions->offsets[probe] - positions->block * 8;
    return offset / 8 < block->size && ((unsigned char)block->text[offset / 8] & 0x80 >> offset % 8) != 0;
}

/* Sets rf->name to the member that Redis key `number` belongs to. Returns the number of the key within that
 * member. */
static size_t select_member(const tamis__redis_batch *batch, size_t number) {
    const size_t each = tamis__redis_all_keys(batch->rf);
    if (batch->members)
        batch->rf->name = batch->members->names[number / each];
    return number % each;
}

const tamis__element_positions *tamis__redis_batch_locate(tamis__redis_batch *batch, size_t element) {
    if (batch->located != element)
        batch->rf->layout->locate(batch->filter, &batch->key_batch, element, &batch->positions);
    batch->located = element;
    return &batch->positions;
}

/* False if the element has no group `number`. */
static bool find_group(tamis__redis_batch *batch, size_t element, uint32_t number,
                       tamis__probe_group *group) {
    return tamis__element_find_group(batch->filter, tamis__redis_batch_locate(batch, element), number, group);
}

/* True if this group decides the answer of an add: see above. */
static bool is_deciding(tamis__redis_batch *batch, size_t element, uint32_t number) {
    const uint32_t probes = batch->filter->plan.probes;
    uint32_t max_count = 0, deciding = 0;
    tamis__probe_group group;
    if (batch->rf->probe_groups == 1 || !find_group(batch, element, number, &group))
        return true;
    for (uint32_t i = 0; i < probes; i++) {
        uint32_t count = 0;
        for (uint32_t j = 0; j < probes; j++)
            count += batch->positions.keys[j] == batch->positions.keys[i];
        deciding = count > max_count ? batch->positions.keys[i] : deciding;
        max_count = count > max_count ? count : max_count;
    }
    return group.key == deciding;
}

/* The number over all members and servers of a Redis key of the element located last. */
static size_t number_of(const tamis__redis_batch *batch, uint32_t key) {
    const size_t member = batch->members ? batch->member_of[batch->located] : 0;
    return (member * batch->rf->servers + batch->positions.server) * batch->rf->keys + key;
}

/* Computes each slot once per batch: it takes the name of the key and a checksum. */
uint32_t tamis__redis_batch_key_slot(const tamis__redis_batch *batch, size_t number) {
    if (batch->slots[number] == TAMIS__SLOT_UNKNOWN)
        batch->slots[number] = (uint16_t)tamis__redis_key_slot(batch->rf, select_member(batch, number));
    return batch->slots[number];
}

/* The element of command i, or the first one if the command carries several. */
static size_t element_of(const tamis__redis_batch *batch, size_t i) {
    return i / batch->rf->probe_groups * batch->together;
}

static uint32_t group_of(const tamis__redis_batch *batch, size_t i) {
    return (uint32_t)(i % batch->rf->probe_groups);
}

/* The number of elements in the command that begins with element `first`. */
static size_t count_together(const tamis__redis_batch *batch, size_t first) {
    const size_t left = batch->key_batch.count - first;
    return left < batch->together ? left : batch->together;
}

void tamis__redis_batch_count(tamis__redis_batch *batch) {
    const uint32_t probes = batch->filter->plan.probes;
    const bool has_one_key = batch->rf->probe_groups == 1 && tamis__redis_batch_keys(batch) == 1;
    batch->together = 1;
    if (has_one_key && (batch->adds || !batch->rf->layout->has_blocks) && probes < BITS_TOGETHER)
        batch->together = BITS_TOGETHER / probes;
    batch->elements =
        (batch->key_batch.count + batch->together - 1) / batch->together * batch->rf->probe_groups;
}

uint32_t tamis__redis_batch_slot(void *context, size_t i) {
    tamis__redis_batch *batch = context;
    i += batch->first;
    if (i < batch->elements) {
        tamis__probe_group group; /* if the element has no such group, any slot will do: nothing is sent */
        find_group(batch, element_of(batch, i), group_of(batch, i), &group);
        return tamis__redis_batch_key_slot(batch, number_of(batch, group.key));
    }
    i -= batch->elements;
    if (i < batch->checks)
        return batch->rf->layout->check_slot(batch->filter, &(tamis__touched){batch->adds, batch->touched},
                                             i);
    return tamis__redis_batch_key_slot(batch, i - batch->checks);
}

/* ---- commands ---- */

static void put_key(const tamis__redis_batch *batch, size_t number, tamis__connection *conn) {
    char name[TAMIS__REDIS_KEY];
    const uint32_t key = (uint32_t)(select_member(batch, number) % batch->rf->keys);
    const size_t size = batch->rf->layout->key_name(batch->rf, key, name);
    tamis__connection_put(conn, name, size);
}

static void put_block(const tamis__redis_batch *batch, const tamis__element_positions *positions,
                      tamis__connection *conn) {
    PUT_ENCODED(conn, "*4\r\n$8\r\nGETRANGE\r\n");
    put_key(batch, number_of(batch, positions->key), conn);
    tamis__connection_put_number(conn, (int64_t)positions->block);
    tamis__connection_put_number(conn, (int64_t)positions->block + TAMIS__REDIS_BLOCK - 1);
}

static void put_bitfield(const tamis__redis_batch *batch, uint32_t key, size_t count,
                         tamis__connection *conn) {
    tamis__connection_put_command(conn, 2 + count * (batch->adds ? 4 : 3));
    tamis__connection_put_text(conn, batch->rf->only_reads && !batch->adds ? "BITFIELD_RO" : "BITFIELD");
    put_key(batch, number_of(batch, key), conn);
}

/* Writes the bits in Redis key `key` of the element located last. */
static void put_bits(const tamis__redis_batch *batch, uint32_t key, tamis__connection *conn) {
    for (uint32_t j = 0; j < batch->filter->plan.probes; j++) {
        if (!tamis__element_is_in(batch->filter, &batch->positions, j, key))
            continue;
        if (batch->adds)
            PUT_ENCODED(conn, "$3\r\nSET\r\n$2\r\nu1\r\n");
        else
            PUT_ENCODED(conn, "$3\r\nGET\r\n$2\r\nu1\r\n");
        tamis__connection_put_number(conn, (int64_t)batch->positions.offsets[j]);
        if (batch->adds)
            PUT_ENCODED(conn, "$1\r\n1\r\n");
    }
}

static bool put_elements(tamis__redis_batch *batch, size_t element, uint32_t number,
                         tamis__connection *conn) {
    const size_t together = count_together(batch, element);
    tamis__probe_group group;
    if (!find_group(batch, element, number, &group)) {
        batch->groups_left[element]--;
        return false;
    }
    batch->touched[number_of(batch, group.key)] = true;
    if (batch->rf->layout->has_blocks && !batch->adds)
        put_block(batch, &batch->positions, conn);
    else
        put_bitfield(batch, group.key, together * group.count, conn);
    for (size_t i = element; i < element + together; i++) {
        batch->sent[i] = true;
        if (batch->trace)
            tamis__trace_put(batch->trace, i, number, conn);
        if (batch->adds || !batch->rf->layout->has_blocks) {
            tamis__redis_batch_locate(batch, i);
            put_bits(batch, group.key, conn);
        }
    }
    return true;
}

void tamis__redis_batch_put_expiry(const tamis__redis_batch *batch, size_t number, bool sets,
                                   tamis__connection *conn) {
    if (sets && batch->rf->layout->put_renewal && !batch->rf->is_family) {
        batch->rf->layout->put_renewal(batch->filter, (uint32_t)number, conn);
        return;
    }
    tamis__connection_put_command(conn, sets ? 3 : 2);
    tamis__connection_put_text(conn, sets ? "PEXPIRE" : "PTTL");
    put_key(batch, number, conn);
    if (sets)
        tamis__connection_put_number(conn, (int64_t)batch->rf->ttl_ms);
}

bool tamis__redis_batch_put_command(void *context, size_t i, tamis__connection *conn) {
    tamis__redis_batch *batch = context;
    i += batch->first;
    if (i < batch->elements)
        return put_elements(batch, element_of(batch, i), group_of(batch, i), conn);
    i -= batch->elements;
    if (i < batch->checks)
        return batch->rf->layout->check_query(batch->filter, &(tamis__touched){batch->adds, batch->touched},
                                              i, conn);
    tamis__redis_batch_put_expiry(batch, i - batch->checks, batch->rf->renews_on_add, conn);
    return true;
}

/* ---- replies ---- */

/* The reply to the command of a probe group of an element. */
typedef struct group_reply {
    size_t element;
    uint32_t number; /* of the probe group */
    const tamis__reply *reply;
    bool resent; /* an earlier sending of the command may have been carried out */
} group_reply;

static tamis_status read_old_bits(tamis__redis_batch *batch, const group_reply *accepted, bool *all_set,
                                  tamis_error *err) {
    const tamis__reply *reply = accepted->reply;
    tamis__probe_group group = {.count = batch->filter->plan.probes};
    if (batch->rf->probe_groups > 1) /* the group exists, since its command was sent */
        find_group(batch, accepted->element, accepted->number, &group);
    if (reply->type != TAMIS__REPLY_ARRAY || reply->size != group.count)
        return tamis__redis_filter_bad_reply(batch->rf, err);
    *all_set = true;
    for (size_t j = 0; j < reply->size; j++) {
        if (reply->items[j].type != TAMIS__REPLY_INTEGER)
            return tamis__redis_filter_bad_reply(batch->rf, err);
        *all_set = *all_set && reply->items[j].integer == 1;
    }
    return TAMIS_OK;
}

/* Bytes past the end of a Redis key count as zeros. In a filter this means damage, which the checks of the
 * layout report. In a member of a family it is normal: its string grows with its adds. */
static tamis_status read_block_bits(tamis__redis_batch *batch, size_t element, const tamis__reply *reply,
                                    bool *all_set, tamis_error *err) {
    if (reply->type != TAMIS__REPLY_STRING || reply->size > TAMIS__REDIS_BLOCK)
        return tamis__redis_filter_bad_reply(batch->rf, err);
    const tamis__element_positions *positions = tamis__redis_batch_locate(batch, element);
    batch->has_short_block =
        batch->has_short_block || (reply->size < TAMIS__REDIS_BLOCK && !batch->rf->is_family);
    *all_set = true;
    for (uint32_t j = 0; j < batch->filter->plan.probes && *all_set; j++)
        *all_set = tamis__element_is_set(positions, j, reply);
    return TAMIS_OK;
}

static tamis_status accept_element(tamis__redis_batch *batch, const group_reply *accepted, tamis_error *err) {
    const size_t element = accepted->element;
    const uint32_t number = accepted->number;
    tamis_answer *answer = &batch->answers[element];
    bool all_set = false;
    const tamis_status status = batch->rf->layout->has_blocks && !batch->adds
                                    ? read_block_bits(batch, element, accepted->reply, &all_set, err)
                                    : read_old_bits(batch, accepted, &all_set, err);
    if (status != TAMIS_OK)
        return status;
    if (batch->trace)
        tamis__trace_accept_reply(batch->trace, element, number, tamis__redis_batch_locate(batch, element),
                                  accepted->reply);
    batch->groups_left[element]--;
    if (!all_set && (!batch->adds || is_deciding(batch, element, number)))
        *answer = TAMIS_ABSENT;
    else if (*answer == TAMIS_PRESENT && (!all_set || (accepted->resent && batch->adds)))
        *answer = TAMIS_UNKNOWN; /* this add's first sending, or a concurrent adder, may have set the bits */
    return TAMIS_OK;
}

/* Splits the reply to a command of several elements: each has as many items as probes. */
static tamis_status accept_elements(tamis__redis_batch *batch, const group_reply *accepted,
                                    tamis_error *err) {
    const size_t together = count_together(batch, accepted->element), probes = batch->filter->plan.probes;
    tamis_status status = TAMIS_OK;
    if (together == 1)
        return accept_element(batch, accepted, err);
    if (accepted->reply->type != TAMIS__REPLY_ARRAY || accepted->reply->size != together * probes)
        return tamis__redis_filter_bad_reply(batch->rf, err);
    tamis__reply items = *accepted->reply;
    group_reply own = *accepted;
    items.size = probes;
    own.reply = &items;
    for (size_t i = 0; i < together && status == TAMIS_OK; i++, own.element++, items.items += probes)
        status = accept_element(batch, &own, err);
    return status;
}

tamis_status tamis__redis_batch_accept_reply(void *context, size_t i, const tamis__reply *reply, bool resent,
                                             tamis_error *err) {
    tamis__redis_batch *batch = context;
    i += batch->first;
    if (i < batch->elements) {
        const group_reply accepted = {element_of(batch, i), group_of(batch, i), reply, resent};
        return accept_elements(batch, &accepted, err);
    }
    i -= batch->elements;
    if (i < batch->checks)
        return batch->rf->layout->accept_check_reply(batch->filter, i, reply, err);
    /* A reply of PTTL; PEXPIRE replies 0 or 1. */
    batch->never_expires[i - batch->checks] = reply->integer == -1;
    return reply->type == TAMIS__REPLY_INTEGER ? TAMIS_OK : tamis__redis_filter_bad_reply(batch->rf, err);
}

/* If an element may have several groups, the command of another group may have been carried out. */
void tamis__redis_batch_note_refusal(void *context, size_t i) {
    tamis__redis_batch *batch = context;
    i += batch->first;
    if (i >= batch->elements || batch->rf->probe_groups > 1)
        return;
    const size_t element = element_of(batch, i);
    memset(batch->sent + element, false, count_together(batch, element) * sizeof *batch->sent);
}
