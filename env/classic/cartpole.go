package classic

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
)

// CartPoleID is the registered name.
const CartPoleID = "CartPole-v1"

// Encoder is the version of the observations of this package.
const Encoder = "classic/1"

// CartPole is the balancing problem of Barto, Sutton & Anderson (IEEE SMC 13,
// 1983) with the physics, bounds and rewards of Gymnasium's CartPole-v1: each
// step pays 1, and an episode terminates where the pole leans by more than 12°
// or the cart is more than 2.4 from the middle, or is truncated after 500 steps.
//
// The observation is position, velocity, angle and angular velocity; the two
// candidates are one-hot: push left, push right. A step is 20 ms.
type CartPole struct {
	spec  env.Spec
	obs   env.Observation
	state [4]float64 // x, ẋ, θ, θ̇
	steps int
	ready bool
}

// Constants of the physics, SI units.
const (
	gravity    = 9.8
	cartMass   = 1.0
	poleMass   = 0.1
	totalMass  = cartMass + poleMass
	halfLength = 0.5 // of the pole
	force      = 10.0
	stepLength = 20 * time.Millisecond

	maxPosition = 2.4
	maxAngle    = 12 * 2 * math.Pi / 360
	maxSteps    = 500
	startSpread = 0.05
)

// NewCartPole returns a CartPole that needs a Reset.
func NewCartPole() *CartPole {
	// Velocities have no bound; positions may overshoot theirs by one step.
	unbounded := float32(math.MaxFloat32)
	e := &CartPole{spec: env.Spec{ID: CartPoleID, Encoder: Encoder, Space: env.Space{
		Global: []env.Feature{
			{Name: "position", Low: -2 * maxPosition, High: 2 * maxPosition},
			{Name: "velocity", Low: -unbounded, High: unbounded},
			{Name: "angle", Low: -2 * maxAngle, High: 2 * maxAngle},
			{Name: "angular_velocity", Low: -unbounded, High: unbounded},
		},
		Candidate:     []env.Feature{{Name: "left", Low: 0, High: 1}, {Name: "right", Low: 0, High: 1}},
		MaxCandidates: 2,
	}}}
	e.obs = env.Observation{Global: make([]float32, 4), Candidates: []float32{1, 0, 0, 1}, Mask: []bool{true, true}}
	return e
}

// Spec implements env.Env.
func (e *CartPole) Spec() env.Spec { return e.spec }

// Reset implements env.Env.
func (e *CartPole) Reset(seed uint64) (env.TimeStep, error) {
	e.start(rng.New(seed, CartPoleID))
	return env.TimeStep{Observation: e.obs}, nil
}

func (e *CartPole) start(r *rand.Rand) {
	for i := range e.state {
		e.state[i] = startSpread * (2*r.Float64() - 1)
	}
	e.steps, e.ready, e.obs.Epoch = 0, true, 0
	e.observe()
}

func (e *CartPole) observe() {
	for i, x := range e.state {
		e.obs.Global[i] = float32(x)
	}
}

// Step implements env.Env.
func (e *CartPole) Step(a env.Action) (env.TimeStep, error) {
	switch {
	case !e.ready:
		return env.TimeStep{}, env.ErrNeedsReset
	case a != 0 && a != 1:
		return env.TimeStep{}, env.ErrInvalidAction
	}
	e.push(a)
	e.steps++
	e.obs.Epoch++
	e.observe()
	step := env.TimeStep{Observation: e.obs, Reward: 1, Elapsed: stepLength}
	step.Terminated = math.Abs(e.state[0]) > maxPosition || math.Abs(e.state[2]) > maxAngle
	step.Truncated = !step.Terminated && e.steps == maxSteps
	e.ready = !step.Done()
	return step, nil
}

// push moves the cart by one step of Euler's method (Florian, "Correct equations
// for the dynamics of the cart-pole system", 2007, without friction).
func (e *CartPole) push(a env.Action) {
	f := force
	if a == 0 {
		f = -force
	}
	const tau = float64(stepLength) / float64(time.Second)
	x, v, angle, turn := e.state[0], e.state[1], e.state[2], e.state[3]
	sin, cos := math.Sincos(angle)
	t := (f + poleMass*halfLength*turn*turn*sin) / totalMass
	bend := (gravity*sin - cos*t) / (halfLength * (4.0/3.0 - poleMass*cos*cos/totalMass))
	pull := t - poleMass*halfLength*bend*cos/totalMass
	e.state = [4]float64{x + float64(tau*v), v + float64(tau*pull), angle + float64(tau*turn), turn + float64(tau*bend)}
}
