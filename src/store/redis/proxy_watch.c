/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * One thread looks, and waits until there is something new to see:
 *
 *      owner            thread                        threads of ZooKeeper's client
 *     --------         --------------------           -----------------------------
 *      look  <- list -  read both places  <- is_changed -  an event of a node or of the session
 *      stop  - is_stopped ->  close
 *
 * The client calls back once for a node that was read with a watch, so whatever happens, everything is read again and
 * watched again: proxies are few. A reading that fails leaves the list as it was and is done again when the client has found
 * a server, or after a while; a session that ended is followed by another, and so is one that is without a server for long:
 * a ZooKeeper that was set up anew refuses who has seen later changes than it has. The thread may be left at a name server's or
 * ZooKeeper's leisure (base/thread.h).
 */
#define THREADED /* zookeeper.h: the calls that wait for their answer */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>
#include <zookeeper/zookeeper_version.h>

#include "base/system.h"
#include "base/thread.h"
#include "store/file_error.h"
#include "store/redis/proxy_watch.h"

enum {
    PLACES = 2,
    PATH = 1024,
    DATA = 4096, /* proxies write less than 1 KiB */
    MS = 1000000,
    AGAIN_MS = 1000, /* after a reading that failed */
    LEAVE_MS = 1000, /* for ZooKeeper to see us off */
    SESSION_MOST = 60000
};

/* What a reading found. */
typedef struct found {
    tamis__proxy *list; /* of those online */
    size_t count, room;
    size_t registered, strange; /* nodes; of those, with data that are no proxy's */
    bool is_there[PLACES];
} found;

struct tamis__proxy_watch {
    pthread_mutex_t mutex; /* guards what stands up to `trouble` */
    pthread_cond_t news;
    bool is_changed, is_stopped, is_left, is_done;
    uint64_t edition; /* of now; 0: nothing is known yet */
    found now;
    tamis_error trouble;  /* why nothing is known; TAMIS_OK: nobody said */
    zhandle_t *zookeeper; /* the thread's own */
    int session_ms;
    uint64_t alone_ns, alone_since; /* how long it may be without a server; 0: it has one */
    char *login;                    /* "user:password", or NULL */
    char *product;
    char hosts[];
};

static void give_back(tamis__proxy_watch *watch) {
    free(watch->now.list);
    free(watch->login);
    free(watch->product);
    pthread_cond_destroy(&watch->news);
    pthread_mutex_destroy(&watch->mutex);
    free(watch);
}

/* ---- reading ---- */

static void path_of(const tamis__proxy_watch *watch, int place, char to[PATH]) {
    if (place == 0)
        snprintf(to, PATH, "/jodis/%s", watch->product);
    else
        snprintf(to, PATH, "/zk/codis/db_%s", watch->product);
}

static void tell(tamis__proxy_watch *watch) {
    pthread_mutex_lock(&watch->mutex);
    watch->is_changed = true;
    pthread_cond_broadcast(&watch->news);
    pthread_mutex_unlock(&watch->mutex);
}

static void on_event(zhandle_t *zookeeper, int type, int state, const char *path, void *context) {
    (void)zookeeper;
    (void)type;
    (void)state;
    (void)path;
    tell(context);
}

static void be_silent(const char *message) {
    (void)message;
}

static bool is_listed(const found *all, const tamis__proxy *one) {
    for (size_t i = 0; i < all->count; i++)
        if (all->list[i].port == one->port && strcmp(all->list[i].host, one->host) == 0)
            return true;
    return false;
}

static int list_proxy(found *all, const tamis__proxy *one) {
    if (is_listed(all, one))
        return ZOK;
    if (all->count == all->room) {
        const size_t room = 2 * all->room + 8;
        tamis__proxy *list = realloc(all->list, room * sizeof *list);
        if (!list)
            return ZSYSTEMERROR;
        all->list = list;
        all->room = room;
    }
    all->list[all->count++] = *one;
    return ZOK;
}

static int read_proxy(tamis__proxy_watch *watch, const char *path, found *all) {
    char data[DATA];
    int size = sizeof data;
    struct Stat about;
    tamis__proxy one;
    bool is_online;
    const int rc = zoo_wget(watch->zookeeper, path, on_event, watch, data, &size, &about);
    if (rc != ZOK)
        return rc == ZNONODE ? ZOK : rc; /* gone since: of that its place will tell */
    all->registered++;
    if (size < 0 || about.dataLength > (int)sizeof data ||
        !tamis__proxy_read(data, (size_t)size, &one, &is_online)) {
        all->strange++;
        return ZOK;
    }
    return is_online ? list_proxy(all, &one) : ZOK;
}

