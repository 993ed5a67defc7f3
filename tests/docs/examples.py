#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""examples.py DOCUMENT TAMIS: runs the fenced examples of a document, as a reader would who copies one after the other.

All blocks of a document run in order, in one directory that is empty at first, with the program TAMIS first in PATH.
The language of a fence says what is done with its block:

sh            bash runs it; every command must succeed. What it prints is not compared.
console       bash runs the lines after "$ " (and "> ", which continue a command). The lines between are what the command
              prints, standard output and error together; "..." stands for any text, also of no or several lines.
console FILE  is not run: its lines are some of those of a document FILE, whose test runs them.
java, php,    run with the client of docs/examples/redis loaded. What stands behind the last "// " or "# " of a line
python        is what this line prints.
yaml          must be a part of a file of docs/examples/guard.
c, cpp        must be a part of a program of docs/examples, which the test checks/install builds and runs.
service       each command is run in turn, until it ends, or says that partitions are assigned to it. Then it gets
              SIGTERM, and must end in order. For commands that run until they are stopped.
elsewhere     is not run: it needs what this machine does not have. NOT_RUN names each such block, and why.
text          is not run: pictures, formats, output. A command there is a failure.

Where a document says localhost and port 6379, a private redis-server is asked, which is started at its first use. If the
document says --loadmodule, that server has the Redis module of this build. A block with ./dev run
serve FILE & starts that server on a free port, which later blocks get in place of 6390. Blocks
with ./dev kafka, or with localhost:9092, have a broker on a private port, which is stopped in the end.
Exit status: 0; 1 with a message if an example fails; 77 if a program that an example needs is missing and the others
hold; 2 if the test itself cannot run.
"""
import glob
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import time

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAMS = os.path.join(SOURCE, "docs", "examples")
CLIENTS = os.path.join(PROGRAMS, "redis")
GUAVA = os.environ.get("TAMIS_GUAVA_JAR", "/usr/share/java/guava.jar")
TIMEOUT = 250  # seconds for a block
# (document, what the block has): why it is not run
NOT_RUN = {
    ("docs/guide/c-api.md", "cc dedup.c"): "tamis is not installed; checks/install builds this program against an installed copy",
    ("docs/guide/kafka.md", "sasl.password=..."): "a broker that asks for a password; tests/interop/kafka_rights.sh has one",
    ("docs/guide/redis-module.md", "redis-server --loadmodule"): "the module is not installed; the server of the test has it",
    ("docs/guide/kafka.md", "ssl.ca.location="): "a broker with TLS; tests/interop/kafka_rights.sh has one",
}
LANGUAGES = ("sh", "console", "service", "java", "php", "python", "yaml", "c", "cpp", "elsewhere", "text")
COMMAND = re.compile(r"^(\$ )?(\./dev|tamis|redis-cli|redis-server|cc|curl|kcat) ", re.M)


class Failure(Exception):
    pass


class Missing(Exception):
    """A program of the machine that an example needs."""


def blocks_of(text):
    """(line number of the fence, language, lines) of each fenced block."""
    language, first, lines = None, 0, []
    for number, line in enumerate(text.split("\n"), 1):
        if language is None and line.startswith("```"):
            language, first, lines = line[3:].strip(), number, []
        elif language is not None and line.rstrip() == "```":
            yield first, language, lines
            language = None
        elif language is not None:
            lines.append(line)
    if language is not None:
        raise Failure(f"line {first}: the block has no end")


def like(pattern, text):
    """Whether text is pattern, in which ... stands for anything; on a line of its own also for no line."""
    pattern = re.sub(r"^\.\.\.\n", "...", pattern, flags=re.M)
    parts = [re.escape(part) for part in pattern.split("...")]
    return re.fullmatch(".*".join(parts), text, re.S) is not None


def commands_of(lines):
    """[command, expected output] of each command of a console block."""
    found = []
    for line in lines:
        if line.startswith("$ "):
            found.append([line[2:] + "\n", ""])
        elif not found:
            raise Failure(f"a console block begins with a command, not with: {line}")
        elif line.startswith("> ") and not found[-1][1]:
            found[-1][0] += line[2:] + "\n"
        else:
            found[-1][1] += line + "\n"
    return found


class Server:
    """A redis-server on a free port of this machine."""

    def __init__(self, options):
        if not shutil.which("redis-server"):
            raise Missing("redis-server")
        self.directory = tempfile.mkdtemp(prefix="tamis-redis-")
        for _ in range(10):
            self.port = random.randrange(10000, 32000)  # below those that systems give to clients
            path = os.path.join(self.directory, "socket")
            die = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []  # also where we are killed
            self.process = subprocess.Popen(
                [*die, "redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--unixsocket", path, "--save", "",
                 "--dir", self.directory, *options], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while self.process.poll() is None:
                with socket.socket(socket.AF_UNIX) as client:
                    try:
                        client.connect(path)
                        client.sendall(b"PING\r\n")
                        if client.recv(16).startswith(b"+PONG"):
                            return
                    except OSError:
                        pass
                time.sleep(0.02)
        self.stop()
        raise Failure("redis-server does not start")

    def stop(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)


def is_free(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) != 0


class Kafka:
    """A port for the broker that ./dev kafka starts."""

    def __init__(self, reader):
        if not (glob.glob(os.path.join(SOURCE, "build", "peers", "kafka", "kafka-tools-[0-9]*.jar")) and shutil.which("java")):
            raise Missing("the broker of ./dev peers")
        if reader.run(["tamis", "help", "kafka"])[0] != 0:
            raise Missing("librdkafka")
        self.port = str(next(port for port in iter(lambda: random.randrange(10000, 32000), None)
                             if is_free(port) and is_free(port + 1)))
        self.reader = reader
        reader.environment["TAMIS_KAFKA_PORT"] = self.port

    def local(self, text):
        return text.replace("./dev kafka", f"bash '{SOURCE}/dev' kafka").replace("localhost:9092", "127.0.0.1:" + self.port)

    def stop(self):
        self.reader.run(["bash", os.path.join(SOURCE, "dev"), "kafka", "down"])


class Guard:
    """The server of docs/examples/guard, on a free port. The command that starts it is replaced by this one."""
    COMMAND = re.compile(r"\./dev run serve (\S+) &")

    def __init__(self, tamis, path):
        self.path = path
        with open(path, encoding="utf-8") as file:
            config = file.read()
        self.directory = tempfile.mkdtemp(prefix="tamis-guard-")
        shutil.copytree(os.path.dirname(path), self.directory, dirs_exist_ok=True)
        with open(os.path.join(self.directory, "config.yaml"), "w", encoding="utf-8") as file:
            file.write(config.replace("127.0.0.1:6390", "127.0.0.1:0"))
        self.process = subprocess.Popen([tamis, "serve", "config.yaml"], cwd=self.directory, stdin=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True)
        # Another thread reads the keys of the filter, which the examples need.
        serving, has_keys, printed = None, "all_keys" not in config, ""
        while not (serving and has_keys):
            line = self.process.stderr.readline()
            if not line:
                self.stop()
                raise Missing("libtamis-server") if "built without" in printed else Failure(f"tamis serve: {printed}")
            printed += line
            serving = serving or re.search(r"serving at 127\.0\.0\.1:(\d+)", line)
            has_keys = has_keys or "the filter has" in line
        self.port = serving.group(1)

    def stop(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)


class Reader:
    """Somebody who tries all examples of a document."""

    def __init__(self, name, tamis, directory):
        self.name = name
        self.directory = directory
        self.module = None  # the Redis module that the server of this document has
        self.server = self.kafka = self.guard = None
        self.tamis = tamis
        self.environment = {name: value for name, value in os.environ.items()
                            if name not in ("NO_COLOR", "TAMIS_KERNEL", "COLUMNS")}
        self.environment.update(PATH=os.path.dirname(tamis) + ":" + os.environ["PATH"], LC_ALL="C.UTF-8")

    def run(self, command):
        with subprocess.Popen(command, cwd=self.directory, env=self.environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, start_new_session=True) as process:
            try:
                printed = process.communicate(timeout=TIMEOUT)[0]
            except subprocess.TimeoutExpired as late:
                os.killpg(process.pid, signal.SIGKILL)  # also those in the background, which may have the pipe open
                printed = process.communicate()[0].decode(errors="replace")
                raise Failure(f"not done after {TIMEOUT} seconds; printed:\n{printed}") from late
            return process.returncode, printed.decode(errors="replace")

    def local(self, text):
        """The text, with our server in place of the one that it names, and with this source tree."""
        text = text.replace("docs/examples/", PROGRAMS + "/")
        serve = Guard.COMMAND.search(text)
        if serve:
            if self.guard and self.guard.path != serve.group(1):
                self.guard.stop()
                self.guard = None
            self.guard = self.guard or Guard(self.tamis, serve.group(1))
            text = Guard.COMMAND.sub("true", text)
        if self.guard:
            text = text.replace("6390", self.guard.port)
        if "./dev kafka" in text or "localhost:9092" in text:
            self.kafka = self.kafka or Kafka(self)
            text = self.kafka.local(text)
        if "localhost" in text and self.server is None:
            if self.module and not os.path.exists(self.module):
                raise Missing("the Redis module")
            self.server = Server(["--loadmodule", self.module] if self.module else [])
        if self.server is None:
            return text
        port = str(self.server.port)
        return text.replace("localhost/", "localhost:6379/").replace("6379", port).replace("localhost", "127.0.0.1")

    def sh(self, text):
        if re.search(r"^bloom ", text, re.M) and not shutil.which("bloom"):
            raise Missing("DCSO's bloom")
        status, printed = self.run(["bash", "-euo", "pipefail", "-c", text])
        if status != 0:
            raise Failure(f"status {status}; printed:\n{printed}")

    def console(self, text):
        if re.search(r"^\$ (.*\| *)?bloom ", text, re.M) and not shutil.which("bloom"):
            raise Missing("DCSO's bloom")
        commands = commands_of(text.rstrip("\n").split("\n"))
        mark = "@@ end of a command @@"
        script = "".join(f"{command}printf '%s\\n' '{mark}'\n" for command, _ in commands)
        printed = self.run(["bash", "-c", script])[1].split(mark + "\n")
        if len(printed) != len(commands) + 1:
            raise Failure("the block ends the shell early; printed:\n" + "\n".join(printed))
        for (command, expected), got in zip(commands, printed):
            if not like(expected, got):
                raise Failure(f"$ {command}prints:\n{got}\ninstead of:\n{expected}")

    def service(self, text):
        for command in re.sub(r" *\\\n *", " ", text).rstrip("\n").split("\n"):
            process = subprocess.Popen(["bash", "-c", command], cwd=self.directory, env=self.environment,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            overtime = threading.Timer(TIMEOUT, process.kill)
            overtime.start()
            printed, in_order = "", 0
            for line in process.stdout:
                printed += line
                if " partitions are assigned to this process" in line:
                    in_order = 128 + signal.SIGTERM
                    process.terminate()
            status = process.wait()
            overtime.cancel()
            if status != in_order:
                raise Failure(f"{command}: status {status} instead of {in_order}; printed:\n{printed}")

    def elsewhere(self, text):
        if not any(document == self.name and known in text for document, known in NOT_RUN):
            raise Failure("the block is not run, and NOT_RUN of tests/docs/examples.py does not say why")

    @staticmethod
    def promised(text, mark):
        return [line.rsplit(mark, 1)[1].strip() for line in text.split("\n") if mark in line]

    def language(self, commands, expected):
        for command in commands:
            status, printed = self.run(command)
            if status != 0:
                raise Failure(f"{command[0]}: status {status}; printed:\n{printed}")
        if printed.rstrip("\n").split("\n") != expected:
            raise Failure(f"prints:\n{printed}\ninstead of:\n" + "\n".join(expected))

    def write(self, name, text):
        path = os.path.join(self.directory, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def java(self, text):
        if not (shutil.which("java") and shutil.which("javac") and os.path.exists(GUAVA)):
            raise Missing("a JDK and Guava")
        imports = "import com.google.common.hash.*; import java.io.*; import java.util.*;\n" \
            "import static java.nio.charset.StandardCharsets.*;\n"
        main = self.write("Main.java", imports + "public class Main { public static void main(String[] args) "
                          "throws Exception {\n" + text + "} }\n")
        self.language([["javac", "-d", "java", "-cp", GUAVA, main, os.path.join(CLIENTS, "TamisRedis.java")],
                       ["java", "-XX:TieredStopAtLevel=1", "-cp", GUAVA + ":java", "Main"]], self.promised(text, "// "))

    def php(self, text):
        if not shutil.which("php") or self.run(["php", "-r", "exit(extension_loaded('redis') ? 0 : 1);"])[0] != 0:
            raise Missing("PHP with its extension redis")
        main = self.write("main.php", f"<?php set_include_path('{CLIENTS}');\n{text}")
        self.language([["php", main]], self.promised(text, "// "))

    def python(self, text):
        for program in ("python3", "/usr/bin/python3"):
            if shutil.which(program) and self.run([program, "-c", "import redis, xxhash"])[0] == 0:
                main = self.write("main.py", f"import sys\nsys.path.insert(0, {CLIENTS!r})\n{text}")
                return self.language([[program, "-B", main]], self.promised(text, "# "))
        raise Missing("Python's redis and xxhash")

    @staticmethod
    def c(text):
        for path in sorted(glob.glob(os.path.join(PROGRAMS, "*.c*"))):
            with open(path, encoding="utf-8") as file:
                lines = file.read().split("\n")
            count = text.count("\n")
            for first in range(len(lines) - count + 1):
                if textwrap.dedent("\n".join(lines[first:first + count]) + "\n") == text:
                    return
        raise Failure("no program of docs/examples has these lines")

    cpp = c

    @staticmethod
    def yaml(text):
        for path in glob.glob(os.path.join(PROGRAMS, "guard", "*.yaml")):
            with open(path, encoding="utf-8") as file:
                if text in file.read():
                    return
        raise Failure("no file of docs/examples/guard has these lines")

    @staticmethod
    def lines_of(document, text):
        with open(os.path.join(SOURCE, document), encoding="utf-8") as file:
            lines = file.read().split("\n")
        for line in text.rstrip("\n").split("\n"):
            if line not in lines:
                raise Failure(f"{document} has no such line: {line}")

    @staticmethod
    def text(text):
        if COMMAND.search(text):
            raise Failure("a command in a block of language text is not run; see the head of tests/docs/examples.py")

    def stop(self):
        for server in (self.server, self.kafka, self.guard):
            if server is not None:
                server.stop()


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    document, tamis = sys.argv[1], os.path.abspath(sys.argv[2])
    name = os.path.relpath(document, SOURCE)
    status = 0
    directory = tempfile.mkdtemp(prefix="tamis-docs-")
    reader = Reader(name, tamis, directory)
    try:
        with open(document, encoding="utf-8") as file:
            text = file.read()
        if "--loadmodule" in text:
            reader.module = os.path.join(os.path.dirname(os.path.dirname(tamis)), "module", "tamis.so")
        for line, language, lines in blocks_of(text):
            language, _, other = language.partition(" ")
            run = getattr(reader, language, None) if language in LANGUAGES else None
            if run is None:
                raise Failure(f"line {line}: the block's language is '{language}'; see tests/docs/examples.py")
            block = "\n".join(lines) + "\n"
            try:
                if other:
                    reader.lines_of(other, block)
                else:
                    run(block if language in ("yaml", "c", "cpp", "elsewhere", "text") else reader.local(block))
            except Missing as missing:
                print(f"{name}:{line}: not run: {missing} is missing")
                status = status or 77
            except Failure as failure:
                print(f"{name}:{line}: {failure}")
                status = 1
                break  # those that follow may need what it makes
    except Failure as failure:
        print(f"{name}: {failure}")
        status = 1
    finally:
        reader.stop()
        shutil.rmtree(directory, ignore_errors=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
