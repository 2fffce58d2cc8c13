"""The part of memtrix that looks at a ComfyUI from inside.

It reports what only code in the server can know: torch's own peak for each node,
which models are loaded and how much of them is resident, pinned memory, what
ComfyUI believes to be free, garbage collections, caches, and out-of-memory errors
that were caught. It changes no result: it wraps functions, reads counters, and
resets torch's peak counters.

Rules that everything here keeps to:
- A name that a version does not have is a missing meter, told once, no error.
- An exception of the probe's own is swallowed, counted and told once (guard).
- The server never waits for memtrix: records go through a bounded queue and a
  socket that is never waited for; what does not fit is dropped and counted.
- Times are CLOCK_MONOTONIC in nanoseconds, sizes are bytes.

Records are JSON objects, one a line; "k" is their kind, "t" or "t0" and "t1" are
times. Values of a moment are in objects with these keys, each left out where it
is not to be had:
  ta, tr  torch's allocated and reserved bytes       tp, rp  their peaks since the last reset
  oom, rt torch's counts of failed allocations and of retries
  fd, td  free and total bytes of the card as the driver tells a process
  fc      free bytes as ComfyUI counts them
  vb, cb  bytes of weights in aimdo's VBARs, and of its cast buffers
  au      all that aimdo counts
  w, wt   resident weights of loaded models; the part of it that is in torch
  pin     bytes pinned by ComfyUI
  rss, anon  resident and anonymous memory of the process
  ce      entries of the node output cache

torch's part that cannot be streamed out ("work" of a node): a node is cut into
stretches at each start and end of loading models; in each stretch it is torch's
peak of allocated bytes minus the weights that are in torch's memory at its begin or
end, whichever is more. Weights that turn out, when their load is counted, to have been
in torch's memory before are taken off the earlier stretches too; work of the same node
before they came, and smaller than they are, is not seen then. Without dynamic VRAM weights are in torch's memory and
streamed weights are copied there for the moment in which they are used: the copies
count as work, since they are needed. Under dynamic VRAM weights are in VBARs, which
torch does not know; only those that are always loaded whole are in torch's memory.
What a VBAR must hold at the moment of use is not counted. Weights that a custom node
holds by itself cannot be told from work.
"""

import os

from . import channel, hooks


def install():
    """Connects to memtrix and waits for ComfyUI's modules to be imported."""
    fd = os.environ.pop("MEMTRIX_PROBE_FD", "")
    if not fd:
        raise RuntimeError("MEMTRIX_PROBE_FD is not set")
    channel.open(int(fd))
    # They register what they want to know of.
    from . import cachehooks, commands, memoryhooks, nodehooks, readings  # noqa: F401
    hooks.watch()
    commands.listen()
