package tune

import "github.com/yardmaster/yardmaster/models/nn"

// Regret is the mean over lessons of how much more a choice costs than the best
// configuration of that window, in weighted job-hours. The best is a minimum
// over noisy costs, so that no choice has a regret of 0.
type Regret struct {
	Default  float64 `json:"default"`  // of the published configuration
	Constant float64 `json:"constant"` // of the best single one, chosen on the other lessons
	Searched float64 `json:"searched"` // of what the search put in force
	Learned  float64 `json:"learned"`  // of the cloned policy
}

// compareRegret returns the regrets on held, the constant being chosen on train.
func compareRegret(p *nn.Params, train, held []Lesson) Regret {
	constant := bestConstant(train)
	scorer := nn.NewScorer(p)
	var scratch nn.Scratch
	return Regret{
		Default:  meanRegret(held, func(*Lesson) int { return 0 }),
		Constant: meanRegret(held, func(*Lesson) int { return constant }),
		Searched: meanRegret(held, func(l *Lesson) int { return l.Choice }),
		Learned: meanRegret(held, func(l *Lesson) int {
			o := &l.Observation
			scores := make([]float32, o.N())
			scorer.Score(scores, o.Global, o.Candidates, o.Mask, &scratch)
			best := 0
			for c := range scores {
				if scores[c] > scores[best] {
					best = c
				}
			}
			return best
		}),
	}
}

// meanRegret returns the mean relative cost of what choose chooses.
func meanRegret(lessons []Lesson, choose func(*Lesson) int) float64 {
	sum := 0.0
	for i := range lessons {
		sum += lessons[i].Relative[choose(&lessons[i])]
	}
	return sum / float64(len(lessons))
}

// bestConstant returns the configuration with the least mean relative cost.
func bestConstant(lessons []Lesson) int {
	best, least := 0, 0.0
	for c := range lessons[0].Relative {
		if r := meanRegret(lessons, func(*Lesson) int { return c }); c == 0 || r < least {
			best, least = c, r
		}
	}
	return best
}

// meanRelative returns the mean relative cost over lessons and configurations.
func meanRelative(lessons []Lesson) float64 {
	sum, n := 0.0, len(lessons[0].Relative)
	for c := range n {
		sum += meanRegret(lessons, func(*Lesson) int { return c })
	}
	return sum / float64(n)
}
