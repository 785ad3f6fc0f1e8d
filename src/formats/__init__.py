"""The small, named formats through which distill, export and decode meet."""
