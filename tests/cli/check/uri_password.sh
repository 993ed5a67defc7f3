# SPDX-License-Identifier: BSD-2-Clause
# No message about a URI has its password, whatever the error is.
for uri in 'redis://u:hush@127.0.0.1:1/x?bogus=1' 'redis://u:hu?sh@127.0.0.1:1/x' 'http://u:hush@h/x' \
    'redis+sentinel://127.0.0.1:1/m/x?sentinel_password=hush&bogus=1' 'redis://:hush@h/a/b/c'; do
    tamis check -k 7 -f "$uri"
    tamis redis "$uri"
    tamis check -f file -k 7 "$uri"
    tamis add --max-record "$uri" x
done
exit 0
