"""BLEU of an int8 model on CPUs that compute its products in the other way: saturating, or exactly.

Where 8-bit products are exact here, oneDNN and CTranslate2 are held to AVX2, as on a CPU without VNNI; where they
saturate, oneMKL is set to its portable code, which is exact. Sums of integers do not depend on the CPU, so the products
equal those of the other CPU; rounding elsewhere may differ in the last bit. Speed is not measured.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

from findings.metrics import bleu
from formats import ctranslate2_products, records
from nmt_frontier.command_line import there
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import write_json

WITHOUT_VNNI = {"CT2_USE_MKL": "0", "ONEDNN_MAX_CPU_ISA": "AVX2", "CT2_FORCE_CPU_ISA": "AVX2"}
EXACT = {"CT2_USE_MKL": "1", "MKL_CBWR": "COMPATIBLE"}


def translation(model: Path, sources: list[str], environment: dict[str, str]) -> list[str]:
    """Greedy, without a map, in a process of its own."""
    call = [
        sys.executable,
        "-m",
        "nmt_frontier",
        "translate",
        "--model",
        str(model),
        "--no-vocabulary-map",
        "--workers",
        "1",
    ]
    kept = {name: value for name, value in os.environ.items() if name not in ctranslate2_products.settings()}
    text = "".join(f"{line}\n" for line in sources)
    done = subprocess.run(call, input=text, env=kept | environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise UserError(f"{model}: decoding with {environment} failed with status {done.returncode}; see above")
    return done.stdout.split("\n")[:-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=there, required=True, help="model folder of CTranslate2 in int8")
    parser.add_argument("--test-set", type=there, required=True, help="records: source and reference")
    parser.add_argument("--target-language", required=True, help="sacreBLEU chooses its tokenizer by it")
    parser.add_argument("--output", type=Path, required=True, help="JSON list to write, empty where there is no way")
    args = parser.parse_args()

    rows = []
    if ctranslate2_products.has_onemkl():
        saturates = not ctranslate2_products.int8_saturates()
        environment = WITHOUT_VNNI if saturates else EXACT
        sources, references = zip(*records.pairs(args.test_set), strict=True)
        outputs = translation(args.model, list(sources), environment)
        score = bleu(args.target_language).corpus_score(outputs, [references]).score
        rows.append({"compute_type": "int8", "environment": environment, "int8_saturates": saturates, "bleu": score})
    write_json(args.output, rows)


if __name__ == "__main__":
    command(main)
