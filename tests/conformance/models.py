# SPDX-License-Identifier: BSD-3-Clause
"""Model-level conformance: small networks trained 5 steps on a device and on the CPU from the same seed and weights;
losses, final weights and outputs must agree.

  python models.py --device npu --import torch_npu --out models_npu.json
  python models.py --list ; --cases REGEX ; --jobs 2 ; --timeout 120

Each case is a function of a device, run twice in a worker process (CPU first); it returns named tensors/numbers.
Status: ok | wrong | error | crash | timeout | skip (the CPU run itself is impossible here).
"""

import argparse
import contextlib
import importlib
import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings

import models_framework  # noqa: F401  each adds its cases
import models_layers  # noqa: F401
import models_networks  # noqa: F401
import models_training  # noqa: F401
import torch
from models_common import CASES, OPTIONS, Skip


def flat(v):
    if isinstance(v, torch.Tensor):
        return v.detach().to("cpu").resolve_conj()
    return torch.tensor(v, dtype=torch.float64)


def run_case(name, dev):
    fn, rtol, atol = CASES[name]
    t0 = time.time()
    try:
        torch.manual_seed(0)
        ref = {k: flat(v) for k, v in fn("cpu").items()}
    except Skip as e:
        return dict(status="skip", detail=str(e))
    except Exception as e:
        return dict(status="skip", detail=f"CPU run: {type(e).__name__}: {str(e)[:300]}")
    t1 = time.time()
    try:
        torch.manual_seed(0)
        got = {k: flat(v) for k, v in fn(dev).items()}
    except AssertionError as e:
        return dict(status="wrong", detail=f"assert: {str(e)[:300]}", secs=round(time.time() - t0, 2))
    except Exception as e:
        return dict(
            status="error",
            detail=f"{type(e).__name__}: {str(e).strip()[:400]}",
            where=traceback.format_exc().strip().splitlines()[-3:][0].strip()[:160],
            secs=round(time.time() - t0, 2),
        )
    r = dict(cpu_secs=round(t1 - t0, 2), dev_secs=round(time.time() - t1, 2), secs=round(time.time() - t0, 2), compared=len(ref))
    if set(ref) != set(got):
        return dict(status="wrong", detail=f"keys differ: {sorted(set(ref) ^ set(got))[:5]}", **r)
    worst = (0.0, "")
    for k in ref:
        a, b = got[k], ref[k]
        if a.shape != b.shape or a.dtype != b.dtype:
            return dict(status="wrong", detail=f"{k}: {a.dtype}{tuple(a.shape)} vs {b.dtype}{tuple(b.shape)}", **r)
        if a.is_sparse:
            a, b = a.to_dense(), b.to_dense()
        if not a.numel():
            continue
        c = a.is_complex()
        a, b = (torch.view_as_real(a), torch.view_as_real(b)) if c else (a.double(), b.double())
        d = (a - b).abs()
        d[(a == b) | (a.isnan() & b.isnan())] = 0
        ex = (d / (atol + rtol * b.abs())).nan_to_num(nan=float("inf")).max().item()
        if ex > worst[0]:
            worst = (ex, f"{k}: max abs diff {d.max().item():.3g}")
    r["worst"] = round(worst[0], 4)  # share of the tolerance used; > 1 fails
    return dict(status="ok" if worst[0] <= 1 else "wrong", detail=worst[1] if worst[0] > 1 else "", **r)


def worker(a):
    out = os.fdopen(a.worker, "w", buffering=1)
    torch.set_num_threads(a.threads)
    warnings.simplefilter("ignore")
    for m in a.imports:
        importlib.import_module(m)
    if a.setup:
        exec(compile(open(a.setup).read(), a.setup, "exec"), {})
    fb = None
    if a.fallback:
        mod, _, f = a.fallback.partition(":")
        fb = importlib.import_module(mod)
        for q in f.split("."):
            fb = getattr(fb, q)
    for line in sys.stdin:
        n = line.strip()
        v0 = fb() if fb else None
        r = run_case(n, a.device)
        if fb:
            v1 = fb()
            r["fallbacks"] = (
                {k: v - v0.get(k, 0) for k, v in v1.items() if v != v0.get(k, 0)} if isinstance(v1, dict) else int(v1) - int(v0)
            )
        out.write(json.dumps(dict(r, name=n)) + "\n")
        out.flush()


