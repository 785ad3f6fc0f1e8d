"""Checkpoints in, deployable model folders out."""
