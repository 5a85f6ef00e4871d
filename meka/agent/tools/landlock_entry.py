"""Locks itself in with Landlock and becomes the command: the kernel then holds it and all that it starts.

A bare interpreter is given this text (`python -I -S -c TEXT MINIMUM_ABI [KIND PATH]... -- ARGV...`), so it
imports nothing of meka, and little else: every millisecond here is one of each command. Landlock only allows.
What stays shut is therefore walked around: `shut` names it, and `read` and `write` are given to what lies
beside it and beside the directories that lead to it. The other kinds are given whole. Paths are canonical.
`calls` has no path: it refuses the system calls that reach others and that Landlock knows nothing of.
"""

import ctypes
import errno
import os
import stat
import sys

PREFIX = "landlock: "
"""What the one line on stderr begins with when the command could not be locked in."""
FAILED = 126
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG = 1
_PATH_BENEATH = 1
_SCOPES = 0b11
"""Abstract sockets, and signals."""
_SCOPES_SINCE = 6
_PR_SET_NO_NEW_PRIVS = 38
_CAPABILITY_VERSION_3 = 0x20080522
_IGNORED_BY_PYTHON = (13, 25)
"""SIGPIPE, SIGXFSZ: by number, for the `signal` module costs more than the rest of the imports."""

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIRECTORY = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_CHARACTER_DEVICE, _MAKE_BLOCK_DEVICE = 1 << 6, 1 << 11
_REFER, _TRUNCATE, _IOCTL_DEVICE, _RESOLVE_UNIX = 1 << 13, 1 << 14, 1 << 15, 1 << 16
_RIGHTS_SINCE = ((1, (1 << 13) - 1), (2, _REFER), (3, _TRUNCATE), (5, _IOCTL_DEVICE), (9, _RESOLVE_UNIX))
_RIGHTS_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEVICE

_READ = _EXECUTE | _READ_FILE | _READ_DIRECTORY
_WRITE = sum(rights for _, rights in _RIGHTS_SINCE) & ~(
    # A server that runs as root could make a disk's device in the workspace, and write to the disk.
    _MAKE_CHARACTER_DEVICE | _MAKE_BLOCK_DEVICE | _IOCTL_DEVICE
)
_KINDS = {
    "read": _READ,
    "write": _WRITE,
    "own": _WRITE,
    "list": _READ_DIRECTORY,
    "device": _READ_FILE | _READ_DIRECTORY | _WRITE_FILE | _TRUNCATE | _IOCTL_DEVICE,
}
_PR_SET_SECCOMP = 22
_SECCOMP_FILTER = 2
_LOAD, _JUMP_IF_EQUAL, _JUMP_IF_GREATER_OR_EQUAL, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOWED, _REFUSED = 0x7FFF0000, 0x00050000 | errno.EPERM
_NUMBER_AT, _PROCESSOR_AT, _FIRST_ARGUMENT_AT = 0, 4, 16
_X32 = 0x40000000
"""From here on the calls are others' names for the same ones."""
FILTERED_CALLS = {
    "x86_64": (0xC000003E, 302, (*range(29, 32), *range(64, 72), 220, 240, 241)),
    "aarch64": (0xC00000B7, 261, (180, 181, *range(186, 198))),
}
"""By processor: its number in a filter, `prlimit64`, and the calls of System V's memory, semaphores and
messages and of POSIX's messages."""
_WALKED_AROUND = ("read", "write")
_WHY_NONE = {
    errno.ENOSYS: "this kernel has no Landlock, or a filter of system calls hides it",
    errno.EOPNOTSUPP: "this kernel's Landlock is switched off: `lsm=` of its command line leaves it out",
}
_LIBC = ctypes.CDLL(None, use_errno=True)


class LandlockError(Exception):
    """The kernel cannot do what is asked."""


def main(arguments: list[str]) -> None:
    """Become the command, or say why not and exit."""
    end = arguments.index("--")
    rules = list(zip(arguments[1:end:2], arguments[2:end:2], strict=True))
    argv = arguments[end + 1 :]
    try:
        environment = _given_environment()
        lock_in(int(arguments[0]), rules)
        for number in _IGNORED_BY_PYTHON:
            _LIBC.signal(number, None)
        os.execvpe(argv[0], argv, environment)  # noqa: S606
    except (LandlockError, OSError) as error:
        os.write(2, f"{PREFIX}{error}\n".encode(errors="backslashreplace"))
        os._exit(FAILED)


def lock_in(minimum_abi: int, rules: list[tuple[str, str]]) -> None:
    """Leave this process, for good, only what the rules give. Raises: LandlockError, OSError."""
    abi = require_abi(minimum_abi)
    handled = handled_rights(abi)
    scopes = _SCOPES if abi >= _SCOPES_SINCE else 0
    ruleset = _call(_CREATE_RULESET, _pack(handled, 0, scopes), ctypes.c_size_t(24), 0)
    shut = {path for kind, path in rules if kind == "shut"}
    for kind, path in rules:
        if kind not in ("shut", "calls"):
            for allowed in spread(path, shut) if kind in _WALKED_AROUND else [path]:
                _allow(ruleset, allowed, _KINDS[kind] & handled)
    _drop_privileges()
    _call(_RESTRICT_SELF, ruleset, 0)
    if any(kind == "calls" for kind, _ in rules):
        _filter_calls()
    os.close(ruleset)


