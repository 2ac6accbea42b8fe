# SPDX-License-Identifier: BSD-3-Clause
"""Two computers, as network namespaces of this one, joined by a cable (veth) or by a relay that delays packets.

Needs root and ip; `Computers()` raises NotPermitted where it may not. The rank's process enters its computer first of
all: `enter(name)`. Computer i has the address 10.77.0.(i + 1) on the interface "cable0".
"""

import ctypes
import fcntl
import heapq
import multiprocessing
import os
import select
import struct
import subprocess
import time

INTERFACE = "cable0"
NEWNET, NEWNS, REC_SLAVE, DETACH = 0x40000000, 0x20000, 0x4000 | 0x80000, 2
TUNSETIFF, TUN, NO_HEADER = 0x400454CA, 1, 0x1000


class NotPermitted(Exception):
    """This user may not make network namespaces."""


def _libc(function: str, *arguments: object) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, function)(*arguments):
        raise OSError(ctypes.get_errno(), f"{function}: {os.strerror(ctypes.get_errno())}")


def _set_namespace(name: str) -> None:
    with open(f"/var/run/netns/{name}") as there:
        _libc("setns", there.fileno(), NEWNET)


def enter(name: str) -> None:
    """Moves the calling process, before it has threads, to a computer; /sys then shows that one's interfaces."""
    _set_namespace(name)
    _libc("unshare", NEWNS)
    _libc("mount", b"", b"/", b"none", ctypes.c_ulong(REC_SLAVE), None)
    ctypes.CDLL(None).umount2(b"/sys", DETACH)
    _libc("mount", b"sysfs", b"/sys", b"sysfs", ctypes.c_ulong(0), None)


def _end_of_cable(name: str) -> int:
    """A file of packets: what the computer sends to the other can be read, what is written arrives."""
    _set_namespace(name)
    tun = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH14x", INTERFACE.encode(), TUN | NO_HEADER))
    return tun


def _relay(names: list[str], delay: float, ready: object) -> None:
    ends = [_end_of_cable(name) for name in names]
    ready.set()  # type: ignore[attr-defined]
    under_way: list[tuple[float, int, int, bytes]] = []
    count = 0
    while True:
        rest = max(0.0, under_way[0][0] - time.monotonic()) if under_way else None
        for end in select.select(ends, [], [], rest)[0]:
            count += 1
            heapq.heappush(under_way, (time.monotonic() + delay, count, ends[end == ends[0]], os.read(end, 65536)))
        while under_way and under_way[0][0] <= time.monotonic():
            _, _, end, packet = heapq.heappop(under_way)
            try:
                os.write(end, packet)
            except OSError:  # the interface is down
                pass


class Computers:
    """Two computers; with `delay` (seconds, each way) their packets go through a relay."""

    def __init__(self, delay: float = 0) -> None:
        self.names = [f"anynpu{os.getpid()}{letter}" for letter in "ab"]
        self.relay: multiprocessing.Process | None = None
        try:
            for name in self.names:
                self._ip("netns", "add", name)
            if delay:
                context = multiprocessing.get_context("fork")
                ready = context.Event()
                self.relay = context.Process(target=_relay, args=(self.names, delay, ready), daemon=True)
                self.relay.start()
                if not ready.wait(10):
                    raise NotPermitted("no relay: /dev/net/tun cannot be used")
            else:
                self._ip("link", "add", INTERFACE, "netns", self.names[0], "type", "veth", "peer", "name", INTERFACE,
                         "netns", self.names[1])  # fmt: skip
            for i, name in enumerate(self.names):
                self._ip("-n", name, "addr", "add", f"{self.address(i)}/24", "dev", INTERFACE)
                self._ip("-n", name, "link", "set", INTERFACE, "up")
                self._ip("-n", name, "link", "set", "lo", "up")
            until = time.time() + 5  # until the cable is noticed
            while b"LOWER_UP" not in self._ip("-n", self.names[1], "link", "show", INTERFACE) and time.time() < until:
                time.sleep(0.05)
            time.sleep(0.2)
        except BaseException:
            self.close()
            raise

    @staticmethod
    def address(i: int) -> str:
        return f"10.77.0.{i + 1}"

    @staticmethod
    def _ip(*words: str) -> bytes:
        try:
            return subprocess.run(["ip", *words], check=True, capture_output=True).stdout
        except (OSError, subprocess.CalledProcessError) as error:
            raise NotPermitted("this user may not make network namespaces (needs root and ip)") from error

    def slow_down(self, mbit: int) -> None:
        """So many Mbit/s from each computer to the other (tc tbf)."""
        for name in self.names:
            command = f"tc -n {name} qdisc replace dev {INTERFACE} root tbf rate {mbit}mbit burst 256kb latency 400ms"
            subprocess.run(command.split(), check=True, capture_output=True)

    def cut(self) -> None:
        """Pulls the cable out of the first computer."""
        self._ip("-n", self.names[0], "link", "set", INTERFACE, "down")

    def close(self) -> None:
        if self.relay:
            self.relay.kill()
            self.relay.join()
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)
