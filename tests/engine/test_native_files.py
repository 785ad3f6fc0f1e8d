"""A file of the native engine that is damaged, or made to do harm, is one message; no file ends the process."""

import copy
import functools
import json
import random
import re
import shutil
import struct
import tempfile
from pathlib import Path

import fully_connected
import numpy as np
import pytest
import recurrent
from native import KINDS, engine, folders, outputs, run, sentences

from nmt_frontier.errors import UserError
from nmt_frontier.model import (
    native_map,
    native_packing,
    native_quantization,
    native_vocabulary,
    native_weights,
    safetensors,
)
from nmt_frontier.search import loading
from nmt_frontier.search.engine import Search

FEW = sentences(6, longest=8)


def split(path):
    """Header and data of a file, by hand."""
    stored = path.read_bytes()
    (length,) = struct.unpack("<Q", stored[:8])
    return json.loads(stored[8 : 8 + length]), stored[8 + length :]


def join(path, header, data, length=None):
    """Write a file. header: bytes, or an object for JSON; length: of the header, as the file states it."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    text += b" " * (-(len(text) + 8) % 64)
    path.write_bytes(struct.pack("<Q", len(text) if length is None else length) + text + data)


def used(weights, candidates=None):
    """Decode with files in every way; a translation has pieces of the model only."""
    one = engine.Worker(engine.Model(weights, candidates))
    ways = [{}, {"beam_size": 3}]
    if candidates:
        ways += [{"candidates": "sentence"}, {"candidates": "batch", "beam_size": 3}]
    for options in ways:
        for hypotheses in outputs(one, FEW, longest=6, **options):
            assert hypotheses and all(0 <= piece < 121 for pieces, _ in hypotheses for piece in pieces)
    one.score(FEW, FEW)


def refused(path, message, weights=None):
    """Opening the file raises one line that names it. weights: those of the model, if the file is a map."""
    with pytest.raises(engine.EngineError, match=message) as error:
        engine.Model(weights, path) if weights else engine.Model(path)
    assert str(error.value).startswith(f"{path}: ") and "\n" not in str(error.value)


# Integers


def stored_with(integers, name, root, path, **changes):
    """A copy of an int8 or int16 model with other weights in a product, with the offsets that belong to them."""
    source = root / native_weights.NAME
    tensors, offsets = safetensors.read(source), native_quantization.offset(integers)
    metadata = safetensors.metadata(source)
    if name == "output":
        tensors[metadata["rows.output"] + ".rows"] = integers
    else:
        tensors[f"{name}.weight"] = native_packing.panels(integers)
    if integers.dtype == np.int8:
        tensors[f"{name}.offset"] = offsets
    safetensors.write(path, tensors | changes, metadata)


def shape_of(name, root):
    """Outputs and inputs of a product."""
    tensors, metadata = safetensors.read(root / native_weights.NAME), safetensors.metadata(root / native_weights.NAME)
    if name == "output":
        return tensors[metadata["rows.output"] + ".rows"].shape
    outputs, groups, panel, group = tensors[f"{name}.weight"].shape
    return outputs * panel, groups * group


def opens(path):
    try:
        return bool(engine.Model(path))
    except engine.EngineError as error:
        assert str(error).startswith(f"{path}: ") and "holds integers whose sums may overflow" in str(error)
        return False


@pytest.mark.parametrize("name", ["decoder.0.feed_forward.outer", "output"])
@pytest.mark.parametrize("kind", ["int8", "int16"])
def test_weights_are_used_if_and_only_if_no_sum_can_overflow(kind, name, tmp_path):
    """By the exporter's own bounds, near which all of these are."""
    root, path = folders() / kind, tmp_path / "weights"
    rows, width = shape_of(name, root)
    found, bound = set(), 2**31 // native_quantization.INT16_INPUT
    for seed in range(40):
        generator = np.random.default_rng(seed)
        integers = np.zeros((rows, width), np.int8 if kind == "int8" else np.int16)
        row = generator.integers(rows)
        if kind == "int8":
            start = 8 * generator.integers(width // 8)
            integers[row, start : start + 8] = generator.integers(-60, 60, 8)
            fits = native_quantization.lane_sum(integers).max() <= native_quantization.INT8_LANE
        else:
            integers[row] = generator.integers(-32768, 32767, width, endpoint=True)
            magnitudes = np.abs(integers[row].astype(np.int64)).cumsum()
            integers[row, np.searchsorted(magnitudes, bound) + generator.integers(2) :] = 0
            fits = np.abs(integers.astype(np.int64)).sum(axis=1).max() <= bound
        stored_with(integers, name, root, path)
        assert opens(path) == fits, seed
        found.add(bool(fits))
    narrow = kind == "int16" and width * 2**15 <= bound  # nothing can overflow
    assert found == ({True} if narrow else {True, False})


@pytest.mark.parametrize("name", ["decoder.0.feed_forward.outer", "output"])
def test_an_offset_that_no_weights_have_is_refused(name, tmp_path):
    root, path = folders() / "int8", tmp_path / "weights"
    rows, width = shape_of(name, root)
    integers = np.zeros((rows, width), np.int8)
    for most, fits in ((4096 * width, True), (-4096 * width, True), (4096 * width + 1, False), (-(2**31), False)):
        offsets = np.full(rows, most, np.int32)
        stored_with(integers, name, root, path, **{f"{name}.offset": offsets})
        if fits:
            assert engine.Model(path)
        else:
            refused(path, f"'{name}.offset' is out of range; export the model again")


@pytest.fixture
def wide(tmp_path):
    """Writes an int4 model whose feed-forward layers have inputs enough for steps whose sums may overflow."""
    root, inputs = folders() / "int4", 260 * native_quantization.INT4_INPUTS
    tensors, metadata = safetensors.read(root / native_weights.NAME), safetensors.metadata(root / native_weights.NAME)
    units = int(metadata["units"])
    for name in [name.removesuffix(".inner.bias") for name in tensors if name.endswith(".inner.bias")]:
        for product, shape in ((f"{name}.inner", (inputs, units)), (f"{name}.outer", (units, inputs))):
            tensors |= native_weights.linear(product, np.ones(shape, np.float32), np.zeros(shape[0]), "int4")

    def write(name, changed):
        changes = {name: np.ascontiguousarray(changed, tensors[name].dtype).reshape(tensors[name].shape)}
        path = tmp_path / "weights"
        safetensors.write(path, tensors | changes, metadata | {"feed_forward_units": str(inputs)})
        return path

    return write, units, inputs


@pytest.mark.parametrize(("last", "fits"), [(3, True), (4, False), (-3, True), (-4, False)])
def test_steps_are_used_if_and_only_if_no_sum_can_overflow(wide, last, fits):
    write, units, _ = wide
    steps = np.zeros((units // 16, 260, 16))
    steps[-1, :-1, 5], steps[-1, -1, 5] = np.resize([127, -127], 259), last
    assert opens(write("encoder.0.feed_forward.outer.steps", steps)) == fits


@pytest.mark.parametrize(("beyond", "fits"), [(0, True), (1, False)])
def test_an_offset_that_no_half_bytes_have_is_refused(wide, beyond, fits):
    write, units, inputs = wide
    path = write("encoder.0.feed_forward.outer.offset", np.full(units, -128 * 8 * 127 * inputs - beyond))
    if fits:
        assert engine.Model(path)
    else:
        refused(path, r"'encoder\.0\.feed_forward\.outer\.offset' is out of range; export the model again")


# The format


@pytest.mark.parametrize("name", [native_weights.NAME, native_map.NAME])
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_is_what_the_format_says(kind, name):
    """https://github.com/huggingface/safetensors#format; and large tensors start at multiples of 64 bytes."""
    path = folders() / kind / name
    header, data = split(path)
    assert all(isinstance(value, str) for value in header.pop("__metadata__").values())
    place, read = 0, safetensors.read(path)
    sizes = {"F32": 4, "I32": 4, "I16": 2, "I8": 1}
    for tensor, stored in header.items():
        assert stored.keys() == {"dtype", "shape", "data_offsets"}
        start, end = stored["data_offsets"]
        assert start == place and end - start == sizes[stored["dtype"]] * np.prod(stored["shape"], dtype=int)
        assert (path.stat().st_size - len(data) + start) % 64 == 0 or (end - start) % 64
        assert read[tensor].tobytes() == data[start:end] and [*read[tensor].shape] == stored["shape"]
        place = end
    assert place == len(data) and read.keys() == header.keys()


# Random damage


def damaged(stored, generator):
    """A file with some damage: flipped bytes, a lost end, other numbers or names in its header, other weights."""
    (length,) = struct.unpack("<Q", stored[:8])
    header, data = stored[8 : 8 + length], bytearray(stored[8 + length :])
    kind = generator.randrange(7)
    if kind == 0:
        return stored[: generator.randrange(len(stored))]
    if kind == 1:
        changed = bytearray(stored)
        for _ in range(generator.randint(1, 20)):
            changed[generator.randrange(len(changed))] = generator.randrange(256)
        return bytes(changed)
    if kind == 2:  # weights, the worst of floats among them
        for _ in range(generator.randint(1, 200)):
            place = 4 * generator.randrange(len(data) // 4)
            value = generator.choice([np.nan, np.inf, -np.inf, 3e38, -1e35, 1e-40, -1.0])
            data[place : place + 4] = generator.choice([struct.pack("<f", value), generator.randbytes(4)])
    elif kind == 3:
        numbers = [*re.finditer(rb"\d+", header)]
        hostile = [0, 1, 15, 16, 17, 121, 2**24, 2**31 - 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 16, 2**64, 10**30]
        for match in generator.sample(numbers, generator.randint(1, 3))[:1]:
            header = header[: match.start()] + b"%d" % generator.choice(hostile) + header[match.end() :]
    elif kind == 4:  # two words change places
        one, other = generator.sample([*{*re.findall(rb'"[^"]+"', header)}], 2)
        header = header.replace(one, b"\0").replace(other, one).replace(b"\0", other)
    elif kind == 5:  # a part of the header is lost or repeated
        start, end = sorted(generator.sample(range(len(header)), 2))
        header = header[:start] + generator.choice([b"", 2 * header[start:end]]) + header[end:]
    else:
        place = generator.randrange(len(header))
        text = generator.choice([b"\\", b'"', b"[", b"}", b"-", b"\x80", b"1e9"])
        header = header[:place] + text + header[place + 1 :]
    header += b" " * (-(len(header) + 8) % 64)
    return struct.pack("<Q", len(header)) + header + data


CALL = """
import sys
from pathlib import Path
import test_native_files
function, root, folder, *seeds = sys.argv[1:]
getattr(test_native_files, function)(Path(root), Path(folder), range(*map(int, seeds or [0])))
"""


def fuzz(root, folder, seeds):
    """Use damaged files. Prints how many could be opened; if this ends early, the last seed is the culprit."""
    opened = 0
    for seed in seeds:
        generator = random.Random(seed)
        kind, of_map = generator.choice(KINDS), generator.random() < 0.3
        paths = {name: root / kind / name for name in (native_weights.NAME, native_map.NAME)}
        name = native_map.NAME if of_map else native_weights.NAME
        (folder / name).write_bytes(damaged(paths[name].read_bytes(), generator))
        (folder / "seed").write_text(str(seed))
        paths[name] = folder / name
        try:
            used(*paths.values())
            opened += 1
        except engine.EngineError as error:
            assert "\n" not in str(error), f"seed {seed}: {error}"
        except AssertionError:
            raise AssertionError(f"seed {seed}: a translation with foreign pieces, or none") from None
    print(opened)


def fuzzed(tmp_path, seeds, **environment):
    opened = int(run(CALL, "fuzz", folders(), tmp_path, seeds.start, seeds.stop, **environment))
    assert len(seeds) / 30 < opened < len(seeds) * 0.9  # some open, some do not


@pytest.mark.slow
def test_damaged_files_are_refused_or_used_but_never_end_the_process(tmp_path):
    fuzzed(tmp_path, range(1500))


@pytest.mark.slow
def test_many_more_damaged_files(tmp_path):
    fuzzed(tmp_path, range(10_000, 15_000))


def no_numbers(root, folder, _):
    """Use weights that make scores NaN, infinite or very large: padding of the output layer must not win.

    Vectors with values that are not finite are refused; those of matrices are too many to look at.
    """
    for kind in KINDS:
        header, data = split(root / kind / native_weights.NAME)
        vectors = ("output.bias", "decoder.norm.bias", "encoder.norm.scale")
        for name in (*vectors, *(["decoder.0.feed_forward.outer.weight"] if kind == "float32" else [])):
            start, end = header[name]["data_offsets"]
            for value in (np.nan, np.inf, -np.inf, -1e35, 3e38):
                print(kind, name, value, flush=True)
                worst = np.full((end - start) // 4, value, np.float32).tobytes()
                join(folder / "weights", header, data[:start] + worst + data[end:])
                if np.isfinite(value) or name not in vectors:
                    used(folder / "weights", root / kind / native_map.NAME)
                    continue
                with pytest.raises(engine.EngineError, match=f"'{name}' holds what is no finite number"):
                    engine.Model(folder / "weights")


def test_weights_that_are_no_numbers_translate_to_pieces_of_the_model(tmp_path):
    run(CALL, "no_numbers", folders(), tmp_path)


# Damage by hand


def changed(metadata=None, tensors=None, **others):
    """A function that changes a header: values of metadata, fields of tensors, and other entries; None removes."""

    def change(header):
        for entries, changes in ((header["__metadata__"], metadata or {}), (header, others)):
            entries |= changes
            for name in [name for name, value in changes.items() if value is None]:
                del entries[name]
        for name, fields in (tensors or {}).items():
            header[name] = header[name] | fields

    return change


NAME = "decoder.0.self.queries.weight"
HOSTILE = {
    "no header": (lambda header: header.clear(), "'format' is missing in its metadata"),
    "no metadata": (changed(__metadata__=None), "'format' is missing in its metadata"),
    "another format": (changed({"format": "x"}), "its format is not nmt-frontier-native-1"),
    "another architecture": (changed({"architecture": "rnn"}), "its architecture 'rnn' is unknown"),
    "another type": (changed({"type": "int3"}), "its type 'int3' is unknown"),
    "a type that is not stored": (changed({"type": "int8"}), "is F32 .* where the model needs I8"),
    "a missing number": (changed({"units": None}), "'units' is missing in its metadata"),
    "units not of 16": (changed({"units": "24"}), "no multiple of 16"),
    "units of 0": (changed({"units": "0"}), "'units' is '0', not a number from 16 to 8192"),
    "units that are no number": (changed({"units": "16x"}), "'units' is '16x', not a number"),
    "units that are empty": (changed({"units": ""}), "'units' is '', not a number"),
    "other units": (changed({"units": "32"}), "where the model needs F32"),
    "negative layers": (changed({"decoder_layers": "-1"}), "'decoder_layers' is '-1'"),
    "more layers": (changed({"decoder_layers": "2"}), r"'decoder\.1\.self\.queries\.weight' is missing"),
    "very many heads": (changed({"encoder_heads": "8193"}), "'encoder_heads' is '8193'"),
    "more heads": (changed({"encoder_heads": "8192", "encoder_head_units": "8192"}), "where the model needs F32"),
    "no pieces": (changed({"source_pieces": "0"}), "'source_pieces' is '0'"),
    "more pieces": (changed({"source_pieces": "129"}), "where the model needs F32 144 16"),
    "very many pieces": (changed({"target_pieces": str(2**63)}), "'target_pieces' is '9223372036854775808'"),
    "an end outside": (changed({"end": "121"}), "'end' is '121', not a number from 0 to 120"),
    "a flag": (changed({"pre_norm": "2"}), "'pre_norm' is '2'"),
    "infinity": (changed({"source_factor": "inf"}), "'source_factor' is 'inf', not a number"),
    "no number": (changed({"epsilon": "nan"}), "'epsilon' is 'nan', not a number"),
    "a negative epsilon": (changed({"epsilon": "-1"}), "epsilon is negative"),
    "rows that are not there": (changed({"rows.output": "x"}), r"'x\.rows' is missing"),
    "steps of floats": (
        changed(**{NAME.replace("weight", "steps"): {"dtype": "I8", "shape": [0], "data_offsets": [0, 0]}}),
        "'decoder.0.self.queries' cannot have steps"),
    "a missing tensor": (changed(**{NAME: None}), f"'{NAME}' is missing"),
    "another shape": (changed(tensors={NAME: {"shape": [6, 16, 8, 2]}}), f"'{NAME}' is F32 6 16 8 2 where"),
    "a shape that overflows": (changed(tensors={NAME: {"shape": [2**32, 2**32, 16, 1]}}), "a shape that is too large"),
    "a shape that overflows to the right size": (
        changed(tensors={NAME: {"shape": [6 * 16 * 16 + 2**62]}}), "a shape that is too large"),
    "a negative shape": (changed(tensors={NAME: {"shape": [-6, -16, 16, 1]}}), "lacks a number"),
    "a fraction": (changed(tensors={NAME: {"shape": [6.0, 16, 16, 1]}}), "lacks a ']'"),
    "a number above 64 bits": (changed(tensors={NAME: {"shape": [2**64]}}), "a number that is too large"),
    "a shape of text": (changed(tensors={NAME: {"shape": "6"}}), r"lacks a '\['"),
    "a nested shape": (changed(tensors={NAME: {"shape": [[[[6]]]]}}), "lacks a number"),
    "an unknown type": (changed(tensors={NAME: {"dtype": "F64"}}), "unknown type 'F64'"),
    "a type that is no text": (changed(tensors={NAME: {"dtype": 4}}), "lacks a '\"'"),
    "a negative place": (changed(tensors={NAME: {"data_offsets": [-64, 6080]}}), "lacks a number"),
    "a place behind the end": (changed(tensors={NAME: {"data_offsets": [10**9, 10**9 + 6144]}}), "does not lie in the"),
    "a place that overflows": (changed(tensors={NAME: {"data_offsets": [2**64 - 6144 - 64, 2**64 - 64]}}), "not lie"),
    "a place that ends first": (changed(tensors={NAME: {"data_offsets": [6144, 0]}}), "does not lie in the file"),
    "one place": (changed(tensors={NAME: {"data_offsets": [0]}}), "does not lie in the file"),
    "a place that is not aligned": (changed(tensors={NAME: {"data_offsets": [4, 6148]}}), "not aligned to 64 bytes"),
    "no place": (changed(**{NAME: {"dtype": "F32", "shape": [1]}}), "does not lie in the file"),
    "an unknown field": (changed(tensors={NAME: {"more": 1}}), "unknown key 'more'"),
    "no positions": (changed(positions={"dtype": "F32", "shape": [0, 16], "data_offsets": [0, 0]}), "has no positions"),
    "positions without units": (
        changed(positions={"dtype": "F32", "shape": [16], "data_offsets": [0, 64]}), "'positions' is F32 16 where"),
    "one position": (changed(positions={"dtype": "F32", "shape": [], "data_offsets": [0, 4]}), "has no positions"),
    "positions of integers": (
        changed(positions={"dtype": "I32", "shape": [1, 16], "data_offsets": [0, 64]}), "'positions' is I32 1 16"),
    "a tensor that is none": (changed(**{NAME: 5}), "lacks a '{'"),
    "metadata of numbers": (changed({"units": 16}), "lacks a '\"'"),
}  # fmt: skip


RECURRENT = {
    "another cell": ({"cell": "rnn"}, "its cell 'rnn' is unknown"),
    "no direction": ({"directions": "0"}, "'directions' is '0'"),
    "three directions": ({"directions": "3"}, "'directions' is '3'"),
    "half a panel in a direction": ({"units": "16"}, "units of a direction are no multiple of 16"),
    "one direction": ({"directions": "1"}, "where the model needs F32"),
    "other embeddings": ({"embedding_units": "64"}, "where the model needs F32"),
    "no bridge": ({"bridge": "0"}, "no bridge between layers of different numbers"),
    "more layers": ({"decoder_layers": "2"}, r"'decoder\.1\.inputs\.weight' is missing"),
}


CONNECTED = {
    "no layer": ({"fully_connected_layers": "0"}, "'fully_connected_layers' is '0'"),
    "more layers": ({"fully_connected_layers": "3"}, r"'layers\.2\.inner\.weight' is missing"),
    "other layers": ({"fully_connected_units": "64"}, "where the model needs F32"),
    "nothing to project": ({"fully_connected_units": "32"}, "where the model needs F32"),
    "half a panel": ({"fully_connected_units": "40"}, "no multiple of 16"),
    "from zero": ({"start_from_zero": "1"}, "starts from zero"),
}


@functools.cache
def headers(kind):
    """Header, as JSON, and data of a file in float32."""
    if kind == "Transformer":
        return split(folders() / "float32" / native_weights.NAME)
    with tempfile.TemporaryDirectory() as folder:
        {"recurrent": recurrent, "connected": fully_connected}[kind].model().write("float32", Path(folder, "model"))
        return split(Path(folder, "model", native_weights.NAME))


HEADERS = {f"Transformer, {name}": ("Transformer", *case) for name, case in HOSTILE.items()}
for kind, cases in (("recurrent", RECURRENT), ("connected", CONNECTED)):
    HEADERS |= {f"{kind}, {name}": (kind, changed(metadata), message) for name, (metadata, message) in cases.items()}


@pytest.mark.parametrize(("kind", "change", "message"), HEADERS.values(), ids=HEADERS)
def test_a_hostile_header(tmp_path, kind, change, message):
    header, data = copy.deepcopy(headers(kind))
    change(header)
    join(tmp_path / "weights", header, data)
    refused(tmp_path / "weights", message)


BARE = {
    "nothing": (b"", "less than 8 bytes"),
    "7 bytes": (b"\0" * 7, "less than 8 bytes"),
    "no header": (b"\0" * 8, "lacks a '{'"),
    "a header that is cut off": (struct.pack("<Q", 100) + b"{}", "its header has 100 bytes"),
    "a huge header": (struct.pack("<Q", 2**64 - 1) + b"{}", "its header has 18446744073709551615 bytes"),
    "a header that wraps": (struct.pack("<Q", 2**64 - 8) + b"{}", "cut off or damaged: its header has"),
    "no JSON": (struct.pack("<Q", 8) + b"weights!", "lacks a '{'"),
    "an open object": (struct.pack("<Q", 8) + b'{"a":{  ', "lacks a '\"'"),
    "an open string": (struct.pack("<Q", 8) + b'{"a     ', "lacks a '\"'"),
    "an open escape": (struct.pack("<Q", 8) + b'{"aaaaa\\', "an escape"),
    "more behind it": (struct.pack("<Q", 8) + b"{} {}   ", "something behind its end"),
    "a line break": (struct.pack("<Q", 8) + b'{"a\nb": ', "a control character"),
    "a twin": (struct.pack("<Q", 116) + b'{%b,%b}  ' % ((b'"a":{"dtype":"I8","shape":[0],"data_offsets":[0,0]}',) * 2)
               + b" " * 20, "is a duplicate"),
    "very deep": (struct.pack("<Q", 100_000) + b"[" * 100_000, "lacks a '{'"),
}  # fmt: skip


@pytest.mark.parametrize(("stored", "message"), BARE.values(), ids=BARE)
def test_a_file_of_another_format(tmp_path, stored, message):
    (tmp_path / "weights").write_bytes(stored)
    refused(tmp_path / "weights", message)
    refused(tmp_path / "weights", message, folders() / "float32" / native_weights.NAME)
    with pytest.raises(UserError, match=r"weights: not a safetensors file"):
        safetensors.read(tmp_path / "weights")


def test_a_file_that_is_not_there(tmp_path):
    refused(tmp_path / "weights", "No such file")
    with pytest.raises(UserError, match=r"weights: is missing; export the model again"):
        safetensors.read(tmp_path / "weights")
    refused(tmp_path, "not a regular file")
    refused(tmp_path / "map", "No such file", folders() / "float32" / native_weights.NAME)


def test_a_map_is_no_model_and_a_model_no_map():
    folder = folders() / "float32"
    refused(folder / native_map.NAME, "its format is not nmt-frontier-native-1")
    refused(folder / native_weights.NAME, "its format is not nmt-frontier-map-1", folder / native_weights.NAME)


def table(**changes):
    """Tensors of a map with two n-grams, changed; None removes one."""
    ngrams = np.array([[5, -1], [5, 6]], np.int32)
    places = {"ngrams": ngrams, "starts": np.array([0, 1, 3], np.int32), "pieces": np.array([7, 8, 9], np.int32)}
    slots = np.full(16, -1, np.int32)
    slots[native_map.hashes(ngrams) % 16] = [0, 1]
    found = {**places, "slots": slots, "always": np.array([1, 2], np.int32)}
    for name, value in changes.items():
        found[name] = np.array(value, np.int32) if isinstance(value, list) else value
    return {name: value for name, value in found.items() if value is not None}


HOSTILE_MAPS = {
    "no empty slot": ({"slots": [0, 1]}, "its hash table has 2 slots"),
    "slots that are no power of two": ({"slots": [0, 1, -1]}, "its hash table has 3 slots"),
    "no slots": ({"slots": []}, "its hash table has 0 slots"),
    "slots of two dimensions": ({"slots": [[0, 1, -1, -1]]}, "a table has the wrong shape"),
    "a slot that leads nowhere": ({"slots": [0, 2, -1, -1]}, "leads nowhere"),
    "a negative slot": ({"slots": [0, -2, -1, -1]}, "leads nowhere"),
    "slots that are all full": ({"slots": [0, 1, 0, 1]}, "does not hold all entries"),
    "a lost entry": ({"slots": [0, -1, -1, -1]}, "does not hold all entries"),
    "an end before its start": ({"starts": [0, 4, 3]}, "an entry ends before it starts"),
    "a late start": ({"starts": [1, 1, 3]}, "its entries have no end"),
    "an end outside": ({"starts": [0, 1, 4]}, "its entries have no end"),
    "a negative end": ({"starts": [0, 1, -1]}, "its entries have no end"),
    "too few starts": ({"starts": [0, 3]}, "'starts' is I32 2 where the model needs I32 3"),
    "n-grams without pieces": ({"ngrams": [[], []]}, "a table has the wrong shape"),
    "very long n-grams": ({"ngrams": [[5] * 65] * 2}, "a table has the wrong shape"),
    "a foreign n-gram": ({"ngrams": [[5, -1], [5, 121]]}, "n-gram is not in the model's vocabulary; it is another mod"),
    "a negative n-gram": ({"ngrams": [[5, -2], [5, 6]]}, "n-gram is not in the model's vocabulary"),
    "a foreign piece": ({"pieces": [7, 8, 121]}, "a piece is not in the model's vocabulary; it is another model's map"),
    "a negative piece": ({"pieces": [-1, 8, 9]}, "a piece is not in the model's vocabulary"),
    "a foreign piece that is always on": ({"always": [121]}, "a piece is not in the model's vocabulary"),
    **{f"no {name}": ({name: None}, f"'{name}' is missing") for name in table()},
    **{f"{name} of floats": ({name: value.astype(np.float32)}, f"'{name}' is F32") for name, value in table().items()},
}  # fmt: skip


@pytest.mark.parametrize(("changes", "message"), HOSTILE_MAPS.values(), ids=HOSTILE_MAPS)
def test_a_hostile_map(tmp_path, changes, message):
    safetensors.write(tmp_path / "map", table(**changes), {"format": native_map.FORMAT})
    refused(tmp_path / "map", message, folders() / "float32" / native_weights.NAME)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda stored: stored["source"].pop(), r"has \d+ source pieces, the weights have \d+; export the model again"),
        (lambda stored: stored.update(unknown="<none>"), "<none> is none of its pieces; export the model again"),
    ],
)
def test_a_vocabulary_of_another_model(change, message, tmp_path):
    folder = shutil.copytree(folders() / "int8", tmp_path / "model")
    stored = json.loads((folder / native_vocabulary.NAME).read_text())
    change(stored)
    (folder / native_vocabulary.NAME).write_text(json.dumps(stored))
    with pytest.raises(UserError, match=f"{native_vocabulary.NAME}: {message}"):
        loading.load(folder, Search(), checksums=False)


def test_the_unchanged_map_is_accepted(tmp_path):
    """Else the tests above would prove nothing."""
    safetensors.write(tmp_path / "map", table(), {"format": native_map.FORMAT})
    used(folders() / "float32" / native_weights.NAME, tmp_path / "map")


@pytest.mark.parametrize(
    "fields",
    [
        {"shape": [10**30]}, {"shape": [-1]}, {"shape": "6"}, {"shape": [6.5]}, {"dtype": "F64"}, {"dtype": []},
        {"data_offsets": [-64, 6080]}, {"data_offsets": [0]}, {"data_offsets": [0, 10**30]}, {"data_offsets": [64, 0]},
        {"data_offsets": None}, {"data_offsets": [0, 6143]},
    ],
    ids=str,
)  # fmt: skip
def test_python_refuses_a_damaged_file(tmp_path, fields):
    header, data = split(folders() / "float32" / native_weights.NAME)
    changed(tensors={NAME: fields})(header)
    join(tmp_path / "weights", header, data)
    with pytest.raises(UserError, match=r"weights: not a safetensors file, cut off or damaged"):
        safetensors.read(tmp_path / "weights")


@pytest.mark.slow
def test_python_refuses_or_reads_files_with_any_damage(tmp_path):
    stored = (folders() / "int8" / native_map.NAME).read_bytes()
    for seed in range(300):
        (tmp_path / "map").write_bytes(damaged(stored, random.Random(seed)))
        try:
            safetensors.read(tmp_path / "map")
        except UserError as error:
            assert "\n" not in str(error)
