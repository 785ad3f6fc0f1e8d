"""sacreBLEU's BLEU with the tokens of a target language.

They are 13a's, sacreBLEU's own for Chinese, Japanese and Korean, and characters for other languages without spaces.
"""

from typing import Any

from sacrebleu.metrics import BLEU

from common.errors import UserError

WITHOUT_SPACES = ("bo", "dz", "km", "lo", "my", "th")  # a sentence would be one token of 13a


def bleu(language: str, **options: Any) -> BLEU:
    """The metric; ``options`` are sacreBLEU's. Without a language its tokens are 13a.

    Raises UserError if the tokenizer of the language is a package that is not installed.
    """
    try:
        tokens = {"tokenize": "char"} if language in WITHOUT_SPACES else {}
        return BLEU(trg_lang=language, **tokens, **options)
    except (RuntimeError, ImportError) as error:
        raise UserError(f"BLEU for the target language {language}: {' '.join(str(error).split())}") from error
