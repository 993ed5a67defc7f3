/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Checks settings of SASL before a handle is opened.
 *
 * librdkafka takes GSSAPI for the mechanism if none is given, and then complains about Kerberos. It ignores
 * names and passwords if the protocol has no SASL, and the brokers end the connection without a reason.
 */
#include <string.h>
#include <strings.h>

#include "kafka/kafka_client.h"

/* Returns the value of a setting, the last one if it is given twice; NULL: it is not given. */
static const char *find_value(const kafka_client *client, const char *name) {
    const size_t size = strlen(name);
    const char *value = NULL;

    for (size_t i = 0; i < client->setting_count; i++)
        if (strncmp(client->settings[i], name, size) == 0 && client->settings[i][size] == '=')
            value = client->settings[i] + size + 1;
    return value;
}

/* Returns the first setting of SASL; NULL: there is none. */
static const char *find_sasl(const kafka_client *client) {
    for (size_t i = 0; i < client->setting_count; i++)
        if (strncmp(client->settings[i], "sasl.", strlen("sasl.")) == 0)
            return client->settings[i];
    return NULL;
}

/* Name and password, which these mechanisms need. */
static tamis_status check_credentials(const kafka_client *client, const char *mechanism, tamis_error *err) {
    static const char *const names[] = {"sasl.username", "sasl.password"};

    if (strcasecmp(mechanism, "PLAIN") != 0 && strncasecmp(mechanism, "SCRAM-", strlen("SCRAM-")) != 0)
        return TAMIS_OK;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!find_value(client, names[i]))
            return tamis__fail(err, TAMIS_E_INVALID, 0,
                               "setting %s: is missing, but sasl.mechanism=%.40s needs it; add %s=VALUE",
                               names[i], mechanism, names[i]);
    return TAMIS_OK;
}

tamis_status tamis__kafka_client_check_security(const kafka_client *client, tamis_error *err) {
    const char *protocol = find_value(client, "security.protocol");
    const char *mechanism = find_value(client, "sasl.mechanism"), *sasl = find_sasl(client);

    if (!mechanism)
        mechanism = find_value(client, "sasl.mechanisms"); /* its other name */
    if (protocol && strncasecmp(protocol, "sasl_", strlen("sasl_")) == 0)
        return mechanism
                   ? check_credentials(client, mechanism, err)
                   : tamis__fail(err, TAMIS_E_INVALID, 0,
                                 "setting sasl.mechanism: is missing, but security.protocol=%.40s needs it; "
                                 "add sasl.mechanism=SCRAM-SHA-512, or PLAIN, SCRAM-SHA-256, OAUTHBEARER or "
                                 "GSSAPI, as the brokers expect",
                                 protocol);
    if (!sasl)
        return TAMIS_OK;
    return tamis__fail(
        err, TAMIS_E_INVALID, 0,
        "setting security.protocol: is %s, so %.*s has no effect; give security.protocol=sasl_ssl, or "
        "sasl_plaintext if the brokers have no TLS",
        protocol ? "without SASL" : "missing", (int)strcspn(sasl, "="), sasl);
}
