"""str ↔ UTF-8. A lone surrogate, which a str may have, is three bytes, as any other character of its size."""


def encoded(text: str) -> bytes:
    """Return a str in UTF-8."""
    return text.encode("utf-8", "surrogatepass")


def decoded(data: bytes | bytearray | memoryview) -> str:
    """Return UTF-8 as a str."""
    return str(data, "utf-8", "surrogatepass")
