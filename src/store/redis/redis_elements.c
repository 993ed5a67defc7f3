/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Elements as commands. An element has as many numbers as it may have parts: its bits in one Redis key each, in the order
 * in which the probes come to the keys. Adding one that has several is not one instant: the part with most bits decides. Of
 * those who add it at once just one finds that this one was not all set, and for him it is FRESH; it is SEEN where each of
 * its bits was set by somebody else; and where only other parts were not all set, either chance filled the one that
 * decides, or somebody else is at it: UNKNOWN.
 *
 * Where all bits are in one Redis key, a BITFIELD takes several elements: reading a command costs the server about as much
 * as two of its words.
 */
#include "store/redis/layout_tamis.h"
#include "store/redis/redis_batch.h"

/* Bits of several elements in one command, at most: what a server takes at one instant is to be short. */
enum { BITS_TOGETHER = 64 };

#define PUT_MADE(link, words) tamis__link_made(link, words, sizeof(words) - 1)

/* ---- places ---- */

/* Names the member that the Redis key of that number, among those of all members, is of; which of its own it is. */
static size_t turn_to(const tamis__batch *all, size_t number) {
    const size_t each = tamis__redis_all_keys(all->at);
    if (all->members)
        all->at->name = all->members->names[number / each];
    return number % each;
}

const tamis__spot *tamis__batch_place(tamis__batch *all, size_t element) {
    if (all->placed != element)
        all->at->layout->place(all->filter, &all->asked, element, &all->spot);
    all->placed = element;
    return &all->spot;
}

/* False: the element has no part of that number. */
static bool find_part(tamis__batch *all, size_t element, uint32_t number, tamis__spot_part *part) {
    return tamis__spot_find_part(all->filter, tamis__batch_place(all, element), number, part);
}

/* Whether no other part of the element has more bits, and none before it as many. */
static bool is_deciding(tamis__batch *all, size_t element, uint32_t number) {
    const uint32_t probes = all->filter->plan.probes;
    uint32_t most = 0, deciding = 0;
    tamis__spot_part part;
    if (all->at->parts == 1 || !find_part(all, element, number, &part))
        return true;
    for (uint32_t i = 0; i < probes; i++) {
        uint32_t count = 0;
        for (uint32_t j = 0; j < probes; j++)
            count += all->spot.keys[j] == all->spot.keys[i];
        deciding = count > most ? all->spot.keys[i] : deciding;
        most = count > most ? count : most;
    }
    return part.key == deciding;
}

/* Of a Redis key of the element that was placed last. */
static size_t number_of(const tamis__batch *all, uint32_t key) {
    const size_t member = all->members ? all->member_of[all->placed] : 0;
    return (member * all->at->servers + all->spot.server) * all->at->keys + key;
}

/* A slot costs a name and a checksum, so it is asked for once a batch. */
uint32_t tamis__batch_key_slot(const tamis__batch *all, size_t number) {
    if (all->slots[number] == TAMIS__NOT_ASKED)
        all->slots[number] = (uint16_t)tamis__redis_key_slot(all->at, turn_to(all, number));
    return all->slots[number];
}

/* Which command is of which element, the first of it where there are several. */
static size_t element_of(const tamis__batch *all, size_t i) {
    return i / all->at->parts * all->together;
}

static uint32_t part_of(const tamis__batch *all, size_t i) {
    return (uint32_t)(i % all->at->parts);
}

/* From element `first` on those of its command. */
static size_t count_together(const tamis__batch *all, size_t first) {
    const size_t left = all->asked.count - first;
    return left < all->together ? left : all->together;
}

void tamis__batch_count(tamis__batch *all) {
    const uint32_t probes = all->filter->plan.probes;
    const bool has_one_key = all->at->parts == 1 && tamis__batch_keys(all) == 1;
    all->together = 1;
    if (has_one_key && (all->adds || !all->at->layout->has_blocks) && probes < BITS_TOGETHER)
        all->together = BITS_TOGETHER / probes;
    all->elements = (all->asked.count + all->together - 1) / all->together * all->at->parts;
}

