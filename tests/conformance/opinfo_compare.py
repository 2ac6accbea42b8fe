# SPDX-License-Identifier: BSD-3-Clause
"""Comparing what a device computed with what the CPU did."""

import re

LOOSE = {
    "float64": (1e-7, 1e-7),
    "complex128": (1e-7, 1e-7),
    "float32": (1e-3, 1e-3),
    "complex64": (1e-3, 1e-3),
    "float16": (5e-3, 5e-3),
    "bfloat16": (3e-2, 3e-2),
    "complex32": (5e-3, 5e-3),
}
AUX_FP32 = re.compile(
    r"native_(layer|batch|group)_norm|batch_norm_with_update"
)  # half input: mean/rstd in fp32 is as good (CUDA does it)


class Comparer:
    """Part of the worker; needs self.t (torch), self.cdt, self.dev, self.want_device and Mover's inputs and seed."""

    def tol(self, op, dt):
        from torch.testing._comparison import default_tolerances

        r, a = default_tolerances(dt) if (dt.is_floating_point or dt.is_complex) else (0, 0)
        for d in op.decorators or ():
            if getattr(d, "cls_name", None) not in (
                None,
                "TestCommon",
                "TestUnaryUfuncs",
                "TestBinaryUfuncs",
                "TestReductions",
                "TestMathBits",
                "TestConsistency",
            ):
                continue
            if getattr(d, "device_type", None) not in (None, "cpu", self.dev.type):
                continue
            for dd in getattr(d, "decorators", None) or [d]:
                if isinstance(dd, self.cdt.toleranceOverride) and dt in dd.d:
                    a, r = max(a, dd.d[dt].atol), max(r, dd.d[dt].rtol)
        return r, a

    def leaves(self, o):
        return [x for x in self.t.utils._pytree.tree_leaves(o)]

    def to_cpu(self, o):
        t = self.t
        return t.utils._pytree.tree_map(lambda x: x.detach().cpu() if isinstance(x, t.Tensor) else x, o)

    def compare(self, op, dev_o, ref_o, dt, shape_only, path="result"):
        """None if equal, else ('wrong', text); sets self.tight False when only the loose tolerance was met."""
        t = self.t
        dl, rl = self.leaves(dev_o), self.leaves(ref_o)
        if len(dl) != len(rl):
            return f"{path}: {len(dl)} outputs, {len(rl)} expected"
        for k, (d, r) in enumerate(zip(dl, rl)):
            p = f"{path}[{k}]"
            if not isinstance(r, t.Tensor):
                if isinstance(d, t.Tensor):
                    return f"{p}: tensor, {type(r).__name__} expected"
                if isinstance(r, (bool, int, float, complex)) and not shape_only:
                    try:
                        t.testing.assert_close(d, r, rtol=1e-3, atol=1e-3, equal_nan=True)
                    except AssertionError as e:
                        return f"{p}: {str(e)[:200]}"
                elif isinstance(r, t.device):
                    pass
                elif not isinstance(r, (bool, int, float, complex)) and type(d) is not type(r):
                    return f"{p}: {type(d)} vs {type(r)}"
                continue
            if not isinstance(d, t.Tensor):
                return f"{p}: {type(d).__name__} instead of a tensor"
            if d.device.type != self.dev.type and r.dim() > 0 and self.dev.type != "cpu" and self.want_device:
                return f"{p}: result on {d.device}"
            if k and d.dtype == t.float32 and r.dtype in (t.float16, t.bfloat16) and AUX_FP32.search(op.name):
                d = d.to(r.dtype)
            if d.dtype != r.dtype:
                return f"{p}: dtype {d.dtype}, expected {r.dtype}"
            if d.layout != r.layout:
                return f"{p}: layout {d.layout}, expected {r.layout}"
            if not d.is_nested and d.shape != r.shape:
                return f"{p}: shape {tuple(d.shape)}, expected {tuple(r.shape)}"
            if shape_only:
                continue
            dc, rc = d.detach().cpu(), r.detach()
            if dc.is_conj() or dc.is_neg():
                dc = dc.resolve_conj().resolve_neg()
            rr, aa = self.tol(op, rc.dtype)
            kw = dict(equal_nan=True, check_stride=False, check_device=False)
            try:
                t.testing.assert_close(dc, rc, rtol=rr, atol=aa, **kw)
            except AssertionError:
                lr, la = LOOSE.get(str(rc.dtype).split(".")[1], (0, 0))
                lr, la = max(lr, rr), max(la, aa)
                try:
                    t.testing.assert_close(dc, rc, rtol=lr, atol=la, **kw)
                    self.tight = False
                except AssertionError as e:
                    return f"{p}: " + re.sub(r"\s*\n\s*", " ", str(e))[:220]
        return None

    def tie_ok(self, op, s, dev_o, ref_o):
        """Index outputs may differ where values tie: check that the indices point at the right values."""
        t, n = self.t, op.name
        x = s.input
        a = list(s.args)
        kw = s.kwargs
        try:
            dl, rl = [v.cpu() for v in self.leaves(dev_o)], self.leaves(ref_o)
            if n in ("argmax", "argmin", "argsort"):
                dim = kw.get("dim", a[0] if a and not isinstance(a[0], bool) else (-1 if n == "argsort" else None))
                d, r = dl[0], rl[0]
                if dim is None:
                    return bool(t.equal(x.reshape(-1)[d], x.reshape(-1)[r]))
                if x.dim() == 0:
                    return False
                if d.dim() < x.dim():
                    d, r = d.unsqueeze(dim), r.unsqueeze(dim)
                if n == "argsort" and not all(len(q.unique()) == q.numel() for q in d.movedim(dim, -1).reshape(-1, d.shape[dim])):
                    return False
                return bool(t.equal(x.gather(dim, d), x.gather(dim, r)))
            if (
                n in ("sort", "msort", "topk", "kthvalue", "median", "nanmedian", "mode", "max", "min", "cummax", "cummin")
                and len(rl) == 2
            ):
                if kw.get("stable"):
                    return False
                if not t.allclose(dl[0].double(), rl[0].double(), equal_nan=True, rtol=1e-5):
                    return False
                pos = {"topk": 1, "kthvalue": 1}.get(n, 0)
                dim = kw.get("dim", a[pos] if len(a) > pos else -1)
                d = dl[1]
                if d.dim() < x.dim():
                    d = d.unsqueeze(dim)
                return bool(t.allclose(x.gather(dim, d).reshape(rl[0].shape).double(), rl[0].double(), equal_nan=True))
        except Exception:
            pass
        return False

    def upcast(self, o):
        t = self.t
        low = (t.float16, t.bfloat16)

        def f(x):
            if isinstance(x, t.Tensor) and x.dtype in low:
                return x.detach().float()
            return t.float32 if x in low else x

        return t.utils._pytree.tree_map(f, o, is_leaf=lambda z: isinstance(z, t.dtype))

    def verdict(self, op, s, dev_o, ref_o, dt, shape_only, fn=None):
        """compare, with the two allowances: ties, and (half types) an fp32 reference instead of the CPU's own rounding."""
        t = self.t
        msg = self.compare(op, dev_o, ref_o, dt, shape_only)
        if msg is None:
            return None
        if self.tie_ok(op, s, dev_o, ref_o):
            self.note = "ties"
            return None
        if dt in (t.float16, t.bfloat16) and fn is not None and "shape" not in msg and "dtype" not in msg:
            try:
                i, a, k = self.upcast(self.inputs(s, "cpu"))
                self.seed()
                hi = fn(i, *a, **k)
                hi = t.utils._pytree.tree_map(lambda h, r: h.to(r.dtype) if isinstance(h, t.Tensor) else h, hi, ref_o)
                if self.compare(op, dev_o, hi, dt, shape_only) is None:
                    self.note = "fp32-reference"
                    self.tight = False
                    return None
            except Exception:
                pass
        return msg
