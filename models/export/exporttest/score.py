"""Checks an ONNX file and runs it in ONNX Runtime.

An array is {"shape": [...], "data": [...]}, row-major, null for NaN.
stdin: {"path": FILE, "cases": [{"global": array, "candidates": array, "mask": array}, ...]}
stdout: {"versions": "...", "inferred": {name: [...]}, "metadata": {...}, "cases": [{"scores": array, "value": array}, ...]}
"""

import json
import sys

import numpy as np
import onnx
import onnxruntime

request = json.load(sys.stdin)
model = onnx.load(request["path"])
onnx.checker.check_model(model, full_check=True)
for output in model.graph.output:  # what is inferred must not be what was declared
    output.type.tensor_type.ClearField("shape")
inferred = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)

options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
session = onnxruntime.InferenceSession(request["path"], options, providers=["CPUExecutionProvider"])


def array(a):
    return {"shape": a.shape, "data": [None if x != x else x for x in a.ravel().tolist()]}


answers = []
for case in request["cases"]:
    inputs = {
        name: np.array(a["data"], bool if name == "mask" else np.float32).reshape(a["shape"])
        for name, a in case.items()
    }
    names = [output.name for output in session.get_outputs()]
    answers.append({name: array(a) for name, a in zip(names, session.run(names, inputs))})
json.dump(
    {
        "versions": f"onnx {onnx.__version__}, ONNX Runtime {onnxruntime.__version__}",
        "inferred": {o.name: [d.dim_param or str(d.dim_value) for d in o.type.tensor_type.shape.dim] for o in inferred.graph.output},
        "metadata": session.get_modelmeta().custom_metadata_map,
        "cases": answers,
    },
    sys.stdout,
)
