"""Files of results, and how their numbers are written: for benchmark_rows.py and tools/benchmark_tables."""
import json


class Wrong(Exception):
    """What is wrong with the page or a file, in one line."""


def commits_in(value):
    if isinstance(value, dict):
        return {v for k, v in value.items() if k == "commit"}.union(*map(commits_in, value.values()))
    return set().union(*map(commits_in, value)) if isinstance(value, list) else set()


def standing(result):
    """(the commit, None) of a result that is evidence; else (what it names, why it is to be measured again)."""
    commits = sorted(filter(None, commits_in(result)))
    if len(commits) != 1:
        return ", ".join(commits), "names no commit" if not commits else "names several commits"
    return commits[0], "of a changed tree" if commits[0].endswith("-dirty") else None


class Results(dict):
    """The files by name without .json, and which of them were asked for."""

    def __init__(self, folder):
        super().__init__({file.stem: json.loads(file.read_text()) for file in sorted(folder.glob("*.json"))})
        self.used = []

    def __missing__(self, name):
        raise Wrong(f"there is no {name}.json")

    def __getitem__(self, name):
        if name not in self.used:
            self.used.append(name)
        return super().__getitem__(name)


def g(value, digits=3):
    text = f"{value:.{digits}g}"
    return f"{float(text):.0f}" if "e+" in text else text


def exponent(value, digits=2):
    mantissa, power = f"{value:.{digits - 1}e}".split("e")
    return f"{mantissa}e{int(power)}"


def row_of(rows, **wanted):
    found = [row for row in rows if all(row.get(key) == value for key, value in wanted.items())]
    if len(found) != 1:
        raise Wrong(f"{len(found)} rows are {wanted}")
    return found[0]


def line(of, name):
    """A line of `tofstream-bench listmode`."""
    return row_of(of["listmode"]["requirements"], name=name)


def table(head, rows):
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)] + ["| " + " | ".join(row) + " |" for row in rows]


def triple(times, digits):
    return " / ".join(f"{times[k]:.{digits}f}" if k != "fused" else f"**{times[k]:.{digits}f}**"
                      for k in ("forward", "back", "fused"))
# SPDX-License-Identifier: Apache-2.0
