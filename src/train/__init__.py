"""Vocabulary, epochs, OpenNMT-tf training, averaging.

The commands, in the order in which a study runs them:

- ``vocabulary``: train one joint SentencePiece model for both languages
- ``sample``: draw an epoch from the corpora of a mixture by their weights
- ``encode``: turn records into the line-aligned files of pieces that trainers read
- ``train``: train a model with OpenNMT-tf, validate it, average its last checkpoints
- ``learned``: note which sentences of which corpora a training saw
- ``marian``: train a Transformer with Marian instead

What ``train`` is made of:

- ``training``: a training in its run folder, which survives being killed at any moment
- ``schedule``: phases, passes, and the journal that makes both resumable
- ``dataset``: the batches of one pass
- ``batch_tail``: merge the undersized batches at the end of an epoch
- ``optimizer``: optimizer, learning rate and loss as parameters of OpenNMT-tf
- ``cross_entropy``: label-smoothed cross-entropy with one softmax
- ``trainer``: OpenNMT-tf's Trainer, made resumable; stops when the loss diverges
- ``devices``: the GPUs of a training, or CPU devices in their place
- ``replicas``: train on several of them together
- ``replica_check``: a few updates on all of them against the same on one, before the training
- ``validation``: BLEU on the dev set during training
- ``learning``: learning curve and exposure to each corpus

An *epoch* is a file of pairs drawn for training; a *pass* reads one epoch once. An *update* changes the weights; a
*step* is the number of an update, counted from the start of the training.
"""
