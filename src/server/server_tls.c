/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * TLS of connections. OpenSSL reads and writes the descriptor itself; this file turns its results into those
 * of read() and write(). A handshake goes on with the first read.
 *
 * OpenSSL may have to write before it can read, and the other way round. So the caller tries both after each
 * event (tamis__client_proceed).
 */
#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <string.h>

#include "base/failure.h"
#include "server/server_int.h"

static tamis_status fail_tls(const server_config *config, const char *file, tamis_error *err) {
    const unsigned long code = ERR_get_error();
    const int number = ERR_SYSTEM_ERROR(code) ? ERR_GET_REASON(code) : 0;
    const char *why = number ? strerror(number) : ERR_reason_error_string(code);

    ERR_clear_error();
    return tamis__fail(err, TAMIS_E_INVALID, number, "%s: tls: %.200s: %s; give a file in PEM", config->file,
                       file, why ? why : "OpenSSL cannot use it");
}

tamis_status tamis__server_tls_create(SSL_CTX **context, const server_config *config, tamis_error *err) {
    *context = NULL;
    if (!config->tls.cert)
        return TAMIS_OK;
    SSL_CTX *made = SSL_CTX_new(TLS_server_method());
    const char *failed = NULL;
    if (!made)
        return tamis__fail_nomem(err, config->file, 0);
    SSL_CTX_set_min_proto_version(made, TLS1_2_VERSION);
    SSL_CTX_set_mode(made, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                               SSL_MODE_RELEASE_BUFFERS);
    if (SSL_CTX_use_certificate_chain_file(made, config->tls.cert) != 1)
        failed = config->tls.cert;
    else if (SSL_CTX_use_PrivateKey_file(made, config->tls.key, SSL_FILETYPE_PEM) != 1 ||
             SSL_CTX_check_private_key(made) != 1)
        failed = config->tls.key;
    else if (config->tls.cacert && SSL_CTX_load_verify_locations(made, config->tls.cacert, NULL) != 1)
        failed = config->tls.cacert;
    if (failed) {
        SSL_CTX_free(made);
        return fail_tls(config, failed, err);
    }
    if (config->tls.cacert) {
        static const unsigned char sessions[] = "tamis";
        SSL_CTX_set_verify(made, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
        /* without it, OpenSSL fails handshakes that resume a session with a certificate */
        SSL_CTX_set_session_id_context(made, sessions, sizeof sessions - 1);
    }
    *context = made;
    return TAMIS_OK;
}

static ssize_t result_of(const server_client *client, int result) {
    if (result > 0)
        return result;
    const int error = SSL_get_error(client->tls, result);
    if (error == SSL_ERROR_ZERO_RETURN)
        return 0;
    errno = error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? EAGAIN : ECONNRESET;
    return -1;
}

/* SSL_get_error takes what an earlier call for another connection has left for an error of this one. */
ssize_t tamis__server_tls_read(server_client *client, void *to, size_t size) {
    ERR_clear_error();
    return result_of(client, SSL_read(client->tls, to, size < INT_MAX ? (int)size : INT_MAX));
}

ssize_t tamis__server_tls_write(server_client *client, const void *from, size_t size) {
    ERR_clear_error();
    return result_of(client, SSL_write(client->tls, from, size < INT_MAX ? (int)size : INT_MAX));
}
