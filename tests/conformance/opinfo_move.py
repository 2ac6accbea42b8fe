# SPDX-License-Identifier: BSD-3-Clause
"""Putting an OpInfo sample on a device: tensors keep strides, lazy bits, requires_grad, identity; generators get a seed."""

import random

SEED = 20260101
KEEP_CPU = {"tensor_split"}  # their index tensor has to stay on the CPU on every device


def is_dense(x):
    """non-overlapping and dense: some order of the dims is contiguous"""
    exp = 1
    for st, d in sorted((st, d) for st, d in zip(x.stride(), x.shape) if d != 1):
        if st != exp:
            return False
        exp *= d
    return True


class Mover:
    """Part of the worker; needs self.t (torch), self.dev (torch.device) and self.opn (the operator's name)."""

    def move_tensor(self, x, dev, memo):
        t = self.t
        if id(x) in memo:
            return memo[id(x)][1]
        with t.no_grad():
            s = x.detach()
            if type(s) is not t.Tensor and type(x) is not t.nn.Parameter:
                y = s.clone().to(dev)
            elif s.layout is not t.strided or s.is_nested or s.is_quantized:
                y = s.clone().to(dev)
            else:
                conj, neg = s.is_conj(), s.is_neg()
                b = s.conj() if conj else s  # drop lazy bits
                if neg:
                    b = t._neg_view(b)
                if conj and b.is_conj():
                    b = b.resolve_conj()
                dense = is_dense(b)
                if dense or b.numel() == 0:
                    y = b.clone().to(dev)  # clone preserves strides of dense tensors
                    if y.stride() != b.stride() and b.numel():
                        y = t.empty_strided(b.shape, b.stride(), dtype=b.dtype, device=dev).copy_(y)
                else:
                    n = 1 + sum((d - 1) * st for d, st in zip(b.shape, b.stride()))
                    flat = t.as_strided(b, (n,), (1,)).clone().to(dev)
                    y = t.as_strided(flat, b.shape, b.stride(), 0)
                if neg:
                    y = t._neg_view(y)
                if conj:
                    y = y.conj()
        if isinstance(x, t.nn.Parameter):
            y = t.nn.Parameter(y, requires_grad=x.requires_grad)
        elif x.requires_grad:
            y.requires_grad_(True)
        memo[id(x)] = (x, y)
        return y

    def move(self, o, dev, memo, key=None):
        t = self.t
        if isinstance(o, t.Tensor):
            return self.move_tensor(o, dev, memo)
        if isinstance(o, t.device) or (isinstance(o, str) and (key == "device" or o == "cpu")):
            return t.device(dev) if t.device(o).type == "cpu" else o
        if isinstance(o, t.Generator):
            g = t.Generator(device=dev)
            g.manual_seed(SEED)
            return g
        if isinstance(o, dict):
            return type(o)((k, self.move(v, dev, memo, k)) for k, v in o.items())
        if isinstance(o, tuple) and hasattr(o, "_fields"):
            return type(o)(*(self.move(v, dev, memo) for v in o))
        if type(o) in (list, tuple):
            return type(o)(self.move(v, dev, memo) for v in o)
        return o

    def inputs(self, s, dev):
        m = {}
        ad = "cpu" if self.opn in KEEP_CPU else dev
        return (self.move(s.input, dev, m), self.move(s.args, ad, m), self.move(s.kwargs, ad, m))

    def names_device(self, inp):
        """does anything of the sample place it on the device? (arange(5) without device= does not)"""
        t = self.t
        return any(
            (isinstance(x, t.Tensor) and x.device.type == self.dev.type) or (isinstance(x, t.device) and x.type == self.dev.type)
            for x in t.utils._pytree.tree_leaves(inp)
        )

    def seed(self):
        self.t.manual_seed(SEED)
        random.seed(SEED)
        import numpy

        numpy.random.seed(SEED % 2**32)
