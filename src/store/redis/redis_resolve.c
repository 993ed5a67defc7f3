/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * getaddrinfo waits for name servers as long as the system's configuration says, half a minute and more, and cannot be
 * stopped. So a name is looked up in a thread of its own, which the caller leaves at its deadline: whoever of the two
 * comes last gives the lookup back. Addresses in digits take no thread.
 */
#include "store/redis/redis_resolve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/system.h"
#include "base/thread.h"
#include "store/file_error.h"

/* See base/thread.h. */
typedef struct lookup {
    pthread_mutex_t mutex; /* guards the next five */
    pthread_cond_t is_done;
    bool done, left; /* by the thread; by the caller */
    int failed;      /* of getaddrinfo */
    struct addrinfo *found;
    char port[8];
    char host[];
} lookup;

static int look_up(const char *host, const char *port, int flags, struct addrinfo **found) {
    const struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV | flags};
    return tamis__sys.look_up(host, port, &hints, found);
}

static void give_back(lookup *one) {
    if (one->found)
        freeaddrinfo(one->found);
    pthread_cond_destroy(&one->is_done);
    pthread_mutex_destroy(&one->mutex);
    free(one);
}

static void *run(void *context) {
    lookup *one = context;
    struct addrinfo *found = NULL;
    int failed = look_up(one->host, one->port, 0, &found);
    pthread_mutex_lock(&one->mutex);
    one->found = failed ? NULL : found;
    one->failed = failed;
    one->done = true;
    bool left = one->left;
    pthread_cond_signal(&one->is_done);
    pthread_mutex_unlock(&one->mutex);
    if (left)
        give_back(one);
    return NULL;
}

static lookup *create(const char *host, const char *port) {
    lookup *one = calloc(1, sizeof *one + strlen(host) + 1);
    if (!one)
        return NULL;
    strcpy(one->host, host);
    strcpy(one->port, port);
    tamis__cond_init(&one->is_done);
    pthread_mutex_init(&one->mutex, NULL);
    return one;
}

/* Whether it is done in time. Where it is not, it is the thread's. */
static bool wait_for(lookup *one, uint64_t deadline) {
    pthread_mutex_lock(&one->mutex);
    while (!one->done && tamis__cond_wait(&one->is_done, &one->mutex, deadline))
        ;
    bool done = one->done;
    one->left = !done;
    pthread_mutex_unlock(&one->mutex);
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
    lookup *one = create(address->host, port);
    if (!one)
        return tamis__fail_nomem(err, "redis", sizeof *one);
    failed = tamis__thread_start(run, one);
    if (failed) {
        give_back(one);
        return tamis__fail(err, TAMIS_E_SYSTEM, failed, "redis %s: no thread to look up its name: %s; %s",
                           shown, tamis__errno_text(failed), tamis__errno_remedy(failed));
    }
    if (!wait_for(one, deadline))
        return tamis__fail(
            err, TAMIS_E_TIMEOUT, ETIMEDOUT,
            "redis %s: its name was not found out in time; check the name servers, or give more "
            "time (timeout=)",
            shown);
    tamis_status status = one->failed ? no_address(shown, one->failed, err) : TAMIS_OK;
    if (status == TAMIS_OK) {
        *found = one->found;
        one->found = NULL;
    }
    give_back(one);
    return status;
}
