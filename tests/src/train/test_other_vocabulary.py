"""Weights that come with another vocabulary than a study's."""

import pytest
from training_settings import VALUES, model

from nmt_frontier.errors import UserError
from train.training import start_from

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def averaged(tmp_path_factory):
    """A model of the pieces a, b and c, whose weights are saved, and their folder."""
    from opennmt.utils.checkpoint import Checkpoint

    folder = tmp_path_factory.mktemp("averaged")
    made = model(folder, "abc", VALUES | {"share_embeddings": True})
    made.create_variables()
    Checkpoint(made, model_dir=str(folder)).save(4)
    return folder, made


def test_pieces_of_both_vocabularies_keep_their_weights_and_new_ones_are_drawn(averaged, tmp_path):
    folder, old = averaged
    new = model(tmp_path / "new", ["⟦1⟧", "c", "⟦2⟧", "a"], VALUES | {"share_embeddings": True})
    new.create_variables()
    drawn = new.features_inputter.embedding.numpy()
    start_from(new, folder)
    theirs, ours = (each.features_inputter.embedding.numpy() for each in (old, new))
    assert (ours[[0, 1, 2, 4, 6, 7]] == theirs[[0, 1, 2, 5, 3, 6]]).all()  # control tokens, c, a and <unk>
    assert (ours[[3, 5]] == drawn[[3, 5]]).all() and (ours[3] != ours[5]).any()
    pairs = [(a, b) for a, b in zip(old.weights, new.weights, strict=True) if a.shape == b.shape]
    assert len(pairs) > 20 and all((a == b).numpy().all() for a, b in pairs)


def test_weights_of_another_shape_are_refused(averaged, tmp_path):
    for number, other in enumerate(({"ffn_units": 64}, {"encoder_layers": 2})):
        new = model(tmp_path / str(number), "ab", VALUES | {"share_embeddings": True} | other)
        new.create_variables()
        with pytest.raises(UserError, match="not the weights of a model of this shape"):
            start_from(new, averaged[0])
