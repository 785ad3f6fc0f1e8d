"""Model folders in, translations and measurements out."""
