"""CTranslate2: workers that share the weights."""

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from formats import ctranslate2_loading
from formats import ctranslate2_products as products
from formats.shape import architecture, self_attention
from nmt_frontier import limits, machine
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json
from nmt_frontier.importers import ctranslate2_model
from nmt_frontier.model import vocabulary_map
from nmt_frontier.model.model_folder import Description
from nmt_frontier.model.vocabulary_map import VocabularyMap
from nmt_frontier.search import tuned
from nmt_frontier.search.engine import Batch, Engine, Search

PACKED = "CT2_PACKED_GEMM"  # environment variable: 0 packs weights for every matrix product


class CTranslate2(Engine):
    """Decodes Transformers with self-attention, converted from OpenNMT-tf or Marian."""

    name = "ctranslate2"
    label = "CTranslate2"
    packages = ("ctranslate2",)
    types = ("float32", "int16", "int8", *ctranslate2_loading.HALF_TYPES)
    devices = ("cpu", "cuda")
    weights, map_file = ctranslate2_model.NAME, ctranslate2_model.MAP
    prefixes = True
    isa_variable = products.ISA
    files: ClassVar = {
        ctranslate2_model.NAME: "weights, as the engine reads them",
        ctranslate2_model.MAP: "vocabulary map: the target pieces that a source n-gram may bring",
    }

    @classmethod
    def supported(cls) -> list[str]:
        """The types of CTranslate2 here, plus half types (nmt_frontier.limits), plus int16 with oneMKL."""
        import ctranslate2

        here = {*ctranslate2.get_supported_compute_types("cpu"), *ctranslate2_loading.HALF_TYPES}
        return [name for name in cls.types if name in here or (name == "int16" and products.has_onemkl())]

    @classmethod
    def fast(cls, quantization: str) -> bool:
        return ctranslate2_loading.fast(quantization)

    @classmethod
    def widest(cls) -> str | None:
        return products.widest()

    @classmethod
    def lacks(cls, shape: Mapping[str, Any]) -> str | None:
        return None if self_attention(shape) else f"has no {architecture(shape)}"

    @classmethod
    def folder(cls, quantization: str) -> str:
        return quantization

    @classmethod
    def write_map(cls, source: Path, folder: Path) -> None:
        """source: of export.vocabulary_map, in CTranslate2's own format."""
        vocabulary_map.check(source, cls.vocabulary(folder))
        shutil.copy(source, folder / cls.map_file)

    @classmethod
    def read_map(cls, folder: Path, sources: Iterable[Sequence[str]]) -> VocabularyMap:
        return VocabularyMap.load(folder / cls.map_file, [*sources])

    @staticmethod
    def vocabulary(folder: Path) -> list[str]:
        """The pieces of a model; of both sides if they have separate vocabularies."""
        return [piece for path in sorted(folder.glob("*vocabulary.json")) for piece in read_json(path)]

    def __init__(self, folder: Path, description: Description, search: Search):
        ctranslate2_loading.prepare(description.quantization, search.device)
        if "packed" in search.without:
            os.environ[PACKED] = "0"  # for the process (formats.ctranslate2_loading)
        if search.device == "cuda":
            ctranslate2_loading.use_gpu()
        elif search.workers == len(machine.cores()) and (isa := tuned.settings(folder, search.beam_size).get("isa")):
            os.environ.setdefault(products.ISA, isa)
        import ctranslate2

        compute_type = ctranslate2_loading.compute_type(description.quantization, search.device)
        supported = ctranslate2.get_supported_compute_types(search.device)
        if compute_type not in {*supported, "default"}:  # CTranslate2 may silently take another type
            types = ", ".join(sorted(supported))
            raise UserError(f"{folder}: this {search.device} does not compute in {compute_type}; it supports {types}")
        self._translator = ctranslate2_loading.translator(
            folder,
            device=search.device,
            compute_type=compute_type,
            inter_threads=search.workers,
            intra_threads=search.threads,
        )
        self.effective_compute_type = self._translator.compute_type
        if search.device == "cpu":
            self.isa = os.environ.get(products.ISA)
            self.library = products.described()
            self.int8_saturates = self.effective_compute_type.startswith("int8") and products.int8_saturates()
        self._prefixes = [[*(pieces or ())] for pieces in (search.source_prefix, search.target_prefix)]
        self._options = {
            "beam_size": search.beam_size,
            "use_vmap": search.vocabulary_map,
            "length_penalty": search.length_penalty,
            "no_repeat_ngram_size": search.blocked_ngram,
            "max_input_length": 0,
            "min_decoding_length": 0,  # as OpenNMT-tf; CTranslate2's default is 1
            "max_decoding_length": limits.longest_output(description),
        }

    def warning(self, folder: Path) -> str | None:
        return products.warning(folder) if self.int8_saturates else None

    def decode(self, batch: Batch) -> Batch:
        before, begin = self._prefixes
        sources, begins = [[*before, *sentence] for sentence in batch], [begin] * len(batch) if begin else None
        results = self._translator.translate_batch(sources, begins, **self._options)
        return [result.hypotheses[0][len(begin) :] for result in results]
