"""A CTranslate2 model without one of its parts, to time what is left.

The engine builds the layers that it finds weights for: a decoder without encoder-decoder attention is one of a
language model, and the same file under the name of an encoder is only its encoder (layers/transformer.cc,
models/transformer.cc of CTranslate2). What such a model says is of no use; the work that is left is done by the same
code on the same shapes.
"""

import struct
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from formats.errors import UserError

VERSION = 6  # of the binary format; CTranslate2's _serialize in specs/model_spec.py
ATTENTION = "/attention/"  # between decoder and encoder; self-attention is /self_attention/
ENCODER = ("TransformerEncoderSpec", 1)  # name and revision of a model that is an encoder only


class Model(NamedTuple):
    """A ``model.bin``. variables: shape and everything that follows the name, as bytes. aliases: by their names."""

    spec: str
    revision: int
    variables: dict[str, tuple[tuple[int, ...], bytes]]
    aliases: dict[str, str]


def read(path: Path) -> Model:
    """Raises UserError for what is no model of this version."""
    data = path.read_bytes()
    try:
        if struct.unpack_from("I", data) != (VERSION,):
            raise UserError(f"{path}: not in version {VERSION} of CTranslate2's format")
        spec, place = _string(data, 4)
        revision, count = struct.unpack_from("II", data, place)
        place += 8
        variables, aliases = {}, {}
        for _ in range(count):
            name, start = _string(data, place)
            (rank,) = struct.unpack_from("B", data, start)
            shape = struct.unpack_from(f"{rank}I", data, start + 1)
            (size,) = struct.unpack_from("I", data, start + 2 + 4 * rank)  # behind a byte for the type
            place = start + 6 + 4 * rank + size
            variables[name] = shape, data[start:place]
        (count,) = struct.unpack_from("I", data, place)
        place += 4
        for _ in range(count):
            name, place = _string(data, place)
            aliases[name], place = _string(data, place)
    except (struct.error, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not a model of CTranslate2, cut off or damaged ({error})") from None
    return Model(spec, revision, variables, aliases)


def write(path: Path, model: Model) -> None:
    parts = [struct.pack("I", VERSION), _packed(model.spec), struct.pack("II", model.revision, len(model.variables))]
    parts += [_packed(name) + body for name, (_, body) in model.variables.items()]
    parts.append(struct.pack("I", len(model.aliases)))
    parts += [_packed(name) + _packed(other) for name, other in model.aliases.items()]
    path.write_bytes(b"".join(parts))


def without_attention(model: Model) -> Model:
    """The decoder does not look at the encoder. Raises UserError where there is no such layer."""
    kept = {name: value for name, value in model.variables.items() if ATTENTION not in name}
    if len(kept) == len(model.variables):
        raise UserError(f"a {model.spec} without attention between decoder and encoder; a Transformer is needed")
    aliases = {name: other for name, other in model.aliases.items() if ATTENTION not in name}
    for name, other in list(aliases.items()):
        if ATTENTION in other:  # what stays needs a copy of what it shared with it
            kept[name] = model.variables[aliases.pop(name)]
    return model._replace(variables=kept, aliases=aliases)


def encoder(model: Model) -> Model:
    """Its encoder alone; the weights of the decoder stay in the file, unused."""
    return model._replace(spec=ENCODER[0], revision=ENCODER[1])


def whole(model: Model) -> Model:
    return model


def decoder_layers(model: Model) -> tuple[int, int]:
    """How many layers the decoder has, and its width."""
    norms = [name for name in (*model.variables, *model.aliases) if name.endswith(f"{ATTENTION}layer_norm/gamma")]
    if not norms:
        raise UserError(f"a {model.spec} without attention between decoder and encoder; a Transformer is needed")
    shape, _ = model.variables[model.aliases.get(norms[0], norms[0])]
    return len(norms), shape[0]


@contextmanager
def folder(source: Path, operation: Callable[[Model], Model] = whole, vmap: Path | None = None) -> Iterator[Path]:
    """A model folder with links to another one, its model operated on, with ``vmap`` in place of its own map."""
    with tempfile.TemporaryDirectory() as name:
        made = Path(name)
        for file in source.iterdir():
            if file.name != "model.bin" and not (vmap and file.name == "vmap.txt"):
                (made / file.name).symlink_to(file.resolve())
        if not (made / "vocabulary.json").exists():  # the name that models of one vocabulary look for
            (made / "vocabulary.json").symlink_to((source / "shared_vocabulary.json").resolve())
        if vmap:
            (made / "vmap.txt").symlink_to(vmap.resolve())
        write(made / "model.bin", operation(read(source / "model.bin")))
        yield made


def _string(data: bytes, place: int) -> tuple[str, int]:
    """A string with its length before it and a zero behind, and the place after it."""
    (length,) = struct.unpack_from("H", data, place)
    return data[place + 2 : place + 1 + length].decode(), place + 2 + length


def _packed(text: str) -> bytes:
    return struct.pack("H", len(text.encode()) + 1) + text.encode() + b"\0"
