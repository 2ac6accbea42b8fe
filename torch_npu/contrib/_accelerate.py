# SPDX-License-Identifier: BSD-3-Clause
"""transfer_to_npu together with accelerate: both work, and one line says that one of them is enough."""

import importlib.abc
import importlib.machinery
import importlib.util
import sys
import warnings
from collections.abc import Sequence
from types import ModuleType


def _warn() -> None:
    warnings.warn(
        "transfer_to_npu is not needed with accelerate, which finds the NPU by itself: use one of the two", stacklevel=2
    )


class _Loader(importlib.abc.Loader):
    """The package's own loader, with the warning before the package runs. Asking whether it is installed warns of nothing."""

    def __init__(self, own: importlib.abc.Loader) -> None:
        self.own = own

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self.own.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__.loader = module.__loader__ = self.own
        _warn()
        self.own.exec_module(module)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != "accelerate":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


def warn_when_used() -> None:
    """Warns now if accelerate is imported already, else when it is."""
    if "accelerate" in sys.modules:
        _warn()
    else:
        sys.meta_path.insert(0, _Finder())
