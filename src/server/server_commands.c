/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The table of commands. It says which function runs a command and how many arguments it has. COMMAND,
 * COMMAND DOCS and the metrics read it. Texts of errors are those of Redis.
 *
 * GET, EXISTS, STRLEN and TTL of one key go into a batch. Each other command first answers the batch, so that
 * replies stay in order.
 */
#include "server/server_commands.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/system.h"

bool tamis__server_is_word(tamis_key key, const char *word) {
    return key.size == strlen(word) && strncasecmp(key.data, word, key.size) == 0;
}

/* ---- keys ---- */

static void run_get(server_client *client, server_reply *reply, const tamis_key *arguments, size_t count) {
    (void)reply;
    (void)count;
    tamis__batch_add(client, READ_GET, arguments[1]);
}

static void run_strlen(server_client *client, server_reply *reply, const tamis_key *arguments, size_t count) {
    (void)reply;
    (void)count;
    tamis__batch_add(client, READ_STRLEN, arguments[1]);
}

static void run_ttl(server_client *client, server_reply *reply, const tamis_key *arguments, size_t count) {
    (void)reply;
    (void)count;
    tamis__batch_add(client, READ_TTL, arguments[1]);
}

static void run_exists(server_client *client, server_reply *reply, const tamis_key *arguments, size_t count) {
    (void)reply;
    if (count == 2)
        tamis__batch_add(client, READ_EXISTS, arguments[1]);
    else
        tamis__batch_answer_keys(client, READ_EXISTS, arguments + 1, count - 1);
}

static void run_mget(server_client *client, server_reply *reply, const tamis_key *arguments, size_t count) {
    (void)reply;
    tamis__batch_answer_keys(client, READ_MGET, arguments + 1, count - 1);
}

static void run_guard_add(server_client *client, server_reply *reply, const tamis_key *arguments,
                          size_t count) {
    (void)reply;
    (void)count;
    tamis__server_write_begin(client, arguments[1]);
}

static void run_del(server_client *client, server_reply *reply, const tamis_key *arguments, size_t count) {
    (void)reply;
    tamis__server_write_finish(client, arguments + 1, count - 1);
}

/* ---- connections ---- */

static void run_ping(server_client *client, server_reply *reply, const tamis_key *arguments, size_t count) {
    (void)client;
    if (count > 2)
        tamis__reply_error(reply, "ERR wrong number of arguments for 'ping' command");
    else if (count == 2)
        tamis__reply_bulk(reply, arguments[1].data, arguments[1].size);
    else
        tamis__reply_text(reply, "+PONG\r\n");
}

static void run_echo(server_client *client, server_reply *reply, const tamis_key *arguments, size_t count) {
    (void)client;
    (void)count;
    tamis__reply_bulk(reply, arguments[1].data, arguments[1].size);
}

static void run_quit(server_client *client, server_reply *reply, const tamis_key *arguments, size_t count) {
    (void)arguments;
    (void)count;
    tamis__reply_ok(reply);
    client->finishes = true;
}

static void run_select(server_client *client, server_reply *reply, const tamis_key *arguments, size_t count) {
    (void)client;
    (void)count;
    if (tamis__server_is_word(arguments[1], "0"))
        tamis__reply_ok(reply);
    else
        tamis__reply_error(reply, "ERR DB index is out of range");
}

static void run_reset(server_client *client, server_reply *reply, const tamis_key *arguments, size_t count) {
    (void)arguments;
    (void)count;
    tamis__server_writes_abandon(client);
    tamis__multi_clear(client);
    client->is_resp3 = false;
    client->name[0] = '\0';
    client->is_authenticated = !client->server->config->password;
    tamis__reply_text(reply, "+RESET\r\n");
}

/* Compares in a time that depends on neither text. */
static bool is_password(const char *password, tamis_key given) {
    unsigned char hashes[2][EVP_MAX_MD_SIZE];
    unsigned size;

    return EVP_Digest(password, strlen(password), hashes[0], &size, EVP_sha256(), NULL) == 1 &&
           EVP_Digest(given.data, given.size, hashes[1], &size, EVP_sha256(), NULL) == 1 &&
           CRYPTO_memcmp(hashes[0], hashes[1], size) == 0;
}

/* user: NULL, or its name. False: the reply says why not. */
static bool authenticate(server_client *client, server_reply *reply, const tamis_key *user,
                         tamis_key password) {
    const char *expected = client->server->config->password;
    const bool is_right = expected && is_password(expected, password);

    if (!expected && !user) {
        tamis__reply_error(reply,
                           "ERR AUTH <password> called without any password configured for the default "
                           "user. Are you sure your configuration is correct?");
        return false;
    }
    if ((user && !tamis__server_is_word(*user, "default")) || (expected && !is_right)) {
        tamis__reply_error(reply, "WRONGPASS invalid username-password pair or user is disabled.");
        return false;
    }
    client->is_authenticated = true;
    return true;
}

