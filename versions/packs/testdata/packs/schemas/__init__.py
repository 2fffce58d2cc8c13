from comfy_api.latest import io


class N(io.ComfyNode):
    @classmethod
    def define_schema(cls):
        return io.Schema(node_id="V3One", inputs=[])


class M(N):
    ID = "V3Two"

    @classmethod
    def define_schema(cls):
        return io.Schema(node_id=cls.ID)


class O(N):
    @classmethod
    def define_schema(cls):
        schema = super().define_schema()
        schema.node_id = "V3Three"
        return schema


class P:
    NodeId = "V3Four"


NODE_CLASS_MAPPINGS = {}
for node in [P]:
    NODE_CLASS_MAPPINGS[node.NodeId] = node


async def comfy_entrypoint(): ...
