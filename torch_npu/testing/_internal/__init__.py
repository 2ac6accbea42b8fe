# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch's own test cases of FSDP and DTensor, on NPUs. They import torch.testing._internal, so only tests may import them."""
