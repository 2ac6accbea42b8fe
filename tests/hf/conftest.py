# SPDX-License-Identifier: BSD-3-Clause
"""What the tests share: offline, skipped where a library is missing, a tiny model made from a configuration."""

import os

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import pytest
import torch

for library in ("accelerate", "transformers", "peft", "safetensors"):
    pytest.importorskip(library, reason="requirements/hf.txt is not installed")


@pytest.fixture
def tiny_gpt():
    """make(): a GPT-2 of two layers with the same weights each time."""
    from transformers import GPT2Config, GPT2LMHeadModel

    def make():
        torch.manual_seed(0)
        shape = dict(vocab_size=64, n_positions=32, n_embd=32, n_layer=2, n_head=2, bos_token_id=1, eos_token_id=2)
        return GPT2LMHeadModel(GPT2Config(**shape, attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0))

    return make
