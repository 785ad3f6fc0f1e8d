"""The batches of one pass through an encoded epoch."""

from math import ceil
from pathlib import Path
from typing import Any

from train.batch_tail import MergedTail
from train.schedule import SHUFFLE_BUFFER

LENGTH_BUCKET = 2  # pieces by which the sentences of a batch differ at most, which keeps padding low


def shuffle_buffer(pairs: int) -> int:
    """Sentences to shuffle at a time in an epoch of ``pairs``: SHUFFLE_BUFFER at most, and parts of equal size.

    OpenNMT-tf spreads parts of this size evenly over the file. A shorter last part would make the parts overlap, and a
    pass would read some pairs twice (a third of 600,000 pairs with parts of 500,000).
    """
    return SHUFFLE_BUFFER if pairs <= SHUFFLE_BUFFER else ceil(pairs / ceil(pairs / SHUFFLE_BUFFER))


def dataset(model: Any, training: dict[str, Any], source: Path, target: Path, pairs: int) -> MergedTail:
    """The batches of one pass: OpenNMT-tf's, except that undersized ones are merged.

    model: an initialized OpenNMT-tf model. training: an entry of the configuration. source, target: an epoch of
    ``pairs`` pairs in pieces, a sentence per line.
    """
    import tensorflow as tf

    unit = "tokens" if training["batch_tokens"] else "sentences"
    size = training["batch_tokens"] or training["batch_sentences"]
    batches = tf.autograph.experimental.do_not_convert(model.examples_inputter.make_training_dataset)(
        str(source),
        str(target),
        size,
        batch_type="tokens" if unit == "tokens" else "examples",
        shuffle_buffer_size=shuffle_buffer(pairs),
        length_bucket_width=LENGTH_BUCKET,
        maximum_features_length=training["max_length"],
        maximum_labels_length=training["max_length"] + 1,  # the target begins with <s>
        single_pass=True,
    )
    # At the end of a pass TensorFlow waits for its autotune thread, which may be asleep for a minute. Nothing here
    # needs autotuning: OpenNMT-tf sets the threads of each stage of the pipeline.
    options = tf.data.Options()
    options.autotune.enabled = False
    return MergedTail(batches.with_options(options), size, unit)
