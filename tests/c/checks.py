"""What the scripts here share."""


def refused(kind, said, function, *given, **named):
    """The call raises this kind of exception, with these words in one line."""
    try:
        function(*given, **named)
    except kind as error:
        assert said in str(error), str(error)
        assert "\n" not in str(error), str(error)
    else:
        raise AssertionError(f"no {kind.__name__} that says '{said}'")
# SPDX-License-Identifier: Apache-2.0
