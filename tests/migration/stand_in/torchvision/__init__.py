# SPDX-License-Identifier: BSD-3-Clause
"""In the place of torchvision: the few names that the migrated scripts use (see tests/migration/README.md)."""

from . import datasets, models, transforms, utils

__all__ = ["datasets", "models", "transforms", "utils"]
