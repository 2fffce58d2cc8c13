"""Records to memtrix: a bounded queue before a socket that is never waited for."""

import collections
import json
import os
import socket
import threading
import time

VERSION = 1
# What may wait, in records and in bytes. Beyond that records are dropped.
MOST_RECORDS = 4096
MOST_BYTES = 4 << 20
LONGEST_TEXT = 4000

now = time.monotonic_ns

# As a number: | of the enumeration's members makes a new one each time.
_WITHOUT_WAITING = int(socket.MSG_DONTWAIT | getattr(socket, "MSG_NOSIGNAL", 0))
_encode = json.JSONEncoder(separators=(",", ":"), default=str).encode

on = False  # whether anything is looked at; wrappers ask this first
sock = None

_queue = collections.deque()
_sent = 0  # when send was last called
_queued = 0  # bytes; may be off by a record between threads
_rest = b""  # the part of a record that did not fit into the socket
_lock = threading.Lock()  # of the sending end, never waited for
_dropped = 0
_told = 0  # how many of the dropped were reported
_faults = {}
_pid = 0


def open(fd):
    """Takes over the socket that memtrix gave us."""
    global sock, on, _pid
    sock = socket.socket(fileno=fd)
    sock.set_inheritable(False)
    # Blocking for the thread that listens; sending never waits.
    sock.settimeout(None)
    _pid = os.getpid()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_forked)
    on = True
    emit({"k": "hello", "t": now(), "v": VERSION, "pid": _pid})


def _forked():
    """A child of the server is not the server: it says nothing."""
    global on, sock
    on = False
    sock = None
    _queue.clear()


# Each sending wakes memtrix, which takes a processor from the server for a moment:
# what can wait goes with the next. A node's begin is sent at once: should the server
# be killed in it, that is known.
URGENT = ("hello", "ns", "oom", "reply")
PAUSE = 50_000_000  # ns after which anything is sent


def emit(record, flush=True):
    """Queues a record and sends, of what is queued, what the socket takes at once."""
    global _queued, _dropped
    if sock is None:
        return
    line = _encode(record).encode() + b"\n"
    if len(_queue) >= MOST_RECORDS or _queued + len(line) > MOST_BYTES:
        _dropped += 1
        return
    _queue.append(line)
    _queued += len(line)
    if flush and (record["k"] in URGENT or now() - _sent > PAUSE or record.get("s") == "end"):
        send()


def send():
    """Sends what is queued, as far as the socket takes it without waiting."""
    global _queued, _rest, _sent, _told, sock
    if not _lock.acquire(blocking=False):
        return  # whoever holds it sends ours, too
    try:
        _sent = now()
        while sock is not None:
            if not _rest:
                if not _queue:
                    if _dropped == _told:
                        return
                    _told = _dropped
                    _rest = _encode({"k": "dropped", "t": now(), "n": _told}).encode() + b"\n"
                else:
                    _rest = _queue.popleft()
                    _queued -= len(_rest)
            sent = sock.send(_rest, _WITHOUT_WAITING)
            _rest = _rest[sent:]
    except (BlockingIOError, InterruptedError):
        pass
    except OSError:
        sock = None  # memtrix is gone; the server goes on
        _queue.clear()
    finally:
        _lock.release()


def waiting():
    """Whether something could not be sent yet."""
    return bool(_rest) or bool(_queue) or _dropped != _told


def text(value):
    """A text of bearable length."""
    s = str(value)
    return s if len(s) <= LONGEST_TEXT else s[:LONGEST_TEXT] + " ..."


def fault(where, error):
    """Counts an exception of our own; the first of a place is told."""
    try:
        count = _faults.get(where, 0)
        _faults[where] = count + 1
        if count == 0:
            emit({"k": "fault", "t": now(), "where": where, "error": text(f"{type(error).__name__}: {error}")}, flush=False)
    except Exception:
        pass


def counters():
    """What went wrong in the probe itself."""
    return {"dropped": _dropped, "faults": dict(_faults)}
