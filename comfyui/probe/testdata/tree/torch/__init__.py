"""A card of 100000 bytes, and tensors that are only sizes."""
from . import cuda, nn  # noqa: F401

strided = "strided"


class OutOfMemoryError(RuntimeError):
    pass


class device:
    def __init__(self, name):
        self.type, _, self.index = name.partition(":")

    def __eq__(self, other):
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self):
        return hash(self.type)

    def __str__(self):
        return self.type


class Storage:
    def __init__(self, size):
        self.size = size

    def data_ptr(self):
        return id(self)

    def nbytes(self):
        return self.size


class Tensor:
    layout = strided
    device = device("cpu")

    def __init__(self, size):
        self.storage = Storage(size)

    def untyped_storage(self):
        return self.storage

    def is_pinned(self):
        return False


kept = {"leak": [Tensor(4096)]}
