"""Layers for OpenNMT-tf that its own lacks; a model_description.py builds models of them.

- ``embeddings``: those of recurrent models, not as small as OpenNMT-tf's
- ``history_decoder``: a Transformer's decoder with the mean of all inputs so far, or a cell whose gates do not depend
  on its state
- ``conditional_gru``: Nematus' recurrent model
- ``fully_connected``: a recurrent decoder with fully connected layers on top
"""
