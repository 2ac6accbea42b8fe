# SPDX-License-Identifier: BSD-3-Clause
"""Finds the CANN, checks its version and opens it.

Order: ASCEND_HOME_PATH (what set_env.sh exports; ASCEND_TOOLKIT_HOME means the same), the loader's own path
(LD_LIBRARY_PATH, ld.so.conf), the toolkit of the installed package `anynpu`. ASCEND_HOME_PATH that leads nowhere is an
error, not a reason to look further: somebody who set it wants that CANN.

The look-up goes through ctypes, before libtorch_npu.so is loaded, so that without a CANN nothing is registered with PyTorch.
"""

import ctypes
import os

from . import _checks, _variables
from .utils._error_code import ErrCode, pta_error

LIBRARY = "libascendcl.so"


def places() -> list[tuple[str, str]]:
    """Where to look, in order: (what it is, folder of the libraries; "" for the loader's path)."""
    home = _variables.text("ASCEND_HOME_PATH") or _variables.text("ASCEND_TOOLKIT_HOME")
    if home:
        return [(f"ASCEND_HOME_PATH={home}", os.path.join(home, "lib64"))]
    return [("the loader's path (LD_LIBRARY_PATH)", ""), _package()]


def _package() -> tuple[str, str]:
    """The toolkit of the installed package `anynpu`, as one of places()."""
    try:
        import anynpu

        toolkit = anynpu.toolkit_path()
    except (ImportError, FileNotFoundError) as error:
        return f"the package anynpu ({error})", os.devnull
    return f"the installed package anynpu ({toolkit})", os.path.join(toolkit, "lib64")


def version(library: ctypes.CDLL) -> str:
    """What aclsysGetCANNVersion answers, as "9.1.0"; "" if this CANN does not have it."""
    if not hasattr(library, "aclsysGetCANNVersion"):
        return ""
    answer = ctypes.create_string_buffer(4096)  # aclCANNPackageVersion, whose first field is the text
    failed = library.aclsysGetCANNVersion(0, answer)
    return "" if failed else answer.value.decode(errors="replace")


def find() -> str:
    """The folder to open the CANN from ("" = the loader's path), after checking that it opens and that its version fits.

    Raises:
        ImportError: names every place that was searched and what to do; or both versions and the right pair.
    """
    searched = []
    for what, folder in places():
        try:
            library = ctypes.CDLL(os.path.join(folder, LIBRARY))
        except OSError as error:
            searched.append(f"{what}: {error}")
            continue
        _checks.cann_fits(version(library), what)
        return folder
    if "ASCEND_HOME_PATH" in searched[0]:
        advice = "Correct ASCEND_HOME_PATH, or unset it to use the software NPU of the package anynpu"
    else:
        advice = (
            "Please check that the cann package is installed. Please run 'source set_env.sh' in the CANN installation path, "
            "or pip install anynpu for the software NPU"
        )
    raise ImportError(
        f"{LIBRARY}: cannot open shared object file. Searched:\n  "
        + "\n  ".join(searched)
        + f"\n{advice}."
        + pta_error(ErrCode.NOT_FOUND)
    )
