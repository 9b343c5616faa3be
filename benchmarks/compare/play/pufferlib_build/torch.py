"""Stands in for torch while pip builds PufferLib, so that the package index is all that the build needs.

PufferLib's ``setup.py`` imports torch to compile its trainer, which ``NO_TRAIN`` leaves out. It also compiles
every environment, and fetches graphics and physics libraries from elsewhere unless their folders exist. Here
the environments that are measured stay; they need the headers of raylib, which lie in the source for Linux.
"""

import sys
from pathlib import Path
from types import SimpleNamespace

from setuptools import Extension
from setuptools.command.build_ext import build_ext

MEASURED = ("breakout", "tetris", "tripletriad")
FETCHED = (
    "raylib-5.5_webassembly",
    "raylib-5.5_linux_amd64",
    "raylib-5.5_macos",
    "box2d-web",
    "box2d-linux-amd64",
    "box2d-macos-arm64",
)

for folder in FETCHED:
    Path(folder).mkdir(exist_ok=True)
for binding in Path("pufferlib", "ocean").glob("*/binding.c"):
    if binding.parent.name not in MEASURED:
        binding.unlink()

cpp_extension = SimpleNamespace(
    CppExtension=Extension, CUDAExtension=Extension, BuildExtension=build_ext, CUDA_HOME=None
)
sys.modules["torch.utils"] = SimpleNamespace(cpp_extension=cpp_extension)
sys.modules["torch.utils.cpp_extension"] = cpp_extension
