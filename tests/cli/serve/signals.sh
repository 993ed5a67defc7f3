# SPDX-License-Identifier: BSD-2-Clause
# Signals, readiness for systemd, and the log.
cat > serve.yaml <<'END'
listen: unix:socket
keyspaces:
  - {keys: 'a:*', row: "SELECT 'row ' || ?1", database: {sqlite: memory}}
END
tamis serve --check serve.yaml > /dev/null 2> refused || { grep -q 'built without' refused && exit 77; cat refused; }
wait_for() {
    local tries=0
    until grep -q "$1" log 2> /dev/null || [ $((tries++)) -gt 500 ]; do sleep 0.02; done
}
query() {
    python3 - "$@" <<'END'
import socket, sys
with socket.socket(socket.AF_UNIX) as client:
    client.connect("socket")
    client.sendall(sys.argv[1].encode() + b"\r\nQUIT\r\n")
    print(client.makefile().read().replace("\r\n", " "))
END
}
python3 - <<'END' &
import socket
receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
receiver.bind("notify")
open("bound", "w").close()
receiver.settimeout(30)
with open("ready", "w") as file:
    file.write(receiver.recv(100).decode() + "\n")
END
until [ -e bound ]; do sleep 0.02; done
NOTIFY_SOCKET=$PWD/notify tamis serve serve.yaml 2> log &
server=$!
wait %1
cat ready
query 'GET a:1'
query 'GET b:1'
sed -i "s/'a:/'b:/" serve.yaml
kill -HUP $server
wait_for 'read again'
query 'GET b:1'
sed -i 's/keys/kyes/' serve.yaml
kill -HUP $server
wait_for 'stays'
query 'GET b:1'
kill -TERM $server
wait $server
echo "status $?"
[ ! -e socket ] || echo "the socket is left"
cat log
sed -i 's/kyes/keys/' serve.yaml
# A socket that a killed server has left is replaced; that of a server that runs is not.
rm log
(tamis serve --json serve.yaml 2> log & echo $! > pid)
wait_for serving
kill -KILL "$(< pid)"
while kill -0 "$(< pid)" 2> /dev/null; do sleep 0.02; done
rm log
tamis serve --json serve.yaml 2> log &
server=$!
wait_for serving
tamis serve serve.yaml
echo "status $?"
query 'GET b:2'
kill -INT $server
wait $server
echo "status $?"
sed -E 's/[0-9]{4}-[0-9-]+T[0-9:.]+Z/TIME/' log