static void run_auth(server_client *client, server_reply *reply, const tamis_key *arguments, size_t count) {
    if (count > 3)
        tamis__reply_error(reply, "ERR syntax error");
    else if (authenticate(client, reply, count == 3 ? &arguments[1] : NULL, arguments[count - 1]))
        tamis__reply_ok(reply);
}

/* False: the reply says why not. */
static bool set_name(server_client *client, server_reply *reply, tamis_key name) {
    const char *bytes = name.data;

    for (size_t i = 0; i < name.size; i++) {
        if (bytes[i] > ' ' && bytes[i] < 0x7f)
            continue;
        tamis__reply_error(reply, "ERR Client names cannot contain spaces, newlines or special characters.");
        return false;
    }
    snprintf(client->name, sizeof client->name, "%.*s",
             (int)(name.size < sizeof client->name ? name.size : sizeof client->name - 1), bytes);
    return true;
}

static void reply_hello(const server_client *client, server_reply *reply) {
    reply->is_resp3 = client->is_resp3;
    tamis__reply_map(reply, 7);
    tamis__reply_string(reply, "server");
    tamis__reply_string(reply, "redis");
    tamis__reply_string(reply, "version");
    tamis__reply_string(reply, SERVER_REDIS_VERSION);
    tamis__reply_string(reply, "proto");
    tamis__reply_integer(reply, client->is_resp3 ? 3 : 2);
    tamis__reply_string(reply, "id");
    tamis__reply_integer(reply, (int64_t)client->id);
    tamis__reply_string(reply, "mode");
    tamis__reply_string(reply, "standalone");
    tamis__reply_string(reply, "role");
    tamis__reply_string(reply, "master");
    tamis__reply_string(reply, "modules");
    tamis__reply_array(reply, 0);
}

static void run_hello(server_client *client, server_reply *reply, const tamis_key *arguments, size_t count) {
    const bool is_resp3 = count > 1 ? tamis__server_is_word(arguments[1], "3") : client->is_resp3;

    if (count > 1 && !is_resp3 && !tamis__server_is_word(arguments[1], "2")) {
        tamis__reply_error(reply, "NOPROTO unsupported protocol version");
        return;
    }
    for (size_t i = 2; i < count;) {
        if (i + 2 < count && tamis__server_is_word(arguments[i], "AUTH")) {
            if (!authenticate(client, reply, &arguments[i + 1], arguments[i + 2]))
                return;
            i += 3;
        } else if (i + 1 < count && tamis__server_is_word(arguments[i], "SETNAME")) {
            if (!set_name(client, reply, arguments[i + 1]))
                return;
            i += 2;
        } else {
            tamis__reply_error(reply, "ERR Syntax error in HELLO option '%.*s'",
                               (int)(arguments[i].size < 64 ? arguments[i].size : 64),
                               (const char *)arguments[i].data);
            return;
        }
    }
    if (!client->is_authenticated) {
        tamis__reply_error(reply,
                           "NOAUTH HELLO must be called with the client already authenticated, otherwise "
                           "the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the "
                           "client and select the RESP protocol version at the same time");
        return;
    }
    client->is_resp3 = is_resp3;
    reply_hello(client, reply);
}

static void run_client(server_client *client, server_reply *reply, const tamis_key *arguments, size_t count) {
    const tamis_key action = arguments[1];

    if (count == 4 && tamis__server_is_word(action, "SETINFO")) {
        tamis__reply_ok(reply);
    } else if (count == 3 && tamis__server_is_word(action, "SETNAME")) {
        if (set_name(client, reply, arguments[2]))
            tamis__reply_ok(reply);
    } else if (count == 2 && tamis__server_is_word(action, "GETNAME")) {
        if (*client->name)
            tamis__reply_string(reply, client->name);
        else
            tamis__reply_null(reply);
    } else if (count == 2 && tamis__server_is_word(action, "ID")) {
        tamis__reply_integer(reply, (int64_t)client->id);
    } else {
        tamis__reply_error(reply,
                           "ERR unknown subcommand or wrong number of arguments for '%.*s'. Known: SETINFO, "
                           "SETNAME, GETNAME, ID.",
                           (int)(action.size < 64 ? action.size : 64), (const char *)action.data);
    }
}

/* ---- the table ---- */

