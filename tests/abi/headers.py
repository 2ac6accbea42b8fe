# SPDX-License-Identifier: BSD-3-Clause
"""Each public header compiles alone, as C11 and as C++17, without a warning.

    headers.py FOLDER…     every *.h below the folders; those of aclnnop/, all made from one pattern, go to the compiler at once
"""

import pathlib
import shutil
import subprocess
import sys

LANGUAGES = (["cc", "-std=c11", "-x", "c"], ["c++", "-std=c++17", "-x", "c++"])


def main() -> int:
    folders = [pathlib.Path(name) for name in sys.argv[1:]]
    headers = [header.relative_to(folder) for folder in folders for header in sorted(folder.rglob("*.h"))]
    made = [header for header in headers if header.parts[0] == "aclnnop"]
    groups = [[header] for header in headers if header not in made] + [made]
    failed = 0
    for language in LANGUAGES:
        if not shutil.which(language[0]):
            print(f"{language[0]} is missing: not tried")
            continue
        options = ["-fsyntax-only", "-Wall", "-Wextra", "-pedantic", "-Werror"] + [f"-I{folder}" for folder in folders]
        for group in groups:
            text = "".join(f'#include "{header}"\n' for header in group) * 2  # twice: the guards work
            run = subprocess.run([*language, *options, "-"], input=text, capture_output=True, text=True)
            if run.returncode:
                failed += 1
                print(f"{language[1]} {group[0]}:\n{run.stderr[:2000]}")
    print(f"{len(headers)} headers, {failed} failures")
    return failed > 0 or not headers


if __name__ == "__main__":
    sys.exit(main())
