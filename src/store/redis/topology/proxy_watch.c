/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A thread reads the registered proxies from ZooKeeper, and reads them again after every event:
 *
 *      owner                   watcher thread            threads of ZooKeeper's client
 *     --------                -----------------          -----------------------------
 *      list   <- now, edition -  read both directories <- is_changed -  event of a node or of the session
 *      stop   - is_stopped ->    close the session
 *
 * Each watch of ZooKeeper fires once. So every event makes the thread read and watch all nodes again;
 * proxies are few.
 *
 * Errors:
 * - A reading that fails leaves the list unchanged. It is repeated at the next event, or after AGAIN_MS.
 * - A session that ended is replaced by a new one.
 * - So is a session without a server for alone_ns. A ZooKeeper that was reinstalled refuses clients
 *   that have seen later changes than it has; a new session has seen none.
 *
 * Stopping. Name servers or ZooKeeper may hold up the thread. The owner waits LEAVE_MS for it, then leaves
 * it running: the last of the two frees the watcher (tamis__thread_start).
 *
 * Invariants: 1. The mutex guards the fields up to `error`. Only the watcher thread uses the session. 2.
 * `now` is the result of one complete reading, and each reading has the next edition. 0 means no reading
 * yet.
 */
#define THREADED /* makes zookeeper.h declare the synchronous calls */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>
#include <zookeeper/zookeeper_version.h>

#include "base/system.h"
#include "base/thread.h"
#include "store/file/file_error.h"
#include "store/redis/topology/proxy_watch.h"

enum {
    ROOTS = 2,
    PATH = 1024,
    DATA = 4096, /* proxies write less than 1 KiB */
    MS = 1000000,
    AGAIN_MS = 1000, /* wait after a reading that failed */
    LEAVE_MS = 1000, /* max. wait for the thread when stopping */
    SESSION_MS_MAX = 60000
};

/* Result of one reading. */
typedef struct found {
    tamis__proxy *list; /* proxies online, each once */
    size_t count, capacity;
    size_t registered, strange; /* nodes of proxies; nodes among them with other data */
    bool is_there[ROOTS];       /* the directory exists */
} found;

struct tamis__proxy_watcher {
    pthread_mutex_t mutex; /* guards the fields up to `error` */
    pthread_cond_t news;
    bool is_changed, is_stopped, is_abandoned, is_done;
    uint64_t edition; /* number of readings that succeeded */
    found now;
    tamis_error error;    /* last error, returned while `edition` is 0 */
    zhandle_t *zookeeper; /* the session, used only by the thread; NULL: none */
    int session_ms;
    uint64_t alone_ns, alone_since; /* max. time without a server; its start, 0: connected */
    char *login;                    /* "user:password", or NULL */
    char *product;
    char hosts[];
};

static void free_watcher(tamis__proxy_watcher *watcher) {
    free(watcher->now.list);
    free(watcher->login);
    free(watcher->product);
    pthread_cond_destroy(&watcher->news);
    pthread_mutex_destroy(&watcher->mutex);
    free(watcher);
}

/* ---- reading ---- */

static void make_path(const tamis__proxy_watcher *watcher, int root, char to[PATH]) {
    if (root == 0)
        snprintf(to, PATH, "/jodis/%s", watcher->product);
    else
        snprintf(to, PATH, "/zk/codis/db_%s", watcher->product);
}

static void notify_change(tamis__proxy_watcher *watcher) {
    pthread_mutex_lock(&watcher->mutex);
    watcher->is_changed = true;
    pthread_cond_broadcast(&watcher->news);
    pthread_mutex_unlock(&watcher->mutex);
}

static void on_event(zhandle_t *zookeeper, int type, int state, const char *path, void *context) {
    (void)zookeeper;
    (void)type;
    (void)state;
    (void)path;
    notify_change(context);
}

static void be_silent(const char *message) {
    (void)message;
}

static bool is_listed(const found *proxies, const tamis__proxy *proxy) {
    for (size_t i = 0; i < proxies->count; i++)
        if (proxies->list[i].port == proxy->port && strcmp(proxies->list[i].host, proxy->host) == 0)
            return true;
    return false;
}

static int list_proxy(found *proxies, const tamis__proxy *proxy) {
    if (is_listed(proxies, proxy))
        return ZOK;
    if (proxies->count == proxies->capacity) {
        const size_t capacity = 2 * proxies->capacity + 8;
        tamis__proxy *list = realloc(proxies->list, capacity * sizeof *list);
        if (!list)
            return ZSYSTEMERROR;
        proxies->list = list;
        proxies->capacity = capacity;
    }
    proxies->list[proxies->count++] = *proxy;
    return ZOK;
}

