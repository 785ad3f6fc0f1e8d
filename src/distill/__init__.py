"""Text in, distilled training data out."""
