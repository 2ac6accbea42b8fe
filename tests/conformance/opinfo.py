# SPDX-License-Identifier: BSD-3-Clause
"""OpInfo conformance: walks PyTorch's own op_db on a device and compares with the CPU.

  python opinfo_conformance.py --device npu --import torch_npu \
      --fallback torch_npu.npu.utils:cpu_fallback_count --out npu.json --jobs 2 --max-samples 3

Every check (op x dtype x {forward, backward, inplace, out, noncontig}) runs in a worker process; a worker
that dies or hangs is charged to the check it was in, a new worker goes on with the next one.

Status of a check: ok | wrong (value, shape, dtype or layout differs) | error (device raised, CPU did not) |
crash (signal / exit) | timeout | skip (nothing to compare: CPU itself refuses, no samples, ...).
`tight` on an ok record: also within torch.testing's default tolerance for the dtype (raised by the OpInfo's own
toleranceOverride); otherwise ok means within what PyTorch's test_ops.py::test_compare_cpu allows (1e-3, wider
for half types). `random` samples (CPU run advanced the RNG) and uninitialised ones: shape/dtype only.
"""

import argparse
import contextlib
import json
import os
import re
import selectors
import signal
import subprocess
import sys
import time
import traceback
from collections import Counter, defaultdict

from opinfo_worker import Worker

CHECKS = ["forward", "backward", "inplace", "out", "noncontig"]
DTYPES = "float32,float16,bfloat16,int64,int32,bool"
RANK = {"skip": 0, "ok": 1, "error": 2, "wrong": 3, "timeout": 4, "crash": 5}


def op_name(op):
    return op.name + ("." + op.variant_test_name if op.variant_test_name else "")


