/* SPDX-License-Identifier: BSD-2-Clause */
#include "redis_tls.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "support/redis_server.h"
#include "support/scratch.h"

enum { PORTS = 8 };

static char directory[64], port_texts[PORTS][8], paths[3][100];
static unsigned ports;

bool redis_tls_installed(void) {
    return redis_server_installed() &&
           system("command -v openssl > /dev/null && ldd $(command -v redis-server) | grep -q libssl") == 0;
}

const char *redis_tls_file(const char *name) {
    static char files[8][100];
    static unsigned next;
    char *path = files[next++ % 8];
    snprintf(path, sizeof files[0], "%s/%s", directory, name);
    return path;
}

bool redis_tls_start(void) {
    static const char *const names[] = {"server.pem", "server.key", "ca.pem"};
    char script[2000];
    if (!temporary_directory(directory, sizeof directory, "tamis-tls"))
        return false;
    for (int i = 0; i < 3; i++)
        strcpy(paths[i], redis_tls_file(names[i]));
    snprintf(
        script, sizeof script,
        "cd %s && exec > log 2>&1 && new='-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3' && "
        "for ca in ca other; do openssl req -x509 $new -subj /CN=$ca -keyout $ca.key -out $ca.pem || exit 1; "
        "done && for who in server client; do "
        "openssl req $new -subj /CN=$who -addext subjectAltName=IP:127.0.0.1,DNS:redis.test "
        "-keyout $who.key -out $who.csr && openssl x509 -req -in $who.csr -CA ca.pem -CAkey ca.key "
        "-CAcreateserial -days 3 -copy_extensions copy -out $who.pem || exit 1; done && "
        "openssl ec -in client.key -aes256 -passout pass:x -out locked.key",
        directory);
    return system(script) == 0;
}

void redis_tls_stop(void) {
    char remove[100];
    snprintf(remove, sizeof remove, "rm -r %s", directory);
    if (*directory && system(remove) != 0)
        abort();
    *directory = '\0';
}

static bool is_free(int port) {
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool free = bind(door, (struct sockaddr *)&address, sizeof address) == 0;
    close(door);
    return free;
}

/* Chooses below the ports that systems give to clients, as redis_server_start does. */
int redis_tls_port(void) {
    static uint64_t random;
    int port;
    if (random == 0)
        random = (uint64_t)getpid() * 1000033 + (uint64_t)time(NULL);
    do
        port = 10000 + (int)test_below(&random, 22000);
    while (!is_free(port) || !is_free(port + 10000));
    return port;
}

const char **redis_tls_options(int port, const char *const *more) {
    const char *text = port_texts[ports % PORTS];
    const char *const tls[] = {"--tls-port",         text,     "--tls-cert-file",    paths[0],
                               "--tls-key-file",     paths[1], "--tls-ca-cert-file", paths[2],
                               "--tls-auth-clients", "no"};
    size_t used = sizeof tls / sizeof *tls, count = 0;
    snprintf(port_texts[ports++ % PORTS], sizeof port_texts[0], "%d", port);
    while (more && more[count])
        count++;
    const char **options = calloc(used + count + 1, sizeof *options);
    if (!options)
        abort();
    memcpy(options, tls, sizeof tls);
    for (size_t i = 0; i < count; i++)
        options[used++] = more[i];
    return options;
}
