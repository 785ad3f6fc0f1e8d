"""What a page consists of."""

from html.parser import HTMLParser


class Outline(HTMLParser):
    """Tags that are opened and closed in order, the text, and the addresses that something is loaded from."""

    EMPTY = frozenset({"meta", "br", "img", "input", "link"})

    def __init__(self, text):
        super().__init__()
        self.open, self.text, self.loaded = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.loaded += [value for name, value in attributes if name in {"src", "href"}]
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)
