"""Layers for OpenNMT-tf that its own lacks; a model_description.py builds models of them.

- ``embeddings``: those of recurrent models, not as small as OpenNMT-tf's
- ``averaging``: the mean of all inputs so far in place of self-attention
- ``simple_recurrence``: a cell whose gates do not depend on its state
- ``history_decoder``: a Transformer's decoder with one of these
- ``conditional_gru``: Nematus' recurrent model
- ``fully_connected``: a recurrent decoder with fully connected layers on top
"""
