# SPDX-License-Identifier: BSD-2-Clause
# The message names a file of the URI that does not exist.
tamis check -k a -f 'rediss://localhost:1/x?cacert=/nowhere/ca.pem&patience=100ms'
tamis check -k a -f 'rediss://localhost:1/x?cert=/nowhere/cert.pem&key=/nowhere/key.pem&patience=100ms'
