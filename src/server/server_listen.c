/* SPDX-License-Identifier: BSD-2-Clause */

/* The address on which the server listens: a host and a port, or a Unix socket. */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/system.h"
#include "server/server_int.h"

enum { BACKLOG = 511 };

static tamis_status fail_address(tamis_server *server, int number, tamis_error *err) {
    const server_address *address = &server->config->listen;

    return tamis__fail(err, TAMIS_E_SYSTEM, number, "%s: listen: %s: %s; give another address",
                       server->config_file, address->text, strerror(number));
}

/* Removes a socket file that a killed process has left: one on which nobody listens. */
static bool remove_old_socket(const struct sockaddr_un *name) {
    const int fd = tamis__sys.socket(AF_UNIX, SOCK_STREAM, 0);
    const bool is_old = fd >= 0 && tamis__sys.connect(fd, (const struct sockaddr *)name, sizeof *name) != 0 &&
                        errno == ECONNREFUSED;

    if (fd >= 0)
        tamis__sys.close(fd);
    return is_old && tamis__sys.unlink(name->sun_path) == 0;
}

static tamis_status listen_at_path(tamis_server *server, const char *path, tamis_error *err) {
    struct sockaddr_un name = {.sun_family = AF_UNIX};

    if (strlen(path) >= sizeof name.sun_path)
        return fail_address(server, ENAMETOOLONG, err);
    strcpy(name.sun_path, path);
    server->listen_fd = tamis__sys.socket(AF_UNIX, SOCK_STREAM, 0);
    if (server->listen_fd < 0)
        return fail_address(server, errno, err);
    int failed = bind(server->listen_fd, (struct sockaddr *)&name, sizeof name);
    if (failed && errno == EADDRINUSE && remove_old_socket(&name))
        failed = bind(server->listen_fd, (struct sockaddr *)&name, sizeof name);
    if (failed)
        return fail_address(server, errno ? errno : EADDRINUSE, err);
    server->socket_path = strdup(path);
    if (listen(server->listen_fd, BACKLOG) != 0)
        return fail_address(server, errno, err);
    snprintf(server->address, sizeof server->address, "unix:%s", path);
    return TAMIS_OK;
}

/* Sets `address` to what the socket is bound to. */
static void set_address(tamis_server *server) {
    union {
        struct sockaddr any;
        struct sockaddr_in ipv4;
        struct sockaddr_in6 ipv6;
    } name = {0};
    socklen_t size = sizeof name;
    char host[INET6_ADDRSTRLEN] = "";

    if (getsockname(server->listen_fd, &name.any, &size) != 0)
        return;
    const bool is_ipv6 = name.any.sa_family == AF_INET6;
    inet_ntop(name.any.sa_family, is_ipv6 ? (void *)&name.ipv6.sin6_addr : (void *)&name.ipv4.sin_addr, host,
              sizeof host);
    snprintf(server->address, sizeof server->address, is_ipv6 ? "[%s]:%u" : "%s:%u", host,
             ntohs(is_ipv6 ? name.ipv6.sin6_port : name.ipv4.sin_port));
}

static tamis_status listen_at_host(tamis_server *server, const server_address *address, tamis_error *err) {
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    const int enabled = 1;
    char port[8];
    int number = 0;

    snprintf(port, sizeof port, "%u", address->port);
    const int failed = tamis__sys.look_up(address->host, port, &hints, &found);
    if (failed)
        return tamis__fail(err, TAMIS_E_SYSTEM, 0, "%s: listen: %s: %s; give another address",
                           server->config_file, address->text, gai_strerror(failed));
    for (const struct addrinfo *name = found; name; name = name->ai_next) {
        server->listen_fd = tamis__sys.socket(name->ai_family, name->ai_socktype, name->ai_protocol);
        if (server->listen_fd >= 0 &&
            setsockopt(server->listen_fd, SOL_SOCKET, SO_REUSEADDR, &enabled, sizeof enabled) == 0 &&
            bind(server->listen_fd, name->ai_addr, name->ai_addrlen) == 0 &&
            listen(server->listen_fd, BACKLOG) == 0)
            break;
        number = errno;
        if (server->listen_fd >= 0)
            tamis__sys.close(server->listen_fd);
        server->listen_fd = -1;
    }
    freeaddrinfo(found);
    if (server->listen_fd < 0)
        return fail_address(server, number, err);
    set_address(server);
    return TAMIS_OK;
}

tamis_status tamis__server_listen(tamis_server *server, tamis_error *err) {
    const server_address *address = &server->config->listen;

    return address->path ? listen_at_path(server, address->path, err) : listen_at_host(server, address, err);
}
