# SPDX-License-Identifier: BSD-3-Clause
"""AnyNPU's toolkit: a software CANN. This package carries the libraries and finds them; it needs no PyTorch.

python -m anynpu install-toolkit   # puts it at /usr/local/Ascend/ascend-toolkit, as the guides have it
python -m anynpu doctor            # which layer is wrong, and what to type
"""

import os
import sys

__all__ = ["__version__", "toolkit_path"]

__version__ = "0.1.0"


def toolkit_path() -> str:
    """Folder of the toolkit: what ASCEND_HOME_PATH should be.

    Raises:
        FileNotFoundError: the package is incomplete.
    """
    here = os.path.dirname(os.path.abspath(__file__))
    # The source tree (current folder, say) has no libraries and may hide the built package further down the path.
    for package in [here] + [os.path.join(entry, "anynpu") for entry in sys.path]:
        if os.path.exists(os.path.join(package, "toolkit", "lib64", "libascendcl.so")):
            return os.path.join(os.path.abspath(package), "toolkit")
    raise FileNotFoundError(
        f"the package anynpu in {here} has no toolkit/lib64/libascendcl.so; reinstall it (pip install --force-reinstall anynpu)"
    )
