"""The rooms of src/ depend on each other one way only; MAP below lists the allowed arrows.

arrows_test.py SOURCE_FOLDER [BUILD_FOLDER]: reads every #include, the LINKS of each hapax_room() in CMakeLists.txt and, with a
build folder, the symbols that each room's archive needs. Prints each arrow that the map does not allow and exits 1.
"""

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

# A room and the rooms it may use; each line uses only rooms above it.
ENGINE = {"base", "model", "store", "engine"}
MAP = {
    "base": set(),
    "model": {"base"},
    "store": {"base", "model"},
    "engine": {"base", "model", "store"},
    "workflow": ENGINE,
    "schedule": ENGINE,
    "guard": ENGINE,
    "telemetry": {"base"},
    "http": {"base", "model", "telemetry"},
    "app": ENGINE | {"workflow", "schedule", "guard"},
    "api": ENGINE | {"workflow", "schedule", "guard", "telemetry", "http", "app"},
    "cli": ENGINE | {"workflow", "schedule", "guard", "telemetry", "http", "app", "api"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def include_arrows(source):
    """(room, room, what) for each include from one room into another; unknown folders are reported as themselves."""
    for file in sorted((source / "src").rglob("*.[ch]pp")):
        room = file.relative_to(source / "src").parts[0]
        for included in INCLUDE.findall(file.read_text(encoding="utf-8")):
            other = included.split("/")[0]
            if other != room:
                yield room, other, f"{file.relative_to(source)} includes {included}"


def link_arrows(source):
    """(room, room, what) for each room named in another room's LINKS; the stores are one room."""
    text = (source / "CMakeLists.txt").read_text(encoding="utf-8")
    for call in re.findall(r"hapax_room\(([^)]*)\)", text):
        words = call.split()
        room = words[0].split("_")[0]
        links = words[words.index("LINKS") + 1:] if "LINKS" in words else []
        for link in links:
            if link.startswith("hapax_") and link != "hapax_toml":
                other = link.removeprefix("hapax_").split("_")[0]
                if other != room:
                    yield room, other, f"CMakeLists.txt links hapax_{words[0]} with {link}"


def symbols(archive):
    """The hapax symbols that an archive defines and those that it needs."""
    defined, needed = set(), set()
    listing = subprocess.run(["nm", "--no-sort", str(archive)], capture_output=True, text=True, check=True).stdout
    for line in listing.splitlines():
        words = line.split()
        if len(words) < 2 or "5hapax" not in words[-1]:
            continue
        (needed if words[-2] == "U" else defined).add(words[-1])
    return defined, needed - defined


def symbol_arrows(source, build):
    """(room, room, what) for each symbol that only another room's archive defines. Archives of rooms that are gone are left out."""
    named = set(re.findall(r"hapax_room\((\w+)", (source / "CMakeLists.txt").read_text(encoding="utf-8")))
    rooms = defaultdict(lambda: (set(), set()))
    for archive in sorted(build.glob("libhapax_*.a")):
        if archive.stem.removeprefix("libhapax_") not in named:
            continue
        defined, needed = rooms[archive.stem.removeprefix("libhapax_").split("_")[0]]
        more_defined, more_needed = symbols(archive)
        defined |= more_defined
        needed |= more_needed
    homes = defaultdict(set)
    for room, (defined, _) in rooms.items():
        for name in defined:
            homes[name].add(room)
    for room, (_, needed) in rooms.items():
        for name in needed:
            found = homes.get(name, set())
            if found and room not in found and not found & MAP.get(room, set()):
                yield room, sorted(found)[0], f"room {room} needs {name}"


def main():
    source = Path(sys.argv[1])
    arrows = list(include_arrows(source)) + list(link_arrows(source))
    rooms = {room for room, _, _ in arrows}
    if not rooms >= set(MAP) - {"base"}:
        sys.exit(f"the test saw no arrow from {', '.join(sorted(set(MAP) - {'base'} - rooms))}: is it reading the right folder?")
    if len(sys.argv) > 2:
        if not list(Path(sys.argv[2]).glob("libhapax_*.a")):
            sys.exit(f"{sys.argv[2]} has no archive of a room")
        arrows += symbol_arrows(source, Path(sys.argv[2]))
    bad = [what for room, other, what in arrows if other not in MAP.get(room, set())]
    for what in sorted(set(bad)):
        print(f"not in the map: {what}")
    print(f"{len(arrows)} arrows, {len(set(bad))} against the map")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