uint32_t tamis__batch_slot(void *context, size_t i) {
    tamis__batch *all = context;
    i += all->first;
    if (i < all->elements) {
        tamis__spot_part part; /* where the element does not have it, any slot: nothing will be put */
        find_part(all, element_of(all, i), part_of(all, i), &part);
        return tamis__batch_key_slot(all, number_of(all, part.key));
    }
    i -= all->elements;
    if (i < all->checks)
        return all->at->layout->check_slot(all->filter, &(tamis__touched){all->adds, all->touched}, i);
    return tamis__batch_key_slot(all, i - all->checks);
}

/* ---- putting ---- */

static void put_key(const tamis__batch *all, size_t number, tamis__link *link) {
    char name[TAMIS__REDIS_KEY];
    const uint32_t key = (uint32_t)(turn_to(all, number) % all->at->keys);
    size_t size = all->at->layout->key_name(all->at, key, name);
    tamis__link_word(link, name, size);
}

static void put_block(const tamis__batch *all, const tamis__spot *spot, tamis__link *link) {
    PUT_MADE(link, "*4\r\n$8\r\nGETRANGE\r\n");
    put_key(all, number_of(all, spot->key), link);
    tamis__link_number(link, (int64_t)spot->block);
    tamis__link_number(link, (int64_t)spot->block + TAMIS__REDIS_BLOCK - 1);
}

static void put_command(const tamis__batch *all, uint32_t key, size_t count, tamis__link *link) {
    tamis__link_command(link, 2 + count * (all->adds ? 4 : 3));
    tamis__link_text(link, all->at->only_reads && !all->adds ? "BITFIELD_RO" : "BITFIELD");
    put_key(all, number_of(all, key), link);
}

/* Of the element that was placed last. */
static void put_bits(const tamis__batch *all, uint32_t key, tamis__link *link) {
    for (uint32_t j = 0; j < all->filter->plan.probes; j++) {
        if (!tamis__spot_is_in(all->filter, &all->spot, j, key))
            continue;
        if (all->adds)
            PUT_MADE(link, "$3\r\nSET\r\n$2\r\nu1\r\n");
        else
            PUT_MADE(link, "$3\r\nGET\r\n$2\r\nu1\r\n");
        tamis__link_number(link, (int64_t)all->spot.offsets[j]);
        if (all->adds)
            PUT_MADE(link, "$1\r\n1\r\n");
    }
}

static bool put_elements(tamis__batch *all, size_t element, uint32_t number, tamis__link *link) {
    const size_t some = count_together(all, element);
    tamis__spot_part part;
    if (!find_part(all, element, number, &part)) {
        all->left[element]--;
        return false;
    }
    all->touched[number_of(all, part.key)] = true;
    if (all->at->layout->has_blocks && !all->adds)
        put_block(all, &all->spot, link);
    else
        put_command(all, part.key, some * part.count, link);
    for (size_t i = element; i < element + some; i++) {
        all->sent[i] = true;
        if (all->trace)
            tamis__trace_put(all->trace, i, number, link);
        if (all->adds || !all->at->layout->has_blocks) {
            tamis__batch_place(all, i);
            put_bits(all, part.key, link);
        }
    }
    return true;
}

void tamis__batch_put_expiry(const tamis__batch *all, size_t number, bool sets, tamis__link *link) {
    if (sets && (all->at->layout == &tamis__layout_tamis || all->at->is_next) && !all->at->is_family) {
        tamis__partition_put_renewal(all->filter, (uint32_t)number, link);
        return;
    }
    tamis__link_command(link, sets ? 3 : 2);
    tamis__link_text(link, sets ? "PEXPIRE" : "PTTL");
    put_key(all, number, link);
    if (sets)
        tamis__link_number(link, (int64_t)all->at->ttl_ms);
}

bool tamis__batch_put(void *context, size_t i, tamis__link *link) {
    tamis__batch *all = context;
    i += all->first;
    if (i < all->elements)
        return put_elements(all, element_of(all, i), part_of(all, i), link);
    i -= all->elements;
    if (i < all->checks)
        return all->at->layout->check_query(all->filter, &(tamis__touched){all->adds, all->touched}, i, link);
    tamis__batch_put_expiry(all, i - all->checks, all->at->renews_on_add, link);
    return true;
}

