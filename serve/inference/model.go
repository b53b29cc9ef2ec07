package inference

import (
	"errors"
	"slices"
	"sync"

	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/nn"
)

// Served is a model that can be asked.
type Served struct {
	Name    string
	Version string // "" where the model has none
	Model   *models.Model
}

// Source returns the models of now; of a name's versions the first is the one
// that answers where none is asked for. It is called for every request.
type Source func() []Served

// network is a model that is ready to be evaluated.
type network struct {
	dims   nn.Dims
	scorer *nn.Scorer
	critic *nn.Critic
}

// networks keeps the networks of the models that were asked for. It holds none
// that the source no longer has.
type networks struct {
	mu      sync.Mutex
	byModel map[*models.Model]*network
}

func (c *networks) get(m *models.Model, all []Served) *network {
	c.mu.Lock()
	defer c.mu.Unlock()
	for old := range c.byModel {
		if !slices.ContainsFunc(all, func(s Served) bool { return s.Model == old }) {
			delete(c.byModel, old)
		}
	}
	n, ok := c.byModel[m]
	if !ok {
		n = &network{m.Params.Dims, nn.NewScorer(m.Params), nn.NewCritic(m.Params)}
		if c.byModel == nil {
			c.byModel = make(map[*models.Model]*network)
		}
		c.byModel[m] = n
	}
	return n
}

// errNotFinite is what a network comes to that overflows.
var errNotFinite = errors.New("the network's scores are not finite for these inputs")

// evaluate returns the scores [N] and the value of an observation of the
// network's shape.
func (n *network) evaluate(o *observation) (scores []float32, value float32, err error) {
	var scratch nn.Scratch
	scores = make([]float32, len(o.mask))
	n.scorer.Score(scores, o.global, o.candidates, o.mask, &scratch)
	value = n.critic.Value(o.global, o.candidates, o.mask, &scratch)
	for _, x := range append(scores, value) {
		if x-x != 0 {
			return nil, 0, errNotFinite
		}
	}
	return scores, value, nil
}
