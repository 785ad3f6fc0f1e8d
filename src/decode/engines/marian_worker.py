"""A process that decodes with Marian: a line of JSON in, [sentences, options], and one out, [translations].

Started by decode.engines.marian, as a file: so it loads nothing but Marian.
"""

import json
import sys

import _pymarian


def main() -> None:
    translator = _pymarian.Translator(" ".join(sys.argv[1:]))
    print("[]", flush=True)  # the model is loaded
    for line in sys.stdin:
        sentences, options = json.loads(line)
        print(json.dumps(translator.translate(sentences, **options)), flush=True)


if __name__ == "__main__":
    main()