/* The names in a place, or where there is no such place none, and the client waits for it to come. */
static int read_names(tamis__proxy_watch *watch, const char *path, struct String_vector *names,
                      bool *is_there) {
    for (;;) {
        struct Stat about;
        int rc = zoo_wget_children(watch->zookeeper, path, on_event, watch, names);
        *is_there = rc == ZOK;
        if (rc == ZNONODE)
            rc = zoo_wexists(watch->zookeeper, path, on_event, watch, &about);
        else
            return rc;
        if (rc != ZOK) /* else it has come meanwhile */
            return rc == ZNONODE ? ZOK : rc;
    }
}

static int read_place(tamis__proxy_watch *watch, int place, found *all) {
    static const char prefix[] = "proxy-";
    struct String_vector names = {0, NULL};
    char path[PATH], of_one[2 * PATH];
    path_of(watch, place, path);
    int rc = read_names(watch, path, &names, &all->is_there[place]);
    for (int i = 0; i < names.count && rc == ZOK; i++) {
        if (strncmp(names.data[i], prefix, sizeof prefix - 1) != 0)
            continue;
        if (snprintf(of_one, sizeof of_one, "%s/%s", path, names.data[i]) < (int)sizeof of_one)
            rc = read_proxy(watch, of_one, all);
    }
    deallocate_String_vector(&names);
    return rc;
}

/* ---- what is told ---- */

static void take_found(tamis__proxy_watch *watch, const found *all) {
    pthread_mutex_lock(&watch->mutex);
    free(watch->now.list);
    watch->now = *all;
    watch->edition++;
    pthread_cond_broadcast(&watch->news);
    pthread_mutex_unlock(&watch->mutex);
}

static void take_trouble(tamis__proxy_watch *watch, const tamis_error *trouble) {
    pthread_mutex_lock(&watch->mutex);
    watch->trouble = *trouble;
    pthread_cond_broadcast(&watch->news);
    pthread_mutex_unlock(&watch->mutex);
}

/* A connection that is lost is the client's to mend. */
static void tell_failure(tamis__proxy_watch *watch, int rc) {
    tamis_error trouble = TAMIS_ERROR_INIT;
    if (rc == ZNOAUTH || rc == ZAUTHFAILED)
        tamis__fail(&trouble, TAMIS_E_REFUSED, 0,
                    "codis %s: ZooKeeper lets nobody read the proxies of '%.100s' (%s); give zk_user= and "
                    "zk_password=",
                    tamis__show(watch->hosts).text, tamis__show(watch->product).text, zerror(rc));
    else if (rc != ZCONNECTIONLOSS && rc != ZOPERATIONTIMEOUT && rc != ZSESSIONEXPIRED &&
             rc != ZINVALIDSTATE && rc != ZCLOSING)
        tamis__fail(&trouble, TAMIS_E_IO, 0,
                    "codis %s: ZooKeeper did not tell of the proxies of '%.100s' (%s); check product and "
                    "hosts",
                    tamis__show(watch->hosts).text, tamis__show(watch->product).text, zerror(rc));
    if (trouble.status != TAMIS_OK)
        take_trouble(watch, &trouble);
}

/* ---- the thread ---- */

static void leave_zookeeper(tamis__proxy_watch *watch) {
    if (watch->zookeeper)
        zookeeper_close(watch->zookeeper);
    watch->zookeeper = NULL;
    watch->alone_since = 0;
}

/* Its threads take no signal either: they have it from this one. */
static void reach_zookeeper(tamis__proxy_watch *watch) {
    tamis_error trouble = TAMIS_ERROR_INIT;
    errno = 0;
    watch->zookeeper = zookeeper_init2(watch->hosts, on_event, watch->session_ms, NULL, watch, 0, be_silent);
    if (watch->zookeeper && watch->login)
        zoo_add_auth(watch->zookeeper, "digest", watch->login, (int)strlen(watch->login), NULL, NULL);
    if (watch->zookeeper)
        return;
    tamis__fail(&trouble, TAMIS_E_IO, errno,
                "codis %s: no way to ZooKeeper: %s; check the names of the hosts",
                tamis__show(watch->hosts).text, tamis__errno_text(errno));
    take_trouble(watch, &trouble);
}

