# SPDX-License-Identifier: BSD-3-Clause
"""Data for the scripts, small and real: photographs for super resolution, words and characters for language models.

Each function gets the folder that a script runs in (a copy) and the folder of all checkouts.
"""

import pickle
from pathlib import Path

import numpy as np
from PIL import Image


def photographs(work: Path, scripts: Path) -> None:
    """Pieces of scikit-learn's two sample photographs, in the folders of the BSDS300 data set."""
    from sklearn.datasets import load_sample_images

    train, test = (work / "dataset/BSDS300/images" / part for part in ("train", "test"))
    train.mkdir(parents=True)
    test.mkdir(parents=True)
    for number, picture in enumerate(load_sample_images().images):
        image = Image.fromarray(picture)
        for k in range(8):
            piece = image.crop((50 * k, 20 * k, 50 * k + 260, 20 * k + 260))
            piece.save((test if k == 7 else train) / f"{number}_{k}.png")


def _lines(scripts: Path, name: str) -> list[str]:
    return (scripts / "examples/word_language_model/data/wikitext-2" / name).read_text(encoding="utf-8").splitlines(True)


def words(work: Path, scripts: Path) -> None:
    """train, valid and test.txt from the lines of Wikitext that pytorch/examples carries."""
    folder = work / "small"
    folder.mkdir()
    lines = _lines(scripts, "valid.txt")
    for name, first, last in (("train", 0, 600), ("valid", 600, 700), ("test", 700, 800)):
        (folder / f"{name}.txt").write_text("".join(lines[first:last]), encoding="utf-8")


def characters(work: Path, scripts: Path) -> None:
    """nanoGPT's shakespeare_char files made of Wikitext's characters."""
    text = "".join(_lines(scripts, "valid.txt"))[:300_000].encode("ascii", "ignore").decode()
    alphabet = sorted(set(text))
    ids = np.array([alphabet.index(c) for c in text], dtype=np.uint16)
    folder = work / "data/shakespeare_char"
    folder.mkdir(parents=True, exist_ok=True)
    cut = len(ids) * 9 // 10
    ids[:cut].tofile(folder / "train.bin")
    ids[cut:].tofile(folder / "val.bin")
    codes = {"vocab_size": len(alphabet), "itos": dict(enumerate(alphabet)), "stoi": {c: i for i, c in enumerate(alphabet)}}
    with open(folder / "meta.pkl", "wb") as file:
        pickle.dump(codes, file)
