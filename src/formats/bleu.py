"""sacreBLEU's BLEU with the tokenizer of a target language: 13a, or its own for Chinese, Japanese and Korean."""

from typing import Any

from sacrebleu.metrics import BLEU

from common.errors import UserError


def bleu(language: str, **options: Any) -> BLEU:
    """The metric; ``options`` are sacreBLEU's. Without a language its tokens are 13a.

    Raises UserError if the tokenizer of the language is a package that is not installed.
    """
    try:
        return BLEU(trg_lang=language, **options)
    except (RuntimeError, ImportError) as error:
        raise UserError(f"BLEU for the target language {language}: {' '.join(str(error).split())}") from error