def require_abi(minimum: int) -> int:
    """The ABI of this kernel's Landlock. Raises: LandlockError."""
    try:
        abi = _call(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION_FLAG)
    except OSError as error:
        raise LandlockError(_WHY_NONE.get(error.errno or 0, str(error))) from error
    if abi < minimum:
        raise LandlockError(f"this kernel's Landlock has ABI {abi}, and ABI {minimum} is needed")
    return abi


def handled_rights(abi: int) -> int:
    """Every right to files that this ABI knows: what is handled and not given is refused."""
    return sum(rights for since, rights in _RIGHTS_SINCE if abi >= since)


def spread(path: str, shut: set[str]) -> list[str]:
    """The path itself, or what lies in it beside the directories that are shut and the way to them."""
    prefix = path.rstrip("/") + "/"
    inner = {each for each in shut if each.startswith(prefix)}
    if not inner:
        return [path]
    on_the_way = {prefix + each[len(prefix) :].split("/", 1)[0] for each in inner}
    beside = [prefix + name for name in _names(path) if prefix + name not in on_the_way]
    return beside + [each for way in on_the_way - inner for each in spread(way, inner)]


def _names(directory: str) -> list[str]:
    """What a directory holds; one that cannot be listed gives nothing away, which errs on the safe side."""
    try:
        return os.listdir(directory)
    except OSError:
        return []


def _allow(ruleset: int, path: str, rights: int) -> None:
    """Give rights to a file or to all below a directory; what is gone or odd is left shut."""
    try:
        beneath = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    try:
        mode = os.fstat(beneath).st_mode
        if stat.S_ISLNK(mode):
            return
        if not stat.S_ISDIR(mode):
            rights &= _RIGHTS_OF_FILES
        if rights:
            rule = _pack(rights) + beneath.to_bytes(4, sys.byteorder)
            _call(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0)
    finally:
        os.close(beneath)


def _drop_privileges() -> None:
    """A root without capabilities, who gets none from the files it runs: not all of them are about files."""
    if _LIBC.prctl(_PR_SET_NO_NEW_PRIVS, *map(ctypes.c_ulong, (1, 0, 0, 0))) != 0:
        raise OSError(ctypes.get_errno(), "no_new_privs")
    header = _CAPABILITY_VERSION_3.to_bytes(4, sys.byteorder) + bytes(4)
    if _LIBC.capset(ctypes.create_string_buffer(header), bytes(24)) != 0:
        raise OSError(ctypes.get_errno(), "capset")


def _filter_calls() -> None:
    """Refuse, for good, what reaches others of the same user: their limits, and what they share by number."""
    known = FILTERED_CALLS.get(os.uname().machine)
    if known is None or sys.maxsize < 1 << 32:
        return
    processor, prlimit, refused = known
    refuse = (_RETURN, 0, 0, _REFUSED)
    lines = [
        (_LOAD, 0, 0, _PROCESSOR_AT), (_JUMP_IF_EQUAL, 1, 0, processor), refuse,
        (_LOAD, 0, 0, _NUMBER_AT), (_JUMP_IF_GREATER_OR_EQUAL, 0, 1, _X32), refuse,
        *(line for call in refused for line in ((_JUMP_IF_EQUAL, 0, 1, call), refuse)),
        (_JUMP_IF_EQUAL, 0, 3, prlimit), (_LOAD, 0, 0, _FIRST_ARGUMENT_AT), (_JUMP_IF_EQUAL, 1, 0, 0), refuse,
        (_RETURN, 0, 0, _ALLOWED),
    ]  # fmt: skip
    text = b"".join(
        code.to_bytes(2, sys.byteorder) + bytes((then, otherwise)) + value.to_bytes(4, sys.byteorder)
        for code, then, otherwise, value in lines
    )
    held = ctypes.create_string_buffer(text)
    program = _pack(len(lines), ctypes.addressof(held))
    if _LIBC.prctl(_PR_SET_SECCOMP, ctypes.c_ulong(_SECCOMP_FILTER), program) != 0:
        raise OSError(ctypes.get_errno(), "the filter of system calls")


def _given_environment() -> dict[bytes, bytes]:
    """The environment as it was handed over: the interpreter adds a locale to its own."""
    with open("/proc/self/environ", "rb") as file:
        entries = file.read().split(b"\0")
    return {name: value for name, found, value in (entry.partition(b"=") for entry in entries) if found}


def _pack(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(8, sys.byteorder) for number in numbers)


def _call(number: int, *arguments: object) -> int:
    """Raises: OSError."""
    result = int(_LIBC.syscall(ctypes.c_long(number), *arguments))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


if __name__ == "__main__":
    main(sys.argv[1:])
