"""A process that decodes with Marian: reads lines of JSON, [sentences, options], and answers with [translations].

decode.engines.marian runs it as a file, so that it loads only Marian.
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
