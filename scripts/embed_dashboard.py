#!/usr/bin/env python3
"""embed_dashboard.py ROOT FOLDER MODE NODE NPM: builds web/ in FOLDER and writes FOLDER/dashboard_files.cpp, which puts the
built files into the program, plain and compressed (src/api/routes/dashboard_files.hpp).

MODE is auto, required or off. Without Node.js, or when npm cannot install the packages, auto embeds web/without_node.html and
says why, required fails, and off does not try. NODE and NPM are "none" when they were not found."""
import gzip
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

OLDEST_NODE = 18
TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
         ".svg": "image/svg+xml"}
SOURCES = ["package.json", "package-lock.json", ".npmrc", "tsconfig.json", "vite.config.ts", "index.html", "src"]


class CannotBuild(Exception):
    pass


def run(command, folder, advice):
    # The packages' scripts are not run: nothing that is installed here needs one.
    environment = {**os.environ, "npm_config_update_notifier": "false", "NO_COLOR": "1"}
    try:
        done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", stdin=subprocess.DEVNULL)
    except OSError as trouble:
        raise CannotBuild(f"{command[0]} does not run: {trouble}") from trouble
    if done.returncode != 0:
        tail = "\n".join(done.stdout.splitlines()[-15:])
        raise CannotBuild(f"{' '.join(map(str, command))} failed:\n{tail}\n{advice}")


def check_node(node, npm):
    if "none" in (node, npm):
        raise CannotBuild(f"Node.js {OLDEST_NODE} or newer and npm are not here (Debian: apt install nodejs npm)")
    try:
        version = subprocess.run([node, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        number = int(version.lstrip("v").split(".")[0])
    except (OSError, subprocess.CalledProcessError, ValueError) as trouble:
        raise CannotBuild(f"{node} --version does not tell the version of Node.js: {trouble}") from trouble
    if number < OLDEST_NODE:
        raise CannotBuild(f"Node.js is {version}; expected {OLDEST_NODE} or newer")


def build(root, folder, node, npm):
    check_node(node, npm)
    work = folder / "web"
    work.mkdir(parents=True, exist_ok=True)
    for name in SOURCES:
        source, target = root / "web" / name, work / name
        if source.is_dir():
            shutil.rmtree(target, ignore_errors=True)
            # Not shutil.copytree, which copies modes: nobody could remove the copy of a read-only folder.
            for file in filter(pathlib.Path.is_file, source.rglob("*")):
                copy = target / file.relative_to(source)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, copy)
        else:
            shutil.copyfile(source, target)
    installed, lock = work / "installed.json", work / "package-lock.json"
    if not installed.exists() or installed.read_bytes() != lock.read_bytes():
        installed.unlink(missing_ok=True)  # npm ci removes the earlier packages first
        run([npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline", "--fetch-retries=1"], work,
            "npm ci needs a registry, or its cache from an earlier time. Set npm's own configuration to one that this machine "
            "reaches, then build again.")
        shutil.copyfile(lock, installed)
    modules = work / "node_modules"
    run([node, modules / "typescript" / "bin" / "tsc", "--noEmit"], work, "The sources in web/src do not type-check.")
    run([node, modules / "vite" / "bin" / "vite.js", "build", "--logLevel", "warn"], work, "The sources in web/ do not build.")
    return work / "dist"


def embed(files, folder):
    """files: path in the dashboard → bytes. The bytes go into the object by .incbin, which compiles in no time."""
    parts = ['#include "api/routes/dashboard_files.hpp"\n\n#include <array>\n\n']
    rows = []
    blobs = folder / "blobs"
    shutil.rmtree(blobs, ignore_errors=True)
    blobs.mkdir(parents=True)
    for number, (path, content) in enumerate(sorted(files.items())):
        etag = hashlib.sha256(content).hexdigest()[:16]
        sizes = {}
        for kind, data in (("plain", content), ("gzip", gzip.compress(content, 9, mtime=0))):
            name = f"hapax_dashboard_{number}_{kind}"
            # The name tells the content, so that a compiler cache, which does not look into the file, sees a change.
            blob = blobs / f"{number}_{kind}_{hashlib.sha256(data).hexdigest()[:16]}"
            blob.write_bytes(data)
            sizes[kind] = len(data)
            parts.append(f'asm(".section .rodata\\n.global {name}\\n.balign 16\\n{name}:\\n.incbin \\"{blob}\\"\\n.byte 0\\n.previous\\n");\n'
                         f'extern "C" const char {name}[];\n')
        rows.append(f'    {{.path = "{path}", .content_type = "{TYPES.get(pathlib.PurePath(path).suffix, "application/octet-stream")}", '
                    f'.etag = "\\"{etag}\\"", .plain = {{hapax_dashboard_{number}_plain, {sizes["plain"]}}}, '
                    f'.gzip = {{hapax_dashboard_{number}_gzip, {sizes["gzip"]}}}}},\n')
    parts.append("\nnamespace hapax::api {\n\nstd::span<const DashboardFile> dashboard_files() {\n"
                 f"  static const std::array<DashboardFile, {len(rows)}> files{{{{\n{''.join(rows)}  }}}};\n  return files;\n}}\n\n"
                 "}  // namespace hapax::api\n")
    return "".join(parts)


def main(root, folder, mode, node, npm):
    root, folder = pathlib.Path(root), pathlib.Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / "dashboard_files.cpp"
    missing = False
    try:
        if mode == "off":
            raise CannotBuild("HAPAX_WEB is off")
        dist = build(root, folder, node, npm)
        files = {path.relative_to(dist).as_posix(): path.read_bytes() for path in dist.rglob("*") if path.is_file()}
        if "index.html" not in files or any("/" in path and not path.startswith("assets/") for path in files):
            raise CannotBuild(f"web/ built other files than expected: {sorted(files)}")
    except CannotBuild as trouble:
        if mode == "required":
            sys.exit(f"The dashboard cannot be built: {trouble}")
        missing = mode != "off"
        if missing:
            print(f"The dashboard is left out; the server tells how to get it. {trouble}", file=sys.stderr)
        files = {"index.html": (root / "web" / "without_node.html").read_bytes()}
    target.write_text(embed(files, folder), encoding="utf-8")
    if missing:
        # Older than the sources, so that the next build tries again.
        os.utime(target, (1, 1))


main(*sys.argv[1:])
