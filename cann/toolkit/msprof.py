# SPDX-License-Identifier: BSD-3-Clause
"""msprof, as tools of the toolkit find it: runs anynpu.trace.msprof of the package that this toolkit is part of."""

import os
import sys

here = os.path.dirname(os.path.realpath(__file__))
package = os.path.normpath(
    os.path.join(here, "../../../../../..")
)  # …/anynpu/toolkit/tools/profiler/profiler_tool/analysis/msprof
if os.path.exists(os.path.join(package, "trace", "msprof.py")):
    sys.path.insert(0, os.path.dirname(package))
sys.path[:] = [entry for entry in sys.path if os.path.realpath(entry or ".") != here]
try:
    from anynpu.trace.msprof import main
except ImportError as error:
    sys.exit(f"[ERROR] msprof needs the Python package anynpu and NumPy beside this toolkit: {error}")
sys.exit(main())