// clang-format off
const server_command tamis__server_commands[] = {
    {"get", 2, "readonly fast", 1, 1, 1, "string", "Returns the row of a key.", COMMAND_BATCHED, run_get},
    {"mget", -2, "readonly fast", 1, -1, 1, "string", "Returns the rows of keys.", 0, run_mget},
    {"exists", -2, "readonly fast", 1, -1, 1, "generic", "Returns how many of the keys have a row.", COMMAND_BATCHED, run_exists},
    {"strlen", 2, "readonly fast", 1, 1, 1, "string", "Returns the length of a row.", COMMAND_BATCHED, run_strlen},
    {"ttl", 2, "readonly fast", 1, 1, 1, "generic", "Returns -1 for a key with a row, -2 for another.", COMMAND_BATCHED, run_ttl},
    {"pttl", 2, "readonly fast", 1, 1, 1, "generic", "Returns -1 for a key with a row, -2 for another.", COMMAND_BATCHED, run_ttl},
    {"guard.add", 2, "write", 1, 1, 1, "generic", "Announces that the row of a key is about to be written.", 0, run_guard_add},
    {"del", -2, "write", 1, -1, 1, "generic", "Drops cached rows after they were written.", 0, run_del},
    {"unlink", -2, "write", 1, -1, 1, "generic", "Drops cached rows after they were written.", 0, run_del},
    {"bf.reserve", -4, "write denyoom", 1, 1, 1, "bf", "Creates a named filter.", 0, tamis__server_run_bloom_reserve},
    {"bf.add", 3, "write denyoom", 1, 1, 1, "bf", "Adds an item to a named filter.", 0, tamis__server_run_bloom_add},
    {"bf.madd", -3, "write denyoom", 1, 1, 1, "bf", "Adds items to a named filter.", 0, tamis__server_run_bloom_madd},
    {"bf.exists", 3, "readonly", 1, 1, 1, "bf", "Returns whether a named filter has an item.", 0, tamis__server_run_bloom_exists},
    {"bf.mexists", -3, "readonly", 1, 1, 1, "bf", "Returns which items a named filter has.", 0, tamis__server_run_bloom_mexists},
    {"bf.info", -2, "readonly fast", 1, 1, 1, "bf", "Returns statistics of a named filter.", 0, tamis__server_run_bloom_info},
    {"bf.card", 2, "readonly fast", 1, 1, 1, "bf", "Returns the number of items in a named filter.", 0, tamis__server_run_bloom_card},
    {"multi", 1, "noscript loading stale fast", 0, 0, 0, "transactions", "Begins a transaction: later commands wait for EXEC.", COMMAND_AT_ONCE, tamis__server_run_multi},
    {"exec", 1, "noscript loading stale", 0, 0, 0, "transactions", "Runs the commands since MULTI.", COMMAND_AT_ONCE, tamis__server_run_exec},
    {"discard", 1, "noscript loading stale fast", 0, 0, 0, "transactions", "Drops the commands since MULTI.", COMMAND_AT_ONCE, tamis__server_run_discard},
    {"watch", -2, "noscript loading stale fast", 1, -1, 1, "transactions", "Is refused.", COMMAND_AT_ONCE, tamis__server_run_watch},
    {"ping", -1, "fast", 0, 0, 0, "connection", "Returns PONG, or its argument.", 0, run_ping},
    {"echo", 2, "fast", 0, 0, 0, "connection", "Returns its argument.", 0, run_echo},
    {"hello", -1, "noscript loading stale fast no_auth", 0, 0, 0, "connection", "Chooses the version of the protocol.", COMMAND_NO_AUTH, run_hello},
    {"auth", -2, "noscript loading stale fast no_auth", 0, 0, 0, "connection", "Authenticates the connection.", COMMAND_NO_AUTH, run_auth},
    {"select", 2, "loading stale fast", 0, 0, 0, "connection", "Accepts database 0, the only one.", 0, run_select},
    {"client", -2, "noscript loading stale", 0, 0, 0, "connection", "SETINFO, SETNAME, GETNAME and ID of the connection.", 0, run_client},
    {"reset", 1, "noscript loading stale fast no_auth", 0, 0, 0, "connection", "Sets the connection back to its beginning.", COMMAND_NO_AUTH | COMMAND_AT_ONCE, run_reset},
    {"quit", -1, "noscript loading stale fast no_auth", 0, 0, 0, "connection", "Closes the connection.", COMMAND_NO_AUTH | COMMAND_AT_ONCE, run_quit},
    {"info", -1, "loading stale", 0, 0, 0, "server", "Returns statistics.", 0, tamis__server_run_info},
    {"command", -1, "loading stale", 0, 0, 0, "server", "Returns the commands: COUNT, DOCS, INFO.", 0, tamis__server_run_command},
};
// clang-format on
const size_t tamis__server_command_count = sizeof tamis__server_commands / sizeof *tamis__server_commands;
_Static_assert(sizeof tamis__server_commands / sizeof *tamis__server_commands <= SERVER_COMMANDS_MAX,
               "calls[] is too small");

