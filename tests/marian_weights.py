"""Tiny models of Marian's with random weights, written without Marian: .npz, .bin, a binary shortlist, vocabularies."""

import io
import struct
from pathlib import Path

import numpy as np
import sentencepiece
import yaml
from models import sentences

from nmt_frontier.importers.marian_binary import MAGIC
from nmt_frontier.importers.marian_parameters import CONFIG
from nmt_frontier.importers.read_marian import ONLY_TRANSFORMER

UNITS, INNER = 32, 48
END = 3.0  # added to the score of the end, so that sentences end
INT8, FLOAT32, BYTES = 0x4101, 0x404, 0x101  # types in a file


def vocabulary(seed: int = 1, pieces: int = 90, **numbers: int) -> bytes:
    """A SentencePiece model as Marian trains it: the end is piece 0, the unknown piece 1, or with others numbers."""
    model = io.BytesIO()
    ids = numbers or {"bos_id": -1, "eos_id": 0, "unk_id": 1}
    text = iter(sentences(500, seed))
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=text, model_writer=model, vocab_size=pieces, minloglevel=2, **ids
    )
    return model.getvalue()


def options(source: int, target: int, **others: object) -> dict[str, object]:
    """Options of a student with a simple recurrent decoder, as Firefox' are."""
    return ONLY_TRANSFORMER | {
        "version": "v1.9.56 deadbeef", "type": "transformer", "dim-emb": UNITS, "dim-vocabs": [source, target],
        "transformer-dim-ffn": INNER, "transformer-heads": 4, "enc-depth": 1, "dec-depth": 1,
        "transformer-preprocess": "", "transformer-postprocess": "dan", "transformer-postprocess-emb": "d",
        "transformer-ffn-activation": "relu", "transformer-aan-activation": "swish", "transformer-aan-depth": 2,
        "transformer-aan-nogate": False, "transformer-decoder-autoreg": "rnn", "dec-cell": "ssru",
        "tied-embeddings": True, "tied-embeddings-all": source == target,
    } | others  # fmt: skip


def weights(source: int, target: int, seed: int = 1) -> dict[str, np.ndarray]:
    """Random weights by Marian's names; both sides have one matrix of embeddings if they have as many pieces."""
    generator = np.random.default_rng(seed)

    def matrix(rows: int, columns: int, wide: float) -> np.ndarray:
        return (generator.standard_normal((rows, columns)) * wide / np.sqrt(rows)).astype(np.float32)

    found = {"Wemb": matrix(target, UNITS, 4.0)} if source == target else {
        "encoder_Wemb": matrix(source, UNITS, 4.0), "decoder_Wemb": matrix(target, UNITS, 4.0)}  # fmt: skip
    attention = [("encoder_l1_self", "qkvo"), ("decoder_l1_context", "qkvo")]
    for layer, names in attention:
        for name in names:
            found |= {f"{layer}_W{name}": matrix(UNITS, UNITS, 2.0), f"{layer}_b{name}": matrix(1, UNITS, 0.1)}
    for side in ("encoder", "decoder"):
        found |= {f"{side}_l1_ffn_W1": matrix(UNITS, INNER, 2.0), f"{side}_l1_ffn_b1": matrix(1, INNER, 0.1)}
        found |= {f"{side}_l1_ffn_W2": matrix(INNER, UNITS, 2.0), f"{side}_l1_ffn_b2": matrix(1, UNITS, 0.1)}
    found |= {"decoder_l1_rnn_W": matrix(UNITS, UNITS, 2.0), "decoder_l1_rnn_Wf": matrix(UNITS, UNITS, 2.0)}
    found |= {"decoder_l1_rnn_bf": matrix(1, UNITS, 0.1), "decoder_ff_logit_out_b": matrix(1, target, 0.1)}
    found["decoder_ff_logit_out_b"][0, 0] += END
    norms = ["encoder_l1_self_Wo", "encoder_l1_ffn_ffn", "decoder_l1_context_Wo", "decoder_l1_ffn_ffn",
             "decoder_l1_rnn_ffn"]  # fmt: skip
    for name in norms:
        found |= {f"{name}_ln_scale": np.ones((1, UNITS), np.float32), f"{name}_ln_bias": matrix(1, UNITS, 0.1)}
    return found


def write_npz(path: Path, found: dict[str, np.ndarray], config: dict[str, object]) -> None:
    np.savez(path, **found, **{CONFIG: np.frombuffer(yaml.safe_dump(config).encode() + b"\0", np.int8)})


def write_bin(
    path: Path, found: dict[str, np.ndarray], config: dict[str, object], integers: bool = False, version: int = 1
) -> None:
    """Write as Marian does. integers: matrices in 8 bits, with the alphas of their inputs, as Bergamot's are."""
    text = np.frombuffer(yaml.safe_dump(config).encode() + b"\0", np.int8)
    items = [(name, *_stored(name, matrix, integers)) for name, matrix in found.items()]
    if integers:
        alphas = [f"{name}_QuantMultA" for name, kind, *_ in items if kind == INT8]
        items += [(name, FLOAT32, (1, 1), struct.pack("<f", 0.1)) for name in alphas]
    items.append((CONFIG, BYTES, text.shape, text.tobytes()))
    padded = [data + bytes(-len(data) % 256) for *_, data in items]
    head = struct.pack("<2Q", version, len(items))
    for (name, kind, shape, _), data in zip(items, padded, strict=True):
        head += struct.pack("<4Q", len(name) + 1, kind, len(shape), len(data))
    head += b"".join(name.encode() + b"\0" for name, *_ in items)
    head += b"".join(struct.pack(f"<{len(shape)}i", *shape) for _, _, shape, _ in items)
    padding = -(len(head) + 8) % 256
    path.write_bytes(head + struct.pack("<Q", padding) + bytes(padding) + b"".join(padded))


def _stored(name: str, matrix: np.ndarray, integers: bool) -> tuple[int, tuple[int, ...], bytes]:
    if not integers or ("_W" not in name[-3:] and "Wemb" not in name):
        return FLOAT32, matrix.shape, matrix.tobytes()
    factor = np.float32(127 / np.abs(matrix).max())
    rounded = np.rint(matrix * factor).astype(np.int8)
    return INT8, matrix.shape, (rounded if "Wemb" in name else rounded.T).tobytes() + factor.tobytes()


def write_shortlist(path: Path, first: int, candidates: list[list[int]]) -> None:
    starts = np.cumsum([0, *map(len, candidates)]).astype(np.uint64)
    pieces = np.array([piece for found in candidates for piece in found], np.uint32)
    path.write_bytes(struct.pack("<6Q", MAGIC, 0, first, 50, len(starts), len(pieces)) + bytes(starts) + bytes(pieces))
