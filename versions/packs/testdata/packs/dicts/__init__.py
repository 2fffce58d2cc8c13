from .nodes import NODES, A as AA
from . import more
PREFIX = "My "
NODE_CLASS_MAPPINGS = {"One": object, PREFIX + "Two": object, f"{PREFIX}Three": object, **NODES, AA.NAME: AA}
NODE_CLASS_MAPPINGS.update(more.NODE_CLASS_MAPPINGS)
NODE_CLASS_MAPPINGS["Six"] = object
NODE_DISPLAY_NAME_MAPPINGS = {"Not": "a type"}
