from x import io


class E(io.ComfyNode):
    @classmethod
    def define_schema(cls):
        return io.Schema(node_id="ExtraNode")
