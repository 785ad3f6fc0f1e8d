"""CTranslate2: workers that share the weights, on the CPU of one thread each unless told otherwise."""

import os
from pathlib import Path
from typing import Any

import ctranslate2

from decode.engines import Batch, Engine, Search
from formats import cpu
from formats.decoding import compute_type, longest_output
from formats.errors import UserError
from formats.loading import translator


class CTranslate2(Engine):
    name = "ctranslate2"
    version = ctranslate2.__version__

    def __init__(self, folder: Path, description: dict[str, Any], search: Search):
        if search.device == "cuda" and not ctranslate2.get_cuda_device_count():
            raise UserError("--device cuda: CTranslate2 finds no GPU here")
        asked = compute_type(description["quantization"], search.device)
        supported = ctranslate2.get_supported_compute_types(search.device)
        if asked not in {*supported, "default"}:  # asked first, as CTranslate2 may take another type silently
            known = ", ".join(sorted(supported))
            raise UserError(f"{folder}: this {search.device} does not compute in {asked}; it supports {known}")
        if search.vocabulary_map and not (folder / "vmap.txt").exists():
            raise UserError(f"{folder}: its vocabulary map vmap.txt is missing; decode with --no-vocabulary-map")
        self._translator = translator(
            folder,
            device=search.device,
            compute_type=asked,
            inter_threads=search.workers,
            intra_threads=search.threads,
        )
        self.effective_compute_type = self._translator.compute_type
        if search.device == "cpu":
            self.isa = os.environ.get(cpu.ISA)
            self.library = cpu.described()
            self.int8_saturates = self.effective_compute_type.startswith("int8") and cpu.int8_saturates()
        self._options = {
            "beam_size": search.beam_size,
            "use_vmap": search.vocabulary_map,
            "length_penalty": search.length_penalty,
            "max_input_length": 0,
            "min_decoding_length": 0,  # as OpenNMT-tf; CTranslate2 takes 1 unless told
            "max_decoding_length": longest_output(description),
        }

    def translate(self, batch: Batch) -> Batch:
        return [result.hypotheses[0] for result in self._translator.translate_batch(batch, **self._options)]
