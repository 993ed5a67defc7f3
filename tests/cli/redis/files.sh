# SPDX-License-Identifier: BSD-2-Clause
# A file of a URI that is not there is called that.
tamis check -k a -f 'rediss://localhost:1/x?cacert=/nowhere/ca.pem&patience=100ms'
tamis check -k a -f 'rediss://localhost:1/x?cert=/nowhere/cert.pem&key=/nowhere/key.pem&patience=100ms'