def show(name, out):
    """One line for a finished case."""
    fallbacks = out.get("fallbacks")
    fell = "" if fallbacks is None else f"fallbacks {sum(fallbacks.values()) if isinstance(fallbacks, dict) else fallbacks} "
    worst = f"tol {out['worst']:.3f} " if "worst" in out else ""
    print(f"{out['status']:7} {name:34} {out.get('secs', 0):6.1f} s  {worst}{fell}{out.get('detail', '')[:140]!r}", flush=True)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--device", default="cpu")
    ap.add_argument("--cases", default="", help="regex")
    ap.add_argument("--import", dest="imports", action="append", default=[])
    ap.add_argument("--setup", default="")
    ap.add_argument("--fallback", default="", help="module:function giving an int or a dict of CPU fallbacks")
    ap.add_argument("--ddp-backend", default="")
    ap.add_argument("--jobs", type=int, default=2)
    ap.add_argument("--threads", type=int, default=1)
    ap.add_argument("--timeout", type=float, default=180, help="seconds a case (CPU and device run together)")
    ap.add_argument("--out", default="models.json")
    ap.add_argument("--list", action="store_true")
    ap.add_argument("--worker", type=int, default=-1, help=argparse.SUPPRESS)
    a = ap.parse_args()
    vars(OPTIONS).update(vars(a))
    if a.worker >= 0:
        return worker(a)
    todo = [n for n in CASES if re.search(a.cases, n)]
    if a.list:
        return print("\n".join(todo))
    t0 = time.time()
    queue, lock, res = list(todo), threading.Lock(), {}
    argv = ["--device", a.device, "--threads", str(a.threads)] + [x for m in a.imports for x in ("--import", m)]
    for k in ("setup", "fallback", "ddp_backend"):
        if getattr(a, k):
            argv += ["--" + k.replace("_", "-"), getattr(a, k)]
    env = dict(
        os.environ,
        OMP_NUM_THREADS=str(a.threads),
        PYTHONPATH=os.pathsep.join(filter(None, [os.path.dirname(os.path.abspath(__file__)), os.environ.get("PYTHONPATH", "")])),
    )

    def drive(k):
        p = r = None
        log = tempfile.TemporaryFile()
        while True:
            with lock:
                if not queue:
                    break
                n = queue.pop(0)
            if p is None:
                r, w = os.pipe()
                p = subprocess.Popen(
                    [sys.executable, os.path.abspath(__file__), "--worker", str(w)] + argv,
                    stdin=subprocess.PIPE,
                    stdout=log,
                    stderr=log,
                    pass_fds=[w],
                    env=env,
                    start_new_session=True,
                )
                os.close(w)
                buf = b""
            p.stdin.write(n.encode() + b"\n")
            p.stdin.flush()
            end, out = time.time() + a.timeout, None
            while b"\n" not in buf:
                if not select.select([r], [], [], max(0, end - time.time()))[0]:
                    out = dict(status="timeout", detail=f"over {a.timeout:g} s")
                    break
                d = os.read(r, 1 << 16)
                if not d:
                    rc = p.wait()
                    log.seek(max(0, log.seek(0, 2) - 500))
                    out = dict(
                        status="crash",
                        detail=(f"exit {rc}" if rc >= 0 else signal.Signals(-rc).name)
                        + ": "
                        + log.read().decode(errors="replace")[-300:].strip(),
                    )
                    break
                buf += d
            if out is None:
                line, buf = buf.split(b"\n", 1)
                out = json.loads(line)
            else:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(p.pid, signal.SIGKILL)
                p.wait()
                os.close(r)
                p = None
            out["name"] = n
            res[n] = out
            show(n, out)
        if p:
            p.stdin.close()
            p.wait()
            os.close(r)

    ts = [threading.Thread(target=drive, args=(k,)) for k in range(a.jobs)]
    [t.start() for t in ts]
    [t.join() for t in ts]
    rs = [res[n] for n in todo]
    c = {s: sum(r["status"] == s for r in rs) for s in ("ok", "wrong", "error", "crash", "timeout", "skip")}
    with open(a.out, "w") as f:
        json.dump(
            dict(meta=dict(device=a.device, torch=torch.__version__, secs=round(time.time() - t0, 1)), summary=c, records=rs),
            f,
            indent=1,
        )
    bad = len(rs) - c["ok"] - c["skip"]
    print(f"{c} in {time.time() - t0:.0f} s; {a.out}")
    print(f"{c['ok']} passed, {bad} failed, {c['skip']} skipped")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
