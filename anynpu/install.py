# SPDX-License-Identifier: BSD-3-Clause
"""`anynpu install-toolkit`: the toolkit at the guides' place, so that their first command works as they type it.

    source /usr/local/Ascend/ascend-toolkit/set_env.sh

Below the prefix: ascend-toolkit/set_env.sh, ascend-toolkit/latest → ascend-toolkit/<version>, and that → the toolkit of
this package (or a copy of it). What is not ours is never replaced unless told to.
"""

import os
import shutil
import sys

from . import toolkit_path

MARK = ".anynpu"


def _ours(folder: str) -> bool:
    return os.path.exists(os.path.join(folder, MARK)) or not os.path.lexists(folder) or not os.listdir(folder)


def toolkit_version(toolkit: str) -> str:
    """The CANN version that the toolkit answers, from its version.cfg; "latest" if it has none."""
    try:
        with open(os.path.join(toolkit, "version.cfg"), encoding="utf-8") as file:
            for line in file:
                name, _, value = line.strip().partition("=")
                if name.endswith("running_version") and ":" in value:
                    return value.strip("[]").rpartition(":")[2]
    except OSError:
        pass
    return "anynpu"


def _link(target: str, name: str) -> None:
    if os.path.islink(name) or os.path.isfile(name):
        os.unlink(name)
    elif os.path.isdir(name):
        shutil.rmtree(name)
    os.symlink(target, name)


def install_toolkit(prefix: str, copy: bool = False, force: bool = False) -> int:
    """Installs below `prefix`/ascend-toolkit; returns the exit status and says on stderr why it failed."""
    source = toolkit_path()
    base = os.path.join(os.path.abspath(prefix), "ascend-toolkit")
    try:
        if not force and not _ours(base):
            print(f"anynpu: {base} holds another CANN; --force replaces it, --prefix DIR installs elsewhere", file=sys.stderr)
            return 1
        os.makedirs(base, exist_ok=True)
        with open(os.path.join(base, MARK), "w", encoding="utf-8") as file:
            file.write("installed by `anynpu install-toolkit`\n")
        version = toolkit_version(source)
        place = os.path.join(base, version)
        if copy:
            _link(source, place)  # clears what was there
            os.unlink(place)
            shutil.copytree(source, place, symlinks=True)
        else:
            _link(source, place)
        _link(version, os.path.join(base, "latest"))
        _link(os.path.join("latest", "set_env.sh"), os.path.join(base, "set_env.sh"))
    except OSError as error:
        advice = f"sudo {sys.executable} -m anynpu install-toolkit, or --prefix DIR"
        print(f"anynpu: {error.strerror}: {error.filename}. Try: {advice}", file=sys.stderr)
        return 1
    print(f"installed at {base}\nnow: source {base}/set_env.sh")
    return 0
