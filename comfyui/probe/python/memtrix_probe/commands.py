"""What memtrix may ask for, answered by a thread of its own.

The thread sleeps in the kernel until something is asked. An inventory walks through
all objects of the process and is asked for at rest only.
"""

import json
import select
import threading

from . import channel, hooks, inventory, memoryhooks, readings

PAUSE = 1.0  # s after which records that are still waiting are tried again


def listen():
    """Starts the thread."""
    threading.Thread(target=_run, name="memtrix-probe", daemon=True).start()


def _run():
    received = b""
    while True:
        sock = channel.sock
        if sock is None:
            return
        try:
            ready, _, _ = select.select([sock], [], [], PAUSE)
            if channel.waiting():
                channel.send()
            if not ready:
                continue
            data = sock.recv(65536)
        except (OSError, ValueError):
            return
        if not data:
            return  # memtrix is gone
        received += data
        while b"\n" in received:
            line, received = received.split(b"\n", 1)
            hooks.guard("command", _answer, line)


def _answer(line):
    asked = json.loads(line)
    command = asked.get("cmd")
    record = {"k": "reply", "id": asked.get("id"), "t": channel.now()}
    try:
        record.update(_commands[command](asked))
    except Exception as error:
        record["error"] = channel.text(f"{type(error).__name__}: {error}")
    channel.emit(record)


def _status(asked):
    return {"on": channel.on, "hooks": hooks.state, "pending": hooks.pending(), "v": readings.full(),
            "m": readings.models(), **channel.counters()}


def _switch(wanted):
    def switch(asked):
        if wanted:
            readings.reset_peak()
        memoryhooks.watch_gc(wanted)
        channel.on = wanted
        return {"on": wanted}
    return switch


def _inventory(asked):
    return inventory.take(int(asked.get("top", 20)), bool(asked.get("trim")))


_commands = {
    "status": _status,
    "on": _switch(True),
    "off": _switch(False),
    "inventory": _inventory,
}
