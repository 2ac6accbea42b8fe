# SPDX-License-Identifier: BSD-3-Clause
"""The process that runs the checks of one operator after another and writes a JSON line for each to its parent."""

import contextlib
import importlib
import json
import os
import re
import resource
import sys
import time
import traceback
import warnings
from collections import Counter

from opinfo_compare import Comparer
from opinfo_fallback import make_counter
from opinfo_move import SEED, Mover

UNINIT = re.compile(r"^(empty|empty_like|new_empty|new_empty_strided|empty_strided|empty_permuted|resize_|resize_as_)$")


class _Skip(Exception):
    pass


class _Err(Exception):
    pass


class Worker(Mover, Comparer):
    def __init__(self, args):
        self.a = args
        self.out = os.fdopen(args.worker, "w", buffering=1)
        if args.rlimit_gb:
            resource.setrlimit(resource.RLIMIT_AS, (int(args.rlimit_gb * 2**30),) * 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        import torch

        self.t = torch
        torch.set_num_threads(args.threads)
        torch.set_warn_always(True)
        for m in args.imports:
            importlib.import_module(m)
        self.ns = {"worker": self}
        self.stage = ""
        self.drew = False
        if args.setup:
            exec(compile(open(args.setup).read(), args.setup, "exec"), self.ns)
        import torch.testing._internal.common_device_type as cdt
        from torch.testing._internal.common_methods_invocations import op_db

        self.cdt = cdt
        self.db = op_db
        if "patch_op_db" in self.ns:
            self.ns["patch_op_db"](op_db)
        # OpInfos of random ops are wrapped in wrapper_set_seed, which restores the RNG: look inside it
        import torch.testing._utils as tu

        frz = tu.freeze_rng_state
        torch.manual_seed(42)
        s42 = torch.get_rng_state()

        @contextlib.contextmanager
        def freeze_rng_state():
            with frz():
                yield
                if not torch.equal(torch.get_rng_state(), s42):
                    self.drew = True

        tu.freeze_rng_state = freeze_rng_state
        self.dev = torch.device(args.device)
        self.reset, self.read = make_counter(args.fallback)

    def say(self, **k):
        self.out.write(json.dumps(k) + "\n")
        self.out.flush()

    def loop(self):
        self.say(ev="ready")
        for line in sys.stdin:
            j = json.loads(line)
            try:
                self.run_op(j["i"], j["dtypes"], {tuple(s) for s in j["skip"]})
            except Exception:
                self.say(ev="result", dtype="-", check="harness", status="error", detail=traceback.format_exc()[-600:])
            self.say(ev="done")

    # ---- one op
    def samples(self, op, dt, grad):
        self.seed()
        n = self.a.max_samples
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with self.t.enable_grad():
                it = iter(op.sample_inputs("cpu", dt, requires_grad=grad))
                pool, end = [], time.time() + self.a.timeout / 4
                for s in it:
                    pool.append(s)
                    if len(pool) >= (n * 12 if n else 10**9) or time.time() > end:
                        break
        if n and len(pool) > n:  # spread over the pool rather than the n first (often near-duplicates)
            pool = [pool[round(k * (len(pool) - 1) / max(1, n - 1))] for k in range(n)]
        return pool

    def has_kernel(self, op):
        """Whether one of the operator's overloads is registered for the device itself (else it is composite or falls back)."""
        key = "PrivateUse1" if self.dev.type == self.t._C._get_privateuse1_backend_name() else self.dev.type.upper()
        packet = getattr(self.t.ops.aten, op.aten_name or op.name, None)
        if packet is None:
            return False
        overloads = ("aten::" + packet.__name__ + ("" if v == "default" else "." + v) for v in packet.overloads())
        known = (name for name in overloads if self.t._C._dispatch_has_kernel(name))  # the others are TorchScript's alone
        return any(self.t._C._dispatch_has_kernel_for_dispatch_key(name, key) for name in known)

    def run_op(self, i, dtypes, skip):
        t, op = self.t, self.db[i]
        self.opn = op.name
        kernel = self.has_kernel(op)
        sup = op.supported_dtypes("cpu")
        for dn in dtypes:
            dt = getattr(t, dn)
            if dt not in sup:
                continue
            want = [c for c in self.a.checks if (dn, c) not in skip]
            if (dn, "samples") in skip or not want:
                continue
            can_grad = dn in self.a.grad_dtypes and op.supports_autograd and dt in op.supported_backward_dtypes("cpu")
            self.say(ev="begin", dtype=dn, check="samples")
            try:
                pool = self.samples(op, dt, can_grad and "backward" in want)
            except Exception as e:
                self.say(ev="result", dtype=dn, check="samples", status="skip", detail="sample_inputs: " + repr(e)[:200])
                continue
            for c in want:
                if c == "backward" and not can_grad:
                    continue
                if c == "out" and not op.supports_out:
                    continue
                if c == "inplace" and not op.inplace_variant:
                    continue
                self.say(ev="begin", dtype=dn, check=c)
                t0 = time.time()
                r = self.run_check(op, dt, c, pool)
                self.say(ev="result", dtype=dn, check=c, kernel=kernel, secs=round(time.time() - t0, 3), **r)

    def run_check(self, op, dt, c, pool):
        f = getattr(self, "ck_" + c)
        self.tight, self.note, self.want_device = True, "", True
        self.fb = Counter()
        self.fb_known = False
        n = {"ok": 0, "wrong": 0, "error": 0, "skip": 0, "random": 0}
        detail, why = "", ""
        for s in pool:
            self.rand = False
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    st, msg = f(op, dt, s)
            except Exception as e:  # device-side trouble outside the op itself (moving, reading back)
                st, msg = "error", f"{self.stage}: {type(e).__name__}: {str(e)[:300]}"
            n[st] += 1
            n["random"] += self.rand
            if st in ("wrong", "error") and (not detail or st == "wrong" and not n["wrong"] > 1):
                detail = msg
            if st == "skip":
                why = msg
        st = "wrong" if n["wrong"] else "error" if n["error"] else "ok" if n["ok"] else "skip"
        r = dict(status=st, n=n, detail=detail or (why if st == "skip" else ""))
        if st == "ok":
            r["tight"] = self.tight
            if self.note:
                r["note"] = self.note
        if not pool:
            r["detail"] = "no samples"
        if self.fb_known:
            r["fallbacks"] = dict(self.fb)
        return r

    @contextlib.contextmanager
    def counting(self):
        self.reset()
        try:
            yield
        finally:
            v = self.read()
            if v is not None:
                self.fb_known = True
                self.fb.update(v)

    def refrun(self, op, fn, s, grad=False):
        t = self.t
        self.stage = "harness"
        i, a, k = self.inputs(s, "cpu")  # trouble here is an error, never a skip
        try:
            self.stage = "cpu"
            self.seed()
            g0 = t.get_rng_state()
            self.drew = False
            with t.enable_grad() if grad else t.no_grad():
                o = fn(i, *a, **k)
            self.rand = self.drew or not t.equal(g0, t.get_rng_state()) or bool(UNINIT.match(op.name))
            return o, (i, a, k)
        except Exception as e:
            raise _Skip(f"cpu: {type(e).__name__}: {str(e)[:160]}") from None

    def devrun(self, fn, s, grad=False):
        """-> (output, inputs); raises _Err with the device's exception."""
        t = self.t
        try:
            self.stage = "to_device"
            i, a, k = self.inputs(s, self.dev)
            if not self.names_device((i, a, k)):
                raise _Skip("sample names no device")
            self.seed()
            self.stage = "op"
            with self.counting(), t.enable_grad() if grad else t.no_grad():
                o = fn(i, *a, **k)
            self.stage = "read_back"
            return o, (i, a, k)
        except _Skip:
            raise
        except Exception as e:
            raise _Err(f"{self.stage}: {type(e).__name__}: {str(e).strip()[:300]}") from None

    def ck_forward(self, op, dt, s, fn=None, dev_s=None):
        fn = fn or op.get_op()
        try:
            ro, _ = self.refrun(op, fn, s)
            do, _ = self.devrun(fn, dev_s or s)
        except _Skip as e:
            return "skip", str(e)
        except _Err as e:
            return "error", str(e)
        post = s.output_process_fn_grad
        if self.processed(s):
            self.want_device = False
            do, ro = post(self.to_cpu(do)), post(ro)
        m = self.verdict(op, s, do, ro, dt, self.rand, fn)
        return ("ok", "") if m is None else ("wrong", m)

    def processed(self, s):
        """a real post-processing, not SampleInput's default identity"""
        f = s.output_process_fn_grad
        return f is not None and getattr(f, "__module__", "") != "torch.testing._internal.opinfo.core"

    def ck_noncontig(self, op, dt, s):
        try:
            ns = s.noncontiguous()
        except Exception as e:
            return "skip", f"noncontiguous: {e!r}"[:160]
        fn = op.get_op()
        try:
            self.refrun(op, fn, ns)
        except _Skip as e:
            return "skip", str(e)
        return self.ck_forward(op, dt, ns)

    def ck_backward(self, op, dt, s):
        t, fn = self.t, op.get_op()

        def grads(runner):
            o, (i, a, k) = runner()
            ins = [x for x in self.leaves((i, a, k)) if isinstance(x, t.Tensor) and x.requires_grad]
            if s.output_process_fn_grad is not None:
                o = s.output_process_fn_grad(o)
            outs = [x for x in self.leaves(o) if isinstance(x, t.Tensor) and x.requires_grad]
            if not ins or not outs:
                raise _Skip("nothing to differentiate")
            cot = []
            for q, x in enumerate(outs):
                g = t.Generator().manual_seed(SEED + q)
                v = t.randn(x.shape, dtype=x.dtype, generator=g) if x.layout is t.strided else None
                if v is None:
                    raise _Skip("sparse output")
                cot.append(v.to(x.device))
            return outs, ins, cot

        try:
            outs, ins, cot = grads(lambda: self.refrun(op, fn, s, True))
            try:
                rnd = self.rand
                g0 = t.get_rng_state()
                rg = t.autograd.grad(outs, ins, cot, allow_unused=True)
                rnd = rnd or not t.equal(g0, t.get_rng_state())
            except Exception as e:
                raise _Skip(f"cpu backward: {str(e)[:160]}") from None
            self.rand = rnd
            outs, ins, cot = grads(lambda: self.devrun(fn, s, True))
            self.stage = "backward"
            try:
                with self.counting():
                    dg = t.autograd.grad(outs, ins, cot, allow_unused=True)
            except Exception as e:
                raise _Err(f"backward: {type(e).__name__}: {str(e).strip()[:300]}") from None
        except _Skip as e:
            return "skip", str(e)
        except _Err as e:
            return "error", str(e)
        for k, (d, r) in enumerate(zip(dg, rg)):
            if (d is None) != (r is None):
                return "wrong", f"grad[{k}]: {'missing' if d is None else 'unexpected'}"
            if d is None:
                continue
            m = self.compare(op, d, r, dt, self.rand, f"grad{k}")
            if m:
                return "wrong", m
        return "ok", ""

    def ck_inplace(self, op, dt, s):
        if s.broadcasts_input:
            return "skip", "sample broadcasts its input"
        v = op.inplace_variant

        def fn(i, *a, **k):
            i = i.detach() if isinstance(i, self.t.Tensor) else i
            o = v(i, *a, **k)
            return o, i

        try:
            ro, _ = self.refrun(op, fn, s)
            do, _ = self.devrun(fn, s)
        except _Skip as e:
            return "skip", str(e)
        except _Err as e:
            return "error", str(e)
        m = self.verdict(op, s, do, ro, dt, self.rand, fn)
        return ("ok", "") if m is None else ("wrong", m)

    def ck_out(self, op, dt, s):
        t, base = self.t, op.get_op()
        try:
            exp, _ = self.refrun(op, base, s)
        except _Skip as e:
            return "skip", str(e)
        rnd = self.rand
        single = isinstance(exp, t.Tensor)
        if not single and not (isinstance(exp, (tuple, list)) and exp and all(isinstance(x, t.Tensor) for x in exp)):
            return "skip", "no tensor result"

        def fn(i, *a, **k):
            dev = self.where

            def mk(x):
                if x.layout is not t.strided:
                    return t.empty(x.shape, dtype=x.dtype, layout=x.layout, device=dev)
                v = t.full(x.shape, float("nan") if (x.is_floating_point() or x.is_complex()) else 1, dtype=x.dtype)
                return v.to(dev)

            if not single and isinstance(exp, list):
                o = [mk(x) for x in exp]
            else:
                o = mk(exp) if single else tuple(mk(x) for x in exp)
            r = base(i, *a, **k, out=o)
            return (o, r) if single else (list(o), list(r))

        try:
            self.where = "cpu"
            ro, _ = self.refrun(op, fn, s)
            self.where = self.dev
            do, _ = self.devrun(fn, s)
        except _Skip as e:
            return "skip", str(e)
        except _Err as e:
            return "error", str(e)
        self.rand = self.rand or rnd
        post = s.output_process_fn_grad
        if self.processed(s):
            self.want_device = False
            do = self.to_cpu(do)
            w = (lambda z: z) if single else (lambda z: type(exp)(z) if hasattr(exp, "_fields") else type(exp)(z))
            do, ro = [post(w(z)) for z in do], [post(w(z)) for z in ro]
        self.where = "cpu"
        m = self.verdict(op, s, do, ro, dt, self.rand, None if self.processed(s) else fn)
        return ("ok", "") if m is None else ("wrong", m)
