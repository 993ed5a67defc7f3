# SPDX-License-Identifier: BSD-2-Clause
# A server that starts without its Redis: it is ready, and answers.
cat > serve.yaml <<'END'
listen: unix:socket
redis: redis://127.0.0.1:1
keyspaces:
  - {keys: 'a:*', row: "SELECT 'row ' || ?1", database: {sqlite: memory}}
END
tamis serve --check serve.yaml > /dev/null 2> refused
grep -q 'built without' refused && exit 77
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
python3 - <<'END'
import socket
with socket.socket(socket.AF_UNIX) as client:
    client.connect("socket")
    client.sendall(b"GET a:1\r\nQUIT\r\n")
    print(client.makefile().read().replace("\r\n", " "))
END
kill -TERM $server
wait $server
echo "status $?"
cat log
