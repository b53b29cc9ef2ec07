package titan

import (
	"strings"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

// ColocationFormat describes MODEL_sharing.csv: left_bsz, left_step_time,
// left_gpu_memory, right_bsz, right_step_time, right_gpu_memory. A row is two
// jobs of one model on one GPU; steps/s is 1 / step time, memory is in GiB.
func ColocationFormat() importers.ColocationFormat {
	return importers.ColocationFormat{
		Name: "titan", About: "Titan (SoCC 2022): V100/MODEL_sharing.csv, two jobs on one GPU",
		Sniff: SniffSharing, Import: ImportSharing,
	}
}

// SniffSharing reports whether a text begins like a file of two jobs on one GPU.
func SniffSharing(head []byte) bool { return importers.HasColumns(head, headers[kindSharing]...) }

// ImportSharing reads one or more files of two jobs on one GPU.
func ImportSharing(inputs ...importers.Input) (*datasets.ColocationTable, importers.Report, error) {
	pairs, models := new(importers.Pairs), ModelNames()
	err := pairs.Each(inputs, func(s *importers.Source) error {
		if kindOf(s.Name) != kindSharing {
			return s.Error(0, "", "its name does not say that it holds two jobs on one GPU", "name it as Titan does, MODEL_sharing.csv")
		}
		folder, model, err := placeOf(s)
		if err != nil {
			return err
		}
		return pairs.ReadTable(s, importers.Layout{Names: headers[kindSharing]}, func(v *importers.Values) error {
			row := datasets.ColocationRow{Source: source, GPUs: 1, Nodes: 1, Quality: datasets.Measured}
			for i, job := range []*datasets.Tenancy{&row.A, &row.B} {
				job.Batch = v.Batch(3 * i)
				job.StepsPerSecond = 1 / v.Number(3*i+1, 1e-9, 1e9)
				job.MemGiB = v.Number(3*i+2, 1e-6, 1e6)
			}
			if v.Err() != nil {
				return nil
			}
			row.A.Model = pairs.Model(models, model)
			row.B.Model, row.GPUType = row.A.Model, pairs.GPUType(folder, gpuTypes)
			return pairs.Keep(s, v.Line(), row)
		})
	})
	if err != nil {
		return nil, importers.Report{}, err
	}
	return pairs.Finish(datasets.Meta{Source: "Titan (Gao et al., SoCC 2022), two jobs on one GPU", Licence: "MIT"})
}

// placeOf returns the GPU type and the model that a file's name tells.
func placeOf(s *importers.Source) (gpuType, model string, err error) {
	folder, file := importers.PathNames(s.Name)
	if _, known := gpuTypes[strings.ToLower(folder)]; !known {
		return "", "", s.Error(0, "", "its folder does not say on which GPUs it was measured", "name it with its folder, A100 or V100")
	}
	if model = strings.TrimSuffix(file, "_"+kinds[kindOf(s.Name)]); model == "" {
		return "", "", s.Error(0, "", "its name does not say which model it is of", "name it as Titan does, MODEL_placements.csv")
	}
	return strings.ToLower(folder), model, nil
}
