# SPDX-License-Identifier: BSD-3-Clause
"""Cross entropy with smoothed labels (Szegedy et al., 2016)."""

import torch
from torch import Tensor

__all__: list[str] = []


class LabelSmoothingCrossEntropy(torch.nn.Module):
    """The right class counts 1 − smooth_factor, the others share smooth_factor.

    Args:
        num_classes: classes.
        smooth_factor: from 0 to 1.
    """

    def __init__(self, num_classes: int = 1000, smooth_factor: float = 0.0) -> None:
        super().__init__()
        self.on_value = 1.0 - smooth_factor
        self.off_value = smooth_factor / (num_classes - 1)

    def forward(self, pred: Tensor, target: Tensor) -> Tensor:
        """pred: (batch, classes), target: (batch,) of classes → the mean, float32."""
        share = torch.full_like(pred, self.off_value)
        share.scatter_(1, target.long()[:, None], self.on_value)
        return -(share * pred.log_softmax(1)).sum(1).mean(dtype=torch.float32)
