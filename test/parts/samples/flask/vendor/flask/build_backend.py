"""Builds the wheel of the project in this folder. Other build backends would have to be downloaded.

A dependency with a folder in `vendor` comes from there.
"""

import pathlib
import tomllib
import zipfile

root = pathlib.Path(__file__).parent
project = tomllib.loads((root / "pyproject.toml").read_text())["project"]


def locate(requirement):
    folder = root / "vendor" / requirement
    return f"{requirement} @ {folder.as_uri()}" if folder.is_dir() else requirement


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    name, version = project["name"].replace("-", "_"), project["version"]
    info = f"{name}-{version}.dist-info"
    needs = [f"Requires-Dist: {locate(one)}\n" for one in project.get("dependencies", [])]
    files = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{''.join(needs)}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: sample\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    for package in [one.parent for one in root.glob("*/__init__.py")]:
        for file in package.rglob("*.py"):
            files[file.relative_to(root).as_posix()] = file.read_text()
    record = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    wheel = f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / wheel, "w") as archive:
        for path, text in {**files, f"{info}/RECORD": record}.items():
            archive.writestr(path, text)
    return wheel