static int read_proxy(tamis__proxy_watcher *watcher, const char *path, found *proxies) {
    char data[DATA];
    int size = sizeof data;
    struct Stat stat;
    tamis__proxy proxy;
    bool is_online;
    const int rc = zoo_wget(watcher->zookeeper, path, on_event, watcher, data, &size, &stat);
    if (rc != ZOK)
        return rc == ZNONODE ? ZOK : rc; /* deleted meanwhile: the watch of its directory fires */
    proxies->registered++;
    if (size < 0 || stat.dataLength > (int)sizeof data ||
        !tamis__proxy_read(&proxy, &is_online, data, (size_t)size)) {
        proxies->strange++;
        return ZOK;
    }
    return is_online ? list_proxy(proxies, &proxy) : ZOK;
}

/* Lists the nodes of a directory and watches it. If there is no such directory, lists none and watches for
 * its creation. */
static int read_names(tamis__proxy_watcher *watcher, const char *path, struct String_vector *names,
                      bool *is_there) {
    for (;;) {
        struct Stat stat;
        int rc = zoo_wget_children(watcher->zookeeper, path, on_event, watcher, names);
        *is_there = rc == ZOK;
        if (rc == ZNONODE)
            rc = zoo_wexists(watcher->zookeeper, path, on_event, watcher, &stat);
        else
            return rc;
        if (rc != ZOK) /* ZOK: it was created meanwhile, so list it */
            return rc == ZNONODE ? ZOK : rc;
    }
}

static int read_root(tamis__proxy_watcher *watcher, int root, found *proxies) {
    static const char prefix[] = "proxy-";
    struct String_vector names = {0, NULL};
    char path[PATH], proxy_path[2 * PATH];
    make_path(watcher, root, path);
    int rc = read_names(watcher, path, &names, &proxies->is_there[root]);
    for (int i = 0; i < names.count && rc == ZOK; i++) {
        if (strncmp(names.data[i], prefix, sizeof prefix - 1) != 0)
            continue;
        if (snprintf(proxy_path, sizeof proxy_path, "%s/%s", path, names.data[i]) < (int)sizeof proxy_path)
            rc = read_proxy(watcher, proxy_path, proxies);
    }
    deallocate_String_vector(&names);
    return rc;
}

/* ---- results for the owner ---- */

static void set_found(tamis__proxy_watcher *watcher, const found *proxies) {
    pthread_mutex_lock(&watcher->mutex);
    free(watcher->now.list);
    watcher->now = *proxies;
    watcher->edition++;
    pthread_cond_broadcast(&watcher->news);
    pthread_mutex_unlock(&watcher->mutex);
}

static void set_error(tamis__proxy_watcher *watcher, const tamis_error *error) {
    pthread_mutex_lock(&watcher->mutex);
    watcher->error = *error;
    pthread_cond_broadcast(&watcher->news);
    pthread_mutex_unlock(&watcher->mutex);
}

/* Stores an error for the owner, except lost connections and sessions, which are opened again. */
static void report_failure(tamis__proxy_watcher *watcher, int rc) {
    tamis_error error = TAMIS_ERROR_INIT;
    if (rc == ZNOAUTH || rc == ZAUTHFAILED)
        tamis__fail(&error, TAMIS_E_REFUSED, 0,
                    "codis %s: ZooKeeper lets nobody read the proxies of '%.100s' (%s); give zk_user= and "
                    "zk_password=",
                    tamis__show(watcher->hosts).text, tamis__show(watcher->product).text, zerror(rc));
    else if (rc != ZCONNECTIONLOSS && rc != ZOPERATIONTIMEOUT && rc != ZSESSIONEXPIRED &&
             rc != ZINVALIDSTATE && rc != ZCLOSING)
        tamis__fail(&error, TAMIS_E_IO, 0,
                    "codis %s: ZooKeeper did not list the proxies of '%.100s' (%s); check product and "
                    "hosts",
                    tamis__show(watcher->hosts).text, tamis__show(watcher->product).text, zerror(rc));
    if (error.status != TAMIS_OK)
        set_error(watcher, &error);
}

/* ---- the thread ---- */

static void leave_zookeeper(tamis__proxy_watcher *watcher) {
    if (watcher->zookeeper)
        zookeeper_close(watcher->zookeeper);
    watcher->zookeeper = NULL;
    watcher->alone_since = 0;
}

/* Starts a session. The client's threads inherit the signal mask of this thread, so they take no signals
 * either. */
