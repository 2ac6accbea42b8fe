# SPDX-License-Identifier: BSD-3-Clause
"""torch_npu_run: torchrun under the official package's name, with the same arguments."""

import sys
from argparse import Namespace

from torch.distributed import run


def parse_args(args: list[str]) -> Namespace:
    """torchrun's arguments."""
    return run.parse_args(args)


def main(args: list[str] | None = None) -> None:
    """Starts the ranks and waits for them. `args`: the command line, sys.argv's by default."""
    run.run(parse_args(sys.argv[1:] if args is None else args))


if __name__ == "__main__":
    main()
