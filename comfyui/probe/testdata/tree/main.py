"""Imitates the order in which ComfyUI imports things, and runs two prompts."""
import json
import os
import sys

import execution
import comfy.model_management
import comfy.utils

print(json.dumps([__name__, os.path.basename(__file__), sys.argv[1:], os.path.basename(sys.path[0]),
                  sys.modules["__main__"].__dict__ is globals(), "MEMTRIX_PROBE_FD" in os.environ and len(sys.argv) < 2]))
executor = execution.PromptExecutor()
for number in (1, 2):
    print(executor.execute({"1": {"class_type": "Load"}, "2": {"class_type": "Sample"}}, f"prompt-{number}", {}, []))
if "--many" in sys.argv:
    for number in range(2000):
        executor.execute({"2": {"class_type": "Sample"}}, "many", {}, [])
    print("'dropped':", sys.modules["memtrix_probe.channel"].counters()["dropped"] > 0)
if "--oom" in sys.argv:
    print(executor.execute({"3": {"class_type": "Explode"}}, "prompt-3", {}, []))
if "--wait" in sys.argv:
    sys.stdin.read()
