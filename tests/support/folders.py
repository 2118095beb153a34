"""Read whole folders, to compare them."""

from pathlib import Path


def contents(folder: Path, without: str = "") -> dict[str, bytes]:
    """Return the content of each file in a folder and its subfolders by its relative path, except files of one name."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != without
    }
