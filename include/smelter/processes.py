"""Is it still the same process? A pid alone does not say: the kernel gives the number to another one later."""

from __future__ import annotations

from pathlib import Path


def start_ticks(pid: int) -> int | None:
    """When the kernel started the process, in its own ticks; nothing if there is none, or only its zombie."""
    try:
        state, *rest = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if state == "Z" else int(rest[18])


def this_host() -> str:
    """Where a pid has a meaning: this start of the kernel, and this container's own count of processes."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{boot}/{Path('/proc/self/ns/pid').readlink()}"
