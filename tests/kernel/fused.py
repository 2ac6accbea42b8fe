# SPDX-License-Identifier: BSD-3-Clause
"""No compiler fuses a product and a sum in the kernels behind our back, or levels would differ in the last bit.

    fused.py OBJDUMP FILE.o…     reads the machine code; fused instructions may stand only where the source asks for them
"""

import re
import subprocess
import sys

FUSED = re.compile(r"\t(vfn?m(?:add|sub)\w*|vfm(?:addsub|subadd)\w*|fn?m(?:add|sub)|fml[as])\b")
FUNCTION = re.compile(r"^[0-9a-f]+ <([^>]+)>:")
ASKED = ("matmul.c.o", "conv.c.o")  # the files that call fma
# gcc's conversion of uint32 to float is high * 65536 + low, in which the product is exact.
EXACT = re.compile(r"^(load_f32|\w+_from_u32)(\.|$)")
ALTERNATING = ("addsub", "subadd")  # of complex products: never asked for


def main() -> int:
    objdump, *files = sys.argv[1:]
    found = instructions = 0
    for file in files:
        text = subprocess.run([objdump, "-d", "--no-show-raw-insn", file], check=True, capture_output=True, text=True).stdout
        function = ""
        for line in text.splitlines():
            if match := FUNCTION.match(line):
                function = match[1]
            elif match := FUSED.search(line):
                alternating = any(word in match[1] for word in ALTERNATING)
                if alternating or not (file.endswith(ASKED) or EXACT.match(function)):
                    found += 1
                    print(f"{file}: {function}: {match[1]}")
            instructions += 1
    print(f"{len(files)} files, {instructions} instructions, {found} fused without being asked")
    return found > 0 or not instructions


if __name__ == "__main__":
    sys.exit(main())
