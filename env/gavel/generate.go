package gavel

import "math"

// jobsSeed is what the original adds to its seed for what its jobs are like.
const jobsSeed = 2

// Drawn is a job as the original's generator draws it.
type Drawn struct {
	Type     int     // index of its type
	GPUs     int     // 1, 2, 4 or 8
	Duration float64 // s alone on the reference GPU type
}

// Draw returns what the first n jobs that the original generates in a run with
// this seed are like (generate_job of utils.py). Type i may run on several GPUs
// if distributed[i]; without gangs every job has one. Arrivals tells when they
// arrive.
//
// Types and GPUs are the original's, durations but for the last bit or two.
func Draw(seed uint64, n int, distributed []bool, gangs bool) []Drawn {
	m := newMersenne(seed + jobsSeed)
	jobs := make([]Drawn, n)
	for i := range jobs {
		j := &jobs[i]
		j.GPUs = drawGPUs(m.float64()) // is drawn in any case
		j.Duration = drawDuration(m)
		if !gangs {
			j.GPUs = 1
		}
		for j.Type = m.below(len(distributed)); j.GPUs > 1 && !distributed[j.Type]; {
			j.Type = m.below(len(distributed))
		}
	}
	return jobs
}

func drawGPUs(u float64) int {
	switch {
	case u < 0.7:
		return 1
	case u <= 0.8:
		return 2
	case u <= 0.95:
		return 4
	}
	return 8
}

func drawDuration(m *mersenne) float64 {
	low, width := 1.5, 1.5
	if m.float64() >= 0.8 {
		low, width = 3, 1
	}
	return 60 * math.Pow(10, low+float64(width*m.float64()))
}
