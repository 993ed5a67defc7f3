/* SPDX-License-Identifier: BSD-2-Clause */

/* BF.* commands: from arguments to a command of the store, and from its results to a reply. Replies and errors
 * are those of RedisBloom. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/memory.h"
#include "server/server_commands.h"

enum {
    RESERVE_MAX = 7, /* arguments of BF.RESERVE */
    EXPANSION = 2,   /* the default */
    NUMBER_MAX = 64, /* bytes of a number */
    WEIGHT = 1024    /* bytes of a command that count as much as a key */
};
#define CAPACITY_MAX  1073741824
#define EXPANSION_MAX 32768

void tamis__bloom_free(const tamis_allocator *memory, bloom_command *command) {
    tamis__filter_command_release(&command->command);
    tamis__free(memory, command, command->size);
}

/* ---- commands ---- */

/* Makes a command with copies of its name and items. Replies if it cannot be made. */
static bloom_command *make_command(server_client *client, server_reply *reply, filter_verb verb,
                                   const tamis_key *arguments, size_t count) {
    const tamis_allocator *memory = &client->server->memory;
    const size_t items = verb == FILTER_ADD || verb == FILTER_EXISTS ? count - 2 : 0;
    size_t bytes = arguments[1].size;

    if (!client->server->filters) {
        tamis__reply_error(reply, "ERR this server has no filters; add filters to its configuration");
        return NULL;
    }
    for (size_t i = 0; i < items; i++)
        bytes += arguments[2 + i].size;
    const size_t size = sizeof(bloom_command) + items * (sizeof(tamis_key) + sizeof(tamis_answer)) + bytes;
    bloom_command *made = tamis__alloc(memory, size, _Alignof(bloom_command));
    if (!made) {
        tamis__reply_error(reply, "ERR out of memory");
        return NULL;
    }
    tamis_key *keys = (tamis_key *)(made + 1);
    tamis_answer *answers = (tamis_answer *)(keys + items);
    char *copy = (char *)(answers + items);
    made->size = size;
    made->field = -1;
    made->command.verb = verb;
    made->command.name = (tamis_key){copy, arguments[1].size};
    made->command.items = keys;
    made->command.answers = answers;
    made->command.count = items;
    for (size_t i = 0; i <= items; i++) {
        const tamis_key *from = &arguments[1 + i];
        if (i > 0)
            keys[i - 1] = (tamis_key){copy, from->size};
        if (from->size > 0)
            memcpy(copy, from->data, from->size);
        copy += from->size;
    }
    return made;
}

/* Queues a command, whose reply comes after its commit. */
static void queue_command(server_client *client, server_reply *reply, bloom_command *command) {
    server_pending *pending = tamis__pending_create(client, READ_FILTER, 0);

    if (!pending) {
        tamis__bloom_free(&client->server->memory, command);
        tamis__reply_error(reply, "ERR out of memory");
        return;
    }
    pending->filter = command;
    pending->waiting = 1;
    pending->weight = 1 + command->size / WEIGHT;
    command->pending = pending;
    tamis__pending_append(client, pending);
    tamis__filters_add(client, command);
}

static void run_items(server_client *client, server_reply *reply, filter_verb verb,
                      const tamis_key *arguments, size_t count, bool is_single) {
    bloom_command *command = make_command(client, reply, verb, arguments, count);

    if (!command)
        return;
    command->is_single = is_single;
    queue_command(client, reply, command);
}

void tamis__server_run_bloom_add(server_client *client, server_reply *reply, const tamis_key *arguments,
                                 size_t count) {
    run_items(client, reply, FILTER_ADD, arguments, count, true);
}

void tamis__server_run_bloom_madd(server_client *client, server_reply *reply, const tamis_key *arguments,
                                  size_t count) {
    run_items(client, reply, FILTER_ADD, arguments, count, false);
}

void tamis__server_run_bloom_exists(server_client *client, server_reply *reply, const tamis_key *arguments,
                                    size_t count) {
    run_items(client, reply, FILTER_EXISTS, arguments, count, true);
}

void tamis__server_run_bloom_mexists(server_client *client, server_reply *reply, const tamis_key *arguments,
                                     size_t count) {
    run_items(client, reply, FILTER_EXISTS, arguments, count, false);
}

void tamis__server_run_bloom_card(server_client *client, server_reply *reply, const tamis_key *arguments,
                                  size_t count) {
    run_items(client, reply, FILTER_CARD, arguments, count, true);
}

/* ---- BF.RESERVE ---- */

/* Copies a number, with a NUL behind it. False: too long, or it has a NUL. */
static bool copy_number(char text[NUMBER_MAX + 1], tamis_key key) {
    if (key.size == 0 || key.size > NUMBER_MAX || memchr(key.data, '\0', key.size))
        return false;
    memcpy(text, key.data, key.size);
    text[key.size] = '\0';
    return true;
}

/* Reads an integer in decimal digits, as Redis does. */
static bool read_integer(tamis_key key, long long *number) {
    char text[NUMBER_MAX + 1], *end;

    if (!copy_number(text, key) || ((*text < '0' || *text > '9') && *text != '-'))
        return false;
    errno = 0;
    *number = strtoll(text, &end, 10);
    return errno == 0 && *end == '\0' && end[-1] != '-';
}

static bool read_real(tamis_key key, double *number) {
    char text[NUMBER_MAX + 1], *end;

    if (!copy_number(text, key))
        return false;
    *number = tamis__read_decimal(text, &end);
    return end != text && *end == '\0' && !isnan(*number);
}