static bool is_hopeless(tamis__proxy_watch *watch) {
    const uint64_t now = tamis__now_ns();
    const bool has_server = zoo_state(watch->zookeeper) == ZOO_CONNECTED_STATE;
    if (has_server || watch->alone_since == 0)
        watch->alone_since = has_server ? 0 : now;
    return is_unrecoverable(watch->zookeeper) || (!has_server && now - watch->alone_since > watch->alone_ns);
}

/* Whether all was read, and there is nothing to do before something happens. */
static bool read_all(tamis__proxy_watch *watch) {
    found all = {0};
    int rc = ZOK;
    if (watch->zookeeper && is_hopeless(watch))
        leave_zookeeper(watch);
    if (!watch->zookeeper)
        reach_zookeeper(watch);
    if (!watch->zookeeper || zoo_state(watch->zookeeper) != ZOO_CONNECTED_STATE)
        return false;
    for (int place = 0; place < PLACES && rc == ZOK; place++)
        rc = read_place(watch, place, &all);
    if (rc == ZOK) {
        take_found(watch, &all);
        return true;
    }
    free(all.list);
    tell_failure(watch, rc);
    return false;
}

static void *run(void *context) {
    tamis__proxy_watch *watch = context;
    pthread_mutex_lock(&watch->mutex);
    while (!watch->is_stopped) {
        watch->is_changed = false;
        pthread_mutex_unlock(&watch->mutex);
        const bool is_read = read_all(watch);
        const uint64_t again = is_read ? UINT64_MAX : tamis__now_ns() + UINT64_C(1) * AGAIN_MS * MS;
        pthread_mutex_lock(&watch->mutex);
        while (!watch->is_changed && !watch->is_stopped &&
               tamis__cond_wait(&watch->news, &watch->mutex, again))
            ;
    }
    pthread_mutex_unlock(&watch->mutex);
    leave_zookeeper(watch);
    pthread_mutex_lock(&watch->mutex);
    const bool is_left = watch->is_left;
    watch->is_done = true;
    pthread_cond_broadcast(&watch->news);
    pthread_mutex_unlock(&watch->mutex);
    if (is_left)
        give_back(watch);
    return NULL;
}

/* ---- the owner ---- */

static char *login_of(const tamis__proxy_watched *what) {
    const char *user = what->user ? what->user : "", *password = what->password ? what->password : "";
    const size_t size = strlen(user) + strlen(password) + 2;
    char *login = malloc(size);
    if (login)
        snprintf(login, size, "%s:%s", user, password);
    return login;
}

static tamis__proxy_watch *create(const tamis__proxy_watched *what) {
    const size_t size = strlen(what->hosts) + 1;
    const uint64_t session_ms = what->connect_ns / MS * 3 / 2; /* a host has two thirds of it to answer */
    tamis__proxy_watch *watch = calloc(1, sizeof *watch + size);
    if (!watch)
        return NULL;
    memcpy(watch->hosts, what->hosts, size);
    watch->alone_ns = 5 * what->connect_ns;
    for (const char *comma = what->hosts; (comma = strchr(comma, ',')); comma++)
        watch->alone_ns += what->connect_ns; /* each is tried in between */
    watch->session_ms = session_ms < SESSION_MOST ? (int)session_ms + 1 : SESSION_MOST;
    watch->trouble = (tamis_error)TAMIS_ERROR_INIT;
    watch->product = strdup(what->product);
    watch->login = what->user || what->password ? login_of(what) : NULL;
    tamis__cond_init(&watch->news);
    pthread_mutex_init(&watch->mutex, NULL);
    if (watch->product && (watch->login || !(what->user || what->password)))
        return watch;
    give_back(watch);
    return NULL;
}

tamis_status tamis__proxy_watch_start(tamis__proxy_watch **made, const tamis__proxy_watched *what,
                                      tamis_error *err) {
    if (strlen(what->product) > PATH / 2)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "codis %s: the product has %zu bytes, more than %d; check its name",
                           tamis__show(what->hosts).text, strlen(what->product), PATH / 2);
    tamis__proxy_watch *watch = create(what);
    if (!watch)
        return tamis__fail_nomem(err, "codis", sizeof *watch + strlen(what->hosts));
    const int failed = tamis__thread_start(run, watch);
    if (failed) {
        give_back(watch);
        return tamis__fail(err, TAMIS_E_SYSTEM, failed, "codis: no thread to watch ZooKeeper: %s; %s",
                           tamis__errno_text(failed), tamis__errno_remedy(failed));
    }
    *made = watch;
    return TAMIS_OK;
}