static void reach_zookeeper(tamis__proxy_watcher *watcher) {
    tamis_error error = TAMIS_ERROR_INIT;
    errno = 0;
    watcher->zookeeper =
        zookeeper_init2(watcher->hosts, on_event, watcher->session_ms, NULL, watcher, 0, be_silent);
    if (watcher->zookeeper && watcher->login)
        zoo_add_auth(watcher->zookeeper, "digest", watcher->login, (int)strlen(watcher->login), NULL, NULL);
    if (watcher->zookeeper)
        return;
    tamis__fail(&error, TAMIS_E_IO, errno, "codis %s: no way to ZooKeeper: %s; check the names of the hosts",
                tamis__show(watcher->hosts).text, tamis__errno_text(errno));
    set_error(watcher, &error);
}

/* True if a new session is needed: this one has ended, or had no server for alone_ns. */
static bool is_hopeless(tamis__proxy_watcher *watcher) {
    const uint64_t now = tamis__now_ns();
    const bool has_server = zoo_state(watcher->zookeeper) == ZOO_CONNECTED_STATE;
    if (has_server || watcher->alone_since == 0)
        watcher->alone_since = has_server ? 0 : now;
    return is_unrecoverable(watcher->zookeeper) ||
           (!has_server && now - watcher->alone_since > watcher->alone_ns);
}

/* Returns true if all was read, so nothing is left to do before the next event. */
static bool read_all(tamis__proxy_watcher *watcher) {
    found proxies = {0};
    int rc = ZOK;
    if (watcher->zookeeper && is_hopeless(watcher))
        leave_zookeeper(watcher);
    if (!watcher->zookeeper)
        reach_zookeeper(watcher);
    if (!watcher->zookeeper || zoo_state(watcher->zookeeper) != ZOO_CONNECTED_STATE)
        return false;
    for (int root = 0; root < ROOTS && rc == ZOK; root++)
        rc = read_root(watcher, root, &proxies);
    if (rc == ZOK) {
        set_found(watcher, &proxies);
        return true;
    }
    free(proxies.list);
    report_failure(watcher, rc);
    return false;
}

static void *run_watcher(void *context) {
    tamis__proxy_watcher *watcher = context;
    pthread_mutex_lock(&watcher->mutex);
    while (!watcher->is_stopped) {
        watcher->is_changed = false;
        pthread_mutex_unlock(&watcher->mutex);
        const bool is_read = read_all(watcher);
        const uint64_t again = is_read ? UINT64_MAX : tamis__now_ns() + UINT64_C(1) * AGAIN_MS * MS;
        pthread_mutex_lock(&watcher->mutex);
        while (!watcher->is_changed && !watcher->is_stopped &&
               tamis__cond_wait(&watcher->news, &watcher->mutex, again))
            ;
    }
    pthread_mutex_unlock(&watcher->mutex);
    leave_zookeeper(watcher);
    pthread_mutex_lock(&watcher->mutex);
    const bool is_abandoned = watcher->is_abandoned;
    watcher->is_done = true;
    pthread_cond_broadcast(&watcher->news);
    pthread_mutex_unlock(&watcher->mutex);
    if (is_abandoned)
        free_watcher(watcher);
    return NULL;
}

/* ---- the owner ---- */

static char *make_login(const tamis__proxy_watcher_options *options) {
    const char *user = options->user ? options->user : "",
               *password = options->password ? options->password : "";
    const size_t size = strlen(user) + strlen(password) + 2;
    char *login = malloc(size);
    if (login)
        snprintf(login, size, "%s:%s", user, password);
    return login;
}

static tamis__proxy_watcher *create_watcher(const tamis__proxy_watcher_options *options) {
    const size_t size = strlen(options->hosts) + 1;
    const uint64_t session_ms = options->connect_ns / MS * 3 / 2; /* a host gets two thirds of it */
    tamis__proxy_watcher *watcher = calloc(1, sizeof *watcher + size);
    if (!watcher)
        return NULL;
    memcpy(watcher->hosts, options->hosts, size);
    watcher->alone_ns = 5 * options->connect_ns;
    for (const char *comma = options->hosts; (comma = strchr(comma, ',')); comma++)
        watcher->alone_ns += options->connect_ns; /* time to try each further host */
    watcher->session_ms = session_ms < SESSION_MS_MAX ? (int)session_ms + 1 : SESSION_MS_MAX;
    watcher->error = (tamis_error)TAMIS_ERROR_INIT;
    watcher->product = strdup(options->product);
    watcher->login = options->user || options->password ? make_login(options) : NULL;
    tamis__cond_init(&watcher->news);
    pthread_mutex_init(&watcher->mutex, NULL);
    if (watcher->product && (watcher->login || !(options->user || options->password)))
        return watcher;
    free_watcher(watcher);
    return NULL;
}

