"""The process in which tofstream runs a script's gadget: `python -m tofstream.worker SCRIPT --endpoint E --arena N`.

It answers requests over ZeroMQ (gadgets/python/session.hpp has the messages); descriptor 3 is the shared memory.
"""

import argparse
import faulthandler
import json
import os
import platform
import signal
import sys

import numpy as np

try:
    import zmq
except ModuleNotFoundError:
    raise ImportError("tofstream needs pyzmq: install python3-zmq (Debian) or pyzmq (pip)") from None

import tofstream
from tofstream import convert, memory
from tofstream.script import Script, describe_error

PROTOCOL = 1
ARENA_DESCRIPTOR = 3


class Worker:
    def __init__(self, socket, path, arena_bytes):
        self.socket = socket
        self.script = Script(path)
        self.arena = memory.Arena(ARENA_DESCRIPTOR, arena_bytes, self.ask_for_block)
        memory.use(self.arena)
        self.takes = self.gives = "nothing"

    def send(self, message):
        self.socket.send(json.dumps(message).encode())

    def receive(self):
        return json.loads(self.socket.recv())

    def ask_for_block(self, size):
        self.send({"need": size})
        return self.receive()

    def serve(self):
        while (request := self.receive())["do"] != "quit":
            try:
                self.answer(request)
            except Exception as error:
                self.send({"error": describe_error(error, self.script)})

    def answer(self, request):
        if request["do"] == "load":
            self.takes, self.gives = request["takes"], request["gives"]
            self.script.load(request["arguments"], source=self.takes == "nothing")
            self.send({"ready": {"where": self.script.where, "has_flush": self.script.has_flush}})
        else:
            self.converse(request)

    def converse(self, request):
        """One call of the gadget: a reply for each message that it gives but the last, which goes with the end."""
        self.arena.returned(request["returned"])
        given = None
        if self.takes in request:
            given = convert.from_header(self.takes, request[self.takes], self.arena, self.arena.lease(request["lease"]))
        info = convert.Info(request["info"], given)
        if scanner := request.get("scanner"):
            info.scanner = convert.recorder_of(scanner, self.arena, self.arena.lease(request["lease"]))
        result = self.script.call(request["do"], given, info)
        if hasattr(result, "__next__") or isinstance(result, (list, tuple)):
            self.give_several(iter(result), given, info)
            result = None
        gives = [] if result is None else [convert.to_header(self.gives, result, given, self.arena)]
        del result, given  # now, so that what was lent goes back with this reply
        self.reply(gives, info, more=False)

    def give_several(self, results, given, info):
        for result in results:
            give = convert.to_header(self.gives, result, given, self.arena)
            del result
            self.reply([give], info, more=True)
            answer = self.receive()
            self.arena.returned(answer["returned"])
            if answer["do"] == "close":
                if hasattr(results, "close"):
                    results.close()
                return

    def reply(self, gives, info, more):
        released = self.arena.released[:]
        del self.arena.released[: len(released)]
        self.send({"gives": gives, "more": more, "released": released, **info.take()})


def main():
    parser = argparse.ArgumentParser(prog="python -m tofstream.worker", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("script")
    parser.add_argument("--endpoint", required=True)
    parser.add_argument("--arena", type=int, required=True)
    options = parser.parse_args()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1)  # tofstream asks by it where a script hangs
    socket = zmq.Context.instance().socket(zmq.PAIR)
    socket.connect(options.endpoint)
    worker = Worker(socket, options.script, options.arena)
    worker.send(
        {
            "hello": {
                "protocol": PROTOCOL,
                "version": tofstream.__version__,
                "package": os.path.dirname(os.path.abspath(__file__)),
                "python": platform.python_version(),
                "numpy": np.__version__,
            }
        }
    )
    worker.serve()
    socket.close(0)


if __name__ == "__main__":
    sys.exit(main())
# SPDX-License-Identifier: Apache-2.0
