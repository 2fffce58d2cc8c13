"""Waits for modules to be imported and wraps functions in them."""

import functools
import inspect
import sys

from . import channel

# What became of each hook: "" for one that is in place, else why not.
state = {}
_wanted = {}  # module name -> functions to call once it has been imported


def module(name):
    """Decorator: call this with the module once it has been imported."""
    def register(then):
        _wanted.setdefault(name, []).append(then)
        return then
    return register


def watch():
    """From now on imports are watched. Modules that are there are taken at once."""
    sys.meta_path.insert(0, _Finder())
    for name in list(_wanted):
        if name in sys.modules:
            _arrived(sys.modules[name])


class _Finder:
    """Lets the other finders find, and is told when the module has run."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in _wanted:
            return None
        for finder in sys.meta_path:
            if isinstance(finder, _Finder) or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                _wait_for(spec)
                return spec
        return None


def _wait_for(spec):
    try:
        loader = spec.loader
        original = loader.exec_module

        def exec_module(module):
            original(module)
            try:
                del loader.exec_module
            except AttributeError:
                pass
            _arrived(module)

        loader.exec_module = exec_module
    except Exception as error:
        channel.fault("import " + spec.name, error)


def _arrived(module):
    for then in _wanted.pop(module.__name__, []):
        guard(module.__name__, then, module)


def pending():
    """Modules that were never imported."""
    return sorted(_wanted)


def guard(where, what, *args):
    """Calls something of ours; an exception is counted and never goes on."""
    try:
        return what(*args)
    except Exception as error:
        channel.fault(where, error)
        return None


def report(name, why=""):
    """Notes that a hook is in place, or why it is not."""
    state[name] = why


def need(owner, attribute, name):
    """A function of a module or class, or None, which is told."""
    found = getattr(owner, attribute, None)
    if found is None:
        report(name, "this version has none of that name")
    elif not callable(found):
        report(name, "is no function here")
        found = None
    return found


def wrap(owner, attribute, name, before=None, after=None):
    """Wraps a function: before(args, kwargs) gives a token, after(token, result,
    error, args) is called whatever happened. Neither can fail the call, nor see it
    twice. While the probe is off, the function is called and nothing else."""
    original = need(owner, attribute, name)
    if original is None:
        return False

    def begin(args, kwargs):
        return guard(name, before, args, kwargs) if before else None

    def end(token, result, error, args):
        if after:
            guard(name, after, token, result, error, args)

    if inspect.iscoroutinefunction(original):
        @functools.wraps(original)
        async def wrapper(*args, **kwargs):
            if not channel.on:
                return await original(*args, **kwargs)
            token = begin(args, kwargs)
            try:
                result = await original(*args, **kwargs)
            except BaseException as error:
                end(token, None, error, args)
                raise
            end(token, result, None, args)
            return result
    else:
        @functools.wraps(original)
        def wrapper(*args, **kwargs):
            if not channel.on:
                return original(*args, **kwargs)
            token = begin(args, kwargs)
            try:
                result = original(*args, **kwargs)
            except BaseException as error:
                end(token, None, error, args)
                raise
            end(token, result, None, args)
            return result

    setattr(owner, attribute, wrapper)
    report(name)
    return True


def argument(args, kwargs, position, name, default=None):
    """An argument that may have been given by place or by name."""
    if name in kwargs:
        return kwargs[name]
    return args[position] if len(args) > position else default
