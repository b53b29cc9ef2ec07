package rollout

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/env/vec"
)

// Streams plays several environments on and on, a fixed number of rounds at a
// time: for problems with long episodes, of which an update should see a part.
// It is not safe for concurrent use.
type Streams struct {
	envs    *vec.Envs
	streams []*stream // [envs.Len()]
	segment uint64    // number of the next segment
}

// NewStreams returns n streams over environments made by newEnv. Seed is that of
// the episodes and of the actions; each stream draws from its own.
func NewStreams(n int, newEnv func() (env.Env, error), seed uint64) (*Streams, error) {
	envs, err := vec.New(n, newEnv, vec.Config{})
	if err != nil {
		return nil, fmt.Errorf("rollout: %w", err)
	}
	s := &Streams{envs: envs}
	for i := range n {
		name := "rollout/stream/" + strconv.Itoa(i)
		s.streams = append(s.streams, &stream{
			player: player{cfg: Config{Keep: 1}, actions: rng.New(seed, name+"/actions"), keep: rng.New(seed, name+"/keep")},
			seeds:  rng.New(seed, name+"/episodes"),
		})
	}
	return s, nil
}

// stream is an environment in the middle of an episode.
type stream struct {
	player
	seeds    *rand.Rand
	last     env.TimeStep // borrowed from the environment
	under    bool         // an episode is under way
	total    float64      // its rewards so far
	segments []Episode
	returns  []float64 // of the episodes that ended
	memory   []Round   // of all segments of a call, reused by the next one
	used     int       // rounds of memory that segments hold
}

// Collect plays rounds rounds in every stream with actors made by newActor, one
// for each stream and call. It returns the
// segments of episodes played, in the order of the streams, and the returns of
// the episodes that ended. A segment ends with its episode or with the last
// round, where its Bootstrap is the value of the observation that follows; no
// two have the same Seed. Rounds of segments are borrowed until the next call.
func (s *Streams) Collect(ctx context.Context, newActor func() Actor, rounds int) (segments []Episode, returns []float64, err error) {
	err = s.envs.Every(func(i int, e env.Env) error {
		s.streams[i].env = e
		return s.streams[i].play(ctx, newActor(), rounds)
	})
	if err != nil {
		return nil, nil, fmt.Errorf("rollout: %w", err)
	}
	for _, one := range s.streams {
		for k := range one.segments {
			one.segments[k].Seed = s.segment
			s.segment++
		}
		segments, returns = append(segments, one.segments...), append(returns, one.returns...)
	}
	return segments, returns, nil
}

// play plays on for so many rounds.
func (s *stream) play(ctx context.Context, actor Actor, rounds int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.actor = actor
	s.segments, s.returns, s.used = nil, nil, 0
	if len(s.memory) < rounds {
		s.memory = make([]Round, rounds)
	}
	for left := rounds; left > 0; {
		played, err := s.continueEpisode(left)
		if err != nil {
			return err
		}
		left -= played
		s.used = min(s.used+played, len(s.memory))
	}
	return nil
}

// continueEpisode plays at most most rounds of the episode under way, or of a
// new one, and files them as a segment.
func (s *stream) continueEpisode(most int) (rounds int, err error) {
	if !s.under {
		if s.last, err = s.env.Reset(s.seeds.Uint64()); err != nil {
			return 0, err
		}
		s.under, s.total, s.clock = true, 0, 0
	}
	s.segments = append(s.segments, Episode{Rounds: s.memory[s.used:s.used]})
	s.episode = &s.segments[len(s.segments)-1]
	if err := s.begin(&s.last.Observation); err != nil {
		return 0, err
	}
	for {
		if s.last, err = s.step(&s.last.Observation); err != nil {
			return 0, err
		}
		s.total += s.last.Reward
		switch {
		case s.last.Done():
			s.finish(&s.last)
			s.under = false
			s.returns = append(s.returns, s.total)
			return len(s.episode.Rounds), nil
		case s.last.Observation.Epoch == s.epoch:
			continue
		case len(s.episode.Rounds)+1 >= most:
			s.finish(&s.last)
			return len(s.episode.Rounds), nil
		}
		s.end()
		if err := s.begin(&s.last.Observation); err != nil {
			return 0, err
		}
	}
}
