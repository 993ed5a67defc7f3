/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Steps: compare and write at one instant, by a script on the server.
 *
 *     EVAL script number KEYS...                       the Redis keys
 *          keeps_expiry, number of conditions          0 or 1; a count
 *          { 3 HGET key plan, expected } ...           conditions: number of words, the words, expected reply
 *          { 4 HSET key plan text } ...                writes: number of words, the words
 *
 *     reply  1   all conditions held, and the writes were carried out
 *            0   a condition failed, and nothing was written
 *
 * Why not a read followed by a write: between the two, another program may build, drop or switch. Also, a
 * command may reach the server long after its sender gave up, if the process was stopped or TCP delivers
 * late. A plain write would still be carried out; a step compares first.
 *
 * Invariants:
 * 1. Compared values (a lock's token, a generation, a mark in a partition) never return once they have
 *    changed. So a step is carried out at most once. Two conditions may hold again; docs/REDIS-LAYOUT.md
 *    (Steps) shows why they do no harm.
 * 2. Writes that need memory come first. A script is not rolled back, and the one error between two writes is
 *    a full memory (OOM). A server decides on that once for a whole script. So either the first write fails,
 *    or none does.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "store/redis/request/redis_requests.h"

/* Each command in ARGV is the number of its words, then the words. A missing key or field reads as ''. */
static const char script[] = "local at = 3 "
                             "local function command() "
                             "local last = at + tonumber(ARGV[at]) "
                             "local words = {unpack(ARGV, at + 1, last)} "
                             "at = last + 1 "
                             "return redis.pcall(unpack(words)) end "
                             "for i = 1, tonumber(ARGV[2]) do "
                             "local found = command() "
                             "if type(found) == 'table' and found.err then return found end "
                             "if tostring(found or '') ~= ARGV[at] then return 0 end "
                             "at = at + 1 end "
                             "local left = 0 "
                             "if ARGV[1] == '1' then left = redis.call('PTTL', KEYS[1]) end "
                             "while at <= #ARGV do "
                             "local done = command() "
                             "if type(done) == 'table' and done.err then return done end end "
                             "if left > 0 then redis.call('PEXPIRE', KEYS[1], left) end "
                             "return 1";

static void set_words(tamis__step_command *to, const tamis_key *words, size_t count) {
    assert(count <= TAMIS__STEP_WORDS);
    memcpy(to->words, words, count * sizeof *words);
    to->count = count;
}

void tamis__step_key(tamis__step *step, tamis_key key) {
    assert(step->key_count < sizeof step->keys / sizeof *step->keys);
    step->keys[step->key_count++] = key;
}

void tamis__step_expect(tamis__step *step, tamis_key expected, const tamis_key *words, size_t count) {
    assert(step->condition_count < TAMIS__STEP_CONDITIONS);
    step->expected[step->condition_count] = expected;
    set_words(&step->conditions[step->condition_count++], words, count);
}

void tamis__step_expect_text(tamis__step *step, tamis_key key, const char *text) {
    tamis__step_expect(step, tamis__redis_word(text), TAMIS__WORDS(tamis__redis_word("GET"), key));
}

void tamis__step_expect_field(tamis__step *step, tamis_key key, const char *field, const char *text) {
    tamis__step_expect(step, tamis__redis_word(text),
                       TAMIS__WORDS(tamis__redis_word("HGET"), key, tamis__redis_word(field)));
}

void tamis__step_write(tamis__step *step, const tamis_key *words, size_t count) {
    assert(step->write_count < TAMIS__STEP_WRITES);
    set_words(&step->writes[step->write_count++], words, count);
}

static size_t count_words(const tamis__step *step) {
    size_t count = 3 + step->key_count + 2; /* EVAL script number KEYS..., then the first two of ARGV */
    for (size_t i = 0; i < step->condition_count; i++)
        count += 1 + step->conditions[i].count + 1;
    for (size_t i = 0; i < step->write_count; i++)
        count += 1 + step->writes[i].count;
    return count;
}

static void put_words(const tamis__step_command *command, tamis__connection *conn) {
    tamis__connection_put_number(conn, (int64_t)command->count);
    for (size_t i = 0; i < command->count; i++)
        tamis__connection_put(conn, command->words[i].data, command->words[i].size);
}

void tamis__step_put(const tamis__step *step, tamis__connection *conn) {
    tamis__transaction *transacting = tamis__connection_get_transaction(conn);
    if (transacting) {
        tamis__step_transact(step, conn, transacting);
        return;
    }
    tamis__connection_put_command(conn, count_words(step));
    tamis__connection_put_text(conn, "EVAL");
    tamis__connection_put(conn, script, sizeof script - 1);
    tamis__connection_put_number(conn, (int64_t)step->key_count);
    for (size_t i = 0; i < step->key_count; i++)
        tamis__connection_put(conn, step->keys[i].data, step->keys[i].size);
    tamis__connection_put_number(conn, step->keeps_expiry);
    tamis__connection_put_number(conn, (int64_t)step->condition_count);
    for (size_t i = 0; i < step->condition_count; i++) {
        put_words(&step->conditions[i], conn);
        tamis__connection_put(conn, step->expected[i].data, step->expected[i].size);
    }
    for (size_t i = 0; i < step->write_count; i++)
        put_words(&step->writes[i], conn);
}
