NODE_CLASS_MAPPINGS = {"KSampler": object}
