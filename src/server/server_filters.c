/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The thread of the named filters.
 *
 *     server's thread                                        thread of the filters
 *     BF.* command --> collected --> queue ----------------> all that is queued
 *                                                            runs in order, one commit
 *     replies, in each connection's order <-- answered <---- results
 *
 * 1. One queue keeps the order of each connection: a lookup sees every add before it.
 * 2. While a commit waits for the disk, commands queue up for the next one. So the number of commits a second
 *    follows from the disk, and not from the number of clients.
 * 3. A reply is sent after the commit of its batch, so a client never sees an add that a crash could undo.
 * 4. The states are read by this thread: the server answers other commands meanwhile.
 */
#include <string.h>

#include "base/memory.h"
#include "base/thread.h"
#include "server/server_int.h"

typedef struct command_list {
    filter_command *first, **tail;
} command_list;

struct server_filters_thread {
    server_event event; /* posted while `answered` is not empty; never freed by its `apply` */
    tamis_server *server;
    filter_store *store; /* of the thread alone */
    pthread_t thread;
    bool has_thread;
    command_list collected; /* of the server's thread alone */

    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t work;
    command_list queued, answered;
    bool stops;
    filter_stats stats;
};

/* ---- lists ---- */

static void clear_list(command_list *list) {
    list->first = NULL;
    list->tail = &list->first;
}

/* Moves all commands of a list to the end of another. */
static void move_list(command_list *to, command_list *from) {
    if (!from->first)
        return;
    *to->tail = from->first;
    to->tail = from->tail;
    clear_list(from);
}

/* ---- the server's thread ---- */

void tamis__filters_add(server_client *client, bloom_command *command) {
    command_list *list = &client->server->filters->collected;

    *list->tail = &command->command;
    list->tail = &command->command.next;
}

void tamis__filters_send(tamis_server *server) {
    server_filters_thread *filters = server->filters;

    if (!filters || !filters->collected.first)
        return;
    pthread_mutex_lock(&filters->lock);
    move_list(&filters->queued, &filters->collected);
    pthread_cond_signal(&filters->work);
    pthread_mutex_unlock(&filters->lock);
}

/* Marks a command as answered. Returns its client if it is to proceed, and was not returned before. */
static server_client *mark_answered(filter_command *command) {
    server_pending *pending = ((bloom_command *)command)->pending;
    server_client *client = pending->client;

    pending->waiting = 0;
    if (!client) {
        tamis__pending_free(pending);
        return NULL;
    }
    if (client->is_answered)
        return NULL;
    client->is_answered = true;
    return client;
}

/* Marks all commands first: so each client writes its replies at once. */
static void apply_answers(tamis_server *server, server_event *event) {
    server_filters_thread *filters = (server_filters_thread *)event;
    server_client *clients = NULL;

    (void)server;
    pthread_mutex_lock(&filters->lock);
    filter_command *command = filters->answered.first;
    clear_list(&filters->answered);
    pthread_mutex_unlock(&filters->lock);
    while (command) {
        filter_command *next = command->next;
        server_client *client = mark_answered(command);
        if (client) {
            client->answered = clients;
            clients = client;
        }
        command = next;
    }
    while (clients) {
        server_client *next = clients->answered;
        clients->is_answered = false;
        tamis__client_proceed(clients);
        clients = next;
    }
}

void tamis__filters_stats(server_filters_thread *filters, filter_stats *stats) {
    pthread_mutex_lock(&filters->lock);
    *stats = filters->stats;
    pthread_mutex_unlock(&filters->lock);
}

/* ---- the thread ---- */

/* Waits for commands. Returns NULL if there are none, and the server ends. */
static filter_command *await_commands(server_filters_thread *filters) {
    pthread_mutex_lock(&filters->lock);
    while (!filters->queued.first && !filters->stops)
        pthread_cond_wait(&filters->work, &filters->lock);
    filter_command *first = filters->queued.first;
    clear_list(&filters->queued);
    pthread_mutex_unlock(&filters->lock);
    return first;
}

static void pass_answers(server_filters_thread *filters, filter_command *first) {
    command_list list = {first, &first->next};

    while (*list.tail)
        list.tail = &(*list.tail)->next;
    pthread_mutex_lock(&filters->lock);
    const bool is_posted = filters->answered.first != NULL;
    move_list(&filters->answered, &list);
    tamis__filter_store_stats(filters->store, &filters->stats);
    pthread_mutex_unlock(&filters->lock);
    if (!is_posted)
        tamis__server_post(filters->server, &filters->event);
}

static void *run_filters(void *context) {
    server_filters_thread *filters = context;
    filter_command *first;

    tamis__filter_store_load(filters->store);
    pthread_mutex_lock(&filters->lock);
    tamis__filter_store_stats(filters->store, &filters->stats);
    pthread_mutex_unlock(&filters->lock);
    while ((first = await_commands(filters)) != NULL) {
        tamis__filter_store_run(filters->store, first);
        pass_answers(filters, first);
    }
    return NULL;
}

/* A line of the log, which belongs to the server's thread. */
typedef struct log_event {
    server_event event;
    char line[700];
} log_event;

static void apply_log(tamis_server *server, server_event *event) {
    tamis__server_log(server, "%s", ((log_event *)event)->line);
    tamis__free(&server->memory, event, sizeof(log_event));
}

static void post_log(void *context, const char *line) {
    tamis_server *server = context;
    log_event *made = tamis__alloc(&server->memory, sizeof *made, _Alignof(log_event));

    if (!made)
        return;
    made->event.apply = apply_log;
    strncpy(made->line, line, sizeof made->line - 1);
    tamis__server_post(server, &made->event);
}

/* ---- begin and end ---- */

tamis_status tamis__filters_open(tamis_server *server, tamis_error *err) {
    const server_filters *settings = &server->config->filters;

    if (!settings->directory)
        return TAMIS_OK;
    server_filters_thread *made = tamis__alloc(&server->memory, sizeof *made, 64);
    if (!made)
        return tamis__fail_nomem(err, server->config_file, sizeof *made);
    made->event.apply = apply_answers;
    made->server = server;
    clear_list(&made->collected);
    clear_list(&made->queued);
    clear_list(&made->answered);
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->work, NULL);
    server->filters = made;
    const tamis_status status =
        tamis__filter_store_open(&made->store, settings, &server->memory, post_log, server, err);
    if (status != TAMIS_OK)
        return status;
    const int failed = tamis__thread_create(&made->thread, run_filters, made);
    made->has_thread = failed == 0;
    return failed ? tamis__fail(err, TAMIS_E_SYSTEM, failed, "%s: no thread: %s; raise the limit of threads",
                                server->config_file, strerror(failed))
                  : TAMIS_OK;
}

void tamis__filters_close(tamis_server *server) {
    server_filters_thread *filters = server->filters;

    if (!filters)
        return;
    tamis__filters_send(server);
    pthread_mutex_lock(&filters->lock);
    filters->stops = true;
    pthread_cond_signal(&filters->work);
    pthread_mutex_unlock(&filters->lock);
    if (filters->has_thread)
        pthread_join(filters->thread, NULL);
}

void tamis__filters_free(tamis_server *server) {
    server_filters_thread *filters = server->filters;

    if (!filters)
        return;
    tamis__filter_store_close(filters->store);
    pthread_cond_destroy(&filters->work);
    pthread_mutex_destroy(&filters->lock);
    tamis__free(&server->memory, filters, sizeof *filters);
    server->filters = NULL;
}
