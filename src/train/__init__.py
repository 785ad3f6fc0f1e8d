"""Vocabulary, epochs, OpenNMT-tf training, averaging.

The commands, in the order in which a study runs them:

- ``vocabulary``: train one joint SentencePiece model for both languages
- ``sample``: draw an epoch from the corpora of a mixture by their weights
- ``encode``: turn records into the line-aligned files of pieces that trainers read
- ``train``: train a model with OpenNMT-tf, validate it, average its last checkpoints
- ``training_record``: learning curve and exposure to each corpus; as a command, write learned.json of a system
- ``marian``: train a Transformer with Marian instead

What ``train`` is made of:

- ``training``: a training in its run folder, which survives being killed at any moment
- ``schedule``: phases, passes, and the journal that makes both resumable
- ``dataset``: the batches of one pass, with undersized ones at its end merged
- ``optimizer``: optimizer, learning rate and loss as parameters of OpenNMT-tf; cross-entropy with one softmax
- ``trainer``: OpenNMT-tf's Trainer, made resumable; stops when the loss diverges
- ``replicas``: the devices of a training, copies of the model on several, and a few updates on all against one
- ``validation``: BLEU on the dev set during training

An *epoch* is a file of pairs drawn for training; a *pass* reads one epoch once. An *update* changes the weights; a
*step* is the number of an update, counted from the start of the training.
"""
