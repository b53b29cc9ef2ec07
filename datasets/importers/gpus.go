package importers

import "strings"

// gpuTypes are names that traces give to GPU types, in lower case, and those of
// the performance catalogue. M16 and M32 are the V100s of Alibaba's traces, by memory.
// The A100 is not here unless its memory is named: its two sizes are two types
// of the catalogue, with other bandwidth.
var gpuTypes = map[string]string{
	"k80": "K80", "p100": "P100", "t4": "T4", "a10": "A10", "l4": "L4", "a800": "A800", "a800-sxm4-80gb": "A800",
	"v100": "V100", "v100m16": "V100", "v100m32": "V100-32", "v100-16": "V100", "v100-32": "V100-32",
	"a100-40": "A100-40", "a100_40": "A100-40", "a100_40gb": "A100-40", "a100-sxm4-40gb": "A100-40", "a100-pcie-40gb": "A100-40",
	"a100-80": "A100-80", "a100_80": "A100-80", "a100_80gb": "A100-80", "a100-sxm4-80gb": "A100-80", "a100_80gb_pcie": "A100-80",
	"h100": "H100", "h200": "H200", "b200": "B200", "mi300x": "MI300X",
	"gh200": "GH200", "gh-96": "GH200", "gh200-96": "GH200",
	"titanrtx": "TitanRTX", "titan-rtx": "TitanRTX", "titan-rtx-24": "TitanRTX", "quadrortx5000": "QuadroRTX5000", "quadro-rtx5000-16": "QuadroRTX5000",
	"rtx2080": "RTX2080", "rtx-2080": "RTX2080", "rtx-3090": "RTX3090",
	"rtx2080ti": "RTX2080Ti", "rtx_2080_ti": "RTX2080Ti", "geforce_rtx_2080_ti": "RTX2080Ti",
	"rtx3090": "RTX3090", "rtx_3090": "RTX3090", "geforce_rtx_3090": "RTX3090",
}

// GPUType returns the catalogue's name of a GPU type, and false where it has
// none or the name is not clear.
func GPUType(name string) (string, bool) {
	known, ok := gpuTypes[strings.TrimPrefix(strings.ToLower(name), "nvidia_")]
	return known, ok
}
