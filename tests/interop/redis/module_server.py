# SPDX-License-Identifier: BSD-2-Clause
"""Private servers with the Redis module, for the programs module*.py. Their arguments: MODULE DIRECTORY SEED COUNT

COUNT: how many items the larger tests add.
"""
import os
import signal
import socket
import subprocess
import sys
import time

MODULE, DIRECTORY, SEED, COUNT = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
LARGE = 19775360  # bytes of a filter for 10,000,000 items at 0.001
WRONGTYPE = "WRONGTYPE Operation against a key holding the wrong kind of value"


class Error(Exception):
    """An error of the server; equal to another with the same text."""

    def __eq__(self, other):
        return isinstance(other, Error) and self.args == other.args


class Pairs(list):
    """A map of RESP3, in its order."""


class Client:
    """A connection with either version of the protocol. Booleans stay booleans, texts are bytes."""

    def __init__(self, path, protocol=2):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.file = self.socket.makefile("rb")
        if protocol == 3:
            self("HELLO", 3)

    def send(self, *words):
        words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))

    def __call__(self, *words):
        self.send(*words)
        return self.reply()

    def reply(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the server is gone")
        kind, text = line[:1], line[1:-2]
        if kind == b"-":
            return Error(text.decode())
        if kind == b"+":
            return text
        if kind == b":":
            return int(text)
        if kind == b"#":
            return text == b"t"
        if kind == b"_":
            return None
        size = int(text)
        if size < 0:
            return None
        if kind == b"$":
            return self.file.read(size + 2)[:-2]
        if kind == b"%":
            return Pairs([self.reply(), self.reply()] for _ in range(size))
        return [self.reply() for _ in range(size)]


servers = []


class Server:
    """A private server with a module."""

    def __init__(self, name, *options, arguments=(), memory=None, program="redis-server", module=MODULE, config=None):
        """`memory`: limits the address space to so many bytes. `program`: of a release that has --enable-debug-command,
        or else one that is named redis-server-6. `config`: text of a configuration file."""
        self.memory = memory
        self.directory = os.path.join(DIRECTORY, name)
        os.makedirs(self.directory, exist_ok=True)
        self.path = os.path.join(self.directory, "socket")
        debug = [] if program.endswith("-6") else ["--enable-debug-command", "yes"]
        self.config = os.path.join(self.directory, "redis.conf")
        if config is not None:
            with open(self.config, "w", encoding="utf-8") as file:
                file.write(config)
        self.command = [program, *([self.config] if config is not None else []), "--port", "0", "--unixsocket", self.path, "--dir", self.directory, "--save", "",
                        "--logfile", "log", *debug, *options, "--loadmodule", module, *arguments]
        self.start()

    def start(self):
        command = self.command
        if self.memory:
            command = ["sh", "-c", f"ulimit -v {self.memory >> 10} && exec \"$@\"", "sh", *command]
        preload = os.environ.get("TAMIS_PRELOAD")  # what the module needs beside the server
        environment = {**os.environ, "LD_PRELOAD": preload} if preload else None
        with open(os.path.join(self.directory, "errors"), "ab") as errors:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors,
                                            env=environment)
        servers.append(self.process)
        end = time.monotonic() + 60
        while time.monotonic() < end and self.process.poll() is None:
            try:
                self.call = Client(self.path)
                if self.call("PING") == b"PONG":
                    return
            except (OSError, ConnectionError):
                pass
            time.sleep(0.01)
        raise SystemExit("redis-server does not start: " + self.log()[-500:])

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        if os.path.exists(self.path):
            os.unlink(self.path)

    def log(self):
        with open(os.path.join(self.directory, "log"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def digests(self):
        keys = sorted(self.call("KEYS", "*"))
        return dict(zip(keys, self.call("DEBUG", "DIGEST-VALUE", *keys)))


def same(what, got, expected):
    if got != expected or isinstance(got, bool) != isinstance(expected, bool):
        raise SystemExit(f"{what}: got {got!r} instead of {expected!r}")


def is_true(what, holds):
    if not holds:
        raise SystemExit(f"{what}: no")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def listen(server):
    """Makes a server listen on a port, for replicas. Another program may take a port that was free: then the next."""
    for _ in range(20):
        port = free_port()
        got = server.call("CONFIG", "SET", "port", port)
        if got == b"OK":
            return port
    raise SystemExit(f"no port to listen on: {got!r}")


def run(tests, server=None):
    """Runs tests, with an empty server that they share, or with none. Prints the time of each."""
    for test in tests:
        start = time.monotonic()
        if server:
            server.call("FLUSHALL")
            test(server)
        else:
            test()
        print(f"{test.__name__}: {time.monotonic() - start:.1f} s", flush=True)


def end_servers():
    for started in servers:
        if started.poll() is None:
            started.kill()
            started.wait()


# ---- replies ----------------------------------------------------------------------------------------------

T, F = "T", "F"  # in tables of replies: a boolean in RESP3, 1 or 0 in RESP2


def arity(name):
    return Error(f"ERR wrong number of arguments for '{name}' command")


def expected_reply(reply, protocol, is_single):
    """What a reply of a table is in a version of the protocol. `is_single`: BF.INFO of one field."""
    if reply in (T, F):
        return reply == T if protocol == 3 else int(reply == T)
    if reply == "full":  # of CF.INSERT
        return False if protocol == 3 else -1
    if isinstance(reply, list):
        return [expected_reply(item, protocol, is_single) for item in reply]
    if isinstance(reply, dict):
        pairs = Pairs([label.encode(), value] for label, value in reply.items())
        if protocol == 3:
            return pairs
        return [value for _, value in pairs] if is_single else [word for pair in pairs for word in pair]
    return reply


def check_table(server, table, protocols=(2, 3)):
    """Runs the commands of a table, (command, reply), with versions of the protocol."""
    for protocol in protocols:
        server.call("FLUSHALL")
        call = Client(server.path, protocol)
        for command, reply in table:
            words = command.split()
            is_single = words[0].upper() == "BF.INFO" and len(words) == 3
            same(f"RESP{protocol}: {command}", call(*words), expected_reply(reply, protocol, is_single))


def is_refused(what, got):
    is_true(f"{what}: {got!r}", isinstance(got, Error))


def refused(name, message, *options, program="redis-server"):
    """A server that does not start, since it refuses a module."""
    directory = os.path.join(DIRECTORY, name)
    os.makedirs(directory)
    command = [program, "--port", "0", "--unixsocket", os.path.join(directory, "socket"), "--dir", directory,
               "--logfile", "log", *options]
    status = subprocess.run(command, check=False, stdin=subprocess.DEVNULL, timeout=60).returncode
    with open(os.path.join(directory, "log"), encoding="utf-8") as file:
        log = file.read()
    is_true(f"{name}: {log[-300:]}", status != 0 and message in log)


def check_config_file(name, prefix, program="redis-server"):
    """Settings of a configuration file, and CONFIG REWRITE, which writes what CONFIG SET has changed. `prefix`: of the
    settings that RedisBloom has too."""
    server = Server(name, program=program, config=f"{prefix}bf-initial-size 55\nbf.bf-kind fast\n")
    same("of the file", [server.call("CONFIG", "GET", setting)[1] for setting in (prefix + "bf-initial-size", "bf.bf-kind")],
         [b"55", b"fast"])
    same("set", server.call("CONFIG", "SET", prefix + "bf-error-rate", "0.05", "bf.bf-kind", "compatible"), b"OK")
    same("rewrite", server.call("CONFIG", "REWRITE"), b"OK")
    server.kill()
    server.command[2:] = []  # the file has the rest
    server.start()
    server.call("BF.ADD", "b", 1)
    same("after CONFIG REWRITE", server.call("BF.DEBUG", "b")[1].split()[4:7:2], [b"capacity:55", b"ratio:0.025"])
    server.kill()


def crc64(data):
    crc = 0
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x95ac9329ac4bc9b5 if crc & 1 else 0)
    return crc


def payload(data, version=10):
    """What RESTORE takes: fields, with version and checksum behind them."""
    data += version.to_bytes(2, "little")
    return data + crc64(data).to_bytes(8, "little")


# ---- filters ----------------------------------------------------------------------------------------------

def used_memory(call):
    return info_of(call, "memory", "used_memory")


def info_of(call, section, field):
    """A number of INFO."""
    return int(call("INFO", section).split(field.encode() + b":")[1].split()[0])


def wait_until(what, holds, seconds=60):
    end = time.monotonic() + seconds
    while not holds():
        is_true(what, time.monotonic() < end)
        time.sleep(0.01)


def chunks_of(call, key, command="BF.SCANDUMP"):
    chunks, position = [], 0
    while True:
        position, data = call(command, key, position)
        if not position:
            return chunks
        chunks.append((position, data))


def fill(call):
    """Filters of each sort."""
    call("FLUSHALL")
    call("BF.MADD", "auto", *range(1000))
    call("BF.RESERVE", "fixed", 0.02, 500, "NONSCALING")
    call("BF.MADD", "fixed", *range(600))
    call("BF.INSERT", "inserted", "EXPANSION", 4, "ITEMS", *range(700))
    for i in range(300):
        call("BF.ADD", "single", i)
    call("BF.ADD", "single", 1)
    call("BF.RESERVE", "large", 0.001, 10000000)
    call("BF.MADD", "large", *range(1000))
    chunks = chunks_of(call, "large")
    same("chunks of 16 MiB", [len(data) for _, data in chunks[1:]], [16 << 20, LARGE - (16 << 20)])
    call("BF.LOADCHUNK", "half", *chunks[0])
    call("BF.LOADCHUNK", "half", *chunks[1])
    for chunk in chunks:
        call("BF.LOADCHUNK", "loaded", *chunk)
    call("CF.INSERT", "cf-auto", "ITEMS", *range(3000))
    call("CF.RESERVE", "cf-grown", 64, "BUCKETSIZE", 4, "EXPANSION", 2)
    call("CF.INSERTNX", "cf-grown", "ITEMS", *range(2000))
    for i in range(300):
        call("CF.ADD", "cf-single", i % 100)
        call("CF.ADDNX", "cf-single", i)
        call("CF.DEL", "cf-grown", i)
        call("CF.DEL", "cf-auto", 5 * i)
    call("CF.COMPACT", "cf-grown")
    call("CF.RESERVE", "cf-fixed", 64, "BUCKETSIZE", 2, "EXPANSION", 0)
    is_true("full", call("CF.INSERT", "cf-fixed", "ITEMS", *range(100)).count(-1) >= 36)
    call("CF.RESERVE", "cf-empty", 64)
    chunks = chunks_of(call, "cf-grown", "CF.SCANDUMP")
    for chunk in chunks:
        call("CF.LOADCHUNK", "cf-loaded", *chunk)
    for chunk in chunks[:3]:
        call("CF.LOADCHUNK", "cf-half", *chunk)