class Proc:
    """A worker. start=fork: forked from this process, which has torch and op_db loaded (a restart costs milliseconds);
    start=spawn: a fresh interpreter."""

    def __init__(self, a, argv, env, k, logdir, others):
        r, w = os.pipe()
        self.log = os.path.join(logdir, f"worker{k}.log")
        self.lf = open(self.log, "wb")
        self.rc = None
        if a.start == "spawn":
            self.p = subprocess.Popen(
                [sys.executable, os.path.abspath(__file__), "--worker", str(w)] + argv,
                stdin=subprocess.PIPE,
                stdout=self.lf,
                stderr=self.lf,
                pass_fds=[w],
                env=env,
                start_new_session=True,
            )
            self.pid, self.cmd = self.p.pid, self.p.stdin
        else:
            cr, cw = os.pipe()
            sys.stdout.flush(), sys.stderr.flush()
            self.pid = os.fork()
            if self.pid == 0:
                try:
                    os.setsid()
                    for o in others:
                        os.close(o.r), os.close(o.cmd.fileno())
                    os.close(r), os.close(cw)
                    os.dup2(cr, 0), os.dup2(self.lf.fileno(), 1), os.dup2(self.lf.fileno(), 2)
                    sys.stdin = os.fdopen(0, "r", closefd=False)
                    a.worker = w
                    Worker(a).loop()
                except BaseException:
                    traceback.print_exc()
                    sys.stderr.flush()
                    os._exit(70)
                os._exit(0)
            os.close(cr)
            self.p, self.cmd = None, os.fdopen(cw, "wb")
        os.close(w)
        self.r = r
        os.set_blocking(r, False)
        self.buf = b""
        self.ready = False
        self.item = None
        self.cur = None
        self.since = time.time()
        self.served = 0

    def send(self, item):
        self.item, self.cur, self.since = item, None, time.time()
        with contextlib.suppress(BrokenPipeError):  # it died idle: the closed result pipe tells
            self.cmd.write((json.dumps(item) + "\n").encode())
            self.cmd.flush()

    def wait(self):
        if self.rc is None:
            self.rc = self.p.wait() if self.p else os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.rc

    def kill(self):
        if self.rc is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            self.wait()

    def close(self):
        for f in (lambda: os.close(self.r), self.cmd.close, self.lf.close):
            with contextlib.suppress(Exception):
                f()

    def tail(self):
        with open(self.log, "rb") as f:
            f.seek(max(0, os.path.getsize(self.log) - 600))
            return f.read().decode(errors="replace").strip()[-400:]


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--device", default="cpu")
    ap.add_argument("--ops", default="", help="regex searched in the op's full name (name.variant)")
    ap.add_argument("--skip-ops", default="", help="regex of ops to leave out")
    ap.add_argument("--dtypes", default=DTYPES)
    ap.add_argument("--grad-dtypes", default="float32")
    ap.add_argument("--checks", default="forward,backward,inplace,out", help="of " + ",".join(CHECKS))
    ap.add_argument("--max-samples", type=int, default=3, help="per op and dtype, spread over the OpInfo's list; 0 = all")
    ap.add_argument("--jobs", type=int, default=2)
    ap.add_argument("--threads", type=int, default=1, help="torch threads per worker")
    ap.add_argument("--shard", default="0/1", help="i/n, i from 0: every n-th op")
    ap.add_argument("--timeout", type=float, default=30, help="seconds for one check (op x dtype x check)")
    ap.add_argument("--import", dest="imports", action="append", default=[], help="module every worker imports first")
    ap.add_argument("--setup", default="", help="Python file exec'd in every worker; may define patch_op_db(op_db)")
    ap.add_argument(
        "--fallback",
        default="none",
        help="how to see a CPU fallback: module:function (int, or dict name->count), warnings[:REGEX], stderr[:REGEX], none",
    )
    ap.add_argument(
        "--start",
        choices=["fork", "spawn"],
        default="fork",
        help="how workers start; spawn if the backend cannot be used after a fork",
    )
    ap.add_argument("--rlimit-gb", type=float, default=0)
    ap.add_argument("--recycle", type=int, default=150, help="ops a worker serves before it is replaced (0: never)")
    ap.add_argument("--out", default="opinfo.json")
    ap.add_argument("--logdir", default="")
    ap.add_argument("--baseline", default="", help="an earlier JSON: exit 1 if a check that was ok there no longer is")
    ap.add_argument("--show", type=int, default=25, help="failures to print")
    ap.add_argument("--list", action="store_true")
    ap.add_argument("--worker", type=int, default=-1, help=argparse.SUPPRESS)
    a = ap.parse_args()
    raw = {k: v for k, v in vars(a).items()}
    a.checks = [c for c in CHECKS if c in a.checks.split(",")]
    a.grad_dtypes = a.grad_dtypes.split(",")
    if a.worker >= 0:
        Worker(a).loop()
        return 0

    t0 = time.time()
    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    i, n = map(int, a.shard.split("/"))
    names = [op_name(o) for o in op_db]
    todo = [
        k for k, nm in enumerate(names) if (not a.ops or re.search(a.ops, nm)) and not (a.skip_ops and re.search(a.skip_ops, nm))
    ]
    todo = todo[i::n]
    if a.list:
        print("\n".join(names[k] for k in todo))
        return 0
    dtypes = a.dtypes.split(",")
    logdir = a.logdir or os.path.splitext(a.out)[0] + ".logs"
    os.makedirs(logdir, exist_ok=True)
    argv = []
    for k in ("device", "checks", "grad_dtypes", "setup", "fallback"):
        argv += ["--" + k.replace("_", "-"), str(raw[k])]
    for k in ("max_samples", "threads", "timeout", "rlimit_gb"):
        argv += ["--" + k.replace("_", "-"), str(raw[k])]
    for m in a.imports:
        argv += ["--import", m]
    env = dict(os.environ, OMP_NUM_THREADS=str(a.threads), MKL_NUM_THREADS=str(a.threads))
    torch.set_num_threads(1)
    queue = [dict(i=k, dtypes=dtypes, skip=[]) for k in reversed(todo)]
    recs, deaths, made = [], Counter(), 0
    procs, sel = set(), selectors.DefaultSelector()
    startfails = 0

    def spawn():
        nonlocal made
        p = Proc(a, argv, env, made, logdir, procs)
        made += 1
        procs.add(p)
        sel.register(p.r, selectors.EVENT_READ, p)
        return p

    def drop(p):
        sel.unregister(p.r)
        procs.discard(p)
        p.close()

    def add(p, d):
        d.pop("ev", None)
        d["op"] = names[p.item["i"]]
        recs.append(d)
        p.item["skip"].append([d["dtype"], d["check"]])

    def dead(p, status, detail):
        nonlocal startfails
        it = p.item
        if it is None:
            if not p.ready:
                startfails += 1
                if startfails > 3:
                    sys.exit("workers do not start: " + detail)
            return
        k = it["i"]
        deaths[k] += 1
        dt, c = p.cur or ("-", "load")
        add(p, dict(dtype=dt, check=c, status=status, detail=detail, secs=round(time.time() - p.since, 2)))
        if p.cur is None or deaths[k] > 40:
            return
        queue.append(it)

    done = 0
    last = time.time()
    for _ in range(min(a.jobs, len(queue))):
        spawn()
    while queue or any(p.item for p in procs):
        while queue and len(procs) < a.jobs:
            spawn()
        for key, _ in sel.select(0.5):
            p = key.data
            try:
                data = os.read(p.r, 1 << 20)
            except BlockingIOError:
                continue
            if not data:
                rc = p.wait()
                why = f"exit {rc}" if rc >= 0 else signal.Signals(-rc).name
                dead(p, "crash", f"{why}: {p.tail()}")
                drop(p)
                continue
            p.buf += data
            *lines, p.buf = p.buf.split(b"\n")
            for line in lines:
                m = json.loads(line)
                p.since = time.time()
                if m["ev"] == "begin":
                    p.cur = (m["dtype"], m["check"])
                elif m["ev"] == "result":
                    add(p, m)
                    p.cur = None
                elif m["ev"] in ("ready", "done"):
                    if m["ev"] == "done":
                        done += 1
                        p.served += 1
                    p.ready, p.item, p.cur = True, None, None
                    if not queue or (a.recycle and p.served >= a.recycle):
                        p.kill()
                        drop(p)
                        break
                    p.send(queue.pop())
        now = time.time()
        for p in list(procs):
            lim = a.timeout if p.ready else 180
            if now - p.since > lim and (p.item or not p.ready):
                p.kill()
                dead(p, "timeout", f"over {lim:g} s")
                drop(p)
        if now - last > 30:
            last = now
            print(
                f"... {done}/{len(todo)} ops, {now - t0:.0f} s, {dict(Counter(r['status'] for r in recs))}",
                file=sys.stderr,
                flush=True,
            )
    for p in list(procs):
        p.kill()
        drop(p)
    return report(a, recs, todo, names, time.time() - t0, raw, torch.__version__)


