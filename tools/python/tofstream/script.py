"""A user's script: loading it, finding its gadget, calling it, and saying where it went wrong."""

import importlib.util
import inspect
import os
import sys
import traceback
from typing import Any

from .convert import BadOutput
from .declare import declared


class BadScript(Exception):
    """The script has no gadget that can be called as tofstream does."""


class Script:
    def __init__(self, path):
        self.path = os.path.abspath(path)
        self.name = os.path.basename(path)
        self.where = self.name
        self._functions = {}

    @property
    def has_flush(self):
        return "flush" in self._functions

    def load(self, arguments, source):
        """Runs the script and constructs its gadget."""
        sys.path.insert(0, os.path.dirname(self.path))  # for modules beside it
        spec = importlib.util.spec_from_file_location(os.path.splitext(self.name)[0], self.path)
        if spec is None or spec.loader is None:
            raise BadScript("the script's name must end in .py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        loader: Any = spec.loader  # of Python 3.9 the types lack exec_module
        loader.exec_module(module)
        if len(declared) != 1:
            names = ", ".join(made.__name__ for made in declared)
            raise BadScript(f"has {len(declared)} gadgets ({names}): put @gadget above one" if declared else
                            "has no gadget: put @gadget above a function or class")
        self._construct(declared[0], arguments, "run" if source else "process")

    def _construct(self, made, arguments, main):
        line = inspect.getsourcelines(made)[1]
        self.where = f"{self.name}:{line}: {made.__name__}()"
        by_name = arguments if isinstance(arguments, dict) else {}
        by_place = arguments if isinstance(arguments, list) else [] if arguments is None or by_name else [arguments]
        if not inspect.isclass(made):
            self._functions = {main: _Function(made, 0 if main == "run" else 1, by_place, by_name)}
            return
        instance = made(*by_place, **by_name)
        for name, takes in (("run", 0), ("process", 1), ("flush", 0)):
            if callable(getattr(instance, name, None)):
                self._functions[name] = _Function(getattr(instance, name), takes, [], {})
        if main not in self._functions:
            raise BadScript(f"{made.__name__} has no {main}()")

    def call(self, what, given, info):
        function = self._functions[what]
        return function(info) if given is None else function(given, info)


class _Function:
    """Calls with `info` where there is room for it: a parameter of that name after the input, or one without default."""

    def __init__(self, function, takes, by_place, by_name):
        self._function, self._by_place, self._by_name = function, by_place, by_name
        named = function.__name__
        try:
            parameters = inspect.signature(function).parameters.values()
        except ValueError:  # written in C
            parameters = []
        free = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.name not in by_name]
        room = free[takes : len(free) - len(by_place)]
        wants = bool(room) and (room[0].name == "info" or room[0].default is room[0].empty)
        self._info = wants or any(p.kind == p.VAR_POSITIONAL for p in parameters)
        wanted = takes + self._info + len(by_place)
        missing = [p.name for p in free[wanted:] if p.default is p.empty]
        if len(free) < takes + len(by_place) and not self._info:
            raise BadScript(f"{named}() takes {len(free)} arguments: it is called with {'the input, ' * takes}info")
        if missing:
            raise BadScript(f"{named}() needs a value for {missing[0]}: give it under `arguments`")

    def __call__(self, *given):
        if not self._info:
            given = given[:-1]
        return self._function(*given, *self._by_place, **self._by_name)


def describe_error(error, script):
    """One line that says where and what, and the traceback without our own frames."""
    if isinstance(error, BadOutput):
        return {"text": f"{script.where} {error}", "traceback": []}
    if isinstance(error, BadScript):
        return {"text": f"{script.name}: {error}", "traceback": []}
    summary = "; ".join(_one(cause) for cause in _causes(error))
    line = _line_of(error, script.path)
    frames = error.__traceback__
    package = os.path.dirname(os.path.abspath(__file__))
    while frames and frames.tb_next and _is_ours(frames.tb_frame.f_code.co_filename, package):
        frames = frames.tb_next
    lines = "".join(traceback.format_exception(type(error), error, frames)).splitlines()
    return {"text": f"{script.name}{line}: {summary}", "traceback": lines}


def _is_ours(file, package):
    return file.startswith(package) or file.startswith("<frozen importlib")


def _one(error):
    text = " ".join(str(error.msg if isinstance(error, SyntaxError) else error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _causes(error):
    """The error and what it was raised from, the first cause last."""
    seen = []
    while error is not None and error not in seen:
        seen.append(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return seen


def _line_of(error, path):
    if isinstance(error, SyntaxError) and error.filename == path:
        return f":{error.lineno}"
    lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == path]
    return f":{lines[-1]}" if lines else ""
# SPDX-License-Identifier: Apache-2.0
