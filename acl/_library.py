# SPDX-License-Identifier: BSD-3-Clause
"""libascendcl.so through ctypes: opened at the first call, from ASCEND_HOME_PATH or the toolkit of the package anynpu."""

import ctypes
import functools
import os


@functools.cache
def library() -> ctypes.CDLL:
    """The library.

    Raises:
        OSError: it cannot be opened; the text says from where.
    """
    home = os.environ.get("ASCEND_HOME_PATH")
    if not home:
        import anynpu

        home = anynpu.toolkit_path()
    return ctypes.CDLL(os.path.join(home, "lib64", "libascendcl.so"))


def call(name: str, *arguments: object) -> int:
    """Calls a function that returns a status. Integers go as 64-bit values: pass ctypes objects for anything else."""
    converted = [ctypes.c_uint64(a & 0xFFFFFFFFFFFFFFFF) if isinstance(a, int) else a for a in arguments]
    return getattr(library(), name)(*converted)


def text(name: str) -> str:
    """Calls a function without parameters that returns a C string."""
    function = getattr(library(), name)
    function.restype = ctypes.c_char_p
    return (function() or b"").decode(errors="replace")


def handle(name: str, *arguments: object) -> tuple[int, int]:
    """Calls a function whose first parameter receives a handle or address: (it, status)."""
    made = ctypes.c_void_p()
    status = call(name, ctypes.byref(made), *arguments)
    return made.value or 0, status


def number(name: str, *arguments: object, before: int = 0, kind: type = ctypes.c_int32) -> tuple:
    """Calls a function one of whose parameters receives a number: (it, status); `before` parameters come first."""
    found = kind()
    status = call(name, *arguments[:before], ctypes.byref(found), *arguments[before:])
    return found.value, status
