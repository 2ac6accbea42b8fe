# SPDX-License-Identifier: BSD-3-Clause
"""Seeing how often an operator ran on the CPU instead."""

import importlib
import os
import re
import sys
import warnings
from collections import Counter


def make_counter(spec):
    """-> (reset(), read()): read gives a dict name->count of fallbacks since reset."""
    if not spec or spec == "none":
        return (lambda: None), (lambda: None)
    if spec.startswith("warnings"):
        rx = re.compile(spec.partition(":")[2] or r"fall(ing)?s? ?back|fallback", re.I)
        st = {}

        def reset():
            st["cm"] = warnings.catch_warnings(record=True)
            st["w"] = st["cm"].__enter__()
            warnings.simplefilter("always")

        def read():
            st["cm"].__exit__(None, None, None)
            hits = [str(w.message) for w in list(st["w"]) if rx.search(str(w.message))]
            c = Counter()
            for h in hits:
                m = re.search(r"(?:operator|op)[ '\"`]+((?:aten::)?[\w.:]+)", h)
                c[m.group(1) if m else h[:60]] += 1
            return dict(c)

        return reset, read
    if spec.startswith("stderr"):
        rx = re.compile(spec.partition(":")[2] or r"fall(ing)?s? ?back|fallback", re.I)
        st = {"pos": 0}

        def reset():
            sys.stderr.flush()
            st["pos"] = os.fstat(2).st_size

        def read():
            sys.stderr.flush()
            with open("/proc/self/fd/2", "rb") as f:
                f.seek(st["pos"])
                t = f.read().decode(errors="replace")
            return dict(Counter(line[:80] for line in t.splitlines() if rx.search(line)))

        return reset, read
    mod, _, fn = spec.partition(":")
    obj = importlib.import_module(mod)
    for a in fn.split("."):
        obj = getattr(obj, a)
    st = {}

    def norm(v):
        return Counter(v) if isinstance(v, dict) else Counter({"?": int(v)})

    def reset():
        st["v"] = norm(obj())

    def read():
        return dict(norm(obj()) - st["v"])

    return reset, read
