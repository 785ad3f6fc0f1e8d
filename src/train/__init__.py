"""Vocabulary, epochs, training with OpenNMT-tf, averaging.

The commands, in the order in which a study runs them:

- ``vocabulary``: train one joint SentencePiece model for both languages
- ``sample``: draw an epoch from the corpora of a mixture by their weights
- ``augmentation``: what ``sample`` changes in some pairs of an epoch, by rule
- ``invented_text``: URLs, numbers, emoji and others that it puts there to be copied
- ``source_augmentation``: what changes in the sources of a corpus before a teacher translates them
- ``aligned_words``: where both sides of a pair are alike, so that text may be put there
- ``encode``: turn records into line-aligned files of pieces
- ``train``: train a model, validate it, average its last checkpoints
- ``training_record``: write learned.json of a system: its learning curve, and what it saw of each corpus
- ``marian``: train with Marian instead

The parts of ``train``:

- ``settings``: what decides on a training, as a rule writes it
- ``training``: a training in its run folder, which may be killed at any moment
- ``schedule``: phases, passes, and the journal that makes both resumable
- ``dataset``: the batches of one pass
- ``segmentation``: other segmentations of the same sentences in each pass
- ``precision``: float32 or bfloat16, where the settings leave it open
- ``optimizer``: OpenNMT-tf's parameters, and a faster cross-entropy
- ``guided_alignment``: the loss of a head that learns the links of word alignments
- ``word_distillation``: the loss against a teacher's probabilities of pieces
- ``trainer``: OpenNMT-tf's Trainer, made resumable
- ``time_left``: minutes left, in its log
- ``start_layers``: begin with layers of another model
- ``other_vocabulary``: begin with the weights of a model that has another vocabulary
- ``quantization``: updates with weights rounded as in int8 or int4
- ``moving_average``: of the weights, kept in checkpoints
- ``replicas``: training on several devices
- ``validation``: BLEU on the dev set during training

An *epoch* is a file of pairs drawn for training; a *pass* reads one epoch once. An *update* changes the weights; a
*step* is the number of an update, counted from the start of the training.
"""
