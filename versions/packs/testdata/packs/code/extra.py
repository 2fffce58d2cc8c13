NODE_CLASS_MAPPINGS = {k: v for k, v in find()}
