"""Models of Hugging Face in their true sizes with random weights, for ``whole_models``, and the work that they do.

Beams and n-grams are the paper's, where it prints them (section 2.2), else those of its programs; a document has 1,024
pieces and a summary 50, as where it estimates its cache (table 2). Fairseq's Transformer has the layers of MarianMT.
"""

import itertools
from pathlib import Path
from typing import Any, NamedTuple

from nmt_frontier.files import write_json
from nmt_frontier.text import tokenizers


class Shape(NamedTuple):
    """A model and its work. source: pieces of a document, with its frame; 0: lines as they are. output: pieces.

    batches: of few and of many sentences; transformers tries both. peer: CTranslate2 decodes it, too.
    """

    kind: str
    config: dict[str, Any]
    sentences: int
    batches: tuple[int, int]
    output: int
    beam: int = 4
    ngram: int = 0
    source: int = 0
    peer: bool = False


def layers(encoder: int, decoder: int, units: int, heads: int, inner: int) -> dict[str, int]:
    """The configuration of BART and its kin."""
    made = {"d_model": units, "encoder_layers": encoder, "decoder_layers": decoder}
    made |= {f"{side}_attention_heads": heads for side in ("encoder", "decoder")}
    return made | {f"{side}_ffn_dim": inner for side in ("encoder", "decoder")}


LARGE = 1024, 16, 4096
FAIRSEQ = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 2}
BART = FAIRSEQ | {"vocab_size": 50_264, "forced_bos_token_id": None, "max_position_embeddings": 1024}
MARIAN = {"eos_token_id": 0, "scale_embedding": True, "max_position_embeddings": 512}
TRANSFORMER = MARIAN | {"vocab_size": 32_768, "activation_function": "relu"} | layers(6, 6, *LARGE)
OPUS_MT = MARIAN | {"vocab_size": 58_101, "activation_function": "swish"} | layers(6, 6, 512, 8, 2048)
NLLB = FAIRSEQ | {"vocab_size": 256_206, "activation_function": "relu"} | layers(12, 12, *LARGE)
T5 = {"vocab_size": 32_128, "d_model": 768, "d_kv": 64, "d_ff": 3072, "num_layers": 12, "num_heads": 12}
DOCUMENTS: dict[str, Any] = {"sentences": 2, "batches": (1, 2), "output": 50, "ngram": 3, "source": 1024}
LINES: dict[str, Any] = {"sentences": 24, "batches": (8, 24), "output": 32}
FEW: dict[str, Any] = LINES | {"sentences": 8, "batches": (4, 8)}
MODELS = {
    "bart": Shape("bart", BART | layers(12, 12, *LARGE), **DOCUMENTS),
    "distilbart": Shape("bart", BART | layers(12, 6, *LARGE), **DOCUMENTS),
    "t5": Shape("t5", T5, **FEW),
    "transformer": Shape("marian", TRANSFORMER, beam=5, **FEW),
    "opus-mt": Shape("marian", OPUS_MT, peer=True, **LINES),
    "nllb-600m": Shape("m2m_100", NLLB, peer=True, **FEW),
    "tiny": Shape("bart", BART | layers(2, 2, 64, 4, 128), **DOCUMENTS),  # to try the program
}
LANGUAGES = ("en", "de")  # of a model of several
MADE_UP = 8  # pieces at the end of its vocabulary that fairseq adds, and transformers' tokenizer


def make(shape: Shape, tokenizer: Path, folder: Path) -> Path:
    """The folder of Hugging Face: weights as transformers draws them, and the pieces of a SentencePiece model."""
    if (made := folder / "huggingface").exists():
        return made
    import torch  # inside: they are no dependencies
    import transformers

    torch.manual_seed(1)
    fields, files = _vocabulary(shape, tokenizer)
    config = transformers.AutoConfig.for_model(shape.kind, **shape.config | fields, forced_eos_token_id=None)
    partial = folder / "partial"
    transformers.AutoModelForSeq2SeqLM.from_config(config).save_pretrained(partial)
    for name, content in files.items():
        write_json(partial / name, content)
    for name in {"marian": ["source.spm", "target.spm"], "t5": ["spiece.model"]}.get(
        shape.kind, ["sentencepiece.bpe.model"]
    ):
        (partial / name).write_bytes(tokenizer.read_bytes())
    return partial.rename(made)


def _vocabulary(shape: Shape, tokenizer: Path) -> tuple[dict[str, int], dict[str, Any]]:
    """Numbers of control pieces for the configuration, and files with the numbers of all pieces."""
    pieces = tokenizers.pieces(tokenizer)
    if shape.kind == "t5":  # has the numbers of the SentencePiece model
        start = pieces.unk_id()
        return {"eos_token_id": pieces.eos_id(), "pad_token_id": start, "decoder_start_token_id": start}, {}
    names = (pieces.id_to_piece(number) for number in range(pieces.get_piece_size()))
    text = [piece for piece in names if piece not in ("<s>", "<pad>", "</s>", "<unk>")]
    size = shape.config["vocab_size"]
    if shape.kind == "marian":  # padding is the last piece
        numbers = _numbered(["</s>", "<unk>", *text], size - 1) | {"<pad>": size - 1}
        return {"pad_token_id": size - 1, "decoder_start_token_id": size - 1}, {"vocab.json": numbers}
    languages = [f"__{code}__" for code in LANGUAGES] if shape.kind == "m2m_100" else []
    numbers = _numbered(["<s>", "<pad>", "</s>", "<unk>", *text], size - len(languages) - MADE_UP)
    return {}, {"vocab.json": numbers, "special_tokens_map.json": {"additional_special_tokens": languages}}


def _numbered(pieces: list[str], count: int) -> dict[str, int]:
    """Pieces by number; unused ones fill them up."""
    unused = (f"<unused_{number}>" for number in itertools.count())
    return {piece: number for number, piece in enumerate(itertools.islice(itertools.chain(pieces, unused), count))}
