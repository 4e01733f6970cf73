"""Prints, as JSON, what an addon is and what it needs. Usage: inspect.py FILE [TEXT...]; TEXT is what must not occur in its bytes."""

import hashlib
import json
import sys
from pathlib import Path

import lief

ARCHITECTURES = {
    "X86_64": "x64",
    "AARCH64": "arm64",
    "ARM64": "arm64",
    "AMD64": "x64",
}


def architecture(value):
    name = str(value).rsplit(".", 1)[-1]
    return ARCHITECTURES.get(name, name)


def version_of(numbers):
    return ".".join(str(number) for number in numbers)


def elf(binary):
    run_paths = [entry for entry in binary.dynamic_entries if type(entry).__name__ in ("DynamicEntryRpath", "DynamicEntryRunPath")]
    return {
        "format": "ELF",
        "architecture": architecture(binary.header.machine_type),
        "minimum": oldest_libc(binary),
        "libraries": list(binary.libraries),
        "exports": sorted({symbol.name for symbol in binary.exported_symbols}),
        "runPaths": [entry.paths if hasattr(entry, "paths") else str(entry) for entry in run_paths],
        "timestamp": 0,
    }


# Since which release musl has a function, by its release notes; the lists of symbols of 1.1.9, 1.1.19, 1.1.24, 1.2.2, 1.2.3 and 1.2.5 agree. The
# others were there in 1.1.9.
MUSL_SINCE = {
    (1, 1, 15): {"pthread_timedjoin_np", "pthread_tryjoin_np", "sched_getcpu"},
    (1, 1, 16): {"pthread_getattr_default_np", "pthread_setattr_default_np", "pthread_setname_np"},
    (1, 1, 19): {"fopencookie", "utmpname", "utmpxname"},
    (1, 1, 20): {"explicit_bzero", "getentropy", "getrandom", "memfd_create", "mlock2"},
    (1, 1, 21): {"name_to_handle_at", "open_by_handle_at"},
    (1, 1, 22): {"membarrier"},
    (1, 1, 24): {"copy_file_range", "posix_spawn_file_actions_addchdir_np", "posix_spawn_file_actions_addfchdir_np", "secure_getenv"},
    (1, 2, 2): {"_Fork", "gettid", "reallocarray", "tcgetwinsize", "tcsetwinsize"},
    (1, 2, 3): {"pthread_getname_np", "qsort_r"},
    (1, 2, 5): {"preadv2", "pwritev2", "renameat2", "statx"},
}
OLDEST_KNOWN_MUSL = (1, 1, 9)


def oldest_libc(binary):
    """By the versions of glibc's symbols. musl's have none; it has one library for all, of another name than glibc's."""
    glibc = newest_glibc(binary)
    if glibc is None and "libc.so" in binary.libraries:
        return {"system": "musl", "version": oldest_musl(binary)}
    return {"system": "glibc", "version": glibc}


def newest_glibc(binary):
    """The newest version of a symbol of glibc; None if there is none."""
    names = (auxiliary.name for needed in binary.symbols_version_requirement for auxiliary in needed.get_auxiliary_symbols())
    versions = [tuple(int(part) for part in name[len("GLIBC_"):].split(".")) for name in names if name.startswith("GLIBC_")]
    return version_of(max(versions)) if versions else None


def oldest_musl(binary):
    """A weak symbol may be missing."""
    weak = lief.ELF.Symbol.BINDING.WEAK
    needed = {symbol.name for symbol in binary.imported_symbols if symbol.binding != weak}
    return version_of(max([OLDEST_KNOWN_MUSL, *(version for version, names in MUSL_SINCE.items() if names & needed)]))


def macho(binary):
    minimum = binary.build_version.minos if binary.has_build_version else binary.version_min.version
    return {
        "format": "Mach-O",
        "architecture": architecture(binary.header.cpu_type),
        "minimum": {"system": "macOS", "version": version_of(minimum[:2])},
        # The first command of a library names the library itself.
        "libraries": [library.name for library in binary.libraries if library.command != lief.MachO.LoadCommand.TYPE.ID_DYLIB],
        "exports": sorted(symbol.name.removeprefix("_") for symbol in binary.exported_symbols),
        "runPaths": [command.path for command in binary.rpaths],
        "timestamp": 0,
    }


# Since when Windows has a library; the others are older. An addon may say of itself that an older system is enough.
WINDOWS_SINCE = {
    "api-ms-win-core-synch-l1-2-": (6, 2),
    "api-ms-win-crt-": (10, 0),
}


def oldest_windows(header, libraries):
    since = (version for name in libraries for prefix, version in WINDOWS_SINCE.items() if name.lower().startswith(prefix))
    return max([(header.major_subsystem_version, header.minor_subsystem_version), *since])


def pe(binary):
    libraries = sorted({library.name for library in list(binary.imports) + list(binary.delay_imports)})
    return {
        "format": "PE",
        "architecture": architecture(binary.header.machine),
        "minimum": {"system": "Windows", "version": version_of(oldest_windows(binary.optional_header, libraries))},
        "libraries": libraries,
        "exports": sorted(entry.name for entry in binary.get_export().entries) if binary.has_exports else [],
        "runPaths": [],
        "timestamp": binary.header.time_date_stamps,
    }


def parsed(path):
    binary = lief.parse(path)
    if isinstance(binary, lief.MachO.FatBinary):
        binary = binary.at(0)
    for kind, read in ((lief.ELF.Binary, elf), (lief.MachO.Binary, macho), (lief.PE.Binary, pe)):
        if isinstance(binary, kind):
            return read(binary)
    raise SystemExit(f"{path} is neither ELF nor Mach-O nor PE")


def main(path, texts):
    content = Path(path).read_bytes()
    facts = parsed(path)
    facts["size"] = len(content)
    facts["sha256"] = hashlib.sha256(content).hexdigest()
    facts["texts"] = [text for text in texts if text.encode() in content]
    json.dump(facts, sys.stdout)


main(sys.argv[1], sys.argv[2:])