def report(a, recs, todo, names, secs, raw, tv):
    by = defaultdict(list)
    for r in recs:
        by[r["op"]].append(r)
    ops = {}
    for k in todo:
        rs = by.get(names[k], [])
        st = max((r["status"] for r in rs), key=RANK.get, default="skip")
        fb = Counter()
        known = False
        for r in rs:
            if "fallbacks" in r:
                known = True
                fb.update(r["fallbacks"])
        ops[names[k]] = dict(
            status=st,
            native=(not fb if known else None),
            fallbacks=dict(fb),
            checks=dict(Counter(r["status"] for r in rs if r["check"] != "samples")),
        )

    def row(rs):
        c = Counter(r["status"] for r in rs)
        n = sum(c.values()) - c["skip"]
        kn = [r for r in rs if "fallbacks" in r and r["status"] != "skip"]
        return dict(
            run=n,
            ok=c["ok"],
            tight=sum(bool(r.get("tight")) for r in rs),
            wrong=c["wrong"],
            error=c["error"],
            crash=c["crash"],
            timeout=c["timeout"],
            skip=c["skip"],
            pct=round(100 * c["ok"] / n, 2) if n else None,
            native=sum(not r["fallbacks"] for r in kn) if kn else None,
        )

    table = {"ALL checks": row(recs)}
    for c in CHECKS + ["samples", "load", "harness"]:
        rs = [r for r in recs if r["check"] == c]
        if rs:
            table[c] = row(rs)
    for d in a.dtypes.split(","):
        table[d] = row([r for r in recs if r["dtype"] == d])
    oc = Counter(o["status"] for o in ops.values())
    no = sum(oc.values()) - oc["skip"]
    summ = dict(
        ops=len(ops),
        ops_run=no,
        ops_ok=oc["ok"],
        ops_pct=round(100 * oc["ok"] / no, 2) if no else None,
        op_status=dict(oc),
        ops_native=sum(o["native"] is True for o in ops.values()),
        ops_fell_back=sum(o["native"] is False for o in ops.values()),
        secs=round(secs, 1),
    )
    prev = {}
    if a.baseline:
        prev = {(r["op"], r["dtype"], r["check"]): r["status"] for r in json.load(open(a.baseline))["records"]}
    lost = [r for r in recs if prev.get((r["op"], r["dtype"], r["check"])) == "ok" and r["status"] != "ok"]
    with open(a.out, "w") as f:
        json.dump(
            dict(
                meta=dict(args={k: v for k, v in raw.items() if k != "worker"}, torch=tv, when=time.strftime("%F %T")),
                summary=summ,
                table=table,
                ops=ops,
                records=recs,
            ),
            f,
            indent=1,
        )
    print(
        f"{'':14}"
        + "".join(f"{h:>9}" for h in ("run", "ok", "tight", "wrong", "error", "crash", "timeout", "skip", "ok %", "native"))
    )
    for k, r in table.items():
        print(
            f"{k:14}"
            + "".join(
                f"{'-' if r[h] is None else r[h]:>9}"
                for h in ("run", "ok", "tight", "wrong", "error", "crash", "timeout", "skip", "pct", "native")
            )
        )
    bad = [r for r in recs if RANK[r["status"]] > 1]
    for r in sorted(bad, key=lambda r: -RANK[r["status"]])[: a.show]:
        print(f"{r['status']:7} {r['op']} {r['dtype']} {r['check']}: {str(r.get('detail', ''))[:150]!r}")
    if len(bad) > a.show:
        print(f"... {len(bad) - a.show} more in {a.out}")
    for r in lost[: a.show]:
        print("LOST", r["op"], r["dtype"], r["check"], r["status"])
    s = summ
    print(
        f"OPS {s['ops_ok']}/{s['ops_run']} ok ({s['ops_pct']} %), of {s['ops']} selected; "
        f"native {s['ops_native']}, fell back {s['ops_fell_back']}; {secs:.0f} s; {a.out}"
    )
    # one plain closing line: checks
    r = table["ALL checks"]
    print(f"{r['ok']} passed, {r['run'] - r['ok']} failed, {r['skip']} skipped")
    return 1 if (lost if a.baseline else bad) else 0


if __name__ == "__main__":
    sys.exit(main())
