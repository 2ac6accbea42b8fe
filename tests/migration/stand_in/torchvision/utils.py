# SPDX-License-Identifier: BSD-3-Clause
"""Writing a batch of images as one picture."""

import torch
from PIL import Image


def save_image(batch: torch.Tensor, path: str, nrow: int = 8, normalize: bool = False, **options: object) -> None:
    """Images (N, C, H, W) in rows of `nrow`, one grey or colour picture."""
    images = batch.detach().cpu().float()
    if normalize:
        images = (images - images.min()) / (images.max() - images.min()).clamp(min=1e-5)
    rows = [torch.cat(list(images[i : i + nrow]), 2) for i in range(0, len(images) - len(images) % nrow, nrow)]
    values = (torch.cat(rows, 1).clamp(0, 1) * 255).to(torch.uint8).numpy()
    Image.fromarray(values[0] if len(values) == 1 else values.transpose(1, 2, 0)).save(path)
