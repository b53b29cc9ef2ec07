package bc

import (
	"math"

	"github.com/yardmaster/yardmaster/train/picks"
)

// found is what one or several demonstrations add up to.
type found struct {
	loss         float64
	right, picks int
}

func (f *found) add(g found) {
	f.loss += g.loss
	f.right += g.right
	f.picks += g.picks
}

func (f found) metrics() Metrics {
	n := float64(max(1, f.picks))
	return Metrics{Loss: f.loss / n, Accuracy: float64(f.right) / n, Steps: 1}
}

// picks returns the number of picks that d is about.
func (d *Demonstration) picks() int {
	if len(d.Target) > 0 {
		return 1
	}
	return len(d.Picks.Actions)
}

// loss returns the loss of d under scores and adds scale times its derivative to
// dScores.
func (d *Demonstration) loss(e *picks.Evaluator, scores []float32, scale float64, dScores []float32) found {
	if len(d.Target) > 0 {
		return d.softLoss(scores, scale, dScores)
	}
	e.Forward(&d.Picks, scores, nil)
	return found{loss: e.SetLoss(d.Set, scale, dScores), right: d.right(scores), picks: len(d.Picks.Actions)}
}

// right counts the picks at which the highest legal score belongs to the set.
func (d *Demonstration) right(scores []float32) int {
	n := 0
	for p, a := range d.Picks.Actions {
		best := int(a)
		for i, s := range scores {
			if s > scores[best] && d.Picks.Legal(i, p) {
				best = i
			}
		}
		for k := p; k < max(d.Set, p+1); k++ {
			if int(d.Picks.Actions[k]) == best {
				n++
				break
			}
		}
	}
	return n
}

// softLoss is the cross-entropy −Σ target·log softmax(scores) over the legal
// rows; its derivative is softmax(scores) − target.
func (d *Demonstration) softLoss(scores []float32, scale float64, dScores []float32) found {
	top := math.Inf(-1)
	for i, legal := range d.Observation.Mask {
		if legal {
			top = max(top, float64(scores[i]))
		}
	}
	z := 0.0
	for i, legal := range d.Observation.Mask {
		if legal {
			z += math.Exp(float64(scores[i]) - top)
		}
	}
	f, best, likeliest := found{picks: 1}, -1, -1
	for i, legal := range d.Observation.Mask {
		if !legal {
			continue
		}
		logP := float64(scores[i]) - top - math.Log(z)
		f.loss -= d.Target[i] * logP
		dScores[i] += float32(scale * (math.Exp(logP) - d.Target[i]))
		if best < 0 || scores[i] > scores[best] {
			best = i
		}
		if likeliest < 0 || d.Target[i] > d.Target[likeliest] {
			likeliest = i
		}
	}
	if best == likeliest {
		f.right = 1
	}
	return f
}