void tamis__proxy_watch_stop(tamis__proxy_watch *watch) {
    if (!watch)
        return;
    const uint64_t deadline = tamis__now_ns() + UINT64_C(1) * LEAVE_MS * MS;
    pthread_mutex_lock(&watch->mutex);
    watch->is_stopped = true;
    pthread_cond_broadcast(&watch->news);
    while (!watch->is_done && tamis__cond_wait(&watch->news, &watch->mutex, deadline))
        ;
    const bool is_done = watch->is_done;
    watch->is_left = !is_done;
    pthread_mutex_unlock(&watch->mutex);
    if (is_done)
        give_back(watch);
}

static tamis_status not_known(const tamis__proxy_watch *watch, tamis_error *err) {
    if (watch->trouble.status == TAMIS_OK)
        return tamis__fail(err, TAMIS_E_TIMEOUT, ETIMEDOUT,
                           "codis %s: ZooKeeper was not reached in time; check hosts and network, or give "
                           "more time (timeout=)",
                           tamis__show(watch->hosts).text);
    if (err)
        *err = watch->trouble;
    return watch->trouble.status;
}

static tamis_status no_product(const tamis__proxy_watch *watch, tamis_error *err) {
    const tamis__shown product = tamis__show(watch->product);
    return tamis__fail(err, TAMIS_E_NOT_FOUND, 0,
                       "codis %s: has no product '%.60s': neither /jodis/%.60s nor /zk/codis/db_%.60s is in "
                       "ZooKeeper; check its name, and jodis_name of the proxies",
                       tamis__show(watch->hosts).text, product.text, product.text, product.text);
}

static tamis_status copy_list(const tamis__proxy_watch *watch, tamis__proxy **list, size_t *count,
                              tamis_error *err) {
    const size_t size = watch->now.count * sizeof **list;
    tamis__proxy *copy = malloc(size + 1);
    if (!copy)
        return tamis__fail_nomem(err, "codis", size);
    if (size > 0)
        memcpy(copy, watch->now.list, size);
    *list = copy;
    *count = watch->now.count;
    return TAMIS_OK;
}

tamis_status tamis__proxy_watch_look(tamis__proxy_watch *watch, uint64_t deadline, uint64_t *seen,
                                     tamis__proxy **list, size_t *count, tamis_error *err) {
    tamis_status status = TAMIS_OK;
    pthread_mutex_lock(&watch->mutex);
    while (watch->edition == 0 && watch->trouble.status == TAMIS_OK &&
           tamis__cond_wait(&watch->news, &watch->mutex, deadline))
        ;
    if (watch->edition == 0)
        status = not_known(watch, err);
    else if (watch->edition == 1 && !watch->now.is_there[0] && !watch->now.is_there[1])
        status = no_product(watch, err);
    else if (watch->edition != *seen)
        status = copy_list(watch, list, count, err);
    if (status == TAMIS_OK)
        *seen = watch->edition;
    pthread_mutex_unlock(&watch->mutex);
    return status;
}

tamis_status tamis__proxy_watch_empty(tamis__proxy_watch *watch, tamis_error *err) {
    char where[PLACES][PATH];
    pthread_mutex_lock(&watch->mutex);
    const found now = watch->now;
    pthread_mutex_unlock(&watch->mutex);
    for (int place = 0; place < PLACES; place++)
        path_of(watch, place, where[place]);
    const bool both = now.is_there[0] == now.is_there[1];
    return tamis__fail(err, TAMIS_E_IO, 0,
                       "codis %s: Proxy list empty: of %zu proxies in %.150s%s%.150s of ZooKeeper none is "
                       "online%s; start one, or see what is there",
                       tamis__show(watch->hosts).text, now.registered,
                       tamis__show(where[now.is_there[0] || both ? 0 : 1]).text, both ? " and " : "",
                       both ? tamis__show(where[1]).text : "",
                       now.strange > 0 ? ", and some have no address and state in JSON" : "");
}

const char *tamis__zookeeper_version(void) {
    return ZOO_VERSION;
}
