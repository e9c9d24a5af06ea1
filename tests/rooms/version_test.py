"""version_test.py SOURCE_FOLDER: hapax/version.hpp and CMake's project() name the same version."""

import re
import sys
from pathlib import Path


def main():
    source = Path(sys.argv[1])
    project = re.search(r"^project\(hapax VERSION (\d+)\.(\d+)\.(\d+)", (source / "CMakeLists.txt").read_text(), re.MULTILINE)
    header = (source / "include/hapax/version.hpp").read_text()
    parts = [re.search(rf"^#define HAPAX_VERSION_{part} (\d+)$", header, re.MULTILINE).group(1)
             for part in ("MAJOR", "MINOR", "PATCH")]
    text = re.search(r'^#define HAPAX_VERSION "(.*)"$', header, re.MULTILINE).group(1)
    if list(project.groups()) != parts or ".".join(parts) != text:
        sys.exit(f"CMakeLists.txt says {'.'.join(project.groups())}, version.hpp {'.'.join(parts)} and \"{text}\"")


if __name__ == "__main__":
    main()
