# SPDX-License-Identifier: BSD-2-Clause
"""A network that breaks: forwards connections to 127.0.0.1:PORT to 127.0.0.1:TARGET.

    relay.py PORT TARGET

    SIGSTOP     nothing passes, as if packets were lost; SIGCONT ends that
    SIGUSR2     requests pass, but their answers are lost
    SIGUSR1     resets all connections, and lets answers pass again
"""
import asyncio
import signal
import socket
import struct
import sys

connections = set()
loses_answers = False


def reset(writer):
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def reset_all():
    global loses_answers
    loses_answers = False
    for writer in connections:
        reset(writer)


def lose_answers():
    global loses_answers
    loses_answers = True


async def forward(reader, writer, are_answers):
    try:
        while data := await reader.read(65536):
            if not (are_answers and loses_answers):
                writer.write(data)
                await writer.drain()
    except OSError:
        pass
    writer.close()


async def connect(client_reader, client):
    try:
        server_reader, server = await asyncio.open_connection("127.0.0.1", int(sys.argv[2]))
    except OSError:
        reset(client)
        return
    connections.update((client, server))
    await asyncio.gather(forward(client_reader, server, False), forward(server_reader, client, True))
    connections.difference_update((client, server))


async def main():
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGUSR1, reset_all)
    loop.add_signal_handler(signal.SIGUSR2, lose_answers)
    server = await asyncio.start_server(connect, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()


asyncio.run(main())
