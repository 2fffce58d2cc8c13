NODE_CLASS_MAPPINGS = {}
for c in find():
    NODE_CLASS_MAPPINGS[c.name()] = c
