/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Host names are looked up in a detached thread. getaddrinfo waits for name servers as long as the system
 * configuration says, half a minute and more, and cannot be stopped. The caller gives up at its deadline
 * and leaves the thread running. Numeric addresses need no thread.
 *
 *     done in time        the thread sets `done`; the caller reads the result and frees the lookup
 *     deadline passed     the caller sets `is_abandoned`; the thread frees the lookup when it ends
 */
#include "store/redis/connection/redis_connection.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/system.h"
#include "base/thread.h"
#include "store/file/file_error.h"

/* A lookup, shared by the caller and its thread. Its memory is from malloc: see tamis__thread_start. */
typedef struct lookup {
    pthread_mutex_t mutex; /* guards the next five */
    pthread_cond_t is_done;
    bool done, is_abandoned; /* set by the thread; set by the caller */
    int failed;              /* result of getaddrinfo, 0 on success */
    struct addrinfo *found;
    char port[8];
    char host[];
} lookup;

static int look_up(const char *host, const char *port, int flags, struct addrinfo **found) {
    const struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV | flags};
    return tamis__sys.look_up(host, port, &hints, found);
}

static void free_lookup(lookup *task) {
    if (task->found)
        freeaddrinfo(task->found);
    pthread_cond_destroy(&task->is_done);
    pthread_mutex_destroy(&task->mutex);
    free(task);
}

static void *run_lookup(void *context) {
    lookup *task = context;
    struct addrinfo *found = NULL;
    const int failed = look_up(task->host, task->port, 0, &found);
    pthread_mutex_lock(&task->mutex);
    task->found = failed ? NULL : found;
    task->failed = failed;
    task->done = true;
    const bool is_abandoned = task->is_abandoned;
    pthread_cond_signal(&task->is_done);
    pthread_mutex_unlock(&task->mutex);
    if (is_abandoned)
        free_lookup(task);
    return NULL;
}

static lookup *create_lookup(const char *host, const char *port) {
    lookup *task = calloc(1, sizeof *task + strlen(host) + 1);
    if (!task)
        return NULL;
    strcpy(task->host, host);
    strcpy(task->port, port);
    tamis__cond_init(&task->is_done);
    pthread_mutex_init(&task->mutex, NULL);
    return task;
}

/* Returns false if the deadline passed first. Then the thread owns `task` and frees it. */
static bool wait_for(lookup *task, uint64_t deadline) {
    pthread_mutex_lock(&task->mutex);
    while (!task->done && tamis__cond_wait(&task->is_done, &task->mutex, deadline))
        ;
    const bool done = task->done;
    task->is_abandoned = !done;
    pthread_mutex_unlock(&task->mutex);
    return done;
}

static tamis_status no_address(const char *shown, int failed, tamis_error *err) {
    if (failed == EAI_MEMORY)
        return tamis__fail_nomem(err, "redis", 0);
    return tamis__fail(err, TAMIS_E_IO, 0, "redis %s: %s; check the name of the host", shown,
                       gai_strerror(failed));
}

tamis_status tamis__resolve(struct addrinfo **found, const tamis__redis_address *address, const char *shown,
                            uint64_t deadline, tamis_error *err) {
    char port[8];
    snprintf(port, sizeof port, "%u", (unsigned)address->port);
    int failed = look_up(address->host, port, AI_NUMERICHOST, found);
    if (failed != EAI_NONAME)
        return failed ? no_address(shown, failed, err) : TAMIS_OK;
    lookup *task = create_lookup(address->host, port);
    if (!task)
        return tamis__fail_nomem(err, "redis", sizeof *task);
    failed = tamis__thread_start(run_lookup, task);
    if (failed) {
        free_lookup(task);
        return tamis__fail(err, TAMIS_E_SYSTEM, failed, "redis %s: no thread to look up its name: %s; %s",
                           shown, tamis__errno_text(failed), tamis__errno_remedy(failed));
    }
    if (!wait_for(task, deadline))
        return tamis__fail(
            err, TAMIS_E_TIMEOUT, ETIMEDOUT,
            "redis %s: its name was not found out in time; check the name servers, or give more "
            "time (timeout=)",
            shown);
    const tamis_status status = task->failed ? no_address(shown, task->failed, err) : TAMIS_OK;
    if (status == TAMIS_OK) {
        *found = task->found;
        task->found = NULL;
    }
    free_lookup(task);
    return status;
}