tamis_status tamis__proxy_watcher_start(tamis__proxy_watcher **made,
                                        const tamis__proxy_watcher_options *options, tamis_error *err) {
    if (strlen(options->product) > PATH / 2)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "codis %s: the product has %zu bytes, more than %d; check its name",
                           tamis__show(options->hosts).text, strlen(options->product), PATH / 2);
    tamis__proxy_watcher *watcher = create_watcher(options);
    if (!watcher)
        return tamis__fail_nomem(err, "codis", sizeof *watcher + strlen(options->hosts));
    const int failed = tamis__thread_start(run_watcher, watcher);
    if (failed) {
        free_watcher(watcher);
        return tamis__fail(err, TAMIS_E_SYSTEM, failed, "codis: no thread to watch ZooKeeper: %s; %s",
                           tamis__errno_text(failed), tamis__errno_remedy(failed));
    }
    *made = watcher;
    return TAMIS_OK;
}

void tamis__proxy_watcher_stop(tamis__proxy_watcher *watcher) {
    if (!watcher)
        return;
    const uint64_t deadline = tamis__now_ns() + UINT64_C(1) * LEAVE_MS * MS;
    pthread_mutex_lock(&watcher->mutex);
    watcher->is_stopped = true;
    pthread_cond_broadcast(&watcher->news);
    while (!watcher->is_done && tamis__cond_wait(&watcher->news, &watcher->mutex, deadline))
        ;
    const bool is_done = watcher->is_done;
    watcher->is_abandoned = !is_done;
    pthread_mutex_unlock(&watcher->mutex);
    if (is_done)
        free_watcher(watcher);
}

static tamis_status fail_not_known(const tamis__proxy_watcher *watcher, tamis_error *err) {
    if (watcher->error.status == TAMIS_OK)
        return tamis__fail(err, TAMIS_E_TIMEOUT, ETIMEDOUT,
                           "codis %s: ZooKeeper was not reached in time; check hosts and network, or give "
                           "more time (timeout=)",
                           tamis__show(watcher->hosts).text);
    if (err)
        *err = watcher->error;
    return watcher->error.status;
}

static tamis_status fail_no_product(const tamis__proxy_watcher *watcher, tamis_error *err) {
    const tamis__shown product = tamis__show(watcher->product);
    return tamis__fail(err, TAMIS_E_NOT_FOUND, 0,
                       "codis %s: has no product '%.60s': neither /jodis/%.60s nor /zk/codis/db_%.60s is in "
                       "ZooKeeper; check its name, and jodis_name of the proxies",
                       tamis__show(watcher->hosts).text, product.text, product.text, product.text);
}

static tamis_status copy_list(const tamis__proxy_watcher *watcher, tamis__proxy_list *list,
                              tamis_error *err) {
    const size_t size = watcher->now.count * sizeof *list->proxies;
    tamis__proxy *copy = malloc(size + 1);
    if (!copy)
        return tamis__fail_nomem(err, "codis", size);
    if (size > 0)
        memcpy(copy, watcher->now.list, size);
    *list = (tamis__proxy_list){copy, watcher->now.count, watcher->edition};
    return TAMIS_OK;
}

tamis_status tamis__proxy_watcher_list(tamis__proxy_watcher *watcher, uint64_t deadline,
                                       tamis__proxy_list *list, tamis_error *err) {
    tamis_status status = TAMIS_OK;
    pthread_mutex_lock(&watcher->mutex);
    while (watcher->edition == 0 && watcher->error.status == TAMIS_OK &&
           tamis__cond_wait(&watcher->news, &watcher->mutex, deadline))
        ;
    if (watcher->edition == 0)
        status = fail_not_known(watcher, err);
    else if (watcher->edition == 1 && !watcher->now.is_there[0] && !watcher->now.is_there[1])
        status = fail_no_product(watcher, err);
    else if (watcher->edition != list->edition)
        status = copy_list(watcher, list, err);
    pthread_mutex_unlock(&watcher->mutex);
    return status;
}

tamis_status tamis__proxy_watcher_fail_empty(tamis__proxy_watcher *watcher, tamis_error *err) {
    char where[ROOTS][PATH];
    pthread_mutex_lock(&watcher->mutex);
    const found now = watcher->now;
    pthread_mutex_unlock(&watcher->mutex);
    for (int root = 0; root < ROOTS; root++)
        make_path(watcher, root, where[root]);
    const bool lists_both = now.is_there[0] == now.is_there[1];
    return tamis__fail(err, TAMIS_E_IO, 0,
                       "codis %s: Proxy list empty: of %zu proxies in %.150s%s%.150s of ZooKeeper none is "
                       "online%s; start one, or see what is there",
                       tamis__show(watcher->hosts).text, now.registered,
                       tamis__show(where[now.is_there[0] || lists_both ? 0 : 1]).text,
                       lists_both ? " and " : "", lists_both ? tamis__show(where[1]).text : "",
                       now.strange > 0 ? ", and some have no address and state in JSON" : "");
}

const char *tamis__zookeeper_version(void) {
    return ZOO_VERSION;
}
