"""Layers that OpenNMT-tf lacks; a model_description.py builds models of them.

- ``embeddings``: unit-variance embedding initialiser for recurrent models
- ``history_decoder``: a Transformer's decoder with averaging attention, or with a simple recurrent unit (SSRU)
- ``conditional_gru``: Nematus' recurrent model
- ``fully_connected``: a recurrent decoder with fully connected layers on top
"""