/* ---- taking ---- */

static tamis_status has_bits(tamis__batch *all, size_t element, uint32_t number, const tamis__reply *reply,
                             bool *has_all, tamis_error *err) {
    tamis__spot_part part = {.count = all->filter->plan.probes};
    if (all->at->parts > 1)
        find_part(all, element, number, &part); /* it was put */
    if (reply->type != TAMIS__REPLY_ARRAY || reply->size != part.count)
        return tamis__redis_strange(all->at, err);
    *has_all = true;
    for (size_t j = 0; j < reply->size; j++) {
        if (reply->items[j].type != TAMIS__REPLY_INTEGER)
            return tamis__redis_strange(all->at, err);
        *has_all = *has_all && reply->items[j].integer == 1;
    }
    return TAMIS_OK;
}

/* Of a Redis key that is shorter bits are missing, which the layout's checks will tell; here they are not set. Those of a
 * family's member come into being with the adds. */
static tamis_status has_in_block(tamis__batch *all, size_t element, const tamis__reply *reply, bool *has_all,
                                 tamis_error *err) {
    if (reply->type != TAMIS__REPLY_STRING || reply->size > TAMIS__REDIS_BLOCK)
        return tamis__redis_strange(all->at, err);
    const tamis__spot *spot = tamis__batch_place(all, element);
    all->cut = all->cut || (reply->size < TAMIS__REDIS_BLOCK && !all->at->is_family);
    *has_all = true;
    for (uint32_t j = 0; j < all->filter->plan.probes && *has_all; j++)
        *has_all = tamis__spot_is_set(spot, j, reply);
    return TAMIS_OK;
}

static tamis_status take_element(tamis__batch *all, size_t element, uint32_t number,
                                 const tamis__reply *reply, bool resent, tamis_error *err) {
    tamis_answer *answer = &all->answers[element];
    bool has_all = false;
    tamis_status status = all->at->layout->has_blocks && !all->adds
                              ? has_in_block(all, element, reply, &has_all, err)
                              : has_bits(all, element, number, reply, &has_all, err);
    if (status != TAMIS_OK)
        return status;
    if (all->trace)
        tamis__trace_take(all->trace, element, number, tamis__batch_place(all, element), reply);
    all->left[element]--;
    if (!has_all && (!all->adds || is_deciding(all, element, number)))
        *answer = TAMIS_ABSENT;
    else if (*answer == TAMIS_PRESENT && (!has_all || (resent && all->adds)))
        *answer = TAMIS_UNKNOWN; /* perhaps these bits are its own, or somebody else's now */
    return TAMIS_OK;
}

/* A reply to each of several elements is as many items of it as an element has probes. */
static tamis_status take_elements(tamis__batch *all, size_t element, uint32_t number,
                                  const tamis__reply *reply, bool resent, tamis_error *err) {
    const size_t some = count_together(all, element), probes = all->filter->plan.probes;
    tamis_status status = TAMIS_OK;
    if (some == 1)
        return take_element(all, element, number, reply, resent, err);
    if (reply->type != TAMIS__REPLY_ARRAY || reply->size != some * probes)
        return tamis__redis_strange(all->at, err);
    tamis__reply own = *reply;
    own.size = probes;
    for (size_t i = 0; i < some && status == TAMIS_OK; i++, own.items += probes)
        status = take_element(all, element + i, number, &own, resent, err);
    return status;
}

tamis_status tamis__batch_take(void *context, size_t i, const tamis__reply *reply, bool resent,
                               tamis_error *err) {
    tamis__batch *all = context;
    i += all->first;
    if (i < all->elements)
        return take_elements(all, element_of(all, i), part_of(all, i), reply, resent, err);
    i -= all->elements;
    if (i < all->checks)
        return all->at->layout->check_take(all->filter, i, reply, err);
    all->endless[i - all->checks] = reply->integer == -1; /* PEXPIRE says 0 or 1 */
    return reply->type == TAMIS__REPLY_INTEGER ? TAMIS_OK : tamis__redis_strange(all->at, err);
}