/* Reads EXPANSION and NONSCALING. As in RedisBloom, other words are ignored. Returns the error, or NULL. */
static const char *read_options(filter_creation *creation, const tamis_key *arguments, size_t count) {
    bool nonscaling = false;
    size_t position = 0;
    long long expansion = EXPANSION;

    for (size_t i = 4; i < count; i++) {
        nonscaling |= tamis__server_is_word(arguments[i], "NONSCALING");
        if (position == 0 && tamis__server_is_word(arguments[i], "EXPANSION"))
            position = i;
    }
    if (position > 0 && position + 1 == count)
        return "ERR no expansion";
    if (position > 0 && !read_integer(arguments[position + 1], &expansion))
        return "ERR bad expansion";
    if (position > 0 && nonscaling && expansion != 0)
        return "Nonscaling filters cannot expand";
    if (expansion < 0 || expansion > EXPANSION_MAX)
        return "ERR expansion must be in the range [0, 32768]";
    creation->expansion = nonscaling ? 0 : (uint32_t)expansion;
    return NULL;
}

static const char *read_creation(filter_creation *creation, const tamis_key *arguments, size_t count) {
    long long capacity;

    if (!read_real(arguments[2], &creation->rate))
        return "ERR bad error rate";
    if (!(creation->rate > 0 && creation->rate < 1))
        return "ERR error rate must be in the range (0.000000, 1.000000)";
    if (!read_integer(arguments[3], &capacity))
        return "ERR bad capacity";
    if (capacity < 1 || capacity > CAPACITY_MAX)
        return "ERR capacity must be in the range [1, 1073741824]";
    creation->capacity = (uint64_t)capacity;
    return read_options(creation, arguments, count);
}

void tamis__server_run_bloom_reserve(server_client *client, server_reply *reply, const tamis_key *arguments,
                                     size_t count) {
    filter_creation creation = {0};
    const char *error = count > RESERVE_MAX ? "ERR wrong number of arguments for 'bf.reserve' command"
                                            : read_creation(&creation, arguments, count);

    if (error) {
        tamis__reply_error(reply, "%s", error);
        return;
    }
    bloom_command *command = make_command(client, reply, FILTER_RESERVE, arguments, count);
    if (!command)
        return;
    command->command.creation = creation;
    queue_command(client, reply, command);
}

/* ---- BF.INFO ---- */

enum { CAPACITY, SIZE, FILTERS, ITEMS, EXPANSION_RATE, FIELDS };

static const struct {
    const char *word, *label;
} fields[FIELDS] = {[CAPACITY] = {"CAPACITY", "Capacity"},
                    [SIZE] = {"SIZE", "Size"},
                    [FILTERS] = {"FILTERS", "Number of filters"},
                    [ITEMS] = {"ITEMS", "Number of items inserted"},
                    [EXPANSION_RATE] = {"EXPANSION", "Expansion rate"}};

void tamis__server_run_bloom_info(server_client *client, server_reply *reply, const tamis_key *arguments,
                                  size_t count) {
    int field = 0;

    if (count > 3) {
        tamis__reply_error(reply, "ERR wrong number of arguments for 'bf.info' command");
        return;
    }
    while (count == 3 && field < FIELDS && !tamis__server_is_word(arguments[2], fields[field].word))
        field++;
    if (field == FIELDS) {
        tamis__reply_error(reply, "Invalid information value");
        return;
    }
    bloom_command *command = make_command(client, reply, FILTER_INFO, arguments, count);
    if (!command)
        return;
    command->field = count == 3 ? field : -1;
    queue_command(client, reply, command);
}

static void reply_field(server_reply *reply, int field, const filter_numbers *numbers) {
    if (field == EXPANSION_RATE && numbers->expansion == 0) {
        tamis__reply_null(reply);
        return;
    }
    const uint64_t values[FIELDS] = {numbers->capacity, numbers->memory, 1, numbers->keys,
                                     numbers->expansion};
    tamis__reply_integer(reply, (int64_t)values[field]);
}

/* One field alone is an array of its value in version 2. */
static void reply_info(server_reply *reply, const bloom_command *command) {
    const int first = command->field < 0 ? 0 : command->field;
    const int end = command->field < 0 ? FIELDS : command->field + 1;

    if (!command->command.is_found) {
        tamis__reply_error(reply, "ERR not found");
        return;
    }
    if (command->field < 0 || reply->is_resp3)
        tamis__reply_map(reply, (size_t)(end - first));
    else
        tamis__reply_array(reply, 1);
    for (int field = first; field < end; field++) {
        if (command->field < 0 || reply->is_resp3)
            tamis__reply_line(reply, '+', "%s", fields[field].label);
        reply_field(reply, field, &command->command.numbers);
    }
}

/* ---- replies ---- */

/* BF.ADD and BF.EXISTS. The array of BF.MADD ends with an error, if there is one. */
static void reply_items(server_reply *reply, const bloom_command *bloom) {
    const filter_command *command = &bloom->command;
    const bool is_add = command->verb == FILTER_ADD;

    if (!bloom->is_single)
        tamis__reply_array(reply, command->done + (command->error != NULL));
    for (size_t i = 0; i < command->done; i++)
        tamis__reply_boolean(reply, (command->answers[i] == TAMIS_ABSENT) == is_add);
    if (command->error)
        tamis__reply_error(reply, "%s", command->error);
}

void tamis__bloom_reply(server_reply *reply, const bloom_command *bloom) {
    const filter_command *command = &bloom->command;

    if (command->error && command->is_whole) {
        tamis__reply_error(reply, "%s", command->error);
        return;
    }
    switch (command->verb) {
    case FILTER_RESERVE:
        tamis__reply_ok(reply);
        break;
    case FILTER_INFO:
        reply_info(reply, bloom);
        break;
    case FILTER_CARD:
        tamis__reply_integer(reply, command->is_found ? (int64_t)command->numbers.keys : 0);
        break;
    default:
        reply_items(reply, bloom);
        break;
    }
}