const server_command *tamis__server_command_find(tamis_key name) {
    /* A client mostly sends the first one. */
    for (size_t i = 0; i < tamis__server_command_count; i++)
        if (tamis__server_is_word(name, tamis__server_commands[i].name))
            return &tamis__server_commands[i];
    return NULL;
}

static bool is_one_of(tamis_key name, const char *const *words) {
    while (*words && !tamis__server_is_word(name, *words))
        words++;
    return *words != NULL;
}

/* A web page can have a browser send a request to this port, with commands in its body. Redis closes such a
 * connection, too. */
static bool refuse_http(server_client *client, tamis_key name) {
    static const char *const words[] = {"post", "host:", NULL};

    if (!is_one_of(name, words))
        return false;
    tamis__reply_error(tamis__client_reply(client), "ERR this is not an HTTP server");
    tamis__client_flush(client);
    client->finishes = true;
    client->server->protocol_errors++;
    tamis__server_log_client(client, "sent HTTP, perhaps from a web page; closed");
    return true;
}

static void refuse_unknown(server_client *client, const tamis_key *arguments, size_t count) {
    static const char *const writes[] = {"set",    "setex", "psetex", "setnx",  "getset",  "mset", "incr",
                                         "incrby", "decr",  "append", "expire", "pexpire", "hset", NULL};
    char text[160];
    size_t used = 0;

    text[0] = '\0';
    if (refuse_http(client, arguments[0]))
        return;
    for (size_t i = 1; i < count && used < 128; i++) {
        const size_t shown = arguments[i].size < 128 - used ? arguments[i].size : 128 - used;
        used += (size_t)snprintf(text + used, sizeof text - used, "'%.*s' ", (int)shown,
                                 (const char *)arguments[i].data);
    }
    client->server->unknown_calls++;
    if (is_one_of(arguments[0], writes)) {
        tamis__reply_error(
            tamis__client_reply(client),
            "ERR unknown command '%.*s': rows are written in the database; send DEL after that",
            (int)arguments[0].size, (const char *)arguments[0].data);
        tamis__client_flush(client);
        return;
    }
    tamis__reply_error(
        tamis__client_reply(client), "ERR unknown command '%.*s', with args beginning with: %s",
        (int)(arguments[0].size < 128 ? arguments[0].size : 128), (const char *)arguments[0].data, text);
    tamis__client_flush(client);
}

static bool has_arity(const server_command *command, size_t count) {
    return command->arity > 0 ? count == (size_t)command->arity : count >= (size_t)-command->arity;
}

/* Runs a command that may run, or keeps it until EXEC. */
static void run_command(server_client *client, const server_command *command, const tamis_key *arguments,
                        size_t count, tamis_key bytes) {
    const bool is_kept = client->multi.is_open && !(command->use & COMMAND_AT_ONCE);

    if (!is_kept)
        client->server->calls[command - tamis__server_commands]++;
    if (!is_kept && command->use & COMMAND_BATCHED && count == 2) {
        command->run(client, NULL, arguments, count);
        return;
    }
    tamis__batch_answer(client);
    if (is_kept)
        tamis__multi_add(client, tamis__client_reply(client), bytes);
    else
        command->run(client, tamis__client_reply(client), arguments, count);
    tamis__client_flush(client);
}

void tamis__server_command_run(server_client *client, const tamis_key *arguments, size_t count,
                               tamis_key bytes) {
    const server_command *command = tamis__server_command_find(arguments[0]);
    tamis_server *server = client->server;

    if (command && (client->is_authenticated || command->use & COMMAND_NO_AUTH) &&
        has_arity(command, count)) {
        run_command(client, command, arguments, count, bytes);
        return;
    }
    tamis__batch_answer(client);
    tamis__multi_fail(client);
    server->errors++;
    if (!command) {
        refuse_unknown(client, arguments, count);
        return;
    }
    server_reply *reply = tamis__client_reply(client);
    if (!has_arity(command, count))
        tamis__reply_error(reply, "ERR wrong number of arguments for '%s' command", command->name);
    else
        tamis__reply_error(reply, "NOAUTH Authentication required.");
    tamis__client_flush(client);
}
