package gavel

import "fmt"

// reset settles what each job was owed and asks the policy for new shares, if
// they are out of date and the time has come.
func (s *Sim) reset() error {
	if !s.stale || s.now-s.lastReset < s.cfg.Reset && s.lastReset != 0 {
		return nil
	}
	s.settle()
	s.stale, s.choice.changed = false, true
	return s.ask()
}

// settle adds to the deficits what was owed and not received since the last
// reset, and starts counting anew.
func (s *Sim) settle() {
	half := s.cfg.Round / 2
	elapsed := s.now - s.lastReset
	clear(s.worked)
	for _, j := range s.active {
		for t := range s.k {
			c := s.cell(j, t)
			c.deficit += float64(c.share*elapsed) - (c.received - half)
			c.received = half
			s.worked[t] += half
		}
	}
	s.lastReset = s.now
}

// ask fills the shares of the active jobs.
func (s *Sim) ask() error {
	if len(s.active) == 0 {
		return nil
	}
	s.fillView()
	s.x = s.x[:len(s.active)*s.k]
	clear(s.x)
	if err := s.cfg.Policy.Allocate(&s.view, s.x); err != nil {
		return fmt.Errorf("gavel: shares at %v s: %w", s.now, err)
	}
	for i, j := range s.active {
		s.jobs[j].shared = true
		for t := range s.k {
			x := s.x[i*s.k+t]
			if !(x >= 0 && x <= 1) {
				return fmt.Errorf("gavel: shares at %v s: job %d on %s is %v, want 0 to 1", s.now, j, s.types[t].Name, x)
			}
			s.cell(j, t).share = x
		}
	}
	return nil
}

// makeView makes room for all jobs, so that no step has to.
func (s *Sim) makeView() {
	n := len(s.jobs)
	s.x = make([]float64, 0, n*s.k)
	s.view = View{
		Types: s.types, ByName: byName(s.types), GPUs: make([]int32, 0, n), Rates: make([]float64, 0, n*s.k),
		Left: make([]float64, 0, n), Age: make([]float64, 0, n),
	}
}

func (s *Sim) fillView() {
	v := &s.view
	v.Now = s.now
	v.IDs = s.active
	v.GPUs, v.Rates, v.Left, v.Age = v.GPUs[:0], v.Rates[:0], v.Left[:0], v.Age[:0]
	for _, j := range s.active {
		job := &s.jobs[j]
		v.GPUs = append(v.GPUs, job.gpus)
		v.Left = append(v.Left, job.steps-job.done)
		v.Age = append(v.Age, s.now-job.arrival)
		for t := range s.k {
			v.Rates = append(v.Rates, s.cell(j, t).rate)
		}
	}
}
