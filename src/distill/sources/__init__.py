"""Where corpora come from: places, archives and compression, formats. Everything ends as blocks of lines."""
