# SPDX-License-Identifier: BSD-3-Clause
"""Which versions fit each other: the vendor's published table as data, and questions to it. The same facts for everybody:
`anynpu doctor`, the import of torch_npu, and a program that wants to know before it installs.
"""

import re

DATE = "2026-08"
"""Of the published table (COMPATIBILITY.md of Ascend Extension for PyTorch)."""

PAIRS = (
    # torch_npu, PyTorch, CANN; newest first
    ("2.13.0", "2.13.0", "9.1.0"),
    ("2.12.0", "2.12.0", "9.1.0"),
    ("2.11.0", "2.11.0", "9.1.0"),
    ("2.10.0", "2.10.0", "9.1.0"),
    ("2.9.0.post3", "2.9.0", "9.1.0"),
    ("2.7.1.post8", "2.7.1", "9.1.0"),
    ("2.7.1.post5", "2.7.1", "9.1.0"),
    ("2.9.0.post2", "2.9.0", "9.0.0"),
    ("2.8.0.post4", "2.8.0", "9.0.0"),
    ("2.7.1.post4", "2.7.1", "9.0.0"),
    ("2.9.0", "2.9.0", "8.5.0"),
    ("2.8.0.post2", "2.8.0", "8.5.0"),
    ("2.7.1.post2", "2.7.1", "8.5.0"),
    ("2.6.0.post5", "2.6.0", "8.5.0"),
    ("2.8.0", "2.8.0", "8.3.RC1"),
    ("2.7.1", "2.7.1", "8.3.RC1"),
    ("2.6.0.post3", "2.6.0", "8.3.RC1"),
    ("2.1.0.post17", "2.1.0", "8.3.RC1"),
    ("2.6.0", "2.6.0", "8.2.RC1"),
    ("2.5.1.post1", "2.5.1", "8.2.RC1"),
    ("2.1.0.post13", "2.1.0", "8.2.RC1"),
    ("2.5.1", "2.5.1", "8.1.RC1"),
    ("2.4.0.post4", "2.4.0", "8.1.RC1"),
    ("2.3.1.post6", "2.3.1", "8.1.RC1"),
    ("2.1.0.post12", "2.1.0", "8.1.RC1"),
    ("2.4.0.post2", "2.4.0", "8.0.0"),
    ("2.3.1.post4", "2.3.1", "8.0.0"),
    ("2.1.0.post10", "2.1.0", "8.0.0"),
    ("2.1.0", "2.1.0", "7.0.0"),
)

PYTHONS = {
    "2.13": ("3.10", "3.14"),
    "2.12": ("3.10", "3.14"),
    "2.11": ("3.10", "3.14"),
    "2.10": ("3.10", "3.13"),
    "2.9": ("3.10", "3.13"),
    "2.8": ("3.9", "3.13"),
    "2.7": ("3.9", "3.13"),
    "2.6": ("3.9", "3.11"),
    "2.5": ("3.9", "3.11"),
    "2.4": ("3.8", "3.11"),
    "2.3": ("3.8", "3.11"),
    "2.2": ("3.8", "3.10"),
    "2.1": ("3.8", "3.11"),
}
"""PyTorch (major.minor) → first and last Python."""

CANN = "9.1.0"
"""The CANN that this project's torch_npu is tested with; its version begins with that of the PyTorch it is built for."""

CANN_OLDEST = (9, 0)
"""The oldest one that it accepts."""


def minor(text: str) -> tuple[int, int]:
    """(2, 13) of "2.13.0+cpu", (8, 2) of "8.2.RC1"; (0, 0) if it has no such start."""
    found = re.match(r"(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def release(text: str) -> str:
    """ "2.7.1.post8" of "2.7.1.post8+cpu.git": the version without its local part."""
    return text.partition("+")[0]


def rows_for(torch: str = "", torch_npu: str = "", cann: str = "") -> list[tuple[str, str, str]]:
    """Rows of the table that agree with what is given (torch and CANN by their first two numbers)."""
    return [
        row
        for row in PAIRS
        if (not torch_npu or row[0] == release(torch_npu))
        and (not torch or minor(row[1]) == minor(torch))
        and (not cann or minor(row[2]) == minor(cann))
    ]


def python_fits(torch: str, python: str) -> bool:
    """Whether this PyTorch comes for this Python; True for a PyTorch that the table does not know."""
    span = PYTHONS.get(".".join(map(str, minor(torch))))
    return not span or minor(span[0]) <= minor(python) <= minor(span[1])


def judge(torch: str, torch_npu: str, cann: str, python: str) -> tuple[bool, str]:
    """Whether the four fit each other, and the reason: which one is wrong and which row is right."""
    ours = "+anynpu" in torch_npu
    if torch and not python_fits(torch, python):
        first, last = PYTHONS[".".join(map(str, minor(torch)))]
        return False, f"torch {torch} comes for Python {first} to {last}, this is Python {python}"
    if ours:
        if torch and minor(torch) != minor(torch_npu):
            needed = ".".join(map(str, minor(torch_npu)))
            return False, f"torch_npu {torch_npu} needs torch {needed}.x, but torch is {torch}{_right(torch, cann)}"
        if cann and minor(cann) != (0, 0) and minor(cann) < CANN_OLDEST:
            oldest = ".".join(map(str, CANN_OLDEST))
            return False, f"torch_npu {torch_npu} needs CANN {oldest} or newer, but the CANN is {cann}{_right(torch, cann)}"
        return True, f"torch {torch}, torch_npu {torch_npu}, CANN {cann or '?'}, Python {python} fit each other"
    if torch and torch_npu and minor(torch) != minor(torch_npu):
        return False, f"torch_npu {torch_npu} is for torch {release(torch_npu)}, but torch is {torch}{_right(torch, cann)}"
    if torch_npu and cann and not rows_for(torch_npu=torch_npu, cann=cann) and rows_for(torch_npu=torch_npu):
        wanted = rows_for(torch_npu=torch_npu)[0][2]
        return False, f"torch_npu {torch_npu} is for CANN {wanted}, but the CANN is {cann}{_right(torch, cann)}"
    return True, f"torch {torch}, torch_npu {torch_npu}, CANN {cann or '?'}, Python {python} fit each other"


def _right(torch: str, cann: str) -> str:
    rows = rows_for(torch=torch, cann=cann) or rows_for(torch=torch) or rows_for(cann=cann)
    named = "; ".join(f"torch {row[1]} + torch_npu {row[0]} + CANN {row[2]}" for row in rows[:2])
    return f". Published pairs ({DATE}): {named}" if named else f". No published pair ({DATE}) has torch {torch} or CANN {cann}"
