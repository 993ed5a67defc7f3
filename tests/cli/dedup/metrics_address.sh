# SPDX-License-Identifier: BSD-2-Clause
# --metrics ADDRESS: GET /metrics while a run waits for input, and other requests.
get() {
    python3 - "$address" "$@" <<'END'
import http.client, sys
address, method, path = sys.argv[1:]
connection = http.client.HTTPConnection(address, timeout=20)
connection.request(method, path)
answer = connection.getresponse()
print(answer.status, answer.getheader("Content-Type"))
print(answer.read().decode(), end="")
END
}
mkfifo pipe
tamis dedup --metrics 0 -o once < pipe 2> err &
exec 3> pipe
until grep -qs metrics err; do sleep 0.02; done
address=$(sed -n 's|.*http://\(127.0.0.1:[0-9]*\)/metrics$|\1|p' err)
printf '%s\n' a b a >&3
until get GET /metrics > got && grep -qx 'tamis_filter_keys 2' got && grep -q 'unique"} 2' got; do sleep 0.02; done
get GET /metrics | grep -v '^# \|filter_'
get HEAD /metrics
get GET / > got
head -n 1 got
get DELETE /metrics > got
head -n 1 got
echo 'the address is in use'
tamis dedup --metrics "$address" -o other < /dev/null 2> err2
echo "status $?"
sed "s/$address/ADDRESS/" err2
exec 3>&-
wait $!
echo "status $?"
cat once
echo 'an IPv6 address, where the system has one'
if python3 -c 'import socket; socket.socket(socket.AF_INET6).bind(("::1", 0))' 2> none; then
    tamis dedup --metrics '[::1]:0' -o once < /dev/null 2>&1 | sed 's/:[0-9]*\/metrics/:PORT\/metrics/'
else
    echo 'tamis: metrics at http://[::1]:PORT/metrics'
fi
tamis dedup --metrics '[127.0.0.1]:0' -o once < /dev/null 2>&1 | sed 's/:[0-9]*\/metrics/:PORT\/metrics/'
