"""The calls of uproot that tofstream.gate and its test make, on files of NumPy: shows our side only, no ROOT file."""

import builtins
import pickle

import numpy as np

is_stand_in = True
MAGIC = b"root"  # by which the program knows ROOT's files


class Tree:
    def __init__(self, branches):
        self._branches = branches
        self.num_entries = len(next(iter(branches.values())))

    def keys(self):
        return list(self._branches)

    def arrays(self, names, library):
        assert library == "np"
        return {name: self._branches[name] for name in names}

    def iterate(self, names, step_size, library):
        assert library == "np"
        for begin in range(0, self.num_entries, step_size):
            yield {name: self._branches[name][begin : begin + step_size] for name in names}

    def extend(self, arrays):
        assert set(arrays) == set(self._branches)
        for name, array in arrays.items():
            self._branches[name] = np.concatenate([self._branches[name], array])


class File:
    def __init__(self, path, trees):
        self._path, self._trees = path, trees

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with builtins.open(self._path, "wb") as file:
            file.write(MAGIC)
            pickle.dump({name: tree._branches for name, tree in self._trees.items()}, file)

    def __getitem__(self, name):
        return self._trees[name]

    def keys(self, cycle):
        assert cycle is False
        return list(self._trees)

    def classnames(self, cycle):
        assert cycle is False
        return {name: "TTree" for name in self._trees}

    def mktree(self, name, types):
        self._trees[name] = Tree({branch: np.empty(0, kind) for branch, kind in types.items()})


def recreate(path):
    return File(path, {})


def open(path):  # noqa: A001 (uproot calls it so)
    with builtins.open(path, "rb") as file:
        file.seek(len(MAGIC))
        return File(path, {name: Tree(branches) for name, branches in pickle.load(file).items()})
# SPDX-License-Identifier: Apache-2.0
