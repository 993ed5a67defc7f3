/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * TLS with OpenSSL. Its own socket BIO uses write(2), which raises SIGPIPE if the other side has closed
 * the connection. So OpenSSL reads and writes through a BIO of ours, which uses the table of system calls
 * (tamis__sys).
 */
#include "store/redis/connection/redis_tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/system.h"
#include "store/file/file_error.h"

struct tamis__tls_context {
    tamis_allocator allocator;
    SSL_CTX *ssl;
    BIO_METHOD *socket;
    const char *name; /* expected name in the server's certificate; NULL: the host */
};

struct tamis__tls {
    tamis_allocator allocator;
    SSL *ssl;
    int fd;               /* the socket, owned by the caller */
    char error_text[160]; /* last error */
    bool final;           /* a retry fails with the same error */
};

/* ---- the socket ---- */

static int write_bytes(BIO *bio, const char *bytes, int size) {
    const tamis__tls *tls = BIO_get_data(bio);
    const ssize_t transferred = tamis__sys.send(tls->fd, bytes, (size_t)size);
    BIO_clear_retry_flags(bio);
    if (transferred < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        BIO_set_retry_write(bio);
    return (int)transferred;
}

static int read_bytes(BIO *bio, char *to, int size) {
    const tamis__tls *tls = BIO_get_data(bio);
    const ssize_t transferred = tamis__sys.receive(tls->fd, to, (size_t)size);
    BIO_clear_retry_flags(bio);
    if (transferred < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        BIO_set_retry_read(bio);
    return (int)transferred;
}

static long control(BIO *bio, int command, long number, void *pointer) {
    (void)bio;
    (void)number;
    (void)pointer;
    return command == BIO_CTRL_FLUSH; /* the BIO buffers nothing, so there is nothing to flush */
}

static BIO_METHOD *make_socket(void) {
    BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOURCE_SINK | BIO_get_new_index(), "tamis");
    if (!method || !BIO_meth_set_write(method, write_bytes) || !BIO_meth_set_read(method, read_bytes) ||
        !BIO_meth_set_ctrl(method, control)) {
        BIO_meth_free(method);
        return NULL;
    }
    return method;
}

/* ---- the context ---- */

static tamis_status bad_file(const tamis__redis_uri *uri, const char *parameter, const char *file,
                             tamis_error *err) {
    const char *why = ERR_reason_error_string(ERR_peek_last_error());
    if (access(file, R_OK) != 0)
        return tamis__fail(err, TAMIS_E_IO, errno, "%s: %s=%.150s: %s; check its name and permissions",
                           uri->shown, parameter, tamis__show(file).text,
                           errno == ENOENT ? "there is no such file" : "cannot be read");
    return tamis__fail(err, TAMIS_E_IO, 0, "%s: %s=%.150s: %s; give a PEM file without a passphrase",
                       uri->shown, parameter, tamis__show(file).text, why ? why : "cannot be read");
}

/* Without this callback, OpenSSL would read a passphrase from the terminal. */
static int no_passphrase(char *to, int size, int writes, void *context) {
    (void)to;
    (void)size;
    (void)writes;
    (void)context;
    return -1;
}

static tamis_status load_files(SSL_CTX *ssl, tamis__redis_uri *uri, tamis_error *err) {
    const char *trusted = tamis__redis_uri_get(uri, "cacert");
    const char *cert = tamis__redis_uri_get(uri, "cert"), *key = tamis__redis_uri_get(uri, "key");
    ERR_clear_error();
    if (!cert != !key)
        return tamis__fail(err, TAMIS_E_INVALID, 0, "%s: has one of cert and key; give both, or none",
                           uri->shown);
    if (trusted && !SSL_CTX_load_verify_file(ssl, trusted))
        return bad_file(uri, "cacert", trusted, err);
    if (!trusted)
        SSL_CTX_set_default_verify_paths(ssl);
    if (cert && SSL_CTX_use_certificate_chain_file(ssl, cert) != 1)
        return bad_file(uri, "cert", cert, err);
    if (key && SSL_CTX_use_PrivateKey_file(ssl, key, SSL_FILETYPE_PEM) != 1)
        return bad_file(uri, "key", key, err);
    return TAMIS_OK;
}

static tamis_status set_verify(SSL_CTX *ssl, tamis__redis_uri *uri, tamis_error *err) {
    const char *verify = tamis__redis_uri_get(uri, "verify");
    if (verify && strcmp(verify, "no") != 0 && strcmp(verify, "yes") != 0)
        return tamis__fail(err, TAMIS_E_INVALID, 0, "%s: parameter verify is '%.40s'; give yes or no",
                           uri->shown, tamis__show(verify).text);
    const bool trusts_all = verify && strcmp(verify, "no") == 0;
    SSL_CTX_set_verify(ssl, trusts_all ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
    return TAMIS_OK;
}

tamis_status tamis__tls_context_create(tamis__tls_context **context, tamis__redis_uri *uri,
                                       tamis_error *err) {
    tamis__tls_context *made = tamis__alloc(uri->allocator, sizeof *made, _Alignof(tamis__tls_context));
    if (!made)
        return tamis__fail_nomem(err, "redis", sizeof *made);
    made->allocator = *uri->allocator;
    made->name = tamis__redis_uri_get(uri, "sni");
    made->ssl = SSL_CTX_new(TLS_client_method());
    made->socket = make_socket();
    tamis_status status = made->ssl && made->socket ? TAMIS_OK : tamis__fail_nomem(err, "redis", 0);
    if (status == TAMIS_OK) {
        SSL_CTX_set_min_proto_version(made->ssl, TLS1_2_VERSION);
        /* Redis replies mark their own ends, so a connection closed without close_notify cannot truncate one
         * unnoticed. */
        SSL_CTX_set_options(made->ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
        SSL_CTX_set_mode(made->ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
        SSL_CTX_set_default_passwd_cb(made->ssl, no_passphrase);
        status = set_verify(made->ssl, uri, err);
    }
    if (status == TAMIS_OK)
        status = load_files(made->ssl, uri, err);
    if (status != TAMIS_OK) {
        tamis__tls_context_free(made);
        return status;
    }
    *context = made;
    return TAMIS_OK;
}

void tamis__tls_context_free(tamis__tls_context *context) {
    if (!context)
        return;
    SSL_CTX_free(context->ssl);
    BIO_meth_free(context->socket);
    tamis_allocator allocator = context->allocator;
    tamis__free(&allocator, context, sizeof *context);
}

/* ---- a session ---- */

/* Sets the name of the server, which is sent as SNI and compared with its certificate. IP addresses are only
 * compared. */
static bool set_name(SSL *ssl, const char *name) {
    unsigned char address[sizeof(struct in6_addr)];
    if (inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name) == 1;
    return SSL_set_tlsext_host_name(ssl, name) == 1 && SSL_set1_host(ssl, name) == 1;
}

tamis__tls *tamis__tls_create(const tamis__tls_context *context, int fd, const char *host) {
    tamis__tls *tls = tamis__alloc(&context->allocator, sizeof *tls, _Alignof(tamis__tls));
    if (!tls)
        return NULL;
    tls->allocator = context->allocator;
    tls->fd = fd;
    tls->ssl = SSL_new(context->ssl);
    BIO *bio = tls->ssl ? BIO_new(context->socket) : NULL;
    if (!bio || !set_name(tls->ssl, context->name ? context->name : host)) {
        BIO_free(bio);
        tamis__tls_free(tls);
        return NULL;
    }
    BIO_set_data(bio, tls);
    BIO_set_init(bio, 1);
    SSL_set_bio(tls->ssl, bio, bio);
    SSL_set_connect_state(tls->ssl);
    return tls;
}

void tamis__tls_free(tamis__tls *tls) {
    if (!tls)
        return;
    SSL_free(tls->ssl);
    tamis_allocator allocator = tls->allocator;
    tamis__free(&allocator, tls, sizeof *tls);
}

/* True if a retry fails too: one side rejects the other's certificate, or the server has no TLS or none of
 * our versions. */
static bool is_final(int reason) {
    static const int finals[] = {SSL_R_WRONG_VERSION_NUMBER,
                                 SSL_R_HTTP_REQUEST,
                                 SSL_R_CERTIFICATE_VERIFY_FAILED,
                                 SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE,
                                 SSL_R_SSLV3_ALERT_BAD_CERTIFICATE,
                                 SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE,
                                 SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED,
                                 SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED,
                                 SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN,
                                 SSL_R_TLSV1_ALERT_UNKNOWN_CA,
                                 SSL_R_TLSV1_ALERT_ACCESS_DENIED,
                                 SSL_R_TLSV1_ALERT_PROTOCOL_VERSION,
                                 SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED};
    for (size_t i = 0; i < sizeof finals / sizeof *finals; i++)
        if (finals[i] == reason)
            return true;
    return false;
}

/* Translates the result of an OpenSSL call that did not succeed: 0 at the end of the connection, else -1
 * and errno. With EAGAIN, *events are the ones to poll for. */
static int check_result(tamis__tls *tls, int result, int system_errno, short *events) {
    const int error = SSL_get_error(tls->ssl, result);
    const unsigned long last = ERR_peek_last_error();
    const char *why = ERR_reason_error_string(last);
    *events = error == SSL_ERROR_WANT_WRITE ? POLLOUT : POLLIN;
    if (error == SSL_ERROR_ZERO_RETURN)
        return 0;
    errno = EAGAIN;
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE)
        return -1;
    errno = system_errno;
    if (error == SSL_ERROR_SYSCALL)
        return system_errno ? -1 : 0;
    if (ERR_GET_REASON(last) == SSL_R_CERTIFICATE_VERIFY_FAILED)
        why = X509_verify_cert_error_string(SSL_get_verify_result(tls->ssl));
    snprintf(tls->error_text, sizeof tls->error_text, "TLS: %.140s", why ? why : "failed");
    tls->final = is_final(ERR_GET_REASON(last));
    errno = EPROTO;
    return -1;
}

static void clear_errors(void) {
    ERR_clear_error();
    errno = 0;
}

int tamis__tls_handshake(tamis__tls *tls, short *events) {
    clear_errors();
    const int result = SSL_do_handshake(tls->ssl);
    if (result == 1)
        return 0;
    if (check_result(tls, result, errno, events) < 0)
        return -1;
    errno = ECONNRESET;
    return -1;
}

/* A server that rejects us sends an alert and closes, perhaps while we are sending. After a failed send,
 * this reads the alert, so that tamis__tls_error reports it. */
static void find_reason(tamis__tls *tls) {
    char byte;
    size_t transferred;
    short events;
    const int failed = errno;
    clear_errors();
    const int result = SSL_read_ex(tls->ssl, &byte, 1, &transferred);
    if (result == 1 || check_result(tls, result, errno, &events) == 0 || errno != EPROTO)
        errno = failed;
}

ssize_t tamis__tls_send(tamis__tls *tls, const void *bytes, size_t size) {
    size_t transferred;
    short events;
    clear_errors();
    const int result = SSL_write_ex(tls->ssl, bytes, size, &transferred);
    if (result == 1)
        return (ssize_t)transferred;
    if (check_result(tls, result, errno, &events) == 0)
        errno = EPIPE;
    if (errno == EPIPE || errno == ECONNRESET)
        find_reason(tls);
    return -1;
}

ssize_t tamis__tls_receive(tamis__tls *tls, void *to, size_t size) {
    size_t transferred;
    short events;
    clear_errors();
    const int result = SSL_read_ex(tls->ssl, to, size, &transferred);
    return result == 1 ? (ssize_t)transferred : check_result(tls, result, errno, &events);
}

const char *tamis__tls_error(const tamis__tls *tls, bool *final) {
    *final = tls->final;
    return tls->error_text;
}
