"""Checkpoints: one safetensors file each, with its description as JSON in the header. Never a pickle.

A file is complete or absent: it is written beside its place and renamed, so a stopped run leaves the
checkpoint before.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from fivesthrees_env.observations import Layout
from fivesthrees_env.rules import Rules, RulesError

__all__ = ["AGENT_FILE", "CheckpointError", "check_fit", "describe", "read", "write"]

FORMAT = "fivesthrees-checkpoint-2"
AGENT_FILE = "agent.safetensors"


class CheckpointError(ValueError):
    """A checkpoint that cannot be read, or that belongs to other rules."""


def describe(rules: Rules, network: Mapping[str, int], **more: Any) -> dict[str, Any]:
    """The JSON part of a checkpoint: rules, layout fingerprint, network shape and `more`."""
    return {
        "rules": rules.to_dict(),
        "fingerprint": rules.fingerprint,
        "layout": Layout.of(rules).fingerprint,
        "network": dict(network),
        **more,
    }


def write(path: str | Path, tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> None:
    """Write a checkpoint, whole or not at all.

    Raises:
        OSError: if it cannot be written there.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    plain = {k: v.detach().contiguous() for k, v in tensors.items()}
    metadata = {"format": FORMAT, "about": json.dumps(about), "digest": digest(plain)}
    data = save(plain, metadata)
    try:
        draft.write_bytes(data)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def read(path: str | Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors and the description of a checkpoint file, or of the agent in a folder.

    Raises:
        CheckpointError: if it is missing, damaged or of another kind.
    """
    path = Path(path)
    path = path / AGENT_FILE if path.is_dir() else path
    if not path.exists():
        raise CheckpointError(f"{path}: no such checkpoint")
    try:
        with safe_open(path, "pt") as file:
            metadata = file.metadata() or {}
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, RuntimeError) as error:
        raise CheckpointError(f"{path}: damaged or no safetensors file ({error})") from error
    if metadata.get("format") != FORMAT:
        raise CheckpointError(f"{path}: format {metadata.get('format')!r} found; allowed: {FORMAT!r}")
    if metadata.get("digest") != digest(tensors):
        raise CheckpointError(f"{path}: damaged: the tensors are not those that were written")
    try:
        about = json.loads(metadata["about"])
        check_rules(about)
    except CheckpointError as error:
        raise CheckpointError(f"{path}: {error}") from error
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: damaged description ({error})") from error
    return tensors, about


def digest(tensors: Mapping[str, Tensor]) -> str:
    """A fingerprint of tensors: their names, shapes and bytes."""
    total = hashlib.sha256()
    for key in sorted(tensors):
        total.update(f"{key} {tensors[key].dtype} {tuple(tensors[key].shape)}".encode())
        total.update(tensors[key].reshape(-1).view(torch.uint8).numpy().tobytes())
    return total.hexdigest()


def check_rules(about: Mapping[str, Any]) -> Rules:
    """The rules of a description, if this version still lays out their observation as it was.

    Raises:
        CheckpointError: if it does not.
    """
    try:
        rules = Rules.from_dict(about["rules"])
    except RulesError as error:
        raise CheckpointError(f"rules: {error}") from error
    layout = Layout.of(rules).fingerprint
    if about["layout"] != layout:
        raise CheckpointError(
            f"layout: trained on observation layout {about['layout']}, this version has {layout}"
        )
    return rules


def check_fit(about: Mapping[str, Any], rules: Rules) -> None:
    """Refuse to play by rules other than those of the training.

    Raises:
        CheckpointError: naming every field that differs.
    """
    differing = check_rules(about).differences(rules)
    if differing:
        fields = "; ".join(f"{key}: trained with {a!r}, to play {b!r}" for key, (a, b) in differing.items())
        raise CheckpointError(f"the checkpoint does not fit the rules: {fields}")


def tensors_to_state(module: torch.nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Load a network's tensors.

    Raises:
        CheckpointError: if one is missing, unknown, or of another shape.
    """
    try:
        module.load_state_dict(dict(tensors))
    except RuntimeError as error:
        reason = " ".join(str(error).split())
        raise CheckpointError(f"weights do not fit the network: {reason}") from error
