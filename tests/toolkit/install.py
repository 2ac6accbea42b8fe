# SPDX-License-Identifier: BSD-3-Clause
"""The installed toolkit is one that programs know: set_env.sh works in sh and bash, from any place, through a link and twice;
a C program compiles against it by the usual variables and runs an operator; doctors find the version files.

    install.py BUILD_DIR
"""

import os
import platform
import subprocess
import sys
import tempfile

PROGRAM = r"""
#include <stdio.h>
#include "acl/acl.h"
#include "acl/acl_op_compiler.h"
#include "aclnnop/aclnn_inplace_one.h"
int main(void)
{
    aclrtStream stream;
    void *memory;
    float host[4] = {0};
    int64_t four = 4;
    uint64_t size;
    aclOpExecutor *executor;
    if (aclInit(NULL) || aclrtSetDevice(0) || aclrtCreateStream(&stream) || aclrtMalloc(&memory, 16, ACL_MEM_MALLOC_HUGE_FIRST))
        return 1;
    aclTensor *t = aclCreateTensor(&four, 1, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, &four, 1, memory);
    if (aclnnInplaceOneGetWorkspaceSize(t, &size, &executor) || aclnnInplaceOne(NULL, size, executor, stream) ||
        aclrtSynchronizeStream(stream) || aclrtMemcpy(host, 16, memory, 16, ACL_MEMCPY_DEVICE_TO_HOST))
        return 2;
    printf("%s %g %g\n", aclrtGetSocName(), host[0], host[3]);
    return 0;
}
"""

NAMES = ["ASCEND_TOOLKIT_HOME", "ASCEND_HOME_PATH", "ASCEND_OPP_PATH", "ASCEND_AICPU_PATH", "TOOLCHAIN_HOME", "LD_LIBRARY_PATH",
         "PYTHONPATH", "PATH"]


def sourced(shell: str, script: str, times: int = 1) -> dict[str, str]:
    """The environment after `. script`, starting from nearly nothing, in another folder."""
    line = f'. "{script}" && ' * times + "env"
    env = {"PATH": "/usr/bin:/bin", "HOME": "/"}
    out = subprocess.run([shell, "-c", line], check=True, capture_output=True, text=True, env=env, cwd="/").stdout
    return dict(entry.split("=", 1) for entry in out.splitlines() if "=" in entry)


def main() -> None:
    build = sys.argv[1]
    with tempfile.TemporaryDirectory(prefix="anynpu install ") as prefix:  # a blank in the path, too
        install = ["cmake", "--install", build, "--prefix", prefix, "--component", "toolkit"]
        subprocess.run(install, check=True, capture_output=True)
        base = os.path.join(prefix, "ascend-toolkit")
        latest = os.path.join(base, "latest")
        for shell in "sh", "bash":
            for script in (os.path.join(base, "set_env.sh"), os.path.join(latest, "set_env.sh")):
                env, again = sourced(shell, script), sourced(shell, script, 2)
                for name in NAMES:
                    assert env.get(name), f"{shell}: {name} is not set"
                    assert again[name] == env[name], f"{shell}: {name} changes when set_env.sh is sourced twice"
                assert os.path.samefile(env["ASCEND_HOME_PATH"], latest), env["ASCEND_HOME_PATH"]
                assert env["PATH"].endswith("/usr/bin:/bin")
                for name in "ASCEND_HOME_PATH", "ASCEND_OPP_PATH", "TOOLCHAIN_HOME":
                    assert os.path.isdir(env[name]), f"{name}={env[name]} is no folder"
        lost = subprocess.run(["sh", "-c", f'cp "{base}/set_env.sh" "{prefix}/set_env.sh"; . "{prefix}/set_env.sh"'],
                              capture_output=True, text=True)
        assert lost.returncode and "libascendcl.so is missing" in lost.stderr, lost
        for name in "version.cfg", "runtime/version.info", "compiler/version.info", "opp/version.info", "toolkit/version.info":
            assert "9.1.0" in open(os.path.join(latest, name), encoding="utf-8").read(), name
        arch = os.path.join(latest, f"{platform.machine()}-linux")
        assert "version=9.1.0" in open(os.path.join(arch, "ascend_toolkit_install.info"), encoding="utf-8").read()
        assert os.path.exists(os.path.join(arch, "lib64", "libascendcl.so"))
        source, program = os.path.join(prefix, "try.c"), os.path.join(prefix, "try")
        with open(source, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        compile_line = (f'. "{base}/set_env.sh" && cc -Wall -Werror "{source}" -o "{program}" -I"$ASCEND_HOME_PATH/include" '
                        '-L"$ASCEND_HOME_PATH/lib64" -lopapi -lnnopbase -lascendcl -lacl_op_compiler && "' + program + '"')
        run = subprocess.run(["sh", "-c", compile_line], capture_output=True, text=True, cwd="/")
        assert run.returncode == 0 and run.stdout.endswith(" 1 1\n"), run
        if os.path.exists(os.path.join(build, "python", "anynpu", "toolkit", "bin", "atc")):  # it finds its libraries by itself
            run = subprocess.run([os.path.join(latest, "bin", "atc"), "--help"], capture_output=True, text=True, cwd="/", env={})
            assert run.returncode == 0 and "--input_shape" in run.stdout, run
    print("toolkit: ok")


if __name__ == "__main__":
    main()
