"""The decorator that makes a function or class of a script its gadget."""

from typing import Any, List, TypeVar

Declared = TypeVar("Declared")
declared: List[Any] = []


def gadget(function_or_class: Declared) -> Declared:
    """Marks the gadget of a script: a function, or a class with `process` and, where it wants it, `flush`.

    What it decorates stays what it is, so a test calls it directly.
    """
    declared.append(function_or_class)
    return function_or_class
# SPDX-License-Identifier: Apache-2.0
