"""Change the description of a model folder, as damage or another version does."""

import json


def redescribe(folder, **changes):
    path = folder / "model.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
