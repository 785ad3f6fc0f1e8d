"""Change the description of a model folder, as damage or another version does; a value of None drops its key."""

import json


def redescribe(folder, **changes):
    path = folder / "model.json"
    changed = json.loads(path.read_text()) | changes
    path.write_text(json.dumps({key: value for key, value in changed.items() if changes.get(key, value) is not None}))
